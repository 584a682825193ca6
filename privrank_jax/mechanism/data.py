"""How mechanisms read one type of data: what is public of them, floats for simulation, whole numbers for releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Int

from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Mask

UNPADDED = "exact releases take no padding, as padded items would be published"


@pytree
class Facts:
    """What is public of data, and all that a scale depends on.

    Attributes:
        num_items: m, padding included.
        num_users: n; None where it is private or nothing depends on it.
        mask: ``(m,)`` bool, False for items that only pad; None: all are real.
        rules: public numbers by which data were made, such as the most points of a ballot.
        told: what else is public, by name, such as a questionnaire; may be traced.
    """

    num_items: int = static()
    num_users: Any = None
    mask: Mask | None = None
    rules: tuple[Any, ...] = static(default=())
    told: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def alone(self) -> Facts:
        """The same without what else was told."""
        return dataclasses.replace(self, told={})


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """One type of data.

    Attributes:
        kind: the type.
        remedy: how to get it, at the end of an error.
        floats: data, what else is public -> numbers in published units, what is public; checked unless traced.
        whole: likewise -> whole numbers on the host, ``times`` sums over users, and what is public.
        times: how many whole units a published unit of one user has: 2 where users may give halves.
        mean: whether floats are means over users, so that what is published is a mean where n is public.
    """

    kind: type
    remedy: str
    floats: Callable[..., tuple[Any, Facts]]
    whole: Callable[..., tuple[Int[np.ndarray, "..."], Facts]]
    times: int = 1
    mean: bool = False

    def check(self, data: object, by: str) -> None:
        """Raise ``TypeError`` unless the data have this type."""
        if not isinstance(data, self.kind):
            raise TypeError(
                f"{by} takes {self.kind.__name__}, got {type(data).__name__}: {self.remedy}"
            )

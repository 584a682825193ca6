"""Registry of audited mechanisms: every private function of the library with a small pair of hard neighbors.

Unsound calibrations of papers have rows too, which show that the audit detects them. Each module ``audited_...`` beside
this one holds a tuple ``AUDITED`` and is loaded on first use. Tests hold each row to its contract, its claim and its
exact losses, see a version with half of its noise, and replay its commands on neighboring files.
"""

from __future__ import annotations

import dataclasses
import functools
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Shaped

from privrank_jax import _registry
from privrank_jax._types import Key, Scalar
from privrank_jax._validate import is_real, spelled, type_of
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.privacy import check_privacy
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.neighbors import Instances

Release = Callable[[jax.Array, Any, Privacy], Any]
"""Maps ``(key, data, privacy)`` to one release, an :class:`~privrank_jax.estimate.Estimate` or an array."""
Facts = Mapping[str, float]
"""What a release says of its noise: its scale, for example."""
Law = Callable[[np.ndarray, Privacy, Facts], np.ndarray]
"""``(data, privacy, facts) -> (D, K)`` log probabilities, or densities, of outputs under each of D data sets."""
Loss = Callable[[np.ndarray, np.ndarray, Privacy, Facts], np.ndarray]
"""``(first, second, privacy, facts) -> (P,)``, the smallest ε at the promised δ between stacked data sets."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The naive twin of a mechanism that adds noise of a kind to numbers of units; ``given`` are further arguments."""

    function: Callable[..., Any]
    units: Units
    noise: str
    given: Mapping[str, Any]


@dataclass(frozen=True, eq=False, kw_only=True)
class Audited:
    """One private mechanism, two neighbors, and the statistic that the audit observes.

    Attributes:
        name: what ``privrank audit`` calls it.
        neighbors: two arrays of real numbers, of one shape, that differ in one unit and are hard for the mechanism.
        release: see :data:`Release`; JAX compiles it, with ``data`` and the ε of ``privacy`` traced.
        promise: what is claimed; its ε is the default of an audit.
        title: the mechanism and its calibration; by default the name.
        function: the public function behind it; by default the name of ``release``.
        reduce: value of a release -> number of an outcome, or a real statistic, where it is more than one number.
        sees: what ``reduce`` gives, in words; by default "the outcome" or "the statistic".
        outcomes: their names, in the order of their numbers; None for a real statistic.
        trust: as of a :class:`~privrank_jax.privacy.Guarantee`.
        calibration: ``"tight"`` (some neighbors lose 0.99 of the claim), ``"sound"`` (none are known), ``"published"``.
        instances: small data sets with all their neighbors, for the exact loss.
        law: of the release, see :data:`Law`; with ``finite`` that of the outcomes, in their order.
        loss: for claims with δ > 0 in place of ``law``, see :data:`Loss`.
        finite: whether the outcomes are all that the release reveals, with the probabilities of ``law``.
        sound: False where the claim is known to be wrong.
        note: where the claim is stated, or what is wrong with it.
        twin: of additive noise.

    Raises:
        TypeError: the promise is not a ``Privacy``.
        ValueError: the neighbors are not two arrays of real numbers, of one shape.
    """

    name: str
    neighbors: tuple[Shaped[np.ndarray, "*data"], Shaped[np.ndarray, "*data"]]
    release: Release
    promise: Privacy
    title: str = ""
    function: str = ""
    sees: str = ""
    instances: Callable[[], Instances] | None = None
    law: Law | None = None
    loss: Loss | None = None
    reduce: Callable[[Any], Any] = lambda value: value
    outcomes: tuple[str, ...] | None = None
    finite: bool = False
    trust: str = "central"
    calibration: str = ""
    sound: bool = True
    note: str = ""
    twin: Twin | None = None

    def __post_init__(self) -> None:
        check_privacy(self.promise)
        pair = tuple(map(np.asarray, self.neighbors))
        if len(pair) != 2 or pair[0].shape != pair[1].shape or not all(map(is_real, pair)):
            raise ValueError(
                f"{self.name}: neighbors must be two arrays of real numbers, of one shape, got "
                f"{' and '.join(map(spelled, self.neighbors))}: build other data from them inside release, and pad a "
                "data set that has a unit less, with a mask as part of the array."
            )
        told = self.function or getattr(self.release, "__name__", "")
        seen = self.sees or ("the outcome" if self.outcomes else "the statistic")
        vars(self).update(neighbors=pair, title=self.title or self.name, function=told, sees=seen)

    def at(self, epsilon: Scalar) -> Privacy:
        """The promise of the row at another ε, which may be traced."""
        return dataclasses.replace(self.promise, epsilon=epsilon)

    def value(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """The value that one release publishes."""
        released = self.release(key, data, privacy)
        return released.value if isinstance(released, Estimate) else released

    def run(self, key: Key, data: Any, privacy: Privacy) -> Any:
        """One release, reduced to its outcome or statistic; ``ValueError`` if that is not one real number."""
        found = self.reduce(self.value(key, data, privacy))
        number = "the number of an outcome" if self.outcomes else "one real number"
        broken = self.outcomes and jnp.issubdtype(type_of(found), np.floating)
        if not is_real(found) or np.shape(found) or broken:
            raise ValueError(
                f"{self.name}: an audit compares {number} of each release, and got {spelled(found)}: give a `reduce` "
                "that makes one of a release, such as reduce=lambda value: value[0]."
            )
        return found


def names() -> list[str]:
    """Names of all audited mechanisms.

    Returns:
        The names.

    >>> "noisy-counts" in names()
    True
    """
    return list(_registered())


def get(name: str) -> Audited:
    """The audited mechanism of that name.

    Args:
        name: as in :func:`names`.

    Returns:
        The :class:`Audited`.

    Raises:
        ValueError: there is none; the message names the nearest.

    >>> get("randomized-response").promise.unit
    'comparison'
    """
    return _registry.find(_registered(), name, "audited mechanism", names())


def about(mechanism: Any) -> list[Audited]:
    """All rows about a public function or record; of wrong published calibrations only if there are no others.

    Args:
        mechanism: what draws.

    Returns:
        The rows.

    Raises:
        ValueError: there are none.

    >>> from privrank_jax.privacy import randomized_response
    >>> [row.name for row in about(randomized_response)]
    ['randomized-response']
    """
    home, name = mechanism.__module__, mechanism.__name__
    rows = [row for row in _registered().values() if row.function == name]
    found = [row for row in rows if row.release.__module__ == home]
    if not found:
        raise ValueError(
            f"no audit is about {home}.{name}: make a privacy_audit.Audited with two neighbors, its release and its "
            "promise, and bound its loss by privacy_audit.audit."
        )
    return [row for row in found if row.sound] or found


@functools.lru_cache(maxsize=1)
def _registered() -> dict[str, Audited]:
    home = pkgutil.iter_modules([str(Path(__file__).parent)])
    modules = (f"{__package__}.{one.name}" for one in home if one.name.startswith("audited_"))
    return _registry.collect(modules, "AUDITED", "audited mechanism")

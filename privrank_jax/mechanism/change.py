r"""What one unit can move of the numbers that are released: the one fact from which noise and composition follow.

**Largest entries.** A change d of whole numbers *is within* (c_1, ..., c_k) if, for each j, its j largest \|d_i\| add
up to at most the j largest c. Then ‖d‖₁ ≤ Σ c, and ‖d‖₂² ≤ Σ c², since a sum of squares is convex and d is majorized
by c. So one tuple gives the scale of Laplace and of Gaussian noise, and how Laplace noise composes
(:attr:`Guarantee.changes <privrank_jax.privacy.Guarantee>`); its largest entry is what one number can change. Both
sums are attained where some change has just these entries.

**Body.** d lies in ``factor`` times a convex body, whose K-norm noise has that over ε for its scale. **Center.** Where
the number of users is private, sums are released of each user's numbers less a public constant, which can halve what
one user moves.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import is_traced
from privrank_jax.privacy.bodies import Independent, Noise
from privrank_jax.privacy.geometry import Cube, Zonotope


@dataclasses.dataclass(frozen=True, eq=False)
class Change:
    """What one unit moves of whole numbers: of ``parts`` times the statistic, in the units in which data are counted.

    Attributes:
        largest: c, numbers >= 0 in any order and shape, one at least positive; may be traced. Or what computes them.
        body: computes what ``factor`` times holds the change; None if K-norm noise has no shape here.
        factor: whole.
        parts: whole, one for all numbers or one for each: a finer grid, or the share of each number in the noise.
        center: what is subtracted from each user's numbers where the number of users is private, in published units.
        second: computes a bound on ‖d‖₂, if one below √Σ c² is known.
    """

    largest: Any
    body: Callable[[], Cube | Zonotope] | None = None
    factor: int = 1
    parts: Any = 1
    center: Any = 0.0
    second: Callable[[], Any] | None = None

    @property
    def entries(self) -> Any:
        """c, computed."""
        return self.largest() if callable(self.largest) else self.largest

    def less(self, other: Change, noise: str) -> Change:
        """The one of two changes of the same numbers at which the noise is less, this one if it is equal."""
        smaller = self.size(noise) / self.parts <= other.size(noise) / other.parts
        return self if smaller else other

    def size(self, noise: str) -> Any:
        """The change in the norm of the noise: Σ c, √Σ c², or the factor of the body, which must exist.

        >>> Change([4, 2, 2]).size("laplace"), Change([2, 2, 2, 2]).size("gaussian")
        (8.0, 4.0)
        """
        if noise == "k-norm":
            if self.body is None:
                raise ValueError(
                    "K-norm noise has no shape under this promise: choose noise='laplace'."
                )
            return float(self.factor)
        if noise == "gaussian" and self.second is not None:
            return self.second()
        entries = self.entries
        traced = is_traced(entries)
        largest = jnp.asarray(entries, float) if traced else np.asarray(entries, float)
        found = largest.sum() if noise == "laplace" else (largest**2).sum() ** 0.5
        return found if traced else float(found)

    def noise(self, kind: str, scale: Any, shape: tuple[int, ...]) -> Noise:
        """Noise of this shape, the scale that of the first number; a zonotope may have one more, which is dropped."""
        if kind != "k-norm":
            last = () if np.ndim(self.parts) == 0 else (float(self.parts[-1] / self.parts[0]),)
            return Noise(kind, scale, Independent(shape, last))
        assert self.body is not None
        body = self.body()
        more = isinstance(body, Zonotope) and body.lengths.shape[0] > shape[0]
        return Noise(kind, scale, body, shape[0] if more else None)

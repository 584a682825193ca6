r"""Totals of approvals or points, private in the central model: approval voting, score voting, plurality.

A ballot x gives each of m items 0 to c whole points; an approval is one point of c = 1. A public rule may allow points
for at most k items (k = 1: plurality). Points outside of [0, c] are cut to it, and a ballot with points for more than
k items counts as blank, so what follows holds for all data. T = Σ x over the users is published with noise; items are
ranked by it.

**Replace.** The change of T is x' - x, any vector of whole numbers with entries in [-c, c] where k = m. It lies in the
cube c[-1, 1]^m, and is a vertex of it where a ballot gives c just to the items to which another gives none. So K-norm
noise of that shape at scale c/ε is ε-DP, and at no smaller scale (:mod:`privrank_jax.privacy.geometry`). At most t =
min(m, 2k) entries change, each by at most c, which is attained by ballots without a common item: ct in ℓ₁, c√t in ℓ₂.

**Add or remove.** The change is ±x. Let the ballot count as x - c/2 instead, the *middle* c/2 subtracted for each
item: all totals then move by the same number, -nc/2, and their order and differences stay. ±(x - c/2) lies in
(c/2)[-1, 1]^m, again up to its vertices, so cube noise of half the scale serves, cm/2 in ℓ₁, c√m/2 in ℓ₂. Without a
middle it is c in the cube, ck in ℓ₁ and c√k in ℓ₂. The smaller number is taken. The number n of users is private here.

**The best items alone.** The mechanisms of :mod:`privrank_jax.mechanism.selection` need to know how far one total can
change, s = c, and what all rises, or all falls, add up to, T = ck: rises are at most x', falls at most x. Under add or
remove all totals move together. These laws depend on differences alone, so the middle may be subtracted.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Integer

from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Count
from privrank_jax.aggregation.promise import ADDED
from privrank_jax.comparisons import default_float
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.mechanism.selection import Moves
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.privacy import Privacy


@pytree
class PointTotals:
    """Totals of the points that n users give to m items.

    Attributes:
        totals: ``(m,)`` integers, the points of each item.
        num_users: n, blank ballots included.
        most: c, the most points that an item can get from one user; public.
        limit: k, the most items that one user may give points to; public. None: all.
    """

    totals: Int[Array | np.ndarray, "*batch items"]
    num_users: Count
    most: int = static(default=1)
    limit: int | None = static(default=None)

    @classmethod
    def from_points(
        cls,
        points: Integer[Array | np.ndarray, "users items"],
        *,
        most: int = 1,
        limit: int | None = None,
    ) -> PointTotals:
        """Add up ballots.

        Args:
            points: ``(n, m)`` integers; cut to 0 to ``most``. A ballot with points for more than ``limit`` items counts
                as blank.
            most: c >= 1.
            limit: k >= 1.

        Raises:
            ValueError: points that are no integers or no matrix, ``most`` or ``limit`` below 1.

        >>> PointTotals.from_points(jnp.array([[3, 0, 0], [0, 1, 0], [1, 1, 1]]), most=2, limit=2).totals.tolist()
        [2, 1, 0]
        """
        shape, dtype = jnp.shape(points), jnp.result_type(points)
        if len(shape) != 2 or not shape[1]:
            raise ValueError(
                f"points must have shape (users, items), one item at least, got {shape}."
            )
        if not jnp.issubdtype(dtype, jnp.integer):
            raise ValueError(
                f"points must be integers, got {dtype}: round them, or count smaller points."
            )
        _check_rules(most, limit)
        host = isinstance(points, np.ndarray)
        add = functools.partial(_added_up, xp=np) if host else _ADDED_UP
        return cls(add(points, most, limit), shape[0], most, limit)

    @property
    def num_items(self) -> int:
        """m."""
        return self.totals.shape[-1]


def _floats(data: PointTotals) -> tuple[Any, Facts]:
    given = data.totals.dtype
    dtype = given if jnp.issubdtype(given, jnp.floating) else default_float()
    return jnp.asarray(data.totals, dtype), _facts(data)


def _facts(data: PointTotals) -> Facts:
    return Facts(data.num_items, data.num_users, rules=(data.most, data.limit))


def points_change(
    num_items: int, privacy: Privacy, most: int, limit: int | None, noise: str
) -> Change:
    """The change of the totals by one user, of ballots with c = ``most`` and k = ``limit``."""
    _check_rules(most, limit)
    given = num_items if limit is None else min(limit, num_items)

    def cube() -> Cube:
        return Cube.of_numbers(num_items)

    if privacy.adjacency != "add-remove":
        return Change([most] * min(num_items, 2 * given), cube, most)
    centered = Change([most] * num_items, cube, most, parts=2, center=most / 2)
    return centered.less(Change([most] * given, cube, most), noise)


dp_scores = Additive(
    "dp_scores",
    """Totals of approvals or points with noise, of :class:`~privrank_jax.aggregation.PointTotals`.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user,
    adjacency replace or add-remove, and whatever these cover; what a user can change, and its proof, are at the head of
    :mod:`privrank_jax.aggregation.scores`. ``least_noise`` says which noise is smaller.

    ``value``: noisy totals ``(m,)``, in points less n times the center, high = preferred. The diagnostics hold the
    center, 0 or half of the most points.

    >>> points = PointTotals.from_points(jnp.tile(jnp.array([1, 1, 0]), (200, 1)))
    >>> totals = dp_scores(jax.random.key(0), points, Privacy(1.0, unit="user", adjacency="replace")).value
    >>> bool(totals[0] > totals[2])
    True
    """,
    data=Data(
        PointTotals,
        "add ballots up with PointTotals.from_points.",
        floats=_floats,
        whole=lambda data: (np.asarray(data.totals, np.int64), _facts(data)),
    ),
    kinds=ADDED,
    statistic=lambda totals, facts: totals,
    change=lambda attained, facts, noise: points_change(
        facts.num_items, attained, facts.rules[0], facts.rules[1], noise
    ),
)


def selection_moves(num_items: int, privacy: Privacy, most: int, limit: int | None) -> Moves:
    """How far one user moves the totals, for the selection of the best items; arguments as of :func:`points_change`.

    >>> replaced = Privacy(1.0, unit="user", adjacency="replace")
    >>> selection_moves(5, replaced, 1, 2)
    Moves(most=1.0, one_way=2.0, every=4.0, together=False)
    """
    change = points_change(num_items, privacy, most, limit, "laplace")
    given = num_items if limit is None else min(limit, num_items)
    every = change.size("laplace") / change.parts
    return Moves(1.0 * most, 1.0 * most * given, every, privacy.adjacency == "add-remove")


def least_noise(
    num_items: int, privacy: Privacy, *, most: int = 1, limit: int | None = None
) -> str:
    """The noise of ``"k-norm"`` and ``"laplace"`` that has the smaller variance, by public facts alone."""
    facts = Facts(num_items, rules=(most, limit))
    free = dataclasses.replace(privacy, epsilon=1.0)
    cube, apart = (dp_scores.noise(free, facts, noise) for noise in ("k-norm", "laplace"))
    return "k-norm" if cube.deviation() <= apart.deviation() else "laplace"


def _check_rules(most: int, limit: int | None) -> None:
    for name, number in (("most", most), ("limit", limit)):
        if number is not None and number < 1:
            raise ValueError(f"{name} must be at least 1, got {number}.")


def _added_up(points: Any, most: int, limit: int | None, xp: Any = jnp) -> Any:
    """Totals of ballots by NumPy, which compiles nothing, or by JAX."""
    counted = xp.clip(points, 0, most).astype(np.int32)
    if limit is not None:
        valid = xp.sum(counted > 0, axis=1, keepdims=True) <= limit
        counted = xp.where(valid, counted, 0)
    return xp.sum(counted, axis=0)


_ADDED_UP = jax.jit(_added_up, static_argnames=("most", "limit"))

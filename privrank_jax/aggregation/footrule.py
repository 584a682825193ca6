r"""Spearman's footrule: position histograms, the ranking of least footrule, and private footrule costs.

**Positions.** An item that a user ties with others has the middle of the positions that they share: a + (t-1)/2, with a
items ahead and t tied, itself included. Items that the user did not rank are tied in last place (``missing="last"``),
or unknown (``missing="unknown"``). With unknown items the user counts as two halves: one has them tied in last place,
the other tied in first place. A user's footrule to a ranking σ is F = Σ_j \|σ(j) - position of j\|, averaged over the
halves. K is the number of pairs that the user orders against σ, tied and unknown pairs counting 1/2.

**Theorem.** K ≤ F ≤ 2K for every user and every σ.

*Proof.* The two halves order a pair with an unknown item in opposite ways, or tie it, and agree on other pairs: their
mean is the user's K. So both inequalities follow from those of each half, which has ties but no gaps.

(i) Let s_ij be
1 where σ has i before j, else 0; t_ij the user's 1, 1/2 or 0. Then σ(j) = Σ_i s_ij, and j has position Σ_i t_ij. So F ≤
Σ_j Σ_i \|s_ij - t_ij\|, which counts each pair twice: it is 2K.

(ii) Diaconis and Graham (1977) prove K ≤ F for orders
without ties. Reduce ties to that by two copies of each item. Let σ' have the copies of j at 2σ(j) and 2σ(j) + 1. Let
the user's t items tied behind a others have the positions 2a, ..., 2a + 2t - 1, nested: rank them by the distance of
σ(j) from their common position; the k-th nearest, k = 0, 1, ..., has its copies at k + 1/2 on either side of the
middle.

Let Δ be the signed distance between the middles of j's copies in the two orders, which is twice that of its
positions. The σ(j) are different integers, so the k-th nearest has \|Δ\| ≥ k. The copies of j move by Δ - k and Δ + k,
in the same direction, and \|Δ - k\| + \|Δ + k\| = 2\|Δ\|: so the footrule of the copies is 4F. Two items have four
pairs of copies: all disagree where the items do, none where they agree, and two where they are tied. The two copies of
an item agree. So the copies have 4K disagreements, and 4K ≤ 4F. ∎

Diaconis and Graham prove more: K + T ≤ F, with T the least number of transpositions that lead from one order to the
other. A transposition changes the order of at most 2m - 3 pairs, hence K ≤ (1 - 1/(2m-2))·F without ties; on 2m copies
this is K ≤ (1 - 1/(4m-2))·F with them.

**Consensus.** Let w be the weights of n users, C(σ) the mean of their F, and σ* of least C. For all σ,

    K(σ*, w) ≤ (1 - 1/(4m-2))·C(σ*) ≤ (1 - 1/(4m-2))·C(σ) ≤ (2 - 1/(2m-1))·K(σ, w),

so σ* is within 2 - 1/(2m-1) times the least Kemeny score, and no ranking has a score below C(σ*)/2. C(σ) =
Σ_j C_jσ(j) with C_jp = Σ_q h_jq·\|q - p\|, where h_jq is the share of users who have item j at position q: σ* solves an
assignment problem. A position q + 1/2 is counted half at q and half at q + 1, which changes no cost. With halves of
halves, four times the histogram consists of integers: one user adds 4 to each row.

**Padding.** Real items have the places 0, 1, ..., less than their number. In the costs each padded item is free at a
place of its own behind, in index order; all else that involves such items or places costs more than any two rankings of
real items differ by, so that an assignment of least cost ranks the padded items last.

**Private costs.** Within a row C_j,p+1 - C_jp = 2F_jp - 1, with F_jp the share of users who have item j at place p or
before, and C_j0 = Σ_p (1 - F_jp). What is published is that function of noisy F.

*What one user changes* (unit user, adjacency replace). In a row, n·F changes by a vector y_j with entries in [-1, 1].
Σ_p \|y_jp\| is the distance of the two positions of j, with ties as well: entries of a row change from 0 to 1 at the
user's position, by halves around q + 1/2. Positions are points of the permutohedron, and Σ_j of the distances is
convex, so largest at vertices, which are full rankings: at most ⌊m²/2⌋, for a ranking and its reversal.

With unknown items y is a mean of two such vectors. \|y\| ≤ 1 gives y² ≤ \|y\|. So n·F changes by at most ⌊m²/2⌋ in ℓ₁,
√⌊m²/2⌋ in ℓ₂ and 1 in ℓ_∞, and the reversal attains all three: the noises have these sensitivities and no smaller ones,
the cube that of [-1, 1]^d, d = m(m-1). Four times n times F are whole numbers, of which any k change by at most 4k, and
all by 4⌊m²/2⌋: so Laplace noise composes as on ⌊m²/2⌋ numbers that change by 4.

*Error.* Let E be the noise on the costs, and σ̃ of least noisy cost. Then C(σ̃) ≤ C(σ) + Σ_j R_j for all σ, R_j the
range of E_jp over p, and K ≤ C ≤ 2K give K(σ̃, w) ≤ (2 - 1/(2m-1))·OPT + (1 - 1/(4m-2))·Σ_j R_j;
:mod:`privrank_jax.aggregation.bounds` bounds Σ_j R_j.

Sources: Diaconis and Graham (1977); Dwork, Kumar, Naor and Sivakumar (2001) for the assignment; Fagin, Kumar, Mahdian,
Sivakumar and Vee (2006) for ties; Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath (2026) for the private case.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from privrank_jax._backend import product
from privrank_jax._pytrees import pytree
from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Mask, MaskLike, Numbers, PairMatrixLike, RankingsLike, Ranks
from privrank_jax._validate import check_matrix, check_no_padding, check_users, is_traced
from privrank_jax.aggregation.counting import twice_positions
from privrank_jax.aggregation.promise import REPLACED
from privrank_jax.aggregation.weights import checked_mask, ranks_of_users
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.privacy import Privacy


@pytree
class PositionHistograms:
    """Counts of the users, n in all, who have each of m items at each position; a pytree, as ``PairWeights`` are.

    Attributes:
        counts: ``(m, m)`` integers, ``counts[j, q]`` = four times the number of users who have item ``j`` at position
            ``q``, 0 = best; a user counts in parts where it ties items or doesn't know them. Rows sum to 4n.
        num_users: n >= 1, public; may be traced. A number that is too large gives too little noise.
        mask: ``(m,)`` bool, False for items that only pad the problem, public; ``None`` = all are real.

    >>> histograms = PositionHistograms.from_ranks([[0, 1, 2], [0, 1, 1]])
    >>> histograms.counts.tolist(), histograms.num_users
    ([[8, 0, 0], [0, 6, 2], [0, 2, 6]], 2)
    """

    counts: Int[Array | np.ndarray, "items items"]
    num_users: Count
    mask: Mask | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.num_items} items; counts not shown>"

    @classmethod
    def from_ranks(
        cls, ranks: RankingsLike, *, missing: str = "last", users: MaskLike | None = None
    ) -> PositionHistograms:
        """The histograms of n rankings of m items.

        Args:
            ranks, missing: as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.
            users: ``(n,)`` bool, False for rows that only pad the problem; public, may be traced.

        Raises:
            ValueError: no users, no items, ranks that are not integers or reach 2^31 - 1, 2^29 users or more, an
                unknown rule, a mask of another shape.
        """
        given = ranks_of_users(ranks, missing)
        if given.shape[0] >= 2**29:
            raise ValueError(f"counts have room for less than 2^29 users, got {given.shape[0]:,}.")
        if users is None:
            return cls(_count_positions(given, missing), given.shape[0])
        rows = checked_mask("users", users, given.shape[0])
        number = jnp.sum(rows, dtype=jnp.int32)
        check_users(number)
        return cls(_count_positions(given, missing, rows), number)

    @property
    def num_items(self) -> int:
        """Number of items m, padding included (static)."""
        return self.counts.shape[-1]


@dataclasses.dataclass(frozen=True)
class FootruleRanking:
    """A ranking of least mean footrule to all users, with what that proves about Kemeny scores."""

    ranks: Int[np.ndarray, "items"]  #: int32, 0 = best
    footrule: float  #: C(σ*), the mean footrule of users to the ranking; no ranking has a lower one

    @property
    def lower_bound(self) -> float:
        """No ranking has a lower Kemeny score."""
        return self.footrule / 2

    @property
    def ratio(self) -> float:
        """2 - 1/(2m-1): the Kemeny score is at most this times the least one."""
        return 2 - 1 / (2 * len(self.ranks) - 1)


def footrule_costs(histograms: PositionHistograms) -> Float[Array, "items items"]:
    """Mean footrule cost of each item at each place, ``C_jp = Σ_q h_jq·|q - p|``.

    Args:
        histograms: of n users.

    Returns:
        ``(m, m)``, in positions; :func:`assignment` finds the ranking of least cost, in which padded items are last.

    Raises:
        ValueError: counts that are not those of n users.

    >>> footrule_costs(PositionHistograms.from_ranks([[0, 1, 2], [0, 1, 1]])).tolist()
    [[0.0, 1.0, 2.0], [1.25, 0.25, 0.75], [1.75, 0.75, 0.25]]
    """
    HISTOGRAMS.check(histograms, "footrule_costs")
    shares, facts = HISTOGRAMS.floats(histograms)
    return _costs(shares, facts.mask)


def footrule_optimal(histograms: PositionHistograms) -> FootruleRanking:
    """Find the ranking of least mean footrule, on the host: a Kemeny score within 2 - 1/(2m-1) times the least one.

    Args:
        histograms: of n users.

    Returns:
        :class:`FootruleRanking`.

    Raises:
        TypeError: anything but :class:`PositionHistograms`.
        ValueError: traced or padded histograms, counts that are not those of n users, so many that sums exceed 2^53.

    >>> found = footrule_optimal(PositionHistograms.from_ranks([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    >>> found.ranks.tolist(), round(found.footrule, 3), found.ratio
    ([0, 1, 2], 1.333, 1.8)
    """
    from scipy.optimize import linear_sum_assignment

    HISTOGRAMS.check(histograms, "footrule_optimal")
    if is_traced(histograms.counts, histograms.num_users):
        raise ValueError(
            "footrule_optimal is for the host, and these histograms are traced: use assignment."
        )
    _check_histograms(histograms)
    check_no_padding(histograms, "footrule_optimal takes no padding")
    counts, users = np.asarray(histograms.counts, np.int64), int(histograms.num_users)
    items = len(counts)
    if 4 * users * items * items >= 2**53:
        raise ValueError(f"{users:,} users of {items:,} items are too many for exact sums.")
    places = np.arange(items)
    costs = np.array([np.abs(places - place).dot(counts.T) for place in places]).T
    chosen = linear_sum_assignment(costs)[1]
    return FootruleRanking(chosen.astype(np.int32), int(costs[places, chosen].sum()) / (4 * users))


def assignment(costs: PairMatrixLike) -> Ranks:
    """Give each item a place such that the total cost is least, by ``optax.assignment``; for ``jit`` and ``vmap``.

    Args:
        costs: ``(m, m)``, cost of item i at place p, finite; optimal up to rounding, and for integers below 2^21 in
            absolute value (2^50 in 64 bits) exactly, as no path costs more than eight times that.

    Returns:
        Ranks ``(m,)``, int32: the place of each item.

    Raises:
        ValueError: a shape that is not (m, m), costs that are not finite.

    >>> assignment([[1, 0, 4], [0, 3, 5], [2, 2, 1]]).tolist()
    [1, 0, 2]
    """
    check_matrix("costs", costs)
    given = jnp.asarray(costs)
    if not is_traced(given) and not np.all(np.isfinite(np.asarray(costs))):
        raise ValueError("costs must be finite.")
    return _assigned(given)


@jax.jit
def _assigned(costs: Array) -> Ranks:
    floating = jnp.issubdtype(costs.dtype, jnp.floating)
    costs = costs.astype(jnp.promote_types(costs.dtype, jnp.float32) if floating else float)
    costs = costs - jnp.min(costs, axis=1, keepdims=True)
    most = jnp.finfo(costs.dtype).max / 8
    costs = jnp.where(jnp.isnan(costs), most, jnp.minimum(costs, most))  # so that the search ends
    items, places = optax.assignment.hungarian_algorithm(costs)
    return jnp.zeros(len(costs), jnp.int32).at[items].set(places.astype(jnp.int32))


@jax.jit
def set_aside(costs: Float[Array, "items items"], mask: Mask | None) -> Float[Array, "items items"]:
    """The costs with those of padded items and places as the head of this module states; ``mask`` of real items."""
    if mask is None:
        return costs
    place = jnp.arange(costs.shape[0])
    within = place < jnp.sum(mask)
    inside = mask[:, None] & within
    low = jnp.min(jnp.where(inside, costs, jnp.inf), axis=1)
    high = jnp.max(jnp.where(inside, costs, -jnp.inf), axis=1)
    spread = 1 + jnp.sum(jnp.where(mask, high - low, 0))
    own = jnp.sum(mask) + jnp.cumsum(~mask) - 1
    of_real = jnp.where(within, costs, jnp.max(high) + spread)
    of_padded = jnp.where(place == own[:, None], 0, spread)
    return jnp.where(mask[:, None], of_real, of_padded)


def _check_histograms(histograms: PositionHistograms) -> None:
    """Raise ``ValueError`` unless the counts are those of n users; traced ones need only have the shape."""
    check_matrix("counts", histograms.counts)
    if not jnp.issubdtype(histograms.counts.dtype, jnp.integer):
        raise ValueError(f"counts must be integers, got {histograms.counts.dtype}.")
    check_users(histograms.num_users)
    mask = histograms.mask
    if mask is not None:
        checked_mask("mask", mask, histograms.num_items)
    if is_traced(histograms.counts, histograms.num_users, mask):
        return
    counts = np.asarray(histograms.counts, np.int64)
    real = np.ones(len(counts), bool) if mask is None else np.asarray(mask)
    within = np.arange(len(counts)) < real.sum()
    sums = np.where(real, 4 * int(histograms.num_users), 0)
    if np.any(counts < 0) or np.any(counts.sum(1) != sums) or np.any(counts[:, ~within]):
        raise ValueError(
            f"these are not the histograms of {histograms.num_users:,} users: counts must be at least 0 and each row "
            "must sum to four times that. PositionHistograms.from_ranks(ranks) counts them."
        )


@functools.partial(jax.jit, static_argnames="missing")
def _count_positions(ranks: Array, missing: str, users: Array | None = None) -> Array:
    items = ranks.shape[1]
    first, second = twice_positions(ranks, missing)
    ends = [first // 2, (first + 1) // 2]
    if missing == "unknown":
        ends += [second // 2, (second + 1) // 2]
    counts = jnp.zeros((items, items), jnp.int32)
    index = jnp.arange(items)
    for places in ends:
        part = 4 // len(ends)
        added = part if users is None else jnp.where(users, part, 0)[:, None]
        counts = counts.at[index, places].add(added)
    return counts


@jax.jit
def _costs(shares: Array, mask: Mask | None) -> Array:
    places = jnp.arange(shares.shape[0])
    return set_aside(product(shares, jnp.abs(places[:, None] - places).astype(shares.dtype)), mask)


def counted_histograms(ranks: RankingsLike, missing: str = "last") -> PositionHistograms:
    """:meth:`PositionHistograms.from_ranks` on the host, by a program that compiles soon."""
    given = np.asarray(ranks_of_users(ranks))
    return PositionHistograms(
        quickly(functools.partial(_count_positions, missing=missing), given), len(given)
    )


def _floats(histograms: PositionHistograms) -> tuple[Any, Facts]:
    _check_histograms(histograms)
    mask = None if histograms.mask is None else jnp.asarray(histograms.mask, bool)
    unit = 4 * jnp.asarray(histograms.num_users, jnp.result_type(float))
    facts = Facts(histograms.num_items, histograms.num_users, mask)
    return jnp.asarray(histograms.counts) / unit, facts


def _whole(histograms: PositionHistograms) -> tuple[np.ndarray, Facts]:
    if is_traced(histograms.counts, histograms.num_users):
        raise ValueError("exact releases run on the host, and these histograms are traced.")
    _check_histograms(histograms)
    if histograms.num_items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to release.")
    facts = Facts(histograms.num_items, int(histograms.num_users))
    return np.asarray(histograms.counts, np.int64), facts


HISTOGRAMS = Data(
    PositionHistograms,
    "its noise is scaled to the number of users. PositionHistograms.from_ranks(ranks) counts both.",
    floats=_floats,
    whole=_whole,
    times=4,
    mean=True,
)
"""How mechanisms read histograms of positions."""


def cost_deviation(num_items: Count, scale: Numbers, noise: str) -> Numbers:
    """Root mean square of the noise on an item's costs, less its mean over places: of a walk of m - 1 steps.

    >>> round(cost_deviation(20, 0.001, "k-norm"), 3), round(cost_deviation(20, 0.2, "laplace"), 3)
    (0.803, 1.032)
    """
    items = 1.0 * num_items
    dimension = items * (items - 1)
    cube = (dimension + 1) * (dimension + 2) / 3
    of_count = {"k-norm": cube, "laplace": 2.0, "gaussian": 1.0}[noise]
    return scale * (of_count * 2 * (items * items - 1) / (3 * items)) ** 0.5


def _behind(histograms: Any, facts: Facts) -> Any:
    """1 - F: the share of users who have an item behind a place, of each place but the last and each item."""
    return histograms.T[::-1].cumsum(0)[:-1][::-1]


def _counted(facts: Facts) -> Any:
    """The prefix counts of real items before real places."""
    if facts.mask is None:
        return np.ones((facts.num_items - 1, facts.num_items), bool)
    return (jnp.arange(1, facts.num_items) < jnp.sum(facts.mask))[:, None] & facts.mask


def _moved(attained: Privacy, facts: Facts, noise: str) -> Change:
    def moved(items: Any) -> Any:
        return (jnp if is_traced(items) else np).maximum(items, 2) ** 2 // 2

    most = int(moved(facts.num_items))
    largest: Any = np.full(most, 4)
    if facts.mask is not None:
        largest = 4 * (jnp.arange(most) < moved(jnp.sum(facts.mask)))
    counted = _counted(facts)
    return Change(largest, lambda: Cube(jnp.asarray(counted)), 4)


def _noisy_costs(noisy: Any, facts: Facts) -> Any:
    """C_jp = Σ_{q<p} F_jq + Σ_{q>=p} (1 - F_jq), of 1 - F."""
    xp: Any = np if isinstance(noisy, np.ndarray) else jnp
    if facts.mask is not None:
        noisy = xp.where(_counted(facts), noisy, 0)
    first = xp.sum(noisy, axis=0, keepdims=True)
    costs = xp.concatenate([first, first + xp.cumsum(1 - 2 * noisy, axis=0)]).T
    return costs if facts.mask is None else set_aside(costs, facts.mask)


dp_footrule = Additive(
    "dp_footrule",
    """Footrule costs with noise, of which ``assignment`` makes a ranking; of
    :class:`~privrank_jax.aggregation.PositionHistograms`.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user,
    adjacency replace, and whatever these cover; proofs at the head of :mod:`privrank_jax.aggregation.footrule`.

    ``value``: noisy costs ``(m, m)``, unbiased, in positions: ``assignment(value)`` is the ranking, padded items last.
    The diagnostics hold the scale of the noise on a prefix count, in shares of users.

    >>> histograms = PositionHistograms.from_ranks([[2, 0, 1]] * 500)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> assignment(dp_footrule(jax.random.key(0), histograms, privacy).value).tolist()
    [2, 0, 1]
    """,
    data=HISTOGRAMS,
    kinds=REPLACED,
    statistic=_behind,
    change=_moved,
    finish=_noisy_costs,
    shape=lambda facts: (facts.num_items - 1, facts.num_items),
    real=_counted,
)

r"""Spearman's footrule: position histograms, and the ranking of least footrule, at most twice the least Kemeny score.

**Positions.** An item that a user ties with others has the middle of the positions that they share: a + (t-1)/2, with a
items ahead and t tied, itself included. Items that the user did not rank are tied in last place (``missing="last"``),
or unknown (``missing="unknown"``). With unknown items the user counts as two halves: one has them tied in last place,
the other tied in first place. A user's footrule to a ranking σ is F = Σ_j \|σ(j) - position of j\|, averaged over the
halves. K is the number of pairs that the user orders against σ, tied and unknown pairs counting 1/2, as in
:mod:`privrank_jax.aggregation.weights`.

**Theorem.** K ≤ F ≤ 2K for every user and every σ.

*Proof.* The two halves order a pair with an unknown item in opposite ways, or tie it, and agree on other pairs: their
mean is the user's K. So both inequalities follow from those of each half, which has ties but no gaps. (i) Let s_ij be
1 where σ has i before j, else 0; t_ij the user's 1, 1/2 or 0. Then σ(j) = Σ_i s_ij, and j has position Σ_i t_ij. So F ≤
Σ_j Σ_i \|s_ij - t_ij\|, which counts each pair twice: it is 2K. (ii) Diaconis and Graham (1977) prove K ≤ F for orders
without ties. Reduce ties to that by two copies of each item. Let σ' have the copies of j at 2σ(j) and 2σ(j) + 1. Let
the user's t items tied behind a others have the positions 2a, ..., 2a + 2t - 1, nested: rank them by the distance of
σ(j) from their common position; the k-th nearest, k = 0, 1, ..., has its copies at k + 1/2 on either side of the
middle. Let Δ be the signed distance between the middles of j's copies in the two orders, which is twice that of its
positions. The σ(j) are different integers, so the k-th nearest has \|Δ\| ≥ k. The copies of j move by Δ - k and Δ + k,
in the same direction, and \|Δ - k\| + \|Δ + k\| = 2\|Δ\|: so the footrule of the copies is 4F. Two items have four
pairs of copies: all disagree where the items do, none where they agree, and two where they are tied. The two copies of
an item agree. So the copies have 4K disagreements, and 4K ≤ 4F. ∎

Diaconis and Graham prove more: K + T ≤ F, with T the least number of transpositions that lead from one order to the
other. A transposition changes the order of at most 2m - 3 pairs, hence K ≤ (2m-3)T and K ≤ (1 - 1/(2m-2))·F without
ties. On 2m copies this is K ≤ (1 - 1/(4m-2))·F with them.

*Ties need no halves*, and their middle is nearer to σ than the mean over all ways to break the tie. *Unknown items do*:
placed at the mean of the halves' positions they would break K ≤ F. Let a user tie the first of five items with the
fourth, ahead of the second tied with the fifth, and not know the third. Against σ = (0, 3, 2, 1, 4) K is 3, but the
means differ from σ by 2 in all.

**Consensus.** Let w be the weights of n users, C(σ) the mean of their F, and σ* of least C. For all σ,

    K(σ*, w) ≤ (1 - 1/(4m-2))·C(σ*) ≤ (1 - 1/(4m-2))·C(σ) ≤ (2 - 1/(2m-1))·K(σ, w),

so σ* is within 2 - 1/(2m-1) times the least Kemeny score (2 - 1/(m-1) where nobody has ties or gaps), and no ranking
has a score below C(σ*)/2.

**Histograms.** C(σ) = Σ_j C_jσ(j) with C_jp = Σ_q h_jq·\|q - p\|, where h_jq is the share of users who have item j at
position q. So σ* solves an assignment problem (:mod:`privrank_jax.aggregation.assignments`). A position q + 1/2 is
counted half at q and half at q + 1, which changes no cost: \|p - q - 1/2\| is the mean of \|p - q\| and \|p - q - 1\|
for integers p. With halves of halves, four times the histogram consists of integers: one user adds 4 to each row, and
without ties and gaps to each column.

**Padding.** Items that only pad a problem belong to nobody's ranking: real items have the positions, and rankings the
places, 0, 1, ..., less than their number. In the costs each padded item is free at a place of its own behind, in index
order; all else that involves such items or places costs more than any two rankings of real items differ by, so that an
assignment of least cost ranks the padded items last and the real ones at least cost.

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
from jaxtyping import Array, Float, Int

from privrank_jax._backend import product
from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Mask, MaskLike, PairMatrixLike, RankingsLike
from privrank_jax._validate import (
    check_choice,
    check_no_padding,
    check_square,
    check_users,
    is_traced,
)
from privrank_jax.aggregation.counting import twice_positions
from privrank_jax.aggregation.kemeny_rule import (
    ProvenRanking,
    checked_host_weights,
    host_score,
)
from privrank_jax.aggregation.weights import MISSING, PairWeights, ranks_of_users
from privrank_jax.mechanism.data import Data, Facts


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PositionHistograms:
    """How many of n users have each of m items at each position: the input of footrule functions.

    Made by :meth:`from_ranks`. A pytree, like :class:`~privrank_jax.aggregation.PairWeights`: a batch has a leading
    axis in ``counts``, and in ``num_users`` and ``mask`` where they differ.

    Attributes:
        counts: ``(m, m)`` integers, ``counts[j, q]`` = four times the number of users who have item ``j`` at position
            ``q``, 0 = best; a user counts in parts where it ties items or doesn't know them. Rows sum to 4n.
        num_users: n >= 1, public; may be traced. A number that is too large gives too little noise.
        mask: ``(m,)`` bool, False for items that only pad the problem, public; ``None`` = all are real. Counts of
            padded items, and at positions that only they could have, are 0.

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
        cls,
        ranks: RankingsLike,
        *,
        missing: str = "last",
        users: MaskLike | None = None,
    ) -> PositionHistograms:
        """The histograms of n rankings of m items.

        Args:
            ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ranks items that were not ranked.
            missing: ``"last"`` or ``"unknown"``, see the head of this module.
            users: ``(n,)`` bool, False for rows that only pad the problem; public, may be traced.

        Returns:
            Histograms, int32; ``num_users`` is the number of rows, without those that only pad.

        Raises:
            ValueError: no users, no items, ranks that are not integers or reach 2^31 - 1, 2^29 users or more, an
                unknown rule, a mask of another shape.

        >>> PositionHistograms.from_ranks([[0, 1, -1]], missing="unknown").counts.tolist()
        [[2, 2, 0], [0, 2, 2], [2, 0, 2]]
        """
        check_choice("missing", missing, MISSING)
        given = ranks_of_users(ranks)
        if given.shape[0] >= 2**29:
            raise ValueError(f"counts have room for less than 2^29 users, got {given.shape[0]:,}.")
        if users is None:
            return cls(_count_positions(given, missing), given.shape[0])
        rows = _checked_mask("users", users, given.shape[:1])
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
    def upper_bound(self) -> float:
        """The Kemeny score of the ranking is at most this."""
        return self.footrule * (1 - 1 / (4 * len(self.ranks) - 2))

    @property
    def ratio(self) -> float:
        """2 - 1/(2m-1): the Kemeny score is at most this times the least one, for all users."""
        return 2 - 1 / (2 * len(self.ranks) - 1)

    def proven(self, weights: PairWeights | PairMatrixLike) -> ProvenRanking:
        """What the weights of the same users prove: usually a ratio far below that for all users.

        Args:
            weights: of the rankings that the histograms count, with the same rule for items not ranked.

        Returns:
            :class:`ProvenRanking`: the Kemeny score, the larger one of two lower bounds, C(σ*)/2 and the sum over pairs
            of the smaller weight; ``solver`` is ``"assignment"``.

        Raises:
            ValueError: weights that are not a square matrix of finite numbers >= 0, or of another number of items.

        >>> ranks = [[0, 1, 2], [1, 0, 2], [0, 2, 1]]
        >>> found = footrule_optimal(PositionHistograms.from_ranks(ranks))
        >>> found.proven(PairWeights.from_ranks(ranks)).ratio
        1.0
        """
        matrix = checked_host_weights(weights)
        if len(matrix) != len(self.ranks):
            raise ValueError(
                f"the ranking has {len(self.ranks)} items, the weights {len(matrix)}: both must be of the same users."
            )
        apart = np.minimum(matrix, matrix.T)
        pairs = float(apart.sum() - np.trace(apart)) / 2
        cost = host_score(self.ranks, matrix)
        return ProvenRanking(
            self.ranks, cost, min(cost, max(pairs, self.lower_bound)), "assignment"
        )


def footrule_costs(
    histograms: PositionHistograms | PairMatrixLike,
) -> Float[Array, "items items"]:
    """Mean footrule cost of each item at each place, ``C_jp = Σ_q h_jq·|q - p|``.

    Args:
        histograms: :class:`PositionHistograms`, or shares h of a plain ``(m, m)`` matrix, noisy ones too.

    Returns:
        ``(m, m)``, in positions; :func:`~privrank_jax.aggregation.assignment` finds the ranking of least
        cost, in which padded items are last.

    Raises:
        ValueError: shapes that don't fit, n < 1.

    >>> footrule_costs(PositionHistograms.from_ranks([[0, 1, 2], [0, 1, 1]])).tolist()
    [[0.0, 1.0, 2.0], [1.25, 0.25, 0.75], [1.75, 0.75, 0.25]]
    """
    if isinstance(histograms, PositionHistograms):
        check_histograms(histograms)
        return _mean_costs(jnp.asarray(histograms.counts), histograms.num_users, histograms.mask)
    check_square("the histograms", histograms)
    return _costs(jnp.asarray(histograms, jnp.result_type(float)))


def footrule_optimal(histograms: PositionHistograms) -> FootruleRanking:
    """Find the ranking of least mean footrule: a Kemeny score within 2 - 1/(2m-1) times the least one.

    Runs on the host, one problem at a time, on exact integers; under ``jit`` and ``vmap`` use
    :func:`~privrank_jax.aggregation.assignment` of the costs. The proof is at the head of this module.

    Args:
        histograms: of n users.

    Returns:
        :class:`FootruleRanking`; its method ``proven`` adds the score and the bound that weights give.

    Raises:
        TypeError: anything but :class:`PositionHistograms`.
        ValueError: traced or padded histograms, counts that are not those of n users, so many that sums exceed 2^53.

    >>> found = footrule_optimal(PositionHistograms.from_ranks([[0, 1, 2], [1, 0, 2], [0, 2, 1]]))
    >>> found.ranks.tolist(), round(found.footrule, 3), found.ratio
    ([0, 1, 2], 1.333, 1.8)
    """
    from scipy.optimize import linear_sum_assignment

    if not isinstance(histograms, PositionHistograms):
        raise TypeError(
            f"footrule_optimal takes PositionHistograms, got {type(histograms).__name__}: "
            "PositionHistograms.from_ranks(ranks) counts them."
        )
    if is_traced(histograms.counts, histograms.num_users):
        raise ValueError(
            "footrule_optimal is for the host, and these histograms are traced: use assignment."
        )
    check_histograms(histograms)
    check_no_padding(histograms, "footrule_optimal takes no padding")
    counts, users = np.asarray(histograms.counts, np.int64), int(histograms.num_users)
    items = len(counts)
    if 4 * users * items * items >= 2**53:
        raise ValueError(f"{users:,} users of {items:,} items are too many for exact sums.")
    places = np.arange(items)
    costs = np.array([np.abs(places - place).dot(counts.T) for place in places]).T
    chosen = linear_sum_assignment(costs)[1]
    return FootruleRanking(chosen.astype(np.int32), int(costs[places, chosen].sum()) / (4 * users))


@jax.jit
def set_aside(costs: Float[Array, "items items"], mask: Mask | None) -> Float[Array, "items items"]:
    """The costs with those of padded items and places as the head of this module states.

    Args:
        costs: in positions, noisy ones too.
        mask: ``(m,)``, True for real items; None = all are real.

    >>> set_aside(jnp.array([[1.0, 0, 7], [7, 7, 7], [1, 3, 7]]), jnp.array([True, False, True])).tolist()
    [[1.0, 0.0, 7.0], [4.0, 4.0, 0.0], [1.0, 3.0, 7.0]]
    """
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


def _checked_mask(name: str, mask: MaskLike, shape: tuple[int, ...]) -> Mask:
    found = jnp.asarray(mask, bool)
    if found.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {found.shape}.")
    return found


def check_histograms(histograms: PositionHistograms) -> None:
    """Raise ``ValueError`` unless the counts are those of n users; traced ones need only have the shape."""
    check_square("counts", histograms.counts)
    if np.ndim(histograms.counts) != 2:
        raise ValueError(
            f"counts must have shape (m, m), got {np.shape(histograms.counts)}: use jax.vmap for a batch."
        )
    if not jnp.issubdtype(histograms.counts.dtype, jnp.integer):
        raise ValueError(f"counts must be integers, got {histograms.counts.dtype}.")
    check_users(histograms.num_users)
    mask = histograms.mask
    if mask is not None:
        _checked_mask("mask", mask, histograms.counts.shape[:1])
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
def _mean_costs(counts: Array, num_users: Count, mask: Mask | None) -> Array:
    unit = 4 * jnp.asarray(num_users, jnp.result_type(float))
    return set_aside(_costs(counts) / unit, mask)


@jax.jit
def _costs(histograms: Array) -> Array:
    places = jnp.arange(histograms.shape[0])
    histograms = histograms.astype(jnp.result_type(float))
    return product(histograms, jnp.abs(places[:, None] - places).astype(histograms.dtype))


def counted_histograms(ranks: RankingsLike, missing: str = "last") -> PositionHistograms:
    """:meth:`PositionHistograms.from_ranks` on the host, by a program that compiles soon.

    Args:
        ranks, missing: as there.

    Raises:
        ValueError: as there.
    """
    given = np.asarray(ranks)
    count = functools.partial(_counts, missing=missing)
    return PositionHistograms(quickly(count, given), len(given))


def _counts(ranks: Any, missing: str) -> Any:
    return PositionHistograms.from_ranks(ranks, missing=missing).counts


def _floats(histograms: PositionHistograms) -> tuple[Any, Facts]:
    check_histograms(histograms)
    mask = None if histograms.mask is None else jnp.asarray(histograms.mask, bool)
    unit = 4 * jnp.asarray(histograms.num_users, jnp.result_type(float))
    facts = Facts(histograms.num_items, histograms.num_users, mask)
    return jnp.asarray(histograms.counts) / unit, facts


def _whole(histograms: PositionHistograms) -> tuple[np.ndarray, Facts]:
    if is_traced(histograms.counts, histograms.num_users):
        raise ValueError("exact releases run on the host, and these histograms are traced.")
    check_histograms(histograms)
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

"""The k best items by win totals, privately: as a list by one-shot noise, peeling, permute-and-flip; as a set.

Laws, proofs and calibration: :mod:`privrank_jax.mechanism.selection`. One unit moves win totals by s = T = L, and all
together under ``add-remove``. So peeling and permute-and-flip have scale (k + 1)L/ε, one-shot noise 2L/ε, a canonical
set 3L/ε, or 2L/ε for k = 1; under ``add-remove`` kL/ε, L/ε, 2L/ε and L/ε. Where one user can change many scores, but
each of them only a little, give the totals and their :class:`~privrank_jax.mechanism.selection.Moves`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from privrank_jax._validate import check_no_padding, check_whole
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.data import UNPADDED
from privrank_jax.mechanism.selection import (
    CANONICAL,
    ONE_SHOT,
    PEELING,
    PERMUTE_AND_FLIP,
    BoundedScores,
    Law,
    Moves,
    Selection,
)
from privrank_jax.pairwise.noisy_totals import doubled_totals, of_comparisons
from privrank_jax.privacy.privacy import Privacy


def totals_moves(attained: Privacy) -> Moves:
    """What one unit moves of win totals."""
    most = 1.0 * attained.comparisons_per_unit
    return Moves(most, most, together=attained.adjacency == "add-remove")


def _read(data: Any, attained: Privacy, exactly: bool) -> BoundedScores:
    if isinstance(data, WinCounts):
        scores = doubled_totals(data) if exactly else data.totals
        return BoundedScores(scores, totals_moves(attained), data.mask)
    if not isinstance(data, BoundedScores):
        raise TypeError(
            f"the k best are taken of WinCounts, or of BoundedScores(scores, Moves(s)), where s says how far one unit "
            f"can move one score whatever the data; got {type(data).__name__}."
        )
    if not exactly:
        return data
    check_no_padding(data, UNPADDED)
    return dataclasses.replace(data, scores=doubled_totals(data.scores))


def _of_totals(name: str, doc: str, law: Law) -> Selection:
    """A record with an example."""
    example = f"""
    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> {name}(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    return Selection(
        name, doc + example, law, promised=of_comparisons, moves=totals_moves, read=_read
    )


one_shot_top_k = _of_totals(
    "one_shot_top_k",
    """The k items with the largest score plus Laplace(λ) noise, added once; only the items are published, best first.

    **Guarantee.** ε-DP for the list in order at λ = 2 min(ks, T)/ε, and half of that where all scores move in one
    direction. :func:`~privrank_jax.pairwise.published.published_one_shot_scale` has the scale that relies on δ.

    The source applies it to :func:`~privrank_jax.pairwise.rank_centrality` with a bound that depends on the data at
    hand. It is not public, so no guarantee follows.

    Source: Qiao, Su and Zhang (2021), *Oneshot differentially private top-k selection*, ICML.

    >>> twice = Privacy(1.0, unit="user", adjacency="replace", contributions=9)  # each item at most twice
    >>> one_shot_top_k.scale(twice, 2), one_shot_top_k.scale(twice, 2, Moves(2, 9))
    (18.0, 8.0)
    """,
    ONE_SHOT,
)

peeling_top_k = _of_totals(
    "peeling_top_k",
    """The k best items, best first, by k rounds of the exponential mechanism ("peeling"), all drawn at once.

    **Guarantee.** ε-DP for the list in order at β = (ks + min(ks, T))/ε, and ks/ε where all scores move in one
    direction.

    Source: Durfee and Rogers (2019); the constant for totals is ours.
    """,
    PEELING,
)

permute_and_flip_top_k = _of_totals(
    "permute_and_flip_top_k",
    """The k best items, best first, by k rounds of permute-and-flip, in time O(km); for small k.

    One round visits the items in random order and accepts item i with probability exp(-(best score - score_i)/λ),
    until one is accepted.

    **Guarantee.** As of :data:`peeling_top_k`, at the same scale.

    Source: McKenna and Sheldon (2020); Ding, Kifer, Steinke, Wang, Xiao and Zhang (2021).
    """,
    PERMUTE_AND_FLIP,
)

canonical_top_k = _of_totals(
    "canonical_top_k",
    """The set of the k best items, in increasing order, by one draw among all sets of k items.

    A set counts its margin, the worst score in it less the best one outside, where it is negative; the margin of the
    best set counts θ times.

    **Guarantee.** ε-DP for the set at λ = B/ε, B = 2s + min(2s, T), for k = 1 2s; where all scores move in one
    direction 2s and s. θ = B/(2s) - 1, in the latter case B/s - 1. No smaller λ is ε-DP.

    Source: Shekelyan and Loukides (2022), *Differentially private top-k selection via canonical Lipschitz mechanism*,
    with θ = 0. The constants are ours.
    """,
    CANONICAL,
)


def choose_top_k(num_items: int, k: int, privacy: Privacy, moves: Moves | None = None) -> str:
    """The mechanism for the k best items by totals, from public facts alone: ``"canonical"`` or ``"one-shot"``.

    ``"canonical"`` for T >= ks: for one item, and where one user can fully change all k totals, at most s each. There,
    measured at 48fdee4, a canonical set misses fewer items unless noise hides a third of them; elsewhere it is the
    reverse, or the two are about as good.

    Args:
        num_items: m; beyond a million places times items it is ``"one-shot"``.
        k: number of items.
        privacy: the promise, with ``contributions`` L for users; concrete.
        moves: public; None takes those of win totals.

    Returns:
        The name, one of ``privrank rank --method``.

    Raises:
        ValueError: a promise that can't be kept, users without ``contributions``, k out of range.

    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> [choose_top_k(100, k, users, Moves(1, 10)) for k in (1, 10, 20)]
    ['canonical', 'canonical', 'one-shot']
    >>> choose_top_k(100, 2, users)
    'one-shot'
    """
    from privrank_jax.exact.selection import MOST_CLASSES

    check_whole("k", k, 1, num_items)
    attained = of_comparisons(privacy, "choose_top_k")
    moves = totals_moves(attained) if moves is None else moves
    moves.check()
    few = k * num_items <= MOST_CLASSES
    return "canonical" if few and float(moves.one_way) >= k * float(moves.most) else "one-shot"

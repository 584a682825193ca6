r"""Log probabilities and log densities of the mechanisms, in NumPy and float64, to enumerate their losses exactly.

Each function takes data sets stacked along the first axis and returns ``(D, K)``: a row per data set, a column per
output. For a finite mechanism these are all its outputs. For a continuous one they are outputs at which its loss is
largest, and constants that all data sets share are left out.

**Additive Laplace noise** at z has log density -‖z - N‖₁/λ: beyond all N in every coordinate, in the direction of a
corner s of the cube, that is s·N/λ plus a constant, and over the 2^d corners the difference is largest at
‖N - N'‖₁/λ, which bounds it everywhere.

**K-norm noise** at z has log density -‖z - N‖/λ up to a constant, and by the triangle inequality two data sets differ
most at z = N, by ‖N - N'‖/λ: outputs are all centers.

**Reports of vectors** have one of two densities, on a cap around the (rounded) vector or off it, so at an output u it
depends only on the side of u; outputs are taken along all data and their opposites, slightly off ties.

**Gaussian noise** promises (ε, δ), for which the largest log ratio is uninformative. There the functions return the
smallest ε at that δ instead, the root of δ(ε) = Σ (p - e^ε q)⁺ over all outcomes, the value at the worst event.

**The list of the k best noisy scores** is computed by quadrature over the score of the last of them. All scores are
multiples of 1/2, where the integrand has its kinks, so the integrand is smooth on panels between such points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import optimize, special

from privrank_jax.privacy_audit.shapes import body_norm

Array = np.ndarray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_FAR = 45.0  # scales beyond the last score: e^-45 of the mass


def additive_laplace(centers: Array, scale: float) -> Array:
    """Laplace noise of one scale on every number of ``centers (D, d)``, at the 2^d corners."""
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=centers.shape[1])))
    return centers @ corners.T / scale


def k_norm(centers: Array, facets: Array, scale: float) -> Array:
    r"""K-norm noise on ``centers (D, d)``, at each of them; ``facets`` are rows a with ‖z‖ = max \|⟨a, z⟩\|."""
    outputs = np.unique(centers, axis=0)
    return -body_norm(facets, outputs[None, :, :] - centers[:, None, :]) / scale


def first_of_two(gaps: Array, scale: float) -> Array:
    """The first of two totals, which is ``gaps (D,)`` ahead, stays ahead after Laplace noise on each.

    The difference of two such noises exceeds g >= 0 with probability (1 + g/(2λ)) e^{-g/λ}/2.
    """
    away = np.abs(gaps) / scale
    tail = np.log1p(0.5 * away) - away - math.log(2.0)
    return np.where(gaps < 0, tail, np.log1p(-np.exp(tail)))


def gaussian_epsilon(shifts: Array, scale: float, delta: float) -> Array:
    """Exact smallest ε at δ of Gaussian noise between two points that lie ``shifts (P,)`` apart."""

    def smallest(shift: float) -> float:
        def missing(epsilon: float) -> float:
            near, far = 0.5 * shift / scale, epsilon * scale / shift
            return special.ndtr(near - far) - np.exp(epsilon) * special.ndtr(-near - far) - delta

        if shift == 0 or missing(0.0) <= 0:
            return 0.0
        return float(optimize.root_scalar(missing, bracket=(0.0, 60.0), xtol=1e-13).root)

    known = {shift: smallest(shift) for shift in np.unique(shifts)}
    return np.array([known[shift] for shift in shifts])


def least_epsilon(first: Array, second: Array, delta: float) -> Array:
    """Smallest ε at δ, in both directions, between outcomes with probabilities ``first`` and ``second (P, K)``."""

    def enough(epsilon: Array) -> Array:
        odds = np.exp(epsilon)[:, None]
        excess = [np.maximum(p - odds * q, 0).sum(1) for p, q in ((first, second), (second, first))]
        return np.maximum(*excess) <= delta

    found = least_passing(enough, np.zeros(len(first)), np.full(len(first), 60.0))
    return np.where(found < 1e-12, 0.0, found)


def least_passing(enough: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The least numbers in [low, high] that pass a check, each by itself; ``high`` where none below does."""
    for _ in range(100):
        middle = 0.5 * (low + high)
        passed = enough(middle)
        low, high = np.where(passed, low, middle), np.where(passed, middle, high)
    return high


def flipped_bits(bits: Array, flip: float) -> Array:
    """One bit that is reported wrongly with probability ``flip``: outputs 0, 1."""
    wrong, right = np.log(flip), np.log1p(-flip)
    return np.where(bits[:, None] == np.arange(2), right, wrong)


def two_density_vectors(vectors: Array, radius: float, height: float, odds: float) -> Array:
    """Reports whose density on the cap ``⟨u, v̂⟩ >= height`` is e^odds times that off it; vectors ``(D, d)``."""
    norms = np.linalg.norm(vectors, axis=1)
    spare = np.eye(vectors.shape[1])[:1]
    axes = np.where(norms[:, None] > 0, vectors / np.where(norms > 0, norms, 1)[:, None], spare)
    aside = np.linspace(0.9, 1.1, vectors.shape[1]) + 1e-3 * np.arange(vectors.shape[1]) ** 2
    outputs = np.concatenate([axes, -axes, axes * aside, -axes * aside])
    outputs /= np.linalg.norm(outputs, axis=1, keepdims=True)
    cosines = axes @ outputs.T
    kept = (0.5 + 0.5 * np.minimum(norms / radius, 1))[:, None]
    ahead, behind = (np.where(side >= height, odds, 0.0) for side in (cosines, -cosines))
    with np.errstate(divide="ignore"):
        return np.logaddexp(np.log(kept) + ahead, np.log1p(-kept) + behind)


def two_item_sets(
    scores: Array, types: Sequence[tuple[int, int, int]], chances: Array, kept: float
) -> Array:
    """Reports of two disjoint item sets of sizes k and l, on a ranking or on its reverse, for strict rankings.

    Args:
        scores: ``(D, m)``, 0, ..., m - 1 in each row.
        types: (k, l, t): pairs are proposed uniformly; they are accepted if the first set's scores exceed the second's
            by t/(kl) on average, others with probability ``kept``.
        chances: of the types.
        kept: in (0, 1].
    """
    columns = []
    for (ahead, behind, threshold), chance in zip(types, chances):
        pairs = [
            (first, second)
            for first in itertools.combinations(range(scores.shape[1]), ahead)
            for second in itertools.combinations(range(scores.shape[1]), behind)
            if not set(first) & set(second)
        ]
        leads = np.stack(
            [
                behind * scores[:, first].sum(axis=1) - ahead * scores[:, second].sum(axis=1)
                for first, second in pairs
            ],
            axis=1,
        )
        for side in (leads, -leads):
            odds = np.where(side >= threshold, 1.0, kept)
            columns.append(np.log(0.5 * chance * odds / odds.sum(axis=1, keepdims=True)))
    return np.concatenate(columns, axis=1)


def softmax(scores: Array) -> Array:
    """Outputs with odds e^score, ``(D, K)``."""
    top = scores.max(axis=1, keepdims=True)
    return scores - top - np.log(np.sum(np.exp(scores - top), axis=1, keepdims=True))


def by_rounds(scores: Array, k: int, first: Callable[[Array], Array]) -> Array:
    """The ordered lists of k of m items, each drawn from those left with the log probabilities of ``first``."""
    rows = []
    for chosen in itertools.permutations(range(scores.shape[1]), k):
        left, total = list(range(scores.shape[1])), np.zeros(len(scores))
        for item in chosen:
            total += first(scores[:, left])[:, left.index(item)]
            left.remove(item)
        rows.append(total)
    return np.stack(rows, axis=1)


def peeling(scores: Array, scale: float, k: int) -> Array:
    """Lists drawn in rounds with odds e^(score/scale)."""
    return by_rounds(scores, k, lambda left: softmax(left / scale))


def permute_and_flip(scores: Array, scale: float, k: int) -> Array:
    """Lists of which each round takes the largest score plus fresh exponential noise."""
    return by_rounds(scores, k, lambda left: largest_exponential(left, scale))


def largest_exponential(scores: Array, scale: float) -> Array:
    """Log probability of each score plus exponential noise to be the largest, ``(D, m)``.

    That is permute-and-flip (McKenna and Sheldon, 2020): items come in random order, and the first is taken that passes
    a coin with odds e^{-(best - score)/scale}.
    """
    behind = (scores - scores.max(axis=1, keepdims=True)) / scale
    passed_over = np.zeros(scores.shape)
    orders = list(itertools.permutations(range(scores.shape[1])))
    for order in orders:
        left = np.ones(len(scores))
        for item in order:
            passed_over[:, item] += left / len(orders)
            left = left * -np.expm1(behind[:, item])
    return behind + np.log(passed_over)


def one_shot(scores: Array, scale: float, k: int) -> Array:
    """The ordered lists of the k <= 2 largest of the scores plus Laplace noise, added once."""
    if k > 2:
        raise ValueError(f"lists of up to two items are integrated, got k = {k}.")
    points, weights = _panels(scores, scale)
    log_density, log_below, log_above = _laplace_logs((points[:, None, None] - scores) / scale)
    rows = []
    for chosen in itertools.permutations(range(scores.shape[1]), k):
        rest = [item for item in range(scores.shape[1]) if item not in chosen]
        log = log_density[..., chosen[-1]] + log_below[..., rest].sum(-1)
        log += log_above[..., list(chosen[:-1])].sum(-1)
        top = log.max(axis=0)
        rows.append(top + np.log(weights / scale @ np.exp(log - top)))
    return np.stack(rows, axis=1)


def canonical(scores: Array, scale: float, k: int, lead: float) -> Array:
    """The sets of k < m items; the one with the largest utility plus exponential noise, drawn once for each set.

    The utility is the least score inside less the largest one outside; where that is positive it counts ``lead`` times.
    """
    rows = []
    for chosen in itertools.combinations(range(scores.shape[1]), k):
        outside = [item for item in range(scores.shape[1]) if item not in chosen]
        rows.append(scores[:, list(chosen)].min(axis=1) - scores[:, outside].max(axis=1))
    margins = np.stack(rows, axis=1)
    utilities = np.where(margins > 0, lead * margins, margins)
    return largest_exponential(utilities, scale)


def _panels(scores: Array, scale: float) -> tuple[Array, Array]:
    """Nodes and weights: on panels that end at multiples of 1/2 between the scores, on wider ones beyond them."""
    low, high = float(scores.min()), float(scores.max())
    tail = np.linspace(0, _FAR * scale, 2 * math.ceil(_FAR) + 1)
    inner = np.linspace(low, high, max(1, round(2 * (high - low) * math.ceil(1 / scale))) + 1)
    edges = np.concatenate([low - tail[:0:-1], inner, high + tail[1:]])
    half = 0.5 * np.diff(edges)[:, None]
    points = edges[:-1, None] + half * (1 + _NODES)
    return points.ravel(), (half * _WEIGHTS).ravel()


def _laplace_logs(away: Array) -> tuple[Array, Array, Array]:
    """Log density, log P(below) and log P(above) of the standard Laplace law."""
    distance = np.abs(away)
    tail = -distance - math.log(2)
    bulk = np.log1p(-np.exp(tail))
    return tail, np.where(away < 0, tail, bulk), np.where(away < 0, bulk, tail)


def kwiksort_transcripts(
    w: Array, scale: float, max_queries: int
) -> Iterator[tuple[Array, list[list[int]], bool]]:
    """All transcripts of a KwikSort with Laplace noise on its answers, for weights ``(D, m, m)``.

    Yields:
        Log probabilities ``(D,)``, the final segments (items within one are unordered), and whether the sort stopped
        because the next round would have exceeded the budget.
    """
    nothing = np.zeros(len(w))
    start = [list(range(w.shape[1]))]
    yield from _rounds(w, scale, max_queries, nothing, start)


def _rounds(
    w: Array, scale: float, left: int, log: Array, segments: list[list[int]]
) -> Iterator[tuple[Array, list[list[int]], bool]]:
    open_ones = [segment for segment in segments if len(segment) > 1]
    if not open_ones:
        yield log, segments, False
        return
    for pivots in itertools.product(*open_ones):
        log_pivots = log - sum(math.log(len(segment)) for segment in open_ones)
        asked = [
            (item, pivot)
            for segment, pivot in zip(open_ones, pivots)
            for item in segment
            if item != pivot
        ]
        if len(asked) > left:
            yield log_pivots, segments, True
            continue
        for answers in itertools.product((True, False), repeat=len(asked)):
            log_answers = log_pivots
            for (item, pivot), before in zip(asked, answers):
                _, log_below, log_above = _laplace_logs((0.5 - w[:, item, pivot]) / scale)
                log_answers = log_answers + (log_above if before else log_below)
            ahead = {pair for pair, before in zip(asked, answers) if before}
            parts = _parted(segments, dict(zip(map(tuple, open_ones), pivots)), ahead)
            yield from _rounds(w, scale, left - len(asked), log_answers, parts)


def _parted(
    segments: list[list[int]], pivots: dict[tuple[int, ...], int], ahead: set[tuple[int, int]]
) -> list[list[int]]:
    parts = []
    for segment in segments:
        if len(segment) == 1:
            parts.append(segment)
            continue
        pivot = pivots[tuple(segment)]
        before = [item for item in segment if (item, pivot) in ahead]
        behind = [item for item in segment if item != pivot and item not in before]
        parts += [part for part in (before, [pivot], behind) if part]
    return parts


def kwiksort_with_fallback(w: Array, scale: float, max_queries: int, fallback: Array) -> Array:
    """Transcripts; those that ran out of budget are followed by the outputs of the fallback, ``(D, K)``."""
    columns = [
        log[:, None] + fallback if stopped else log[:, None]
        for log, _, stopped in kwiksort_transcripts(w, scale, max_queries)
    ]
    return np.concatenate(columns, axis=1)


def shuffled_kwiksort(w: Array, scale: float, max_queries: int) -> Array:
    """The m! orders of a KwikSort that shuffles the items left unsorted, in lexicographic order of ranks."""
    items = w.shape[1]
    orders = [tuple(np.argsort(ranks)) for ranks in itertools.permutations(range(items))]
    total = np.full((len(w), len(orders)), -np.inf)
    for log, segments, _ in kwiksort_transcripts(w, scale, max_queries):
        log_each = log - sum(math.lgamma(len(segment) + 1) for segment in segments)
        for parts in itertools.product(*(itertools.permutations(part) for part in segments)):
            column = orders.index(tuple(itertools.chain(*parts)))
            total[:, column] = np.logaddexp(total[:, column], log_each)
    return total


def kendall_distances(ranks: Array, outputs: Array) -> Array:
    """Discordant pairs between each of ``ranks (D, m)`` and each of ``outputs (K, m)``."""
    first, second = np.triu_indices(ranks.shape[1], 1)

    def ahead(each: Any) -> Any:
        return each[:, first] < each[:, second]

    return np.sum(ahead(ranks)[:, None, :] != ahead(outputs)[None, :, :], axis=-1)

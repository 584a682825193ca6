r"""Log probabilities and log densities of the mechanisms, in NumPy and float64, to enumerate their losses exactly.

Each law takes data sets stacked along the first axis and returns ``(D, K)``: a row per data set, a column per output.
For a finite mechanism these are all its outputs. For a continuous one they are outputs at which its loss is largest,
and constants that all data sets share are left out.

**Additive Laplace noise** at z has log density -‖z - N‖₁/λ. Beyond all N in the direction of a corner s of the cube
that is s·N/λ plus a constant; over the 2^d corners two data sets differ most by ‖N - N'‖₁/λ, the bound everywhere.

**K-norm noise** at z has log density -‖z - N‖/λ up to a constant. By the triangle inequality two data sets differ most
at z = N, by ‖N - N'‖/λ, so outputs are all centers. The norm of a symmetric body is ‖z‖ = max \|⟨a, z⟩\| over facets a,
which are found by all cuts, unlike in :mod:`privrank_jax.privacy.geometry`.

**Gaussian noise** promises (ε, δ), for which the largest log ratio says nothing. There the functions return the
smallest ε with Σ (p - e^ε q)⁺ <= δ over all outcomes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import special

Array = np.ndarray

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_FAR = 45.0  # scales beyond the last score: e^-45 of the mass

# --- noise on numbers ------------------------------------------------------------------------------


def additive_laplace(centers: Array, scale: float) -> Array:
    """Laplace noise of one scale on every number of ``centers (D, d)``, at the 2^d corners."""
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=centers.shape[1])))
    return centers @ corners.T / scale


def k_norm(centers: Array, facets: Array, scale: float) -> Array:
    """K-norm noise on ``centers (D, d)``, at each of them."""
    outputs = np.unique(centers, axis=0)
    return -body_norm(facets, outputs[None, :, :] - centers[:, None, :]) / scale


def body_norm(facets: Array, points: Array) -> Array:
    """‖z‖ of points z ``(..., d)`` in the body with these facets ``(F, d)``."""
    return np.max(np.abs(points @ facets.T), axis=-1)


def cuts(lengths: Array) -> tuple[Array, Array]:
    """All sets of items without the last one, ``(2^(m-1), m)`` of 0 and 1, and the sum of lengths that each cuts."""
    sides = np.array(
        [[*one, 0.0] for one in itertools.product((0.0, 1.0), repeat=len(lengths) - 1)]
    )
    return sides, np.einsum("si,ij,sj->s", sides, lengths, 1 - sides)


def zonotope_facets(lengths: Array) -> Array:
    """Facets of Σ_{i<j} [-l_ij, l_ij](e_i - e_j), 1_S/cut(S), for lengths l ``(m, m)``.

    >>> zonotope_facets(np.array([[0, 2], [2, 0]])).tolist()
    [[0.5, 0.0]]
    """
    sides, cut = cuts(lengths)
    return sides[cut > 0] / cut[cut > 0, None]


# --- the smallest ε at δ ---------------------------------------------------------------------------


def gaussian_epsilon(shifts: Array, scale: float, delta: float) -> Array:
    """Of Gaussian noise between two points that lie ``shifts (P,)`` apart."""
    shift, places = np.unique(np.asarray(shifts) / scale, return_inverse=True)

    def enough(epsilon: Array) -> Array:
        far = epsilon / np.maximum(shift, 1e-300)
        kept = special.ndtr(0.5 * shift - far) - np.exp(epsilon) * special.ndtr(-0.5 * shift - far)
        return kept <= delta

    return least_passing(enough, np.zeros(len(shift)), np.full(len(shift), 60.0))[places]


def least_epsilon(first: Array, second: Array, delta: float) -> Array:
    """Between outcomes with probabilities ``first`` and ``second (P, K)``, in both directions."""

    def enough(epsilon: Array) -> Array:
        odds = np.exp(epsilon)[:, None]
        excess = [np.maximum(p - odds * q, 0).sum(1) for p, q in ((first, second), (second, first))]
        return np.maximum(*excess) <= delta

    return least_passing(enough, np.zeros(len(first)), np.full(len(first), 60.0))


def least_passing(enough: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """The least numbers in [low, high] that pass a check, each by itself; ``high`` where none below does."""
    for _ in range(100):
        middle = 0.5 * (low + high)
        passed = enough(middle)
        low, high = np.where(passed, low, middle), np.where(passed, middle, high)
    return np.where(enough(low), low, high)


# --- reports of one user ---------------------------------------------------------------------------


def two_density_vectors(vectors: Array, radius: float, height: float, odds: float) -> Array:
    """Reports whose density on the cap ``⟨u, v̂⟩ >= height`` is e^odds times that off it; vectors ``(D, d)``.

    A report on the rounded vector depends on the side of u alone: outputs are along all data and their opposites, and
    slightly off ties.
    """
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
    """Two disjoint item sets of a type (k, l, t), on a ranking or on its reverse; scores ``(D, m)`` are 0, ..., m - 1.

    Types have these chances. Pairs of sets of sizes k and l are proposed uniformly; they are accepted if the scores of
    the first exceed those of the second by t/(kl) on average, others with probability ``kept``.
    """
    columns, items = [], range(scores.shape[1])
    for (ahead, behind, threshold), chance in zip(types, chances):
        sums = [
            behind * scores[:, first].sum(axis=1) - ahead * scores[:, second].sum(axis=1)
            for first in itertools.combinations(items, ahead)
            for second in itertools.combinations(sorted({*items} - {*first}), behind)
        ]
        leads = np.stack(sums, axis=1)
        for side in (leads, -leads):
            odds = np.where(side >= threshold, 1.0, kept)
            columns.append(np.log(0.5 * chance * odds / odds.sum(axis=1, keepdims=True)))
    return np.concatenate(columns, axis=1)


def kendall_distances(ranks: Array, outputs: Array) -> Array:
    """Discordant pairs between each of ``ranks (D, m)`` and each of ``outputs (K, m)``."""
    one, other = np.triu_indices(ranks.shape[1], 1)
    first, second = (each[:, one] < each[:, other] for each in (ranks, outputs))
    return np.sum(first[:, None, :] != second[None, :, :], axis=-1)


# --- selections ------------------------------------------------------------------------------------


def softmax(scores: Array) -> Array:
    """Outputs with odds e^score, ``(D, K)``."""
    return scores - special.logsumexp(scores, axis=1, keepdims=True)


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


def canonical(scores: Array, scale: float, k: int, lead: float) -> Array:
    """The sets of k < m items; the one with the largest utility plus exponential noise, drawn once for each set.

    The utility is the least score inside less the largest one outside; where that is positive it counts ``lead`` times.
    """
    rows = []
    for chosen in itertools.combinations(range(scores.shape[1]), k):
        outside = [item for item in range(scores.shape[1]) if item not in chosen]
        rows.append(scores[:, list(chosen)].min(axis=1) - scores[:, outside].max(axis=1))
    margins = np.stack(rows, axis=1)
    return largest_exponential(np.where(margins > 0, lead * margins, margins), scale)


def one_shot(scores: Array, scale: float, k: int) -> Array:
    """The ordered lists of the k <= 2 largest of the scores plus Laplace noise, added once.

    By quadrature over the noisy score of the last one, on panels that end at multiples of 1/2, as scores are, and wider
    ones beyond all scores.
    """
    low, high = float(scores.min()), float(scores.max())
    tail = np.linspace(0, _FAR * scale, 2 * math.ceil(_FAR) + 1)
    inner = np.linspace(low, high, max(1, round(2 * (high - low) * math.ceil(1 / scale))) + 1)
    edges = np.concatenate([low - tail[:0:-1], inner, high + tail[1:]])
    half = 0.5 * np.diff(edges)[:, None]
    points = (edges[:-1, None] + half * (1 + _NODES)).ravel()
    weights = (half * _WEIGHTS).ravel() / scale
    log_density, log_below, log_above = _laplace_logs((points[:, None, None] - scores) / scale)
    rows = []
    for chosen in itertools.permutations(range(scores.shape[1]), k):
        rest = [item for item in range(scores.shape[1]) if item not in chosen]
        log = log_density[..., chosen[-1]] + log_below[..., rest].sum(-1)
        log += log_above[..., list(chosen[:-1])].sum(-1)
        top = log.max(axis=0)
        rows.append(top + np.log(weights @ np.exp(log - top)))
    return np.stack(rows, axis=1)


def _laplace_logs(away: Array) -> tuple[Array, Array, Array]:
    """Log density, log P(below) and log P(above) of the standard Laplace law."""
    tail = -np.abs(away) - math.log(2)
    bulk = np.log1p(-np.exp(tail))
    return tail, np.where(away < 0, tail, bulk), np.where(away < 0, bulk, tail)


# --- sorting ---------------------------------------------------------------------------------------

Segments = list[list[int]]
"""Items in order; those within one are unordered."""


def kwiksort_transcripts(
    w: Array, scale: float, left: int, log: Any = None, segments: Segments | None = None
) -> Iterator[tuple[Array, Segments, bool]]:
    """All transcripts of a KwikSort of weights ``(D, m, m)`` with Laplace noise on its answers, at most ``left``.

    Yields log probabilities ``(D,)``, the final segments, and whether the next round would have exceeded the budget.
    """
    if segments is None:
        log, segments = np.zeros(len(w)), [[*range(w.shape[1])]]
    if max(map(len, segments)) == 1:
        yield log, segments, False
        return
    for pivots in itertools.product(*segments):
        log_pivots = log - sum(math.log(len(segment)) for segment in segments)
        asked = [(i, pivot) for part, pivot in zip(segments, pivots) for i in part if i != pivot]
        if len(asked) > left:
            yield log_pivots, segments, True
            continue
        for answers in itertools.product((True, False), repeat=len(asked)):
            log_answers, side = log_pivots, dict.fromkeys(pivots, "pivot")
            for (item, pivot), ahead in zip(asked, answers):
                _, log_below, log_above = _laplace_logs((0.5 - w[:, item, pivot]) / scale)
                log_answers = log_answers + (log_above if ahead else log_below)
                side[item] = "ahead" if ahead else "behind"
            order = itertools.product(segments, ("ahead", "pivot", "behind"))
            parts = [[i for i in part if side[i] == one] for part, one in order]
            rest = left - len(asked)
            yield from kwiksort_transcripts(w, scale, rest, log_answers, [*filter(None, parts)])


def kwiksort_with_fallback(w: Array, scale: float, max_queries: int, fallback: Array) -> Array:
    """Transcripts; those that ran out of budget are followed by the outputs of the fallback, ``(D, K)``."""
    columns = [
        log[:, None] + fallback if stopped else log[:, None]
        for log, _, stopped in kwiksort_transcripts(w, scale, max_queries)
    ]
    return np.concatenate(columns, axis=1)


def shuffled_kwiksort(w: Array, scale: float, max_queries: int) -> Array:
    """The m! orders of a KwikSort that shuffles the items left unsorted, in lexicographic order of ranks."""
    orders = [tuple(np.argsort(ranks)) for ranks in itertools.permutations(range(w.shape[1]))]
    total = np.full((len(w), len(orders)), -np.inf)
    for log, segments, _ in kwiksort_transcripts(w, scale, max_queries):
        log_each = log - sum(math.lgamma(len(segment) + 1) for segment in segments)
        for parts in itertools.product(*map(itertools.permutations, segments)):
            column = orders.index(tuple(itertools.chain(*parts)))
            total[:, column] = np.logaddexp(total[:, column], log_each)
    return total

"""What the noise leaves certain of a consensus: bounds on all scores, or on all majorities, at once.

First the reach of the noise, which holds that of all numbers of a release at :data:`LEVEL`; then what follows from it.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int

from privrank_jax._quickly import quickly
from privrank_jax.aggregation.bounds import report_deviation
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.majority_rules import schulze_paths
from privrank_jax.aggregation.promise import unit_of
from privrank_jax.aggregation.scores import PointTotals, points_change
from privrank_jax.aggregation.vector_reports import score_radius
from privrank_jax.exact.k_norm import zonotope_parts
from privrank_jax.jobs.mechanisms import Drawn
from privrank_jax.jobs.methods import KEMENY, scores_by
from privrank_jax.jobs.result import Certainty, of_noise
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Cube, Zonotope

LEVEL = 0.95
TAKEN_AS_NORMAL = ", with who was asked what, taken as normal"
SCORE = "The score of an item is how many others a user, on average, ranks behind it"
SUM = (
    "The score of an item is half of how many more others users rank behind it than ahead of it, added up; how many "
    "users there are is not published"
)
_ALL_ITEMS = "all items together; they cover the privacy noise alone"
_IN_A_CYCLE = "some majorities that are beyond the noise contradict the order by a cycle, so no range of ranks is shown"


def score_reach(num_items: int, num_users: int, noise: str, drawn: Drawn) -> float:
    """Reach of the noise of Borda scores that a curator releases; n plays no part where it is private."""
    change, divisor = unit_of(drawn.guarantee.promise, num_users)
    step = 0.5 / divisor  # of exact noise
    if noise != "k-norm":
        return _independent_reach(drawn, noise, num_items, step)
    body = Zonotope.of_all_pairs(num_items)
    if not drawn.exact:
        return Noise("k-norm", drawn.scale, body).reach(LEVEL)
    step /= zonotope_parts(change, float(drawn.guarantee.promise.epsilon))
    return step * noise_law.lattice_reach(body, LEVEL, step / drawn.scale)


def weight_reach(num_items: int, num_users: int, noise: str, drawn: Drawn) -> float | None:
    """Reach of the noise of weights of a curator, before any shrinkage; None if they were made of scores alone."""
    about, promise = drawn.value.diagnostics, drawn.guarantee.promise
    change, divisor = unit_of(promise, num_users)
    pairs = num_items * (num_items - 1) // 2
    if noise != "k-norm" and not hasattr(about, "cycle_scale"):
        return _independent_reach(drawn, noise, pairs, 0.5 / divisor)
    gradient = float(getattr(about, "gradient_scale", 0.0))
    cycle = float(getattr(about, "cycle_scale", 0.0))
    if not math.isfinite(cycle):
        return None
    if noise == "k-norm":  # all of the budget is spent on pairs
        rate = float(promise.epsilon) / change
        if drawn.exact:
            return 0.5 * noise_law.lattice_reach(Cube.of_numbers(pairs), LEVEL, rate) / divisor
        return Noise("k-norm", 0.5 / rate, Cube.of_pairs(num_items)).reach(LEVEL) / divisor
    # Normal noise of pairs is correlated, and all of them lie within as likely as independent ones at least (Šidák).
    # It is alike on all pairs. Rounding it to integers moves a weight by less than one user.
    square = (num_items - 1) * (gradient * divisor) ** 2
    square += (num_items - 1) * (num_items - 2) / 2 * (cycle * divisor) ** 2
    reach = Noise.independent("gaussian", math.sqrt(square / pairs), pairs).reach(LEVEL)
    return (reach + drawn.exact) / divisor


def points_reach(totals: PointTotals, noise: str, drawn: Drawn) -> float:
    """Reach of the noise of all totals of points."""
    items, promise = totals.num_items, drawn.guarantee.promise
    change = points_change(items, promise, totals.most, totals.limit, noise)
    if not drawn.exact:
        return change.noise(noise, drawn.scale, (items,)).reach(LEVEL)
    step = 1 / change.parts
    if noise == "k-norm":
        rate = float(promise.epsilon) / change.factor
        return step * noise_law.lattice_reach(Cube.of_numbers(items), LEVEL, rate)
    return _independent_reach(drawn, noise, items, step)


def answers_reach(
    num_items: int, num_users: int, mechanism: str, epsilon: float, *, of_scores: bool = False
) -> float:
    """Reach of the noise of weights by one answer per user at ε, or of Borda scores by these.

    The errors of k weights have at most k times the variance of one. ``mechanism`` is a name of the bounds.
    """
    deviation = report_deviation(num_items, num_users, epsilon, mechanism)
    numbers = num_items * (num_items - 1) // 2
    if of_scores:
        deviation, numbers = deviation * math.sqrt(num_items - 1), num_items
    return Noise.independent("gaussian", deviation, numbers).reach(LEVEL)


def _independent_reach(drawn: Drawn, noise: str, numbers: int, step: float) -> float:
    """The same for independent noise, exact noise on multiples of ``step``."""
    return Noise.independent(noise, drawn.scale, numbers).reach(LEVEL) + step * drawn.exact


def of_reports(
    scores: Float[np.ndarray, "items"], num_users: int, about: ReportDiagnostics
) -> Certainty:
    """Certainty of Borda scores from one report per user, by Student's law, for all items (Bonferroni).

    Few reports may agree by chance, so a standard error counts as no less than the mean over items of what it is if all
    users rank all items: the noise of a report has the square B² - ‖x‖², x the user's scores.
    """
    from scipy import special

    if num_users < 2:
        return Certainty(notes=("one report alone says nothing of its own error: no intervals",))
    beyond = (1 - LEVEL) / (2 * scores.size)
    square = max(float(about.report_norm) ** 2 - score_radius(scores.size) ** 2, 0.0)
    usual = math.sqrt(square / (scores.size * num_users))
    errors = np.maximum(np.asarray(about.standard_errors), usual)
    reach = -float(special.stdtrit(num_users - 1, beyond)) * errors
    more = f", taken as normal, by the variance of the reports. {SCORE}"
    return of_noise(scores, reach, what="scores", more=more)


def of_weights(
    rule: str | None,
    weights: Float[np.ndarray, "items items"],
    ranks: Int[np.ndarray, "items"],
    reach: float,
    *,
    summed: bool = False,
    more: str = "",
) -> Certainty:
    """The certainty of the ranking by a rule, where no weight is off by more than ``reach``.

    How far scores and paths are off then is at the head of :mod:`privrank_jax.aggregation.majority_rules`. Copeland's
    score is the number of majorities, each of which is sure, or for either item. Where majorities have no cycle,
    Kemeny's order follows them: an item's rank in it is at least the number of those that are surely ahead, by a chain
    of sure majorities, and likewise from behind. ``weights`` are as released, before any shrinkage, and ``summed`` over
    a private number of users 1/2 more; ``more``: what is covered beside the noise.
    """
    items = len(weights)
    if rule in (None, KEMENY, "ranked-pairs"):
        return _majorities(weights, ranks, reach, more)
    if rule == "schulze":
        paths = np.asarray(quickly(schulze_paths, weights))
        better = paths - 2 * reach > paths.T + 2 * reach
        ends = {"rank_low": better.sum(axis=0), "rank_high": items - 1 - better.sum(axis=1)}
        words = f"for the ranks by Schulze's rule before the noise, {_ALL_ITEMS}{more}"
        return Certainty(better, ends, words)
    if rule == "copeland":
        sure = weights - reach > 0.5
        low, high = sure.sum(axis=1), items - 1 - sure.sum(axis=0)
    else:
        scores, off = scores_by(rule, weights), (2 if rule == "minimax" else items - 1) * reach
        if rule == "borda" and summed:  # over users, each of whom has this much on average
            scores = scores - 0.5 * (items - 1)
        low, high = scores - off, scores + off
    return of_noise((low + high) / 2, (high - low) / 2, what="scores", more=more)


def _majorities(weights: np.ndarray, ranks: np.ndarray, reach: float, more: str) -> Certainty:
    better = weights - reach > 0.5
    ahead = better.copy()
    for between in range(len(ahead)):  # by chains through the first items, one more each time
        ahead |= ahead[:, [between]] & ahead[between]
    best, worst = ahead.sum(axis=0), len(weights) - 1 - ahead.sum(axis=1)
    if not np.all((best <= ranks) & (ranks <= worst)):
        return Certainty(better, notes=(_IN_A_CYCLE,))
    words = (
        "for the ranks by the majorities of the users, if these never form a cycle (A ahead of B, B of C, and C of A), "
        f"{_ALL_ITEMS}{more}. Two items are told apart where surely more than half of the users have the same one ahead"
    )
    return Certainty(better, {"rank_low": best, "rank_high": worst}, words)

"""What the noise leaves certain of a consensus: bounds on all scores, or on all majorities, at once."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax.aggregation.bounds import report_deviation
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.majority_rules import schulze_paths
from privrank_jax.aggregation.promise import unit_of
from privrank_jax.aggregation.scores import PointTotals, points_change
from privrank_jax.aggregation.vector_reports import score_radius
from privrank_jax.exact.k_norm import zonotope_parts
from privrank_jax.jobs.mechanisms import Drawn
from privrank_jax.jobs.result import Certainty, of_noise
from privrank_jax.jobs.rules import KEMENY, scores_by
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.geometry import Cube, Zonotope

LEVEL = 0.95


class AskedOf(Protocol):
    """The method and the noise that were asked for."""

    @property
    def method(self) -> str:
        """Name of the method."""
        ...

    @property
    def noise_drawn(self) -> str:
        """Name of the noise."""
        ...

    @property
    def rule(self) -> str | None:
        """Name of the rule that ranks by weights; None for Kemeny's."""
        ...


_SCORE = "The score of an item is how many others a user, on average, ranks behind it"
_SUM = (
    "The score of an item is half of how many more others users rank behind it than ahead of it, added up; how many "
    "users there are is not published"
)
_ANSWERS = ", with who was asked what, taken as normal"
_IN_A_CYCLE = "some majorities that are beyond the noise contradict the order by a cycle, so no range of ranks is shown"


def of_scores(scores: np.ndarray, num_users: int, asked: AskedOf, drawn: Drawn) -> Certainty:
    """Certainty of noisy Borda scores.

    Args:
        scores: ``(m,)``, as released.
        num_users: n, which plays no part where it is private.
        asked: the arguments.
        drawn: the release.
    """
    return of_noise(
        scores,
        _score_reach(scores.size, num_users, asked, drawn),
        what="scores",
        more=f". {_SUM if _is_summed(drawn) else _SCORE}",
    )


def of_scores_from_answers(
    scores: np.ndarray, num_users: int, mechanism: str, epsilon: float
) -> Certainty:
    """Certainty of Borda scores from one answer per user: the errors of k weights have k times their variance at most.

    Args:
        scores: ``(m,)``, as released.
        num_users: n.
        mechanism: ``"one-pair"`` or ``"shuffled-pair"``.
        epsilon: of a report.
    """
    items = scores.size
    deviation = math.sqrt(items - 1) * report_deviation(items, num_users, epsilon, mechanism)
    reach = Noise.independent("gaussian", deviation, items).reach(LEVEL)
    return of_noise(scores, reach, what="scores", more=f"{_ANSWERS}. {_SCORE}")


def of_scores_from_reports(
    scores: np.ndarray, num_users: int, about: ReportDiagnostics
) -> Certainty:
    """Certainty of Borda scores from one report per user, by Student's law, for all items (Bonferroni).

    Few reports may agree by chance, so a standard error counts as no less than the mean over items of what it is if all
    users rank all items: the noise of a report has the square B² - ‖x‖², x the user's scores.

    Args:
        scores: ``(m,)``, as released.
        num_users: n.
        about: of the release.
    """
    from scipy import special

    if num_users < 2:
        return Certainty(notes=("one report alone says nothing of its own error: no intervals",))
    beyond = (1 - LEVEL) / (2 * scores.size)
    square = max(float(about.report_norm) ** 2 - score_radius(scores.size) ** 2, 0.0)
    usual = math.sqrt(square / (scores.size * num_users))
    errors = np.maximum(np.asarray(about.standard_errors), usual)
    reach = -float(special.stdtrit(num_users - 1, beyond)) * errors
    more = f", taken as normal, by the variance of the reports. {_SCORE}"
    return of_noise(scores, reach, what="scores", more=more)


def of_majorities(
    weights: np.ndarray, ranks: np.ndarray, num_users: int, asked: AskedOf, drawn: Drawn
) -> Certainty:
    """Certainty of noisy weights: i is surely better than j if surely most users have it ahead.

    Where the majorities of the users have no cycle, the order by them has the least disagreement, and respects those
    that are sure. So an item's rank in it is at least the number of those that are surely ahead, by a chain of sure
    majorities, and likewise from behind.

    Args:
        weights: ``(m, m)``, as released, before any shrinkage; clipped to [0, 1] or not. Of sums over a private number
            of users 1/2 more.
        ranks: ``(m,)`` ranks that are published for them.
        num_users: n, which plays no part where it is private.
        asked: the arguments.
        drawn: the release.
    """
    reach = _weight_reach(len(weights), num_users, asked, drawn)
    if reach is None:
        return Certainty()
    return _by_rule(asked.rule, weights, ranks, reach, summed=_is_summed(drawn))


def of_majorities_from_answers(
    weights: np.ndarray,
    ranks: np.ndarray,
    num_users: int,
    mechanism: str,
    epsilon: float,
    rule: str | None = None,
) -> Certainty:
    """Certainty of weights from one answer per user, as :func:`of_majorities`.

    Args:
        weights: ``(m, m)``, as released.
        ranks: ``(m,)`` ranks that are published for them.
        num_users: n.
        mechanism: ``"sub-ranking"`` or ``"shuffled-pair"``.
        epsilon: of a report.
        rule: by which they were ranked; None for Kemeny's.
    """
    items = len(weights)
    deviation = report_deviation(items, num_users, epsilon, mechanism)
    reach = Noise.independent("gaussian", deviation, items * (items - 1) // 2).reach(LEVEL)
    return _by_rule(rule, weights, ranks, reach, more=_ANSWERS)


def _by_rule(
    rule: str | None,
    weights: np.ndarray,
    ranks: np.ndarray,
    reach: float,
    *,
    summed: bool = False,
    more: str = "",
) -> Certainty:
    """What is certain of the ranking by a rule, where no weight is off by more than ``reach``.

    How far scores and paths are off then is at the head of :mod:`privrank_jax.aggregation.majority_rules`. Copeland's
    score is the number of majorities, each of which is sure, or for either item.
    """
    items = len(weights)
    if rule in (None, KEMENY, "ranked-pairs"):
        return _majorities(weights, ranks, reach, more)
    if rule == "schulze":
        paths = np.asarray(quickly(schulze_paths, weights))
        better = paths - 2 * reach > paths.T + 2 * reach
        ends = {"rank_low": better.sum(axis=0), "rank_high": items - 1 - better.sum(axis=1)}
        words = (
            "for the ranks by Schulze's rule before the noise, all items together; they cover the privacy noise "
            f"alone{more}"
        )
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
    ahead = _chained(better)
    best, worst = ahead.sum(axis=0), len(weights) - 1 - ahead.sum(axis=1)
    if not np.all((best <= ranks) & (ranks <= worst)):
        return Certainty(better, notes=(_IN_A_CYCLE,))
    words = (
        "for the ranks by the majorities of the users, if these never form a cycle (A ahead of B, B of C, and C of A), "
        f"all items together; they cover the privacy noise alone{more}. Two items are told apart where surely more "
        "than half of the users have the same one ahead"
    )
    return Certainty(better, {"rank_low": best, "rank_high": worst}, words)


def _chained(better: np.ndarray) -> np.ndarray:
    """Which items are ahead of which by a chain of steps."""
    while True:
        steps = better.astype(np.float32)
        longer = better | (steps @ steps > 0)
        if np.array_equal(longer, better):
            return better
        better = longer


def _score_reach(num_items: int, num_users: int, asked: AskedOf, drawn: Drawn) -> float:
    """Half-width that holds the noise of all scores."""
    step, change = _grid(num_users, drawn)
    if asked.noise_drawn != "k-norm":
        return _independent_reach(drawn, asked.noise_drawn, num_items, step)
    body = Zonotope.of_all_pairs(num_items)
    if not drawn.exact:
        return Noise("k-norm", drawn.scale, body).reach(LEVEL)
    epsilon = float(drawn.guarantee.promise.epsilon)
    step /= zonotope_parts(change, epsilon)
    return step * noise_law.lattice_reach(body, LEVEL, step / drawn.scale)


def _is_summed(drawn: Drawn) -> bool:
    """Whether sums over a private number of users are published."""
    return drawn.guarantee.promise.adjacency == "add-remove"


def _grid(num_users: int, drawn: Drawn) -> tuple[float, int]:
    """The step of exact noise on scores and weights, and how many steps one user may change a pair by."""
    change, divisor = unit_of(drawn.guarantee.promise, num_users)
    return 0.5 / divisor, change


def _weight_reach(num_items: int, num_users: int, asked: AskedOf, drawn: Drawn) -> float | None:
    """Half-width that holds the noise of all weights; None if they were made of scores alone."""
    step, _ = _grid(num_users, drawn)
    if asked.noise_drawn != "k-norm" and asked.method != "weights":
        pairs = num_items * (num_items - 1) // 2
        return _independent_reach(drawn, asked.noise_drawn, pairs, step)
    about, promise = drawn.estimate.diagnostics, drawn.guarantee.promise
    gradient, cycle = (
        float(getattr(about, f"{part}_scale", 0.0)) for part in ("gradient", "cycle")
    )
    if not math.isfinite(cycle):
        return None
    users, pairs = 0.5 / step, num_items * (num_items - 1) // 2
    if asked.noise_drawn == "k-norm":  # all of the budget is spent on pairs
        rate = float(promise.epsilon) / unit_of(promise, 1)[0]
        if drawn.exact:
            return 0.5 * noise_law.lattice_reach(Cube.of_numbers(pairs), LEVEL, rate) / users
        return Noise("k-norm", 0.5 / rate, Cube.of_pairs(num_items)).reach(LEVEL) / users
    # Normal noise of pairs is correlated, and all of them lie within as likely as independent ones at least (Šidák).
    # It is alike on all pairs. Rounding it to integers moves a weight by less than one user.
    square = (num_items - 1) * (gradient * users) ** 2
    square += (num_items - 1) * (num_items - 2) / 2 * (cycle * users) ** 2
    reach = Noise.independent("gaussian", math.sqrt(square / pairs), pairs).reach(LEVEL)
    return (reach + drawn.exact) / users


def reach_of_points(totals: PointTotals, noise: str, drawn: Drawn) -> float:
    """Half-width that holds the noise of all totals of points.

    Args:
        totals: what the noise was added to.
        noise: its kind.
        drawn: the release.
    """
    items, promise = totals.num_items, drawn.guarantee.promise
    change = points_change(items, promise, totals.most, totals.limit, noise)
    if not drawn.exact:
        return change.noise(noise, drawn.scale, (items,)).reach(LEVEL)
    step = 1 / change.parts
    if noise == "k-norm":
        rate = float(promise.epsilon) / change.factor
        return step * noise_law.lattice_reach(Cube.of_numbers(items), LEVEL, rate)
    return _independent_reach(drawn, noise, items, step)


def _independent_reach(drawn: Drawn, noise: str, numbers: int, step: float) -> float:
    """The same for independent noise, exact noise on multiples of ``step``."""
    reach = Noise.independent(noise, drawn.scale, numbers).reach(LEVEL)
    return reach + step * drawn.exact

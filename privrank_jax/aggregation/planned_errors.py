r"""Errors of a private consensus to expect, before there are data: how many pairs it costs above the best order.

**Crowd.** Nothing is known of the users yet, so a crowd is assumed: rankings by the Plackett-Luce model with scores θ
evenly from S to -S. Then item i is ahead of j with probability w_ij = 1/(1 + exp(θ_j - θ_i)), the best order is that of
θ, and a ranking costs Σ (2w_ij - 1) more than it, over the pairs i before j that it puts in the other order. Closer
scores make more mistakes, of less cost each. Only noise is counted, not what the users may differ from the model.

**Noise** is taken as normal, with the covariance that it has (:mod:`privrank_jax.privacy.noise_law`; for reports the
bounds of their variances, by which 6 items and 500 users at ε = 2 are planned 0.9 to 1.7 times the cost that the
protocols reach). *Borda*: two scores that differ by d are exchanged with probability Φ(-d/σ), σ² the variance of the
noise of a difference, and the costs of pairs add up: no simulation. *Weights of all pairs, in two parts or one*: a
local search from the Borda order of the noisy weights, where the method would take the best ranking of all, in a few
dozen crowds with the same normal numbers at all ε and n. *Footrule*: the assignment of least noisy cost, likewise, with
costs of 4,000 rankings of the crowd. *Exponential mechanism*: all rankings, up to 7 items. Sorts by comparisons are not
planned: Borda has less error than they (:mod:`privrank_jax.aggregation.dp_sorting`).

What is expected is far below what is proven (:mod:`~privrank_jax.aggregation.error_proofs`), for noise rarely moves
all items in the worst direction.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int
from scipy import special

from privrank_jax._quickly import quickly
from privrank_jax._validate import check_choice, check_nonnegative
from privrank_jax.aggregation.borda import (
    dp_borda,
    ldp_borda_norm,
    score_radius,
)
from privrank_jax.aggregation.bounds import (
    ONE_ANSWER,
    as_replaced,
    check_sizes,
    of_one_user,
    report_deviation,
)
from privrank_jax.aggregation.error_proofs import ProvenError
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.private_footrule import count_variance, dp_footrule
from privrank_jax.aggregation.split_weights import private_weights_scales
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores

_MOST_ENUMERATED = 7
_RANKINGS = 4_000
_NUMBERS, _DRAWS = 1 << 18, (8, 64)  # of noise for one design; simulated crowds


class Setting(NamedTuple):
    """Public facts of one release.

    Attributes:
        num_users: n.
        privacy: what is promised: unit user, adjacency replace, or add-remove as for
            :func:`~privrank_jax.aggregation.proven_errors`; concrete.
    """

    num_users: int
    privacy: Privacy


class _Means(NamedTuple):
    """Of so many users who may be replaced means have the noise of a release, at this promise; φ of weights."""

    num_users: int
    privacy: Privacy
    focus: float | None


def planned_costs(
    row: ProvenError,
    num_items: int,
    settings: Sequence[Setting],
    *,
    spread: float = 1.0,
    rule: str | None = None,
) -> Float[np.ndarray, " settings"] | None:
    """Expected Kemeny cost above the optimum of one method, in pairs per user, in a crowd of the model.

    Args:
        row: the method, as of :func:`~privrank_jax.aggregation.proven_errors`.
        num_items: m >= 2.
        settings: number of users and promise of each release, simulated together.
        spread: S >= 0; at 1 the best item is ahead of the worst for 88 of 100 users.
        rule: by which weights of all pairs are ranked, one of
            :data:`~privrank_jax.aggregation.majority_rules.RULES`; None for Kemeny's. The cost stays Kemeny's.

    Returns:
        A cost for each setting, exact for normal noise or the mean of a simulation from a fixed seed; None for methods
        that are not planned.

    Raises:
        ValueError: fewer than 2 items or no users, S < 0, a promise that the method can't keep, an unknown rule, or one
            of a method without weights of all pairs.

    >>> from privrank_jax.aggregation.error_proofs import proven_errors
    >>> privacy = Privacy(0.1, unit="user", adjacency="replace")
    >>> borda = proven_errors(10, 1000, privacy)[0]
    >>> planned_costs(borda, 10, [Setting(1000, privacy), Setting(4000, privacy)]).round(3).tolist()
    [0.471, 0.004]
    """
    check_nonnegative("spread", spread)
    for setting in settings:
        check_sizes(num_items, setting.num_users)
    planned = PLANNED[row.method]
    if planned is None or (row.method == "exponential" and num_items > _MOST_ENUMERATED):
        return None
    if rule is not None:
        check_choice("rule", rule, tuple(RULES))
        if planned not in (_weights, _noise_all):
            raise ValueError(f"{row.method} has no weights of all pairs, which a rule ranks by.")
        planned = functools.partial(planned, ranked=_RANKED[rule])
    return planned(row, _crowd(num_items, float(spread)), [_means(row, one) for one in settings])


def _means(row: ProvenError, setting: Setting) -> _Means:
    privacy, of_noise = as_replaced(setting.privacy, row, setting.num_users)
    focus = None if privacy is setting.privacy else 0.0
    return _Means(of_noise, of_one_user(privacy, row, setting.num_users), focus)


class _Crowd(NamedTuple):
    """Weights of the model, ``(m, m)``, items in the best order, and the costs of items at places."""

    weights: np.ndarray
    costs: np.ndarray

    def excess(self, ranks: Int[np.ndarray, "*draws items"]) -> np.ndarray:
        """Cost of rankings above the optimum, ``(...)``."""
        lead = np.triu(2 * self.weights - 1, 1)
        wrong = ranks[..., :, None] > ranks[..., None, :]
        return np.sum(np.where(wrong, lead, 0), axis=(-2, -1))


@functools.lru_cache(maxsize=4)
def _crowd(items: int, spread: float) -> _Crowd:
    scores = np.linspace(spread, -spread, items)
    weights = special.expit(scores[:, None] - scores)
    np.fill_diagonal(weights, 0)
    draws = np.random.default_rng(0).gumbel(size=(_RANKINGS, items)) + scores
    places = np.argsort(np.argsort(-draws, axis=1), axis=1)
    histogram = np.stack([np.bincount(one, minlength=items) for one in places.T]) / _RANKINGS
    distance = np.abs(np.arange(items)[:, None] - np.arange(items))
    return _Crowd(weights, histogram.dot(distance))


def _borda(row: ProvenError, crowd: _Crowd, settings: Sequence[_Means]) -> np.ndarray:
    deviations = [_score_deviation(row, len(crowd.weights), setting) for setting in settings]
    return _exchanged(crowd, np.array(deviations))


def _exchanged(crowd: _Crowd, deviations: np.ndarray) -> np.ndarray:
    """Cost of an order by scores whose differences have normal noise of these standard deviations."""
    scores = crowd.weights.sum(axis=1)
    first, second = np.triu_indices(len(scores), 1)
    lead = 2 * crowd.weights[first, second] - 1
    gap = scores[first] - scores[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = special.ndtr(-gap / deviations[:, None])
    return np.sum(lead * np.nan_to_num(chance), axis=1)


def _score_deviation(row: ProvenError, items: int, setting: _Means) -> float:
    """Standard deviation of the noise of a difference of two Borda scores."""
    users, privacy, _ = setting
    if row.trust == "central":
        # With K-norm noise scores sum to a public number: their covariance is v(I - J/m), v that per dimension.
        added = dp_borda.noise(privacy, Facts(items, users), row.noise)
        return math.sqrt(2 * added.variance_per_dimension())
    if row.noise in ONE_ANSWER:
        # A pair of its own counts twice in a difference, 2(m-2) others once.
        return math.sqrt(2 * items) * _weight_deviation(row, items, setting)
    norm = float(quickly(functools.partial(ldp_borda_norm, row.noise, items), privacy.epsilon))
    return math.sqrt(2 * (norm**2 - score_radius(items) ** 2) / (users * (items - 1)))


def _weight_deviation(row: ProvenError, items: int, setting: _Means) -> float:
    """Standard deviation of the noise of one weight."""
    users, privacy, _ = setting
    if row.trust == "central":
        return noise_all.noise(privacy, Facts(items, users), row.noise).deviation()
    return report_deviation(items, users, float(privacy.epsilon), row.noise)


def _by_scores(rule: Callable[..., Any], weights: Any) -> Any:
    return ranks_from_scores(rule(weights))


_RANKED = {name: functools.partial(_by_scores, rule) for name, rule in RULES.items()}


def _noise_all(
    row: ProvenError,
    crowd: _Crowd,
    settings: Sequence[_Means],
    ranked: Callable[..., Any] = local_search,
) -> np.ndarray:
    items = len(crowd.weights)
    deviations = [_weight_deviation(row, items, setting) for setting in settings]
    return _solved(crowd, np.array([deviations, deviations]), ranked, shrunk=False)


def _weights(
    row: ProvenError,
    crowd: _Crowd,
    settings: Sequence[_Means],
    ranked: Callable[..., Any] = local_search,
) -> np.ndarray:
    items = len(crowd.weights)
    scales = np.array(
        [
            [
                float(scale)
                for scale in private_weights_scales(
                    items, one.num_users, one.privacy, noise=row.noise, focus=one.focus
                )
            ]
            for one in settings
        ]
    ).T
    scores_only = np.isinf(scales[1])
    found = _exchanged(crowd, math.sqrt(2 * items) * scales[0])
    if not scores_only.all():
        # Sums over a private number of users can't be clipped to shares, and only Kemeny's rule takes clipped ones.
        clipped = ranked is local_search and settings[0].focus is None
        found[~scores_only] = _solved(
            crowd, scales[:, ~scores_only], ranked, shrunk=True, clipped=clipped
        )
    return found


def _solved(
    crowd: _Crowd,
    scales: np.ndarray,
    ranked: Callable[..., Any],
    *,
    shrunk: bool,
    clipped: bool = True,
) -> np.ndarray:
    """Cost of ranked weights with normal noise of these σ_g and σ_c, their cycles shrunk, or clipped to shares."""
    items = len(crowd.weights)
    gradient, cycle = scales[:, :, None, None, None]
    normal = np.triu(_normal(items * items, items).reshape(-1, items, items), 1)
    normal -= normal.swapaxes(1, 2)
    lead = np.where(np.eye(items), 0, crowd.weights - 0.5)

    def slopes(x: np.ndarray) -> np.ndarray:
        total = x.sum(axis=-1)
        return (total[..., :, None] - total[..., None, :]) / items

    of_scores = slopes(normal)
    parts = lead + gradient * of_scores + cycle * (normal - of_scores)
    if shrunk:
        of_scores = slopes(parts)
        cycles = parts - of_scores
        size = np.sum(cycles**2, axis=(-2, -1), keepdims=True) / 2
        noise = (items - 1) * (items - 2) / 2 * cycle**2
        parts = of_scores + np.maximum(1 - noise / np.maximum(size, noise + 1e-300), 0) * cycles
    if clipped:
        parts = np.clip(parts, -0.5, 0.5)
    weights = (0.5 + parts) * (1 - np.eye(items))
    ranks = quickly(jax.vmap(ranked), weights.reshape(-1, items, items))
    return crowd.excess(np.asarray(ranks)).reshape(scales.shape[1], -1).mean(axis=1)


def _footrule(row: ProvenError, crowd: _Crowd, settings: Sequence[_Means]) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment  # takes time to import

    items = len(crowd.weights)
    steps = 2 * _normal(items * items, items).reshape(-1, items, items)[..., 1:]
    unit = np.cumsum(np.pad(steps, ((0, 0), (0, 0), (1, 0))), axis=-1)
    deviation = math.sqrt(count_variance(items, row.noise))
    scales = [
        deviation * float(dp_footrule.scale(one.privacy, Facts(items, one.num_users), row.noise))
        for one in settings
    ]
    noisy = crowd.costs + np.array(scales)[:, None, None, None] * unit
    costs = noisy.reshape(-1, items, items)
    ranks = np.array([linear_sum_assignment(one)[1] for one in costs])
    return crowd.excess(ranks).reshape(len(settings), -1).mean(axis=1)


def _exponential(row: ProvenError, crowd: _Crowd, settings: Sequence[_Means]) -> np.ndarray:
    items = len(crowd.weights)
    ranks = np.array(list(itertools.permutations(range(items))))
    costs = crowd.excess(ranks)
    rates = [float(one.privacy.epsilon) * one.num_users / (2 * row.pairs) for one in settings]
    odds = np.exp(-np.array(rates)[:, None] * costs)
    return np.sum(odds * costs, axis=1) / np.sum(odds, axis=1)


@functools.lru_cache(maxsize=4)
def _normal(numbers: int, items: int) -> np.ndarray:
    """The same standard normal numbers for all designs, ``(draws, numbers)``."""
    draws = int(np.clip(_NUMBERS // numbers // items, *_DRAWS))
    return np.random.default_rng(0).standard_normal((draws, numbers))


PLANNED: Mapping[str, Callable[..., np.ndarray] | None] = {
    "borda": _borda,
    "noise-all": _noise_all,
    "weights": _weights,
    "footrule": _footrule,
    "exponential": _exponential,
    "kwiksort": None,
    "hay-kwiksort": None,
}
"""How the methods of :data:`~privrank_jax.aggregation.bounds.ROWS` are planned; None for one that is not."""

r"""Audited totals of points, private weights and footrule costs, of three items.

**Private weights** are Borda scores and all pairs at once, half of the budget for each. The scales of the two releases
are found from the standard deviations that the mechanism reports. With K-norm noise σ_c² = λ²(d + 1)(d + 2)/3 of pairs,
and 1/σ_g² - 1/σ_c² is the precision of the scores alone, m/v₁ (the head of
:mod:`privrank_jax.aggregation.split_weights`). The two noises are independent, so their log densities add up. With
Gaussian noise the whole release is one point and isotropic noise, once the gradient part is divided by σ_g and the
cycle part by σ_c.

The weights are published without shrinkage, of which they are a function if it is known; a statistic of shrunk ones
loses no more.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation
from privrank_jax.aggregation.footrule import dp_footrule
from privrank_jax.privacy import Privacy, noise_law
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy_audit import contents, laws
from privrank_jax.privacy_audit.audited_consensus import NUM_ITEMS, USER, USERS
from privrank_jax.privacy_audit.registry import Audited, Facts
from privrank_jax.privacy_audit.rows import additive, audited, on

_UPPER = np.triu_indices(NUM_ITEMS, 1)
_PAIRS = len(_UPPER[0])
_FOCUS = 0.5


def scales(facts: Facts) -> tuple[float, float]:
    """λ of K-norm noise on the scores and on the pairs."""
    pairs, gradient = facts["cycle_scale"] ** -2, facts["gradient_scale"] ** -2
    of_scores = noise_law.variances(Zonotope.of_all_pairs(NUM_ITEMS))[0] / (1 - 1 / NUM_ITEMS)
    of_pairs = (_PAIRS + 1) * (_PAIRS + 2) / 3
    return (NUM_ITEMS / of_scores / (gradient - pairs)) ** 0.5, (pairs * of_pairs) ** -0.5


def _law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of both releases together, at all data sets."""
    data = _RELEASED[privacy.adjacency](data)
    of_scores, of_pairs = scales(facts)
    outputs = np.unique(data, axis=0)
    moved = outputs[None] - data[:, None]
    facets = laws.zonotope_facets(1 - np.eye(NUM_ITEMS))
    scores = laws.body_norm(facets, moved.sum(-1)) / of_scores
    return -scores - np.abs(moved[..., *_UPPER]).max(-1) / of_pairs


def _loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    moved = (first - second) / USERS
    slopes = moved.sum(-1) / NUM_ITEMS
    gradient = slopes[:, :, None] - slopes[:, None, :]
    parts = (gradient, facts["gradient_scale"]), (moved - gradient, facts["cycle_scale"])
    square = sum(np.sum(part[:, *_UPPER] ** 2, axis=1) / scale**2 for part, scale in parts)
    return laws.gaussian_epsilon(np.round(np.sqrt(square), 12), 1.0, privacy.delta)


_RELEASED = {
    "replace": lambda counts: counts / USERS,
    # Half of how many more users have i ahead of j than j ahead of i.
    "add-remove": lambda counts: 0.5 * (counts - counts.transpose(0, 2, 1)),
}
_UNITS = contents.weights_of_rankings(NUM_ITEMS)


def _weights(
    name: str, title: str, promise: Privacy, noise: str = "k-norm", **fields: Any
) -> Audited:
    given = {} if noise == "k-norm" else {"noise": noise}
    release = on(aggregation.private_weights, _UNITS.made, focus=_FOCUS, shrink="none", **given)
    start, end = _UNITS.hardest(promise.adjacency, "gaussian")  # a reversal
    told: dict[str, Any] = {
        "reduce": lambda noisy: jnp.sum(noisy[_UPPER] * np.sign(start - end)[_UPPER]),
        "sees": "the sum of the weights, each in the direction in which it moves",
        "neighbors": (start, end),
        "law" if noise == "k-norm" else "loss": _law if noise == "k-norm" else _loss,
    }
    bases = () if promise.adjacency == "add-remove" else tuple(_UNITS.contents)
    return audited(name, title, release, **told, **_UNITS.protecting(promise, *bases), **fields)


_points = functools.partial(additive, function=aggregation.dp_scores)
_positions = functools.partial(
    additive, function=dp_footrule, units=contents.positions_of_rankings(), promise=USER
)
_POINTS = "aggregate --method scores --higher-is-better --points 1-4"
_FOOTRULE = "aggregate --method footrule"

AUDITED = (
    _points(
        "dp-scores",
        "totals of approvals + K-norm noise",
        units=contents.ballots(),
        promise=USER,
        noise="k-norm",
        commands=(_POINTS,),
    ),
    _points(
        "dp-scores-points",
        "totals of up to 2 points + K-norm noise",
        units=contents.ballots(most=2),
        promise=USER,
        noise="k-norm",
    ),
    _points(
        "dp-scores-plurality",
        "totals of approvals, one for each user, + Laplace",
        units=contents.ballots(limit=1),
        promise=USER,
        commands=(f"{_POINTS} --limit 1 --noise laplace",),
    ),
    _points(
        "dp-scores-add-remove",
        "totals of approvals less half of the users + K-norm noise",
        units=contents.ballots(),
        promise=dataclasses.replace(USER, adjacency="add-remove"),
        noise="k-norm",
        commands=(f"{_POINTS} --adjacency add-remove",),
    ),
    _points(
        "dp-scores-gaussian",
        "totals of approvals + Gaussian noise at δ = 0.01",
        units=contents.ballots(),
        promise=USER,
        noise="gaussian",
        commands=(f"{_POINTS} --noise gaussian --delta 1e-6",),
    ),
    _weights(
        "private-weights",
        "Borda scores and all pairs, K-norm noise, ε/2 for each",
        USER,
        commands=(
            "aggregate --method weights",
            "aggregate --method weights --missing unknown --rule ranked-pairs",
            "aggregate --method auto",
            "aggregate --rule minimax --matrix private.csv",
        ),
    ),
    _weights(
        "private-weights-gaussian",
        "Borda scores and all pairs, Gaussian noise at δ = 0.01",
        *(dataclasses.replace(USER, delta=0.01), "gaussian"),
        commands=(
            "aggregate --method weights --noise gaussian --delta 1e-6 --rule schulze --matrix private.csv",
        ),
    ),
    _weights(
        "private-weights-add-remove",
        "Borda scores and all pairs, summed over users, K-norm noise, ε/2 for each",
        dataclasses.replace(USER, adjacency="add-remove"),
        commands=(
            "aggregate --method weights --adjacency add-remove",
            "aggregate --method auto --adjacency add-remove --missing unknown",
            "aggregate --rule borda --adjacency add-remove --matrix private.csv",
        ),
    ),
    _positions(
        "dp-footrule",
        "footrule costs + K-norm noise",
        noise="k-norm",
        commands=(_FOOTRULE, f"{_FOOTRULE} --missing unknown"),
    ),
    _positions(
        "dp-footrule-laplace",
        "footrule costs + Laplace noise",
        commands=(f"{_FOOTRULE} --noise laplace",),
    ),
    _positions(
        "dp-footrule-gaussian",
        "footrule costs + Gaussian noise at δ = 0.01",
        noise="gaussian",
        commands=(f"{_FOOTRULE} --noise gaussian --delta 1e-6",),
    ),
)

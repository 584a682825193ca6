"""Audited mechanisms on choices from public sets: noisy totals, and a Plackett-Luce fit to them.

A data set is ``(K,)``, the place of the chosen item in each of K fixed sets.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.noisy_choices import noisy_choices
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.neighbors import Instances
from privrank_jax.privacy_audit.registry import Audited, Facts

Array = jax.Array

_SETS = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 1]])
_OFFERED = np.array([[True, True, True], [True, True, True], [True, True, False]])
_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)


def _choices(places: Array) -> Choices:
    chosen = jnp.take_along_axis(jnp.asarray(_SETS), places[:, None], axis=1)[:, 0]
    return Choices(jnp.asarray(_SETS), jnp.asarray(_OFFERED), chosen, jnp.ones(3), 3)


def _fitted(key: Array, places: Array, privacy: Privacy) -> Estimate:
    return pairwise.perturbed_mle(key, _choices(places), privacy, gamma=_RIDGE)


def _counted(key: Array, places: Array, privacy: Privacy) -> Estimate:
    return noisy_choices(key, _choices(places), privacy)


def _instances(most: int = 1) -> Instances:
    """All choices, and all pairs that differ in so many of them at most."""
    data = np.array(list(itertools.product(range(3), range(3), range(2))))
    pairs = [
        (one, other)
        for one, other in itertools.combinations(range(len(data)), 2)
        if np.sum(data[one] != data[other]) <= most
    ]
    return Instances(data, np.array(pairs))


def _totals(data: np.ndarray) -> np.ndarray:
    """How often each item was chosen, ``(D, 3)``."""
    chosen = np.take_along_axis(_SETS[None], data[:, :, None], axis=2)[..., 0]
    return (chosen[:, :, None] == np.arange(3)).sum(1)


def _counts_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.additive_laplace(_totals(data).astype(float), facts["noise_scale"])


def _law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered; the determinant does not depend on choices."""
    outputs = np.random.default_rng(0).choice([-60.0, -6.0, 0.0, 6.0, 60.0], (1000, 3))
    expected = np.zeros_like(outputs)
    for offered, known in zip(_SETS, _OFFERED):
        items = offered[known]
        odds = np.exp(outputs[:, items] - outputs[:, items].max(1, keepdims=True))
        expected[:, items] += odds / odds.sum(1, keepdims=True)
    drawn = _totals(data)[:, None] - expected[None] - _RIDGE * outputs[None]
    return -np.abs(drawn).sum(-1) / facts["noise_scale"]


_COUNTS: dict[str, Any] = {
    "function": "noisy_choices",
    "release": _counted,
    "reduce": lambda totals: totals[0] - totals[1],
    "sees": "the gap between the totals of items 0 and 1",
    "law": _counts_law,
    "released_by": "exact_noisy_choices",
    "note": "pairwise/noisy_choices.py",
}

AUDITED = (
    Audited(
        name="noisy-choices",
        title="totals of choices + Laplace(2/ε), one choice changes",
        calibration="tight",
        neighbors=(np.array([0, 0, 0]), np.array([1, 0, 0])),
        promise=FLIPPED,
        instances=_instances,
        commands=("rank --method mle --unit comparison --adjacency flip",),
        **_COUNTS,
    ),
    Audited(
        name="noisy-choices-users",
        title="totals of choices + Laplace(2L/ε), one user of L = 2 choices",
        calibration="tight",
        neighbors=(np.array([0, 0, 0]), np.array([1, 1, 0])),
        promise=USER,
        instances=functools.partial(_instances, most=2),
        commands=(
            "rank --max-per-user 2 --method mle --adjacency flip",
            "rank --max-per-user 2",
        ),
        **_COUNTS,
    ),
    Audited(
        name="perturbed-plackett-luce",
        title="Plackett-Luce scores from totals of choices + Laplace(2/ε), one choice changes",
        calibration="tight",
        function="perturbed_mle",
        neighbors=(np.array([0, 0, 0]), np.array([1, 0, 0])),
        promise=FLIPPED,
        release=_fitted,
        reduce=lambda scores: scores[0] - scores[1],
        sees="the gap between the scores of items 0 and 1",
        law=_law,
        instances=_instances,
        note="pairwise/noisy_choices.py; the fit is a function of noisy totals",
    ),
)

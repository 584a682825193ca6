"""Audited mechanism on choices from public sets: a Plackett-Luce fit to noisy totals.

A data set is ``(K,)``, the place of the chosen item in each of K fixed sets.
"""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.neighbors import Instances
from privrank_jax.privacy_audit.registry import Audited, Facts

Array = jax.Array

_SETS = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 1]])
_OFFERED = np.array([[True, True, True], [True, True, True], [True, True, False]])
_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")


def _release(key: Array, places: Array, privacy: Privacy) -> Estimate:
    chosen = jnp.take_along_axis(jnp.asarray(_SETS), places[:, None], axis=1)[:, 0]
    choices = Choices(jnp.asarray(_SETS), jnp.asarray(_OFFERED), chosen, jnp.ones(3), 3)
    return pairwise.perturbed_plackett_luce(key, choices, privacy, gamma=_RIDGE)


def _instances() -> Instances:
    """All choices, and all pairs that differ in one of them."""
    data = np.array(list(itertools.product(range(3), range(3), range(2))))
    pairs = [
        pair
        for pair in itertools.combinations(range(len(data)), 2)
        if np.sum(data[pair[0]] != data[pair[1]]) == 1
    ]
    return Instances(data, np.array(pairs))


def _law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered; the determinant does not depend on choices."""
    outputs = np.random.default_rng(0).choice([-60.0, -6.0, 0.0, 6.0, 60.0], (1000, 3))
    expected = np.zeros_like(outputs)
    for offered, known in zip(_SETS, _OFFERED):
        items = offered[known]
        odds = np.exp(outputs[:, items] - outputs[:, items].max(1, keepdims=True))
        expected[:, items] += odds / odds.sum(1, keepdims=True)
    chosen = np.take_along_axis(_SETS[None], data[:, :, None], axis=2)[..., 0]
    totals = (chosen[:, :, None] == np.arange(3)).sum(1)
    drawn = totals[:, None] - expected[None] - _RIDGE * outputs[None]
    return -np.abs(drawn).sum(-1) / facts["noise_scale"]


AUDITED = (
    Audited(
        name="perturbed-plackett-luce",
        title="Plackett-Luce scores from totals of choices + Laplace(2/ε), one choice changes",
        function="perturbed_plackett_luce",
        neighbors=(np.array([0, 0, 0]), np.array([1, 0, 0])),
        promise=FLIPPED,
        release=_release,
        reduce=lambda scores: scores[0] - scores[1],
        sees="the gap between the scores of items 0 and 1",
        law=_law,
        instances=_instances,
        note="pairwise/choices.py; the fit is a function of noisy totals",
    ),
)

"""Audited mechanisms on choices from public sets: noisy totals, and a Plackett-Luce fit to them.

A data set is ``(K,)``, the place of the chosen item in each of K fixed sets.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.audited_comparisons import gap
from privrank_jax.privacy_audit.neighbors import Instances, those_near
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, gaussian, laplace, on

Array = jax.Array

_SETS = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 1]])
_OFFERED = np.array([[True, True, True], [True, True, True], [True, True, False]])
_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)


def _choices(places: Array) -> Choices:
    chosen = jnp.take_along_axis(jnp.asarray(_SETS), places[:, None], axis=1)[:, 0]
    return Choices(jnp.asarray(_SETS), jnp.asarray(_OFFERED), chosen, jnp.ones(3), 3)


def _instances(most: int = 1) -> Instances:
    """All choices, and all pairs that differ in so many of them at most."""
    data = np.array(list(itertools.product(range(3), range(3), range(2))))
    return those_near(data, lambda one, other: np.sum(one != other) <= most)


def _totals(data: np.ndarray) -> np.ndarray:
    """How often each item was chosen, ``(D, 3)``."""
    chosen = np.take_along_axis(_SETS[None], data[:, :, None], axis=2)[..., 0]
    return (chosen[:, :, None] == np.arange(3)).sum(1)


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


_FIRST = np.array([0, 0, 0])
_COUNTS: dict[str, Any] = {
    "release": on(pairwise.noisy_choices, _choices),
    "reduce": gap,
    "sees": "the gap between the totals of items 0 and 1",
    "law": laplace(lambda data: _totals(data).astype(float)),
}
_ONE: dict[str, Any] = {
    "neighbors": (_FIRST, np.array([1, 0, 0])),
    "promise": FLIPPED,
    "instances": _instances,
}

AUDITED = (
    audited(
        "noisy-choices",
        "totals of choices + Laplace(2/ε), one choice changes",
        commands=("rank --method mle --unit comparison --adjacency flip",),
        **_ONE,
        **_COUNTS,
    ),
    audited(
        "noisy-choices-users",
        "totals of choices + Laplace(2L/ε), one user of L = 2 choices",
        neighbors=(_FIRST, np.array([1, 1, 0])),
        promise=USER,
        instances=functools.partial(_instances, most=2),
        commands=("rank --max-per-user 2 --method mle --adjacency flip", "rank --max-per-user 2"),
        **_COUNTS,
    ),
    audited(
        "noisy-choices-gaussian",
        "totals of choices + Gaussian noise at δ = 0.01, one user of L = 2 choices",
        on(pairwise.noisy_choices, _choices, noise="gaussian"),
        neighbors=(_FIRST, np.array([1, 1, 0])),
        promise=dataclasses.replace(USER, delta=0.01),
        instances=functools.partial(_instances, most=2),
        reduce=gap,
        sees="the gap between the totals of items 0 and 1",
        loss=gaussian(lambda data: _totals(data).astype(float)),
        remark="Balle and Wang (2018)",
    ),
    audited(
        "perturbed-plackett-luce",
        "Plackett-Luce scores from totals of choices + Laplace(2/ε), one choice changes",
        on(pairwise.perturbed_mle, _choices, gamma=_RIDGE),
        reduce=gap,
        sees="the gap between the scores of items 0 and 1",
        law=_law,
        remark="the fit is a function of noisy totals",
        **_ONE,
    ),
)

"""Audited scores of best and worst items; contents say how often each of three items is best and worst of two sets."""

from __future__ import annotations

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.best_worst import best_worst_totals
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.rows import additive

_USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_SETS = [(0, 1, 2), (0, 1)]
_ANSWERS = [
    np.eye(2)[number][:, None, None] * np.outer(np.eye(3)[best], np.eye(3)[worst])
    for number, shown in enumerate(_SETS)
    for best, worst in itertools.permutations(shown, 2)
]
_TWO = itertools.combinations_with_replacement([0 * _ANSWERS[0], *_ANSWERS], 2)
_UNITS = Units(
    contents=np.array([one + other for one, other in _TWO]),
    made=lambda data: WinCounts(jnp.asarray(data.sum((0, 1)))),
    numbers=lambda data: data.sum((1, 3)) - data.sum((1, 2)),
    group=lambda content: content.sum((1, 2)).tobytes(),
)

AUDITED = tuple(
    additive(
        f"best-worst-{adjacency}-{noise}",
        f"best less worst + {noise.title()} noise, one user of L = 2 answers, {adjacency}",
        best_worst_totals,
        _UNITS,
        dataclasses.replace(_USER, adjacency=adjacency),
        noise,
    )
    for adjacency in ("flip", "replace", "add-remove")
    for noise in ("laplace", "gaussian")
)

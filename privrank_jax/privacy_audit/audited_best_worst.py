"""Audited scores of best and worst items; contents say how often each of three items is best and worst of two sets."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from privrank_jax.pairwise.best_worst import BestWorst, best_worst_totals
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import Units
from privrank_jax.privacy_audit.rows import additive

_USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ANSWERS = [
    np.eye(2)[number][:, None, None] * np.eye(3)[list(two)]
    for number, shown in enumerate([(0, 1, 2), (0, 1)])
    for two in itertools.permutations(shown, 2)
]
_TWO = itertools.combinations_with_replacement([0 * _ANSWERS[0], *_ANSWERS], 2)
_UNITS = Units(
    contents=np.array([one + other for one, other in _TWO]),
    made=lambda data: BestWorst(data.sum(0)),
    numbers=lambda data: data[:, :, 0].sum(1) - data[:, :, 1].sum(1),
    group=lambda content: content.sum(-1).tobytes(),
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

"""Audited mechanisms on choices from public sets: noisy totals."""

from __future__ import annotations

import functools

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents
from privrank_jax.privacy_audit.rows import additive

FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ONE, _TWO = contents.choices(), contents.choices(2)
_row = functools.partial(additive, function=pairwise.noisy_choices)

AUDITED = (
    _row(
        "noisy-choices",
        "totals of choices + Laplace(2/ε), one choice changes",
        units=_ONE,
        promise=FLIPPED,
        commands=("rank --method mle --unit comparison --adjacency flip",),
    ),
    _row(
        "noisy-choices-users",
        "totals of choices + Laplace(2L/ε), one user of L = 2 choices",
        units=_TWO,
        promise=USER,
        commands=("rank --max-per-user 2 --method mle --adjacency flip", "rank --max-per-user 2"),
    ),
    _row(
        "noisy-choices-gaussian",
        "totals of choices + Gaussian noise at δ = 0.01, one user of L = 2 choices",
        units=_TWO,
        promise=USER,
        noise="gaussian",
        remark="Balle and Wang (2018)",
    ),
)

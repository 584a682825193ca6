"""Audited mechanisms on choices from public sets: noisy totals, and a Plackett-Luce fit to them."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents, minimizers
from privrank_jax.privacy_audit.rows import additive

_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ONE, _TWO = contents.choices(), contents.choices(2)
_MADE = _ONE.made(np.ones(5))
_LOSS = minimizers.of_choices(*map(np.asarray, (_MADE.sets, _MADE.offered, _MADE.chosen)))
_OTHERS = np.array([1.0, 0.0, 0.0, 1.0, 0.0])
_FITTED = dataclasses.replace(
    _ONE,
    read=minimizers.behind(
        _LOSS, _ONE.numbers(_OTHERS + _ONE.contents[1]), _OTHERS + _ONE.contents[1], _RIDGE
    ),
    other=_OTHERS,
)
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
    additive(
        "perturbed-plackett-luce",
        "Plackett-Luce scores from totals of choices + Laplace(2/ε), one choice changes",
        *(pairwise.perturbed_mle, _FITTED, FLIPPED),
        given={"gamma": _RIDGE},
        law=minimizers.law(_LOSS, 3, ridge=_RIDGE),
        bases=(_OTHERS,),
        remark="the fit is a function of noisy totals",
    ),
)

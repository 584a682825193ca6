"""Audited mechanisms on win totals and the number of ties, and on fits of Davidson's model to them.

A data set is ``(2, m, m)``, wins with half wins for ties, and the half wins alone. A release is a vector: the totals
and the ties, or the scores and log ν.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import minimizers
from privrank_jax.privacy_audit.contents import with_ties, with_ties_of
from privrank_jax.privacy_audit.registry import Release
from privrank_jax.privacy_audit.rows import additive, on

_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ASKED = Privacy(1.0, unit="user", adjacency="flip")
_PAIRS = ((0, 1), (0, 1), (1, 2))
_COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)


def on_ties(function: Callable[..., Any], **options: Any) -> Release:
    """Turn a function of win counts that know their ties into ``(key, data, privacy) -> Estimate`` of a vector."""
    return on(function, with_ties(2).made, **options)


# Two comparisons of two items, to which the fit is made.
_TWO = with_ties(2)
_WON = with_ties_of(2, (0, 1, 2))
_LOSS = minimizers.of_ties()
_FITTED = dataclasses.replace(
    _TWO,
    read=minimizers.behind(_LOSS, _TWO.numbers(_WON[None])[0], _WON, _RIDGE),
    other=with_ties_of(2, (0, 1, 1)),
)
_COMMAND = "rank --method mle --max-per-user 2 --adjacency flip --ties davidson"


_row = functools.partial(additive, function=pairwise.noisy_ties)

AUDITED = (
    _row(
        "noisy-tie-counts",
        "win totals and ties + Laplace(2/ε), one outcome changes",
        units=with_ties(3),
        promise=FLIPPED,
        commands=("rank --method mle --unit comparison --adjacency flip --ties davidson",),
    ),
    _row(
        "noisy-tie-counts-users",
        "win totals and ties + Laplace(2L/ε), one user of L = 2 comparisons",
        units=with_ties(3, 2),
        promise=USER,
        commands=(_COMMAND,),
    ),
    _row(
        "noisy-tie-counts-gaussian",
        "win totals and ties + Gaussian noise at δ = 0.01, one user of L = 2 comparisons",
        units=with_ties(3, 2),
        promise=USER,
        noise="gaussian",
        commands=(f"{_COMMAND} --noise gaussian --delta 1e-6",),
        remark="Balle and Wang (2018)",
    ),
    _row(
        "noisy-tie-counts-questionnaire-laplace",
        "win totals and ties + Laplace noise for a public questionnaire, answers flip",
        units=with_ties(3, asked=_PAIRS),
        promise=_ASKED,
        given={"questionnaire": _COUNTS, "noise": "laplace"},
    ),
    additive(
        "perturbed-davidson-mle",
        "Davidson's model fitted to win totals and ties + Laplace(2/ε)",
        *(pairwise.perturbed_mle, _FITTED, FLIPPED),
        given={"ties": "davidson", "gamma": _RIDGE, "tie_gamma": _RIDGE},
        law=minimizers.law(_LOSS, 3, ridge=_RIDGE),
        bases=(np.zeros((2, 2, 2)), with_ties_of(2, (0, 1, 2), ties=1)),
        note="pairwise/noisy_ties.py; the fit is a function of noisy counts, whose shift is seen",
    ),
)

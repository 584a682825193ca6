"""Audited mechanisms on win totals and the number of ties.

A data set is ``(2, m, m)``, wins with half wins for ties, and the half wins alone. A release is a vector: the totals
and the ties.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import with_ties
from privrank_jax.privacy_audit.registry import Release
from privrank_jax.privacy_audit.rows import additive, on

FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ASKED = Privacy(1.0, unit="user", adjacency="flip")
_PAIRS = ((0, 1), (0, 1), (1, 2))
_COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)


def on_ties(function: Callable[..., Any], **options: Any) -> Release:
    """Turn a function of win counts that know their ties into ``(key, data, privacy) -> Estimate`` of a vector."""
    return on(function, with_ties(2).made, **options)


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
)

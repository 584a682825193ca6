"""Audited totals of approvals and of points, of three items."""

from __future__ import annotations

import dataclasses
import functools

from privrank_jax import aggregation
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import ballots
from privrank_jax.privacy_audit.rows import additive

_USER = Privacy(1.0, unit="user", adjacency="replace")
_COMMAND = "aggregate --method scores --higher-is-better --points 1-4"
_row = functools.partial(additive, function=aggregation.dp_scores)

AUDITED = (
    _row(
        "dp-scores",
        "totals of approvals + K-norm noise",
        units=ballots(),
        promise=_USER,
        noise="k-norm",
        commands=(_COMMAND,),
    ),
    _row(
        "dp-scores-points",
        "totals of up to 2 points + K-norm noise",
        units=ballots(most=2),
        promise=_USER,
        noise="k-norm",
    ),
    _row(
        "dp-scores-plurality",
        "totals of approvals, one for each user, + Laplace",
        units=ballots(limit=1),
        promise=_USER,
        commands=(f"{_COMMAND} --limit 1 --noise laplace",),
    ),
    _row(
        "dp-scores-add-remove",
        "totals of approvals less half of the users + K-norm noise",
        units=ballots(),
        promise=dataclasses.replace(_USER, adjacency="add-remove"),
        noise="k-norm",
        commands=(f"{_COMMAND} --adjacency add-remove",),
    ),
    _row(
        "dp-scores-gaussian",
        "totals of approvals + Gaussian noise at δ = 0.01",
        units=ballots(),
        promise=_USER,
        noise="gaussian",
        commands=(f"{_COMMAND} --noise gaussian --delta 1e-6",),
    ),
)

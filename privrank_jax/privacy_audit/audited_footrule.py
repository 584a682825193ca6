"""Audited footrule costs of three items; noise is on prefix counts, half of the differences between adjacent places."""

from __future__ import annotations

import functools

from privrank_jax.aggregation.private_footrule import dp_footrule
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import positions_of_rankings
from privrank_jax.privacy_audit.rows import additive

_USER = Privacy(1.0, unit="user", adjacency="replace")
_row = functools.partial(additive, function=dp_footrule, units=positions_of_rankings())
_COMMAND = "aggregate --method footrule"

AUDITED = (
    _row(
        "dp-footrule",
        "footrule costs + K-norm noise",
        promise=_USER,
        noise="k-norm",
        commands=(_COMMAND, f"{_COMMAND} --missing unknown"),
    ),
    _row(
        "dp-footrule-laplace",
        "footrule costs + Laplace noise",
        promise=_USER,
        commands=(f"{_COMMAND} --noise laplace",),
    ),
    _row(
        "dp-footrule-gaussian",
        "footrule costs + Gaussian noise at δ = 0.01",
        promise=_USER,
        noise="gaussian",
        commands=(f"{_COMMAND} --noise gaussian --delta 1e-6",),
    ),
)

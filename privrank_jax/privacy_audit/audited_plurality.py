"""Audited totals of first places, of three items."""

from __future__ import annotations

import dataclasses
import functools

from privrank_jax.aggregation.plurality import noisy_plurality
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.contents import Units, positions_of_rankings
from privrank_jax.privacy_audit.rows import additive

_USER = Privacy(1.0, unit="user", adjacency="replace")
_JOINS = dataclasses.replace(_USER, adjacency="add-remove")
_POSITIONS = positions_of_rankings()
_FIRST = Units(
    contents=_POSITIONS.contents,
    made=_POSITIONS.made,
    numbers=lambda data: data[:, :, 0] / 4,
)
_row = functools.partial(additive, function=noisy_plurality, units=_FIRST)

AUDITED = (
    _row("noisy-plurality", "totals of first places + Laplace(2/ε)", promise=_USER),
    _row("noisy-plurality-add-remove", "totals of first places + Laplace(1/ε)", promise=_JOINS),
    _row(
        "noisy-plurality-gaussian",
        "totals of first places + Gaussian noise at δ = 0.01",
        promise=_USER,
        noise="gaussian",
    ),
)

"""Audited mechanisms on comparisons with public covariates: noisy sums, and the number of ties.

Three comparisons of three items, with the advantage of the first item and one more covariate; neighbors differ in one
outcome, or in all of them, where one user gave all. The design is public.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents
from privrank_jax.privacy_audit.rows import additive

# Rows 0 and 2 are equal, so that their outcomes move all sums in one direction.
_ROWS = ((0, 1, (0.5, 0.25)), (1, 2, (0.5, -0.5)), (0, 1, (0.5, 0.25)))
_EACH, _TWO = (0, 1, 2), (0, 1, 0)  # users of the rows
COMPARISON = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USER = dataclasses.replace(COMPARISON, unit="user")


_row = functools.partial(additive, function=pairwise.noisy_sums, note="pairwise/covariates.py")
_tied = functools.partial(additive, function=pairwise.noisy_sums_and_ties)


def _units(users: Sequence[int], ties: bool = False) -> contents.Units:
    return contents.covariates(_ROWS, users, ties=ties)


_COMMON = "rank --method mle --adjacency flip"
_EACH_LEFT, _USERS_LEFT = (
    f"{_COMMON} {unit} --side left" for unit in ("--unit comparison", "--max-per-user 2")
)

AUDITED = (
    _row(
        "covariate-sums",
        "sums of comparisons with covariates + Laplace(max ‖z‖/ε), one outcome flips",
        units=_units(_EACH),
        promise=COMPARISON,
        commands=(
            f"{_EACH_LEFT} --covariate length",
            f"{_EACH_LEFT} --covariate-group judge",
        ),
    ),
    _row(
        "covariate-sums-users",
        "sums of comparisons with covariates + Laplace(Σ‖z‖/ε), the outcomes of one user flip",
        units=_units(_TWO),
        promise=USER,
        commands=(f"{_USERS_LEFT} --covariate length:-1:2",),
    ),
    _row(
        "covariate-sums-gaussian",
        "sums of comparisons with covariates + Gaussian noise at δ = 0.01, outcomes of one user flip",
        units=_units(_TWO),
        promise=USER,
        noise="gaussian",
        commands=(f"{_USERS_LEFT} --covariate length --noise gaussian --delta 1e-6",),
        note="pairwise/covariates.py; Balle and Wang (2018)",
    ),
    _tied(
        "covariate-ties",
        "sums with covariates and ties + Laplace(max ‖z‖/ε), one win becomes a tie",
        units=_units(_EACH, ties=True),
        promise=COMPARISON,
        commands=(f"{_EACH_LEFT} --covariate length --ties davidson",),
    ),
    _tied(
        "covariate-ties-users",
        "sums with covariates and ties + Laplace(Σ‖z‖/ε), the outcomes of one user change",
        units=_units(_TWO, ties=True),
        promise=USER,
        commands=(f"{_USERS_LEFT} --covariate length:-1:2 --ties davidson",),
    ),
    _tied(
        "covariate-ties-gaussian",
        "sums with covariates and ties + Gaussian noise at δ = 0.01, outcomes of one user change",
        units=_units(_TWO, ties=True),
        promise=USER,
        noise="gaussian",
        commands=(
            f"{_USERS_LEFT} --covariate length --ties davidson --noise gaussian --delta 1e-6",
        ),
        remark="Balle and Wang (2018)",
    ),
)

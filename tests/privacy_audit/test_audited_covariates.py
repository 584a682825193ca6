"""The contract of private functions on the rows of covariates, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_covariates
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "covariate-sums": ("comparison", "flip"),
    "covariate-sums-users": ("user", "flip"),
    "covariate-sums-questionnaire": ("user", "flip"),
    "covariate-ties-questionnaire": ("user", "flip"),
    "covariate-mle": ("comparison", "flip"),
    "covariate-ties": ("comparison", "flip"),
    "covariate-ties-users": ("user", "flip"),
    "covariate-ties-gaussian": ("user", "flip"),
    "covariate-davidson-mle": ("comparison", "flip"),
}


def test_rows_promise_what_is_listed():
    rows = audited_covariates.AUDITED
    assert {row.name: row.promise.kind for row in rows} == PROMISES
    assert all(row.promise.public == ("covariates",) for row in rows)

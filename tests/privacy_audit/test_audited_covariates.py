"""The contract of private functions on the rows of covariates."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_covariates
from tests.privacy_audit.contract import *  # noqa: F403


def test_covariates_are_public():
    assert all(row.promise.public == ("covariates",) for row in audited_covariates.AUDITED)

"""The contract of private functions on the rows of fits with noise in the objective."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_models
from tests.privacy_audit.contract import *  # noqa: F403


def test_rows_protect_whole_comparisons():
    found = [row.promise for row in audited_models.AUDITED]
    assert "flip" not in {promise.adjacency for promise in found}
    assert not any(promise.public for promise in found)

"""The contract of private functions on the rows of fits with noise in the objective, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_models
from tests.privacy_audit.contract import *  # noqa: F403


def test_rows_protect_whole_comparisons():
    found = {row.name: row.promise for row in audited_models.AUDITED}
    assert {name: promise.adjacency for name, promise in found.items()} == {
        "perturbed-covariates": "add-remove",
        "perturbed-covariate-ties": "replace",
        "perturbed-davidson": "replace",
        "perturbed-choices": "replace",
    }
    assert not any(promise.public for promise in found.values())

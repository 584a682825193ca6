"""The contract of private functions on the rows of Gaussian noise, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_gaussian
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "noisy-counts-gaussian": ("comparison", "replace"),
    "noisy-counts-gaussian-users": ("user", "replace"),
    "noisy-counts-gaussian-add-remove": ("user", "add-remove"),
    "dp-borda-gaussian": ("user", "replace"),
    "noise-all-gaussian": ("user", "replace"),
    "perturbed-mle-gaussian": ("comparison", "flip"),
    "perturbed-mle-gaussian-add-remove": ("comparison", "add-remove"),
    "perturbed-mle-gaussian-laplace-link": ("comparison", "flip"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_gaussian.AUDITED} == PROMISES

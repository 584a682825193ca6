"""The contract of private functions on the rows of counts and fits of comparisons, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_comparisons
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "noisy-counts": ("comparison", "replace"),
    "noisy-counts-add-remove": ("comparison", "add-remove"),
    "noisy-counts-users": ("user", "replace"),
    "noisy-counts-users-published": ("user", "replace"),
    "top-item": ("user", "replace"),
    "top-item-published": ("user", "replace"),
    "perturbed-mle": ("comparison", "flip"),
    "perturbed-mle-replace": ("comparison", "replace"),
    "perturbed-mle-users": ("user", "replace"),
    "perturbed-mle-laplace-link": ("comparison", "add-remove"),
    "perturbed-mle-published": ("comparison", "replace"),
    "noisy-design": ("comparison", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_comparisons.AUDITED} == PROMISES

"""The contract of private functions on the rows of synthetic rankings, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_synthetic
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "mallows-sample": ("rank", "replace"),
    "mallows-sample-users": ("user", "replace"),
    "laplace-ranks": ("rank", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_synthetic.AUDITED} == PROMISES

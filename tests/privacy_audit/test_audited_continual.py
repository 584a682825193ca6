"""The contract of private functions on the rows of leaderboards over time, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_continual
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "continual-counts": ("user", "replace"),
    "continual-counts-add-remove": ("user", "add-remove"),
    "continual-counts-tree": ("comparison", "flip"),
    "continual-score-sums": ("user", "replace"),
    "continual-score-sums-laplace": ("comparison", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_continual.AUDITED} == PROMISES

"""The contract of private functions on the rows of top-k selections, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_selections
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "one-shot-top-k": ("comparison", "replace"),
    "one-shot-top-two": ("comparison", "replace"),
    "peeling-top-k": ("comparison", "replace"),
    "permute-and-flip-top-k": ("comparison", "replace"),
    "permute-and-flip-top-two": ("comparison", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_selections.AUDITED} == PROMISES

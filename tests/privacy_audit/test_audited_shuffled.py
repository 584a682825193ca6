"""The contract of private functions on the rows of shuffled reports, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_shuffled
from tests.privacy_audit.contract import *  # noqa: F403

del test_error_falls_with_epsilon  # noqa: F821  # which pairs are drawn is random at any epsilon

PROMISES = {"shuffled-pair-weights": ("user", "replace")}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_shuffled.AUDITED} == PROMISES
    assert all(row.trust == "shuffled" for row in audited_shuffled.AUDITED)

"""The contract of private functions on the rows of local protocols, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_local
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "ldp-borda": ("user", "replace"),
    "ldp-borda-privunit": ("user", "replace"),
    "ldp-borda-subsets": ("user", "replace"),
    "subset-report": ("user", "replace"),
    "ldp-borda-report": ("user", "replace"),
    "local-weights": ("user", "replace"),
    "local-weights-rr": ("user", "replace"),
    "local-weights-report": ("user", "replace"),
    "one-pair-report": ("user", "replace"),
    "one-pair-weights": ("user", "replace"),
    "ldp-kwiksort": ("user", "replace"),
    "ldp-kwiksort-zero-one": ("user", "replace"),
    "ldp-kwiksort-published": ("user", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_local.AUDITED} == PROMISES

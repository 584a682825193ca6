"""The contract of private functions on the rows of consensus rankings, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_consensus
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "dp-borda": ("user", "replace"),
    "dp-borda-laplace": ("user", "replace"),
    "noise-all": ("user", "replace"),
    "noise-all-laplace": ("user", "replace"),
    "exponential-kemeny": ("user", "replace"),
    "dp-kwiksort": ("user", "replace"),
    "dp-kwiksort-published": ("user", "replace"),
    "dp-kwiksort-ranking": ("user", "replace"),
    "hay-kwiksort": ("user", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_consensus.AUDITED} == PROMISES

"""The contract of private functions on the rows of reports of single users, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_reports
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "preference-labels": ("user", "flip"),
    "randomized-response": ("comparison", "flip"),
    "laplace-reports": ("comparison", "flip"),
    "duchi-vectors": ("user", "replace"),
    "privunit-vectors": ("user", "replace"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_reports.AUDITED} == PROMISES

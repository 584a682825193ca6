"""The contract of private functions on the rows of questionnaires, and what these promise."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_questionnaires
from tests.privacy_audit.contract import *  # noqa: F403

PROMISES = {
    "noisy-counts-questionnaire": ("user", "flip"),
    "questionnaire-replace": ("user", "replace"),
    "questionnaire-components": ("user", "flip"),
    "perturbed-mle-questionnaire": ("user", "flip"),
}


def test_rows_promise_what_is_listed():
    assert {row.name: row.promise.kind for row in audited_questionnaires.AUDITED} == PROMISES

"""The contract of private functions on the row of choices from public sets."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_choices
from tests.privacy_audit.contract import *  # noqa: F403


def test_sets_are_public():
    assert {row.promise.adjacency for row in audited_choices.AUDITED} == {"flip"}

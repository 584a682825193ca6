"""The contract of private functions on the rows of footrule costs."""

from __future__ import annotations

from privrank_jax.privacy_audit import audited_footrule
from tests.privacy_audit.contract import *  # noqa: F403


def test_users_include_ties_and_gaps_under_both_rules():
    users = audited_footrule.every_user()
    assert (users.sum(2) == 4).all()
    assert set(users.ravel().tolist()) == {0, 1, 2, 4}
    assert len(audited_footrule.instances().data) == len(users) ** 2

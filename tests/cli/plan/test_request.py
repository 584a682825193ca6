"""The options of ``privrank plan``: what they default to."""

from __future__ import annotations

import pytest

from privrank_jax.cli.plan.request import Design


def test_trust_follows_what_is_planned():
    assert Design(items=5).trusted == "local"
    assert Design(items=5, rankings=True).trusted == "central"
    assert Design(items=5, shuffled=True).trusted == "shuffled"
    assert Design(items=5, rankings=True, trust="local").trusted == "local"


def test_answers_of_a_user():
    assert Design(items=5, share_observed=0.5).answers_per_user == 5
    assert Design(items=5, shuffled=True).answers_per_user == pytest.approx(1)

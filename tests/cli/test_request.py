"""Options in groups: what a file is told, and what a release promises unless its command says."""

from __future__ import annotations

from privrank_jax.cli.request import Columns, Published, Release


def test_options_are_roles_as_far_as_they_are_given():
    assert Columns().told == {}
    told = Columns(user="none", items="a, b", blank=["NA,x"], ratings="1:5", count="n").told
    assert told == {
        "user": None,
        "items": ["a", "b"],
        "blank": ["NA", "x"],
        "ratings": "1:5",
        "count": "n",
    }
    assert Columns(items="seen").told == {"items": "seen"}
    assert Columns(items="q1..q9").told == {"items": "q1..q9"}
    assert Columns(approvals=True).told == {"approvals": True}


def test_releases_are_private_and_promise_what_their_command_says():
    assert Published(source="votes.csv").epsilon is None
    request = Release(source="votes.csv")
    assert request.private

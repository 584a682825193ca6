"""``privrank plan``: its help, which names both kinds of plans, and one run of each in words."""

from __future__ import annotations


def test_help_has_examples(privrank):
    result = privrank("plan", "--help")
    assert result.code == 0
    assert "privrank plan --items 10" in result.out
    assert "privrank plan --rankings --items 10" in result.out


def test_each_kind_answers(privrank):
    survey = privrank("plan", "--items", 5, "--users", 100, "--epsilon", 1)
    assert "largest error of a score" in survey.out
    consensus = privrank("plan", "--rankings", "--items", 5, "--users", 100, "--epsilon", 1)
    assert "Least proven cost" in consensus.out

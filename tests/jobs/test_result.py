"""Rankings as tables, JSON and frames: which items can be told apart, what scores say under noise, bad numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax import Guarantee, Privacy
from privrank_jax.jobs.result import Certainty, Ranking, of_noise

PROMISE = Guarantee(Privacy(1.0, unit="comparison", adjacency="flip"))


def ranking(better=None, guarantee=PROMISE, **changes):
    whole = {
        "title": "Cities", "items": ("Oslo", "Rome", "Bern"), "order": np.array([1, 0, 2]), "guarantee": guarantee,
        "scores": np.array([2.0, 3.0, 1.0]), "facts": {"a": 1},
        "certainty": Certainty(better=None if better is None else np.array(better, bool)),
    }  # fmt: skip
    return Ranking(**{**whole, **changes})


def test_json_has_places_names_and_scores():
    found = ranking(top_k=2)
    document = found.to_dict()
    assert document["ranking"] == [
        {"item": "Rome", "rank": 1, "score": 3.0}, {"item": "Oslo", "rank": 2, "score": 2.0},
    ]  # fmt: skip
    assert document["guarantee"]["epsilon"] == 1.0
    assert document["diagnostics"] == {"a": 1}
    assert found.to_frame().to_dict("records") == document["ranking"]


def test_scores_that_a_ridge_shrinks_are_said_to_be_by_how_much():
    ends = {"low": np.array([2.0, 3.5, 1.0]), "high": np.array([3.0, 4.0, 1.5])}  # about 1.25 times
    certainty = Certainty(intervals=ends, words="all")
    found = ranking(facts={"gamma": 2.5}, certainty=certainty)
    assert "20%" in found.to_dict()["diagnostics"]["shrinkage"]
    for changes in ({}, {"facts": {"gamma": 0.0}}, {"facts": {"gamma": 1.0}, "scores": None}):
        assert "shrinkage" not in ranking(**changes).to_dict()["diagnostics"]


def test_a_set_has_no_ranks():
    found = ranking(scores=None, in_order=False, order=np.array([0, 1]), top_k=2)
    assert found.to_dict()["ranking"] == [
        {"item": "Oslo", "rank": None, "score": None}, {"item": "Rome", "rank": None, "score": None},
    ]  # fmt: skip
    assert "rank" not in str(found)
    assert [line.strip() for line in str(found).splitlines()[2:5]] == ["item", "Oslo", "Rome"]
    (bars,) = found.plot().axes[:1]
    assert found.drawing() == ""
    assert bars.get_xlabel() == "rank"


@pytest.mark.parametrize(
    ("pairs", "known", "words"),
    [
        ([], 0, "no two items"),
        ([(1, 2)], 0, "none of"),
        ([(1, 0)], 1, "only 1"),
        ([(1, 0), (0, 2), (1, 2)], 2, ""),
    ],
)
def test_items_are_told_from_the_next_in_the_order(pairs, known, words):
    better = np.zeros((3, 3), bool)
    for pair in pairs:
        better[pair] = True
    found = ranking(better).told_apart
    assert (found["from_next"], found["of"], found["any_two"]) == (known, 2, bool(pairs))
    assert words in found["words"]
    assert bool(words) == bool(found["words"])
    assert "Differentially private" in str(ranking(better))


def test_nothing_is_said_where_nothing_is_known():
    assert ranking().told_apart is None
    assert ranking(np.ones((3, 3)), top_k=1).told_apart["of"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.array([1.0, np.nan, 2.0])},
        {"scores": np.array([1.0, np.inf, 2.0])},
        {"facts": {"scale": math.inf}},
        {"certainty": Certainty(intervals={"low": np.array([-np.inf, 0.0, 0.0])})},
    ],
)
def test_numbers_beyond_floating_point_are_refused_and_nothing_is_shown(changes):
    ranking().check_finite()
    with pytest.raises(ValueError, match="Nothing"):
        ranking(**changes).check_finite()


def test_items_are_better_where_their_intervals_are_apart():
    reach = 1.8
    found = of_noise(np.array([9.0, 2.0, 1.0]), reach, what="totals")
    np.testing.assert_allclose(found.intervals["high"] - found.intervals["low"], 2 * reach)
    assert found.better.tolist() == [[False, True, True], [False] * 3, [False] * 3]

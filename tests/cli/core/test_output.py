"""Results as a table and as JSON, and how many items can be told apart."""

from __future__ import annotations

import json

import numpy as np
import pytest
from privrank_jax.cli.core.output import print_result, told_apart
from privrank_jax.cli.core.result import NO_GUARANTEE, Certainty, Result

from privrank_jax import Guarantee, Privacy

NAMES = ("Oslo", "Rome", "Bern")


def result(better=None, guarantee=True, **changes):
    promise = Privacy(1.0, unit="comparison", adjacency="flip")
    return Result(
        title="Cities", order=np.array([1, 0, 2]), scores=np.array([2.0, 3.0, 1.0]), diagnostics={"a": 1},
        guarantee=Guarantee(promise) if guarantee else None,
        certainty=Certainty(better=None if better is None else np.array(better, bool)), **changes,
    )  # fmt: skip


def test_json_has_places_names_and_scores(capsys):
    print_result(NAMES, result(), as_json=True, top_k=2)
    document = json.loads(capsys.readouterr().out)
    assert document["ranking"] == [
        {"item": "Rome", "rank": 1, "score": 3.0}, {"item": "Oslo", "rank": 2, "score": 2.0},
    ]  # fmt: skip
    assert document["guarantee"]["epsilon"] == 1.0
    assert document["diagnostics"] == {"a": 1}


def test_a_table_ends_with_the_guarantee_or_says_that_there_is_none(capsys):
    print_result(NAMES, result(notes=("said",)), as_json=False)
    shown = capsys.readouterr().out
    assert shown.index("Rome") < shown.index("Oslo") < shown.index("Bern")
    assert "Differentially private" in shown
    assert "- said" in shown
    print_result(NAMES, result(guarantee=False), as_json=False)
    assert NO_GUARANTEE in capsys.readouterr().out


@pytest.mark.parametrize(
    ("pairs", "known", "words"),
    [
        ([], 0, "no two items can be told apart"),
        ([(1, 2)], 0, "none of the first 2 items can be told apart from the next one"),
        ([(1, 0)], 1, "only 1 of the first 2 items"),
        ([(1, 0), (0, 2), (1, 2)], 2, ""),
    ],
)
def test_items_are_told_from_the_next_in_the_order(pairs, known, words):
    better = np.zeros((3, 3), bool)
    for pair in pairs:
        better[pair] = True
    found = told_apart(result(better), 0.95)
    assert (found["from_next"], found["of"], found["any_two"]) == (known, 2, bool(pairs))
    assert words in found["words"]
    assert bool(words) == bool(found["words"])


def test_nothing_is_said_where_nothing_is_known():
    assert told_apart(result(), 0.95) is None
    assert told_apart(result(np.ones((3, 3))), 0.95, top_k=1)["of"] == 1

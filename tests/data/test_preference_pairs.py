"""Two answers as a set: which of them was chosen is one bit, and nothing else tells it."""

from __future__ import annotations

import pytest

from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.preference_pairs import (
    MARK,
    Pair,
    PreferenceFields,
    check_fields,
    roles_of,
    written,
)

NAMES = {"chosen": "chosen", "rejected": "rejected"}


def line(chosen, rejected, **more):
    return {"chosen": chosen, "rejected": rejected, **more}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a", "b"),
        ("", "b"),
        ([{"role": "user", "content": "1"}], [{"content": "2", "role": "user"}]),
    ],
)
def test_a_swap_changes_the_bit_alone(one, other):
    first, second = (Pair.of(record, NAMES, ()) for record in (line(one, other), line(other, one)))
    assert first.answers == second.answers
    assert first.chosen_first != second.chosen_first
    assert not first.tied
    assert first.answers[not first.chosen_first] == written(one)


def test_the_order_of_keys_does_not_tell_answers_apart():
    """Some programs write the messages of chosen answers in another way than the others."""
    message = {"role": "assistant", "content": "yes"}
    assert Pair.of(line([message], [dict(reversed(message.items()))]), NAMES, ()).tied


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"chosen": "a"}, "no field 'rejected'"),
        ({"chosen": "a", "rejectd": "b"}, "did you mean 'rejectd'"),
        (line(None, "b"), "'chosen' is null"),
        (line("a", 3), "'rejected' is 3: write a text"),
        (line([], "b"), r"'chosen' is \[\]"),
        (line("a", [{"role": "user", "content": "b"}]), "the other a list of messages"),
        (line(["a"], ["b"]), "not of messages"),
        (line([{"role": "user", "content": "a", "score": 3}], []), "the field 'score'"),
        (line("a\ud800", "b"), "surrogate"),
        (line([{"role": "user", "content": float("inf")}], []), "too large"),
        (line("a", "b", **{MARK: 1.0}), "randomized already"),
    ],
)
def test_what_is_no_pair(record, said):
    with pytest.raises(BadCell, match=said):
        Pair.of(record, NAMES, ())


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"rating": 5}, "a field 'rating' in it"),
        ([{"deep": [{"is_chosen": 1}]}], "a field 'is_chosen' in it"),
        ("yes", "holds one of the two answers"),
        (["no", "yes"], "holds one of the two answers"),
        ([{"role": "user", "content": "no"}], "holds one of the two answers"),
    ],
)
def test_contents_that_tell_the_order_are_not_kept(value, said):
    """As ``messages`` of some data sets, which repeats the chosen conversation. Whichever was chosen, it is refused."""
    for record in (line("yes", "no", more=value), line("no", "yes", more=value)):
        with pytest.raises(BadCell, match=said):
            Pair.of(record, NAMES, ["more"])
    Pair.of(line("yes", "no", more={"topic": "yes, or no"}), NAMES, ["more"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("score_chosen", "may tell which answer was chosen"),
        ("Rejected_model", "may tell"),
        ("margin", "may tell"),
        ("preference", "may tell"),
        ("label", "may tell"),
        ("user", "gives to another"),
        ("question", "named twice"),
    ],
)
def test_names_that_are_not_kept(name, said):
    with pytest.raises(DataError, match=said):
        check_fields("x.jsonl", PreferenceFields(prompt="question", user=None), [name])
    check_fields("x.jsonl", PreferenceFields(), ["topic", "labeler_group"])


def test_fields_of_a_file_are_those_of_its_first_line():
    record = line("a", "b", user=1, q="?")
    assert roles_of(record, PreferenceFields()) == {**NAMES, "user": "user"}
    assert roles_of(record, PreferenceFields(user=None, prompt="q")) == {**NAMES, "prompt": "q"}
    with pytest.raises(BadCell, match="no field 'question'"):
        roles_of(record, PreferenceFields(prompt="question"))

"""Two answers as a set: which of them was chosen is one bit, and nothing else tells it."""

from __future__ import annotations

import pytest

from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.preferences import MARK, pair_of, scan_preferences, written

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
    (answers, first), (same, second) = (
        pair_of(record, NAMES, ()) for record in (line(one, other), line(other, one))
    )
    assert answers == same
    assert answers[0] != answers[1]
    assert first != second
    assert answers[not first] == written(one)


def test_the_order_of_keys_does_not_tell_answers_apart():
    """Some programs write the messages of chosen answers in another way than the others."""
    message = {"role": "assistant", "content": "yes"}
    one, other = pair_of(line([message], [dict(reversed(message.items()))]), NAMES, ())[0]
    assert one == other


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"chosen": "a"}, "'rejected'"),
        ({"chosen": "a", "rejectd": "b"}, "mean 'rejectd'"),
        (line(None, "b"), "'chosen' is null"),
        (line("a", 3), "'rejected' is 3"),
        (line([], "b"), r"'chosen' is \[\]"),
        (line("a", [{"role": "user", "content": "b"}]), "one form"),
        (line(["a"], ["b"]), "not of messages"),
        (line([{"role": "user", "content": "a", "score": 3}], []), "'score'"),
        (line("a\ud800", "b"), "surrogates"),
        (line([{"role": "user", "content": float("inf")}], []), "JSON"),
        (line("a", "b", **{MARK: 1.0}), "randomized already"),
    ],
)
def test_what_is_no_pair(record, said):
    with pytest.raises(BadCell, match=said):
        pair_of(record, NAMES, ())


@pytest.mark.parametrize(
    "value",
    [
        {"rating": 5},
        [{"deep": [{"is_chosen": 1}]}],
        "yes",
        ["no", "yes"],
        [{"role": "user", "content": "no"}],
    ],
)
def test_contents_that_tell_the_order_are_not_kept(value):
    """As ``messages`` of some data sets, which repeats the chosen conversation. Whichever was chosen, it is refused."""
    for record in (line("yes", "no", more=value), line("no", "yes", more=value)):
        with pytest.raises(BadCell, match="'more' can't"):
            pair_of(record, NAMES, ["more"])
    pair_of(line("yes", "no", more={"topic": "yes, or no"}), NAMES, ["more"])


@pytest.mark.parametrize(
    ("told", "said"),
    [
        *(
            ({"keep": name}, f"'{name}' can't be kept")
            for name in ("score_chosen", "Rejected_model", "margin", "preference", "label", "user")
        ),
        ({"keep": ["q"], "prompt": "q"}, "'q' is named twice"),
        ({"prompt": "chosen"}, "'chosen' is named twice"),
        ({"prompt": "question"}, "no field 'question'"),
        ({"blank": "x"}, "`blank`"),
    ],
)
def test_fields_that_are_refused(told, said):
    with pytest.raises(DataError, match=said):
        scan_preferences([line("a", "b", q="?", user=1)], **told)


def test_fields_of_a_file_are_those_of_its_first_line():
    rows = [line("a", "b", user=1, q="?", labeler_group=3)]
    assert scan_preferences(rows, keep="labeler_group").names == {**NAMES, "user": "user"}
    assert scan_preferences(rows, user=None, prompt="q").names == {**NAMES, "prompt": "q"}

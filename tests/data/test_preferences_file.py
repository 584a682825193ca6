"""Preferences as JSON Lines: one bit says which answer was chosen, and a written file shows the reports alone."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.preferences import (
    MARK,
    labels_guarantee,
    pair_of,
    read_preferences,
    scan_preferences,
    write_preferences,
    written,
)
from tests.promises import promise

NAMES = {"chosen": "chosen", "rejected": "rejected"}


def save(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def records(count, turned=()):
    pairs = [(f"{k} yes", f"{k} no") for k in range(count)]
    return [
        {"id": k, "user": f"u{k % 3}", "prompt": f"q{k}", "chosen": pair[k in turned],
         "rejected": pair[k not in turned], "score_chosen": 2 + k, "topic": k % 2}
        for k, pair in enumerate(pairs)
    ]  # fmt: skip


def randomized(folder, rows, reports, name="out.jsonl", **options):
    scan = scan_preferences(save(folder / "in.jsonl", rows), **options)
    everything = np.ones(len(rows), bool)
    write_preferences(
        folder / name, scan, everything, np.array(reports, bool), np.full(len(rows), 0.5)
    )
    return (folder / name).read_bytes()


def test_a_scan_finds_the_bits_and_the_users(tmp_path):
    rows = records(6, turned={1, 4})
    rows[5]["budget"] = 2
    for row in rows[:5]:
        row["budget"] = "0.25"
    scan = scan_preferences(save(tmp_path / "x.jsonl", rows), epsilon="budget")
    assert scan.bits.tolist() == [False, True, False, False, True, False]  # "no" sorts first
    assert scan.users.tolist() == [0, 1, 2, 0, 1, 2]
    assert scan.epsilon.tolist() == [0.25] * 5 + [2.0]
    assert scan.ignored == ("score_chosen", "topic")
    assert (len(scan), scan.has_users, scan.ties) == (6, True, ())
    assert "yes" not in repr(scan)


def test_the_file_depends_on_reports_and_public_facts_alone(tmp_path):
    """Not on what was chosen, nor on the order of the lines."""
    reports = np.array([1, 0, 1, 1, 0, 0, 1, 0], bool)
    known = randomized(tmp_path, records(8), reports)
    assert randomized(tmp_path, records(8, turned={0, 3, 5}), reports) == known
    order = np.random.default_rng(1).permutation(8)
    rows = records(8)
    assert randomized(tmp_path, [rows[k] for k in order], reports[order]) == known
    packed = randomized(tmp_path, records(8), reports, "out.jsonl.gz")
    assert gzip.decompress(packed) == known
    assert packed == randomized(tmp_path, records(8), reports, "out.jsonl.gz")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.jsonl", "out.jsonl", "out.jsonl.gz",
    ]  # fmt: skip


@pytest.mark.parametrize("held", [list, iter, pd.DataFrame])
def test_a_table_in_memory_gives_the_same_file(held, tmp_path):
    rows, known = records(8), randomized(tmp_path, records(8), np.arange(8) % 2)
    scan = scan_preferences(held(rows))
    write_preferences(
        tmp_path / "o.jsonl", scan, np.ones(8, bool), np.arange(8) % 2 == 1, np.full(8, 0.5)
    )
    assert (tmp_path / "o.jsonl").read_bytes() == known
    assert scan.sha256 == scan_preferences(rows).sha256
    assert scan.sha256 != scan_preferences(rows[1:]).sha256
    lines = map(json.loads, known.decode().splitlines())
    assert read_preferences(lines).lines == read_preferences(tmp_path / "o.jsonl").lines


def test_lines_that_share_what_is_public_do_not_follow_the_order_of_the_source(tmp_path):
    rows = [{"chosen": "a", "rejected": "b"}] * 6
    known = randomized(tmp_path, rows, [1, 0, 0, 1, 0, 1])
    assert randomized(tmp_path, rows, [0, 0, 1, 0, 1, 1]) == known


def test_what_is_written(tmp_path):
    rows = records(5, turned={2})
    found = randomized(tmp_path, rows, [1, 0, 1, 0, 1], keep=["topic"]).decode().splitlines()
    by_id = {row["id"]: row for row in map(json.loads, found)}
    for k, report in enumerate([1, 0, 1, 0, 1]):
        chosen, rejected = (f"{k} no", f"{k} yes") if report else (f"{k} yes", f"{k} no")
        assert by_id[k] == {
            "id": k, "user": f"u{k % 3}", "prompt": f"q{k}", "chosen": chosen,
            "rejected": rejected, "label_epsilon": 0.5, "topic": k % 2,
        }  # fmt: skip
    assert [row["id"] for row in map(json.loads, found)] != [0, 1, 2, 3, 4]


def test_names_may_differ_and_rows_may_be_left_out(tmp_path):
    rows = [{"win": "a", "lose": "b", "who": k, "q": "?"} for k in range(4)]
    fields = {"chosen": "win", "rejected": "lose", "prompt": "q", "id": None, "user": "who"}
    scan = scan_preferences(save(tmp_path / "x.jsonl", rows), **fields)
    some = np.array([True, False, False, True])
    fields_written = write_preferences(
        tmp_path / "o.jsonl", scan, some, np.ones(2, bool), np.ones(2), users=False
    )
    assert fields_written == ("prompt", "chosen", "rejected", "label_epsilon")
    lines = (tmp_path / "o.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"prompt": "?", "chosen": "a", "rejected": "b", "label_epsilon": 1.0}
    ] * 2


def line(chosen, rejected, **more):
    return {"chosen": chosen, "rejected": rejected, **more}


AB, MESSAGE = line("a", "b"), {"role": "assistant", "content": "yes"}


@pytest.mark.parametrize("one", ["a", "", [MESSAGE]])
def test_a_swap_changes_the_bit_alone(one):
    other = [{"content": "no", "role": "user"}] if one == [MESSAGE] else "b"
    (answers, first), (same, second) = (
        pair_of(record, NAMES, ()) for record in (line(one, other), line(other, one))
    )
    assert answers == same
    assert answers[0] != answers[1]
    assert first != second
    assert answers[not first] == written(one)


def test_the_order_of_keys_does_not_tell_answers_apart():
    """Some programs write the messages of chosen answers in another way than the others."""
    one, other = pair_of(line([MESSAGE], [dict(reversed(MESSAGE.items()))]), NAMES, ())[0]
    assert one == other


@pytest.mark.parametrize(
    "value",
    [{"rating": 5}, [{"deep": [{"is_chosen": 1}]}], "yes", ["no", "yes"], [MESSAGE | {"content": "no"}]],
)  # fmt: skip
def test_contents_that_tell_the_order_are_not_kept(value):
    """As ``messages`` of some data sets, which repeats the chosen conversation. Whichever was chosen, it is refused."""
    for record in (line("yes", "no", more=value), line("no", "yes", more=value)):
        with pytest.raises(BadCell, match="'more' can't"):
            pair_of(record, NAMES, ["more"])
    pair_of(line("yes", "no", more={"topic": "yes, or no"}), NAMES, ["more"])


KEPT = [line("a", "b", q="?", user=1)]
REFUSED = [
    ([], {}, "empty"),
    ([{"chosen": "a", "rejectd": "b"}], {}, "mean 'rejectd'"),
    ([line(None, "b")], {}, "'chosen' is null"),
    ([line("a", 3)], {}, "'rejected' is 3"),
    ([line([], "b")], {}, r"'chosen' is \[\]"),
    ([line("a", [MESSAGE])], {}, "one form"),
    ([line(["a"], ["b"])], {}, "not of messages"),
    ([line([MESSAGE | {"score": 3}], [])], {}, "'score'"),
    ([line("a\ud800", "b")], {}, "surrogates"),
    ([AB | {MARK: 1.0}], {}, "randomized already"),
    ([AB | {"user": True}], {}, "the user is true"),
    ([AB | {"user": " "}], {}, "the user is missing"),
    ([AB, AB | {"user": "u"}], {}, "line 2: a field 'user'"),
    ([AB | {"e": -1}], {"epsilon": "e"}, "'-1' is not a usable"),
    ([AB], {"keep": ["topic"]}, "no field 'topic'"),
    *((KEPT, {"keep": name}, f"'{name}' can't be kept")
      for name in ("score_chosen", "Rejected_model", "margin", "preference", "label", "user")),
    (KEPT, {"keep": ["q"], "prompt": "q"}, "'q' is named twice"),
    (KEPT, {"prompt": "question"}, "no field 'question'"),
    (KEPT, {"blank": "x"}, "`blank`"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "said"), REFUSED)
def test_faults_are_named(rows, options, said, tmp_path):
    with pytest.raises(DataError, match=said):
        scan_preferences(save(tmp_path / "x.jsonl", rows), **options)


def test_fields_of_a_file_are_those_of_its_first_line():
    rows = [AB | {"user": 1, "q": "?", "labeler_group": 3}]
    assert scan_preferences(rows, keep="labeler_group").names == {**NAMES, "user": "user"}
    assert scan_preferences(rows, user=None, prompt="q").names == {**NAMES, "prompt": "q"}


def test_ties_and_missing_users_are_refused_where_they_matter(tmp_path):
    rows = [{"chosen": "a", "rejected": c} for c in "bab"]
    scan = scan_preferences(save(tmp_path / "x.jsonl", rows))
    assert scan.ties == (1,)
    with pytest.raises(DataError, match="row 2"):
        scan.check(users=False)
    with pytest.raises(DataError, match="no field 'user'"):
        scan_preferences(rows[:1]).check(users=True)


def test_a_source_that_changes_has_no_checksum(tmp_path):
    scan = scan_preferences(save(tmp_path / "x.jsonl", records(3)))
    save(tmp_path / "x.jsonl", records(4))
    with pytest.raises(DataError, match="changed"):
        _ = scan.sha256
    with pytest.raises(DataError, match=r"o\.csv"):
        write_preferences(tmp_path / "o.csv", scan, *[np.ones(3, bool)] * 2, np.ones(3))


def test_the_guarantee_is_that_of_the_largest_label_and_sum(tmp_path):
    scan = scan_preferences(save(tmp_path / "x.jsonl", records(4)))  # u0 has two
    epsilon, some = np.array([0.1, 0.7, 0.2]), np.array([True, True, False, True])
    found = labels_guarantee(scan, some, epsilon, asked=None, numerics="exact")
    assert (found.unit, found.adjacency, found.trust, found.epsilon) == (
        "comparison", "flip", "local", 0.7,
    )  # fmt: skip
    assert [(other.unit, other.epsilon) for other in found.also] == [("user", 0.7)]
    asked = promise(1.0, "user", "flip")
    found = labels_guarantee(scan, some, epsilon, asked=asked, numerics="exact")
    assert (found.unit, found.epsilon, found.also[0].epsilon) == ("user", 1.0, 0.7)


# --- randomized preferences are read back ---

ROWS = [
    {"id": 7, "user": "ann", "prompt": "p", "chosen": "b", "rejected": "a", "label_epsilon": 0.5},
    {"id": 8, "user": "bob", "prompt": "q", "chosen": "a", "rejected": "c", "label_epsilon": 2.0},
    {"id": 9, "user": "ann", "prompt": "r", "chosen": "d", "rejected": "e", "label_epsilon": 0.1},
]


def test_texts_and_arrays(tmp_path):
    rows = [{**row, "topic": k} for k, row in enumerate(ROWS)]
    table = read_preferences(save(tmp_path / "x.jsonl", rows))
    assert (table.chosen, table.rejected) == (("b", "a", "d"), ("a", "c", "e"))
    assert table.bits.tolist() == [False, True, True]
    assert table.epsilon.tolist() == [0.5, 2.0, 0.1]
    assert (table.column("prompt"), table.column("id")) == (("p", "q", "r"), (7, 8, 9))
    assert (table.users.tolist(), table.user_names) == ([0, 1, 0], ("ann", "bob"))
    assert (table.keep, table.column("topic")) == (("topic",), (0, 1, 2))
    assert "ann" not in repr(table)


def test_without_users_prompts_and_ids(tmp_path):
    rows = [{name: row[name] for name in ("chosen", "rejected", "label_epsilon")} for row in ROWS]
    table = read_preferences(save(tmp_path / "x.jsonl", rows))
    assert (table.names.keys(), table.user_names) == ({"chosen", "rejected"}, ())
    assert table.users.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label_epsilon": 0}, "line 2: '0' is not a usable epsilon"),
        ({"more": 1}, "line 2: other fields"),
        ({"chosen": 3}, "line 2: 'chosen' is 3"),
        ({"user": None}, "line 2: the user is null"),
    ],
)
def test_faults_of_randomized_lines(change, said, tmp_path):
    with pytest.raises(DataError, match=said):
        read_preferences(save(tmp_path / "x.jsonl", [ROWS[0], {**ROWS[1], **change}]))


def test_a_file_that_was_not_randomized_is_refused(tmp_path):
    for rows, said in (([AB], "line 1: no field 'label_epsilon'"), ([], "empty")):
        with pytest.raises(DataError, match=said):
            read_preferences(save(tmp_path / "x.jsonl", rows))

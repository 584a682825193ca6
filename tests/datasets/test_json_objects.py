"""JSON Lines and lists of objects: read as tables, refused where they are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privrank_jax import datasets
from privrank_jax.datasets import DataError, read_comparisons, read_epsilon, read_rankings
from tests.datasets.votes import written

ROWS = (
    {"user": 7, "winner": "x", "loser": "y", "tie": False, "turns": [{"said": "hi"}]},
    {"user": "8", "winner": "y", "loser": "x", "tie": True, "turns": []},
    {"loser": "x", "winner": "z", "user": 1.50},
)
LINES = "\n".join(map(json.dumps, ROWS)).replace("1.5", "1.50")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("votes.jsonl", LINES),
        ("votes.ndjson", f"\n{LINES}\n\n"),
        ("votes.json", LINES),
        ("votes.JSON", f" [{LINES.replace(chr(10), ',')}]"),
        ("votes.json", json.dumps(ROWS, indent=1).replace("1.5", "1.50")),
    ],
)
def test_objects_are_rows(tmp_path, name, content):
    table = read_comparisons(written(tmp_path, content, name))
    assert table.user_names == ("7", "8", "1.50")  # numbers stay as they are written
    assert np.array(table.item_names)[table.winners].tolist() == ["x", "y", "z"]
    assert table.tied.tolist() == [False, True, False]
    assert table.remarks == ("columns not used: turns",)
    assert not any("turns" in note for note in table.notes)


def test_other_shapes_and_columns(tmp_path):
    wide = '{"User":"ann","a":1,"b":2,"c":null}\n{"User":"bob","a":2,"b":1}\n'
    table = read_rankings(written(tmp_path, wide, "wide.jsonl"))
    assert table.ranks.tolist() == [[0, 1, -1], [1, 0, -1]]
    orders = '{"user":"ann","order":"a>b"}\n{"user":"bob","order":"b=a"}\n'
    assert read_rankings(written(tmp_path, orders, "o.jsonl")).ranks.tolist() == [[0, 1], [0, 0]]
    battles = '{"model_a":"a","model_b":"b","winner":"model_b"}\n'
    table = read_comparisons(written(tmp_path, battles, "b.jsonl"), user=None)
    assert (table.winners.tolist(), table.losers.tolist()) == ([1], [0])
    budgets = written(tmp_path, '{"e":0.5}\n{"e":2}\n', "e.jsonl")
    assert read_epsilon(budgets, "e").tolist() == [0.5, 2]
    assert not datasets.is_report_file(budgets)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.jsonl", "", "is empty: it needs a header row"),
        ("v.jsonl", "\n \n", "is empty: it needs one JSON object per comparison"),
        ("v.json", "[]", "is empty"),
        ("v.jsonl", LINES.replace('"loser"', '"losser"'), "no column 'loser'"),
        ("v.jsonl", LINES + '\n{"usr":1}', "line 4: the key 'usr' is not in the first object"),
        ("v.jsonl", LINES + "\n[1]", "line 4: each row must be an object"),
        ("v.jsonl", f"[{LINES}]", "line 1: not valid JSON"),
        ("v.jsonl", LINES + '\n{"user":', "line 4: not valid JSON"),
        ("v.jsonl", LINES + '\n{"user":1,"user":2}', "line 4: not valid JSON .*'user' stands there twice"),
        ("v.json", "[" * 100_000, "not valid JSON"),
        ("v.json", '[{"user":1},3]', "object 2: each row must be an object|no column"),
        ("v.jsonl", LINES + '\n{"user":{"id":1},"winner":"x"}', "line 4, key 'user': a list or an object"),
        ("v.jsonl", LINES + '\n{"user":null,"winner":"x","loser":"y"}', "line 4, column 'user': the user is missing"),
        ("v.jsonl", LINES + '\n{"user":NaN,"winner":"x","loser":"y"}', "'NaN', which marks a missing value"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, name, content, message):
    with pytest.raises(DataError, match=message) as error:
        read_comparisons(written(tmp_path, content, name))
    assert name in str(error.value)


def test_a_list_is_parsed_once_for_the_header_and_once_for_all_rows(tmp_path, monkeypatch):
    parsed = []

    def loads(text, **options):
        parsed.append(text)
        return json.JSONDecoder(**options).decode(text)

    path = written(tmp_path, json.dumps(ROWS), "votes.json")
    monkeypatch.setattr("privrank_jax.datasets.json_objects.json.loads", loads)
    assert len(read_comparisons(path)) == 3
    assert len(parsed) == 2


def test_no_separator(tmp_path):
    path = written(tmp_path, LINES, "v.jsonl")
    with pytest.raises(DataError, match=r"v\.jsonl has no separator: leave out separator=';'"):
        read_comparisons(datasets.File(path, separator=";"))

"""Records of Argilla with rankings, of both of its versions, made up in their public form."""

from __future__ import annotations

import json

import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from tests.data.files import written


def record(*answers, question="ranking", **others):
    responses = {question: list(answers), **others}
    return {"id": "r", "fields": {"prompt": "p"}, "responses": responses, "status": "completed"}


def ranked(user, *pairs, **more):
    return {
        "value": [{"value": name, "rank": rank} for name, rank in pairs],
        "user_id": user,
        **more,
    }


RECORDS = [
    record(
        ranked("u1", ("b", 2), ("a", 1), ("c", 2)), ranked("u2", ("b", 1), ("a", 2), ("c", None))
    ),
    record(
        ranked("u1", ("c", 1), ("a", 2), status="submitted"),
        ranked("u2", ("a", 1), ("b", 2), status="discarded"),
        ranked("u3", ("a", 1), ("b", 2), status="draft"),
        quality=[{"value": "good", "user_id": "u1"}, {"value": 3, "user_id": "u2"}],
    ),
]
PAIRS = ["u1 a>b", "u1 a>c", "u1 b=c", "u2 b>a", "u1 c>a"]


def said(found):
    rows = zip(found.users, found.winners, found.losers, found.tied)
    names = found.item_names
    return [f"{found.user_names[u]} {names[w]}{'>='[int(tie)]}{names[x]}" for u, w, x, tie in rows]


@pytest.mark.parametrize("name", ["records.jsonl", "records.json"])
def test_rankings_are_their_pairs(tmp_path, name):
    text = json.dumps(RECORDS) if name.endswith("json") else "\n".join(map(json.dumps, RECORDS))
    found = pr.read(written(tmp_path, text, name))
    assert said(found) == PAIRS
    assert "broken into pairs" in found.reading[0]


def test_lists_of_names(tmp_path):
    answers = [{"value": ["b", "c", "a"], "user_id": "u1"}, {"value": ["a", "b"], "user_id": "u2"}]
    found = pr.read(written(tmp_path, json.dumps(record(*answers)), "records.jsonl"))
    assert said(found) == ["u1 b>c", "u1 b>a", "u1 c>a", "u2 a>b"]


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([record({"value": "good", "user_id": "u"})], "records of Argilla with no ranking"),
        ([record(ranked("u", ("a", 1), ("b", 2)), other=[ranked("u", ("a", 1), ("b", 2))])],
         r"several questions with rankings, \['other', 'ranking'\]: keep one"),
        ([record(ranked("u", ("a", "best"), ("b", 2)))], "line 1, question 'ranking': 'best' is no rank"),
        ([record(ranked(None, ("a", 1), ("b", 2)))], "line 1, column 'user': the user is missing"),
        ([record(ranked("u", ("a", 1), ("a", 2)))], "line 1.*'a'"),
    ],
)  # fmt: skip
def test_other_records_are_refused(tmp_path, records, message):
    with pytest.raises(DataError, match=message):
        pr.read(written(tmp_path, "\n".join(map(json.dumps, records)), "records.jsonl"))

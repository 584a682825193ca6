"""Keys of JSON objects: no row of one user changes how another row is read, in any shape; at most the file is refused.

Each shape is a file of 12 users and what is said of its columns. The last user then drops, adds, respells, nests or
reorders keys; what is read of all others must be the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Comparisons, DataError
from privrank_jax.data.reader import KINDS
from privrank_jax.data.reader import read_told as _read_told
from tests.data.files import written
from tests.quick import thorough_but

ITEMS = ("oslo", "rome", "bonn")
USERS = 12


def answers(k):
    """The preferred item of a pair, the other one, and an order."""
    order = [ITEMS[(k + s) % 3] for s in range(3)]
    return order[0], order[1], order[:: (-1) ** (k // 3)]


def numbered(name, items):
    return {f"{name}_{place}": item for place, item in enumerate(items, start=1)}


def by_item(k, one, other, order):
    return {item: place for place, item in enumerate(order, start=1)}


# The row of user k, and what is said of the columns.
SHAPES = {
    "winner": (lambda k, one, other, _: {"winner": one, "loser": other}, {}),
    "named": (lambda k, one, other, _: {"Best": one, "Worst": other}, {"winner": "Best", "loser": "Worst"}),
    "tied": (lambda k, one, other, _: {"winner": one, "loser": other, "Tied": k % 2}, {"tie": "Tied"}),
    "battles": (
        lambda k, one, other, _: {"model_a": other, "model_b": one, "winner": ("model_b", "tie")[k % 4 == 0]}, {},
    ),
    "onehot": (
        lambda k, one, other, _: {"model_a": one, "model_b": other, "winner_model_a": 1, "winner_model_b": 0}, {},
    ),
    "pairs": (lambda k, *_: {"oslo vs rome": ITEMS[k % 2], "rome vs bonn": ITEMS[1 + (k % 3 == 0)]}, {}),
    "sides": (
        lambda k, one, other, _: {"winner": one, "loser": other, "Left": (one, other)[k % 2], "Score": "3"},
        {"side": "Left", "covariates": ["Score"]},
    ),
    "choices": (lambda k, one, _, order: {"chosen": one, "shown": order}, {}),
    "options": (lambda k, one, _, order: {"chosen": one, **numbered("option", order)}, {}),
    "best-worst": (lambda k, one, _, order: {"best": order[0], "worst": order[2], "shown": order}, {}),
    "wide": (by_item, {"kind": "rankings"}),
    "wide, seen items": (by_item, {"kind": "rankings", "items": None}),
    "orders": (lambda k, one, _, order: {"order": ">".join(order)}, {}),
    "places": (lambda k, one, _, order: numbered("rank", order), {}),
}  # fmt: skip
LONG = {
    "long": ({}, "item", "rank"),
    "named long": ({"item": "Item", "rank": "Rank"}, "Item", "Rank"),
    "long choices": ({"kind": "choices", "item": "item", "chosen": "Chosen"}, "item", "Chosen"),
    "long best-worst": ({"kind": "best-worst", "answer": "Answer"}, "item", "Answer"),
}
MARKS = {"Chosen": (1, 0, 0), "Answer": (1, 0, -1)}
_USUAL = {
    name for kind in KINDS.values() for names in kind.roles.columns().values() for name in names
}
EVERY = {
    **dict.fromkeys(sorted(_USUAL), "a"),
    **{"rank": 1, "tie": 1, "order": "a>b", "shown": ["a", "b"], "count": 2, "weight": 1, "time": "2024-01-01"},
    **{"model_a": "a", "model_b": "b", "left": "a", "right": "b", "outcome": "left", "winner_model_a": 1},
    **{"winner_model_b": 0, "rank_1": "a", "rank_2": "b", "option_1": "a", "option_2": "b", "a vs b": "a"},
    **{"item_1": "a", "item_2": "b", "report": 1, "epsilon": 1, "synthetic_epsilon": 1, "a": 1, "b": 2, "c": 3, "d": 4},
}  # fmt: skip
"""A cell under each name that a column of any kind may have."""
_WHOLE = (("item", "rank"), ("rank_1", "rank_2"), ("order",), tuple("abcd"), ("a vs b",), ("chosen", "shown"),
          ("winner", "loser"))  # fmt: skip


def variants(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The row of one user in other keys, by what was done."""
    yield "reversed", dict(reversed(row.items()))
    yield "only its user", {"user": row["user"]}
    yield "nested", {"user": row["user"], "answers": row}
    yield "in a list", {"battles": [row]}
    for key in row:
        rest = {name: cell for name, cell in row.items() if name != key}
        yield f"without {key}", rest
        yield f"null {key}", {**row, key: None}
        yield f"nested {key}", {**row, key: {key: row[key]}}
        cased = {key.upper(), key.lower(), key.title()}
        for other in sorted((cased | {f" {key}", key.replace("_", "-"), f"{key}\u200b"}) - {key}):
            yield f"{other} for {key}", {**rest, other: row[key]}
            yield f"{other} beside {key}", {**row, other: row[key]}
    for key in sorted(EVERY.keys() - row.keys()):
        yield f"with {key}", {**row, key: EVERY[key]}
    yield "with all", {**EVERY, **row}
    for keys in _WHOLE:
        other = {key: EVERY[key] for key in keys}
        yield f"{keys} instead", {"user": row["user"], **other}
        yield f"{keys} as well", {**row, **other}


def read_told(path, told):
    told = dict(told)
    kind = told.pop("kind", None)
    return _read_told(path, told, kinds=None if kind is None else (kind,))


def rows_of(shape):
    """Of each user a row, or several in long files."""
    if shape in LONG:
        _, item, rank = LONG[shape]
        said = MARKS.get(rank, (1, 2, 3))
        return [
            {"user": f"u{k}", item: one, rank: said[place], "Age": 30, "Team": "x"}
            for k in range(USERS)
            for place, one in enumerate(answers(k)[2])
        ]
    row, _ = SHAPES[shape]
    return [{"user": f"u{k}", **row(k, *answers(k)), "Age": 30, "Team": "x"} for k in range(USERS)]


def told(shape):
    named = LONG[shape][0] if shape in LONG else SHAPES[shape][1]
    found = {"items": ITEMS, **named, "ignore": ["Age,Team"]}
    return {name: value for name, value in found.items() if value is not None}


def said_by_others(data, last):
    """What is read of all users but one, by names."""
    users = [name for name in data.user_names if name != last]
    places = [data.user_names.index(name) for name in users]
    if hasattr(data, "ranks"):
        return type(data).__name__, data.missing, users, data.ranks[places].tolist()
    kept = np.isin(data.users, places)
    names = [data.user_names[k] for k in data.users[kept]]
    if hasattr(data, "sets"):
        return names, data.sets[kept].tolist()
    found = (data.winners, data.losers, data.tied)
    covariates = data.covariates
    if covariates is not None:
        found += (covariates.first, *covariates.values.values())
    return names, *(column[kept].tolist() for column in found)


QUICK = ("winner", "pairs", "choices", "wide", "long")


@pytest.mark.parametrize("shape", thorough_but([*SHAPES, *LONG], *QUICK))
def test_no_key_of_one_user_changes_what_others_said(tmp_path, shape):
    rows, options = rows_of(shape), told(shape)

    def read(found):
        text = "\n".join(map(json.dumps, found))
        return read_told(written(tmp_path, text, "votes.jsonl"), options)

    before = read(rows)
    last, accepted = rows[-1]["user"], 0
    expected = said_by_others(before, last)
    seen = "items" in options
    for number, (name, row) in enumerate(variants(rows[-1])):
        try:  # by turns as the last row and as the first one
            data = read([row, *rows[:-1]] if number % 2 else [*rows[:-1], row])
        except DataError:
            continue
        accepted += 1
        if seen or data.item_names == before.item_names:
            assert said_by_others(data, last) == expected, name
            assert data.notes == before.notes, name
            assert data.public == before.public, name
    assert accepted >= 4


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("item", "Item"),
        ("model_a", "model-a"),
        ("x", "x "),
        ("\u00e9", "e\u0301"),
        ("x", "x\u200b"),
    ],
)
def test_keys_that_are_alike_are_refused(tmp_path, one, other):
    rows = [
        {"user": "u", "winner": "oslo", "loser": "rome", one: 1},
        {"user": "v", "winner": "rome", "loser": "oslo", other: 1},
    ]
    for source in (rows, written(tmp_path, json.dumps(rows), "a.json")):
        with pytest.raises(DataError, match="differ only by case"):
            pr.read(source)
    rows[1]["+"] = rows[1]["!"] = rows[1].pop(other)
    assert len(pr.read(rows)) == 2


def test_a_key_is_a_column_as_it_is_spelled(tmp_path):
    path = written(tmp_path, '{"User": "u", "Winner": "oslo", "Loser": "rome"}', "votes.json")
    with pytest.raises(DataError, match="usual names"):
        pr.read(path)
    named = {"user": "User", "winner": "Winner", "loser": "Loser"}
    assert Comparisons.read(path, **named).user_names == ("u",)
    with pytest.raises(DataError, match=r"no column 'WINNER' \(did you mean 'Winner'\?\)"):
        Comparisons.read(path, **named | {"winner": "WINNER"})

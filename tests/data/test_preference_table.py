"""Randomized preferences read back: arrays for the losses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from privrank_jax.data import DataError
from privrank_jax.data.preferences import read_preferences
from privrank_jax.preferences import likelihood_loss, reward_loss

ROWS = [
    {"id": 7, "user": "ann", "prompt": "p", "chosen": "b", "rejected": "a", "label_epsilon": 0.5},
    {"id": 8, "user": "bob", "prompt": "q", "chosen": "a", "rejected": "c", "label_epsilon": 2.0},
    {"id": 9, "user": "ann", "prompt": "r", "chosen": "d", "rejected": "e", "label_epsilon": 0.1},
]


def save(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


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


def test_both_ways_into_the_losses_agree(tmp_path):
    table = read_preferences(save(tmp_path / "x.jsonl", ROWS))
    score = {"a": 0.3, "b": -1.0, "c": 2.0, "d": 0.1, "e": 0.0}
    chosen, rejected = (
        np.array([score[x] for x in side]) for side in (table.chosen, table.rejected)
    )
    named = reward_loss(chosen, rejected, table.epsilon)
    gap = np.where(table.bits, 1, -1) * (chosen - rejected)
    found = likelihood_loss(gap, table.bits.astype(int), table.epsilon, coding="0/1")
    np.testing.assert_allclose(found, named, rtol=1e-12)


def test_without_users_prompts_and_ids(tmp_path):
    rows = [{name: row[name] for name in ("chosen", "rejected", "label_epsilon")} for row in ROWS]
    table = read_preferences(save(tmp_path / "x.jsonl", rows))
    assert (table.names.keys(), table.user_names) == ({"chosen", "rejected"}, ())
    assert table.users.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label_epsilon": None}, "line 2: 'null' is not a usable epsilon"),
        ({"label_epsilon": 0}, "line 2: '0' is not a usable epsilon"),
        ({"more": 1}, "line 2: other fields"),
        ({"chosen": 3}, "line 2: 'chosen' is 3"),
        ({"user": None}, "line 2: the user is null"),
    ],
)
def test_faults_name_the_line(change, said, tmp_path):
    with pytest.raises(DataError, match=said):
        read_preferences(save(tmp_path / "x.jsonl", [ROWS[0], {**ROWS[1], **change}]))


def test_a_file_that_was_not_randomized_is_refused(tmp_path):
    rows = [{name: value for name, value in ROWS[0].items() if name != "label_epsilon"}]
    with pytest.raises(DataError, match="line 1: no field 'label_epsilon'"):
        read_preferences(save(tmp_path / "x.jsonl", rows))
    (tmp_path / "y.jsonl").write_text("\n")
    with pytest.raises(DataError, match="empty"):
        read_preferences(tmp_path / "y.jsonl")

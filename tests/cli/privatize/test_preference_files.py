"""``privatize`` on preferences: what a user gives and gets, what is said, and what is refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from privrank_jax.data.preferences import read_preferences
from tests.quick import thorough

PAGE = Path(__file__).parents[3] / "notebooks" / "labels.md"


@pytest.fixture
def prefs(tmp_path):
    rows = [
        {"id": k, "user": f"u{k % 3}", "prompt": f"q{k}", "chosen": f"yes {k}",
         "rejected": f"no {k}", "score_chosen": 9, "topic": "abc"[k % 3], "e": 0.5 + k}
        for k in range(9)
    ]  # fmt: skip
    path = tmp_path / "prefs.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.fixture
def run(privrank, prefs, tmp_path):
    def run(*options, source=prefs, out="out.jsonl"):
        return privrank("privatize", source, "--out", tmp_path / out, *options)

    return run


def test_labels_by_themselves(run, tmp_path):
    done = run("--epsilon", 40, "--keep", "topic")
    assert done.code == 0
    table = read_preferences(tmp_path / "out.jsonl")
    assert all(answer.startswith("yes") for answer in table.chosen)
    assert sorted(zip(table.column("id"), table.column("topic"))) == [
        (k, "abc"[k % 3]) for k in range(9)
    ]
    for words in ("which answer was chosen", "the fields topic", "epsilon = 120"):
        assert words in done.out
    assert "score_chosen" not in done.out
    assert "score_chosen" in done.err


@pytest.mark.parametrize(("most", "each", "count"), [((), 1.0, 9), (("--max-per-user", 1), 3.0, 3)])
def test_all_labels_of_a_user_together(run, most, each, count, tmp_path):
    done = run("--epsilon", 3, "--unit", "user", *most, "--json")
    table = read_preferences(tmp_path / "out.jsonl")
    assert table.epsilon.tolist() == [each] * count
    found = done.json()
    assert (found["guarantee"]["unit"], found["guarantee"]["epsilon"]) == ("user", 3.0)
    assert found["guarantee"]["numerics"] == "exact"
    assert found["counts"] == {"labels": count, "users": 3}
    assert ("6 labels beyond the limit" in done.err) == (count == 3)


@pytest.mark.parametrize(
    ("most", "words"),
    [((), "together say"), thorough(("--max-per-user", 1), "one label of each user,")],
)
def test_many_labels_of_few_users_are_told_to_be_worth_little(run, tmp_path, most, words):
    """10,000 labels of 50 users say less than one of theirs would; the figures are in labels.md."""
    row = '{{"user": {}, "prompt": "q{}", "chosen": "a", "rejected": "b"}}'
    source, page = tmp_path / "many.jsonl", " ".join(PAGE.read_text("utf-8").split())
    source.write_text("\n".join(row.format(k % 50, k) for k in range(10_000)))
    done = run("--epsilon", 1, "--unit", "user", *most, "--json", source=source)
    weights = np.tanh(read_preferences(tmp_path / "out.jsonl").epsilon / 2) ** 2
    notes = " ".join(done.json()["diagnostics"]["notes"])
    assert f"as {weights.sum():.3g} that" in notes
    assert f"{words} {weights.sum():.2g}" in page
    assert ("max_per_user=1" in notes) == (not most)


def test_equal_answers(run, prefs, tmp_path):
    rows = [{"accepted": "a", "rejected": other} for other in "bacc"]
    prefs.write_text("\n".join(map(json.dumps, rows)))
    named = ("--epsilon", 1, "--chosen", "accepted", "--force")
    assert "first in row 2" in run(*named).err
    for ties, left in (("drop", 3), ("coin", 4)):
        assert run(*named, "--ties", ties).code == 0
        assert len(read_preferences(tmp_path / "out.jsonl")) == left


def test_lines_that_could_not_be_joined_again_are_refused_until_that_is_said(run, prefs):
    rows = [{"question": f"q{k}", "chosen": f"{k}", "rejected": f"no {k}"} for k in range(4)]
    prefs.write_text("\n".join(map(json.dumps, rows)))
    done = run("--epsilon", 1)
    assert done.code == 2
    for words in ("question", "--prompt", "--id", "--keep", "--prompt none"):
        assert words in done.err
    for named in (("--keep", "question"), ("--prompt", "none"), ("--prompt", "question")):
        assert run("--epsilon", 1, *named, "--force").code == 0


def test_messages_in_parquet_are_those_of_json(run, tmp_path):
    def said(text):
        return [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]

    rows = [{"chosen": said(f"yes {k}"), "rejected": said(f"no {k}")} for k in range(4)]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "chats.parquet")
    (tmp_path / "chats.json.gz").write_bytes(gzip.compress(json.dumps(rows).encode()))
    texts = []
    for name in ("chats.parquet", "chats.json.gz"):
        done = run("--epsilon 1 --simulate --seed 3 --force", source=tmp_path / name)
        assert done.code == 0, done.err
        assert "not to be published" in done.out
        texts.append((tmp_path / "out.jsonl").read_text())
    assert texts[0] == texts[1]
    found = read_preferences(tmp_path / "out.jsonl")
    answers = sorted(one[1]["content"] for one in (*found.chosen, *found.rejected))
    assert answers == [f"{word} {k}" for word in ("no", "yes") for k in range(4)]


def test_preferences_in_a_table_of_text_are_comparisons_where_that_is_said(run, tmp_path):
    path = tmp_path / "prefs.csv"
    path.write_text("prompt,chosen,rejected,user\nq0,a,c,1\nq1,b,d,2\n")
    done = run("--epsilon", 1, source=path)
    assert (done.code, ".parquet" in done.err) == (2, True)
    named = ("--winner", "chosen", "--loser", "rejected", "--epsilon", 1)
    assert run(*named, source=path, out="out.csv").code == 0

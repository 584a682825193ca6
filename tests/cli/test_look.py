"""``privrank look``: the command that it prints next runs once what only the holder knows is filled in."""

from __future__ import annotations

import shlex

import pytest

import privrank_jax as pr

ROWS = [
    ("ann lee", "Oslo", "Rome"),
    ("bo", "Rome", "n/a"),
    ("ann lee", "Oslo", "Bonn"),
    ("bo", "Bonn", "Rome"),
]
ROWS += [("cy d", "Oslo", "$SKIP"), ("cy d", "Bonn", "Oslo")]  # fmt: skip


def save(path, *header, rows=ROWS):
    path.write_text("\n".join(map(",".join, [header, *rows])) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "named"),
    [
        (("voter id", "winner", "loser"), "--user 'voter id' --blank '$SKIP,n/a'"),
        (("user", "Winner", "loser "), "--user user --blank"),
    ],
)  # fmt: skip
def test_the_next_command_names_columns_and_blanks_and_runs(header, named, privrank, tmp_path):
    path = save(tmp_path / "it's.csv", *header)
    (command,) = pr.look(path).commands
    assert named in command
    assert f"  privrank {command}\n" in privrank("look", path).out
    words = shlex.split(command.replace(" L", " 2"))
    assert privrank(*words, items=None).code == 0


@pytest.mark.parametrize(
    "header",
    [("n", "first", "second"), ("n", "winner", "loser"), ("day", "preferred", "chosen")],
)
def test_what_is_not_known_is_left_open(header, tmp_path):
    rows = [(str(k), *row[1:]) for k, row in enumerate(ROWS)]
    found = pr.look(save(tmp_path / "votes.csv", *header, rows=rows))
    assert all("--user COLUMN" in command for command in found.commands)
    assert ("--winner COLUMN" in str(found)) == (not found.kind)


def test_files_that_say_what_they_hold_are_read(privrank, tmp_path):
    for source in ("coffee", tmp_path / "x.blt"):
        assert "says itself" in privrank("look", source).err
    lines = '{"prompt":"p","chosen":"a","rejected":"b"}\n'
    (tmp_path / "x.jsonl").write_text(lines)
    assert pr.look(tmp_path / "x.jsonl").kind == "preferences"

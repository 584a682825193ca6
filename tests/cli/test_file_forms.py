"""Files as people have them: options that say how to read, and standard input, which is released like a file."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.cli.results import items
from tests.invoked import invoke

VOTES = ("ann,Oslo,Rome,0", "bob,Rome,Bonn,0", "cy,Oslo,Bonn,1", "dee,Rome,Oslo,0")
HEADER = "user,winner,loser,tie"
PLAIN = "\n".join((HEADER, *VOTES, ""))
RANKS = "user,Bonn,Oslo,Rome\nann,,1,2\nbob,2,,1\ncy,3,1,2\n"
SEEN = ("--items", "seen")
RUN = ("--epsilon", 1, "--simulate", "--seed", 1, "--json", *SEEN)


def test_columns_of_scores_are_named_by_the_options_of_a_refusal(privrank, write):
    rows = ("Oslo,Rome,2,1", "Rome,Paris,0,0", "Paris,Oslo,3,1")
    run = ("rank", write(*rows, header="home,away,home_score,away_score"), "--method none --json")
    for option in ("--left", "--right", "--left-score", "--right-score"):
        assert option in privrank(*run).err
    columns = "--left home --right away --left-score home_score --right-score away_score"
    assert items(privrank(*run, columns).json()) == ["Paris", "Oslo", "Rome"]


def piped(content, *arguments):
    return invoke([str(one) for one in arguments], input=content)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_released_like_a_file(privrank, write, tmp_path, pack):
    expected = privrank("rank", write(*VOTES, header=HEADER), *RUN).json()["ranking"]
    result = piped(pack(PLAIN.encode()), "rank", "-", *RUN)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["ranking"] == expected
    assert json.loads(result.stdout)["diagnostics"]["data"] == "standard input"
    out = tmp_path / "out.csv"
    reports = ("privatize", "-", "--out", out, "--epsilon", 1, "--ties", "coin", *SEEN)
    assert piped(pack(PLAIN.encode()), *reports).exit_code == 0
    assert piped(out.read_bytes(), "rank", "-").exit_code == 0
    assert piped(RANKS, "aggregate", "-", "--epsilon", 1, *SEEN).exit_code == 0


def test_a_ledger_knows_standard_input_by_its_content(privrank, write, tmp_path):
    """It is read once: its columns, its users and its content are those of what was piped."""
    path, ledger = write(*VOTES, header=HEADER), tmp_path / "votes.ledger"
    making = ("--data", "-", "--budget", 1)
    assert piped(path.read_bytes(), "ledger", ledger, *making).exit_code == 0
    assert privrank("rank", path, "--epsilon", 0.5, "--ledger", ledger).code == 0
    run = ("rank", "-", "--epsilon", 0.5, "--ledger", ledger, *SEEN)
    assert piped(path.read_bytes() + b"\n", *run).exit_code == 2
    assert piped(path.read_bytes(), *run).exit_code == 0
    other = path.read_bytes().replace(b"user,", b"who,")
    refused = piped(other, "ledger", tmp_path / "other", *making)
    assert (refused.exit_code, "'user'" in refused.stderr) == (2, True)

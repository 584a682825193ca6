"""Files as people have them: the same answers in another form give the same release; stderr says what was found."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest
from typer.testing import CliRunner

from privrank_jax.cli import app
from tests.cli.results import lines_said

VOTES = ("ann,Oslo,Rome,0", "bob,Rome,Bonn,0", "cy,Oslo,Bonn,1", "dee,Rome,Oslo,0")
PLAIN = "\n".join(("user,winner,loser,tie", *VOTES, ""))
BATTLES = "\n".join(
    (
        "user,model_a,model_b,winner",
        *("ann,Oslo,Rome,model_a", "bob,Bonn,Rome,B", "cy,Oslo,Bonn,tie (bothbad)", "dee,Rome,Oslo,1"),
        "",
    )
)  # fmt: skip
HOME = BATTLES.replace("model_a,model_b,winner", "home,away,r").replace("model_a", "H")
HOME = HOME.replace("B\n", "A\n")
RANKS = "user,Bonn,Oslo,Rome\nann,,1,2\nbob,2,,1\ncy,3,1,2\n"
LISTS = "user,rank_1,rank_2,rank_3\nann,Oslo,Rome,\nbob,Rome,Bonn,\ncy,Oslo,Rome,Bonn\n"
RUN = ("--epsilon", 1, "--simulate", "--seed", 1, "--json")


def objects(text):
    header, *rows = (line.split(",") for line in text.splitlines())
    return "\n".join(json.dumps(dict(zip(header, row))) for row in rows)


FORMS = {
    "plain": ("votes.csv", PLAIN.encode(), (), ""),
    "semicolons": ("votes.csv", PLAIN.replace(",", ";").encode(), (), "cells are separated by semicolons"),
    "latin-1": ("votes.csv", PLAIN.replace("cy", "é").encode("latin-1"), ("--encoding", "latin-1"), ""),
    "named battles": (
        "votes.csv", HOME.encode(),
        ("--left", "home", "--right", "away", "--outcome", "r"), "'home' and 'away' hold the items"),
    "json battles": ("votes.jsonl", objects(BATTLES).encode(), (), "'winner' the outcome"),
}  # fmt: skip


def told(result):
    """The ranking, and what stderr says of the form."""
    assert result.code == 0, result.err
    return result.json()["ranking"], [
        line for line in lines_said(result) if line.startswith("privrank: ")
    ]


@pytest.mark.parametrize("form", FORMS)
def test_comparisons_in_another_form(privrank, write, tmp_path, form):
    expected, lines = told(
        privrank("rank", write(*VOTES, header="user,winner,loser,tie", name="v.csv"), *RUN)
    )
    assert lines == []
    name, content, options, words = FORMS[form]
    (tmp_path / name).write_bytes(content)
    result = privrank("rank", tmp_path / name, *RUN, *options)
    found, lines = told(result)
    assert found == expected
    assert [words in line and name in line for line in lines] == [True] * bool(words)
    notes = " ".join(result.json()["diagnostics"]["notes"])
    assert words in notes or name.endswith(".jsonl")  # whose keys belong to answers
    assert not (words and words in notes and name.endswith(".jsonl"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (LISTS, "columns 'rank_1' to 'rank_3' are places"),
        (
            "user,Order\nann,Oslo>Rome\nbob,Rome>Bonn\ncy,Oslo > Rome > Bonn\n",
            "orders such as A>B=C",
        ),
    ],
)
def test_orders_are_aggregated_and_privatized(privrank, tmp_path, content, words):
    (tmp_path / "ranks.csv").write_text(RANKS)
    (tmp_path / "orders.csv").write_text(content)
    run = ("--method", "none", "--json")
    expected, lines = told(privrank("aggregate", tmp_path / "ranks.csv", *run))
    assert lines == []
    found, lines = told(privrank("aggregate", tmp_path / "orders.csv", *run))
    assert found == expected
    assert [words in line for line in lines] == [True]
    private = []
    for name in ("ranks", "orders"):
        out = tmp_path / f"{name}.out.csv"
        options = ("--out", out, "--public", "ranked-items", *RUN[:-1])
        assert privrank("privatize", tmp_path / f"{name}.csv", *options).code == 0
        private.append(out.read_text())
    assert private[0] == private[1]


def piped(content, *arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], input=content)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_released_like_a_file(privrank, write, tmp_path, pack):
    path = write(*VOTES, header="user,winner,loser,tie")
    expected, _ = told(privrank("rank", path, *RUN))
    result = piped(pack(PLAIN.encode()), "rank", "-", *RUN)
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["ranking"] == expected
    assert json.loads(result.stdout)["diagnostics"]["data"] == "standard input"
    out = tmp_path / "out.csv"
    result = piped(
        pack(PLAIN.encode()), "privatize", "-", "--out", out, "--epsilon", 1, "--ties", "coin"
    )
    assert result.exit_code == 0, result.stderr
    assert piped(out.read_bytes(), "rank", "-").exit_code == 0
    assert piped(RANKS, "aggregate", "-", "--epsilon", 1).exit_code == 0


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_piped_ballots_are_read_like_a_file_of_them(privrank, tmp_path, pack):
    content = b'3 1\n2 1 2 3 0\n1 3 1 0\n0\n"Ann"\n"Ben"\n"Cem"\n"Vote"\n'
    path = tmp_path / "votes.blt"
    path.write_bytes(content)
    expected = privrank("aggregate", path, "--method", "none", "--json").json()["ranking"]
    assert [row["item"] for row in expected] == ["Ann", "Ben", "Cem"]
    result = piped(pack(content), "aggregate", "-", "--method", "none", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["ranking"] == expected


def test_a_ledger_knows_standard_input_by_its_content(privrank, write, tmp_path):
    path, ledger = write(*VOTES, header="user,winner,loser,tie"), tmp_path / "votes.ledger"
    assert privrank("ledger", ledger, "--data", path, "--budget", 1).code == 0
    run = ("rank", "-", "--epsilon", 0.5, "--ledger", ledger)
    content = path.read_bytes()
    assert hashlib.sha256(content).digest() != hashlib.sha256(content + b"\n").digest()
    assert piped(content + b"\n", *run).exit_code == 2
    result = piped(content, *run)
    assert result.exit_code == 0, result.stderr
    assert "0.5 is left of" in " ".join(result.stdout.split())


def test_a_ledger_is_made_of_standard_input(privrank, write, tmp_path):
    """It is read once: its columns, its users and its content are those of what was piped."""
    path = write(*VOTES, header="user,winner,loser,tie")
    content, made = path.read_bytes(), tmp_path / "votes.ledger"
    result = piped(content, "ledger", made, "--data", "-", "--budget", 1)
    assert result.exit_code == 0, result.stderr
    assert "standard input" in result.stdout
    assert "column 'user'" in " ".join(result.stdout.split())
    paid = privrank("rank", path, "--epsilon", 0.5, "--ledger", made)
    assert paid.code == 0, paid.err
    result = piped(
        content.replace(b"user,", b"who,"),
        "ledger",
        tmp_path / "other",
        "--data",
        "-",
        "--budget",
        1,
    )
    assert result.exit_code == 2
    assert "standard input has no column 'user'" in " ".join(result.stderr.split())
    ballots = b'3 1\n2 1 2 3 0\n1 3 1 0\n0\n"Ann"\n"Ben"\n"Cem"\n"Vote"\n'
    result = piped(ballots, "ledger", tmp_path / "blt", "--data", "-", "--budget", 1)
    assert result.exit_code == 0, result.stderr
    assert "as the data define them" in " ".join(result.stdout.split())


def test_refusals_name_the_options(privrank, tmp_path):
    def refused(name, content, *arguments):
        (tmp_path / name).write_bytes(content)
        result = privrank("rank", tmp_path / name, "--epsilon", 1, *arguments)
        assert (result.code, result.out) == (2, "")
        return " ".join(result.err.split())

    said = refused("votes.csv", PLAIN.replace("cy", "é").encode("latin-1"))
    assert "name its encoding, such as --encoding latin-1" in said
    said = refused("votes.txt", PLAIN.encode())
    assert "name the character between its cells" in said
    both = PLAIN.replace(",", ";").replace("winner;", "winner\t").encode()
    assert "it is unclear which separate cells: say so, such as --separator" in refused(
        "votes.csv", both
    )
    said = refused("votes.xlsx", b"PK", "--separator", ";")
    assert "votes.xlsx has no separator: leave out --separator ';'" in said
    assert "has no encoding: leave out --encoding" in refused(
        "votes.xlsx", b"PK", "--encoding", "latin-1"
    )
    qualtrics = PLAIN.replace(
        "\n", '\nWho are you?,Best?,Other?,Tie?\n"{""ImportId"":""QID1""}",,,\n', 1
    )
    assert "a second header row, as Qualtrics and SurveyMonkey write it" in refused(
        "votes.csv", qualtrics.encode()
    )


def test_the_words_on_stderr_depend_on_the_header_alone(privrank, tmp_path):
    """Other answers, other users, other outcomes: the same lines, in the release too."""
    found = []
    for rows in (("ann,a,b,left", "bob,b,a,tie"), ("cy,a,b,b", "dee,a,b,0.5", "ed,a,b,1")):
        (tmp_path / "votes.csv").write_text(
            "\n".join(("user;left;right;winner", *rows)).replace(",", ";")
        )
        result = privrank(
            "rank", tmp_path / "votes.csv", "--epsilon", 1, "--json", "--items", "a,b"
        )
        assert result.code == 0, result.err
        found.append((result.err, result.json()["diagnostics"]["notes"]))
    assert found[0] == found[1]

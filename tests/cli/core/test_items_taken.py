"""The items that a command took from a file: named on stderr before anything is drawn, and never on stdout."""

from __future__ import annotations

import duckdb
import pytest

ALIKE = "'Sakrua' and 'Sakura' are spelled almost alike"


def ballots(names):
    """A column of ranks per item."""
    ranks = ",".join(str(k + 1) for k in range(len(names)))
    return [ranks] * 3, ",".join(names)


@pytest.fixture
def files(write, tmp_path):
    """The same three items, one of them spelled in two ways, as files that the commands read in different ways."""
    names = ["Sakrua", "Sakura", "Yama"]
    rows, header = ballots(names)
    votes = write("u,Sakura,Yama", "v,Yama,Sakrua", "w,Sakura,Yama")
    wide = write(*rows, header=header, name="wide.csv")
    for source in (votes, wide):
        duckdb.sql(f"COPY (FROM '{source}') TO '{source.with_suffix('.parquet')}'")
    write("A|Yama,Sakura,Yama|Sakura|Sakrua", header="user,chosen,shown", name="sets.csv")
    write("u,Sakura,Yama,Sakrua", header="user,rank_1,rank_2,rank_3", name="orders.csv")
    prices = ["u,Sakura,Yama,1,Yama", "v,Yama,Sakrua,2,Yama", "w,Sakura,Yama,3,Sakura"]
    prices += ["x,Sakrua,Yama,-1,Yama", "y,Yama,Sakura,2,Sakura"]
    write(*prices, header="user,winner,loser,price,first", name="prices.csv")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("rank", "votes.csv", "--method", "none"),
        ("rank", "votes.parquet", "--method", "none"),
        ("rank", "sets.csv", "--method", "none"),
        ("rank", "orders.csv", "--method", "none"),
        ("rank", "votes.csv", "--epsilon", 1, "--max-per-user", 1),
        ("rank", "prices.csv", "--method", "none", "--covariate", "price", "--side", "first"),
        ("aggregate", "wide.csv", "--user", "none", "--method", "none"),
        ("aggregate", "wide.csv", "--user", "none", "--epsilon", 1, "--json"),
        ("aggregate", "wide.parquet", "--user", "none", "--epsilon", 1),
        ("privatize", "votes.csv", "--epsilon", 1, "--out", "private.csv"),
    ],
    ids=lambda words: " ".join(map(str, words)),
)
def test_items_and_slips_are_named_on_stderr_alone(privrank, files, words, monkeypatch):
    monkeypatch.chdir(files)
    result = privrank(*words)
    assert result.code == 0, result.err
    assert f"{words[1]}: items (3): Sakrua, Sakura, Yama\n" in result.err
    assert f"{ALIKE}." in result.err
    assert "For you alone" in result.err
    assert "spelled almost alike" not in result.out
    assert "items (3)" not in result.out


@pytest.mark.parametrize("command", ["rank", "aggregate"])
def test_items_that_were_listed_are_no_slips(privrank, files, command):
    words = ("--method", "none", "--items", "Sakura,Sakrua,Yama")
    source = files / ("votes.csv" if command == "rank" else "wide.csv")
    users = () if command == "rank" else ("--user", "none")
    result = privrank(command, source, *words, *users)
    assert result.code == 0, result.err
    assert "items (3): Sakura, Sakrua, Yama" in result.err
    assert "almost alike" not in result.err


def test_long_lists_and_names_are_cut(privrank, write):
    names = [*(f"v{k:02d}" for k in range(12)), "x" * 50, "y"]
    rows, header = ballots(names)
    result = privrank(
        "aggregate", write(*rows, header=header), "--user", "none", "--method", "none"
    )
    shown = ", ".join(names[:12])
    assert f"items (14): {shown}, …\n" in result.err
    rows, header = ballots(names[-2:])
    result = privrank(
        "aggregate", write(*rows, header=header), "--user", "none", "--method", "none"
    )
    assert f"items (2): {'x' * 40}…, y\n" in result.err


def test_items_are_named_before_anything_is_drawn(privrank, votes):
    """A budget that has no mechanism is refused after the items were said."""
    result = privrank("rank", votes, "--epsilon", 1)
    assert result.code == 2
    assert "items (3): a, b, c\n" in result.err


def test_what_is_said_depends_on_names_alone(privrank, write):
    said = {
        privrank("rank", write(*lines), "--method", "none").err
        for lines in (["u,Oslo,Rome", "v,Rome,Bern"], ["u,Rome,Oslo", "v,Bern,Oslo", "w,Bern,Rome"])
    }
    assert [one for text in said for one in text.splitlines() if "items (" in one] == [
        "privrank: votes.csv: items (3): Bern, Oslo, Rome"
    ] * len(said)

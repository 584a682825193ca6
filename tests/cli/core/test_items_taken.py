"""The items that a command took from a file: named on stderr before anything is drawn, and never on stdout."""

from __future__ import annotations

import itertools
import re

import duckdb
import pytest

from tests.parquet import as_parquet

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


@pytest.mark.parametrize(
    "names", [("Wi-Fi", "WiFi"), ("Caf\u00e9", "Cafe"), ("St. Gallen", "St Gallen")]
)
def test_names_that_differ_by_marks_are_named(privrank, write, names):
    one, other = names
    path = write(f"u,{one},Rome", f"v,{other},Oslo", "w,Rome,Oslo")
    for source in (path, as_parquet(path)):
        result = privrank("rank", source, "--method", "none")
        pair = " and ".join(map(repr, sorted(names)))
        assert f"{pair} are spelled almost alike. If they are one item" in result.err
        assert "almost alike" not in result.out


PAIRS = [("Nord", "North"), ("Saint Gallen", "St Gallen"), ("US", "United States")]


@pytest.fixture(params=PAIRS, ids=" and ".join)
def synonyms(request, write, tmp_path):
    """Two names of one item, of which each user knows one, as files of several shapes."""
    one, other = request.param
    orders = [
        f"{name}>East>West" if k % 2 else f"West>{name}>East"
        for name in request.param
        for k in range(20)
    ]
    write(
        *(f"u{k},{order}" for k, order in enumerate(orders)), header="user,order", name="orders.csv"
    )
    rows = [order.split(">") for order in orders]
    long = [
        f"u{k},{item},{rank}"
        for k, row in enumerate(rows)
        for rank, item in enumerate(row, start=1)
    ]
    as_parquet(write(*long, header="user,item,rank", name="long.csv"))
    columns = (one, other, "East", "West")
    cells = (
        f"u{k},{','.join(str(row.index(c) + 1) if c in row else '' for c in columns)}"
        for k, row in enumerate(rows)
    )
    as_parquet(write(*cells, header=f"user,{','.join(columns)}", name="wide.csv"))
    battles = [
        f"u{k},{a},{b}" for k, row in enumerate(rows) for a, b in itertools.combinations(row, 2)
    ]
    as_parquet(write(*battles, name="battles.csv"))
    sets = (f"u{k},{row[0]},{'|'.join(row)}" for k, row in enumerate(rows))
    write(*sets, header="user,chosen,shown", name="sets.csv")
    return tmp_path, (one, other)


@pytest.mark.parametrize(
    "words",
    [
        ("aggregate", "orders.csv"),
        ("aggregate", "long.csv"),
        ("aggregate", "long.parquet"),
        ("aggregate", "wide.csv"),
        ("aggregate", "wide.parquet"),
        ("rank", "battles.csv"),
        ("rank", "battles.parquet"),
        ("rank", "sets.csv"),
    ],
    ids=" ".join,
)
def test_similar_names_that_nobody_has_together_are_named(privrank, synonyms, words):
    folder, (one, other) = synonyms
    command, name = words
    result = privrank(command, folder / name, "--method", "none")
    assert result.code == 0, result.err
    pair = " and ".join(
        map(repr, (one, other) if name.startswith("wide") else sorted((one, other)))
    )
    assert f"{name}: {pair} are similar names, and nobody has both of them" in result.err
    assert "For you alone" in result.err
    assert "similar names" not in result.out
    listed = privrank(
        command, folder / name, "--method", "none", "--items", f"{one},{other},East,West"
    )
    assert listed.code == 0, listed.err
    assert "similar names" not in listed.err


def test_similar_names_that_somebody_has_together_are_two(privrank, write):
    orders = [
        *(f"u{k},Nord>East>West" for k in range(20)),
        *(f"v{k},North>East>West" for k in range(20)),
    ]
    path = write(*orders, "w,North>Nord", header="user,order")
    assert "similar names" not in privrank("aggregate", path, "--method", "none").err


def test_users_that_may_be_one_are_named_before_anything_is_spent(privrank, write):
    votes = ["Ann,a,b", "ann,b,c", "u,a,c"]
    path = write(*votes)
    wide = write("Ann,1,2,3", "ann,2,1,3", "u,3,1,2", header="user,a,b,c", name="wide.csv")
    for source in (path, as_parquet(path), wide, as_parquet(wide)):
        command = "aggregate" if source.stem == "wide" else "rank"
        result = privrank(command, source, "--epsilon", 1, "--json")
        assert f"{source.name}: 'Ann' and 'ann' differ by case or accents alone" in result.err
        assert "nn" not in result.out


def test_two_spellings_of_an_address_are_refused(privrank, write, tmp_path):
    """They would be two users, and the one who has it would spend epsilon twice."""
    wide = write(
        "a@x.org,1,2,3", "A@x.org,1,2,3", "b@x.org,3,2,1", header="user,A,B,C", name="wide.csv"
    )
    orders = write("a@x.org,A>B", "a@X.org,B>A", header="user,order", name="orders.csv")
    long = write(
        "a@x.org,A,1", "A@x.org,B,2", "b@x.org,A,2", header="user,item,rank", name="long.csv"
    )
    votes = write("a@x.org,A,B", "A@x.org,B,A")
    sets = write("a@x.org,A,A|B", "A@x.org,B,A|B", header="user,chosen,shown", name="sets.csv")
    commands = {
        "aggregate": (wide, as_parquet(wide), orders, long, as_parquet(long)),
        "rank": (votes, as_parquet(votes), sets),
        "privatize": (wide, votes),
    }
    for command, files in commands.items():
        out = ("--out", tmp_path / "out.csv") if command == "privatize" else ()
        for path in files:
            result = privrank(command, path, "--epsilon", 1, *out)
            assert (result.code, result.out) == (2, ""), path
            assert re.search(
                "user named twice: '[aA]@[xX].org' and '[aA]@[xX].org' differ only by", result.err
            ), path


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

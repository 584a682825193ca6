"""What a release says that it protects is what it protects: guarantees and ledgers hold public facts and users."""

from __future__ import annotations

import re

import pytest

from tests.cli.results import ledger_of, refused, spends


@pytest.fixture
def ledger(privrank, tmp_path):
    """Make a ledger of a file; its path."""
    make = ledger_of(privrank, tmp_path)
    return lambda source, *options, **named: make(source, 10, *options, **named)


def test_synthetic_rankings_keep_what_is_public_of_them(privrank, write, tmp_path):
    out = tmp_path / "synthetic.csv"
    votes = write("u,1,2,", "v,2,,1", header="user,a,b,c")
    run = ("privatize", votes, "--epsilon 0.1 --public ranked-items --drop-user --out", out)
    promised = privrank(*run, "--json").json()["guarantee"]
    assert promised["public"] == promised["also"][0]["public"] == ["ranked-items"]
    words = privrank(*run, "--force").out
    assert words.count("taken as public") == 2  # of a rank, and of a ranking
    told = privrank("aggregate", out, "--user", "none", "--json").json()["guarantee"]
    assert told["public"] == ["ranked-items"]


FACTS = {
    "ranked-items": ("u,1,2,,1", "v,2,,1,1"),
    "budgets": ("u,1,2,3,1", "v,2,3,1,2"),
    "participation": ("u,1,2,3,1", "v,2,3,1,1"),
}


@pytest.mark.parametrize("fact", FACTS)
def test_what_synthetic_rankings_show_must_be_public_in_the_ledger(
    privrank, write, tmp_path, ledger, fact
):
    """A file that keeps its users shows who took part."""
    votes = write(*FACTS[fact], header="user,a,b,c,e")
    run = ("privatize", votes, "--out", tmp_path / "s.csv", "--public", "ranked-items")
    run = run if fact == "ranked-items" else run[:-2]
    run += ("--epsilon-column", "e") if fact == "budgets" else ("--epsilon", 1, "--ignore", "e")
    run += ("--drop-user",) if fact != "participation" else ()
    refused(privrank(*run, "--ledger", ledger(votes)), "public")
    told = ledger(votes, "--public", fact, name="told.ledger")
    done = privrank(*run, "--ledger", told)
    assert done.code == 0, done.err
    assert [one.privacy.public for one in spends(told)] == [(fact,)]
    assert "may take as public" in privrank("ledger", told).out
    refused(privrank(*run, "--public", "votes", "--force"), "--public")
    if fact == "participation":  # whoever moves one item has taken part
        ranks = ledger(votes, "--unit", "rank", name="ranks.ledger")
        assert privrank(*run, "--force", "--ledger", ranks).code == 0


@pytest.mark.parametrize("unit", ["user", "comparison"])
def test_dropped_ties_count_in_no_ledger(privrank, write, tmp_path, ledger, unit):
    votes, out = write("u,a,b,1", "v,a,b,0", header="user,winner,loser,tie"), tmp_path / "r.csv"
    path = ledger(votes, "--unit", unit, "--adjacency", "flip")
    run = ("privatize", votes, "--epsilon", 1, "--out", out, "--ties")
    refused(privrank(*run, "drop", "--ledger", path), "which answers are ties", "--ties coin")
    assert not out.exists()
    assert privrank(*run, "coin", "--ledger", path).code == 0
    assert "which answers are ties" in privrank(*run, "drop", "--force").out
    making = ("ledger", tmp_path / "ties.ledger", "--data", votes, "--budget 1 --public ties")
    refused(privrank(*making), "which answers are ties")


def test_what_a_user_is_can_not_change_from_release_to_release(privrank, write, ledger):
    """Three hundred rows of one user at the price of one would cost that user 300 epsilon."""
    votes = write(*(f"u,{k},a,b" for k in range(300)), header="user,row,winner,loser")
    run = ("rank", votes, "--epsilon 1 --items a,b,c --ledger")
    by_user, by_row = ledger(votes), ledger(votes, "--user", "row", name="rows.ledger")
    refused(privrank(*run, by_user, "--user", "row"), "column 'row'", "--user")
    assert privrank(*run, by_user, "--max-per-user", 1).code == 0
    assert privrank(*run, by_row, "--user", "row").code == 0
    refused(privrank(*run, by_row, "--max-per-user", 1), "column 'user'")
    assert [one.privacy.users for one in spends(by_row)] == ["column 'row'"]


def test_each_row_a_user_is_said_in_advance(privrank, write, ledger, tmp_path):
    ranks = write("u,1,2", "u2,2,1", header="user,a,b", name="ranks.csv")
    run = ("aggregate", ranks, "--epsilon 1 --method borda --items a,b --user none")
    refused(privrank(*run, "--ledger", ledger(ranks)), "each row")
    rows = ledger(ranks, "--user", "none", name="rows.ledger")
    result = privrank(*run, "--ledger", rows, "--json")
    assert result.code == 0, result.err
    assert result.json()["guarantee"]["users"] == "each row"
    named = ("ledger", tmp_path / "x.ledger", "--data", "coffee", "--budget", 1, "--user", "none")
    refused(privrank(*named), "--user")


def test_items_read_off_the_data_are_public(privrank, votes, ledger):
    run = ("rank", votes, "--epsilon", 1, "--max-per-user", 2, "--ledger")
    strict = ledger(votes, "--public", "none")
    refused(privrank(*run, strict), "it takes as public the list of items", "--items")
    assert privrank(*run, strict, "--items", "a,b,c").code == 0
    flips = ledger(votes, "--public", "none", "--adjacency", "flip", name="flips.ledger")
    assert privrank(*run, flips).code == 0  # whoever answers otherwise keeps the items
    assert privrank(*run, ledger(votes, name="default.ledger")).code == 0


@pytest.mark.parametrize(
    ("command", "source", "lines", "seen"),
    [
        ("aggregate", "wide.csv", ("user,a,b,c", "u,1,2,3", "v,2,1,3"), False),
        ("aggregate", "long.csv", ("user,item,rank", "u,a,1", "u,b,2", "v,a,1", "v,b,2"), True),
        ("rank", "votes.csv", ("user,winner,loser", "u,a,b", "v,c,a"), True),
        ("rank", "orders.csv", ("user,order", "u,a>b>c", "v,b>a>c"), True),
        ("rank", "coffee", (), False),
    ],
)
def test_what_is_said_of_the_items_is_the_same_in_all_places(
    command, source, lines, seen, privrank, write, ledger, tmp_path
):
    """Items read off answers are public, in the guarantee too; those of a form stay whatever is answered."""
    data = write(*lines[1:], header=lines[0], name=source) if lines else source
    known = ("--max-per-user", 3) if command == "rank" and lines else ()
    known = ("--users", 2) if source == "long.csv" else known
    known = ("--method counts --noise laplace",) if source == "coffee" else known
    page, path = tmp_path / "page.html", ledger(data)
    result = privrank(
        command, data, "--epsilon", 1, *known, "--out", page, "--ledger", path, "--json"
    )
    assert result.code == 0, result.err
    document = result.json()
    assert ("items" in document["guarantee"].get("public", ())) is seen
    notes = document["diagnostics"]["notes"]
    assert any("the list of items" in note and "public" in note for note in notes) is seen
    told = " ".join(page.read_text().split())
    assert bool(re.search(r"list of items[^.]* taken as public", told)) is seen
    (one,) = spends(path)
    assert ("items" in one.privacy.public) is seen


@pytest.mark.parametrize(
    ("header", "rows", "seen"),
    [
        ("user,item,rank", ("u,a,1", "u,b,2", "v,a,2", "v,b,1"), True),
        ("user,a,b", ("u,1,2", "v,2,1"), False),
    ],
)
def test_synthetic_rankings_show_the_items_of_whole_users(
    header, rows, seen, privrank, write, tmp_path, ledger
):
    """Were a user replaced by one who ranked other items, the columns of the file would be others."""
    votes, out = write(*rows, header=header), tmp_path / "s.csv"
    run = ("privatize", votes, "--epsilon", 1, "--out", out, "--force", "--json")
    told = privrank(*run).json()["guarantee"]
    assert "public" not in told  # whoever moves one item keeps the items
    assert ("items" in told["also"][0]["public"]) is seen
    strict = ("--ledger", ledger(votes, "--public", "participation"))
    if seen:
        refused(privrank(*run, *strict), "--items")
    listed = privrank(*run, *strict, "--items", "a,b").json()["guarantee"]["also"][0]
    assert "items" not in listed["public"]


def test_who_ranked_nothing_has_no_row_in_a_long_file(privrank, write, ledger):
    rows = [f"u{k},{item},{1 + (k + n) % 3}" for k in range(8) for n, item in enumerate("abc")]
    votes = write(*rows, header="user,item,rank", name="long.csv")
    run = ("aggregate", votes, "--epsilon", 1, "--method", "borda", "--items", "a,b,c", "--json")
    paid = ("--ledger", ledger(votes))
    assert privrank(*run).json()["guarantee"]["public"] == ["participation"]
    refused(privrank(*run, *paid), "which users gave", "--users")
    told = privrank(*run, "--users", 9, *paid).json()
    assert ("public" in told["guarantee"], told["diagnostics"]["users"]) == (False, 9)
    for wrong in (7, 0):
        refused(privrank(*run, "--users", wrong), "--users")

"""``--ignore`` leaves out columns that are no items, in every command that reads a file, before anything is spent."""

from __future__ import annotations

import pytest

from tests.parquet import as_parquet

HEADER = "user,age,Ann,Bo,Cy,precinct"
ROWS = ("u,2,1,2,3,1", "v,3,3,1,2,1", "w,1,2,1,3,2")
SAID = "leave them out by --ignore age --ignore precinct, or list the --items"


@pytest.fixture
def ballots(write):
    path = write(*ROWS, header=HEADER)
    as_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "given", [("--ignore", "age,precinct"), ("--ignore", "Age", "--ignore", "precinct")]
)
def test_a_consensus_without_facts_on_users(privrank, ballots, suffix, given):
    path = ballots.with_suffix(suffix)
    refused = privrank("aggregate", path, "--epsilon", 1)
    assert (refused.code, refused.out) == (2, "")
    assert SAID in refused.err
    found = privrank("aggregate", path, "--epsilon", 1, *given)
    assert found.code == 0, found.err
    assert "items (3): Ann, Bo, Cy\n" in found.err
    assert "columns not used: age, precinct" in found.out


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_synthetic_rankings_without_facts_on_users(privrank, ballots, tmp_path, suffix):
    path, out = ballots.with_suffix(suffix), tmp_path / "out.csv"
    refused = privrank("privatize", path, "--epsilon", 1, "--out", out)
    assert (refused.code, out.exists()) == (2, False)
    assert SAID in refused.err
    found = privrank("privatize", path, "--epsilon", 1, "--ignore", "age,precinct", "--out", out)
    assert found.code == 0, found.err
    assert out.read_text().splitlines()[0] == "user,synthetic_epsilon,Ann,Bo,Cy"


def test_synthetic_rankings_of_an_item_with_such_a_name(privrank, ballots, tmp_path):
    out = tmp_path / "out.csv"
    words = (
        "privatize",
        ballots,
        "--epsilon",
        1,
        "--items",
        "age,Ann,Bo",
        "--ranks",
        "--ties",
        "coin",
    )
    assert privrank(*words, "--out", out).code == 0
    assert privrank("aggregate", out).code == 0


def test_budgets_stand_in_no_items_either(privrank, write, tmp_path):
    path = write("u,1,2,3,0.5", "v,2,1,3,1", header="user,Ann,Bo,wave,eps")
    words = (
        "privatize",
        path,
        "--epsilon-column",
        "Eps",
        "--ignore",
        "wave",
        "--out",
        tmp_path / "o.csv",
    )
    found = privrank(*words)
    assert found.code == 0, found.err
    path = write("u,1,2", "v,2,1", header="user,Ann,Bo")
    refused = privrank(*words[:1], path, *words[2:3], "budget", "--out", tmp_path / "p.csv")
    assert "no column 'budget'" in refused.err
    assert "--ignore budget" not in refused.err


def test_a_ranking_without_a_pair_that_was_asked_twice(privrank, write):
    header = "user,Oslo vs Rome,Rome vs Bonn,Oslo versus Rome"
    path = write("u,Oslo,Rome,Rome", "v,Oslo,Bonn,Rome", header=header)
    words = ("rank", path, "--method", "none", "--json")
    scores = [
        privrank(*words, *more).json()["ranking"] for more in ((), ("--ignore", "Oslo versus Rome"))
    ]
    equal, better = ({one["item"]: one["score"] for one in found} for found in scores)
    assert equal["Oslo"] == pytest.approx(equal["Rome"])
    assert better["Oslo"] > better["Rome"]


def test_orders_and_choices_without_a_column(privrank, write):
    path = write("u,Oslo,Rome,Bonn", "v,Rome,Bonn,Oslo", header="user,rank_1,rank_2,rank_3")
    found = privrank("rank", path, "--method", "none", "--ignore", "rank_3")
    assert "items (3)" in found.err
    path = write("u,Oslo,Oslo|Rome,x", header="user,chosen,shown,options")
    assert privrank("rank", path, "--method", "none").code == 2
    assert privrank("rank", path, "--method", "none", "--ignore", "options").code == 0


@pytest.mark.parametrize("command", ["rank", "aggregate", "privatize"])
def test_a_column_that_is_not_there(privrank, write, tmp_path, command):
    path = write("u,1,2,3", header="user,Ann,Bo,age")
    out = ("--out", tmp_path / "out.csv") if command == "privatize" else ()
    found = privrank(command, path, "--epsilon", 1, "--ignore", "agee", *out)
    assert (found.code, found.out) == (2, "")
    assert "no column 'agee' (did you mean 'age'?); the columns are" in found.err


def test_named_data_have_no_columns_to_ignore(privrank):
    for words in (("rank", "coffee"), ("aggregate", "coffee-rankings")):
        found = privrank(*words, "--epsilon", 1, "--ignore", "age")
        assert found.code == 2
        assert "leave out --ignore" in found.err

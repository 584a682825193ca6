"""``--ignore`` leaves out columns that are no items, in every command that reads a file, before anything is spent."""

from __future__ import annotations

import pytest

HEADER = "user,age,Ann,Bo,Cy,precinct"
ROWS = ("u,2,1,2,3,1", "v,3,3,1,2,1", "w,1,2,1,3,2")
SAID = "leave them out by --ignore age --ignore precinct, or list the --items"


@pytest.fixture
def ballots(write):
    return write(*ROWS, header=HEADER)


@pytest.mark.parametrize(
    "given", [("--ignore", "age,precinct"), ("--ignore", "Age", "--ignore", "precinct")]
)
def test_a_consensus_without_facts_on_users(privrank, ballots, given):
    refused = privrank("aggregate", ballots, "--epsilon", 1)
    assert (refused.code, refused.out) == (2, "")
    assert SAID in refused.err
    found = privrank("aggregate", ballots, "--epsilon", 1, *given)
    assert found.code == 0, found.err
    assert "items (3): Ann, Bo, Cy\n" in found.err
    assert "columns not used: age, precinct" in found.out


def test_synthetic_rankings_of_an_item_with_such_a_name(privrank, ballots, tmp_path):
    out = tmp_path / "out.csv"
    words = ("privatize", ballots, "--epsilon 1 --items age,Ann,Bo --ranks --ties coin")
    assert privrank(*words, "--out", out).code == 0
    assert privrank("aggregate", out).code == 0


def test_budgets_stand_in_no_items_either(privrank, write, tmp_path):
    path = write("u,1,2,3,0.5", "v,2,1,3,1", header="user,Ann,Bo,wave,eps")
    words = ("privatize", path, "--epsilon-column Eps --ignore wave --out", tmp_path / "o.csv")
    found = privrank(*words)
    assert found.code == 0, found.err
    path = write("u,1,2", "v,2,1", header="user,Ann,Bo")
    refused = privrank(*words[:1], path, "--epsilon-column budget", "--out", tmp_path / "p.csv")
    assert "no column 'budget'" in refused.err
    assert "--ignore budget" not in refused.err

"""``--blank`` says which words of ballots name no item; nothing is printed before."""

from __future__ import annotations

import pytest

HEADER = "user,Rank 1,Rank 2,Rank 3"
ROWS = ("u,Ann,Bo,undervote", "v,Bo,overvote,Ann", "w,Ann,write-in,Cy")


@pytest.mark.parametrize("command", ["aggregate", "rank"])
def test_ballots(privrank, write, command):
    path = write(*ROWS, header=HEADER)
    words = (command, path, "--method", "none")
    refused = privrank(*words)
    assert (refused.code, refused.out) == (2, "")
    assert "'overvote' may be a mark rather than an item: say --blank overvote if it" in refused.err
    for given in (("--blank", "overvote,write-in"), ("--blank", "overvote", "--blank", "Write-in")):
        found = privrank(*words, *given)
        assert found.code == 0, found.err
        assert "items (3): Ann, Bo, Cy\n" in found.err
    listed = privrank(*words, "--blank", "overvote", "--items", "Ann,Bo,Cy,write-in")
    assert "items (4): Ann, Bo, Cy, write-in\n" in listed.err


def test_synthetic_ballots(privrank, write, tmp_path):
    path = write("u,Ann,Bo,overvote", "v,Bo,overvote,Ann", header=HEADER)
    words = ("privatize", path, "--epsilon", 1, "--out", tmp_path / "out.csv")
    assert privrank(*words).code == 2
    assert privrank(*words, "--blank", "overvote").code == 0


def test_where_cells_name_no_items(privrank, write):
    wide, votes = write("u,1,2", header="user,a,b", name="wide.csv"), write("u,a,b")
    assert (
        "leave out --blank x" in privrank("aggregate", wide, "--method", "none", "--blank", "x").err
    )
    for more in ((), ("--side", "first")):
        result = privrank("rank", votes, "--method", "none", "--blank", "x", *more)
        assert (result.code, result.out) == (2, "")
        assert "leave out --blank" in result.err

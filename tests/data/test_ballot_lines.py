"""Files of ABIF (.abif) and of the Condorcet Election Format (.cvotes), each in the form of a public example."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from tests.data.files import written

TENNESSEE = """\
# Tennessee, the example of most pages
{title: "Capital of Tennessee"}
=Mem:[Memphis, the "city" #1]
=N:[Nashville]
=C:"Chattanooga"
=K:Knoxville
4:Mem>N>C>K   # remark
2: N > C = K : { "precinct": 51, "county": "Bronx" }
1*[Chattanooga]>K
3:K/5, C/4, N/4, Mem/0
1: N/1 > K/5
2:
0:K
"""
ELECTION = """\
# My election, with "quotes"
#/Candidates: Candidate A ; Candidate B;Candidate C
#/Number of Seats: 42
#/Implicit Ranking: false
#/Weight allowed: false

Candidate A > Candidate B > Candidate C ^7 *2 # a weight that is not allowed counts nothing
julien@condorcet.vote , signature:55073db57b || Candidate C>Candidate X=Candidate B
/EMPTY/ * 2
Candidate B = Candidate C
"""


def test_abif(tmp_path):
    found = pr.read(written(tmp_path, TENNESSEE, "capital.abif"))
    assert found.item_names == ('Memphis, the "city" #1', "Nashville", "Chattanooga", "Knoxville")
    kinds = [[0, 1, 2, 3]] * 4 + [[-1, 0, 1, 1]] * 2 + [[-1, -1, 0, 1]] + [[3, 1, 1, 0]] * 3
    assert found.ranks.tolist() == [*kinds, [-1, 0, -1, 1], *[[-1] * 4] * 2]
    assert (found.missing, found.public, found.notes) == ("last", (), ())
    assert found.users_are == pr.read("coffee-rankings").users_are


def test_items_that_nobody_listed_are_public(tmp_path):
    path = written(tmp_path, "27:A>B=C\n26:B>C,A\n1:[Ann Lee]\n", "short.abif")
    found = pr.read(path)
    assert found.item_names == ("A", "Ann Lee", "B", "C")
    assert found.ranks.tolist()[26:28] == [[0, -1, 1, 1], [1, -1, 0, 1]]
    assert found.public == ("items",)
    assert "treated as public" in found.notes[0]
    listed = pr.read(path, items=["C", "B", "A", "Ann Lee"])
    assert (listed.item_names, listed.public) == (("C", "B", "A", "Ann Lee"), ())


def test_counts_do_what_counts_of_rows_do(tmp_path):
    path = written(tmp_path, "42:M>N>C\n26:N>C=M\n15:C\n", "ballots.abif")
    table = {"order": ["M>N>C", "N>C=M", "C"], "count": ["42", "26", "15"]}
    rows = pr.read(table, user=None, count="count")
    np.testing.assert_array_equal(pr.read(path).ranks, rows.ranks)


def test_cvotes(tmp_path):
    path = written(tmp_path, ELECTION, "election.cvotes")
    found = pr.read(path)
    assert found.item_names == ("Candidate A", "Candidate B", "Candidate C")
    kinds = [[0, 1, 2]] * 2 + [[-1, 1, 0]] + [[-1, -1, -1]] * 2 + [[-1, 0, 0]]
    assert (found.ranks.tolist(), found.missing, found.public) == (kinds, "unknown", ())
    assert pr.read(path, missing="last").missing == "last"
    open_list = ELECTION.replace("#/Candidates", "# Candidates").replace("false", "true")
    found = pr.read(written(tmp_path, open_list.replace(" ^7", ""), "open.cvotes"))
    assert found.item_names == ("Candidate A", "Candidate B", "Candidate C", "Candidate X")
    assert (found.ranks.tolist()[2], found.missing) == ([-1, 1, 0, 1], "last")
    assert found.public == ("items",)


def test_compressed(tmp_path):
    path = written(tmp_path, gzip.compress(TENNESSEE.encode()), "capital.abif.gz")
    plain = written(tmp_path, TENNESSEE, "capital.abif")
    np.testing.assert_array_equal(pr.read(path).ranks, pr.read(plain).ranks)
    assert pr.read(plain).sha256 != pr.read(path).sha256 != ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("4:Mem>N>C>K", "4 Mem>N>C>K", "line 7: .*no line of ABIF"),
        ("4:Mem>N>C>K", "4:Mem>N>C>", "line 7: .*no ballot"),
        ("4:Mem>N>C>K", "4:Mem>>N", "line 7: .*no ballot"),
        ("4:Mem>N>C>K", "4:Mem N", "line 7: .*no ballot"),
        ("4:Mem>N>C>K", "4:Mem*3,N*2", "line 7: .*no ballot"),
        ("4:Mem>N>C>K", "4:Mem>N>Mem", "line 7.*stands twice"),
        ("4:Mem>N>C>K", "4:Mem>Oslo", "line 7.*'Oslo' is not in the list of items"),
        ("4:Mem>N>C>K", "4:Mem/2,N", "line 7: .*without a score"),
        ("4:Mem", "67108864:Mem", "more than this reader accepts"),
        ("[Nashville]", "[A>B]", "has a > or = in its name"),
        ("[Nashville]", "[knoxville]", "named twice"),
    ],
)
def test_faulty_abif_is_refused(tmp_path, old, new, said):
    assert old in TENNESSEE
    with pytest.raises(DataError, match=said):
        pr.read(written(tmp_path, TENNESSEE.replace(old, new, 1), "capital.abif"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("#/Weight allowed: false", "#/Weight Allowed: true", r"line 7: .*weight 7.*write \* 7"),
        (" ^7 *2", " * 8 ^7", r"line 7: .*no ballot: write tags"),
        ("> Candidate B >", "< Candidate B >", "line 7: .*no ballot"),
        ("> Candidate B >", "> > Candidate B >", "line 7: .*no ballot"),
        ("> Candidate B >", "> Candidate A >", "line 7.*stands twice"),
        ("/EMPTY/", "Candidate A > /EMPTY/", "line 9: .*no ballot"),
        ("Candidate B;", "candidate a;", "named twice"),
        ("; Candidate B;Candidate C", "", "at least two"),
    ],
)
def test_faulty_cvotes_are_refused(tmp_path, old, new, said):
    assert old in ELECTION
    with pytest.raises(DataError, match=said):
        pr.read(written(tmp_path, ELECTION.replace(old, new, 1), "election.cvotes"))


@pytest.mark.parametrize("text", ["", "# nothing\n", "0:A>B\n"])
def test_no_ballots(tmp_path, text):
    with pytest.raises(DataError, match="nothing to rank"):
        pr.read(written(tmp_path, text, "none.abif"))


def test_options_of_tables_are_refused(tmp_path):
    path = written(tmp_path, TENNESSEE, "capital.abif")
    with pytest.raises(DataError, match=r"is a list of ballots: leave out count \(--count\)"):
        pr.read(path, count="n")
    with pytest.raises(DataError, match=r"leave out num_users \(--users\)"):
        pr.read(path, num_users=100)


def test_a_consensus_of_ballots(tmp_path):
    data = pr.read(written(tmp_path, "30:A>B>C\n10:C>B>A\n", "ballots.abif"), items=["A", "B", "C"])
    found = pr.consensus(data, pr.Privacy(1000.0, unit="user", adjacency="replace"), method="borda")
    assert found.scores == pytest.approx([1.5, 1.0, 0.5], abs=0.05)

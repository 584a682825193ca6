"""Files of OpaVote (.blt) and Pabulib (.pb), each in the form of a public example."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from privrank_jax.data.rankings import Approvals, Ratings
from tests.data.files import written

CLUB = """\
4 2  # four candidates, two seats
# the second withdrew
-2
3 1 3 4 0
(7-1) 4 1 3 2 0
2 4 1=3 0
1 2 - 0
0
"Adam"
"Basil #1"
"Charlotte"
"Donald"
"A club"
"""


def budget(kind, *votes, header="voter_id;age;vote"):
    lines = ["META", "key;value", f"vote_type;{kind}", "PROJECTS", "project_id;cost;name"]
    lines += ["1;600;Park", "2;400;Bike lane", "9;300;Library", "VOTES", header, *votes]
    return "\n".join(lines) + "\n"


def test_ballots_count_as_often_as_they_weigh(tmp_path):
    found = pr.read(written(tmp_path, CLUB, "club.blt"))
    assert found.item_names == ("Adam", "Charlotte", "Donald")
    kinds = [[0, 1, 2]] * 3 + [[0, 1, -1]] * 4 + [[1, 1, 0]] * 2 + [[-1, -1, -1]]
    assert found.ranks.tolist() == kinds
    assert (found.missing, found.users_are) == ("last", pr.read("coffee-rankings").users_are)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("4 2  #", "four 2  #", "first line"),
        ("3 1 3 4 0", "3 1 3 4", "line 4.*no ballot"),
        ("3 1 3 4 0", "0.5 1 3 4 0", "line 4.*no ballot"),
        ("3 1 3 4 0", "3 1 3 5 0", "line 4.*candidate is '5'"),
        ("3 1 3 4 0", "3 1 3 1 0", "line 4.*candidate 1 stands there twice"),
        ("-2", "-7", "candidate is '7'"),
        ('"Charlotte"\n"Donald"\n"A club"\n', "", "ends before the names"),
        ('"Charlotte"', '"adam"', "twice"),
        ("-2", "-2 -3 -4", "two items"),
    ],
)
def test_a_faulty_election_is_refused(tmp_path, old, new, said):
    assert old in CLUB
    with pytest.raises(DataError, match=said):
        pr.read(written(tmp_path, CLUB.replace(old, new, 1), "club.blt"))


def test_votes_of_a_budget_are_what_their_type_says(tmp_path):
    path = written(tmp_path, budget("approval", "a;34;1,9", "b;51;"), "approval.pb")
    found = pr.read(path)
    assert isinstance(found, Approvals)
    assert found.item_names == ("Park", "Bike lane", "Library")
    assert found.ratings.tolist() == [[1, 0, 1], [0, 0, 0]]
    found = pr.read(written(tmp_path, budget("ordinal", "a;34;9,1", "b;51;2"), "ordinal.pb"))
    assert found.ranks.tolist() == [[1, -1, 0], [-1, 0, -1]]
    votes = ("a;1,9;3,2", "b;2;5")
    text = budget("cumulative", *votes, header="voter_id;vote;points")
    found = pr.read(written(tmp_path, text, "points.pb"))
    assert isinstance(found, Ratings)
    np.testing.assert_array_equal(found.ratings, [[3, 0, 2], [0, 5, 0]])


@pytest.mark.parametrize(
    ("kind", "votes", "said"),
    [
        ("choose", ("a;30;1",), "vote_type 'choose'"),
        ("approval", (), "VOTES"),
        ("approval", ("a;30;4",), "line 11.*no project '4'"),
        ("approval", ("a;30;1", "a;31;2"), "line 12.*two rows"),
        ("approval", ("a;30;1,1",), "line 11.*twice"),
        ("scoring", ("a;30;1",), "line 11.*whole points"),
    ],
)
def test_a_faulty_budget_is_refused(tmp_path, kind, votes, said):
    with pytest.raises(DataError, match=said):
        pr.read(written(tmp_path, budget(kind, *votes), "budget.pb"))

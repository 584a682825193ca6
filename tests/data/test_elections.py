"""Files of OpaVote (.blt), Pabulib (.pb), PrefLib and Kamishima (.order), each in the form of a public example."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Approvals, DataError, Rankings, Ratings
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


HEAD = """# FILE NAME: votes.toi
# TITLE: Small: three
# DATA TYPE: toi
# NUMBER ALTERNATIVES: 3
# NUMBER VOTERS: 6
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: Ann
# ALTERNATIVE NAME 2: Bob: the elder
# ALTERNATIVE NAME 3: Cy, junior
"""
NEW = HEAD + "3: 2,1,3\n2: {1,3},2\n1: 3\n"
RANKS = [[1, 0, 2]] * 3 + [[0, 2, 0]] * 2 + [[-1, -1, 0]]


@pytest.mark.parametrize(
    "content",
    [
        NEW,
        "\ufeff" + NEW,
        NEW.replace("\n", "\r\n"),
        NEW.replace("\n", "\n\n"),
        NEW.replace(",", " , ").replace("{", " { ").replace("Cy ,  ", "Cy, "),
        NEW.replace("# ", "#"),
        "".join(line + "\n" for line in NEW.splitlines() if "NUMBER" not in line and "DATA" not in line),
    ],
)  # fmt: skip
def test_files_of_preflib(tmp_path, content):
    table = pr.read(written(tmp_path, content, "votes.toi"))
    assert table.ranks.tolist() == RANKS
    assert table.item_names == ("Ann", "Bob: the elder", "Cy, junior")
    assert (table.num_users, table.missing, table.tied, table.complete) == (6, "last", True, False)


@pytest.mark.parametrize(
    ("old", "new", "name", "message"),
    [
        ("2: {1,3},2", "2: {1,4},2", "", "votes.toi, line 11: alternative is '4'"),
        ("2: {1,3},2", "2: {1,3},1", "", "line 11: alternative 1 stands there twice"),
        ("2: {1,3},2", "-2: {1,3},2", "", "line 11: the count of an order is '-2'"),
        ("2: {1,3},2", "0: {1,3},2", "", "line 11: .* is '0': write a whole number from 1"),
        ("2: {1,3},2", "2: {1,3,2", "", "line 11: .* is not an order"),
        ("2: {1,3},2", "2: ١,2", "", "is not an order"),
        ("VOTERS: 6", "VOTERS: 7", "", "line 5: 7 voters are stated, 6 are there"),
        ("ORDERS: 3", "ORDERS: 4", "", "line 6: 4 unique orders are stated, 3 are there"),
        ("ALTERNATIVES: 3", "ALTERNATIVES: 4", "", "line 4: 4 alternatives are stated, 3 are there"),
        ("VOTERS: 6", "VOTERS: many", "", "NUMBER VOTERS is 'many': write a whole number"),
        ("NAME 3:", "NAME 2:", "", "must number"),
        ("NAME 3: Cy, junior", "NAME 3: ann ", "", "twice"),
        ("3: 2,1,3\n2: {1,3},2\n1: 3\n", "", "", "0 ballots of 3 items"),
        ("TYPE: toi", "TYPE: soi", "votes.soi", "line 11: .soi"),
        ("TYPE: toi", "TYPE: toc", "votes.toc", "line 12: .toc"),
        ("# ", "", "", "line 1: .* is not an order"),
        (NEW, "", "", "must number"),
    ],
)  # fmt: skip
def test_a_faulty_file_of_preflib_is_refused(tmp_path, old, new, name, message):
    assert old in NEW
    with pytest.raises(DataError, match=message):
        pr.read(written(tmp_path, NEW.replace(old, new), name or "votes.toi"))


def test_too_many_voters_are_refused_before_they_are_counted_out(tmp_path):
    text = "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n999999999: 1,2\n"
    with pytest.raises(DataError, match="more than"):
        pr.read(written(tmp_path, text, "votes.soc"))


def test_the_order_files_of_sushi(tmp_path):
    text = "10 1\n0 10 5 0 3 4 6 9 8 1 7 2\n0 10 0 9 6 3 7 2 8 1 5 4\n"
    table = Rankings.read(written(tmp_path, text, "sushi3a.order"))
    # Ids of set A: 5 is salmon roe, 6 egg; the first row begins with salmon roe and shrimp.
    assert table.item_names[5:7] == ("salmon roe", "egg")
    assert table.ranks[0].tolist() == [1, 7, 9, 2, 3, 0, 4, 8, 6, 5]
    assert (table.missing, table.complete) == ("last", True)


def test_items_of_set_b_are_named_by_their_ids(tmp_path):
    table = Rankings.read(written(tmp_path, "12 1\n0 2 11 3\n0 2 0 1\n", "sushi3b.order"))
    assert table.item_names[11] == "item 11"
    assert (table.missing, table.ranks[0, 11], table.ranks[0, 3]) == ("unknown", 0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10 1\n0 10 0 1 2 3 4 5 6 7 8 8\n", "line 2"),
        ("10 1\n0 10 0 1 2 3 4 5 6 7 8 10\n", "line 2"),
        ("10 1\n0 2 0 1\n0 3 0 1 2\n", "line 3"),
        ("10 1\n", "0 ballots of 10 items"),
        ("many 1\n0 1 1\n", "line 1"),
    ],
)
def test_order_file_refusals(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        Rankings.read(written(tmp_path, text, "sushi3a.order"))

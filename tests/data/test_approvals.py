from __future__ import annotations

import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from privrank_jax.data.rankings import Approvals
from tests.parquet import as_parquet


def test_words_of_approval_are_read_in_any_case(write):
    yes, no = ("1", "x", "YES", "true", "✓", "Approve"), ("", "0", "No", "false", "✗", "NA")
    rows = [f"u{k},{one},{other}" for k, (one, other) in enumerate(zip(yes, no))]
    path = write(*rows, header="user,Tea,Milk", name="approvals.csv")
    for found in (pr.read(path, cells="approvals"), pr.read(as_parquet(path), cells="approvals")):
        assert isinstance(found, Approvals)
        assert found.ratings.tolist() == [[0.0, 1.0]] * len(rows)  # Milk, Tea
        assert found.scale.tolist() == [1.0, 0.0]


def test_the_scale_is_public_whatever_was_said(write):
    path = write("u1,x,x", "u2,x,x", header="user,Tea,Milk", name="approvals.csv")
    assert pr.read(path, cells="approvals").scale.tolist() == [1.0, 0.0]


def test_a_row_for_each_user_and_item(write):
    path = write(
        "u1,Tea,yes", "u1,Milk,no", "u2,Milk,yes", header="user,item,rank", name="long.csv"
    )
    found = pr.read(path, cells="approvals")
    assert found.item_names == ("Milk", "Tea")
    assert [[int(x == 1) for x in row] for row in found.ratings] == [[0, 1], [1, 0]]


def test_other_words_are_refused(write):
    path = write("u1,perhaps,x", header="user,Tea,Milk", name="approvals.csv")
    with pytest.raises(DataError, match="'perhaps' does not say whether the user approves"):
        pr.read(path, cells="approvals")


LISTS = ('u1,"Tea, Milk"', "u2,Milk", "u3,", 'u4,"Milk, Tea, Water"', "u5,Water", 'u6,"Water, Tea"')


@pytest.mark.parametrize("options", [{}, {"order": "Which do you like?"}])
def test_a_column_of_lists_of_what_users_approve_of(write, options):
    """The only column beside the users, or the one that is named; whoever names nothing approves of nothing."""
    path = write(*LISTS, header="user,Which do you like?", name="lists.csv")
    for source in (path, as_parquet(path)):
        found = pr.read(source, cells="approvals", **options)
        assert isinstance(found, Approvals)
        assert found.item_names == ("Milk", "Tea", "Water")
        assert found.ratings.tolist() == [
            [1, 1, 0],
            [1, 0, 0],
            [0, 0, 0],
            [1, 1, 1],
            [0, 0, 1],
            [0, 1, 1],
        ]
        assert "items" in found.public
        assert any("in any order" in note for note in found.notes)


def test_lists_with_a_public_list_of_items_counts_and_another_separator(write):
    path = write("Tea/Milk,3", "Milk,2", header="choices,count", name="lists.csv")
    items = ["Water", "Milk", "Tea"]
    asked = {"user": None, "count": "count", "order_separator": "/", "items": items}
    found = pr.read(path, cells="approvals", **asked)
    assert found.item_names == tuple(items)
    assert found.ratings.tolist() == [[0, 1, 1]] * 3 + [[0, 1, 0]] * 2
    assert "items" not in found.public


def test_an_item_that_one_user_alone_approves_of_is_not_published(write):
    path = write(
        'u1,"Tea, Milk"', 'u2,"Milk, Tea"', "u3,My own", header="user,choices", name="l.csv"
    )
    data = pr.read(path, cells="approvals", order_separator=",")
    assert data.rare_items == ("My own",)
    with pytest.raises(ValueError, match=r"one user alone ranked 'My own'.*--items"):
        pr.consensus(data, pr.Privacy(1.0, unit="user", adjacency="replace"))


@pytest.mark.parametrize(
    ("rows", "header", "said"),
    [
        (('u1,"Tea, Tea"', 'u2,"Tea, Milk"'), "user,choices", "stands twice"),
        (('u1,"Tea, Milk"', 'u2,"Milk, TEA"'), "user,choices", "differ only by blanks or case"),
        (("u1,Tea,x", "u2,Milk,x"), "user,rank_1,rank_2", "leave out .*approvals"),
    ],
)
def test_lists_that_are_refused(write, rows, header, said):
    path = write(*rows, header=header, name="lists.csv")
    with pytest.raises(DataError, match=said):
        pr.read(path, cells="approvals", order_separator="," if "choices" in header else None)

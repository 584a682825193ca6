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

"""Columns of choices by their names, and the items of a cell."""

from __future__ import annotations

import pytest

from privrank_jax.data.errors import BadCell
from privrank_jax.data.shapes import ChoiceColumns, choice_columns, shown_items


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (["user", "chosen", "shown"], ("chosen", ("shown",))),
        (["Choice", "Options", "when"], ("Choice", ("Options",))),
        (["chosen", "shown_1", "shown_2"], ("chosen", ("shown_1", "shown_2"))),
        (
            ["picked", "Alternative 1", "Alternative 2"],
            ("picked", ("Alternative 1", "Alternative 2")),
        ),
        (["chosen", "rejected", "prompt"], None),
        (["winner", "loser"], None),
        (["chosen", "choice", "shown"], None),
        (["chosen", "shown_1"], None),
    ],
)
def test_usual_names(header, expected):
    assert choice_columns(header) == (expected and ChoiceColumns(*expected))


def test_given_names_come_first():
    header = ["user", "chosen", "Y", "shown", "a", "b"]
    assert choice_columns(header, "y", ["a", "b"]) == ChoiceColumns("Y", ("a", "b"))
    assert choice_columns(header, shown=["a", "b"]) == ChoiceColumns("chosen", ("a", "b"))


def test_items_of_a_row():
    assert shown_items(["a|b | c"]) == ["a", "b", "c"]
    assert shown_items(["a; b"]) == ["a", "b"]
    assert shown_items(["a, b|c"]) == ["a, b", "c"]
    assert shown_items(["a|b", "c", " "]) == ["a|b", "c"]
    for cells in (["a"], ["a", ""], [None], [""]):
        with pytest.raises(BadCell, match="fewer than two"):
            shown_items(cells)
    with pytest.raises(BadCell, match="'a' is shown twice"):
        shown_items(["a|b|a"])

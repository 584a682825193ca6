from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_comparisons

HEADER = "user,winner,loser,tie,left,length,judge,winner_words,loser_words"
ROWS = [
    "u1,b,a,0,b,2.5,crowd,30,10",
    "u1,a,b,0,b,-1,expert,5,7",
    "u2,c,a,1,a,0.5,crowd,9,9",
    "u3,b,c,0,b,1,expert,1,2",
]


LENGTH = {"side": "left", "covariates": ("length",)}


def read(tmp_path, rows=ROWS, header=HEADER, **settings):
    path = tmp_path / "battles.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return read_comparisons(path, **settings)


def test_the_item_of_the_side_is_first_and_numbers_are_its_own(tmp_path):
    found = read(tmp_path, covariates=("length", "words"), side="left")
    assert found.covariates.first.tolist() == [1, 1, 0, 1]  # b, b, a, b
    assert found.covariates.second.tolist() == [0, 0, 2, 2]
    assert found.covariates.values["length"].tolist() == [2.5, -1, 0.5, 1]
    assert found.covariates.values["words"].tolist() == [20, 2, 0, -1]
    assert found.covariates.values["left"].tolist() == [1, 1, 1, 1]
    table = read(tmp_path, side="left").covariate_table()
    assert table.outcomes.tolist() == [1, 0, 0.5, 1]
    assert table.design.names == ("left",)
    assert table.design.users.tolist() == [0, 0, 1, 2]
    assert found.notes[-1] == "columns not used: judge"
    assert "not shown" in repr(found)


def test_a_flipped_outcome_leaves_the_design_as_it_is(tmp_path):
    """Whatever is read: the winner and the loser change places, with their words."""
    settings = {"covariates": ("length", "words"), "side": "left", "covariate_group": "judge"}
    before = read(tmp_path, **settings)
    flipped = [ROWS[0], "u1,b,a,0,b,-1,expert,7,5", *ROWS[2:]]
    after = read(tmp_path, flipped, **settings)
    np.testing.assert_array_equal(before.covariates.first, after.covariates.first)
    for name, column in before.covariates.values.items():
        np.testing.assert_array_equal(column, after.covariates.values[name])
    assert before.winners.tolist() != after.winners.tolist()


def test_a_difference_of_nothing_has_no_sign_that_tells_who_won(tmp_path):
    """-0 prints and divides unlike 0."""
    for row in ("u2,c,a,0,a,0,crowd,9,9", "u2,a,c,0,a,0,crowd,9,9"):
        found = read(tmp_path, [*ROWS, row], covariates=("length", "words"), side="left")
        assert not np.signbit([column[-1] for column in found.covariates.values.values()]).any()


def test_without_a_side_the_order_of_items_decides(tmp_path):
    found = read(tmp_path, covariates=("words",))
    assert found.covariates.first.tolist() == [0, 0, 0, 1]
    assert found.covariates.values["words"].tolist() == [-20, -2, 0, -1]


def test_groups_have_their_own_advantage(tmp_path):
    found = read(tmp_path, side="left", covariate_group="judge")
    assert {name: column.tolist() for name, column in found.covariates.values.items()} == {
        "left, crowd": [1, 0, 1, 0],
        "left, expert": [0, 1, 0, 1],
    }


def test_a_blank_side_is_neutral(tmp_path):
    rows = [*ROWS[:3], "u3,c,b,0,,1,expert,1,2"]
    found = read(tmp_path, rows, side="left")
    assert found.covariates.values["left"].tolist() == [1, 1, 1, 0]
    assert (found.covariates.first[3], found.covariates.second[3]) == (1, 2)
    with pytest.raises(
        DataError, match=r"line 5, column 'length': which item was shown first is blank"
    ):
        read(tmp_path, rows, covariates=("length",), side="left")


@pytest.mark.parametrize(
    ("changed", "settings", "message"),
    [
        (None, {"covariates": ("length",)}, "column 'length'.*`side`"),
        (None, {"covariate_group": "judge"}, "judges.*`side`"),
        (None, {"covariates": ("width",), "side": "left"}, "no column 'width'"),
        (None, {"side": "winner"}, "'winner' has two roles"),
        ("u3,b,c,0,a,1,expert,1,2", {"side": "left"}, "line 5, column 'left': 'a' is neither of the two"),
        ("u3,b,c,0,b,nan,expert,1,2", LENGTH, "line 5, column 'length': 'nan' is not"),
        ("u3,b,c,0,b,1,expert,x,2", {"covariates": ("words",)}, "column 'winner_words': 'x' is not a"),
        ("u3,b,c,0,b,1,,1,2", {"side": "left", "covariate_group": "judge"}, "column 'judge': blank"),
    ],
)  # fmt: skip
def test_what_can_not_be_read_is_refused_with_its_place(changed, settings, message, tmp_path):
    rows = ROWS if changed is None else [*ROWS[:3], changed]
    with pytest.raises(DataError, match=message):
        read(tmp_path, rows, **settings)


def test_groups_beyond_a_number_are_refused(tmp_path):
    rows = [f"u{k},b,a,0,b,1,g{k},1,2" for k in range(201)]
    with pytest.raises(DataError, match="more than 200 groups"):
        read(tmp_path, rows, side="left", covariate_group="judge")

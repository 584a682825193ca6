"""What the holder of the data is told: a delta that protects nobody, and items that one user alone named."""

from __future__ import annotations

import json

import pytest

from tests.parquet import as_parquet
from tests.quick import thorough

VOTES = ["user,winner,loser,when"] + [f"u{k // 2},{'ab'[k % 2]},c,2024-01-01" for k in range(20)]
CHOICES = ["user,chosen,shown"] + [f"u{k // 2},{'ab'[k % 2]},a|b|c" for k in range(20)]
BALLOTS = ["user,a,b,c"] + [f"u{k},{1 + k % 2},{2 - k % 2},3" for k in range(10)]
GAUSSIAN = ("--noise", "gaussian", "--max-per-user", 2)
BOARD = ("--every day --time when --start 2024-01-01 --steps 3 --until 2024-01-03",)


@pytest.mark.parametrize(
    ("command", "rows", "options", "units"),
    [
        ("rank", VOTES, (*GAUSSIAN, "--method", "counts"), 10),
        thorough("rank", VOTES, GAUSSIAN, 10),
        ("rank", CHOICES, ("--method counts --noise gaussian --unit comparison",), 20),
        ("leaderboard", VOTES, (*GAUSSIAN, *BOARD), 10),
        ("aggregate", BALLOTS, ("--noise", "gaussian"), 10),
        thorough("aggregate", BALLOTS, ("--trust", "shuffled"), 10),
    ],
)
def test_a_delta_of_1_over_the_units_is_told_to_the_holder_alone(
    privrank, tmp_path, command, rows, options, units
):
    path, more = tmp_path / "votes.csv", ("--simulate", "--seed", 1, "--json")
    path.write_text("\n".join(rows) + "\n")
    for delta, warned in ((1 / units, True), (0.99 / units, False)):
        result = privrank(command, path, "--epsilon", 1, *options, "--delta", delta, *more)
        said = " ".join(result.err.split())
        unit = "user" if units == 10 else "comparison"
        assert ("1 over the number" in said) == warned, said
        assert (f"number of {unit}s, {units}:" in said) == warned, said
        assert "1 over" not in json.dumps(result.json())


def test_of_no_comparisons_none_is_unprotected(privrank, write):
    """Users who ranked one item each compare nothing; what is published is then noise."""
    path = write("u,A,", "v,B,", header="user,rank_1,rank_2")
    run = ("rank", path, "--unit", "comparison", "--epsilon", 1, "--items", "A,B", *GAUSSIAN[:2])
    result = privrank(*run, "--delta", 1e-6, "--method", "counts")
    assert (result.code, "1 over the number" in result.err) == (0, False)


# --- items that one user named ---------------------------------------------------------------------

WRITTEN = {
    "orders": ("user,order", "u,a>b", "v,b>a", "w,a>mine"),
    "topics": ("user,order", "u,a;b;", "v,b;a;", "w,a;mine;"),
    "places": ("user,rank_1,rank_2", "u,a,b", "v,b,a", "w,a,mine"),
    "long": ("user,item,rank", "u,a,1", "u,b,2", "v,a,1", "v,b,2", "w,mine,1"),
}
COMMANDS = {
    "aggregate": (),
    "privatize": ("--public", "ranked-items"),
    "rank": ("--max-per-user", 1, "--order-separator", ";"),
}


@pytest.mark.parametrize(
    ("command", "form", "parquet"),
    [
        ("aggregate", "orders", False),
        ("aggregate", "long", True),
        ("privatize", "places", False),
        ("privatize", "long", True),
        ("rank", "topics", False),
    ],
)
def test_an_item_that_one_user_wrote_is_not_published(
    privrank, write, tmp_path, command, form, parquet
):
    header, *rows = WRITTEN[form]
    path = write(*rows, header=header)
    path, out = as_parquet(path) if parquet else path, tmp_path / "out.csv"
    run = (command, path, "--epsilon", 1, *COMMANDS[command])
    run += ("--out", out) if command == "privatize" else ()
    refused = privrank(*run)
    assert (refused.code, refused.out) == (2, "")
    assert "'mine'" in refused.err
    assert "--items" in refused.err
    assert not out.exists()
    listed = privrank(*run, "--items", "a,b,mine")
    assert listed.code == 0, listed.err


@pytest.mark.parametrize(
    ("header", "rows", "options"),
    [
        ("user,winner,loser", ("u,a,b", "v,b,a", "w,a,mine"), ()),
        ("winner,loser", ("a,b", "b,a", "a,mine"), ("--unit", "comparison")),
        thorough("user,chosen,shown", ("u,a,a|b", "v,b,a|b", "w,a,a|mine|b"), ()),
        ("user,a,b,c", ("u,1,2,3", "v,2,1,3", "w,1,,"), None),
    ],
)
def test_an_item_that_one_user_was_shown_is_named_in_a_warning(
    privrank, write, header, rows, options
):
    command = "aggregate" if options is None else "rank"
    run = (command, write(*rows, header=header), *(options or ()))
    result = privrank(*run, "--epsilon", 1)
    assert result.code == 0, result.err
    assert ("'mine'" in result.err) == (options is not None)
    assert "rows of one user" not in result.out
    for more in (("--epsilon", 1, "--items", "a,b,mine"), ("--method", "none")):
        assert options is None or "'mine'" not in privrank(*run, *more).err

"""Items that one user alone named: what the commands do before anything is spent."""

from __future__ import annotations

import pytest

from tests.parquet import as_parquet

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
        ("user,chosen,shown", ("u,a,a|b", "v,b,a|b", "w,a,a|mine|b"), ()),
        ("user,a,b", ("u,1,2", "v,2,1", "w,1,"), None),
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
    assert "one user" not in result.out
    for more in (("--epsilon", 1, "--items", "a,b,mine"), ("--method", "none")):
        assert options is None or "'mine'" not in privrank(*run, *more).err

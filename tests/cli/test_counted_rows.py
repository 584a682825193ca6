"""Rows that count several times, and items that one user named: what the commands do before anything is spent."""

from __future__ import annotations

import json

import pytest

from tests.data.votes import WINNERS, longer
from tests.parquet import as_parquet

SEEDED = ("--simulate", "--seed", 3, "--json")
WIDE = "n,a,b,c\n2,1,2,3\n0,3,2,1\n3,2,1,3\n1,1,1,3\n"
PLACES = "n,rank_1,rank_2\n2,a,b\n0,d,a\n3,b,a\n2,c,b\n"
EACH = [
    ("rank", WINNERS, ("--epsilon", 1, "--max-per-user", 2, *SEEDED)),
    ("rank", PLACES, ("--user", "none", "--epsilon", 1, "--max-per-user", 1, *SEEDED)),
    ("aggregate", WIDE, ("--user", "none", "--epsilon", 1, *SEEDED)),
]


def told(result):
    """What was released, without what it says of counts and of what a user is."""
    document = result.json()
    guarantee = document["guarantee"] or {}
    for word in ("users", "statement", "text", "words"):
        guarantee.pop(word, None)
    document["diagnostics"].pop("notes")
    return document


@pytest.mark.parametrize("parquet", [False, True])
@pytest.mark.parametrize(("command", "text", "options"), EACH)
def test_a_counted_file_is_the_longer_file(privrank, tmp_path, command, text, options, parquet):
    paths = []
    for folder, content in (("counted", text), ("longer", longer(text))):
        path = tmp_path / folder / "votes.csv"
        path.parent.mkdir()
        path.write_text(content, encoding="utf-8")
        paths.append(as_parquet(path) if parquet and folder == "counted" else path)
    found = privrank(command, paths[0], *options, "--count", "n")
    assert found.code == 0, found.err
    expected = privrank(command, paths[1], *options)
    assert expected.code == 0, expected.err
    same = json.dumps(told(found)).replace("votes.parquet", "votes.csv")
    assert same == json.dumps(told(expected))
    refused = privrank(command, paths[0], *options)
    assert refused.code == 2
    assert "column 'n' looks like how often a row counts" in refused.err
    assert "say --count n" in " ".join(refused.err.split())


# --- items that one user named

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
    path = as_parquet(path) if parquet else path
    options = COMMANDS[command]
    out = ("--out", tmp_path / "out.csv") if command == "privatize" else ()
    refused = privrank(command, path, "--epsilon", 1, *options, *out)
    assert (refused.code, refused.out) == (2, "")
    assert "one user alone ranked 'mine'" in refused.err
    assert "by --items" in " ".join(refused.err.split())
    assert not (tmp_path / "out.csv").exists()
    listed = privrank(command, path, "--epsilon", 1, *options, *out, "--items", "a,b,mine")
    assert listed.code == 0, listed.err
    if command == "aggregate":
        assert privrank(command, path, "--method", "none").code == 0


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
    path = write(*rows, header=header)
    command = "aggregate" if options is None else "rank"
    result = privrank(command, path, "--epsilon", 1, *(options or ()))
    assert result.code == 0, result.err
    warned = "'mine': in the rows of one user only" in " ".join(result.err.split())
    assert warned == (options is not None)
    assert "in the rows of one" not in result.out
    if options is not None:
        listed = privrank(command, path, "--epsilon", 1, *options, "--items", "a,b,mine")
        assert "in the rows of one" not in listed.err
        assert "in the rows of one" not in privrank(command, path, "--method", "none", *options).err

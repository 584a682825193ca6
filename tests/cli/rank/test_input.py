"""``privrank rank``: what it reads, and what it refuses."""

from __future__ import annotations

import pytest

from tests.cli.results import items, lines_said

# --- columns and files


def test_columns_by_other_names(privrank, write):
    path = write("x,a,b,1", "y,b,c,0", header="judge,better,worse,draw")
    run = (
        "rank",
        path,
        "--epsilon 900 --user judge --winner better --loser worse --method counts --json",
    )
    refused = privrank(*run)
    assert refused.code == 2
    assert (
        "--column tie=draw" in refused.err
    )  # a column of ties under another name is not passed over
    scores = {r["item"]: r["score"] for r in privrank(*run, "--tie", "draw").json()["ranking"]}
    assert scores == {"a": 0.5, "b": 1.5, "c": 0.0}
    scores = {r["item"]: r["score"] for r in privrank(*run, "--tie", "none").json()["ranking"]}
    assert scores == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_a_file_without_users_serves_single_comparisons(privrank, write):
    path = write("a,b", "b,c", header="winner,loser")
    result = privrank("rank", path, "--epsilon", 1)
    assert result.code == 2
    assert "--user none" in result.err
    refused = privrank("rank", path, "--epsilon", 1, "--user", "none")
    assert refused.code == 2
    assert "--unit comparison" in refused.err
    assert privrank("rank", path, "--epsilon", 1, "--unit", "comparison").code == 0


def test_items_from_a_file(privrank, write, tmp_path):
    path = write("u1,a,b")
    listed = tmp_path / "items.txt"
    listed.write_text("a\n\nb\nzebra\n", encoding="utf-8")
    run = ("rank", path, "--method", "counts", "--epsilon", 900, "--items", listed, "--json")
    document = privrank(*run).json()
    assert items(document) == ["a", "b", "zebra"]
    assert privrank("rank", path, "--epsilon", 1, "--items", tmp_path / "no.txt").code == 2


# --- refusals


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--epsilon is missing"),
        (("--epsilon", 0), "--epsilon must be positive"),
        (("--epsilon", -1), "--epsilon must be positive"),
        (("--epsilon", "nan"), "--epsilon must be positive"),
        (("--epsilon", "inf"), "--epsilon must be a positive number"),
        (("--epsilon", 1e-12), "noise alone"),
        (("--epsilon", 1, "--delta", 1), "--delta must be"),
        (("--epsilon", 1, "--delta", -0.1), "--delta must be"),
        (("--epsilon", 1, "--method", "count"), "did you mean 'counts'"),
        (("--epsilon", 1, "--unit", "voter"), "--unit 'voter' is unknown"),
        (("--epsilon", 1, "--adjacency", "flips"), "did you mean 'flip'"),
        (("--epsilon", 1, "--link", "probit"), "--link must be one of"),
        (("--epsilon", 1, "--method", "scores", "--link", "normal"), "Use the logistic or the laplace link"),
        (("--epsilon", 1, "--method", "scores", "--adjacency", "flip", "--gamma", 0), "--gamma must be positive"),
        (("--epsilon", 1, "--gamma", -1), "--gamma must be finite and at least 0"),
        (("--epsilon", 1, "--method", "one-shot"), "--top-k"),
        (("--epsilon", 1, "--delta", 0.01), "say --noise gaussian; or leave delta out"),
        (("--epsilon", 1, "--noise", "gaussian"), "--noise gaussian needs a --delta above 0"),
        (("--epsilon", 1, "--noise", "uniform"), "--noise must be one of 'k-norm', 'laplace', 'gaussian'"),
        (("--method", "none", "--noise", "uniform"), "--noise must be one of 'k-norm', 'laplace', 'gaussian'"),
        (
            ("--epsilon", 1, "--method", "one-shot", "--top-k", 2, "--noise", "gaussian", "--delta", 0.01),
            "leave --noise and delta out",
        ),
        (("--epsilon", 1, "--top-k", 4), "more than there are items"),
        (("--epsilon", 1, "--top-k", 0), "--top-k must be at least 1"),
        (("--epsilon", 1, "--level", 1), "--level must lie between"),
        (("--epsilon", 1, "--seed", 1), "add --simulate"),
        (("--epsilon", 1, "--seed", -1, "--simulate"), "--seed must lie between"),
        (("--epsilon", 1, "--max-per-user", 0), "--max-per-user must be positive"),
        (("--epsilon", 1, "--unit", "comparison", "--max-per-user", 2), "needs --unit user"),
        (("--epsilon", 1, "--winner", "winer"), "no column 'winer' (did you mean 'winner'?)"),
        (("--epsilon", 1, "--items", "a,b,A"), "named twice"),
        (("--epsilon", 1, "--items", "a,b"), "not in the list of items"),
        (("--epsilon", 1, "--items", "a"), "at least two items"),
    ],
)  # fmt: skip
def test_refusals(privrank, votes, options, message):
    bound = () if "--max-per-user" in options or "--unit" in options else ("--max-per-user", 2)
    result = privrank("rank", votes, *options, *bound)
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert "Traceback" not in result.err
    assert len([line for line in lines_said(result) if "items (" not in line]) == 1


@pytest.mark.parametrize(
    ("lines", "header", "message"),
    [
        ((), "user,winner,loser", "no rows below its header"),
        (("u1,a,b", "u2,A,b"), "user,winner,loser", "named twice"),
        (("u1,a,a",), "user,winner,loser", "compared with itself"),
        (("u1,a,",), "user,winner,loser", "the item is missing"),
        (("u1,a,b",), "voter,winner,loser", "no column 'user'"),
        (("u1,a,b,maybe",), "user,winner,loser,tie", "does not say whether it is a tie"),
    ],
)
def test_files_that_are_refused(privrank, write, lines, header, message):
    result = privrank("rank", write(*lines, header=header), "--epsilon", 1)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


def test_a_user_over_the_bound_is_refused_with_the_way_out(privrank, votes):
    result = privrank("rank", votes, "--epsilon", 1)
    assert (result.code, result.out) == (2, "")
    assert "gave more than 1 comparison, " in result.err
    assert "choose one by --max-per-user, without looking at the data" in result.err


def test_no_such_file_or_data_set(privrank, tmp_path):
    result = privrank("rank", tmp_path / "no.csv", "--epsilon", 1)
    assert result.code == 2
    assert "no such file" in result.err
    result = privrank("rank", "cemsp", "--epsilon", 1)
    assert result.code == 2
    assert "did you mean 'cemspc'" in result.err
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "is empty" in privrank("rank", empty, "--epsilon", 1).err
    assert "leave out --user" in privrank("rank", "cemspc", "--user", "u", "--epsilon", 1).err


GAUSSIAN = ("--epsilon", 1, "--noise", "gaussian", "--delta", "1e-6", "--max-per-user", 4)


@pytest.mark.parametrize("method", [("--method", "counts"), ("--adjacency", "flip")])
def test_a_bound_for_each_item_lowers_gaussian_noise(privrank, write, method):
    rows = [f"u{n},{a},{b}" for n in range(40) for a, b in ("ab", "cd", "ac", "bd", "ab")]
    path = write(*rows)
    wide = privrank("rank", path, *GAUSSIAN, *method, "--json").json()["diagnostics"]
    result = privrank("rank", path, *GAUSSIAN, *method, "--max-per-item", 1, "--json")
    narrow = result.json()["diagnostics"]
    assert narrow["max_per_item"] == 1
    assert narrow["sensitivity"] == pytest.approx(8**0.5)
    assert narrow["noise_scale"] == pytest.approx(wide["noise_scale"] / 2, rel=1e-3)
    # One pairing of four items has two rows: three of five are left out.
    assert "120 of 200 comparisons were left out" in " ".join(result.err.split())
    again = ("rank", path, *GAUSSIAN, *method, "--max-per-item", 1, "--simulate", "--seed", 5)
    assert privrank(*again).out == privrank(*again).out


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--method", "counts", "--noise", "laplace"),
        ("--method", "none"),
        ("--method", "counts", "--noise", "gaussian", "--delta", "1e-6", "--unit", "comparison"),
        ("--noise", "gaussian", "--delta", "1e-6"),
    ],
)
def test_a_bound_for_each_item_that_is_of_no_use_is_refused(privrank, write, options):
    path = write("u1,a,b", "u2,b,a")
    found = privrank("rank", path, "--epsilon", 1, *options, "--max-per-item", 1)
    assert (found.code, found.out) == (2, "")
    assert "--max-per-item lowers" in " ".join(found.err.split())


@pytest.mark.parametrize(
    "options",
    [("--unit", "voter"), ("--adjacency", "flp"), ("--max-per-user", 0), ("--unit", "rank")],
)
def test_options_are_checked_without_privacy_too(privrank, votes, options):
    assert privrank("rank", votes, "--method", "none", *options).code == 2


def test_seeds_beyond_32_bits_are_their_own(privrank, votes):
    run = ("rank", votes, "--epsilon", 1, "--max-per-user", 2, "--simulate", "--json", "--seed")
    one, other = (privrank(*run, seed).json() for seed in (2**33 + 5, 5))
    assert one["diagnostics"]["seed"] == 2**33 + 5
    assert one["ranking"] != other["ranking"]

"""The argument FILE: files, named data sets, and what a user is."""

from __future__ import annotations

import hashlib
import json

import pytest
from privrank_jax._cells.text_files import File

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core import sources
from privrank_jax.cli.core.request import ComparisonColumns, RankingColumns


def test_columns_have_their_usual_names_unless_an_option_says_otherwise():
    usual = sources.comparison_roles(ComparisonColumns(), None, by_user=True)
    assert usual == {
        "user": "user",
        "winner": "winner",
        "loser": "loser",
        "tie": "tie",
        "items": None,
        "ignore": [],
    }
    other = sources.comparison_roles(
        ComparisonColumns(user="none", winner="best", tie="none"), "a, b", by_user=True
    )
    assert (other["user"], other["winner"], other["tie"]) == (None, "best", None)
    assert other["items"] == ["a", "b"]
    assert sources.comparison_roles(ComparisonColumns(), None, by_user=False)["user"] is None
    assert sources.ranking_roles(RankingColumns(item="dish"), None)["item"] == "dish"
    roles = sources.ranking_roles(RankingColumns(ignore=["age"]), None, ["epsilon"])
    assert roles["ignore"] == ["age", "epsilon"]


def test_items_are_names_between_commas_or_lines_of_a_file(tmp_path):
    path = tmp_path / "items.txt"
    path.write_text("Oslo\n\n Rome \n")
    assert sources.item_list(str(path)) == ["Oslo", "Rome"]
    assert sources.item_list("Oslo, Rome") == ["Oslo", "Rome"]
    assert sources.item_list("Oslo") == ["Oslo"]
    with pytest.raises(Refusal, match=r"--items none\.txt"):
        sources.item_list("none.txt")


def test_named_data_sets_have_their_own_columns_and_their_own_kind():
    with pytest.raises(Refusal, match="leave out --winner"):
        sources.read_comparisons("cemspc", ComparisonColumns(winner="x"), None, by_user=True)
    with pytest.raises(Refusal, match="holds rankings, not comparisons"):
        sources.read_comparisons("sushi", ComparisonColumns(), None, by_user=True)
    with pytest.raises(Refusal, match="holds comparisons, not rankings"):
        sources.read_rankings("cemspc", RankingColumns(), None)
    with pytest.raises(
        Refusal, match=r"neither a file nor a named data set \(did you mean 'cemspc'"
    ):
        sources.read_comparisons("cemsp", ComparisonColumns(), None, by_user=True)


def test_checksums_are_those_of_the_content(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user,winner,loser\nu,a,b\n")
    assert sources.data_sha256(str(path)) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert sources.data_sha256(str(tmp_path / "none.csv")) is None
    piped = File("-")
    piped.__dict__["content"] = path.read_bytes()
    assert sources.data_sha256(piped) == sources.data_sha256(path)


def test_what_a_user_is_depends_on_the_kind_of_file():
    for name in ("votes.csv", "votes.csv.gz", "votes.JSONL", "votes.parquet", "votes.txt", "-"):
        assert sources.users_of(File(name), "voter") == "column 'voter'"
    for name in ("votes.SOC", "votes.toi.gz", "votes.order", "cemspc", "sushi"):
        assert sources.users_of(name, None) == "as the data define them"


VOTES = ["user,winner,loser,when,winner_cost,loser_cost"]
VOTES += [f"u{k // 2},{'ab'[k % 2]},c,2024-01-01,{k % 3},1" for k in range(20)]
CHOICES = ["user,chosen,shown"] + [f"u{k // 2},{'ab'[k % 2]},a|b|c" for k in range(20)]
BALLOTS = ["user,a,b,c"] + [f"u{k},{1 + k % 2},{2 - k % 2},3" for k in range(10)]
GAUSSIAN = ("--noise", "gaussian", "--max-per-user", 2)
FLIP = ("--method", "scores", "--adjacency", "flip")
BOARD = (
    "--every",
    "day",
    "--time",
    "when",
    "--start",
    "2024-01-01",
    "--steps",
    3,
    "--until",
    "2024-01-03",
)


@pytest.mark.parametrize(
    ("command", "rows", "options", "units"),
    [
        ("rank", VOTES, GAUSSIAN, 10),
        ("rank", VOTES, (*GAUSSIAN, *FLIP), 10),
        ("rank", VOTES, (*GAUSSIAN, "--adjacency", "add-remove"), 10),
        ("rank", VOTES, ("--noise", "gaussian", "--unit", "comparison"), 20),
        ("rank", VOTES, (*GAUSSIAN, *FLIP, "--ties", "davidson"), 10),
        ("rank", VOTES, (*GAUSSIAN, *FLIP, "--covariate", "cost:-2:2"), 10),
        ("leaderboard", VOTES, (*GAUSSIAN, *BOARD), 10),
        ("rank", CHOICES, (*GAUSSIAN, "--method", "counts"), 10),
        ("rank", CHOICES, (*FLIP, "--noise", "gaussian", "--unit", "comparison"), 20),
        ("aggregate", BALLOTS, ("--noise", "gaussian"), 10),
        ("aggregate", BALLOTS, ("--trust", "shuffled"), 10),
        ("aggregate", BALLOTS, ("--method", "footrule", "--noise", "gaussian"), 10),
    ],
)
def test_a_delta_of_1_over_the_units_is_told_to_the_holder_alone(
    privrank, tmp_path, command, rows, options, units
):
    path, more = tmp_path / "votes.csv", ("--simulate", "--seed", 1, "--json")
    path.write_text("\n".join(rows) + "\n")
    for delta, warned in ((1 / units, True), (0.9, True), (0.99 / units, False)):
        result = privrank(command, path, "--epsilon", 1, *options, "--delta", delta, *more)
        said = " ".join(result.err.split())
        assert ("is at least 1 over the number of" in said) == warned, said
        unit = "user" if units == 10 else "comparison"
        assert not warned or f"number of {unit}s, {units}:" in said
        assert not warned or "(For you alone" in said
        assert "at least 1 over" not in json.dumps(result.json())


@pytest.mark.parametrize("more", [("--trust", "shuffled"), ("--rankings", "--trust", "central")])
def test_a_plan_warns_of_a_delta_that_protects_nobody(privrank, more):
    usual = ("--items", 5, "--users", 100, "--epsilon", 1, *more)
    assert "number of users, 100:" in privrank("plan", *usual, "--delta", 0.01).err
    assert "1 over the number" not in privrank("plan", *usual, "--delta", 0.001).err


def test_what_a_large_delta_is_worth_is_said_without_privacy_never():
    assert sources.large_delta(None, user=1, comparison=1) == ()

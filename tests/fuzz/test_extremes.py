"""Bad input that no strategy finds by itself: ends of ranges, files and terminals that refuse."""

from __future__ import annotations

import contextlib

import pytest
from typer.testing import CliRunner

from privrank_jax.cli import app
from tests.declared import declared
from tests.fuzz import promise, strategies

# --- output


def test_names_that_stdout_cannot_show(tmp_path):
    """Names are still told apart, and no half of a table is printed."""
    text = "user,winner,loser\nu,東京,大阪\nv,東京,é\n"
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    run = declared(["rank", "votes.csv", "--epsilon", "1"])
    with contextlib.chdir(tmp_path):
        found = CliRunner(charset="ascii").invoke(app, run, catch_exceptions=False)
    assert found.exit_code == 0, found.stderr
    assert r"\u6771\u4eac" in found.stdout
    assert r"\xe9" in found.stdout


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_nothing_is_spent_where_nothing_can_be_written(tmp_path, suffix):
    (tmp_path / "votes.csv").write_text("id,user,b\nu,1,2\nv,2,1\n", encoding="utf-8")
    make = ["ledger", "votes.ledger", "--data", "votes.csv", "--budget", "9", "--unit", "rank"]
    promise.check(promise.run(tmp_path, make))
    for out, user in (
        (f"new{suffix}", "id"),  # an item is named user
        (f"/proc/new{suffix}", "none"),
        ("y" * 300 + suffix, "none"),
    ):
        run = ["privatize", "votes.csv", "--epsilon", "1", "--out", out, "--ledger", "votes.ledger"]
        found = promise.run(tmp_path, declared([*run, "--user", user]), tmp_path / "votes.ledger")
        assert found.code == 2, (out, found.err)
        promise.check(found)


# --- ends of ranges

LARGE = "9" * 30
EXTREMES = [
    "rank votes.csv --epsilon 1 --max-per-user " + LARGE,
    "rank votes.csv --epsilon 1e300",
    "rank votes.csv --epsilon 1e9",
    "rank votes.csv --epsilon 1e-9 --max-per-user 2147483647",
    "rank votes.csv --epsilon 1 --noise gaussian --delta 5e-324 --level 0.9999999999999999",
    "rank votes.csv --epsilon 1 --noise gaussian --delta 0.9999999999999999 --level 5e-324",
    "rank votes.csv --epsilon 1e-9 --noise gaussian --delta 1e-300",
    "rank votes.csv --epsilon 1 --simulate --seed " + LARGE,
    "aggregate wide.csv --epsilon 1e9 --method borda --noise gaussian --delta 1e-300",
    "privatize votes.csv --out new.csv --epsilon 1e9",
    "privatize votes.csv --out new.csv --epsilon 1e-9",
    "privatize wide.csv --out new.csv --epsilon 1e9",
    "privatize wide.csv --out new.csv --epsilon 1e-9",
    "rank large.csv",
    "rank small.csv",
    "rank mixed.csv",
    "aggregate synthetic.csv",
    "plan --items 3 --epsilon 1 --users " + "9" * 400,
    "plan --items 3 --epsilon 1 --users 4294967296",
    "plan --epsilon 1 --users 9 --items " + LARGE,
    "plan --items 3 --epsilon 1e-9 --target 1e-300",
    "plan --items 3 --epsilon 1 --target 1 --spread 1e300",
    "audit randomized-response --seed " + LARGE,
    "audit randomized-response --draws " + LARGE,
    "reproduce cai-fig1 --seed " + LARGE,
    "reproduce cai-fig1 --replicates " + LARGE,
    "reproduce cai-fig1 --out votes.csv/results",
    "demo --seed -1",
    "demo --out votes.csv",
]

COMPILING = [
    "aggregate wide.csv --epsilon 1e-9 --method noise-all",
    "aggregate wide.csv --epsilon 1e-9 --method kwiksort",
    "rank reports.csv --level 0.9999999999999999",
    "rank reports.csv --gamma 1.7e308",
    "rank mixed.csv --gamma 0",
    "aggregate synthetic.csv --method none",
]


@pytest.mark.parametrize(
    "command", [*EXTREMES, *(pytest.param(one, marks=pytest.mark.slow) for one in COMPILING)]
)
def test_extremes(tmp_path, command):
    head = "item_1,item_2,report,epsilon\n"
    for name, text in {
        "votes.csv": strategies.COMPARISONS[0],
        "wide.csv": strategies.WIDE[0],
        "reports.csv": strategies.REPORTS[0],
        "large.csv": f"user,{head}u,a,b,1,1e308\nu,b,c,1,1e308\n",
        "small.csv": f"{head}a,b,1,5e-324\nb,c,1,5e-324\n",
        "mixed.csv": f"{head}a,b,1,1e-9\nb,c,1,1e9\nc,a,1,1e-9\n",
        "synthetic.csv": "synthetic_epsilon,a,b,c\n1e-9,1,2,3\n1e9,3,2,1\n1e9,,2,1\n",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    form = ["--json"] * (len(command) % 2)
    promise.check(promise.run(tmp_path, declared([*command.split(), *form])), "new.csv")

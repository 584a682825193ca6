"""One rule for all commands: a release is exact, and no seed ever makes it predictable.

Each command line that a mechanism's audit names is held to it by tests/cli/test_replay.py.
"""

from __future__ import annotations

import dataclasses

import pytest
import typer

from privrank_jax.cli import app
from privrank_jax.data import engine
from privrank_jax.data.engine import ComparisonRows
from privrank_jax.jobs import consensus
from tests.cli.replaying import COMMANDS
from tests.parquet import as_parquet


def test_no_command_is_left_out():
    commands = typer.main.get_command(app).commands
    options = {name: {p.name for p in command.params} for name, command in commands.items()}
    releasing = {name for name, names in options.items() if "simulate" in names}
    # The state of a leaderboard draws exactly: see its tests.
    assert releasing == {"leaderboard", *(command.words.split()[0] for command in COMMANDS)}
    assert all({"ledger", "seed"} <= options[name] for name in releasing)
    # These draw all that they work on, and read nobody's data.
    simulations = {name for name, names in options.items() if "seed" in names} - releasing
    assert simulations == {"audit", "demo", "plan", "reproduce"}
    assert not any("source" in options[name] for name in simulations)


@pytest.mark.parametrize("numerics", ["idealized", "simulation", "unknown"])
def test_a_method_that_says_nothing_beforehand_is_stopped_before_it_is_shown(
    privrank, monkeypatch, numerics
):
    exact = consensus.by_scores

    def careless(work):
        drawn, told = exact(work)
        guarantee = dataclasses.replace(drawn.guarantee, numerics=numerics)
        value = dataclasses.replace(drawn.value, guarantee=guarantee)
        return dataclasses.replace(drawn, value=value), told

    monkeypatch.setattr(consensus, "by_scores", careless)
    result = privrank("aggregate", "coffee-rankings", "--method borda --epsilon 1")
    assert (result.code, result.out) == (2, "")
    assert "not drawn exactly" in result.err


def test_a_table_in_an_engine_is_salted_once_for_a_release_and_by_the_seed_of_a_rehearsal(
    privrank, votes, monkeypatch
):
    monkeypatch.setattr(engine, "_LARGE", 1)
    other, used, count = as_parquet(votes), [], ComparisonRows.win_counts

    def recorded(self, limit=None, salt=None):
        used.append((limit, salt))
        return count(self, limit, salt)

    monkeypatch.setattr(ComparisonRows, "win_counts", recorded)
    run = ("rank", other, "--method counts --epsilon 900 --max-per-user 1 --json")
    for _ in range(2):
        result = privrank(*run)
        assert sum(row["score"] for row in result.json()["ranking"]) == 9
        assert "9 of 18 comparisons" in result.err
        assert "left out" not in result.out
    privrank("rank", other, "--epsilon", 900, "--max-per-user", 2)
    for seed in (1, 1, 2):
        privrank(*run, "--simulate", "--seed", seed)
    assert [limit for limit, _ in used] == [1, 1, None, 1, 1, 1]
    salts = [salt for _, salt in used]
    assert salts[2] is None  # nothing to leave out, nothing drawn
    assert salts[3] == salts[4]
    assert len({*salts[:2], *salts[3:]}) == 4

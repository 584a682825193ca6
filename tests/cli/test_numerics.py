"""One rule for all commands: a release is exact, and no seed ever makes it predictable."""

from __future__ import annotations

import dataclasses

import pytest
import typer

from privrank_jax.cli import app
from privrank_jax.data import engine
from privrank_jax.data.engine import ComparisonRows
from privrank_jax.jobs import consensus, methods
from privrank_jax.jobs.mechanisms import MECHANISMS, Randomness
from tests import of_rankings
from tests.parquet import as_parquet

RANK = ("rank", "comparisons", "--max-per-user", 1)  # half of the comparisons go, at random
COUNTS = (*RANK, "--method", "counts")
AGGREGATE = ("aggregate", "rankings")
RATED = (*AGGREGATE, "--ratings", "1:3", "--points", "1-3")
LOCAL = (*AGGREGATE, "--trust", "local")
GAUSSIAN = ("--noise", "gaussian", "--delta", 1e-5)
LISTS = ("one-shot", "canonical", "top-k")
EXACT = [
    RANK,
    (*RANK, *GAUSSIAN),
    (*RANK, "--adjacency", "add-remove"),
    (*RANK, "--adjacency", "flip", "--link", "laplace"),
    COUNTS,
    (*COUNTS, *GAUSSIAN),
    *((*RANK, "--method", name, "--top-k", 2) for name in LISTS),
    AGGREGATE,
    *(
        (*AGGREGATE, "--method", name, *noise)
        for name, method in of_rankings.CONSENSUS.items()
        for made in [MECHANISMS[method.mechanism("central")]]
        for drawn in made.noises
        for noise in [{"gaussian": GAUSSIAN, made.noises[0]: ()}.get(drawn, ("--noise", drawn))]
    ),
    (*RATED, "--method", "scores"),
    (*RATED, "--method", "scores", "--noise", "laplace"),
    *((*RATED, "--top-k", 2, "--method", name) for name in LISTS),
    LOCAL,
    (*LOCAL, "--method", "borda"),
    (*LOCAL, "--method", "noise-all"),
    ("privatize", "comparisons"),
    ("privatize", "rankings"),
]
BUDGET = ("--epsilon", 1)


@pytest.fixture
def files(write):
    """Where the files are that EXACT names."""
    pairs = ("a,b", "b,c", "a,c")
    answers = [f"u{k},{pair}" for k in range(6) for pair in (pairs[k % 3], pairs[(k + 1) % 3])]
    ranks = [f"u{k},{'1,2,3' if k % 3 else '2,1,3'}" for k in range(8)]
    return {
        "comparisons": write(*answers, name="comparisons.csv"),
        "rankings": write(*ranks, header="user,a,b,c", name="rankings.csv"),
    }


@pytest.fixture
def run(privrank, files, tmp_path):
    """Run the command of a case with further options."""

    def start(command, *options):
        name, source, *others = command
        others += ["--out", tmp_path / "out.csv"] if name == "privatize" else []
        result = privrank(name, files[source], *others, *options)
        assert not result.code or result.out == ""
        return result

    return start


def test_no_command_is_left_out():
    commands = typer.main.get_command(app).commands
    options = {name: {p.name for p in command.params} for name, command in commands.items()}
    releasing = {name for name, names in options.items() if "simulate" in names}
    # The state of a leaderboard draws exactly: see its tests.
    assert releasing == {"leaderboard", *(command[0] for command in EXACT)}
    assert all({"ledger", "seed"} <= options[name] for name in releasing)
    # These draw all that they work on, and read nobody's data.
    simulations = {name for name, names in options.items() if "seed" in names} - releasing
    assert simulations == {"audit", "demo", "plan", "reproduce"}
    assert not any("source" in options[name] for name in simulations)


def test_no_method_is_left_out():
    for known, command in ((methods.RANK, "rank"), ({"auto", *methods.CONSENSUS}, "aggregate")):
        default = {"rank": "scores", "aggregate": "auto"}[command]
        named = {
            options[options.index("--method") + 1] if "--method" in options else default
            for options in EXACT
            if options[0] == command
        }
        assert named == set(known)
    combined = [method for method in methods.CONSENSUS.values() if "local" in method.trusts]
    assert len(combined) + 1 == sum("local" in options for options in EXACT)  # and auto


# The label of a fit to noisy totals, which compiles long, is checked where its scores are, in the tests of `rank`.
@pytest.mark.parametrize("command", EXACT, ids=lambda words: "-".join(map(str, words)))
def test_nothing_comes_from_generators_of_jax(run, monkeypatch, command):
    monkeypatch.setattr(Randomness, "key", None)
    document = run(command, *BUDGET, "--json").json()
    assert document["guarantee"]["numerics"] == "exact"
    assert "seed" not in document.get("diagnostics", {})


@pytest.mark.parametrize("numerics", ["idealized", "simulation", "unknown"])
def test_a_method_that_says_nothing_beforehand_is_stopped_before_it_is_shown(
    run, monkeypatch, numerics
):
    exact = consensus.by_scores

    def careless(work):
        drawn, told = exact(work)
        guarantee = dataclasses.replace(drawn.guarantee, numerics=numerics)
        value = dataclasses.replace(drawn.value, guarantee=guarantee)
        return dataclasses.replace(drawn, value=value), told

    monkeypatch.setattr(consensus, "by_scores", careless)
    command = (*AGGREGATE, "--method", "borda", *BUDGET)
    assert "not drawn exactly" in run(command).err


# --- bounds on users of tables in an engine


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

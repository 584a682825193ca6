"""One rule for all commands: a release is exact, or was accepted as it is; and no seed ever makes it predictable."""

from __future__ import annotations

import dataclasses

import pytest
import typer

from privrank_jax.cli import app
from privrank_jax.jobs import consensus, methods
from privrank_jax.jobs.mechanisms import MECHANISMS, Randomness
from privrank_jax.release.ledger import Ledger
from tests import of_rankings

RANK = (
    "rank",
    "comparisons",
    "--max-per-user",
    1,
)  # half of the comparisons are left out at random
COUNTS = (*RANK, "--method", "counts")
FLIP = ("--adjacency", "flip")
AGGREGATE = ("aggregate", "rankings")
POINTS = (*AGGREGATE, "--method", "scores", "--ratings", "1:3", "--points", "1-3")
BEST = (*AGGREGATE, "--top-k", 2, "--ratings", "1:3", "--points", "1-3")
LOCAL = ("--trust", "local")
GAUSSIAN = ("--noise", "gaussian", "--delta", 1e-5)
# Command and options, and how a release is drawn.
CASES = [
    (RANK, "exact"),
    ((*RANK, *GAUSSIAN), "exact"),
    ((*RANK, "--adjacency", "add-remove"), "exact"),
    ((*RANK, *FLIP, "--link", "laplace"), "exact"),
    ((*RANK, *FLIP), "exact"),
    (COUNTS, "exact"),
    ((*COUNTS, *GAUSSIAN), "exact"),
    ((*RANK, "--method", "one-shot", "--top-k", 2), "exact"),
    ((*RANK, "--method", "canonical", "--top-k", 2), "exact"),
    ((*RANK, "--method", "top-k", "--top-k", 2), "exact"),
    (AGGREGATE, "exact"),
    *(
        ((*AGGREGATE, "--method", name, *noise), "exact")
        for name, method in of_rankings.CONSENSUS.items()
        for made in [MECHANISMS[method.mechanism("central")]]
        for drawn in made.noises
        for noise in [{"gaussian": GAUSSIAN, made.noises[0]: ()}.get(drawn, ("--noise", drawn))]
    ),
    (POINTS, "exact"),
    ((*POINTS, "--noise", "laplace"), "exact"),
    *(((*BEST, "--method", name), "exact") for name in ("one-shot", "canonical", "top-k")),
    ((*AGGREGATE, *LOCAL), "exact"),
    ((*AGGREGATE, *LOCAL, "--method", "borda"), "exact"),
    ((*AGGREGATE, *LOCAL, "--method", "kwiksort"), "simulation"),
    ((*AGGREGATE, *LOCAL, "--method", "noise-all"), "exact"),
    (("privatize", "comparisons"), "exact"),
    (("privatize", "rankings"), "exact"),
]
BUDGET = ("--epsilon", 1)


def name_of(case):
    return "-".join(str(part).lstrip("-") for part in case[0]) if isinstance(case, tuple) else None


@pytest.fixture
def files(write, tmp_path):
    """Where the files are that CASES name."""
    pairs = ("a,b", "b,c", "a,c")
    answers = [f"u{k},{pair}" for k in range(6) for pair in (pairs[k % 3], pairs[(k + 1) % 3])]
    ranks = [f"u{k},{'1,2,3' if k % 3 else '2,1,3'}" for k in range(8)]
    return {
        "comparisons": write(*answers, name="comparisons.csv"),
        "rankings": write(*ranks, header="user,a,b,c", name="rankings.csv"),
    }


@pytest.fixture
def run(privrank, files, tmp_path):
    """Run the command of a case with further options; what is written must not exist before."""

    def start(command, *options):
        name, source, *others = command
        out = tmp_path / "out.csv"
        if name == "privatize":
            out.unlink(missing_ok=True)
            others += ["--out", out]
        result = privrank(name, files[source], *others, *options)
        if result.code:
            assert result.out == ""
            assert not out.exists()
        return result

    return start


def test_no_command_is_left_out():
    commands = typer.main.get_command(app).commands
    options = {name: {p.name for p in command.params} for name, command in commands.items()}
    releasing = {name for name, names in options.items() if "simulate" in names}
    # The state of a leaderboard draws exactly, whatever is accepted: see its tests.
    assert releasing == {"leaderboard", *(command[0] for command, _ in CASES)}
    assert all({"ledger", "seed"} <= options[name] for name in releasing)
    assert {name for name in releasing if "accept_idealized" not in options[name]} == {
        "leaderboard"
    }
    # These draw all that they work on, and read nobody's data.
    simulations = {name for name, names in options.items() if "seed" in names} - releasing
    assert simulations == {"audit", "demo", "plan", "reproduce"}
    assert not any("source" in options[name] for name in simulations)


def test_no_method_is_left_out():
    for known, command in ((methods.RANK, "rank"), ({"auto", *methods.CONSENSUS}, "aggregate")):
        default = {"rank": "scores", "aggregate": "auto"}[command]
        named = {
            options[options.index("--method") + 1] if "--method" in options else default
            for options, _ in CASES
            if options[0] == command
        }
        assert named == set(known)
    combined = [method for method in methods.CONSENSUS.values() if "local" in method.trusts]
    assert len(combined) + 1 == sum("local" in options for options, _ in CASES)  # and auto


# The label of a fit to noisy totals, which compiles long, is checked where its scores are, in the tests of `rank`.
@pytest.mark.parametrize("case", [case for case in CASES if case[0] != (*RANK, *FLIP)], ids=name_of)
def test_what_is_not_exact_must_be_accepted(run, monkeypatch, case):
    command, numerics = case
    if numerics == "exact":  # then nothing may come from JAX's generators
        monkeypatch.setattr(Randomness, "key", None)
    released = run(command, *BUDGET, "--json")
    if numerics == "exact":
        assert released.json()["guarantee"]["numerics"] == "exact"
        return
    assert released.code == 2
    for way in ("--accept-idealized", "--simulate"):
        assert way in released.err
    assert ("use --method borda or --trust central" in released.err) == ("local" in command)
    # What is accepted is labeled: see the tests of `rank` and `aggregate`.


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
    assert "--accept-idealized" in run(command).err
    assert run(command, "--accept-idealized").code == 0


def test_what_is_refused_costs_nothing(run, privrank, files, tmp_path):
    path = tmp_path / "rankings.ledger"
    assert privrank("ledger", path, "--data", files["rankings"], "--budget", 3).code == 0
    refused = run((*AGGREGATE, *LOCAL, "--method", "kwiksort"), *BUDGET, "--ledger", path)
    assert refused.code == 2
    with Ledger(path) as ledger:
        assert ledger.spends() == []

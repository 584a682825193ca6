"""What a release prints depends on the data through its mechanism alone.

The mechanism is replaced by one that ignores the data; then data sets that agree in what the guarantee takes as public
must lead to the same output, to the last byte, in text and as JSON. Standard error is for the data holder.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil

import jax
import numpy as np
import pytest

import privrank_jax
from privrank_jax import aggregation
from privrank_jax.exact import integer_noise
from privrank_jax.release import (
    best_set,
    exponential,
    footrule_costs,
    noisy_counts,
    sub_rankings,
    weights_in_parts,
)
from tests.of_rankings import CONSENSUS

slow = pytest.mark.slow
TRUSTS = {name: method.trusts for name, method in CONSENSUS.items()}
SLOW_METHODS = {("auto", "central"), ("noise-all", "central")}
SLOW_METHODS |= {(name, "local") for name in ("auto", "borda", "kwiksort", "noise-all")}


def noise_alone(calibrate):
    """A mechanism at its scale, but of made-up totals."""

    def calibrated(*arguments):
        _, scale = calibrate(*arguments)
        return lambda values: (37 * np.arange(len(values))) % 11 - 4, scale

    return calibrated


@pytest.fixture(scope="session")
def all_loaded():
    """Every module, loaded: one that was loaded while a mechanism is replaced would keep what stood in its place."""
    for module in pkgutil.walk_packages(privrank_jax.__path__, "privrank_jax."):
        importlib.import_module(module.name)


@pytest.fixture
def blind(monkeypatch, all_loaded):
    """Replace every mechanism by one that ignores the data, but for their size."""
    for module, kinds in {
        integer_noise: ("laplace", "gaussian", "cube", "zonotope"),
        weights_in_parts: ("cube", "zonotope"),
        footrule_costs: ("cube",),
    }.items():
        for name in (f"discrete_{kind}" for kind in kinds):
            monkeypatch.setattr(module, name, noise_alone(getattr(module, name)))
    monkeypatch.setattr("secrets.randbelow", lambda bound: bound - 1)
    for name, settled in {
        "strict_scores": lambda ranks, missing: np.tile(np.arange(ranks.shape[1]), (len(ranks), 1)),
        "uniform_integers": lambda count, below: np.arange(count) % below,
        "random_words": lambda count: np.arange(count, dtype=np.uint64),
    }.items():
        monkeypatch.setattr(sub_rankings, name, settled)
    monkeypatch.setattr(exponential, "_draw", lambda costs, rate: list(range(len(costs))))
    monkeypatch.setattr(
        best_set, "doubled_totals", lambda wins: 0 * noisy_counts.doubled_totals(wins)
    )
    monkeypatch.setattr(best_set, "largest", lambda utilities, *_: 0)
    monkeypatch.setattr(
        "privrank_jax.release.randomized_response.exact_randomized_response",
        lambda bits, epsilon: np.arange(bits.size) % 2 == 0,
    )
    monkeypatch.setattr(
        "privrank_jax.release.mallows.exact_mallows",
        lambda ranks, epsilon: np.where(ranks < 0, -1, np.argsort(np.argsort(ranks < 0, 1), 1)),
    )

    def of_nothing(function, replace):
        def run(key, data, *arguments, **options):
            return function(jax.random.key(1), replace(data), *arguments, **options)

        return functools.wraps(function)(run)

    for name in ("ldp_borda", "ldp_kwiksort"):
        replaced = of_nothing(
            getattr(aggregation, name), lambda ranks: np.argsort(0 * ranks, 1, kind="stable")
        )
        monkeypatch.setattr(aggregation, name, replaced)
    monkeypatch.setattr(
        "privrank_jax.release.perturbed_mle.perturbed_scores",
        lambda doubled, privacy, **facts: [2**40 * (k + 1) for k in range(len(doubled))],
    )
    monkeypatch.setattr(
        "privrank_jax.release.private_design.laplace_mechanism",
        lambda values, noise_scale, sources: 0.0 * values + 8,
    )


def comparisons(write, rows, name):
    return write(*rows, header="user,winner,loser,tie", name=name)


PAIRS = list(itertools.combinations("abcd", 2))
# Twelve users with two comparisons each. Others answer otherwise, or compare other pairs, or are more and say more.
SAME_PAIRS = (
    [f"u{k},{','.join(PAIRS[(k + s) % 6])},0" for k in range(12) for s in (0, 1)],
    [f"u{k},{','.join(PAIRS[(k + s) % 6][::-1])},{int(k < 4)}" for k in range(12) for s in (0, 1)],
)
OTHER_PAIRS = (
    SAME_PAIRS[0],
    [f"v{k},{','.join(PAIRS[-1 - s])},{k % 2}" for k in range(12) for s in (0, 3)],
)
OTHER_USERS = (
    SAME_PAIRS[0],
    [f"w{k},{pair},0" for k in range(5) for pair in ("d,c", "d,b", "a,d")],
)
RANKS = (
    [f"u{k},{k % 3 + 1},{(k + 1) % 3 + 1},{(k + 2) % 3 + 1}" for k in range(9)],
    [f"u{k},1,1,{'' if k % 2 else 2}" for k in range(9)],
)


def outputs(privrank, sources, *command):
    """Text and JSON of both; they must be releases."""
    found = []
    for source in sources:
        for shape in ((), ("--json",)):
            result = privrank(command[0], source, *command[1:], "--epsilon", 1, *shape)
            assert result.code == 0, result.err
            found.append(result.out.replace(source.name, "FILE"))
    assert all(found)
    return found[:2], found[2:]


RANK = ("rank", "--max-per-user", 2, "--items", "a,b,c,d")


@pytest.mark.parametrize(
    ("adjacency", "data", "options"),
    [
        pytest.param("flip", SAME_PAIRS, (), marks=slow),
        ("replace", OTHER_PAIRS, ()),
        ("replace", OTHER_PAIRS, ("--noise", "gaussian", "--delta", 1e-6)),
        ("replace", OTHER_PAIRS, ("--unit", "comparison")),
        ("add-remove", OTHER_USERS, ()),
    ],
)
@pytest.mark.parametrize("method", ["counts", "scores"])
def test_comparisons(privrank, write, blind, method, adjacency, data, options):
    options = (*options, "--method", method)
    sources = [comparisons(write, rows, f"{k}.csv") for k, rows in enumerate(data)]
    if "--unit" in options:
        options = (*options, "--user", "none")
    run = [part for part in RANK if part not in ("--max-per-user", 2) or "--unit" not in options]
    one, other = outputs(privrank, sources, *run, "--adjacency", adjacency, *options)
    assert one == other


@pytest.mark.parametrize(
    ("adjacency", "data"), [("replace", OTHER_PAIRS), ("add-remove", OTHER_USERS)]
)
@pytest.mark.parametrize("method", ["one-shot", "canonical"])
def test_top_lists(privrank, write, blind, method, adjacency, data):
    sources = [comparisons(write, rows, f"{k}.csv") for k, rows in enumerate(data)]
    run = (*RANK, "--method", method, "--top-k", 2, "--adjacency", adjacency)
    one, other = outputs(privrank, sources, *run)
    assert one == other


@pytest.mark.parametrize(
    ("options", "data"),
    [
        pytest.param(("--adjacency", "flip", "--link", "laplace"), SAME_PAIRS, marks=slow),
        (("--link", "laplace"), OTHER_PAIRS),
    ],
)
def test_other_links(privrank, write, blind, options, data):
    sources = [comparisons(write, rows, f"{k}.csv") for k, rows in enumerate(data)]
    one, other = outputs(privrank, sources, *RANK, *options)
    assert one == other


@pytest.mark.parametrize(
    ("method", "trust"),
    [
        pytest.param(name, trust, marks=[slow] if (name, trust) in SLOW_METHODS else [])
        for name, trusts in {"auto": ("central", "local"), **TRUSTS}.items()
        for trust in trusts
        if trust != "shuffled"
    ],
)
def test_consensus(privrank, write, blind, method, trust):
    sources = [write(*rows, header="user,a,b,c", name=f"{k}.csv") for k, rows in enumerate(RANKS)]
    run = ("aggregate", "--method", method, "--trust", trust)
    one, other = outputs(privrank, sources, *run, "--accept-idealized")
    assert one == other


@pytest.mark.parametrize("option", ["--higher-is-better", "--ranks"])
def test_what_cells_are_is_said_by_the_option_alone(privrank, write, blind, option):
    """Ratings and ranks, read by the same option: nothing that is printed tells which they look like."""
    stars = [f"u{k},{k % 5 + 3},{4 + k % 2},{9 - k}" for k in range(9)]
    files = (stars, RANKS[0], RANKS[1])
    sources = [write(*rows, header="user,a,b,c", name=f"{k}.csv") for k, rows in enumerate(files)]
    run = ("aggregate", "--method", "borda", option)
    found = [outputs(privrank, pair, *run) for pair in (sources[:2], sources[1:])]
    assert found[0][0] == found[0][1] == found[1][1]


@pytest.mark.parametrize("method", ["borda", "noise-all"])
def test_one_answer_per_user(privrank, write, blind, monkeypatch, method):
    """What is released where users report and nothing else was accepted; who is asked for what is settled, too."""
    monkeypatch.setattr("secrets.token_bytes", bytes)
    sources = [write(*rows, header="user,a,b,c", name=f"{k}.csv") for k, rows in enumerate(RANKS)]
    one, other = outputs(privrank, sources, "aggregate", "--method", method, "--trust", "local")
    assert one == other


def test_one_shuffled_answer_per_user(privrank, write, blind):
    """What is released where a shuffler hides who sent which report, with pairs and orders settled."""
    sources = [write(*rows, header="user,a,b,c", name=f"{k}.csv") for k, rows in enumerate(RANKS)]
    run = ("aggregate", "--method", "borda", "--trust", "shuffled", "--delta", 1e-6)
    one, other = outputs(privrank, sources, *run)
    assert one == other


def test_reports(privrank, write, blind, tmp_path):
    found = []
    for k, rows in enumerate(SAME_PAIRS):
        # The same file name, so that its length doesn't count; ties are hidden by coins.
        source, out = comparisons(write, rows, "data.csv"), tmp_path / "out.csv"
        run = ("privatize", source, "--out", out, "--epsilon", 1, "--ties", "coin", "--force")
        found.append((privrank(*run).out, privrank(*run, "--json").out, out.read_bytes()))
        assert found[k][0]
    assert found[0] == found[1]


def test_synthetic_rankings(privrank, write, blind, tmp_path):
    found = []
    for rows in (RANKS[0], [f"u{k},1,1,2" for k in range(9)]):  # what a user ranked is public
        source, out = write(*rows, header="user,a,b,c", name="data.csv"), tmp_path / "out.csv"
        run = ("privatize", source, "--out", out, "--epsilon", 1, "--ties", "coin", "--force")
        found.append((privrank(*run).out, privrank(*run, "--json").out, out.read_bytes()))
    assert found[0] == found[1]


def test_the_comparison_sees_what_is_printed(privrank, write, monkeypatch):
    """Where the mechanism adds nothing and hides nothing, the outputs do differ."""
    monkeypatch.setattr(
        integer_noise, "discrete_laplace", lambda *arguments: (lambda values: values, 1.0)
    )
    sources = [comparisons(write, rows, f"{k}.csv") for k, rows in enumerate(SAME_PAIRS)]
    run = (*RANK, "--method", "counts")
    one, other = outputs(privrank, sources, *run)
    assert one != other
    assert one == outputs(privrank, sources[:1] * 2, *run)[0]

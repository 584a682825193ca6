"""``pr.consensus``: each method on a unanimous crowd, what is public, what was not ranked, and certificates."""

from __future__ import annotations

import itertools
import re

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.data import Rankings
from tests.jobs.released import agreed
from tests.of_rankings import CONSENSUS
from tests.quick import thorough


@pytest.fixture
def unanimous(write):
    rows = [f"u{k},2,1,3" for k in range(60)]
    return write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")


def found(path, **options):
    return agreed(path, **{"epsilon": 1000.0, "seed": 5, **options})


WAYS = [
    thorough(name, trust) if name in ("noise-all", "footrule") else (name, trust)
    for name, of in CONSENSUS.items()
    for trust in of.trusts
    if trust != "shuffled"
]


@pytest.mark.parametrize(("method", "trust"), [("auto", "central"), *WAYS])
def test_methods_find_what_all_say(unanimous, method, trust):
    result = found(unanimous, method=method, trust=trust)
    assert result.names == ["Rome", "Oslo", "Bern"]
    told = result.guarantee
    assert (told.epsilon, told.unit, told.trust) == (1000.0, "user", trust)


@pytest.mark.parametrize(
    ("method", "seed"),
    [("auto", None), thorough("borda", 5), ("noise-all", None), thorough("noise-all", 5)],
)
def test_shuffled_methods_find_what_all_say(unanimous, method, seed):
    result = found(unanimous, method=method, trust="shuffled", seed=seed, delta=1e-6)
    assert result.names == ["Rome", "Oslo", "Bern"]
    numerics = "exact" if seed is None else "simulation"
    assert (result.guarantee.trust, result.guarantee.numerics) == ("shuffled", numerics)
    assert (result.guarantee.epsilon, result.guarantee.delta) == (1000.0, 1e-6)
    assert "local_epsilon" in result.facts


@pytest.mark.parametrize(
    ("epsilon", "mechanism", "numerics", "seed"),
    [thorough(0.5, "one-pair", "simulation", 5), (4, "subset-selection", "exact", None)],
)
def test_users_report_in_the_way_of_less_error(write, epsilon, mechanism, numerics, seed):
    many = write(*[f"u{k},2,1,3" for k in range(900)], header="user,Oslo,Rome,Bern", name="r.csv")
    result = found(many, method="borda", trust="local", epsilon=epsilon, seed=seed)
    assert result.facts["mechanism"] == mechanism
    assert (result.guarantee.numerics, result.guarantee.trust) == (numerics, "local")


# --- what is read and promised ----------------------------------------------------------------------

ROWS = ("ann,1,2,3", "bob,2,1,3", "cy,,1,")


def rankings(write, *rows):
    return write(*(rows or ROWS), header="user,Oslo,Rome,Bern", name="rankings.csv")


def test_users_items_and_the_promise(write):
    found = agreed(rankings(write), method="borda", seed=1)
    assert found.facts["users"] == 3
    assert found.guarantee.attained.users == "column 'user'"
    assert found.guarantee.attained.public == ()


def test_what_was_not_ranked_is_taken_as_said_and_the_other_rule_is_named(write):
    path = rankings(write)
    last = agreed(path, method="borda", seed=1)
    unknown = agreed(path, method="borda", seed=1, read={"missing": "unknown"})
    assert any("missing='unknown'" in one for one in last.warnings)
    assert not any("missing='unknown'" in one for one in unknown.warnings)


# --- certificates ----------------------------------------------------------------------------------

FIVE = ["u0,1,2,3", "u1,1,3,2", "u2,2,1,3", "u3,3,1,2", "u4,1,2,3"]


def test_the_consensus_is_that_of_all_orders_and_its_certificate_proves_it(write):
    result = agreed(rankings(write, *FIVE), epsilon=None)
    rows = [tuple(map(int, row.split(",")[1:])) for row in FIVE]

    def disagreements(order):
        return sum(
            row[first] > row[second]
            for row in rows
            for first, second in itertools.combinations(order, 2)
        )

    best = min(itertools.permutations(range(3)), key=disagreements)
    order = [("Oslo", "Rome", "Bern").index(name) for name in result.names]
    assert disagreements(order) == disagreements(best)
    certificate = result.facts["certificate"]
    assert certificate["lower_bound"] == pytest.approx(certificate["cost"])
    assert certificate["ratio"] == 1
    assert (result.guarantee, result.warnings, result.facts["method"]) == (None, (), "none")
    assert agreed(rankings(write, *FIVE), epsilon=None, xi=0.5).facts["xi"] == 0.5


@pytest.mark.parametrize(
    ("method", "noise", "delta", "missing", "adjacency", "simulated"),
    [
        thorough("borda", "k-norm", 0.0, "last", "add-remove", True),
        ("borda", "k-norm", 0.0, "unknown", "replace", False),
        ("borda", "laplace", 0.0, "unknown", "add-remove", False),
        ("borda", "gaussian", 1e-4, "unknown", "add-remove", False),
        ("borda", "gaussian", 1e-4, "last", "replace", True),
        ("weights", "k-norm", 0.0, "unknown", "add-remove", False),
        thorough("weights", "gaussian", 1e-4, "last", "add-remove", True),
    ],
)
def test_what_is_certain_holds(write, method, noise, delta, missing, adjacency, simulated, key):
    """Of 20 releases at 95 %, fewer than 14 hold all true values with probability 3e-5; a private number of users is
    not told."""
    rows = [f"u{k},{'1,2,3' if k % 4 else '2,,1'}" for k in range(37)]
    path = write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")
    data, held = Rankings.read(path, missing=missing, items="seen"), 0
    margins = 37 * (np.asarray(counted_weights(data.ranks, missing).matrix) - 0.5)
    np.fill_diagonal(margins, 0.0)
    promise = pr.Privacy(0.5, unit="user", adjacency=adjacency, delta=delta)
    for number in range(20):
        drawn = jax.random.fold_in(key, number) if simulated else None
        found = pr.consensus(data, promise, method=method, noise=noise, key=drawn)
        if method == "borda":
            low, high = (found.certainty.intervals[end] for end in ("low", "high"))
            true = margins.sum(1) if adjacency == "add-remove" else margins.sum(1) / 37 + 1
            held += bool(np.all((low - 1e-9 <= true) & (true <= high + 1e-9)))
        else:
            held += bool(np.all(margins[found.certainty.better] > 0))
    assert held >= 14
    said = " ".join([found.title, *found.notes, found.certainty.words, repr(found.facts)])
    assert found.guarantee.adjacency == adjacency
    assert bool(re.search(r"\b37\b", said)) == (adjacency == "replace")


def test_the_method_of_a_private_number_of_users_does_not_depend_on_it(write):
    promise = pr.Privacy(1.0, unit="user", adjacency="add-remove")
    for users in (3, 3000):
        rows = (f"u{k},1,2,3" for k in range(users))
        data = pr.read(
            write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv"), items="seen"
        )
        assert pr.consensus(data, promise).facts["method"] == "borda"
        with pytest.raises(ValueError, match="leave it out"):
            pr.consensus(data, promise, method="weights", xi=0.1)

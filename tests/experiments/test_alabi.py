"""The aggregation studies: worlds and errors against slow twins, small runs to the end, claims on made-up rows."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation, experiments
from privrank_jax.experiments.alabi import bounds as alabi_bounds
from privrank_jax.experiments.alabi import central as alabi_central
from privrank_jax.experiments.alabi import common as alabi_common
from privrank_jax.experiments.alabi import local as alabi_local
from privrank_jax.experiments.alabi.common import EXCESS, KENDALL, World
from privrank_jax.simulate.result import StudyResult

KEY = jax.random.key(4)
NAMES = ["alabi-central", "alabi-local", "alabi-lower-bounds"]
SMALL = {
    "alabi-central": {
        "items": (4,),
        "users": (20, 400),
        "epsilons": (0.3, 100.0),
        "flips": 0,
        "data": (),
    },
    "alabi-local": {
        "sizes": ((4, 300),),
        "epsilons": (0.5, 50.0),
        "flips": 0,
        "data": (),
    },
    "alabi-lower-bounds": {"items": (3,), "users": (2, 1000), "shapes": ((1, 3),)},
}


def costs(w):
    """Kemeny scores of all rankings of w, slowly: ranks to score."""
    items = len(w)
    return {
        ranks: sum(w[j][i] for i in range(items) for j in range(items) if ranks[i] < ranks[j])
        for ranks in itertools.permutations(range(items))
    }


def test_every_study_is_registered():
    assert [name for name in experiments.names() if name.startswith("alabi")] == NAMES
    for name in NAMES:
        one = experiments.get(name)
        assert one.differences
        assert len({claim.text for claim in one.claims}) == len(one.claims) > 1


@pytest.mark.parametrize("name", NAMES[:2])
def test_worst_cases_and_data_are_part_of_a_study(name, data_folder):
    studies = {study.name: study for study in experiments.get(name).studies()}
    assert list(studies) == ["Mallows", "worst case", "sushi", "apa"]
    for study in studies.values():
        cell = {k: v for k, v in study.cells[0].items() if k not in study.static}
        static = {k: study.cells[0][k] for k in study.static}

        def trial(key, traced, study=study, static=static):
            return study.trial(key, {**traced, **static})

        found = jax.eval_shape(trial, KEY, cell)
        assert all(value.shape == () for value in jax.tree.leaves(found))


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[:2]), NAMES[2]]
)
def test_small_runs_end_with_table_picture_and_verdicts(name, tmp_path):
    result = experiments.run(KEY, name, 3, folder=tmp_path, **SMALL[name])
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    rows = [row for row in result.table.rows if "minus" not in row["estimator"]]
    assert all(row["mean"] >= -1e-6 for row in rows)
    header, body = result.outline()
    assert len(header) > 1
    assert body
    if name == "alabi-lower-bounds":
        return
    assert {row["metric"] for row in rows} == {EXCESS, KENDALL}
    assert all(row["mean"] <= 1 + 1e-6 for row in rows)
    module = alabi_central if name == "alabi-central" else alabi_local
    wanted = (
        alabi_central.PURE + alabi_central.GAUSSIAN
        if module is alabi_central
        else alabi_local.METHODS
    )
    assert {row["estimator"] for row in rows} == {*wanted, alabi_common.PLAIN}
    # With next to no noise every solver of the noised weights finds the best ranking.
    most = max(row["epsilon"] for row in rows)
    quiet = [row for row in rows if row["epsilon"] == most and row["metric"] == EXCESS]
    assert all(row["mean"] < 1e-6 for row in quiet if row["estimator"] == "noise-all")
    names = [row["estimator"] for row in result.table.rows]
    for one, other in module.PAIRS:
        assert f"{one} minus {other}" in names
    by_place = {
        (r["study"], r["num_users"], r["epsilon"], r["metric"], r["estimator"]): r["mean"]
        for r in result.table.rows
    }
    for place, mean in by_place.items():
        one, minus, other = place[-1].partition(" minus ")
        if minus:
            difference = by_place[(*place[:-1], one)] - by_place[(*place[:-1], other)]
            assert mean == pytest.approx(difference, abs=1e-6)


def test_errors_are_those_of_a_slow_twin():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(4, 4)), 1)
    w = upper + np.tril(1 - upper.T, -1)
    table = costs(w)
    least = min(table.values())
    fixed, truth = (2, 0, 3, 1), (0, 1, 2, 3)
    world = World(jnp.asarray(w), 10, jnp.ones(4, bool), jnp.asarray(truth))
    found = alabi_common.errors(
        KEY, world, {"fixed": lambda key, world, epsilon: jnp.asarray(fixed)}, 1.0, ()
    )
    assert found["fixed"]["excess_cost"] == pytest.approx((table[fixed] - least) / 6)
    apart = sum(fixed[i] > fixed[j] for i, j in itertools.combinations(range(4), 2))
    assert found["fixed"]["kendall_error"] == pytest.approx(apart / 6)
    borda = tuple(np.argsort(np.argsort(-w.sum(1))))
    assert found[alabi_common.PLAIN]["excess_cost"] == pytest.approx((table[borda] - least) / 6)


def test_worst_world_counts_the_users_that_count():
    ranks = alabi_common.worst_ranks(KEY, 50, 2, 3, 0.4)
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(7), (50, 1)))
    world = jax.jit(lambda n: alabi_common.worst_world(KEY, n, 50, 2, 3, 0.4))(20)
    np.testing.assert_allclose(world.w, aggregation.pairwise_weights(ranks[:20]), atol=1e-12)
    # Only the outer items move; each of the two pairs leans by 0.4 to one side.
    many = alabi_common.worst_world(KEY, 20_000, 20_000, 2, 3, 0.4).w
    np.testing.assert_allclose(many[2, 3:5], 1.0)
    np.testing.assert_allclose(np.abs(2 * many[[0, 1], [5, 6]] - 1), 0.4, atol=0.05)


def test_data_world_is_a_random_subset_with_gaps_last():
    ranks = np.array([[0, 1, 2], [2, 1, 0], [0, -1, -1], [1, 0, -1]])
    world = alabi_common.data_world(KEY, jnp.asarray(ranks), 4)
    np.testing.assert_allclose(world.w, aggregation.pairwise_weights(ranks), atol=1e-12)
    seen = [
        np.asarray(alabi_common.data_world(key, jnp.asarray(ranks), 2).w)
        for key in jax.random.split(KEY, 12)
    ]
    possible = [
        np.asarray(aggregation.pairwise_weights(ranks[list(pair)]))
        for pair in itertools.combinations(range(4), 2)
    ]
    assert all(any(np.allclose(w, other) for other in possible) for w in seen)
    assert any(not np.allclose(w, seen[0]) for w in seen)


def test_mallows_world_shuffles_real_items_only():
    cell = {"num_items": 4, "max_items": 6, "num_users": 3000, "max_users": 3000}
    world = alabi_common.mallows_world(KEY, cell, 8.0)
    truth = np.asarray(world.truth)
    assert sorted(truth[:4]) == [0, 1, 2, 3]
    assert truth[4:].tolist() == [4, 5]
    ahead = truth[:4, None] < truth[None, :4]
    assert np.all(np.asarray(world.w)[:4, :4][ahead] > 0.5)


def row(mean, error=0.0001, **more):
    return {
        "study": "s", "metric": EXCESS, "estimator": "a minus b", "mean": mean, "standard_error": error,
        "replicates": 50, "nonfinite": 0, "num_items": 5, "num_users": 9, "epsilon": 1.0, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("means", "holds"),
    [([0.1, 0.0], True), ([0.1, -0.1], False), ([0.0005, 0.0], None), ([0.1, -0.0009], True)],
)
def test_never_costlier_wants_a_gain_and_no_loss(means, holds):
    claim = alabi_common.cheaper("b never costs more than a", "b", "a", study="s")
    table = StudyResult("t", [row(mean) for mean in means] + [row(-1.0, study="other")])
    assert claim.check(table).holds is holds
    assert claim.check(StudyResult("t", [row(1.0, study="other")])).holds is None


def race(costs_by_users, items=10, estimator="Borda"):
    return [
        row(
            mean, study="unanimous", metric="cost_over_m2", estimator=estimator, num_users=users,
            num_items=items, least_users=5.0, allowed=0.05,
        )
        for users, mean in costs_by_users
    ]  # fmt: skip


def test_claims_on_bounds():
    table = StudyResult("t", race([(3, 0.2), (100, 0.01), (1000, 0.001)]))
    assert alabi_bounds.bound_holds(table).holds is True
    assert alabi_bounds.promises_kept(table).holds is False  # 0.2 against 0.05
    assert alabi_bounds.users_reached(table)["Borda"][10] == pytest.approx(100)
    assert alabi_bounds.bound_holds(StudyResult("t", race([(3, 0.001)]))).holds is False
    doubling = [race([(3, 0.2), (10 * m, 0.01), (1000 * m, 0.0)], items=m) for m in (10, 20, 40)]
    table = StudyResult("t", list(itertools.chain(*doubling)))
    assert alabi_bounds.grows(table, estimator="Borda", expected=1.0).holds is True
    assert alabi_bounds.grows(table, estimator="Borda", expected=2.0).holds is False
    assert alabi_bounds.grows(table, estimator="Hay et al.", expected=1.0).holds is None


def test_least_users_are_the_larger_bound():
    found = alabi_bounds.users_needed_by_any(100, 0.5)
    assert found == 2 * alabi_bounds.users_needed_by_any(100, 1.0)
    assert math.isfinite(found)
    assert found > 100

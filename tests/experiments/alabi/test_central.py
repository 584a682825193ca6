"""Central methods: which there are, sorts as one program, and the worlds of cells."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation, experiments
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.dp_sorting import hay_kwiksort
from privrank_jax.experiments.alabi import central, common, crowds
from privrank_jax.experiments.study import P
from tests.experiments.alabi.shared import KEY
from tests.quick import quick_jit


def names_of(methods):
    return {one for names in methods for one in ([names] if isinstance(names, str) else names)}


def test_the_exponential_mechanism_is_computed_for_few_items_only():
    few, many = (names_of(central.methods(1e-6, items)) for items in (10, 11))
    assert few - many == {central.EXPONENTIAL}
    assert {name for pair in central.PAIRS for name in pair} <= few


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "run"), [(8, jax.jit), (None, quick_jit)])
def test_sorts_are_those_of_the_library_with_the_same_keys(queries, run, monkeypatch):
    """Fallbacks included: with few queries sorts exceed their budget, and the search finds the fallback's ranking."""
    for name in ("kwiksort_plan", "hay_plan"):
        planned = functools.partial(getattr(central, name), max_queries=queries)
        monkeypatch.setattr(central, name, planned)
    items, epsilon = 5, jnp.asarray(1.0)
    upper = np.triu(np.random.default_rng(0).random((items, items)), 1)
    w = jnp.asarray(upper + np.tril(1 - upper.T, -1))
    weights = PairWeights(w, 40, jnp.arange(items) < items - (queries is None))
    world = crowds.World(weights, None)
    pure, loose = common.replaced_user(epsilon), common.replaced_user(epsilon, 1e-6)
    sort = functools.partial(aggregation.dp_kwiksort, max_queries=queries)

    def alone(*keys):
        """Both splits by one program."""
        splits = jnp.array([0.5, 0.9])
        kwik = jax.vmap(lambda key, split: sort(key, weights, pure, split=split))
        found = kwik(jnp.stack(keys[:2]), splits)
        both = [jax.tree.map(lambda x, n=n: x[n], found) for n in (0, 1)]
        gauss = sort(keys[2], weights, loose, noise="gaussian")
        hay = hay_kwiksort(keys[3], weights, pure, max_queries=queries)
        return [*both, gauss, hay]

    assert central.SORTS == (central.KWIK, central.KWIK_UNEVEN, central.KWIK_GAUSS, central.HAY)

    def both(key):
        keys = jax.random.split(key, len(central.SORTS))
        answers = central.sorts(keys, world, epsilon, 1e-6)
        found = {
            name: jax.tree.map(lambda x: x[None], one)
            for name, one in zip(central.SORTS, answers, strict=True)
        }
        ranks, _ = common.solved(found, world.mask, None)
        expected = alone(*keys)
        return (
            jnp.stack([ranks[name][0] for name in central.SORTS]),
            jnp.stack([one.value for one in expected]),
            jnp.stack([one.diagnostics.exceeded for one in expected]),
        )

    ours, theirs, exceeded = run(jax.vmap(both))(jax.random.split(KEY, 50))
    np.testing.assert_array_equal(ours, theirs)
    assert np.all(np.any(exceeded, axis=0) == (queries is not None))


def cells_of(**changes):
    one = experiments.get("alabi-central").configured(**changes)
    (study,) = one.studies()
    named = [(row["study"], row["num_items"]) for row in one.rows(one.p, list(study.cells))]
    return named, [cell["num_users"] for cell in study.cells], len(study.groups())


def test_cells_are_the_worlds_that_the_settings_ask_for():
    mallows, worst = common.MALLOWS, common.WORST
    found = cells_of(items=(4, 20), users=(20, 50), flips=0, data=())
    named = [(mallows, m) for m in (4, 4, 20, 20)]
    assert found == (named, [20, 50, 20, 50], 2)  # up to 10 items, and more
    found = cells_of(items=(4, 7), users=(9,), flips=2, buffer=3, data=())
    assert found == ([(mallows, 4), (mallows, 7), (worst, 7)], [9, 9, 9], 1)


@pytest.mark.slow
def test_a_shared_program_draws_the_world_of_the_cell():
    """Crowds of all worlds come from one program; each is what its own world draws alone."""

    draws = [
        *(functools.partial(crowds.mallows_world, strength=strength) for strength in (20.0, 1.0)),
        functools.partial(crowds.worst_world, flips=2, buffer=1, lean=0.4),
    ]
    sizes = {"num_items": 5, "max_items": 5, "num_users": 40, "max_users": 50}
    places = {draw: (place,) for place, draw in enumerate(draws)}
    drawn = quick_jit(lambda world: crowds.world_of(KEY, P(**sizes, world=world), places))
    seen = [drawn(place) for place in range(3)]
    for draw, world in zip(draws, seen, strict=True):
        expected = quick_jit(lambda draw=draw: draw(KEY, P(**sizes)))()
        np.testing.assert_array_equal(world.weights.matrix, expected.weights.matrix)
        assert bool(world.centered) == (expected.truth is not None)
        if expected.truth is not None:
            np.testing.assert_array_equal(world.truth, expected.truth)
    assert not np.array_equal(seen[0].weights.matrix, seen[1].weights.matrix)

"""Random spanning forests of the simulation: each with its probability, by enumeration."""

from __future__ import annotations

import itertools
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.privacy import geometry
from privrank_jax.privacy.geometry import Zonotope
from tests.exact.graphs import GRAPHS, zonotope
from tests.quick import thorough
from tests.reference import geometry as naive

ALARM = 1e-6  # at the fixed keys below
DRAWS = 6_000
PROGRAM = jax.jit(lambda one, keys, sizes: jax.vmap(one, (0, None))(keys, sizes), static_argnums=0)


def drawn(function, key, lengths):
    """One program for all graphs of as many items."""
    return PROGRAM(function, jax.random.split(key, DRAWS), jnp.asarray(lengths))


def uniform_tree(key, lengths):
    return geometry.all_pairs_forest(key, lengths.any(axis=1))


def check_forests(function, lengths, key):
    """χ² of the drawn forests against their odds."""
    parents = np.asarray(drawn(function, key, lengths))
    seen = Counter(
        tuple(sorted(tuple(sorted((item, parent))) for item, parent in enumerate(row) if item != parent))
        for row in parents.tolist()
    )  # fmt: skip
    items = len(lengths)
    pairs = [pair for pair in itertools.combinations(range(items), 2) if lengths[pair]]
    forests = [tuple(pairs[n] for n in one) for one in naive.spanning_forests(pairs, items)]
    odds = np.array([np.prod([lengths[pair] for pair in forest]) for forest in forests])
    assert set(seen) <= set(forests)
    observed = np.array([seen[forest] for forest in forests])
    assert stats.chisquare(observed, DRAWS * odds / odds.sum()).pvalue > ALARM


@pytest.mark.parametrize(
    "name", ["cycle", *map(thorough, ("K4", "two components", "an item alone"))]
)
def test_weighted_forests_have_their_odds(name, key):
    lengths = np.asarray(zonotope(*GRAPHS[name]).lengths)
    if name == "cycle":
        lengths = lengths * np.linspace(0.3, 1.7, lengths.shape[0]) ** 2
        lengths = lengths + lengths.T
    check_forests(geometry.weighted_forest, lengths, key)


def test_trees_of_all_pairs_are_uniform(key):
    mask = np.array([True, False, True, True, True])
    lengths = np.asarray(Zonotope.of_all_pairs(5, mask).lengths)
    check_forests(uniform_tree, lengths, key)


@pytest.mark.parametrize("kind", ["real lengths", "all pairs"])
def test_pairs_of_many_items_occur_as_often_as_resistances_say(kind, key):
    """P(pair in the forest) = length times effective resistance (Kirchhoff); one alarm in 10^6 at the level of 6 σ."""
    items = 12
    generator = np.random.default_rng(0)
    lengths = np.triu(generator.exponential(size=(items, items)) ** 2, 1)
    lengths *= generator.random((items, items)) < 0.4
    lengths = lengths + lengths.T
    draw = geometry.weighted_forest
    if kind == "all pairs":
        lengths, draw = 1 - np.eye(items), uniform_tree
    parents = np.asarray(drawn(draw, key, np.float32(lengths)))
    child = np.broadcast_to(np.arange(items), parents.shape)
    seen = np.zeros((items, items))
    np.add.at(seen, (child, parents), 1.0)
    np.fill_diagonal(seen, 0)
    inverse = np.linalg.pinv(np.diag(lengths.sum(axis=1)) - lengths)
    size = np.diag(inverse)
    chance = lengths * (size[:, None] + size - 2 * inverse)
    assert chance.sum() / 2 == pytest.approx(items - 1)
    wanted = DRAWS * chance
    most = 6 * np.sqrt(wanted * (1 - chance).clip(1e-6)) + 1
    assert np.all(np.abs(seen + seen.T - wanted) <= most)


def test_sizes_scales_and_batches(key):
    draw_one = jax.jit(geometry.weighted_forest)
    assert draw_one(key, jnp.zeros((1, 1))).tolist() == [0]
    lengths = jnp.asarray(zonotope(*GRAPHS["asked again"]).lengths, jnp.float32)
    scales = np.float32([1.0, 2.0**80, 2.0**-80, 0])
    keys = jax.random.split(key, 50)
    draw = jax.vmap(jax.vmap(geometry.weighted_forest, (0, None)), (None, 0))
    found = np.asarray(jax.jit(draw)(keys, scales[:, None, None] * lengths))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert len(np.unique(found[0], axis=0)) > 1
    assert np.all(found[3] == np.arange(len(lengths)))

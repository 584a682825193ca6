from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from privrank_jax import pairwise
from privrank_jax._components import components
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise.continual import continual_score_sums
from privrank_jax.pairwise.graph import connectivity, edge_connectivity
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.pairwise.theory import score_attack, score_attack_bound
from privrank_jax.privacy import Privacy

ITEMS = 9
PROMISE = Privacy(1.0, unit="comparison", adjacency="flip", delta=1e-6)


@pytest.mark.parametrize(
    "ask",
    [
        lambda key, wins: pairwise.noisy_counts(key, wins, PROMISE),
        lambda key, wins: pairwise.perturbed_mle(key, wins, PROMISE),
        lambda key, wins: continual_score_sums(key, wins, PROMISE),
        lambda key, wins: rank_centrality(wins),
        lambda key, wins: score_attack(jnp.zeros(2), jnp.zeros(2), wins),
        lambda key, wins: score_attack_bound(1.0, jnp.zeros(2), wins, 1.0),
    ],
)
def test_a_plain_matrix_is_refused_with_the_way_to_wrap_it(ask, key):
    for matrix in (np.ones((2, 2)), [[0, 1], [1, 0]]):
        with pytest.raises(TypeError, match=r"WinCounts.*WinCounts\.from_matrix"):
            ask(key, matrix)


def _digraphs(count=200):
    generator = np.random.default_rng(11)
    density = generator.uniform(0.02, 0.4, (count, 1, 1))
    wins = (generator.random((count, ITEMS, ITEMS)) < density) * generator.integers(1, 4)
    wins[:, range(ITEMS), range(ITEMS)] = 0
    return wins.astype(float), generator.random((count, ITEMS)) < 0.8


def _wanted(wins, mask):
    part = wins[np.ix_(mask, mask)]
    weak = connected_components(part, directed=True, connection="weak")[0]
    strong = connected_components(part, directed=True, connection="strong")[0]
    return weak, strong > weak


def test_components_and_separation_agree_with_scipy():
    wins, masks = _digraphs()
    found = jax.jit(jax.vmap(lambda w, mask: connectivity(WinCounts(w, mask))))(wins, masks)
    wanted = [_wanted(*pair) for pair in zip(wins, masks)]
    np.testing.assert_array_equal(found[0], [components for components, _ in wanted])
    np.testing.assert_array_equal(found[1], [separated for _, separated in wanted])
    assert 20 < sum(separated for _, separated in wanted) < 180  # both answers are tried


def test_labels_name_the_smallest_item_of_each_component():
    for wins in _digraphs(20)[0]:
        adjacent = (wins + wins.T) > 0
        labels = np.asarray(components(jnp.asarray(adjacent)))
        np.testing.assert_array_equal(components(adjacent), labels)
        _, other = connected_components(adjacent, directed=False)
        for item in range(ITEMS):
            assert labels[item] == np.flatnonzero(other == other[item])[0]


def test_a_long_chain_is_followed_to_its_end():
    chain = np.roll(np.eye(60), 1, axis=1)
    chain[-1] = 0
    assert [int(x) for x in connectivity(WinCounts(jnp.asarray(chain)))] == [1, 1]
    ring = np.roll(np.eye(60), 1, axis=1)
    assert [int(x) for x in connectivity(WinCounts(jnp.asarray(ring)))] == [1, 0]


@pytest.mark.parametrize("matrix", [[[0.0]], [[0.0, 1.0], [0.0, 0.0]], [[0.0, 1.0], [2.0, 0.0]]])
def test_one_and_two_items(matrix):
    wins = np.array(matrix)
    found = connectivity(WinCounts(jnp.asarray(wins)))
    assert (int(found[0]), bool(found[1])) == _wanted(wins, np.ones(len(wins), bool))


def test_edge_lists_agree_with_dense_counts():
    for wins in _digraphs(30)[0]:
        winners, losers = (np.repeat(x, wins[wins > 0].astype(int)) for x in np.nonzero(wins))
        found = edge_connectivity(WinEdges.from_comparisons(winners, losers, num_items=ITEMS))
        assert found == _wanted(wins, np.ones(ITEMS, bool))

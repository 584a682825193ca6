"""Components, walks and circular triads of win counts."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise.graph import connectivity, edge_connectivity
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.pairwise.transitivity import intransitivity, wins_by_user
from tests import reference
from tests.quick import thorough
from tests.reference import transitivity as twin

ITEMS = 9


def _digraphs(count=200, items=ITEMS):
    generator = np.random.default_rng(11)
    density = generator.uniform(0.02, 0.4, (count, 1, 1))
    wins = (generator.random((count, items, items)) < density) * generator.integers(1, 4)
    wins[:, range(items), range(items)] = 0
    return wins.astype(float), generator.random((count, items)) < 0.8


def _wanted(wins, mask):
    part = wins[np.ix_(mask, mask)]
    weak = connected_components(part, directed=True, connection="weak")[0]
    strong = connected_components(part, directed=True, connection="strong")[0]
    return weak, strong > weak


@pytest.mark.parametrize("items", [thorough(1), thorough(2), ITEMS])
def test_components_and_separation_agree_with_scipy(items):
    wins, masks = _digraphs(items=items)
    masks[:, 0] |= items < ITEMS
    found = jax.jit(jax.vmap(lambda w, mask: connectivity(WinCounts(w, mask))))(wins, masks)
    wanted = [_wanted(*pair) for pair in zip(wins, masks)]
    np.testing.assert_array_equal(found[0], [components for components, _ in wanted])
    np.testing.assert_array_equal(found[1], [separated for _, separated in wanted])
    if items == ITEMS:
        assert 20 < sum(separated for _, separated in wanted) < 180  # both answers are tried


def test_edge_lists_agree_with_dense_counts():
    for wins in _digraphs(30)[0]:
        winners, losers = (np.repeat(x, wins[wins > 0].astype(int)) for x in np.nonzero(wins))
        found = edge_connectivity(WinEdges.from_comparisons(winners, losers, num_items=ITEMS))
        assert found == _wanted(wins, np.ones(ITEMS, bool))


def random_wins(seed, size, most, probability=1.0):
    generator = np.random.default_rng(seed)
    matrix = generator.integers(0, most, (size, size)) * 1.0
    met = np.triu(generator.random((size, size)) < probability, 1)
    return matrix * (met | met.T)


@pytest.mark.parametrize(("seed", "probability"), [(0, 1.0), (1, 0.6), (2, 0.4)])
@pytest.mark.parametrize("smoothing", [0.0, 0.5])
def test_matches_the_walk(seed, probability, smoothing):
    matrix = random_wins(seed, 8, 9, probability)
    estimate = rank_centrality(WinCounts.from_matrix(matrix), smoothing)
    expected = reference.rank_centrality(matrix, smoothing)
    np.testing.assert_allclose(estimate.value, expected, rtol=1e-9, atol=1e-11)
    assert float(estimate.diagnostics.change) < 1e-8
    assert estimate.guarantee is None


def test_slow_walk_is_still_exact():
    # A chain of 40 items, each compared with the next: spectral gap near 1e-4, π is geometric.
    size, odds = 40, 1.1
    matrix = np.zeros((size, size))
    for i in range(size - 1):
        matrix[i, i + 1], matrix[i + 1, i] = odds, 1.0
    value = np.asarray(rank_centrality(WinCounts.from_matrix(matrix)).value)
    np.testing.assert_allclose(value[:-1] / value[1:], odds, rtol=1e-8)


def test_walks_without_a_unique_limit_are_finite_and_flagged():
    apart = np.zeros((5, 5))
    apart[0, 1], apart[1, 0] = 3, 1
    apart[2, 3], apart[3, 2], apart[3, 4], apart[4, 3] = 1, 1, 1, 1
    estimate = rank_centrality(WinCounts.from_matrix(apart))
    # Each component keeps its initial weight: 2/5 and 3/5.
    np.testing.assert_allclose(estimate.value, [0.3, 0.1, 0.2, 0.2, 0.2], rtol=1e-7)
    assert int(estimate.diagnostics.components) == 2
    beaten = np.array([[0, 2, 1], [1, 0, 1], [0, 0, 0.0]])
    estimate = rank_centrality(WinCounts.from_matrix(beaten))
    np.testing.assert_allclose(estimate.value, [2 / 3, 1 / 3, 0], atol=1e-9)
    assert bool(estimate.diagnostics.separated)
    assert float(rank_centrality(WinCounts.from_matrix(beaten), 1.0).value[2]) > 0.05


def test_masked_items_change_nothing():
    matrix = random_wins(3, 6, 9)
    padded = np.pad(matrix, (0, 2), constant_values=4.0) * (1 - np.eye(8))
    wins = WinCounts.from_matrix(padded, mask=np.arange(8) < 6)
    value = np.asarray(rank_centrality(wins).value)
    np.testing.assert_allclose(
        value[:6], rank_centrality(WinCounts.from_matrix(matrix)).value, rtol=1e-9
    )
    np.testing.assert_array_equal(value[6:], 0.0)


def tournaments(seed, users, items, share=1.0, repeats=1):
    """Random win counts; with ``share`` < 1 some pairs are missing, with repeats some are split."""
    random = np.random.default_rng(seed)
    wins = np.zeros((users, items, items))
    for i, j in zip(*np.triu_indices(items, 1)):
        times = repeats * (random.uniform(size=users) < share)
        chosen = random.binomial(times, 0.5)
        wins[:, i, j], wins[:, j, i] = chosen, times - chosen
    return wins


@pytest.mark.parametrize(("items", "share", "repeats"), [(6, 1.0, 1), (7, 0.7, 2), (7, 0.35, 1)])
def test_it_is_what_enumeration_finds(items, share, repeats):
    wins = tournaments(items, 40, items, share, repeats)
    found = jax.jit(jax.vmap(intransitivity))(wins)
    each = [twin.intransitivity(user.tolist()) for user in wins]
    for name in each[0]:
        np.testing.assert_allclose(getattr(found, name), [one[name] for one in each], rtol=1e-6)
    triads, cycles = np.asarray(found.circular_triads), np.asarray(found.intransitive)
    assert 0 < np.sum(cycles) <= 40
    if share < 0.5:
        assert np.any(cycles & (triads == 0))  # longer cycles without a circular triad


def test_masked_items_count_for_nothing():
    wins = tournaments(3, 1, 5)[0]
    padded = np.ones((7, 7))
    padded[:5, :5] = wins
    found = jax.jit(intransitivity)(padded, np.arange(7) < 5)
    for name, value in twin.intransitivity(wins.tolist()).items():
        assert float(getattr(found, name)) == pytest.approx(float(value), rel=1e-6), name


def test_the_car_data(data_folder):
    """Printed: 42 of 60 users intransitive, 6.98% of the comparisons. Ties of the counts explain both."""
    from privrank_jax.data import load

    table = load("cars", data_folder)
    wins = wins_by_user(table.arrays(), table.num_users)
    assert float(wins.sum()) == len(table) == 2675
    each = jax.tree.map(np.asarray, jax.jit(jax.vmap(intransitivity))(wins))
    assert np.sum(each.comparisons > 0) == 60
    assert np.sum(each.tied_counts) == 42
    assert np.sum(each.intransitive) == 39
    lacking = np.isnan(each.consistence)
    assert np.all(lacking[each.tied_counts & ~each.intransitive])
    conflicts, level = np.sum(each.conflicts), np.sum(each.level)
    assert (conflicts, level) == (101, 149)
    assert conflicts < 0.0698 * 2675 < conflicts + level
    assert (conflicts + level / 2) / 2675 == pytest.approx(0.0656, abs=5e-5)
    assert 0.8 < np.nanmean(each.consistence) < 1

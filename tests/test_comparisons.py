from __future__ import annotations

import dataclasses
import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import pairwise
from privrank_jax.comparisons import Comparisons, WinCounts, WinEdges, bound_contributions
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.privacy import Privacy
from tests import reference
from tests.quick import thorough
from tests.rows import ITEMS, random_rows

FLIPS = Privacy(1.0, unit="comparison", adjacency="flip")

# --- win counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "items"), [(1, 2), (40, 6)])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_counts_agree_with_the_twin(seed, count, items, weighted, ties):
    winners, losers, weights, tied = random_rows(seed, count, items)
    weights, tied = weights if weighted else None, tied if ties else None
    found = WinCounts.from_comparisons(winners, losers, num_items=items, weights=weights, tied=tied)
    wanted = reference.win_counts(winners, losers, items, weights, tied)
    np.testing.assert_array_equal(found.matrix, wanted)
    np.testing.assert_array_equal(found.totals, wanted.sum(1))
    np.testing.assert_array_equal(found.comparisons, wanted + wanted.T)
    np.testing.assert_array_equal(found.degrees, wanted.sum(0) + wanted.sum(1))
    if tied is None:
        assert found.ties is None
        return
    number = sum(w for w, t in zip(weights if weighted else [1] * count, tied) if t)
    np.testing.assert_allclose(float(found.ties), number, rtol=1e-12)
    twice = found.merge(found)
    np.testing.assert_allclose(float(twice.ties), 2 * number, rtol=1e-12)
    traced = jax.jit(
        lambda t: WinCounts.from_comparisons(
            winners, losers, num_items=items, weights=weights, tied=t
        )
    )(np.asarray(tied))
    np.testing.assert_allclose(float(traced.ties), number, rtol=1e-12)
    assert found.merge(WinCounts(found.matrix)).ties is None


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_traced_counts_equal_counts_on_the_host(dtype):
    rows = [random_rows(seed) for seed in range(3)]

    def count(winners, losers, weights, tied):
        told = {"weights": weights, "tied": tied, "dtype": dtype}
        return WinCounts.from_comparisons(winners, losers, num_items=ITEMS, **told).matrix

    traced = jax.jit(jax.vmap(count))(*(np.stack(column) for column in zip(*rows)))
    for row, found in zip(rows, traced):
        np.testing.assert_array_equal(found, count(*row), strict=True)
        assert found.dtype == dtype


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64])
def test_traced_items_of_few_bits_are_counted_among_many(kind):
    pair = np.array([0, 127, 5], kind), np.array([127, 0, 6], kind)
    count = functools.partial(WinCounts.from_comparisons, num_items=300)
    np.testing.assert_array_equal(jax.jit(count)(*pair).matrix, count(*pair).matrix)


def test_the_mask_of_items_travels():
    mask = np.array([True, True, False])
    one = WinCounts.from_comparisons([0], [1], num_items=3, mask=mask)
    for wins in (one, one.merge(one), WinCounts.from_matrix(np.zeros((3, 3)), mask=mask)):
        np.testing.assert_array_equal(wins.item_mask, mask)
    assert np.all(WinCounts.from_matrix(np.zeros((3, 3))).item_mask)


def test_merging_adds_whatever_the_order():
    winners, losers, weights, tied = random_rows(3)
    pieces = [slice(0, 7), slice(7, 30), slice(30, 60)]
    parts = [
        WinCounts.from_comparisons(
            winners[p], losers[p], num_items=ITEMS, weights=weights[p], tied=tied[p]
        )
        for p in pieces
    ]
    whole = reference.win_counts(winners, losers, ITEMS, weights, tied)
    for a, b, c in itertools.permutations(parts):
        np.testing.assert_array_equal((a + b.merge(c)).matrix, whole)


def test_an_edge_list_holds_the_same_counts():
    winners, losers, _, _ = random_rows(4)
    edges = WinEdges.from_comparisons(winners, losers, num_items=ITEMS)
    wanted = reference.win_counts(winners, losers, ITEMS)
    halves = [
        WinEdges.from_comparisons(winners[p], losers[p], num_items=ITEMS)
        for p in (slice(0, 20), slice(20, 60))
    ]
    for found in (edges, halves[0] + halves[1], halves[1] + halves[0]):
        dense = np.zeros((ITEMS, ITEMS))
        np.add.at(dense, (found.first, found.second), found.first_wins)
        np.add.at(dense, (found.second, found.first), found.second_wins)
        np.testing.assert_array_equal(dense, wanted)
        np.testing.assert_array_equal(found.totals, wanted.sum(1))
        np.testing.assert_array_equal(found.degrees, wanted.sum(0) + wanted.sum(1))
    assert len(edges.first) == len({frozenset(pair) for pair in zip(winners, losers)})
    assert np.all(edges.first < edges.second)


@pytest.mark.parametrize("x64", [thorough(False), True])
def test_win_counts_of_whole_numbers_are_fitted_as_floats(x64):
    """Made by the constructor, by from_matrix or by replace: as the same counts in floats."""
    counts = np.array([[0, 30, 2], [10, 0, 5], [3, 4, 0]])
    with jax.enable_x64(x64):
        wanted = WinCounts(jnp.asarray(counts, float), ties=jnp.asarray(4.0))
        for given in (counts.astype(np.uint8), jnp.asarray(counts), counts.tolist()):
            for wins in (
                WinCounts(given, ties=np.int64(4)),
                WinCounts.from_matrix(given, ties=4),
                dataclasses.replace(wanted, matrix=given),
            ):
                np.testing.assert_array_equal(wins.matrix, wanted.matrix, strict=True)
        fits = (pairwise.mle(w, ties="davidson").value.scores for w in (wins, wanted))
        np.testing.assert_array_equal(*fits)
        half = WinCounts(counts.astype(np.float16)).matrix
        np.testing.assert_allclose(
            pairwise.mle(WinCounts(half)).value, pairwise.mle(wanted).value, 1e-5
        )
        first, second = np.triu_indices(3, 1)
        edges = WinEdges(first, second, counts[first, second], counts[second, first], 3)
        for one, other in ((edges, wanted), (WinCounts(counts > 0), WinCounts((counts > 0) * 1.0))):
            fits = (pairwise.mle(wins, gamma=1.0).value for wins in (one, other))
            np.testing.assert_allclose(*fits, atol=1e-5)


def test_trees_of_win_counts_hold_whatever_is_no_number():
    """Axes of vmap, shapes, types: and whole numbers of a traced program become floats there too."""
    wins = WinCounts(jnp.ones((4, 3, 3)), jnp.ones((4, 3), bool), jnp.ones(4))
    axes = WinCounts(0, 0, 0)
    assert jax.vmap(lambda one: one.totals, in_axes=(axes,))(wins).shape == (4, 3)
    assert jax.tree.map(lambda leaf: leaf.shape, wins).matrix == (4, 3, 3)
    shapes = jax.eval_shape(lambda: WinCounts(jnp.ones((3, 3), int)))
    assert jnp.issubdtype(shapes.matrix.dtype, jnp.floating)


# --- refusals --------------------------------------------------------------------------------------

ROWS = [
    ({"winners": [0, 1]}, "one shape"),
    ({"winners": [[0]], "losers": [[1]]}, "one shape"),
    ({"winners": [0.0]}, "integer"),
    ({"winners": [3]}, "winners"),
    ({"losers": [-1]}, "losers"),
    ({"losers": [0]}, "itself"),
    ({"num_items": 0}, "num_items"),
    ({"num_items": 2.0}, "num_items"),
    ({"weights": [-1.0]}, "weights"),
    ({"weights": [np.nan]}, "weights"),
    ({"weights": [1.0, 2.0]}, "one shape"),
    ({"tied": [True, False]}, "one shape"),
]
MATRICES = [
    (np.zeros((2, 3)), "square"),
    (np.zeros((0, 0)), "items"),
    ([[0, -1], [0, 0]], "at least"),
    ([[0, np.inf], [0, 0]], "finite"),
    ([[1, 0], [0, 0]], "diagonal"),
]
NO_NUMBERS = [
    np.ones((2, 2)) + 1j,
    np.ones((2, 2), object),
    np.array([["0", "1"], ["1", "0"]]),
    np.ones((2, 2), "datetime64[D]"),
    [[0, 1], [2]],
]
OF_ONE_PROBLEM = [
    pairwise.mle,
    functools.partial(pairwise.mle, ties="davidson"),
    rank_centrality,
    lambda wins: pairwise.noisy_counts(jax.random.key(0), wins, FLIPS),
    lambda wins: pairwise.perturbed_mle(jax.random.key(0), wins, FLIPS),
]


def refused():
    """Calls, and the word that says what is wrong."""
    for change, word in ROWS:
        given = {"winners": [0], "losers": [1], "num_items": 3} | change
        kinds = (WinCounts,) if {"weights", "tied"} & set(given) else (WinCounts, WinEdges)
        given |= {name: np.array(given[name]) for name in ("winners", "losers")}
        for kind in kinds:
            yield functools.partial(kind.from_comparisons, **given), word
    for matrix, word in MATRICES:
        yield functools.partial(WinCounts.from_matrix, matrix), word
    for bad in NO_NUMBERS:
        for make in (WinCounts, WinCounts.from_matrix, lambda x: WinEdges([0], [1], x, x, 2)):
            yield functools.partial(make, bad), "real"
    for shape, function in itertools.product([(3,), (2, 3), (1, 3, 3)], OF_ONE_PROBLEM):
        yield functools.partial(function, WinCounts(np.ones(shape), ties=1)), "2 axes|square"
    for users in (np.ones((2, 2), int), 3, [0.5, 1.0], ["a"], None):
        yield functools.partial(bound_contributions, jax.random.key(0), users, 1), "users"
    yield functools.partial(bound_contributions, jax.random.key(0), [0], 0), "max_per_user"
    for kind in (WinCounts, WinEdges):
        small, large = (kind.from_comparisons([0], [1], num_items=m) for m in (2, 3))
        yield functools.partial(small.merge, large), "same item"


@pytest.mark.parametrize(("call", "word"), list(refused()))
def test_refusals(call, word):
    with pytest.raises(ValueError, match=word):
        call()


# --- contribution bounding -----------------------------------------------------------------------


def test_at_most_the_bound_is_kept_and_everything_below_it(key):
    users = np.random.default_rng(0).integers(0, 40, 300)
    given = np.bincount(users, minlength=40)
    for limit in (1, 3, 8, 300):
        kept = np.asarray(bound_contributions(key, users, limit))
        np.testing.assert_array_equal(
            np.bincount(users[kept], minlength=40), np.minimum(given, limit)
        )


@pytest.mark.slow
def test_neither_other_users_nor_content_decide(key):
    generator = np.random.default_rng(1)
    mine = np.full(9, 5)
    alone = np.asarray(bound_contributions(key, mine, 4))
    assert alone.sum() == 4
    for _ in range(5):
        others = generator.integers(6, 20, generator.integers(1, 50))
        users = np.concatenate([mine, others])
        order = generator.permutation(len(users))
        kept = np.asarray(bound_contributions(key, users[order], 4))
        # My k-th row is kept or not, wherever it stands among the others' rows.
        np.testing.assert_array_equal(kept[users[order] == 5], alone)
    winners, losers, _, tied = random_rows(2, 40)
    users = generator.integers(0, 4, 40)
    mask = np.ones(40, bool)
    columns = [jnp.asarray(x) for x in (users, winners, losers, tied, mask)]
    swapped = [columns[0], columns[2], columns[1], ~columns[3], columns[4]]
    first, second = (Comparisons(*c, num_items=ITEMS).bounded(key, 3) for c in (columns, swapped))
    np.testing.assert_array_equal(first.mask, second.mask)
    assert first.mask.sum() == 12


def test_every_subset_of_a_users_rows_is_equally_likely(key):
    """Chi-squared on 6 subsets of 6000 users; false alarm 1e-4. Keeping the first rows gives 30,000."""
    users = np.repeat(np.arange(6000), 4)
    kept = np.asarray(bound_contributions(key, users, 2)).reshape(6000, 4)
    code = kept @ (2 ** np.arange(4))
    counts = np.unique(code, return_counts=True)[1]
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).statistic < scipy.stats.chi2.isf(1e-4, 5)


def test_masked_rows_are_never_kept_and_never_counted(key):
    generator = np.random.default_rng(3)
    users, mask = generator.integers(0, 6, 80), generator.random(80) < 0.5
    kept = np.asarray(bound_contributions(key, users, 3, mask=mask))
    assert not np.any(kept & ~mask)
    np.testing.assert_array_equal(kept[mask], bound_contributions(key, users[mask], 3))
    assert not np.any(np.asarray(bound_contributions(key, users, 3, mask=np.zeros(80, bool))))
    assert bound_contributions(key, np.zeros(0, int), 2).shape == (0,)


def test_the_bound_may_be_traced(key):
    users = np.repeat(np.arange(5), 7)
    limits = jnp.arange(1, 9)
    kept = jax.vmap(lambda limit: bound_contributions(key, users, limit))(limits)
    for limit, found in zip(limits, kept):
        np.testing.assert_array_equal(found, bound_contributions(key, users, int(limit)))
    # A larger bound keeps what a smaller one kept.
    assert np.all(np.diff(np.asarray(kept).astype(int), axis=0) >= 0)


def test_bounded_comparisons_count_only_what_is_kept(key):
    winners, losers, _, tied = random_rows(6, 50)
    users = np.random.default_rng(6).integers(0, 5, 50)
    data = Comparisons(
        *(jnp.asarray(x) for x in (users, winners, losers, tied, tied | True)), ITEMS
    )
    bounded = data.bounded(key, 4)
    kept = np.asarray(bounded.mask)
    assert kept.sum() == 20
    wanted = reference.win_counts(winners[kept], losers[kept], ITEMS, tied=tied[kept])
    np.testing.assert_array_equal(bounded.win_counts().matrix, wanted)
    np.testing.assert_array_equal(jax.jit(Comparisons.win_counts)(bounded).matrix, wanted)
    assert bounded.win_counts(jnp.float32).matrix.dtype == jnp.float32

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.comparisons import Comparisons, WinCounts, WinEdges, bound_contributions
from tests import reference
from tests.rows import ITEMS, random_rows

# --- win counts ----------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 6), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
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


def test_the_mask_of_items_travels():
    mask = np.array([True, True, False])
    for wins in (
        WinCounts.from_comparisons([0], [1], num_items=3, mask=mask),
        WinCounts.from_matrix(np.zeros((3, 3)), mask=mask),
        WinCounts.from_comparisons([0], [1], num_items=3, mask=mask).merge(
            WinCounts.from_comparisons([1], [0], num_items=3, mask=mask)
        ),
    ):
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
        np.testing.assert_array_equal(found.to_dense().matrix, wanted)
        np.testing.assert_array_equal(found.totals, wanted.sum(1))
        np.testing.assert_array_equal(found.degrees, wanted.sum(0) + wanted.sum(1))
    assert len(edges.first) == len({frozenset(pair) for pair in zip(winners, losers)})
    assert np.all(edges.first < edges.second)


def test_integer_matrices_become_floats_and_floats_keep_their_type():
    assert WinCounts.from_matrix([[0, 1], [2, 0]]).matrix.dtype == jnp.float64
    assert WinCounts.from_matrix(np.zeros((2, 2), np.float32)).matrix.dtype == jnp.float32


def test_no_comparisons_count_as_nothing():
    empty = np.zeros(0, int)
    assert not np.any(WinCounts.from_comparisons(empty, empty, num_items=3).matrix)
    assert WinEdges.from_comparisons(empty, empty, num_items=3).totals.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "square"),
        (np.zeros((0, 0)), "no items"),
        ([[0, -1], [0, 0]], "at least 0"),
        ([[0, np.inf], [0, 0]], "finite"),
        ([[1, 0], [0, 0]], "diagonal"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        WinCounts.from_matrix(matrix)


def test_different_item_lists_do_not_merge():
    for kind in (WinCounts, WinEdges):
        small, large = (kind.from_comparisons([0], [1], num_items=m) for m in (2, 3))
        with pytest.raises(ValueError, match="same item list"):
            small.merge(large)


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


def test_two_keys_choose_differently(key):
    users = np.repeat(np.arange(50), 6)
    first, second = (bound_contributions(k, users, 3) for k in jax.random.split(key))
    assert 50 < np.sum(np.asarray(first) != np.asarray(second)) < 250


def test_masked_rows_are_never_kept_and_never_counted(key):
    generator = np.random.default_rng(3)
    users, mask = generator.integers(0, 6, 80), generator.random(80) < 0.5
    kept = np.asarray(bound_contributions(key, users, 3, mask=mask))
    assert not np.any(kept & ~mask)
    np.testing.assert_array_equal(kept[mask], bound_contributions(key, users[mask], 3))
    assert not np.any(np.asarray(bound_contributions(key, users, 3, mask=np.zeros(80, bool))))


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


def test_no_rows_and_a_bad_bound(key):
    assert bound_contributions(key, np.zeros(0, int), 2).shape == (0,)
    with pytest.raises(ValueError, match="max_per_user must be positive"):
        bound_contributions(key, [0], 0)

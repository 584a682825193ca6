from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import debiased_rr, report_sums
from privrank_jax.pairwise.debiased_fit import debiased_sums
from privrank_jax.pairwise.report_sums import _rounded_up, finish, init, merge, to_sums, update
from tests.quick import thorough
from tests.reference import local as reference_local

compiled_update = jax.jit(report_sums.update)


def _rows(seed, length, items, dtype=np.float64):
    """One shard: items in either order, reports, personal ε from tiny to large."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, items, length)
    second = (first + rng.integers(1, items, length)) % items
    epsilon = np.exp(rng.uniform(-8, 3.5, length)).astype(dtype)
    return first, second, rng.random(length) < 0.6, epsilon


def _equal(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def _integers(state):
    """(P, 2) Python integers in units of 2^-48, from limbs that must be canonical."""
    limbs = np.asarray(state.limbs, object).reshape(-1, 2, 4)
    assert (limbs[..., 1:] >= 0).all()
    assert (limbs[..., 1:] < 2**16).all()
    return (limbs * np.array([2**48, 2**32, 2**16, 1], object)).sum(-1)


def _by_hand(rows, items):
    tanh = np.asarray(jnp.tanh(0.5 * jnp.asarray(rows[3])))
    sums = reference_local.fixed_point_sums(*rows[:3], tanh, items)
    return np.array([sums[pair] for pair in reference_local.pairs_of(items)], object)


# --- exact ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [thorough(np.float32), np.float64])
@pytest.mark.parametrize(("length", "items"), [thorough(300, 5), (40_000, 5), (300, 40)])
def test_limbs_are_python_integers(length, items, dtype):
    """One chunk, several chunks, and more pairs than reports, which carries the touched pairs alone."""
    rows = _rows(0, length, items, dtype)
    state = compiled_update(init(items), *rows)
    np.testing.assert_array_equal(_integers(state), _by_hand(rows, items))
    assert float(state.largest_epsilon) >= rows[3].max()
    assert float(state.largest_epsilon) == pytest.approx(rows[3].max(), rel=2e-7)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1 + 1e-12, 2.0**24 + 1, 1.1754943e-38, 1e-50])
def test_the_largest_epsilon_is_rounded_up(epsilon):
    """To the next number of float32, of those below 1.2e-38 to that; what is beyond is infinite."""
    found = float(_rounded_up(jnp.float64(epsilon)))
    assert epsilon <= found <= max(epsilon * (1 + 2**-22), 1.2e-38 * (epsilon > 0))
    assert float(_rounded_up(jnp.float64(3.5e38))) == np.inf


@pytest.mark.parametrize("reports", [np.ones(50_000, bool), np.zeros(50_000, bool)])
def test_one_pair_with_full_limbs_does_not_overflow(reports):
    """t just below 1: limbs of 2^16 - 1 in every report of one pair, whole chunks of them, all of one sign."""
    tanh = np.nextafter(np.float64(1), 0)
    epsilon = np.full(50_000, 2 * np.arctanh(tanh))
    rows = np.zeros(50_000, int), np.ones(50_000, int), reports, epsilon
    state = compiled_update(init(2), *rows)
    np.testing.assert_array_equal(_integers(state), _by_hand(rows, 2))
    twice = merge(state, state)
    np.testing.assert_array_equal(_integers(twice), 2 * _by_hand(rows, 2))


@pytest.mark.parametrize(("items", "dtype"), [(4, np.float32), thorough(60, np.float64)])
def test_any_order_and_any_shards_give_the_same_bits(items, dtype):
    """Whole, shuffled, one by one, in uneven shards merged in any order, through masks: equal limbs."""
    rows, update = _rows(1, 20_000, items, dtype), compiled_update
    whole = update(init(items), *rows)
    order = np.random.default_rng(2).permutation(20_000)
    _equal(update(init(items), *(row[order] for row in rows)), whole)

    cuts = [0, 1, 2, 17_000, 18_500, 20_000]
    parts = [
        update(init(items), *(row[order][start:stop] for row in rows))
        for start, stop in itertools.pairwise(cuts)
    ]
    _equal(functools.reduce(merge, parts), whole)
    _equal(merge(parts[4], merge(merge(parts[2], parts[0]), merge(parts[3], parts[1]))), whole)
    _equal(merge(whole, init(items)), whole)

    one_by_one = init(items)
    for place in range(6):
        one_by_one = update(one_by_one, *(row[place] for row in rows))
    backwards = [row[::-1] for row in rows]
    _equal(one_by_one, update(init(items), *backwards, np.arange(20_000) >= 20_000 - 6))

    keep = np.arange(20_000) % 3 == 0
    _equal(merge(update(init(items), *rows, keep), update(init(items), *rows, mask=~keep)), whole)


# --- the estimate --------------------------------------------------------------------------------


def test_finish_is_debiased_rr():
    rng = np.random.default_rng(4)
    users, items = 200, 5
    i, j = np.triu_indices(items, 1)
    reports = rng.random((users, 10)) < np.linspace(0.45, 0.8, 10)
    observed = rng.random((users, 10)) < 0.6
    epsilon = rng.uniform(0.2, 3.0, users)
    user, pair = np.nonzero(observed)
    swap = rng.random(user.size) < 0.5  # the same comparison with its items swapped
    first, second = np.where(swap, j[pair], i[pair]), np.where(swap, i[pair], j[pair])
    state = update(init(items), first, second, reports[user, pair] ^ swap, epsilon[user])
    expected = debiased_rr(reports, observed, epsilon, gamma=0.7)
    found = finish(state, gamma=0.7, dtype=np.float64)
    np.testing.assert_allclose(found.value, expected.value, atol=1e-10)
    sums = debiased_sums(reports, observed, epsilon)
    np.testing.assert_allclose(to_sums(state, np.float64).wins, sums.wins, rtol=1e-8)
    ours, theirs = (one.diagnostics.smallest_eigenvalue for one in (found, expected))
    assert float(ours) == pytest.approx(float(theirs), rel=1e-6)
    single = jax.eval_shape(functools.partial(finish, dtype=np.float32), state)
    assert single.value.dtype == np.float32


def test_guarantee():
    state = update(init(3), [0, 1], [1, 2], [1, 0], [0.5, 0.75])
    bare = finish(state).guarantee
    told = (bare.trust, bare.unit, bare.adjacency, float(bare.epsilon), bare.also)
    assert told == ("local", "comparison", "flip", 0.75, ())
    assert float(finish(state, reports_per_user=4).guarantee.also[0].epsilon) == 3.0
    assert float(finish(update(state, 0, 2, True, 0.1)).guarantee.epsilon) == 0.75
    assert float(finish(update(state, 0, 2, True, np.inf)).guarantee.epsilon) == np.inf


def test_reports_of_either_coding_are_the_same():
    rows = [0, 2, 0], [1, 1, 2], np.array([1, 0, 1])
    signed = *rows[:2], np.array([1, -1, 1])
    expected = update(init(3), *rows, 1.5)
    _equal(update(init(3), *signed, 1.5), expected)
    _equal(jax.jit(lambda y: update(init(3), *rows[:2], y, 1.5))(signed[2]), expected)


def test_masked_and_traced_nonsense_is_dropped():
    good = [0, 2], [1, 1], np.array([1.0, 0.0]), np.array([1.0, 2.0])
    padded = (
        [0, 9, 2, 1, -1],
        [1, 0, 1, 1, 0],
        np.array([1, np.nan, 0, 1, 1]),
        np.array([1.0, 3, 2, 5, 7]),
    )
    expected = update(init(3), *good)
    keep = np.array([True, False, True, False, False])
    _equal(update(init(3), *padded, keep), expected)
    arrays = [jnp.asarray(row) for row in padded]
    _equal(jax.jit(lambda *rows: update(init(3), *rows))(*arrays), expected)

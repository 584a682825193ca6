"""Pairwise comparison of ranks, against naive counts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _backend
from privrank_jax.aggregation import PairWeights, counting
from privrank_jax.aggregation.counting import (
    gaps_last,
    largest_rank,
    narrow_shares,
    order_lead,
    share_matrix,
)
from tests.reference import aggregation as reference

WITH_GAPS = np.array([[0, 3, -1, 3], [-1, -1, 2, -7], [5, 0, 1, -1], [2, 2, 2, 2]])


def test_leads_follow_the_weight_rule():
    """Ranked before not ranked; ties, and two items not ranked, are even; under "unknown" so is any pair with a gap."""
    pairs = [((0, 1), 1), ((2, 1), -1), ((1, 1), 0), ((0, -1), 1), ((-1, 0), -1), ((-1, -1), 0)]
    for (item, pivot), lead in pairs:
        given = np.int32(item), np.int32(pivot)
        assert order_lead(*given, "last") == lead
        assert order_lead(*given, "unknown") == (0 if -1 in (item, pivot) else lead)
        assert int(order_lead(jnp.int32(item), jnp.int32(pivot), "last")) == lead


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("narrow", [True, False])
def test_shares_are_the_leads_of_the_users(missing, narrow):
    """A pair's share is (1 + the mean lead)/2, with ties, gaps, and users who ranked one item or nothing."""
    shares = share_matrix(jnp.asarray(WITH_GAPS), missing, narrow)
    np.testing.assert_allclose(shares, reference.pairwise_weights(WITH_GAPS, missing), atol=1e-15)
    leads = order_lead(WITH_GAPS[:, :, None], WITH_GAPS[:, None, :], missing)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(shares[off], 0.5 + 0.5 * leads.mean(0)[off], atol=1e-15)
    assert shares.dtype == jnp.result_type(float)


@pytest.mark.parametrize("users", [1, 127, 129, 5_000])
def test_blocks_of_users_of_any_number(users):
    """More than one block and more users in a place than a byte counts, the last block not full."""
    ranks = np.argsort(np.random.default_rng(users).random((users, 70)), axis=1)
    before = (ranks[:, :, None] < ranks[:, None, :]).mean(0)
    np.testing.assert_allclose(share_matrix(jnp.asarray(ranks), "last", True), before, atol=1e-15)
    same = jnp.tile(jnp.arange(70), (users, 1))
    np.testing.assert_array_equal(share_matrix(same, "last", True), np.triu(np.ones((70, 70)), 1))


@pytest.mark.parametrize(
    ("users", "tables", "dtype"),
    [
        (31, 2**24, np.int8),
        (33, 2**24, np.int8),
        (200, 2**24, np.int32),
        (9000, 2**24, np.int8),
        (9000, 2**13, np.int8),
        (200, 1, np.int32),
    ],
)
def test_users_are_counted_in_any_arrangement(users, tables, dtype, monkeypatch):
    """One user at a time or many, in one table, in several, and in tables one after another."""
    monkeypatch.setattr(counting, "_TABLES", tables)
    monkeypatch.setattr(_backend, "platform", lambda: "cpu")
    ahead, behind = np.random.default_rng(users).integers(0, 9, (2, users, 6)).astype(dtype)
    less = (ahead[:, :, None] < behind[:, None]).sum(0)
    np.testing.assert_array_equal(jax.jit(counting._count_less)(ahead, behind), less)


def test_gaps_stay_behind_the_largest_narrow_rank():
    ranks = jnp.array([[counting.BEYOND - 1, -1, 0]])
    want = reference.pairwise_weights(np.asarray(ranks))
    assert want[0, 1] == 1.0
    for narrow in (True, False):
        np.testing.assert_array_equal(share_matrix(ranks, "last", narrow), want)


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("top", [125, 126, 127, 255, 2**40])
def test_narrow_shares_say_whether_they_are_right(top, dtype, missing):
    """Ranks from 126 on are seen, which would tie with each other and with gaps."""
    if top > np.iinfo(dtype).max:
        return
    ranks = np.array([[top, top - 1, 0, 5], [0, 1, 2, 5]], dtype)
    if dtype != np.uint8:
        ranks[1, 3] = np.iinfo(dtype).min  # a gap
    shares, right = narrow_shares(jnp.asarray(ranks), missing)
    assert bool(right) == (top < 126)
    if top < 126:
        want = reference.pairwise_weights(ranks.astype(np.int64), missing)
        np.testing.assert_allclose(shares, want, atol=1e-15)


def test_crowds_with_larger_ranks_or_fewer_items_are_counted_too():
    ranks = np.random.default_rng(0).integers(-1, 9, (200, 7))
    for top in (125, 126, 2**31 - 2):
        ranks[5, 0] = top
        weights = PairWeights.from_ranks(ranks)
        np.testing.assert_allclose(weights.matrix, reference.pairwise_weights(ranks), atol=1e-6)
    few = ranks[:, 4:]
    shares = PairWeights.from_ranks(few).matrix
    np.testing.assert_allclose(shares, reference.pairwise_weights(few), atol=1e-6)


@pytest.mark.parametrize(("items", "tile"), [(2, 2), (50, 25), (47, 47), (100, 25), (36, 18)])
def test_tiles_divide_the_items(items, tile):
    assert counting._tile(items, 768) == tile


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
def test_more_items_than_a_byte_numbers(dtype):
    """Bytes are widened where so many items may have their largest number, which gaps would share."""
    ranks = np.minimum(np.arange(130), 127)[None]
    if dtype != np.uint8:
        ranks = np.where(np.arange(130) == 5, -1, ranks)
    want = reference.pairwise_weights(ranks)
    np.testing.assert_array_equal(
        share_matrix(jnp.asarray(ranks.astype(dtype)), "last", False), want
    )


def test_the_largest_rank_is_that_of_all_users():
    assert int(largest_rank(jnp.asarray(WITH_GAPS))) == 5
    assert int(largest_rank(jnp.full((2, 3), -1))) == -1


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64])
def test_gaps_come_last_and_no_rank_with_them(dtype):
    """Also behind the largest number of a byte, which needs a wider one."""
    top = min(np.iinfo(dtype).max, 40_000)
    ranks = np.array([top, 0] if dtype == np.uint16 else [top, -1], dtype)
    known, moved = gaps_last(jnp.asarray(ranks))
    assert known.tolist() == [True, bool(ranks[1] >= 0)]
    assert jnp.issubdtype(moved.dtype, jnp.signedinteger)
    assert moved.dtype.itemsize >= 4
    assert int(moved[0]) == top
    assert int(moved[1]) == (jnp.iinfo(moved.dtype).max if ranks[1] < 0 else 0)


@pytest.fixture
def branches_of_a_gpu(monkeypatch):
    """Without JAX's programs of other tests, and no others for these."""
    monkeypatch.setattr(_backend, "platform", lambda: "gpu")
    jax.clear_caches()
    yield
    jax.clear_caches()


@pytest.mark.usefixtures("branches_of_a_gpu")
@pytest.mark.parametrize(
    ("users", "items", "dtype", "missing", "together"),
    [
        (3, 4, np.int32, "unknown", 2000),
        (130, 5, np.int8, "last", 2000),
        (1000, 6, np.int64, "last", 2**30),
        (1023, 12, np.uint8, "unknown", 2**30),
        (1023, 12, np.uint8, "last", 2000),
    ],
)
def test_a_gpu_counts_rows_and_words_in_steps(users, items, dtype, missing, together, monkeypatch):
    """With ties and gaps, in tables at once and one after another, the last not full; wide ranks too."""
    monkeypatch.setattr(_backend, "BLOCK_BYTES", together)
    monkeypatch.setattr(counting, "_MIN_IN_WORDS", (2, 128))
    low = 0 if dtype == np.uint8 else -3
    ranks = np.random.default_rng(users).integers(low, items, (users, items)).astype(dtype)
    ranks[0, :2] = [125, low]
    want = reference.pairwise_weights(ranks.astype(np.int64), missing)
    shares, right = narrow_shares(jnp.asarray(ranks), missing)
    assert bool(right)
    np.testing.assert_allclose(shares, want, atol=1e-6)
    np.testing.assert_allclose(share_matrix(jnp.asarray(ranks), missing, False), want, atol=1e-6)
    ranks[-1, 1] = 126
    assert not bool(narrow_shares(jnp.asarray(ranks), missing)[1])


@pytest.mark.usefixtures("branches_of_a_gpu")
def test_counts_on_a_gpu_do_not_overflow_where_all_agree():
    """More users in a place than its byte counts, in rows and in words."""
    same = np.tile(np.arange(3, dtype=np.int32), (2**12, 1))
    before = np.triu(np.ones((3, 3)), 1)
    np.testing.assert_array_equal(narrow_shares(jnp.asarray(same), "last")[0], before)
    np.testing.assert_array_equal(share_matrix(jnp.asarray(same), "last", False), before)

"""Pairwise comparison of ranks, against naive counts."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.counting import gaps_last, order_lead, share_matrix
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
def test_shares_are_the_leads_of_the_users(missing):
    """A pair's share is (1 + the mean lead)/2, with ties, gaps, and users who ranked one item or nothing."""
    shares = share_matrix(jnp.asarray(WITH_GAPS), missing)
    np.testing.assert_allclose(shares, reference.pairwise_weights(WITH_GAPS, missing), atol=1e-15)
    leads = order_lead(WITH_GAPS[:, :, None], WITH_GAPS[:, None, :], missing)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(shares[off], 0.5 + 0.5 * leads.mean(0)[off], atol=1e-15)
    assert shares.dtype == jnp.result_type(float)


@pytest.mark.parametrize("users", [1, 5_000])
def test_users_of_any_number(users):
    ranks = np.argsort(np.random.default_rng(users).random((users, 70)), axis=1)
    before = (ranks[:, :, None] < ranks[:, None, :]).mean(0)
    np.testing.assert_allclose(share_matrix(jnp.asarray(ranks), "last"), before, atol=1e-15)
    same = jnp.tile(jnp.arange(70), (users, 1))
    np.testing.assert_array_equal(share_matrix(same, "last"), np.triu(np.ones((70, 70)), 1))


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64])
@pytest.mark.parametrize("top", [125, 126, 127, 255, 2**30])
def test_no_rank_ties_with_a_gap(top, dtype, missing):
    """Ranks around the largest of a byte, and gaps that a byte would not hold; traced, too."""
    if top > np.iinfo(dtype).max:
        return
    ranks = np.array([[top, top - 1, 0, 5], [0, 1, 2, 5]], dtype)
    if dtype != np.uint8:
        ranks[1, 3] = np.iinfo(dtype).min  # a gap
    want = reference.pairwise_weights(ranks.astype(np.int64), missing)
    for given in (ranks, jnp.asarray(ranks)):
        found = PairWeights.from_ranks(given, missing=missing).matrix
        np.testing.assert_allclose(found, want, atol=1e-15)
    if top < np.iinfo(dtype).max:
        traced = jax.jit(lambda x: PairWeights.from_ranks(x, missing=missing).matrix)(ranks)
        np.testing.assert_allclose(traced, want, atol=1e-15)


def test_crowds_with_larger_ranks_or_fewer_items_are_counted_too():
    ranks = np.random.default_rng(0).integers(-1, 9, (200, 7))
    for top in (125, 126, 2**31 - 2):
        ranks[5, 0] = top
        weights = PairWeights.from_ranks(ranks)
        np.testing.assert_allclose(weights.matrix, reference.pairwise_weights(ranks), atol=1e-6)
    few = ranks[:, 4:]
    shares = PairWeights.from_ranks(few).matrix
    np.testing.assert_allclose(shares, reference.pairwise_weights(few), atol=1e-6)


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

"""Weights of pairs and scores of users, against naive counts."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, kemeny_score
from privrank_jax.aggregation.borda import user_scores
from privrank_jax.aggregation.counting import order_lead
from tests.promises import user
from tests.quick import thorough
from tests.reference import aggregation as reference
from tests.reference import borda as reference_borda


def incomplete_rankings(users, items, seed=0):
    """Rankings with ties and gaps, some of users who ranked nothing or one item."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, items, (users, items))
    ranks[rng.random(ranks.shape) < rng.random((users, 1))] = -1
    ranks[0] = -1
    return ranks


def test_leads_follow_the_weight_rule():
    """Ranked before not ranked; ties, and two items not ranked, are even; under "unknown" so is any pair with a gap."""
    pairs = [((0, 1), 1), ((2, 1), -1), ((1, 1), 0), ((0, -1), 1), ((-1, 0), -1), ((-1, -1), 0)]
    for (item, pivot), lead in pairs:
        given = np.int32(item), np.int32(pivot)
        assert order_lead(*given, "last") == lead
        assert order_lead(*given, "unknown") == (0 if -1 in (item, pivot) else lead)


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("users", [1, thorough(41), 5_000])
def test_weights_are_the_naive_count(missing, users):
    ranks = incomplete_rankings(users, 6)
    expected = reference.pairwise_weights(ranks, missing)
    w = PairWeights.from_ranks(ranks, missing=missing).matrix
    assert w.dtype == jnp.result_type(float)
    np.testing.assert_allclose(w, expected, rtol=0, atol=1e-14)
    traced = jax.jit(lambda r: PairWeights.from_ranks(r, missing=missing))(ranks).matrix
    np.testing.assert_array_equal(traced, w)
    np.testing.assert_allclose(w + w.T, 1 - np.eye(6), atol=1e-15)


@pytest.mark.parametrize("missing", ["last", thorough("unknown")])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64])
def test_no_rank_ties_with_a_gap(dtype, missing):
    """Ranks around the largest of a byte and of their type, and gaps that a byte would not hold; traced, too."""
    run = jax.jit(lambda x: PairWeights.from_ranks(x, missing=missing).matrix)
    for top in (125, 126, 127, 255, 32_767, 2**30, 2**31 - 2):
        if top > np.iinfo(dtype).max:
            continue
        ranks = np.array([[top, top - 1, 0, 5], [0, 1, 2, 5]], dtype)
        if dtype != np.uint8:
            ranks[1, 3] = np.iinfo(dtype).min  # a gap
        want = reference.pairwise_weights(ranks.astype(np.int64), missing)
        for given in (ranks, jnp.asarray(ranks)):
            found = PairWeights.from_ranks(given, missing=missing).matrix
            np.testing.assert_allclose(found, want, atol=1e-15)
        if top < np.iinfo(dtype).max:
            np.testing.assert_allclose(run(ranks), want, atol=1e-15)


def test_gaps_of_64_bits_are_not_wrapped():
    """Their lower halves are 0."""
    for low in (-(2**31), -(2**32), -(2**63)):
        assert PairWeights.from_ranks(np.array([[low, 1]])).matrix.tolist() == [[0, 0], [1, 0]]


def test_kemeny_score_is_the_naive_sum_and_the_mean_distance():
    ranks = np.argsort(np.random.default_rng(0).random((9, 6)), axis=1)
    w = PairWeights.from_ranks(ranks).matrix
    first, second = np.triu_indices(6, 1)
    ahead = np.sign(ranks[:, first] - ranks[:, second])
    for candidate, own in zip(ranks, ahead):
        score = float(kemeny_score(candidate, w))
        assert score == pytest.approx(reference.kemeny_score(candidate, np.asarray(w)))
        assert score == pytest.approx((own != ahead).sum(1).mean())
    tied = float(kemeny_score([0, 0, 0, 1, 1, 1], w))
    assert tied == pytest.approx(float(jnp.sum(w[3:, :3])))


@pytest.mark.parametrize("users", [1, 7, 10**7])
def test_counts_survive(users):
    rng = np.random.default_rng(users)
    twice = np.triu(rng.integers(0, 2 * users + 1, (6, 6)), 1)
    twice += np.tril(2 * users - twice.T, -1)
    weights = PairWeights.from_counts(twice, users)
    np.testing.assert_array_equal(weights.twice, twice)
    single = dataclasses.replace(weights, matrix=weights.matrix.astype(np.float32))
    if users == 10**7:
        with pytest.raises(ValueError, match="apart"):
            _ = single.twice
    else:
        np.testing.assert_array_equal(single.twice, twice)


@pytest.mark.parametrize(("users", "items"), [(30_000, 30), thorough(3000, 150)])
def test_an_array_may_change_after_the_call(users, items):
    """Of ranks too large for bytes, which a program may not have read by then."""
    ranks = np.argsort(np.random.default_rng(0).random((users, items)), axis=1).astype(np.int32)
    ranks[0, 0] = 1000
    want = np.asarray(PairWeights.from_ranks(ranks.copy()).matrix)
    given = ranks.copy()
    weights = PairWeights.from_ranks(given)
    given[:] = 0
    np.testing.assert_array_equal(weights.matrix, want)


@pytest.mark.parametrize("ranks", [[[0, 1], [0, 1]], [[0, 200], [200, 0]], [[*range(130)]]])
def test_known_ranks_are_counted_within_a_traced_function(ranks):
    """Of arrays of JAX and of NumPy: narrow ranks, wide ones, and more items than a byte numbers."""
    want = reference.pairwise_weights(np.array(ranks))
    for known in (jnp.asarray(ranks), np.asarray(ranks)):
        found = jax.jit(lambda x, known=known: PairWeights.from_ranks(known).matrix + x)(0.0)
        np.testing.assert_allclose(found, want, atol=1e-15)


@pytest.mark.parametrize("users", [49, 300])
def test_shares_stay_within_0_and_1(users):
    """Numbers of users whose reciprocals are rounded: a product with them and a sum, fused, ends beside 0."""
    matrix = np.asarray(PairWeights.from_ranks(np.tile(np.arange(3), (users, 1))).matrix)
    assert matrix.min() == 0
    assert matrix.max() <= 1
    np.testing.assert_allclose(matrix, np.triu(np.ones((3, 3)), 1), atol=1e-15)
    assert repr(PairWeights(matrix, users)) == "<PairWeights of 3 items; shares not shown>"


W = np.array([[0, 0.9, 0.7, 0.8], [0.1, 0, 0.6, 0.5], [0.3, 0.4, 0, 0.9], [0.2, 0.5, 0.1, 0]])
USERS = np.array([[0, 1, 2, 3], [1, 1, 0, -1], [-1, 2, -1, 0], [3, 0, 0, 0]])


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_scores_are_those_of_the_pairs(missing):
    want = np.array([reference_borda.pair_shares(user, missing).sum(1) for user in USERS])
    np.testing.assert_allclose(user_scores(USERS, missing=missing), want)
    w = PairWeights.from_ranks(USERS, missing=missing)
    np.testing.assert_allclose(aggregation.borda_scores(w), want.mean(0))
    np.testing.assert_allclose(user_scores(USERS[1], missing=missing), want[1])


def test_the_largest_rank_of_a_byte_is_not_a_gap():
    ranks = np.array([127, 0, -1], np.int8)
    assert user_scores(ranks).tolist() == [1.0, 2.0, 0.0]
    w = aggregation.local_weights(jax.random.key(0), ranks[None], user(jnp.inf)).value
    np.testing.assert_allclose(w, PairWeights.from_ranks(ranks[None].astype(int)).matrix)


def test_masked_items_do_not_count():
    mask = np.array([True, False, True, True])
    want = np.zeros(4)
    want[mask] = W[np.ix_(mask, mask)].sum(1)
    np.testing.assert_allclose(aggregation.borda_scores(W, mask), want)

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.borda import user_scores
from tests.promises import user
from tests.reference import borda as reference_borda

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

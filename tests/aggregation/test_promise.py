"""Weights that carry their users, and the promises that mechanisms on them keep."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, hay_kwiksort
from privrank_jax.privacy import Privacy
from tests.promises import guarantee_of, user

RANKS = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, -1, 1], [0, 0, 1, 2], [3, 1, 2, 0]])
PRIVATE = (
    aggregation.dp_borda,
    aggregation.noise_all,
    aggregation.dp_kwiksort,
    hay_kwiksort,
    aggregation.exponential_kemeny,
)
LOCAL = (aggregation.ldp_borda, aggregation.local_weights, aggregation.ldp_kwiksort)


@pytest.mark.parametrize("private", PRIVATE)
def test_a_plain_matrix_is_refused(private, key):
    with pytest.raises(TypeError, match=r"takes PairWeights.*from_ranks"):
        private(key, PairWeights.from_ranks(RANKS).matrix, user(1.0))


@pytest.mark.parametrize("private", [*PRIVATE, *LOCAL])
def test_promises_that_cannot_be_kept_are_refused_with_advice(private, key):
    data = RANKS if private in LOCAL else PairWeights.from_ranks(RANKS)
    with pytest.raises(TypeError, match="must be a Privacy"):
        private(key, data, 1.0)
    joined = Privacy(1.0, unit="user", adjacency="add-remove")
    if private is aggregation.dp_borda:
        assert guarantee_of(lambda key: private(key, data, joined), key).adjacency == "add-remove"
    else:
        for promise in (joined, dataclasses.replace(joined, contributions=3)):
            # Leaving contributions out would not be enough.
            with pytest.raises(ValueError, match=r"it protects unit 'user', adjacency 'replace'"):
                private(key, data, promise)
    with pytest.raises(ValueError, match="leave contributions out"):
        private(key, data, dataclasses.replace(user(1.0), contributions=3))
    ranks = Privacy(1.0, unit="rank", adjacency="replace", delta=1e-6)
    found = guarantee_of(lambda key: private(key, data, ranks), key)
    assert (found.unit, found.adjacency, found.delta) == ("user", "replace", 0.0)


@pytest.mark.parametrize("private", PRIVATE)
def test_one_program_for_promises_and_for_crowds_of_any_size(private, key):
    crowds = [PairWeights.from_ranks(RANKS[:users]) for users in (2, 3, 5)]
    batch = PairWeights(
        jnp.stack([jnp.asarray(crowd.matrix) for crowd in crowds]), jnp.array([2, 3, 5])
    )
    keys, levels = jax.random.split(key, 3), user(jnp.array([0.5, 1.0, 4.0]))
    run = jax.jit(jax.vmap(private, in_axes=(0, 0, levels.axes(epsilon=0))))
    found = run(keys, batch, levels)
    for place, crowd in enumerate(crowds):
        alone = private(keys[place], crowd, user(float(levels.epsilon[place])))
        np.testing.assert_allclose(found.value[place], alone.value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("users", [1, 7, 10**7])
def test_counts_survive(users):
    rng = np.random.default_rng(users)
    twice = np.triu(rng.integers(0, 2 * users + 1, (6, 6)), 1)
    twice += np.tril(2 * users - twice.T, -1)
    weights = PairWeights.from_counts(twice, users)
    np.testing.assert_array_equal(weights.twice, twice)
    single = dataclasses.replace(weights, matrix=weights.matrix.astype(np.float32))
    if users == 10**7:
        with pytest.raises(ValueError, match="can't tell the counts of 10,000,000 users apart"):
            _ = single.twice
    else:
        np.testing.assert_array_equal(single.twice, twice)


def test_another_number_of_users_is_noticed_where_counts_are_taken():
    weights = PairWeights.from_ranks(RANKS)
    assert weights.num_users == len(RANKS)
    with pytest.raises(ValueError, match="not those of 3 users"):
        _ = dataclasses.replace(weights, num_users=3).twice
    with pytest.raises(ValueError, match="not the counts of 4 users"):
        PairWeights.from_counts(weights.twice, 4)


def test_data_are_not_shown():
    assert repr(PairWeights.from_ranks(RANKS)) == "<PairWeights of 4 items; shares not shown>"

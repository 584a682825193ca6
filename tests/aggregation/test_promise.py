"""Promises that mechanisms on rankings keep, and one program for crowds of any size."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, hay_kwiksort
from privrank_jax.privacy import Privacy
from tests.promises import guarantee_of, user

RANKS = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, -1, 1], [0, 0, 1, 2], [3, 1, 2, 0]])
PRIVATE = (aggregation.dp_kwiksort, hay_kwiksort, aggregation.exponential_kemeny)


@pytest.mark.parametrize("private", [*PRIVATE, aggregation.ldp_kwiksort])
def test_what_protects_a_user_protects_a_rank_and_spends_no_delta(private, key):
    data = RANKS if private is aggregation.ldp_kwiksort else PairWeights.from_ranks(RANKS)
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

from __future__ import annotations

import jax
import jax.numpy as jnp

from privrank_jax.simulate import worlds
from privrank_jax.simulate.memory import peak_bytes


def test_estimate_grows_with_the_problem_and_is_near_what_xla_assigns():
    def trial(key, size):
        scores, mask = worlds.cai_scores(key, size, size, jnp.float32)
        wins = worlds.tournament(key, scores, 0.5, mask=mask)
        return jnp.linalg.cholesky(wins.comparisons + size * jnp.eye(size)).sum()

    keys = jax.random.split(jax.random.key(0), 4)
    estimates = []
    for size in (10, 60):
        program = jax.vmap(lambda key, size=size: trial(key, size))
        estimates.append(peak_bytes(jax.make_jaxpr(program)(keys)))
        stats = jax.jit(program).lower(keys).compile().memory_analysis()
        assigned = stats.temp_size_in_bytes + stats.argument_size_in_bytes
        assert assigned / 2 <= estimates[-1] <= 8 * assigned
    assert estimates == sorted(estimates)
    assert estimates[1] > 20 * estimates[0]

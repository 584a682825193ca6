from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.simulate import worlds
from privrank_jax.simulate.memory import peak_bytes


def peak(function, *arguments):
    return peak_bytes(jax.make_jaxpr(function)(*arguments))


VECTOR = np.zeros(1000, np.float32)  # 4,000 bytes


def test_nested_programs_count_their_insides():
    def inner(x):
        square = x[:, None] * x[None, :]
        return square.sum(0)

    plain = peak(inner, VECTOR)
    assert plain >= 4_000_000
    assert plain <= peak(jax.jit(inner), VECTOR) <= plain + 40_000
    looped = peak(lambda x: jax.lax.fori_loop(0, 3, lambda _, v: inner(v), x), VECTOR)
    assert plain <= looped <= plain + 40_000
    scanned = peak(lambda x: jax.lax.scan(lambda c, _: (inner(c), c), x, length=7), VECTOR)
    assert scanned >= plain + 7 * 4000
    table = jnp.arange(5000.0, dtype=jnp.float32)
    assert peak(lambda x: x + table[:1000], VECTOR) >= 8000 + 20_000


def test_estimate_grows_with_the_problem_and_is_near_what_xla_assigns():
    def trial(key, size):
        scores, mask = worlds.cai_scores(key, size, size, jnp.float32)
        wins = worlds.tournament(key, scores, 0.5, mask=mask)
        return jnp.linalg.cholesky(wins.comparisons + size * jnp.eye(size)).sum()

    keys = jax.random.split(jax.random.key(0), 4)
    estimates = []
    for size in (10, 20, 60):
        program = jax.vmap(lambda key, size=size: trial(key, size))
        estimates.append(peak(program, keys))
        stats = jax.jit(program).lower(keys).compile().memory_analysis()
        assigned = stats.temp_size_in_bytes + stats.argument_size_in_bytes
        assert assigned / 2 <= estimates[-1] <= 8 * assigned
    assert estimates == sorted(estimates)
    assert estimates[2] > 20 * estimates[0]

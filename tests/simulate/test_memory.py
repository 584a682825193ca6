from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive

from privrank_jax.simulate import worlds
from privrank_jax.simulate.memory import bodies, peak_bytes


def peak(function, *arguments):
    return peak_bytes(jax.make_jaxpr(function)(*arguments))


VECTOR = np.zeros(1000, np.float32)  # 4,000 bytes


def test_values_die_after_their_last_use():
    def chain(x):
        for _ in range(10):
            x = x + 1.0
        return x

    def kept(x):
        parts = [x + float(i) for i in range(10)]
        return sum(jnp.sin(part) for part in parts)

    assert peak(chain, VECTOR) == 3 * 4000  # argument, one value and its successor
    assert peak(kept, VECTOR) >= 11 * 4000


def test_arguments_and_constants_count_throughout():
    table = jnp.arange(5000.0, dtype=jnp.float32)
    assert peak(lambda x: x + 1, VECTOR) == 8000
    assert peak(lambda x: x + table[:1000], VECTOR) >= 8000 + 20_000


def test_nested_programs_count_their_insides():
    def inner(x):
        square = x[:, None] * x[None, :]
        return square.sum(0)

    plain = peak(inner, VECTOR)
    assert plain >= 4_000_000
    assert peak(jax.jit(inner), VECTOR) == plain
    looped = peak(lambda x: jax.lax.fori_loop(0, 3, lambda _, v: inner(v), x), VECTOR)
    assert plain <= looped <= plain + 40_000
    scanned = peak(lambda x: jax.lax.scan(lambda c, _: (inner(c), c), x, length=7), VECTOR)
    assert scanned >= plain + 7 * 4000
    branched = peak(lambda x: jax.lax.cond(x[0] > 0, inner, jnp.sin, x), VECTOR)
    assert plain <= branched <= plain + 40_000


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


def under_other_names(name, function, *arguments):
    """Peak of a program of one equation, which JAX would call ``name``, with parameters that nobody knows."""
    (equation,) = jax.make_jaxpr(function)(*arguments).jaxpr.eqns
    kept = (value for value in equation.params.values() if list(bodies({"": value})))
    params = {f"program_{i}": value for i, value in enumerate(kept)}
    primitive = Primitive(name)
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda *_, **__: [x.aval for x in equation.outvars])
    return peak(lambda *x: primitive.bind(*x, count=object(), **params), *arguments)


def test_estimate_needs_no_names_that_are_jaxs_own():
    def scan(start, rows):
        return jax.lax.scan(lambda x, row: (x + row.sum(), x * row[0]), start, rows)

    def loop(start):
        return jax.lax.while_loop(
            lambda x: x[0] < 3, lambda x: x[:, None].repeat(9, 1).sum(1), start
        )

    rows = np.zeros((20, 30), np.float32)
    known = peak(scan, VECTOR, rows)
    # Arguments, results, what the body makes; and twice the carry with one row.
    assert known == 6400 + 84_000 + 8004 + 2 * (4000 + 120)
    assert under_other_names("scan", scan, VECTOR, rows) == known
    assert under_other_names("while", loop, VECTOR) == peak(loop, VECTOR)
    assert under_other_names("loop_of_tomorrow", scan, VECTOR, rows) == known
    assert under_other_names("loop_of_tomorrow", loop, VECTOR) >= peak(loop, VECTOR)
    assert under_other_names("op_of_tomorrow", jnp.sin, VECTOR) == 8000

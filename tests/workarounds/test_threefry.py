"""The generator that fuses: JAX's numbers, and integers below a bound."""

from __future__ import annotations

import jax
import jax.extend
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _backend, privacy_audit
from privrank_jax._workarounds.threefry import below, fused, threefry
from privrank_jax.simulate.memory import bodies
from tests.quick import thorough_but

DRAWS = {
    "float32": lambda key: jax.random.uniform(key, (7, 3), jnp.float32),
    "float64": lambda key: jax.random.normal(key, (5,), jnp.float64),
    "bytes": lambda key: jax.random.bits(key, (9,), jnp.uint8),
    "nothing": lambda key: jax.random.bits(key, (0, 3)),
    "one": lambda key: jax.random.laplace(key),
    "order": lambda key: jax.random.permutation(key, 11),
    "gamma": lambda key: jax.random.gamma(key, 2.0, (5,)),
    "binomial": lambda key: jax.random.binomial(key, 20, 0.3, (5,)),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (3, 2))),
    "fold": lambda key: jax.random.key_data(jax.random.fold_in(key, 2**32 - 1)),
    "batch": lambda key: jax.vmap(
        lambda part: jax.random.normal(jax.random.fold_in(key, part), (4,))
    )(jnp.arange(3, dtype=jnp.uint32)),
}


@pytest.fixture(autouse=True)
def as_on_a_cpu(monkeypatch):
    """The generator is tested on any device."""
    monkeypatch.setattr(_backend, "platform", lambda: "cpu")


@pytest.mark.parametrize("name", thorough_but(DRAWS, "float64", "split", "fold"))
def test_numbers_are_those_of_jax(key, name):
    draw = jax.jit(DRAWS[name])
    theirs, ours = draw(key), draw(fused(key))
    assert theirs.dtype == ours.dtype
    np.testing.assert_array_equal(theirs, ours)


def test_an_array_of_keys(key):
    keys = jax.random.split(key, (2, 3))
    assert fused(keys).shape == (2, 3)
    np.testing.assert_array_equal(jax.random.key_data(fused(keys)), jax.random.key_data(keys))
    drawn = jax.jit(jax.vmap(jax.vmap(lambda one: jax.random.bits(one, (4,)))))
    np.testing.assert_array_equal(drawn(keys), drawn(fused(keys)))


def test_other_devices_take_the_generator_of_jax(key, monkeypatch):
    monkeypatch.setattr(_backend, "platform", lambda: "gpu")
    assert fused(key) is key


# One row of each function, and of data of one shape.
PRIVATE = {
    " ".join([row.function, *map(str, map(np.shape, jax.tree.leaves(row.neighbors[0])))]): row
    for row in map(privacy_audit.get, privacy_audit.names())
}


def draws_by_jax(jaxpr):
    """What a program draws, splits or folds by the generator of JAX."""
    for equation in jaxpr.eqns:
        if equation.primitive.name in {"random_bits", "random_split", "random_fold_in"}:
            (kind,) = {variable.aval.dtype for variable in equation.invars[:1]}
            if kind == jax.random.key(0).dtype:
                yield equation.primitive.name
        for body in bodies(equation.params):
            yield from draws_by_jax(body)


FAMILIES = {name.partition("_")[0]: name for name in reversed(PRIVATE)}  # the first of each


@pytest.mark.parametrize("name", thorough_but(PRIVATE, *FAMILIES.values()))
def test_private_functions_draw_from_it_whatever_key_they_are_given(key, name):
    row = PRIVATE[name]
    data = jax.tree.map(jnp.asarray, row.neighbors[0])
    program = jax.make_jaxpr(lambda key, data, epsilon: row.run(key, data, row.at(epsilon)))
    assert list(draws_by_jax(program(key, data, jnp.asarray(1.0)).jaxpr)) == []


def test_other_keys_come_back_as_they_are(key):
    other = jax.random.key(0, impl="rbg")
    assert fused(other) is other
    assert fused(fused(key)).dtype == fused(key).dtype != key.dtype


def test_words_are_those_of_threefry(key):
    seed, counter = jax.random.key_data(key), jnp.arange(1, 6, dtype=jnp.uint32)
    ours = jax.jit(threefry)(seed[0], seed[1], counter, jnp.uint32(7))
    blocks = jnp.append(counter, jnp.full_like(counter, 7))
    theirs = jax.extend.random.threefry_2x32(seed, blocks)
    np.testing.assert_array_equal(np.concatenate(ours), theirs)


def test_more_numbers_than_a_key_has_are_refused(key):
    with pytest.raises(NotImplementedError, match="2\\*\\*32"):
        jax.jit(lambda one: jax.random.bits(fused(one), (2**17, 2**16))).lower(key)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 700, 65_535, 65_536, 65_537, 10**9, 2**31 - 1])
def test_integers_below_a_bound_are_those_of_long_arithmetic(count):
    edges = np.array([0, 1, 2**16 - 1, 2**16, 2**31, 2**32 - 1], np.uint32)
    words = np.append(edges, np.random.default_rng(1).integers(0, 2**32, 500, np.uint32))
    expected = words.astype(object) * count >> 32
    found = jax.jit(below)(words, count)
    assert found.dtype == jnp.int32
    np.testing.assert_array_equal(found, expected.astype(np.int64))

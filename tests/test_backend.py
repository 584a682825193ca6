"""Sizes of blocks and of memory by the kind of device, and products in full precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Privacy, _backend
from privrank_jax._backend import (
    at_once,
    memory_for_batches,
    platform,
    product,
)
from privrank_jax.aggregation import PairWeights, local_weights
from privrank_jax.simulate import worlds


class Device:
    """What JAX tells of a device."""

    def __init__(self, platform, stats=None, error=None):
        self.platform, self._stats, self._error = platform, stats, error

    def memory_stats(self):
        if self._error is not None:
            raise self._error
        return self._stats


def test_the_platform_is_that_of_the_default_device(monkeypatch):
    assert platform() == jax.default_backend()
    with jax.default_device(jax.devices("cpu")[0]):
        assert platform() == "cpu"
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not _backend.on_cpu()
    with jax.default_device(jax.devices("cpu")[0]):
        assert _backend.on_cpu()


@pytest.mark.parametrize(
    ("kind", "cpu", "bytes_each", "expected"),
    [
        ("cpu", 4, 1, 4),
        ("cpu", 0, 1, 1),
        ("gpu", 4, 1 << 20, 1024),
        ("gpu", 4, 1 << 40, 4),
        ("gpu", 4, 0, 1 << 30),
    ],
)
def test_a_step_takes_what_suits_the_device(monkeypatch, kind, cpu, bytes_each, expected):
    monkeypatch.setattr(_backend, "platform", lambda: kind)
    assert at_once(cpu, bytes_each) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([Device("cpu", {"bytes_limit": 1 << 40})], 1 << 30),
        ([Device("gpu", {"bytes_limit": 100_000}), Device("gpu", {"bytes_limit": 50_000})], 20_000),
        ([Device("gpu", {"bytes_in_use": 3})], 1 << 30),
        ([Device("tpu", error=NotImplementedError())], 1 << 30),
        ([Device("gpu", error=jax.errors.JaxRuntimeError("UNIMPLEMENTED"))], 1 << 30),
        ([], 1 << 30),
    ],
)
def test_memory_is_a_share_of_the_smallest_device(devices, expected):
    assert memory_for_batches(devices) == expected


def test_products_and_their_derivatives_ask_for_full_precision():
    x = jnp.ones((3, 3), jnp.float32)
    slope = jax.grad(lambda a: jnp.sum(product(a, x) ** 2))
    text = jax.jit(slope).lower(x).as_text()
    assert text.count("dot_general") == text.count("precision = [HIGHEST, HIGHEST]") >= 2


@pytest.fixture
def steps_of(monkeypatch):
    """Results of a function with blocks as on a CPU, and a few at a time; both traced anew."""

    def both(function):
        found = []
        for together in (1, 3):
            monkeypatch.setattr(_backend, "at_once", lambda cpu, size, n=together: n)
            jax.clear_caches()
            found.append(function())
        return found

    yield both
    jax.clear_caches()


@pytest.mark.slow
def test_what_is_drawn_does_not_depend_on_the_blocks_of_a_step(steps_of, key):
    """Rankings and counts to the last bit, sums of floating-point numbers to rounding."""
    chances, budgets = jnp.array([0.9, 0.6, 0.4]), jnp.full(500, 1.5)
    ranks = jnp.tile(jnp.arange(30), (1300, 1))
    privacy = Privacy(2.0, unit="user", adjacency="replace")

    def draws(key, chances, budgets, ranks):
        exact = (
            worlds.mallows_rankings(key, 5000, 4, 0.5),
            worlds.mallows_weights(key, 5000, 4, 0.5).matrix,
            PairWeights.from_ranks(ranks).matrix,
        )
        sums = [
            draw(key, chances, budgets) for draw in (worlds.draw_report_sums, worlds.mechanism_sums)
        ]
        return exact, jax.tree.leaves(sums), local_weights(key, ranks, privacy).value

    one, three = steps_of(lambda: jax.jit(draws)(key, chances, budgets, ranks))
    for a, b in zip(one[0], three[0], strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(one[1], three[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(one[2], three[2], rtol=1e-12, atol=1e-12)

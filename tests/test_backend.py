"""Sizes of blocks and of memory by the kind of device, and products in full precision."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _backend
from privrank_jax._backend import at_once, memory_for_batches, platform, product


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
    ("kind", "cpu", "bytes_each", "most", "expected"),
    [
        ("cpu", 4, 1, 1000, 4),
        ("cpu", 4, 1, 3, 3),
        ("cpu", 0, 1, 3, 1),
        ("gpu", 4, 1 << 20, 1000, 256),
        ("gpu", 4, 1 << 20, 100, 100),
        ("gpu", 4, 1 << 40, 100, 4),
        ("gpu", 4, 0, 100, 100),
        ("tpu", 1, 1 << 27, 100, 2),
    ],
)
def test_a_step_takes_what_suits_the_device(monkeypatch, kind, cpu, bytes_each, most, expected):
    monkeypatch.setattr(_backend, "platform", lambda: kind)
    assert at_once(cpu, bytes_each, most) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ([Device("cpu")], 1 << 30),
        ([Device("cpu", {"bytes_limit": 1 << 40})], 1 << 30),
        ([Device("gpu", {"bytes_limit": 100_000}), Device("gpu", {"bytes_limit": 50_000})], 20_000),
        ([Device("gpu", {"bytes_in_use": 3})], 1 << 30),
        ([Device("gpu")], 1 << 30),
        ([Device("tpu", error=NotImplementedError())], 1 << 30),
        ([Device("gpu", error=jax.errors.JaxRuntimeError("UNIMPLEMENTED"))], 1 << 30),
        ([], 1 << 30),
    ],
)
def test_memory_is_a_share_of_the_smallest_device(devices, expected):
    assert memory_for_batches(devices) == expected


def test_this_machine_has_memory_for_batches():
    assert memory_for_batches(jax.local_devices()) >= 1 << 20


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_products_are_exact_where_their_dtype_is(dtype):
    """Integers of 23 bits: TF32 would keep 11, bfloat16 8. On a CPU this holds for any product."""
    left = np.array([[2**23 - 1, 1], [2**22 + 1, 3]]).astype(dtype)
    right = np.array([1, 2]).astype(dtype)
    found = jax.jit(product)(left, right)
    assert found.dtype == dtype
    assert found.tolist() == (left @ right).tolist()


def test_products_and_their_derivatives_ask_for_full_precision():
    x = jnp.ones((3, 3), jnp.float32)
    slope = jax.grad(lambda a: jnp.sum(product(a, x) ** 2))
    text = jax.jit(slope).lower(x).as_text()
    assert text.count("dot_general") == text.count("precision = [HIGHEST, HIGHEST]") >= 2

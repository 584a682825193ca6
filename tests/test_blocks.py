"""Blocks of users: their sizes, and the same values as of the whole crowd."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _backend, _blocks
from privrank_jax._blocks import blockwise, users_at_once


def test_small_crowds_are_one_block():
    assert users_at_once(1, 10**9) == 1
    assert users_at_once(10**5, 80) == 10**5


def test_blocks_of_other_sizes(monkeypatch):
    monkeypatch.setattr(_backend, "platform", lambda: "cpu")
    assert 2**12 < users_at_once(10**6, 400, 2**22) <= 2**22 // 400 + 64
    assert users_at_once(10**5, 80, 2**22) < 10**5  # not whole either
    assert users_at_once(10**5, 80, whole_bytes=2**22) < 10**5
    assert users_at_once(10**5, 80, 2**22, 2**23) == 10**5
    assert users_at_once(10**5, 80, 2**20, 2**22) == users_at_once(10**5, 80, 2**20)
    assert users_at_once(5, 0, 2**22) == 5
    monkeypatch.setattr(_backend, "platform", lambda: "gpu")
    monkeypatch.setattr(_backend, "BLOCK_BYTES", 2**20)
    assert users_at_once(10**5, 80) < users_at_once(10**5, 80, whole_bytes=2**23) == 10**5


@pytest.mark.parametrize("users", [90_000, 100_000, 100_001, 10**7])
@pytest.mark.parametrize("bytes_each", [400, 412, 4096, 10**6])
def test_blocks_fit_in_cache_and_their_rows_do_not_collide(users, bytes_each, monkeypatch):
    monkeypatch.setattr(_backend, "platform", lambda: "cpu")
    block = users_at_once(users, bytes_each)
    assert block % 128 == 64
    assert block <= max(64, _blocks.CACHE_BYTES // bytes_each) + 64
    monkeypatch.setattr(_backend, "platform", lambda: "gpu")
    assert block <= users_at_once(users, bytes_each) <= users
    assert _blocks.WHOLE_BYTES < 400 * 10**5
    assert users_at_once(400, 10**5) == 400  # an accelerator takes as many at once


@pytest.mark.parametrize("users", [1, 64, 65, 300])
def test_values_are_those_of_the_whole_crowd(users, monkeypatch):
    """A crowd of one block, and blocks of which the last overlaps; in a batch too."""
    monkeypatch.setattr(_blocks, "WHOLE_BYTES", 0)
    monkeypatch.setattr(_blocks, "CACHE_BYTES", 0)
    monkeypatch.setattr(_backend, "platform", lambda: "cpu")
    rows = np.random.default_rng(users).integers(-99, 99, (2, users, 3)).astype(np.int32)
    shift = np.arange(users, dtype=np.int32)
    lengths = []

    def double(rows, shift):
        lengths.append(len(shift))
        return 2 * rows[:, ::-1] + shift[:, None]

    found = jax.jit(lambda rows: blockwise(double, rows, jnp.asarray(shift)))(rows[0])
    np.testing.assert_array_equal(found, 2 * rows[0, :, ::-1] + shift[:, None])
    assert set(lengths) == {min(users, 64)}
    alike = jax.jit(lambda shift: blockwise(double, jnp.asarray(rows[0, :1]), shift))(shift)
    np.testing.assert_array_equal(alike, 2 * rows[0, :1, ::-1] + shift[:, None])
    batch = jax.vmap(lambda rows: blockwise(double, rows, jnp.asarray(shift)))(rows)
    np.testing.assert_array_equal(batch, 2 * rows[:, :, ::-1] + shift[:, None])

"""Discordant pairs of crowds, against naive counts."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import _backend, _discordance, metrics


def naive(a, b):
    behind = (a[:, :, None] < a[:, None]) & (b[:, :, None] > b[:, None])
    return behind.sum((1, 2))


@pytest.mark.parametrize(
    ("users", "items", "low", "high"),
    [
        (5, 3, 0, 3),
        (1000, 40, 0, 126),
        (70, 103, 0, 126),  # so many items that users stand side by side
        (640, 16, 0, 4),  # many ties
        (170, 16, -3, 9),
        (170, 16, -(2**31), 2**31 - 1),
    ],
)
def test_crowds_are_counted_like_single_rankings(users, items, low, high):
    """``low`` and the largest rank are among them."""
    a, b = np.random.default_rng(items).integers(low, high, (2, users, items)).astype(np.int32)
    a[0], b[0] = np.arange(items), np.arange(items)[::-1]
    a[1, :2], b[1, :2] = [low, high - 1], [high - 1, low]
    found = jax.jit(jax.vmap(metrics.kendall_distance))(a, b)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, naive(a, b))
    assert found[0] == items * (items - 1) // 2


def test_masked_items_and_largest_integers_are_behind_all():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, (2, 200, 9)).astype(np.int32)
    a[3, 4] = np.iinfo(np.int32).max
    mask = rng.random((200, 9)) < 0.7
    found = jax.vmap(lambda a, b, mask: metrics.kendall_distance(a, b, mask=mask))(a, b, mask)
    for row, distance in enumerate(found):
        kept = mask[row]
        assert distance == naive(a[row, kept][None], b[row, kept][None])[0]


def test_shared_rankings_and_batches_in_batches():
    a, b = np.random.default_rng(1).integers(0, 20, (2, 4, 50, 20)).astype(np.int32)
    found = jax.vmap(jax.vmap(metrics.kendall_distance))(a, b)
    np.testing.assert_array_equal(found, [naive(*pair) for pair in zip(a, b)])
    shared = jax.vmap(metrics.kendall_distance, (0, None))(a[0], b[0, 0])
    np.testing.assert_array_equal(shared, naive(a[0], np.tile(b[0, 0], (50, 1))))


def test_small_ranks_say_what_is_larger():
    largest = np.iinfo(np.int32).max
    ranks = np.array([[0, 125, 126, 127], [-1, -(2**31), largest, largest - 1]], np.int32)
    np.testing.assert_array_equal(
        _discordance._small(ranks), [[0, 125, 127, 127], [127, 127, 126, 127]]
    )


@pytest.mark.parametrize(
    ("users", "items", "low", "high"),
    [
        (5000, 3, 0, 3),
        (4200, 12, 0, 126),
        (130, 100, 0, 100),  # more items than one kernel compares, and sums near their largest
        (130, 3, 0, 127),  # 126 stands for the largest integer of all
        (130, 5, -(2**31), 2**31 - 1),
        (3, 5, 0, 9),  # too few for words
    ],
)
def test_a_gpu_counts_crowds_in_words(users, items, low, high, monkeypatch):
    """In one block or in several, with ranks that bytes hold and others."""
    monkeypatch.setattr(_backend, "platform", lambda: "gpu")
    monkeypatch.setattr(_backend, "BLOCK_BYTES", 2**17)
    monkeypatch.setattr(_discordance, "_MIN_IN_WORDS", (3, 64))
    monkeypatch.setattr(_discordance, "_BYTES_IN_ROWS_ON_GPU", 2**11)
    a, b = np.random.default_rng(items).integers(low, high, (2, users, items)).astype(np.int32)
    a[0], b[0] = np.arange(items), np.arange(items)[::-1]
    a[1, :2], b[1, :2] = [low, high - 1], [high - 1, low]
    # A function of its own: JAX keeps the program of one it knows, whatever the platform.
    found = jax.vmap(lambda a, b: _discordance.discordant(a, b))(a, b)
    np.testing.assert_array_equal(found, naive(a, b))

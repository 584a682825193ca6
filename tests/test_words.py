"""Four users to a word, against the same numbers one by one."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax._words import any_wide, blocks, by_item, quarters


@given(st.integers(1, 40), st.integers(2, 5_000), st.integers(0, 39), st.integers(1, 10_000))
def test_blocks_cover_a_crowd(step, steps, more, most):
    users = steps * step + more
    number, block = blocks(users, step, most)
    assert block % step == 0
    assert (number - 1) * block < users <= number * block
    assert block <= users
    assert block <= max(most + step, 2 * step)


def test_numbers_come_back_item_by_item():
    """Blocks of two words, so of eight users; the first users of all are in the lowest bytes."""
    numbers = np.random.default_rng(0).integers(0, 256, (30, 3)).astype(np.uint32)
    words = by_item(quarters(jnp.asarray(numbers), 5, 24), 2)
    assert words.shape == (3, 3, 2)
    found = np.stack([np.asarray(words) >> 8 * k & 255 for k in range(4)])
    np.testing.assert_array_equal(np.swapaxes(found, 2, 3).reshape(24, 3), numbers[5:29])


@pytest.mark.parametrize("place", [0, 6, 13, 23])
def test_one_wide_number_is_seen(place):
    numbers = np.full((24, 3), 126, np.uint32)
    assert not bool(any_wide(by_item(quarters(jnp.asarray(numbers), 0, 24), 3)))
    numbers[place, place % 3] = 127
    assert bool(any_wide(by_item(quarters(jnp.asarray(numbers), 0, 24), 3)))

"""Repeated insertion, against a list of Python."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.mallows.sampling import insert
from tests.reference import mallows as naive


@pytest.mark.parametrize(
    ("items", "users", "dtype"),
    [
        *((items, 50, np.int8) for items in (1, 16, 17, 57, 128)),
        *((items, users, np.int16) for items, users in ((2, 1), (129, 3))),
        (140, 2, np.int32),
    ],
)
def test_insertion_is_that_of_a_list(items, users, dtype):
    rng = np.random.default_rng(items)
    codes = rng.integers(0, np.arange(1, items + 1)[:, None], (items, users)).astype(dtype)
    codes[:, 0] = np.arange(items)  # the largest places that there are
    wanted = np.stack([naive.insert(column) for column in codes.T], axis=1)
    found = jax.jit(insert)(codes)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)

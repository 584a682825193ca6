"""Counting on the host: the same as traced, and bad rows are refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from tests.rows import ITEMS, random_rows

BAD_ROWS = [
    ({"winners": [0, 1]}, "one shape"),
    ({"winners": [[0]], "losers": [[1]]}, "one shape"),
    ({"winners": [0.0]}, "integer item indices"),
    ({"winners": [3]}, r"winners must lie in 0\.\.2, found 3\.\.3; items are counted from 0"),
    ({"losers": [-1]}, r"losers must lie in 0\.\.2"),
    ({"losers": [0]}, "row 0 compares item 0 with itself; drop such rows"),
    ({"num_items": 0}, "num_items must be an integer of at least 1"),
    ({"num_items": 2.0}, "num_items must be an integer"),
    ({"weights": [-1.0]}, "weights must be finite and at least 0"),
    ({"weights": [np.nan]}, "weights must be finite"),
    ({"weights": [1.0, 2.0]}, "one shape"),
    ({"tied": [True, False]}, "one shape"),
]


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_traced_counts_equal_counts_on_the_host(dtype):
    rows = [random_rows(seed) for seed in range(3)]
    stacked = [np.stack(column) for column in zip(*rows)]

    def count(winners, losers, weights, tied):
        return WinCounts.from_comparisons(
            winners, losers, num_items=ITEMS, weights=weights, tied=tied, dtype=dtype
        ).matrix

    traced = jax.jit(jax.vmap(count))(*stacked)
    assert traced.dtype == dtype
    for row, found in zip(rows, traced):
        host = count(*row)
        assert host.dtype == dtype
        np.testing.assert_array_equal(found, host)
    plain = jax.jit(lambda *pair: WinCounts.from_comparisons(*pair, num_items=ITEMS).matrix)
    np.testing.assert_array_equal(
        plain(*rows[0][:2]), WinCounts.from_comparisons(*rows[0][:2], num_items=ITEMS).matrix
    )


@pytest.mark.parametrize(("change", "message"), BAD_ROWS)
def test_bad_rows_are_refused(change, message):
    given = {"winners": [0], "losers": [1], "num_items": 3} | change
    winners, losers = np.array(given.pop("winners")), np.array(given.pop("losers"))
    with pytest.raises(ValueError, match=message):
        WinCounts.from_comparisons(winners, losers, **given)
    if not {"weights", "tied"} & set(given):
        with pytest.raises(ValueError, match=message):
            WinEdges.from_comparisons(winners, losers, **given)

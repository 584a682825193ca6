"""Places in rankings with ties and blanks, against counting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.data.rankings import before

ROWS = st.integers(1, 6).flatmap(
    lambda m: st.lists(st.lists(st.integers(-1, 5), min_size=m, max_size=m), min_size=1, max_size=4)
)


@settings(max_examples=150, derandomize=True)
@given(ROWS)
def test_places_are_what_counting_gives(rows):
    expected = [
        [sum(0 <= other < rank for other in row) if rank >= 0 else -1 for rank in row]
        for row in rows
    ]
    assert before(np.array(rows)).tolist() == expected


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_the_largest_number_of_a_type_is_a_rank_like_any_other(dtype):
    largest = np.iinfo(dtype).max
    ranks = np.array([[-1, largest, 0, -1, largest]], dtype)
    assert before(ranks).tolist() == [[-1, 1, 0, -1, 1]]

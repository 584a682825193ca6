"""The contract of private functions on the rows of win totals with ties."""

from __future__ import annotations

import numpy as np

from privrank_jax.privacy_audit import audited_ties, neighbors
from tests.privacy_audit.contract import *  # noqa: F403


def test_all_rows_are_about_flips():
    """Meetings are public: the fit needs them."""
    assert {row.promise.adjacency for row in audited_ties.AUDITED} == {"flip"}


def test_neighbors_with_ties_are_those_without_and_their_ties():
    """A tie marks the halves of its own pair, and flips keep the pairs: 3 outcomes, 3 pairs of neighbors."""
    found = neighbors.comparisons([np.zeros((2, 2, 2))], 1, "flip")
    plain = neighbors.comparisons([np.zeros((2, 2))], 1, "flip")
    np.testing.assert_array_equal(found.data[:, 0], plain.data)
    np.testing.assert_array_equal(found.pairs, plain.pairs)
    np.testing.assert_array_equal(found.data[:, 1].sum((-2, -1)), [0, 0, 0, 1])
    np.testing.assert_array_equal(
        audited_ties.numbers(found.data), [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.5, 0.5, 1]]
    )

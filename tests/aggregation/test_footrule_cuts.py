"""Types of footrule reports: shares and gaps by enumeration, the best ones kept, nothing beyond the limit."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation.footrule_cuts import binomials, cut_design, cut_types


@pytest.mark.parametrize("items", [2, 3, 6])
def test_shares_and_gaps_are_those_of_all_sets(items):
    types = cut_types(items)
    for cut, row in itertools.product(range(1, items), range(types.size.shape[1])):
        place = cut - 1, row
        sets = list(itertools.combinations(range(items), types.size[place]))
        accepted = [s for s in sets if sum(j < cut for j in s) >= types.threshold[place]]
        assert types.share[place] == pytest.approx(len(accepted) / len(sets))
        held = [np.mean([j in s for s in accepted]) for j in (0, items - 1)]
        assert types.gap[place] == pytest.approx(held[0] - held[1])
        assert types.length[place] ** 2 == pytest.approx(
            types.size[place] * (items - types.size[place]) / items
        )


def test_mirrored_cuts_have_the_same_error():
    """Sets of m - a items at cut m - k are the complements of those of a items at cut k."""
    for epsilon in (0.1, 1.0, 4.0, np.inf):
        odds = cut_design(31, epsilon).odds
        np.testing.assert_allclose(odds, odds[::-1])


def test_errors_fall_with_epsilon():
    norms = [cut_design(12, epsilon).odds.sum() for epsilon in np.geomspace(1e-3, 30, 60)]
    assert np.all(np.diff(norms) < 0)
    assert norms[0] == pytest.approx(norms[0], rel=1e-3)
    assert cut_design(12, np.inf).odds.sum() == pytest.approx((12**2 - 1) / 3)


def test_traced_designs_are_the_same():
    traced = jax.jit(lambda epsilon: cut_design(9, epsilon))(1.7)
    for one, other in zip(traced, cut_design(9, 1.7)):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert isinstance(traced.odds, jnp.ndarray)


def test_binomials_are_near_exact():
    ways = binomials(200)
    for row, column in ((200, 100), (137, 20), (7, 9)):
        assert ways[row, column] == pytest.approx(math.comb(row, column), rel=1e-13)


@pytest.mark.parametrize("items", [1, 201])
def test_other_numbers_of_items_are_refused(items):
    with pytest.raises(ValueError, match="2 to 200"):
        cut_types(items)

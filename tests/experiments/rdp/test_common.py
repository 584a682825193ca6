"""Laws that the studies share, against slow twins."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from privrank_jax.experiments.rdp import common as rdp_common
from tests.reference.attack import mallows_law


def test_laplace_keeps_as_many_pairs_as_the_law_of_two_noises_says():
    for items, epsilon in ((2, 1.0), (5, 3.0), (4, 60.0)):
        scale = 2 * (items - 1) / epsilon
        expected = 0.0
        for gap in range(1, items):
            # P(X - Y < gap), by numerical integration over Y.
            at = np.linspace(-40, 40, 200_001) * scale
            chance = stats.laplace.cdf(at + gap, scale=scale) * stats.laplace.pdf(at, scale=scale)
            expected += (items - gap) * np.trapezoid(chance, at)
        assert rdp_common.laplace_concordance(items, epsilon) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("items", [3, 4])
def test_neighbors_agree_once_one_item_is_out_and_none_is_left_out(items):
    found = [tuple(ranks) for ranks in rdp_common.neighbors(items).tolist()]
    own = tuple(range(items))
    assert found[0] == own

    def without(ranks, item):
        return [other for other in np.argsort(ranks) if other != item]

    near = {
        ranks
        for ranks in itertools.permutations(range(items))
        if any(without(ranks, item) == without(own, item) for item in range(items))
    }
    assert set(found) == near
    assert len(found) == len(near) == (items - 1) ** 2 + 1
    law = rdp_common.mallows_law(items, 1.3)
    for center, row in zip(found, law):
        expected = mallows_law(center, 1.3)
        np.testing.assert_allclose(
            row, [expected[tuple(r)] for r in rdp_common.all_rankings(items)]
        )

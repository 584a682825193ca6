from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.integrate
import scipy.special

from privrank_jax.aggregation import bounds
from privrank_jax.aggregation.lower_bounds import approximate_lower_bound, pure_lower_bound
from tests.promises import user


def test_packing_in_kendalls_metric_counts_inversions():
    """m = 5: 1/Pr[at most r inversions], all 120 counted; and from a packing found greedily, no larger."""
    ranks = np.array(list(itertools.permutations(range(5))))
    i, j = np.triu_indices(5, 1)
    inversions = (ranks[:, i] > ranks[:, j]).sum(1)
    for additive in (0.01, 0.04):
        radius = math.floor(4 * additive * 25)
        least = math.ceil(120 / (inversions <= radius).sum())
        want = math.log(least - 1) / 0.5
        assert pure_lower_bound(5, 0.5, additive=additive) == pytest.approx(want)
        packed = []
        for row in ranks:
            apart = [((row[i] < row[j]) != (other[i] < other[j])).sum() for other in packed]
            if all(distance > radius for distance in apart):
                packed.append(row)
        assert len(packed) >= least


def test_pure_lower_bound_grows_as_m_over_epsilon():
    for packing, least in (("rankings", 0.8), ("codes", 0.02)):
        for items in (60, 240):
            bound = pure_lower_bound(items, 0.5, packing=packing)
            assert bound > least * items / 0.5
        assert pure_lower_bound(60, 0.25, packing=packing) == pytest.approx(
            2 * pure_lower_bound(60, 0.5, packing=packing)
        )
    # Where nothing can be told apart, nothing is claimed.
    assert pure_lower_bound(6, 1.0, additive=1.0) == 0.0


def test_lower_bound_is_below_what_is_achieved():
    """The exponential mechanism reaches 0.01m² with OPT = 0 from some n on: the lower bound must be below it."""
    for items in (5, 20, 100):
        needed = 0.01 * items**2
        users = bounds.bound("exponential", items, 1, user(1.0)).additive / needed
        assert 0 < pure_lower_bound(items, 1.0) < users


@pytest.mark.parametrize("ratio", [1.0, 5.0, 40.0])
def test_approximate_lower_bound_solves_for_its_constants(ratio):
    """β from the bound: E|2q - 1| by quadrature is 1 - 0.25/α; and the proof's inequalities hold with c."""
    items = 10**8
    bound = approximate_lower_bound(items, 1.0, ratio=ratio)
    half = items / (40 * ratio + 2)
    shape = bound.users / (0.05 * math.sqrt(half))
    log_norm = scipy.special.betaln(shape, shape)
    # q = x^{1/shape}/2 removes the pole at 0; the law is even about 1/2
    mean, _ = scipy.integrate.quad(
        lambda x: (1 - x ** (1 / shape)) * (1 - 0.5 * x ** (1 / shape)) ** (shape - 1), 0, 1
    )
    mean *= 2 * math.exp(-log_norm) * 0.5**shape / shape
    assert mean == pytest.approx(1 - 0.25 / ratio, rel=1e-6)
    middle = 40 * ratio * half
    assert 4 * ratio * half**2 / middle <= 0.1 * half * (1 + 1e-9)
    assert 2 * bound.additive * items**2 / middle <= 0.1 * half * (1 + 1e-9)
    quarter = approximate_lower_bound(items, 0.25, ratio=ratio)
    assert quarter.users == pytest.approx(4 * bound.users)
    published = 1e-5 * ratio  # the paper's c: valid only up to α = 11
    assert (published <= bound.additive) == (ratio <= 11)

"""K-norm noise on Borda scores composes by its losses: against sums over the lattice, for all changes of small data."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.privacy import Guarantee, Neighbors, Privacy, compose
from privrank_jax.privacy.zonotope_losses import MOST_ITEMS, zonotope_shares
from privrank_jax.release import exact_borda
from tests.reference import accounting as naive

USERS = Privacy(0.1, unit="user", adjacency="replace")


def bound(items, change, rate):
    return naive.shared_losses(zonotope_shares(items, change, rate))(rate)


@pytest.mark.parametrize(("change", "rate", "radius"), [(1, 0.6, 55), (2, 0.5, 65), (3, 1.0, 32)])
def test_the_reversal_of_three_items_is_the_worst_change_and_is_bounded(change, rate, radius):
    side = range(-2 * change, 2 * change + 1)
    pairs = [(i, j, -i - j) for i, j in itertools.product(side, repeat=2)]
    within = {tuple(sorted(d)) for d in pairs if max(map(abs, d)) <= 2 * change}
    laws = {d: naive.zonotope_losses(d, rate, radius) for d in within}
    worst, bounds = laws[-2 * change, 0, 2 * change], bound(3, change, rate)
    for at in rate * np.arange(-change, change, 0.25):
        deltas = {d: naive.loss_delta(law, rate, at) for d, law in laws.items()}
        exact = naive.loss_delta(worst, rate, at)
        assert all(delta <= exact + 1e-12 for delta in deltas.values())
        assert exact <= naive.loss_delta(bounds, rate, at) + 1e-12
    # Near for small rates: what is given away is a part of the rate.
    assert naive.loss_delta(bounds, rate, 0) <= naive.loss_delta(worst, rate, 0) * (1 + rate)


def test_changes_of_four_items():
    laws = {
        d: naive.zonotope_losses(d, 2.5, 9)
        for d in ((-3, -1, 1, 3), (-3, 0, 0, 3), (-2, -2, 2, 2), (-3, 1, 1, 1), (-1, 0, 0, 1))
    }
    worst, bounds = laws[-3, -1, 1, 3], bound(4, 1, 2.5)
    for at in np.arange(-2.5, 2.5, 0.5):
        exact = naive.loss_delta(worst, 2.5, at)
        assert all(naive.loss_delta(law, 2.5, at) <= exact + 1e-7 for law in laws.values())
        assert exact <= naive.loss_delta(bounds, 2.5, at) + 1e-7


def test_shares():
    for change, rate in itertools.product((1, 2, 3), (1e-6, 0.01, 0.3, 2.0)):
        assert zonotope_shares(2, change, rate) == pytest.approx(
            (0,) * (change - 1) + (1,), abs=0.5
        )
        for items in (3, 10, 40):
            shares = zonotope_shares(items, change, rate)
            assert len(shares) == change
            assert min(shares) >= 0
            assert 0 < math.fsum(shares) <= 1 + 1e-15
    # The more items, the less is revealed.
    means = [np.dot([0.25, 1], zonotope_shares(items, 2, 0.05)) for items in (3, 5, 10, 30, 100)]
    assert means == sorted(means, reverse=True)
    assert means[2] == pytest.approx(0.335, abs=1e-3)
    assert zonotope_shares(MOST_ITEMS + 1, 2, 0.05) == ()


def test_releases_of_borda_scores_state_their_shares():
    ranks = np.array([[0, 1, 2]] * 5)
    for adjacency, change in (("replace", 2), ("add-remove", 1)):
        promise = Privacy(0.4, unit="user", adjacency=adjacency)
        found = exact_borda(ranks, promise).guarantee
        assert found.shares == zonotope_shares(3, change, 0.4 / change)
        assert exact_borda(ranks, promise, noise="laplace").guarantee.shares == ()
        finer = Privacy(4.5 * change, unit="user", adjacency=adjacency)  # another lattice
        assert exact_borda(ranks, finer).guarantee.shares == ()


def test_guarantees_compose_by_their_shares():
    ranks = np.array([range(10)] * 3)
    found = exact_borda(ranks, USERS).guarantee
    losses = naive.shared_losses(found.shares)(0.05)
    law = np.ones(1)
    for _ in range(100):
        law = np.convolve(law, [losses[j] for j in range(-2, 3)])
    loss = (np.arange(len(law)) - len(law) // 2) * 0.05

    def delta_of(at):
        return float(np.sum(law * -np.expm1(np.minimum(at - loss, 0))))

    exact = naive.least_epsilon(delta_of, 1e-6, 10.0)
    together = compose([found] * 100, delta=1e-6)
    assert exact <= together.epsilon <= exact * (1 + 1e-5)
    assert together.epsilon < 0.56 * compose([USERS] * 100, delta=1e-6).epsilon
    assert compose([found] * 100, delta=0).epsilon == 10
    beside = Guarantee(
        Privacy.proven(0.1, unit="rank", adjacency="replace"), also=(USERS,), shares=found.shares
    )
    plain = compose([USERS] * 20, delta=1e-6).epsilon
    users = Neighbors("user", "replace")
    assert compose([beside] * 20, delta=1e-6, neighbors=users).epsilon == plain
    mixed = compose([found, (0.07, 0), *[found] * 9], delta=1e-6, neighbors=users).epsilon
    assert mixed < compose([(0.1, 0)] * 10 + [(0.07, 0)], delta=1e-6, neighbors=users).epsilon


def test_bad_shares():
    for bad in ((-0.1,), (0.6, 0.6), [0.5], ("x",), (True,), (math.nan,)):
        with pytest.raises(ValueError, match="shares must be a tuple of numbers"):
            Guarantee(USERS, shares=bad)

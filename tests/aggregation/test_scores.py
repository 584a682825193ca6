from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.aggregation import PointTotals, dp_scores
from privrank_jax.aggregation.scores import least_noise, points_change, selection_moves
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import canonical_top_k
from privrank_jax.privacy import Privacy
from tests.reference import best_sets
from tests.reference import scores as reference

ADJACENCIES = ("replace", "add-remove")
NOISES = ("k-norm", "laplace", "gaussian")


def user(epsilon=1.0, adjacency="replace", **more):
    return Privacy(epsilon, unit="user", adjacency=adjacency, **more)


@pytest.mark.parametrize(("most", "limit"), [(1, None), (1, 2), (3, None), (3, 1)])
def test_ballots_are_added_up_by_the_rules(most, limit):
    ballots = np.random.default_rng(most).integers(-2, 6, (40, 4))
    found = PointTotals.from_points(ballots, most=most, limit=limit)
    assert found.totals.tolist() == reference.totals(ballots.tolist(), most, limit)
    assert (found.num_users, found.num_items) == (40, 4)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_selections_know_how_far_one_user_moves_one_total_and_all(adjacency):
    for items, most, limit in itertools.product((1, 2, 3, 4), (1, 2), (None, 1, 2)):
        found = selection_moves(items, user(1.0, adjacency), most, limit)
        one_way = reference.largest_moves(items, most, limit, adjacency)
        assert (found.most, found.one_way) == one_way
        assert found.together == (adjacency == "add-remove")
        change = points_change(items, user(1.0, adjacency), most, limit, "laplace")
        assert found.every == change.size("laplace") / change.parts


BASES = np.array([(0, 0, 0), (3, 2, 0), (30, 20, 0), (400, 200, 0), (400, 200, 200)])


def largest_loss(law, adjacency, most, limit):
    """Of all outcomes, bases and users."""
    worst = 0.0
    for base in BASES:
        before = np.log(law(base))
        for move in reference.moves(3, most, limit, adjacency):
            worst = max(worst, np.abs(np.log(law(base + move)) - before).max())
    return worst


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("most", "limit"), [(1, None), (1, 1), (2, 2)])
def test_one_draw_of_the_best_loses_at_most_epsilon(most, limit, adjacency):
    """By the exact law of every set ε is lost, and with 5 % less noise more than ε."""
    moves = selection_moves(3, user(1.0, adjacency), most, limit)
    for k in (1, 2):
        change = 0.5 * canonical_top_k.scale(user(0.5, adjacency), k, moves)
        reach = moves.most * (1 if moves.together else 2)

        def law(scores, factor=1.0, k=k, change=change, reach=reach):
            given = scores, k, factor * change, factor * reach, 0.5, "exponential"
            return best_sets.law(*given)[1]

        loss = largest_loss(law, adjacency, most, limit)
        assert loss <= 0.5 * (1 + 1e-9), k
        assert loss >= 0.49, k
        shrunk = largest_loss(lambda scores: law(scores, 0.95), adjacency, most, limit)
        assert shrunk > 0.5, k


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("noise", NOISES)
def test_no_user_moves_totals_farther_and_some_user_as_far(noise, adjacency):
    """All ballots of up to four items; a cube holds more than a limit allows, but no smaller one does."""
    for items, most, limit in itertools.product((1, 2, 3, 4), (1, 2), (None, 1, 2)):
        change = points_change(items, user(1.0, adjacency), most, limit, noise)
        size, center = change.size(noise) / change.parts, change.center
        attained = reference.largest_change(items, most, limit, adjacency, noise, center)
        assert size == pytest.approx(attained), (items, most, limit)
        other = reference.largest_change(items, most, limit, adjacency, noise, most / 2)
        assert adjacency == "replace" or size <= other + 1e-9


def test_the_smaller_noise_is_chosen_by_public_facts():
    for items, limit, adjacency in itertools.product((1, 3, 40, 101), (None, 1, 3), ADJACENCIES):
        privacy, facts = user(1.0, adjacency), Facts(items, rules=(2, limit))
        deviations = {
            noise: dp_scores.noise(privacy, facts, noise).deviation()
            for noise in ("k-norm", "laplace")
        }
        chosen = least_noise(items, privacy, most=2, limit=limit)
        assert deviations[chosen] == min(deviations.values())

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PointTotals, dp_scores
from privrank_jax.aggregation.scores import (
    least_noise,
    noise_on_totals,
    scores_change,
    scores_scale,
    selection_changes,
)
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.selection import canonical_change, one_shot_scale
from tests.reference import best_sets
from tests.reference import scores as reference
from tests.reference.top_k import one_shot_probability

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
@pytest.mark.parametrize("noise", NOISES)
def test_no_user_moves_totals_farther_and_some_user_as_far(noise, adjacency):
    """All ballots of up to four items; a cube holds more than a limit allows, but no smaller one does."""
    for items, most, limit in itertools.product((1, 2, 3, 4), (1, 2), (None, 1, 2)):
        change, middle = scores_change(items, user(1.0, adjacency), most, limit, noise)
        attained = reference.largest_change(items, most, limit, adjacency, noise, middle)
        assert change == pytest.approx(attained), (items, most, limit)
        other = reference.largest_change(items, most, limit, adjacency, noise, most / 2)
        assert adjacency == "replace" or change <= other + 1e-9


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_selections_know_how_far_one_user_moves_one_total_and_all(adjacency):
    for items, most, limit in itertools.product((1, 2, 3, 4), (1, 2), (None, 1, 2)):
        found = selection_changes(items, user(1.0, adjacency), most, limit)
        one, rises = reference.selection_changes(items, most, limit, adjacency)
        assert (found["sensitivity"], found["total_change"]) == (one, rises)
        every, _ = scores_change(items, user(1.0, adjacency), most, limit, "laplace")
        assert found["total_sensitivity"] == every


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
    found = selection_changes(3, user(1.0, adjacency), most, limit)
    for k in (1, 2):
        change, reach = canonical_change(k, found["sensitivity"], found["total_change"])

        def law(scores, factor=1.0, k=k, change=change, reach=reach):
            given = scores, k, factor * change, factor * reach, 0.5, "exponential"
            return best_sets.law(*given)[1]

        loss = largest_loss(law, adjacency, most, limit)
        assert loss <= 0.5 * (1 + 1e-9), k
        assert loss >= 0.49, k
        shrunk = largest_loss(lambda scores: law(scores, 0.95), adjacency, most, limit)
        assert shrunk > 0.5, k


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("limit", [None, 1])
def test_one_shot_lists_of_the_best_lose_at_most_epsilon(limit, adjacency):
    found = selection_changes(3, user(1.0, adjacency), 1, limit)
    every = found["total_sensitivity"] / 2
    for k in (1, 2):
        lists = list(itertools.permutations(range(3), k))
        scale, _ = one_shot_scale(
            user(0.5, adjacency), k, 3, sensitivity=found["sensitivity"], total_change=every
        )

        def law(scores, lists=lists, scale=scale):
            return [one_shot_probability(scores, order, scale) for order in lists]

        loss = largest_loss(law, adjacency, 1, limit)
        assert loss <= 0.5 * (1 + 1e-6), k
        assert k > 1 or loss > 0.49


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_scales_are_the_change_over_epsilon(adjacency):
    privacy = user(0.5, adjacency)
    for noise in ("k-norm", "laplace"):
        change, middle = scores_change(5, privacy, 2, 2, noise)
        assert scores_scale(5, privacy, most=2, limit=2, noise=noise) == (change / 0.5, middle)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("noise", NOISES)
def test_noise_is_centered_and_as_wide_as_said(noise, adjacency, key):
    data = PointTotals(jnp.array([10, 0, 5]), 20)
    privacy = user(2.0, adjacency, **({"delta": 1e-3} if noise == "gaussian" else {}))
    run = jax.vmap(lambda k: dp_scores(k, data, privacy, noise=noise).value)
    scale, middle = scores_scale(3, privacy, noise=noise)
    deviation = noise_on_totals(noise, float(scale), 3).deviation()
    errors = np.asarray(run(jax.random.split(key, 4000))) - (np.array([10, 0, 5]) - 20 * middle)
    assert np.abs(errors.mean(0)).max() < 5 * deviation / 4000**0.5
    assert errors.std() == pytest.approx(deviation, rel=0.06)


def test_without_noise_the_totals_come_back(key):
    data = PointTotals.from_points(np.array([[1, 0], [1, 1], [0, 0]]))
    assert dp_scores(key, data, user(jnp.inf)).value.tolist() == [2.0, 1.0]
    assert dp_scores(key, data, user(jnp.inf, "add-remove")).value.tolist() == [0.5, -0.5]


def test_the_smaller_noise_is_chosen_by_public_facts():
    for items, limit, adjacency in itertools.product((1, 3, 40, 101), (None, 1, 3), ADJACENCIES):
        privacy, rules = user(1.0, adjacency), {"most": 2, "limit": limit}
        deviations = {
            noise: noise_on_totals(
                noise, scores_scale(items, privacy, noise=noise, **rules)[0], items
            ).deviation()
            for noise in ("k-norm", "laplace")
        }
        chosen = least_noise(items, privacy, **rules)
        assert deviations[chosen] == min(deviations.values())


@pytest.mark.parametrize(("most", "limit"), [(1, 2), (2, 1)])
def test_with_a_limit_all_changes_lie_in_the_body_and_some_on_its_edge(most, limit):
    ballots = reference.ballots(4, most, limit)
    gauges = [
        np.abs(np.subtract(one, other)).max() for one, other in itertools.product(ballots, repeat=2)
    ]
    assert max(gauges) == scores_change(4, user(), most, limit, "k-norm")[0]


@pytest.mark.parametrize(
    ("points", "rules", "said"),
    [
        (np.zeros(3, int), {}, r"\(users, items\)"),
        (np.zeros((3, 0), int), {}, "one item"),
        (np.full((2, 2), 0.5), {}, "integers"),
        (np.zeros((2, 2), int), {"most": 0}, "most must be at least 1"),
        (np.zeros((2, 2), int), {"limit": 0}, "limit must be at least 1"),
    ],
)
def test_bad_ballots_are_refused(points, rules, said):
    with pytest.raises(ValueError, match=said):
        PointTotals.from_points(points, **rules)


def test_bad_promises_and_data_are_refused(key):
    data = PointTotals(jnp.array([1, 2]), 3)
    with pytest.raises(TypeError, match="from_points"):
        dp_scores(key, np.zeros((2, 2), int), user())
    with pytest.raises(ValueError, match="comparison"):
        dp_scores(key, data, Privacy(1.0, unit="comparison", adjacency="replace"))
    with pytest.raises(ValueError, match="contributions"):
        dp_scores(key, data, user(contributions=3))
    with pytest.raises(ValueError, match="delta"):
        dp_scores(key, data, user(), noise="gaussian")
    with pytest.raises(ValueError, match="noise"):
        dp_scores(key, data, user(), noise="tree")

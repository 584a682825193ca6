"""Footrule reports: their law against enumeration, no bias with ties and gaps, the stated error and excess."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from privrank_jax import aggregation
from privrank_jax.aggregation import ldp_footrule
from privrank_jax.aggregation.footrule_cuts import cut_design
from privrank_jax.aggregation.local_footrule import (
    ldp_footrule_aggregate,
    ldp_footrule_excess,
    ldp_footrule_norm,
    ldp_footrule_report,
    strict_square,
)
from tests.promises import reported, user
from tests.reference import footrule as reference_footrule
from tests.reference import ldp_footrule as naive

USERS = 40_000


def counted(key, row, epsilon, missing="last", users=USERS):
    """How often each report was sent."""
    cuts, chosen = ldp_footrule_report(key, np.tile(row, (users, 1)), epsilon, missing=missing)
    reports = np.column_stack([cuts, chosen])
    different, counts = np.unique(reports, axis=0, return_counts=True)
    return {
        (int(one[0]), tuple(np.flatnonzero(one[1:]).tolist())): int(count)
        for one, count in zip(different, counts)
    }


def chi_square(counts, law):
    """χ² of counts, less its degrees of freedom, in standard deviations."""
    total = sum(counts.values())
    terms = [(counts.get(one, 0) - total * p) ** 2 / (total * p) for one, p in law.items()]
    free = len(law) - 1
    return (sum(terms) - free) / math.sqrt(2 * free)


@pytest.mark.parametrize(
    ("row", "epsilon", "missing"),
    [([1, 2, 0, 3], 1.0, "last"), ([3, 0, 0, -1], 3.0, "last"), ([1, -1, 0, -1], 0.3, "unknown")],
)
def test_reports_have_their_law(row, epsilon, missing, key):
    """χ² within 6 standard deviations."""
    types = naive.best_types(4, epsilon)
    counts = counted(key, row, epsilon, missing)
    law = naive.report_law(row, epsilon, types, missing)
    assert set(counts) <= set(law)
    assert sum(law.values()) == pytest.approx(1)
    assert abs(chi_square(counts, law)) < 6


@pytest.mark.parametrize("wrong", [0.85, 1.15])
def test_another_law_is_rejected(wrong, key):
    """That of an ε that is 0.15 off, with the same types."""
    row = [1, 2, 0, 3]
    law = naive.report_law(row, wrong, naive.best_types(4, 1.0))
    assert chi_square(counted(key, row, 1.0), law) > 6


@pytest.mark.parametrize("items", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.5])
def test_design_is_the_best_of_all_types(items, epsilon):
    design = cut_design(items, epsilon)
    for place, (norm, size, threshold) in enumerate(naive.best_types(items, epsilon)):
        cut = place + 1
        radius = math.sqrt(cut * (items - cut) / items)
        assert design.odds[place] == pytest.approx(2 * radius * norm)
        found = naive.set_norm(items, cut, design.size[place], design.threshold[place], epsilon)
        assert found == pytest.approx(norm), (size, threshold)


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("row", [[2, 0, 3, 1], [0, 0, -1, 1], [-1, 3, -1, 3], [-1] * 4])
def test_law_is_unbiased_with_the_stated_error(row, missing):
    """Exactly, by enumeration: costs of a user whose ties are broken at random, and every report of norm B."""
    epsilon = 1.3
    types = naive.best_types(4, epsilon)
    law = naive.report_law(row, epsilon, types, missing)
    estimates = np.array([naive.estimate(4, cut, chosen, types) for cut, chosen in law])
    chances = np.array(list(law.values()))
    truth = naive.costs([row], missing)
    np.testing.assert_allclose(np.tensordot(chances, estimates, 1), truth, atol=1e-12)
    norm = float(ldp_footrule_norm(4, epsilon))
    parts = np.array([naive.centered(one) for one in estimates])
    np.testing.assert_allclose(np.linalg.norm(parts, axis=(1, 2)), norm)
    errors = chances @ np.sum((parts - naive.centered(truth)) ** 2, axis=(1, 2))
    assert errors == pytest.approx(norm**2 - np.sum(naive.centered(truth) ** 2))
    for (cut, chosen), one in zip(law, estimates):
        held = np.isin(np.arange(4), chosen)
        found = ldp_footrule_aggregate(np.array([cut]), held[None], epsilon)
        np.testing.assert_allclose(found, one, atol=1e-12)


@pytest.mark.parametrize("items", [2, 3, 5, 10])
def test_square_of_strict_costs(items):
    costs = naive.centered(np.abs(np.subtract.outer(np.arange(items), np.arange(items)) * 1.0))
    assert strict_square(items) == pytest.approx(np.sum(costs**2))


def test_costs_of_a_crowd_are_unbiased(key):
    """Their mean error is 0 and their squared one that of the diagnostics, within 5 standard errors."""
    items, runs = 7, 400
    rng = np.random.default_rng(3)
    ranks = np.argsort(rng.normal(size=(50, items)) + np.linspace(0, 3, items), axis=1).argsort(1)
    found = jax.jit(jax.vmap(lambda k: ldp_footrule(k, ranks, user(1.5))))(
        jax.random.split(key, runs)
    )
    truth = np.abs(ranks[:, :, None] - np.arange(items)).mean(0)
    errors = np.asarray(found.value) - truth
    assert np.abs(errors.mean(0) / errors.std(0)).max() * runs**0.5 < 5.5
    parts = np.array([naive.centered(one) for one in errors])
    squares = np.sum(parts**2, axis=(1, 2)) / items**2
    stated = float(found.diagnostics.cost_deviation[0]) ** 2
    assert abs(squares.mean() - stated) < 5 * squares.std() / runs**0.5
    np.testing.assert_allclose(
        errors.sum(1) - errors.sum(1).mean(1, keepdims=True), 0, atol=1e-9 * items**3
    )


@pytest.mark.parametrize(("items", "epsilon"), [(3, 0.3), (3, 1.0), (5, 1.0), (10, 0.5), (50, 1.0)])
def test_norm_is_near_the_least_of_any_report(items, epsilon):
    square = float(ldp_footrule_norm(items, epsilon)) ** 2
    least = (items - 1) * (items**2 - 1) ** 2 / 9 / math.sinh(epsilon / 2) ** 2
    assert least * (1 - 1e-9) <= square < 1.13 * least
    assert math.sqrt(square) <= math.pi / 8 * items**2.5 / math.tanh(epsilon / 2)


def test_infinite_budgets_send_the_set_itself(key):
    cuts, chosen = ldp_footrule_report(key, np.tile([2, 0, 3, 1], (500, 1)), np.inf)
    for cut, one in zip(np.asarray(cuts), np.asarray(chosen)):
        design = cut_design(4, np.inf)
        held = np.sum(one & (np.array([2, 0, 3, 1]) < cut))
        assert held >= design.threshold[cut - 1]


@pytest.mark.parametrize(
    ("ranks", "settings", "message"),
    [
        (np.zeros((3, 1), int), {}, "2 to 200 items"),
        (np.zeros((3, 201), int), {}, "2 to 200 items"),
        (np.zeros((0, 3), int), {}, "shape"),
        (np.zeros(3, int), {}, "shape"),
        (np.zeros((2, 3)), {}, "integers"),
        (np.zeros((2, 3), int), {"missing": "first"}, "missing"),
    ],
)
def test_bad_input_is_refused(ranks, settings, message, key):
    with pytest.raises(ValueError, match=message):
        ldp_footrule(key, ranks, user(1.0), **settings)


def test_bad_reports_are_refused():
    with pytest.raises(ValueError, match="shape"):
        ldp_footrule_aggregate(np.array([1]), np.zeros((2, 3), bool), 1.0)


def test_ratio_of_broken_ties():
    """K ≤ (1 - 1/(2m-2))F and F ≤ 2K for the mean over ways to break ties, for all ballots of four items."""
    orders = np.array(list(itertools.permutations(range(4))))
    scores = jax.jit(jax.vmap(aggregation.kemeny_score, in_axes=(0, None)))
    for row, missing in itertools.product(
        reference_footrule.weak_orders(4, gaps=True), ("last", "unknown")
    ):
        costs = naive.costs([row], missing)
        weights = np.asarray(
            aggregation.PairWeights.from_ranks(np.array([row]), missing=missing).matrix
        )
        footrule = costs[np.arange(4), orders].sum(axis=1)
        kemeny = np.asarray(scores(orders, weights))
        assert np.all(kemeny <= (1 - 1 / 6) * footrule + 1e-9)
        assert np.all(footrule <= 2 * kemeny + 1e-9)


@pytest.mark.parametrize("items", [4, 30])
def test_excess_holds(items, key):
    """In none of 40 runs is the footrule further above the least than the bound, which fails once in 1,000."""
    rng = np.random.default_rng(8)
    ranks = np.argsort(rng.normal(size=(400, items)) + np.linspace(0, 1, items), axis=1).argsort(1)
    truth = np.abs(ranks[:, :, None] - np.arange(items)).mean(0)
    place = np.arange(items)
    least = truth[linear_sum_assignment(truth)].sum()
    run = jax.jit(jax.vmap(lambda k, r: ldp_footrule(k, r, user(2.0)).value, in_axes=(0, None)))
    costs = np.asarray(run(jax.random.split(key, 40), ranks))
    found = np.array([linear_sum_assignment(one)[1] for one in costs])
    above = truth[place, found].sum(1) - least
    bound = float(ldp_footrule_excess(items, 400, 2.0, 0.999))
    assert np.all(above <= bound)
    weights = np.asarray(aggregation.PairWeights.from_ranks(ranks).matrix)
    scores = [weights[one[:, None] > one].sum() for one in found]
    stated = reported("footrule", items, 400, 2.0)
    smaller = np.minimum(weights, weights.T).sum() / 2
    assert np.mean(scores) <= stated.ratio * smaller + stated.additive
    assert bound < 60 * above.max()
    assert float(ldp_footrule_excess(items, 1600, 2.0, 0.999)) < 0.51 * bound


def test_smaller_of_the_two_bounds_is_given():
    """Bernstein's with few users has its second term, and is larger; it has the smaller power of the items."""
    few = float(ldp_footrule_excess(20, 5, 1.0, 0.95))
    norm = float(ldp_footrule_norm(20, 1.0))
    assert few == pytest.approx(norm * (40 / 5) ** 0.5 * (1 + (2 * np.log(20)) ** 0.5))
    many = float(ldp_footrule_excess(200, 10**9, 1.0, 0.95))
    whole = float(ldp_footrule_norm(200, 1.0)) * (400 / 1e9) ** 0.5
    assert many < 0.6 * whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, 10, 1.0), "2"), ((3, 0, 1.0), "num_users"), ((3, 10, 0.0), "epsilon")],
)
def test_bad_bounds_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        reported("footrule", *arguments)
    with pytest.raises(ValueError, match=message):
        ldp_footrule_excess(*arguments, level=0.95)
    with pytest.raises(ValueError, match="level"):
        ldp_footrule_excess(3, 10, 1.0, 1.0)

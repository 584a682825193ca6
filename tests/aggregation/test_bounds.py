"""Proven errors of all methods, the choice of one by public facts, and lower bounds."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math

import jax
import numpy as np
import pytest
import scipy.integrate
import scipy.special

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, bounds
from privrank_jax.aggregation.auto import NEGLIGIBLE_NOISE, choose_method, choose_report
from privrank_jax.aggregation.footrule import assignment
from privrank_jax.aggregation.lower_bounds import approximate_lower_bound, pure_lower_bound
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.query_budgets import (
    exceeding_probability,
    query_budget,
    refusal_bound,
)
from privrank_jax.aggregation.sub_rankings import one_pair_variance
from privrank_jax.aggregation.subset_selection import subset_norm
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.vectors import report_norm
from tests.promises import reported, user
from tests.quick import thorough, thorough_but
from tests.reference import borda as reference_borda
from tests.reference import calibration as reference_calibration

M, USERS, EPSILON, DELTA = 8, 700, 0.6, 1e-5
PAIRS = 28


def test_central_bounds_are_their_formulas():
    """Table 2 by hand: sensitivities times mean noise, counted per pair and weighted by the ratio."""

    def gaussian(sensitivity, epsilon=EPSILON):
        scale = reference_calibration.gaussian_scale(sensitivity, epsilon, DELTA)
        return scale * math.sqrt(2 / math.pi)

    for noise, mean in (("k-norm", (PAIRS + 1) / 2), ("laplace", PAIRS)):
        noise_all = bounds.bound("noise-all", M, USERS, user(EPSILON), noise=noise, xi=0.1)
        assert noise_all.ratio == 1.1
        assert noise_all.additive == pytest.approx(2.1 * PAIRS * mean / (USERS * EPSILON))
    approximate = bounds.bound("noise-all", M, USERS, user(EPSILON, DELTA), noise="gaussian")
    assert float(approximate.additive) == pytest.approx(
        2 * PAIRS * gaussian(PAIRS**0.5 / USERS), rel=1e-6
    )
    borda = bounds.bound("borda", M, USERS, user(EPSILON), noise="laplace")
    assert borda == pytest.approx((5, 2 * M * 32 / (USERS * EPSILON)))
    approximate = bounds.bound("borda", M, USERS, user(EPSILON, DELTA), noise="gaussian")
    root = math.sqrt(sum((M - 1 - 2 * i) ** 2 for i in range(M)))
    assert float(approximate.additive) == pytest.approx(2 * M * gaussian(root / USERS), rel=1e-6)
    exponential = bounds.bound("exponential", M, USERS, user(EPSILON))
    assert exponential == pytest.approx((1, 2 * PAIRS * math.log(40320) / (USERS * EPSILON)))
    sort, queries, pairs = bounds.bound("kwiksort", 30, USERS, user(EPSILON)), query_budget(30), 435
    failure = exceeding_probability(30, queries)
    fallback = 6 * pairs * (pairs + 1) / 2 / (USERS * 0.1 * EPSILON)
    assert failure > 0
    assert sort.ratio == pytest.approx(5 + 5 * failure)
    assert sort.additive == pytest.approx(
        6 * pairs * queries / (USERS * 0.9 * EPSILON) + failure * fallback
    )
    whole = bounds.bound("kwiksort", M, USERS, user(EPSILON, DELTA), noise="gaussian")
    assert whole.ratio == 5
    assert float(whole.additive) == pytest.approx(
        6 * PAIRS * gaussian(PAIRS**0.5 / USERS), rel=1e-6
    )


@pytest.mark.parametrize("noise", [thorough("k-norm"), "gaussian"])
def test_the_bound_of_private_weights_holds_their_error(noise, key):
    """The mean of Σ|e| over 2,000 draws, for crowds without and with cycles."""
    promise = user(EPSILON, DELTA if noise == "gaussian" else 0.0)
    settings = {"noise": noise, "focus": 0.3}
    bound = bounds.bound("weights", M, USERS, promise, xi=0.5, **settings)
    assert bound.ratio == 1.5
    flat = np.where(np.eye(M), 0, 0.5)
    ring = (np.arange(M)[None] - np.arange(M)[:, None]) % M
    cyclic = np.where(ring == 0, 0, np.where(2 * ring == M, 0.5, np.where(2 * ring < M, 0.9, 0.1)))

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(0, None))
    def drawn(key, w):
        given = PairWeights(w, USERS)
        return aggregation.private_weights(key, given, promise, **settings).value

    keys, shares = jax.random.split(key, 2_000), []
    for w in (flat, cyclic):
        error = np.abs(np.asarray(drawn(keys, w)) - w)[:, *np.triu_indices(M, 1)]
        shares.append(2.5 * error.sum(1).mean() / bound.additive)
    assert max(shares) < 1
    assert max(shares) > 0.4
    alone = bounds.bound("weights", M, USERS, promise, **{**settings, "focus": 1.0})
    assert alone == bounds.bound("borda", M, USERS, promise, noise=noise)
    if noise == "k-norm":  # twice the mean of noise in a zonotope, from above within 3 %
        crowd = PairWeights(flat, USERS)
        drawn = jax.vmap(lambda k: aggregation.dp_borda(k, crowd, promise).value)(keys)
        sizes = 2 * np.abs(np.asarray(drawn) - (M - 1) / 2).sum(axis=1)
        assert sizes.mean() - 5 * sizes.std() / 2_000**0.5 < alone.additive < 1.03 * sizes.mean()


@pytest.mark.slow
def test_the_footrule_bound_holds_for_assignments(key):
    """2,000 rankings of a divided crowd: the mean cost, the optimum by enumeration."""
    ranks = np.random.default_rng(3).permuted(np.tile(np.arange(5), (30, 1)), axis=1)
    ranks[:20] = np.arange(5)
    histograms = aggregation.PositionHistograms.from_ranks(ranks)
    orders = reference_borda.orders(5)
    costs = reference_borda.kemeny_scores(reference_borda.weights(ranks), orders)
    table = {tuple(np.argsort(order)): cost for order, cost in zip(orders, costs)}
    for noise in SHAPED_NOISES:
        promise = user(0.7, 1e-6 if noise == "gaussian" else 0.0)

        def once(k, promise=promise, noise=noise):
            return assignment(aggregation.dp_footrule(k, histograms, promise, noise=noise).value)

        found = np.asarray(jax.jit(jax.vmap(once))(jax.random.split(key, 2_000)))
        reached = np.array([table[tuple(row)] for row in found.tolist()])
        bound = bounds.bound("footrule", 5, 30, promise, noise=noise)
        assert bound.ratio == 2 - 1 / 9
        assert costs.min() < reached.mean() < bound.ratio * costs.min() + bound.additive


def test_the_variant_of_hay_pays_for_what_it_leaves_unsorted():
    few = bounds.bound("hay-kwiksort", M, USERS, user(EPSILON))
    noise = 6 * PAIRS * 24 / (USERS * EPSILON)
    assert few.additive == pytest.approx(noise + PAIRS * exceeding_probability(M, 24))
    all_pairs = bounds.bound("hay-kwiksort", 2, USERS, user(EPSILON))
    assert all_pairs.additive == pytest.approx(6 / (USERS * EPSILON))


def test_local_bounds_are_their_formulas():
    for mechanism in ("duchi", "privunit"):
        norm = float(report_norm(mechanism, PAIRS, EPSILON))
        deviation = math.sqrt((norm**2 - 1) / (4 * USERS))
        bound = reported("noise-all", M, USERS, EPSILON, mechanism=mechanism, xi=1)
        assert float(bound.additive) == pytest.approx(3 * PAIRS * deviation)
        square = M * (M**2 - 1) / 12
        norm = float(report_norm(mechanism, M - 1, EPSILON, math.sqrt(square)))
        bound = reported("borda", M, USERS, EPSILON, mechanism=mechanism)
        assert float(bound.additive) == pytest.approx(2 * math.sqrt(M * (norm**2 - square) / USERS))
    norm, square = float(subset_norm(M, EPSILON)), M * (M**2 - 1) / 12
    bound = reported("borda", M, USERS, EPSILON, mechanism="subset-selection")
    assert float(bound.additive) == pytest.approx(2 * math.sqrt(M * (norm**2 - square) / USERS))
    sort, failure = reported("kwiksort", M, USERS, EPSILON, split=0.5), refusal_bound(M, 10)
    error = 1 / math.sqrt(USERS // M) / 2 / math.tanh(EPSILON / 40)
    norm = float(report_norm("duchi", PAIRS, EPSILON / 2))
    fallback = 6 * PAIRS * math.sqrt((norm**2 - 1) / (4 * USERS))
    found = reported("borda", M, USERS, EPSILON, mechanism="one-pair")
    one = M * math.sqrt((M - 1) * one_pair_variance(M, USERS, EPSILON))
    assert float(found.additive) == pytest.approx(2 * one)
    assert sort.ratio == pytest.approx(5 + 5 * failure)
    assert float(sort.additive) == pytest.approx(6 * PAIRS * error + failure * fallback)


@pytest.mark.parametrize("users", [1, 2, 5, 9])
def test_one_pair_holds_in_the_exact_law_of_two_items(users):
    """For every number of users who put the first item ahead, by enumeration of all answers."""
    t = math.tanh(EPSILON / 2)
    for ahead in range(users + 1):
        mean = 0.0
        for bits in itertools.product((0, 1), repeat=users):
            chance = math.prod(
                (1 + t) / 2 if bit == (one < ahead) else (1 - t) / 2 for one, bit in enumerate(bits)
            )
            mean += chance * abs((sum(bits) / users - 0.5) / t + 0.5 - ahead / users)
        limit = reported("noise-all", 2, users, EPSILON, mechanism="sub-ranking").additive
        assert 2 * mean <= limit


@pytest.mark.parametrize("noise", thorough_but(SHAPED_NOISES, "laplace", "gaussian"))
def test_sums_of_users_who_come_or_go_are_bounded_as_means_of_twice_as_many(noise):
    """For Borda and weights, whose whole budget is for pairs then, also where few replaced users would spend it on
    scores."""
    delta = DELTA if noise == "gaussian" else 0.0
    added = Privacy(EPSILON, unit="user", adjacency="add-remove", delta=delta)
    told = {"noise": noise}
    for method, settings in (("borda", {}), ("weights", {"focus": 0.0})):
        if (method, noise) == ("weights", "laplace"):
            continue
        twice = bounds.bound(method, M, 100, user(EPSILON, delta), **told, **settings)
        assert bounds.bound(method, M, 50, added, **told) == twice
    for method, trust in (("noise-all", "central"), ("borda", "local")):
        with pytest.raises(ValueError, match="replace"):
            bounds.bound(method, M, 50, added, trust=trust)
    rows = aggregation.proven_errors(M, 50, added)
    assert {row.method for row in rows} == {"borda", "weights"}


@pytest.mark.parametrize("items", [thorough(2), 12])
@pytest.mark.parametrize("noise", thorough_but(SHAPED_NOISES, "laplace", "gaussian"))
def test_ranges_hold_what_footrule_draws(items, noise, key):
    """Σ_j R_j of 2,000 releases: the mean at most 13 % below its bound."""
    histograms = aggregation.PositionHistograms.from_ranks(np.tile(np.arange(items), (1000, 1)))
    promise = user(1.0, 1e-6 if noise == "gaussian" else 0.0)

    told = histograms, promise
    run = jax.jit(jax.vmap(lambda k: aggregation.dp_footrule(k, *told, noise=noise).value))
    places = np.arange(items)
    clear = np.abs(places[:, None] - places)
    unit = float(aggregation.dp_footrule.scale(promise, Facts(items, 1000), noise))
    errors = (np.asarray(run(jax.random.split(key, 2_000))) - clear) / unit
    sums = np.ptp(errors, axis=2).sum(axis=1)
    slack = 5 * sums.std() / 2_000**0.5
    mean = bounds.footrule_ranges(items, noise)
    assert sums.mean() - slack < mean < 1.13 * sums.mean() + slack


LOCAL = {
    ("borda", "duchi"), ("borda", "privunit"), ("borda", "subset-selection"), ("borda", "one-pair"),
    ("noise-all", "duchi"), ("noise-all", "privunit"), ("noise-all", "randomized-response"),
    ("noise-all", "sub-ranking"), ("kwiksort", "randomized-response"),
}  # fmt: skip
SHUFFLED = {("borda", "shuffled-pair"), ("noise-all", "shuffled-pair")}


def names(rows):
    assert len({(row.method, row.noise) for row in rows}) == len(rows)
    return {(row.method, row.noise) for row in rows}


def test_every_method_has_a_row():
    """Of a curator's, tests/jobs/test_records.py tells which there must be."""
    pure, both = user(1.0), user(1.0, 1e-6)
    central = names(aggregation.proven_errors(6, 500, both))
    gaussian = {row for row in central if row[1] == "gaussian"}
    assert names(aggregation.proven_errors(6, 500, pure)) == central - gaussian
    assert names(aggregation.proven_errors(M, USERS, pure, trust="local")) == LOCAL
    assert names(aggregation.proven_errors(6, 500, both, trust="shuffled")) == SHUFFLED
    for row in aggregation.proven_errors(6, 500, both):
        assert hasattr(aggregation, row.function)
        assert row.trust == "central"
        assert row.pure == (row.noise != "gaussian")
        assert row.pairs == 15


@pytest.mark.slow
def test_rows_are_of_methods_for_so_many_items_and_users():
    pure = user(1.0)
    few = names(aggregation.proven_errors(6, 5, pure, trust="local"))
    assert LOCAL - few == {
        ("borda", "one-pair"),
        ("kwiksort", "randomized-response"),
    }
    large = names(aggregation.proven_errors(21, 500, pure))
    assert large == names(aggregation.proven_errors(6, 500, pure)) - {("exponential", "none")}


def test_rows_are_the_bounds_of_their_methods():
    for name, noise, told in (
        *((one, "gaussian", {}) for one in ("borda", "footrule")),
        *((one, "gaussian", {"xi": 0.1}) for one in ("noise-all", "weights")),
        ("borda", "subset-selection", {"trust": "local"}),
    ):
        promise = user(1.0, 1e-6 if noise == "gaussian" else 0.0)
        rows = aggregation.proven_errors(6, 500, promise, **told)
        (row,) = (row for row in rows if (row.method, row.noise) == (name, noise))
        found = bounds.bound(name, 6, 500, promise, noise=noise, **told)
        assert (row.ratio, row.additive) == pytest.approx((found.ratio, float(found.additive)))


def test_cost_above_the_optimum_holds_for_all_rankings(key):
    """Random weights of four items, each ranking held against the bounds that it meets with equality."""
    rng = np.random.default_rng(0)
    row = aggregation.proven_errors(4, 100, user(1.0))[0]
    orders = reference_borda.orders(4)
    for _ in range(20):
        upper = np.triu(rng.uniform(size=(4, 4)), 1)
        w = upper + np.triu(1 - upper, 1).T
        costs = reference_borda.kemeny_scores(w, orders)
        best = costs.min()
        for ratio, additive in ((1.0, 0.3), (2.0, 0.0), (5.0, 0.4), (1.5, 7.0)):
            proven = dataclasses.replace(row, ratio=ratio, additive=additive)
            worst = max(cost - best for cost in costs if cost <= ratio * best + additive)
            assert worst <= proven.cost() + 1e-9
            assert worst <= proven.cost(best) + 1e-9
            assert proven.cost(best) <= proven.cost(1.5 * best) <= proven.cost() <= 6


def test_noise_that_decides_leads_to_borda_and_negligible_noise_to_a_solver():
    for trust in ("central", "local"):
        assert choose_method(30, 500, user(0.5), trust=trust) == "borda"
    users = noise_all.noise(user(1.0), Facts(10, 1), "laplace").deviation() / NEGLIGIBLE_NOISE
    assert choose_method(10, math.ceil(users), user(1.0), noise="laplace") == "noise-all"
    assert choose_method(10, math.floor(users), user(1.0), noise="laplace") == "borda"
    assert choose_method(3, 10**6, user(4.0), trust="local") == "noise-all"


def test_weights_are_chosen_wherever_pairs_get_a_share_of_the_budget():
    users = noise_all.noise(user(1.0), Facts(10, 1)).deviation() / 0.25
    assert choose_method(10, math.ceil(users), user(1.0)) == "weights"
    assert choose_method(10, math.floor(users), user(1.0)) == "borda"
    for number in (3, 10**6):
        assert choose_method(10, number, user(1.0, 1e-6), noise="gaussian") == "weights"


@pytest.mark.slow
def test_reports_are_of_the_kind_with_the_smaller_error():
    """One pair while ε is small, and for more than 20 items; two sets where pairs outnumber users."""
    for items in (5, 10, 20):
        chosen = [choose_report(items, 10**5, user(epsilon)) for epsilon in (0.5, 1.0, 2.0, 5.0)]
        assert chosen == ["one-pair"] * 2 + ["subset-selection"] * 2
    assert choose_report(10, 44, user(0.5)) == "subset-selection"
    assert choose_report(21, 10**5, user(5.0)) == "one-pair"
    assert choose_report(21, 10, user(5.0)) == "one-pair"


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

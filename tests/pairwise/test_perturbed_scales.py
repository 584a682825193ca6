"""Perturbed likelihoods of win counts beyond the contract of objectives: noise and ridges, links, weights."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise import perturbed_mle
from privrank_jax.pairwise.perturbed_fit import bounded_weights
from privrank_jax.pairwise.published import published_mle
from privrank_jax.privacy import noise as noises
from tests import reference
from tests.promises import promise
from tests.quick import thorough
from tests.reference import calibration as reference_perturbation


def asked(adjacency="flip", epsilon=1.0, contributions=1, delta=0.0):
    unit = "user" if contributions > 1 else "comparison"
    return promise(epsilon, unit, adjacency, contributions, delta)


def calibrate(link="logistic", noise="laplace", gamma=None, **settings):
    return tuple(map(float, scale_of(link, asked(**settings), noise=noise, gamma=gamma)))


def scale_of(link, promised, **options):
    return perturbed_mle.scale(promised, Facts(2, rules=(get_link(link), False)), **options)


def floor_of(link, **settings):
    if link == "logistic":
        return calibrate(link, **settings)[1]
    promised = asked(**settings)
    return 4 / math.expm1(promised.epsilon / 2 / promised.comparisons_per_unit)


@pytest.mark.parametrize(("link", "kappa1", "kappa2"), [("logistic", 1, 0.25), ("laplace", 2, 2)])
@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_published_scales_are_the_printed_ones(link, kappa1, kappa2, adjacency):
    """λ = 8κ₁/ε, γ = 4κ₂/ε (one comparison); λ = 8Lκ₁/ε, γ = 8Lκ₂/ε (users)."""
    facts = Facts(2, rules=(get_link(link), False))
    edge = published_mle.scale(promise(0.7, adjacency=adjacency), facts)
    assert edge == pytest.approx((8 * kappa1 / 0.7, max(4 * kappa2 / 0.7, 1.0)))
    user = published_mle.scale(promise(0.7, "user", adjacency, 5), facts)
    assert user == pytest.approx((8 * 5 * kappa1 / 0.7, 8 * 5 * kappa2 / 0.7))


@pytest.mark.parametrize("comparisons", [1, 3])
@pytest.mark.parametrize(
    ("adjacency", "constant"), [("flip", 4), ("replace", 4), ("add-remove", 2)]
)
def test_laplace_link_pays_for_the_log_determinant(adjacency, constant, comparisons):
    settings = {"adjacency": adjacency, "contributions": comparisons, "epsilon": 2.0}
    scale, gamma = calibrate("laplace", **settings, gamma=30.0)
    spent = comparisons * math.log(1 + 2 * 2 / 30.0)
    assert (scale, gamma) == pytest.approx((constant * comparisons / (2.0 - spent), 30.0))
    scale, gamma = calibrate("laplace", **settings)  # a quarter of ε for the determinant
    assert scale == pytest.approx(constant * comparisons / 1.5)
    assert comparisons * math.log(1 + 4 / gamma) == pytest.approx(0.5)


def test_gaussian_noise_of_flips_is_the_gaussian_mechanism_on_the_totals():
    scale, gamma = calibrate(noise="gaussian", delta=1e-5, contributions=4, gamma=0.3)
    assert scale == pytest.approx(reference.gaussian_scale(4 * math.sqrt(2), 1.0, 1e-5), rel=1e-6)
    assert gamma == 0.3


@pytest.mark.parametrize(
    ("comparisons", "epsilon", "delta"), [thorough(1, 3.0, 0.05), (4, 0.5, 1e-6)]
)
@pytest.mark.parametrize(
    ("link", "adjacency"),
    [
        ("laplace", "replace"),
        *(thorough("logistic", one) for one in ("replace", "add-remove")),
        *(thorough("laplace", one) for one in ("flip", "add-remove")),
    ],
)
def test_gaussian_noise_is_what_the_theorem_asks_for(link, adjacency, comparisons, epsilon, delta):
    """Step by step, at a γ of ours, at the floor and at a given one.

    The determinant takes a quarter of ε and half of it under the Laplace link, nothing under the logistic one.
    """
    settings = {"adjacency": adjacency, "contributions": comparisons, "epsilon": epsilon}
    floor = floor_of(link, **settings, delta=delta)
    for wanted, share in ((None, 0.25), (floor, 0.5), (70.0 / epsilon * comparisons, None)):
        scale, gamma = calibrate(link, "gaussian", wanted, **settings, delta=delta)
        spent = reference_perturbation.determinant_share(link, comparisons, gamma)
        if link == "laplace" and share:
            assert spent == pytest.approx(share * epsilon, rel=1e-9)
        if link == "logistic" and share:
            assert gamma == pytest.approx(max(calibrate(link, **settings)[0], 1.0))
        expected = reference_perturbation.gaussian_perturbation_scale(
            link, adjacency, comparisons, epsilon, delta, gamma
        )
        assert scale == pytest.approx(expected, rel=1e-9)


def test_gaussian_noise_of_scores_is_never_rounded_below_the_exact_one():
    rng = np.random.default_rng(1)
    epsilons = (10 ** rng.uniform(-2.5, 1.3, 8)).astype(np.float32)
    deltas = (10 ** rng.uniform(-12, -0.3, 8)).astype(np.float32)
    exact = [
        reference_perturbation.gaussian_perturbation_scale(
            "logistic", "add-remove", 1, float(e), float(d), 0.0
        )
        for e, d in zip(epsilons, deltas)
    ]

    def scale(epsilon, delta):
        promised = promise(epsilon, adjacency="add-remove", delta=delta)
        return scale_of("logistic", promised, noise="gaussian")[0]

    scales = jax.jit(jax.vmap(scale))
    double = np.asarray(scales(epsilons.astype(float), deltas.astype(float))) / exact
    assert double.min() >= 1 - 1e-11  # the twin rounds as well
    assert double.max() <= 1 + 1e-9
    with jax.enable_x64(False):
        single = scales(epsilons, deltas)
        assert single.dtype == np.float32
    ratio = np.asarray(single, float) / exact
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.01


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("adjacency", "link"), [("replace", "logistic"), ("add-remove", "laplace"), ("flip", "laplace")]
)
def test_gamma_below_its_floor_is_refused_and_raised_where_traced(adjacency, noise, link):
    settings = {"adjacency": adjacency, "epsilon": 0.5, "contributions": 2}
    settings["delta"] = 1e-3 if noise == "gaussian" else 0.0
    floor = floor_of(link, **settings)
    with pytest.raises(ValueError, match="least ridge"):
        calibrate(link, noise, (1 - 1e-5) * floor, **settings)
    scale, _ = calibrate(link, noise, floor, **settings)
    rounded = calibrate(link, noise, (1 - 1e-7) * floor, **settings)
    assert rounded == (scale, floor)  # what float32 may take off is no refusal, and no loss
    told = {"promised": asked(**settings), "noise": noise}
    traced = jax.jit(lambda gamma: scale_of(link, gamma=gamma, **told))(0.01 * floor)
    assert traced == pytest.approx((scale, floor), rel=1e-6)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_infinite_epsilon_adds_no_noise(link, noise):
    for adjacency in ("flip", "replace", "add-remove"):
        settings = {"adjacency": adjacency, "delta": 1e-3 * (noise == "gaussian")}
        assert calibrate(link, noise, 0.5, epsilon=math.inf, **settings) == (0.0, 0.5)
    for gamma in (0.0, 1e-6, 1e6):  # flips under the logistic link take any
        assert calibrate(gamma=gamma) == pytest.approx((2.0, gamma))


ADJACENCIES = ("flip", "replace", "add-remove")


def tournament(seed, items, times=3.0):
    """Win counts with every pair compared about ``times`` times, scores ~ N(0, 1)."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    chance = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
    met = np.triu(rng.poisson(times, (items, items)), 1)
    won = rng.binomial(met, chance)
    return WinCounts.from_matrix((won + (met - won).T).astype(float))


# --- the minimizer -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "noise"), [("laplace", "laplace"), thorough("logistic", "gaussian")]
)
def test_equals_the_naive_minimization_with_the_same_noise(link, noise, key):
    wins = tournament(1, 6)
    draw = noises.laplace if noise == "laplace" else noises.gaussian
    for adjacency, epsilon in (("replace", 0.3), ("flip", 3.0), ("add-remove", math.inf)):
        asked = promise(epsilon, adjacency=adjacency, delta=1e-3)
        ours = perturbed_mle(key, wins, asked, link=link, noise=noise, gamma=60.0)
        tilt = np.asarray(draw(key, (6,), ours.diagnostics.noise_scale, np.float64))
        assert tilt.any() == (epsilon < math.inf)
        naive = reference.perturbed_mle(wins.matrix, tilt, 60.0, link)
        np.testing.assert_allclose(ours.value, naive - naive.mean(), atol=1e-6)
        assert int(ours.diagnostics.fit.code) == 0


@pytest.mark.parametrize("record", [perturbed_mle, thorough(published_mle)])
def test_padding_changes_nothing(record, key):
    """The draws depend on the padded size, so fits are compared without noise; default ridges are those without."""
    wins, padded = tournament(8, 4), np.zeros((6, 6))
    padded[:4, :4] = wins.matrix
    masked = WinCounts.from_matrix(padded, np.arange(6) < 4)
    for epsilon in (math.inf, 1.0):
        asked = promise(epsilon, adjacency="flip")
        alone, within = (record(key, one, asked) for one in (wins, masked))
        ridges = (float(one.diagnostics.gamma) for one in (alone, within))
        assert next(ridges) == pytest.approx(next(ridges), rel=1e-12)
        np.testing.assert_array_equal(within.value[4:], 0.0)
        if math.isinf(epsilon):
            np.testing.assert_allclose(within.value[:4], alone.value, atol=1e-9)


@pytest.mark.parametrize("record", [perturbed_mle, thorough(published_mle)])
def test_gamma_does_not_depend_on_outcomes_nor_on_a_private_count(record, key):
    wins = tournament(10, 6)
    turned, more = WinCounts.from_matrix(wins.matrix.T), WinCounts.from_matrix(30 * wins.matrix)

    def gamma(data, unit, adjacency):
        return float(record(key, data, promise(1.0, unit, adjacency, 2)).diagnostics.gamma)

    for unit, adjacency in itertools.product(("comparison", "user"), ADJACENCIES):
        assert gamma(wins, unit, adjacency) == gamma(turned, unit, adjacency)
        if adjacency == "add-remove" or (unit, adjacency) == ("user", "replace"):
            assert gamma(wins, unit, adjacency) == gamma(more, unit, adjacency)
    assert gamma(wins, "comparison", "flip") != gamma(more, "comparison", "flip")


def test_published_calibration(key):
    wins = tournament(11, 6)
    degree = float(wins.degrees.mean())
    edge = published_mle(key, wins, promise(1.0, adjacency="flip")).diagnostics
    assert float(edge.noise_scale) == 8.0
    assert float(edge.gamma) == pytest.approx(2 * math.sqrt(degree * math.log(6)))


def test_weights_are_bounded_and_rounded_down():
    found = bounded_weights([0.0, 1.0, 0.9999, 3.0, 7.0], 3.0)
    assert found.tolist() == [0.0, 341 / 1024, 341 / 1024, 1.0, 1.0]


def weighted(winner, loser, weight):
    matrix = np.zeros((3, 3))
    matrix[winner, loser] = weight
    return matrix


@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_small_data_sets_lose_no_more_either(link):
    """Near a few comparisons, where curvatures matter, at random weights and points: exact densities lose at most ε."""
    draw, asked = np.random.default_rng(1), promise(1.0)
    scale, gamma = map(float, perturbed_mle.scale(asked, Facts(3, rules=(get_link(link), True))))
    pairs, worst = list(itertools.permutations(range(3), 2)), 0.0
    for _ in range(150):
        base = draw.random((3, 3)) * (draw.random((3, 3)) < 0.5) * (1 - np.eye(3))
        chosen = draw.integers(0, 6, 2)
        one, other = (
            base + weighted(*pairs[k], w) for k, w in zip(chosen, draw.choice([0, 0.3, 1.0], 2))
        )
        for theta in draw.normal(size=(8, 3)) * draw.choice([0.3, 2.0, 8.0], (8, 1)):
            logs = [
                reference.perturbed_mle_log_density(theta, wins, scale, gamma, link)
                for wins in (one, other)
            ]
            worst = max(worst, abs(logs[0] - logs[1]))
    assert 0.3 < worst <= 1 + 1e-9


def test_the_default_ridge_says_nothing_of_private_weights(key):
    wins = WinCounts.from_matrix([[0, 300.0], [100.0, 0]])
    light = WinCounts(wins.matrix / 64)

    def ridges(adjacency, epsilon=1.0, weighted=True):
        asked = promise(epsilon, "comparison", adjacency)
        found = (perturbed_mle(key, one, asked, weighted=weighted) for one in (wins, light))
        return {float(one.diagnostics.gamma) for one in found}

    assert len(ridges("replace")) == len(ridges("add-remove")) == 1
    assert ridges("replace", 50.0) == {1.0}
    assert len(ridges("flip", weighted=False)) == 2  # weights are public there


def test_weighted_comparisons_are_released():
    rows = (0, 1, 1 / 1024), (1, 0, 3 + 1 / 2048), (1, 2, 2.5)
    matrix = sum(weighted(*row) for row in rows)
    wins = WinCounts.from_matrix(matrix)
    found = perturbed_mle.release(wins, promise(1.0), weighted=True)
    assert (found.diagnostics.noise_scale, found.diagnostics.gamma) == (4.0, 4.0)
    found = perturbed_mle.release(wins, promise(1e9), weighted=True, gamma=1.0)
    np.testing.assert_allclose(found.value, reference.fit("logistic", matrix, ridge=1.0), atol=1e-5)

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.mechanism.objective import _simulated
from privrank_jax.pairwise import mle, perturbed_mle
from privrank_jax.pairwise.published import published_mle
from privrank_jax.privacy import noise as noises
from tests import reference
from tests.promises import promise, split

ADJACENCIES = ("flip", "replace", "add-remove")
LINKS = ("logistic", "laplace")


def tournament(seed, items, times=3.0):
    """Win counts with every pair compared about ``times`` times, scores ~ N(0, 1)."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(items)
    chance = 1 / (1 + np.exp(scores[None, :] - scores[:, None]))
    met = np.triu(rng.poisson(times, (items, items)), 1)
    won = rng.binomial(met, chance)
    return WinCounts.from_matrix((won + (met - won).T).astype(float)), scores - scores.mean()


def noise_of(key, estimate, items, noise="laplace", dtype=np.float64):
    """The tilt w that the estimator drew from ``key``."""
    draw = noises.laplace if noise == "laplace" else noises.gaussian
    return np.asarray(draw(key, (items,), estimate.diagnostics.noise_scale, dtype))


# --- the minimizer -------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("link", LINKS)
def test_equals_the_naive_minimization_with_the_same_noise(link, adjacency, noise, key):
    wins, _ = tournament(1, 6)
    for epsilon in (0.3, 3.0):
        asked = promise(epsilon, adjacency=adjacency, delta=1e-3)
        ours = perturbed_mle(key, wins, asked, link=link, noise=noise)
        tilt = noise_of(key, ours, 6, noise)
        naive = reference.perturbed_mle(wins.matrix, tilt, float(ours.diagnostics.gamma), link)
        np.testing.assert_allclose(ours.value, naive - naive.mean(), atol=1e-6)
        assert int(ours.diagnostics.fit.code) == 0


def test_without_noise_it_is_the_ridge_fit(key):
    wins, _ = tournament(3, 6)
    for link in LINKS:
        ours = perturbed_mle(key, wins, promise(math.inf, adjacency="flip"), link=link, gamma=0.4)
        np.testing.assert_allclose(ours.value, mle(wins, link=link, gamma=0.4).value, atol=1e-8)
        assert float(ours.diagnostics.noise_scale) == 0.0


# --- batches, padding, compilations --------------------------------------------------------------


def test_a_sweep_traces_and_compiles_once(key):
    """ε, γ, L, key and data are traced; only shapes, the link and names are static."""
    traces = []

    @jax.jit
    def run(k, wins, epsilon, gamma, limit):
        traces.append(1)
        return perturbed_mle(
            k, wins, promise(epsilon, "user", contributions=limit), gamma=gamma
        ).value

    sweep = list(itertools.product((0.2, 1.0, 5.0), (1.0, 40.0), (1, 3)))
    values = {tuple(np.asarray(run(key, tournament(n, 6)[0], *s))) for n, s in enumerate(sweep)}
    assert len(traces) == 1
    assert len(values) == len(sweep)

    before = _simulated._cache_size()
    for number, (epsilon, gamma, limit) in enumerate(sweep):
        wins = tournament(number, 9)[0]
        perturbed_mle(key, wins, promise(epsilon, "user", "flip", limit), gamma=gamma)
    assert _simulated._cache_size() == before + 1


@pytest.mark.slow
def test_padding_changes_nothing(key):
    """The draws depend on the padded size, so the comparison is made without noise and at a given γ."""
    wins, _ = tournament(8, 4)
    padded = np.zeros((6, 6))
    padded[:4, :4] = wins.matrix
    mask, free = np.arange(6) < 4, promise(math.inf, adjacency="flip")
    for link in LINKS:
        options = {"link": link, "gamma": 1.3}
        alone = perturbed_mle(key, wins, free, **options).value
        within = perturbed_mle(key, WinCounts.from_matrix(padded, mask), free, **options).value
        np.testing.assert_allclose(within[:4], alone, atol=1e-9)
        np.testing.assert_array_equal(within[4:], 0.0)


@pytest.mark.parametrize("record", [perturbed_mle, published_mle])
def test_padding_leaves_the_default_gamma(record, key):
    wins, _ = tournament(8, 4)
    padded = np.zeros((6, 6))
    padded[:4, :4] = wins.matrix
    masked = WinCounts.from_matrix(padded, np.arange(6) < 4)
    asked = promise(1.0, adjacency="flip")
    gammas = [float(record(key, w, asked).diagnostics.gamma) for w in (wins, masked)]
    assert gammas[0] == pytest.approx(gammas[1], rel=1e-12)


# --- calibration and guarantee -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adjacency", "constant"), [("flip", 2.0), ("replace", 4.0), ("add-remove", 2.0)]
)
@pytest.mark.parametrize(("unit", "per_user", "counted"), [("comparison", 6, 1), ("user", 6, 6)])
def test_noise_scale_and_guarantee(unit, per_user, counted, adjacency, constant, key):
    estimate = perturbed_mle(key, tournament(9, 6)[0], promise(0.5, unit, adjacency, per_user))
    scale, gamma = estimate.diagnostics.noise_scale, estimate.diagnostics.gamma
    assert float(scale) == pytest.approx(constant * counted / 0.5)
    assert float(gamma) >= (0.0 if adjacency == "flip" else float(scale))
    guarantee = estimate.guarantee
    assert (float(guarantee.epsilon), float(guarantee.delta)) == (0.5, 0.0)
    assert (guarantee.unit, guarantee.adjacency) == (unit, adjacency)
    assert guarantee.numerics == ("simulation" if adjacency == "flip" else "idealized")


def test_gamma_does_not_depend_on_outcomes_nor_on_a_private_count(key):
    wins, _ = tournament(10, 6)
    reversed_wins = WinCounts.from_matrix(wins.matrix.T)
    more = WinCounts.from_matrix(3 * wins.matrix)

    def gamma(data, unit, adjacency):
        return float(perturbed_mle(key, data, promise(1.0, unit, adjacency, 2)).diagnostics.gamma)

    for unit, adjacency in itertools.product(("comparison", "user"), ADJACENCIES):
        assert gamma(wins, unit, adjacency) == gamma(reversed_wins, unit, adjacency)
        if adjacency == "add-remove" or (unit, adjacency) == ("user", "replace"):
            assert gamma(wins, unit, adjacency) == gamma(more, unit, adjacency)
    assert gamma(wins, "comparison", "flip") != gamma(more, "comparison", "flip")


def test_published_gamma_does_not_depend_on_a_private_count(key):
    wins, _ = tournament(10, 6)
    more = WinCounts.from_matrix(30 * wins.matrix)
    for unit, adjacency in (
        ("comparison", "add-remove"),
        ("user", "add-remove"),
        ("user", "replace"),
    ):
        gammas = [
            published_mle(key, data, promise(1.0, unit, adjacency, 2)).diagnostics.gamma
            for data in (wins, more)
        ]
        assert float(gammas[0]) == float(gammas[1]), (unit, adjacency)


def test_published_calibration(key):
    wins, _ = tournament(11, 6)
    degree = float(wins.degrees.mean())
    edge = published_mle(key, wins, promise(1.0, adjacency="flip")).diagnostics
    assert float(edge.noise_scale) == 8.0
    assert float(edge.gamma) == pytest.approx(2 * math.sqrt(degree * math.log(6)))
    user = published_mle(key, wins, promise(1.0, "user", contributions=7)).diagnostics
    assert (float(user.noise_scale), float(user.gamma)) == pytest.approx((56.0, 14.0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"link": "normal"}, r"κ₁ = ∞.*link='logistic'.*noisy_counts"),
        ({"link": "probit"}, "unknown link"),
        ({"unit": "user", "contributions": None}, "needs contributions=L"),
        ({"noise": "gaussian"}, "needs delta > 0.*or choose noise='laplace'"),
        ({"noise": "cauchy"}, "noise must be one of"),
        ({"adjacency": "replace", "gamma": 1.0}, "below 4, the least ridge"),
        ({"gamma": -1.0}, "gamma must be finite and at least 0"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    asked, options = split(settings, adjacency="flip")
    with pytest.raises(ValueError, match=message):
        perturbed_mle(key, tournament(13, 6)[0], asked, **options)


def test_traced_gamma_is_raised_to_its_floor(key):
    wins, _ = tournament(14, 6)
    fit = jax.jit(lambda gamma: perturbed_mle(key, wins, promise(1.0), gamma=gamma))
    estimate = fit(0.1)
    assert float(estimate.diagnostics.gamma) == 4.0
    expected = perturbed_mle(key, wins, promise(1.0), gamma=4.0).value
    np.testing.assert_allclose(estimate.value, expected, atol=1e-12)


# --- utility -------------------------------------------------------------------------------------


def test_an_edge_list_is_refused_with_what_to_do_instead(key):
    edges = WinEdges.from_comparisons([0, 1], [1, 2], num_items=3)
    with pytest.raises(TypeError, match=r"got WinEdges.*WinCounts\.from_comparisons"):
        perturbed_mle(key, edges, promise(1.0))

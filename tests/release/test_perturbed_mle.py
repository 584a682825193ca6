"""The exact perturbed MLE: its law, its privacy at neighbors, its simulated twin, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact.balls import Laplace, Normal
from privrank_jax.privacy import Privacy
from privrank_jax.release import exact_perturbed_mle
from privrank_jax.release.minimizer import rounded_minimizer
from privrank_jax.release.perturbed_models import GRID, likelihood_of, perturbed_scores
from tests import reference
from tests.promises import promise

ALARM = 1e-5  # false-alarm rate on fresh noise, which can't be seeded
COMPARISON = Privacy(1.0, unit="comparison", adjacency="replace")


def counts(*rows, items=2):
    matrix = np.zeros((items, items))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return matrix


def law_of_two(matrix, scale, gamma, grid, noise="laplace", reach=400):
    """Probabilities of the released integer of item 0 from -reach to reach, in closed form.

    The gap s between two centered scores solves γs/2 + Mσ(s) - N₀ + (w₀ - w₁)/2 = 0, which rises in s; w₁ - w₀ has the
    law of a difference of two Laplace numbers, P(w₁ - w₀ ≤ -v) = (1 + v/(2λ))e^{-v/λ}/2, or N(0, 2σ²).
    """
    ends = (np.arange(-reach, reach + 2) - 0.5) * float(grid) * 2
    met, won = matrix[0, 1] + matrix[1, 0], matrix[0, 1]
    needed = gamma * ends + 2 * met * expit(ends) - 2 * won
    if noise == "gaussian":
        return np.diff(stats.norm(scale=math.sqrt(2) * scale).cdf(needed))
    size = np.abs(needed) / scale
    tail = 0.5 * (1 + size / 2) * np.exp(-size)
    beyond, before = -np.diff(tail), np.diff(tail)
    across = 1 - tail[:-1] - tail[1:]
    return np.where(needed[1:] <= 0, before, np.where(needed[:-1] >= 0, beyond, across))


@pytest.mark.parametrize(
    ("noise", "law"),
    [("laplace", Laplace), pytest.param("gaussian", Normal, marks=pytest.mark.slow)],
)
def test_released_integers_of_two_items_have_their_law(noise, law):
    matrix, scale, gamma, grid = counts((0, 1, 6.5), (1, 0, 3.5)), 3, 3, Fraction(1, 8)
    objective = likelihood_of((2 * matrix).astype(int))
    drawn = [
        rounded_minimizer(
            objective, Fraction(gamma), [law(Fraction(scale)) for _ in range(2)], grid
        )
        for _ in range(2000)
    ]
    assert all(low == -high for high, low in drawn if abs(high) % 2 == 0)
    seen = np.array([high for high, _ in drawn])

    def alarm(scale):
        expected = law_of_two(matrix, scale, gamma, grid, noise)
        values = np.arange(-400, 401)
        inside = (np.abs(values) <= 12) & (expected * seen.size >= 5)  # rarer ones together
        observed = np.array([np.sum(seen == k) for k in values[inside]])
        pooled = np.append(expected[inside], 1 - expected[inside].sum()) * seen.size
        return stats.chisquare(np.append(observed, seen.size - observed.sum()), pooled).pvalue

    assert alarm(scale) > ALARM
    assert alarm(1.25 * scale) < ALARM
    assert alarm(scale / 1.25) < ALARM


def test_calibration_is_that_of_the_theorem():
    wins = WinCounts.from_matrix(counts((0, 1, 30), (1, 0, 20)))
    for adjacency, per in (("replace", 4), ("add-remove", 2), ("flip", 2)):
        asked = Privacy(0.5, unit="user", adjacency=adjacency, contributions=3)
        found = exact_perturbed_mle(wins, asked)
        assert found.diagnostics.noise_scale == pytest.approx(per * 3 / 0.5)
        assert found.guarantee.attained.epsilon == 0.5
        assert found.guarantee.numerics == "exact"
        if adjacency != "flip":
            assert found.diagnostics.gamma == pytest.approx(per * 3 / 0.5)


@pytest.mark.parametrize(
    ("link", "noise"),
    [("logistic", "laplace"), pytest.param("laplace", "gaussian", marks=pytest.mark.slow)],
)
def test_equal_in_law_to_its_simulated_twin(link, noise):
    rng = np.random.default_rng(0)
    matrix = rng.integers(0, 40, (3, 3)) * (1 - np.eye(3))
    asked = promise(2.0, "comparison", "replace", delta=1e-5 if noise == "gaussian" else 0.0)
    wins = WinCounts.from_matrix(matrix)
    keys = jax.random.split(jax.random.key(1), 4000)
    twin = jax.vmap(lambda key: pairwise.perturbed_mle(key, wins, asked, link=link, noise=noise))
    simulated = np.asarray(twin(keys).value)
    facts = exact_perturbed_mle(wins, asked, link=link, noise=noise).diagnostics
    told = {
        "link": link,
        "noise": noise,
        "gamma": Fraction(facts.gamma),
        "noise_scale": Fraction(facts.noise_scale),
    }
    draws = [perturbed_scores((2 * matrix).astype(int), asked, **told) for _ in range(800)]
    exact = np.array(draws, float) * float(GRID)
    wide = 1.4 * exact - 0.4 * exact.mean(0)
    for item in range(3):
        assert stats.ks_2samp(exact[:, item], simulated[:, item]).pvalue > ALARM
    assert min(stats.ks_2samp(wide[:, i], simulated[:, i]).pvalue for i in range(3)) < 1e-3


def test_scores_are_centered_multiples_of_the_grid():
    value = exact_perturbed_mle(
        WinCounts.from_matrix(counts((0, 1, 3), (1, 2, 2.5), items=3)), COMPARISON
    ).value
    assert np.all(value / float(GRID) == np.round(value / float(GRID)))
    assert abs(value.sum()) <= 3 * float(GRID)


def test_weighted_comparisons_are_released():
    rows = (0, 1, 1 / 1024), (1, 0, 3 + 1 / 2048), (1, 2, 2.5)
    wins = WinCounts.from_matrix(counts(*rows, items=3))
    found = exact_perturbed_mle(wins, COMPARISON, weighted=True)
    assert found.guarantee.numerics == "exact"
    assert (found.diagnostics.noise_scale, found.diagnostics.gamma) == (4.0, 4.0)
    hardly = Privacy(1e9, unit="comparison", adjacency="replace")
    found = exact_perturbed_mle(wins, hardly, weighted=True, gamma=1.0)
    wanted = reference.fit("logistic", counts(*rows, items=3), ridge=1.0)
    np.testing.assert_allclose(found.value, wanted, atol=1e-5)
    with pytest.raises(ValueError, match="multiples of 1/2 "):
        exact_perturbed_mle(wins, COMPARISON)
    odd = WinCounts.from_matrix(counts((0, 1, 0.3)))
    with pytest.raises(ValueError, match=r"multiples of 1/1024: .*bounded_weights"):
        exact_perturbed_mle(odd, COMPARISON, weighted=True)


def test_one_item_and_no_comparisons_are_fitted():
    assert exact_perturbed_mle(WinCounts(jnp.zeros((1, 1))), COMPARISON).value.tolist() == [0.0]
    assert np.ptp(exact_perturbed_mle(WinCounts(jnp.zeros((3, 3))), COMPARISON).value) > 0


@pytest.mark.parametrize("epsilon", [1e-9, 1e-3, 1000.0])
@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_extreme_budgets_end_in_finite_scores(epsilon, adjacency):
    asked = Privacy(epsilon, unit="user", adjacency=adjacency, contributions=5)
    with jax.enable_x64(True):
        wins = WinCounts.from_matrix(counts((0, 1, 2.0**48), (1, 0, 3), (2, 1, 1), items=4))
        found = exact_perturbed_mle(wins, asked)
    assert np.all(np.isfinite(found.value))
    if epsilon == 1000:
        assert found.value[0] == found.value.max()


def _asked(epsilon=1.0, unit="comparison", adjacency="replace"):
    return Privacy(epsilon, unit=unit, adjacency=adjacency)


@pytest.mark.parametrize(
    ("matrix", "told", "words"),
    [
        ([[0.0, -1.0], [2.0, 0.0]], {}, "at least 0"),
        ([[1.0, 0.0], [0.0, 0.0]], {}, "meet itself"),
        ([[0.0, 0.3], [0.0, 0.0]], {}, "multiples of 1/2"),
        ([[0.0, jnp.nan], [0.0, 0.0]], {}, "multiples of 1/2"),
        (np.float32([[0.0, 2.0**30], [0.0, 0.0]]), {}, "exact counts"),
        (counts((0, 1, 3)), {"privacy": _asked(jnp.inf)}, "epsilon"),
        (counts((0, 1, 3)), {"privacy": _asked(unit="user")}, "contributions"),
        (counts((0, 1, 3)), {"gamma": 0.5}, "gamma"),
        (counts((0, 1, 3)), {"gamma": 0.0, "privacy": _asked(adjacency="flip")}, "gamma"),
        (counts((0, 1, 3)), {"link": "normal"}, "unbounded score"),
        (counts((0, 1, 3)), {"noise": "gaussian"}, "delta"),
        (counts((0, 1, 3)), {"noise": "k-norm"}, "noise"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(matrix, told, words):
    with pytest.raises(ValueError, match=words):
        exact_perturbed_mle(WinCounts(jnp.asarray(matrix)), **{"privacy": COMPARISON} | told)


def test_plain_matrices_are_refused():
    with pytest.raises(TypeError, match="WinCounts"):
        exact_perturbed_mle(np.ones((2, 2)), COMPARISON)

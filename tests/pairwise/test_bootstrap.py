from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import (
    bootstrap_intervals,
    confidence_intervals,
    noisy_counts,
    parametric_bootstrap,
    perturbed_mle,
    standard_errors,
)
from privrank_jax.pairwise.bootstrap import _simulate

THETA = np.array([1.0, 0.5, 0.0, -0.4, -1.1])
SIZE, DRAWS = 5, 2000  # few mechanisms and one number of draws: few compilations
DESIGN = np.array(
    [[0, 90, 30, 70, 60], [90, 0, 80, 40, 0], [30, 80, 0, 60, 60], [70, 40, 60, 0, 90], [60, 0, 60, 90, 0]],
    float,
)  # fmt: skip
CHANCE = 1 / (1 + np.exp(THETA[None, :] - THETA[:, None]))


def data_alone(key, wins):
    return jnp.append(wins.matrix.ravel(), wins.item_mask)


def noisy_totals(key, wins):
    return noisy_counts(key, wins, 0.2)


def private_scores(key, wins):
    return perturbed_mle(key, wins, 0.1, gamma=5.0)


def drawn_data(key, comparisons, **settings):
    """Win counts and masks that the mechanism saw."""
    draws = np.asarray(parametric_bootstrap(key, THETA, comparisons, data_alone, DRAWS, **settings))
    return draws[:, : SIZE**2].reshape(DRAWS, SIZE, SIZE), draws[:, SIZE**2 :]


# --- the draws -----------------------------------------------------------------------------------


def test_outcomes_are_binomial_under_the_scores(key):
    """Mean and variance of the wins of each pair within 5 standard errors; every comparison has one winner."""
    everyone = np.ones(SIZE, bool)  # as a mask, so that masked items need no other program
    wins, masks = drawn_data(key, DESIGN, link="laplace", mask=everyone)
    np.testing.assert_array_equal(wins + np.swapaxes(wins, 1, 2), [DESIGN] * DRAWS)
    assert np.all(masks == 1)
    chance = np.asarray(get_link("laplace").cdf(THETA[:, None] - THETA[None, :]))
    variance = DESIGN * chance * (1 - chance)
    assert np.all(np.abs(wins.mean(0) - DESIGN * chance) <= 5 * np.sqrt(variance / DRAWS))
    met = DESIGN > 0
    relative = wins.var(0)[met] / variance[met] - 1
    assert np.all(np.abs(relative) < 5 * np.sqrt(2.1 / DRAWS))  # kurtosis is near 3
    fractions = DESIGN + np.where(met, 0.3, 0.0)
    rounded, _ = drawn_data(key, fractions, link="laplace", mask=everyone)
    np.testing.assert_array_equal(rounded, wins)


def test_masked_items_meet_nobody(key):
    mask = np.array([True, True, False, True, True])
    wins, masks = drawn_data(key, DESIGN, link="laplace", mask=mask)
    met = np.where(np.outer(mask, mask), DESIGN, 0)
    np.testing.assert_array_equal(wins + np.swapaxes(wins, 1, 2), [met] * DRAWS)
    np.testing.assert_array_equal(masks, [mask] * DRAWS)


def test_privacy_noise_is_fresh_and_of_the_mechanism(key):
    """Variance of noisy totals: that of the outcomes plus 2 (2/ε)², within 5 standard errors."""
    draws = np.asarray(parametric_bootstrap(key, THETA, DESIGN, noisy_totals, DRAWS))
    assert draws.shape == (DRAWS, SIZE)
    wanted = (DESIGN * CHANCE * (1 - CHANCE)).sum(1) + 2 * (2 / 0.2) ** 2
    assert np.all(
        np.abs(draws.var(0) / wanted - 1) < 5 * np.sqrt(5 / DRAWS)
    )  # kurtosis is at most 6
    assert len(np.unique(draws)) == draws.size


def test_the_key_decides_and_batches_and_data_do_not_recompile(key):
    first = parametric_bootstrap(key, THETA, DESIGN, noisy_totals, DRAWS)
    before = _simulate._cache_size()
    again = parametric_bootstrap(key, THETA, DESIGN, noisy_totals, DRAWS)
    np.testing.assert_array_equal(first, again)
    other = parametric_bootstrap(jax.random.key(1), 2 * THETA, 3 * DESIGN, noisy_totals, DRAWS)
    assert not np.any(np.asarray(other) == np.asarray(first))
    assert _simulate._cache_size() == before
    pieces = parametric_bootstrap(key, THETA, DESIGN, noisy_totals, DRAWS, batch_size=250)
    np.testing.assert_allclose(pieces, first, rtol=1e-12)


def test_it_runs_within_a_batch(key):
    """A mechanism may close over what the caller vmaps over."""

    def spread(scale):
        def scaled(_, wins):
            return scale * wins.totals

        return parametric_bootstrap(key, THETA, DESIGN, scaled, 20)

    both = jax.vmap(spread)(jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(both[1], 3 * both[0], rtol=1e-12)


# --- intervals -----------------------------------------------------------------------------------


def test_intervals_agree_with_the_analytic_ones(key):
    """Ends within 10 % of the width; without the privacy noise they would be less than 3/4 as wide."""
    comparisons = 10 * DESIGN
    expected = WinCounts(jnp.asarray(comparisons * CHANCE))
    found = private_scores(jax.random.fold_in(key, 1), expected)
    scale = found.diagnostics.noise_scale
    errors = standard_errors(found.value, comparisons, noise_scale=scale, gamma=5.0)
    draws = parametric_bootstrap(key, errors.centre, comparisons, private_scores, DRAWS)
    ours = np.array(bootstrap_intervals(found.value, errors.centre, draws))
    wanted = np.array(confidence_intervals(errors))
    width = wanted[1] - wanted[0]
    assert np.all(np.abs(ours - wanted) < 0.1 * width)
    quiet = standard_errors(found.value, comparisons, gamma=5.0)
    assert np.all(np.subtract(*confidence_intervals(quiet)[::-1]) < 0.75 * width)


def test_intervals_are_the_value_less_quantiles_of_the_errors():
    rng = np.random.default_rng(0)
    value, theta, draws = rng.standard_normal(3), rng.standard_normal(3), rng.random((101, 3))
    low, high = bootstrap_intervals(value, theta, jnp.asarray(draws), 0.9)
    errors = np.sort(draws - theta, axis=0)
    np.testing.assert_allclose(low, value - errors[95], rtol=1e-12)
    np.testing.assert_allclose(high, value - errors[5], rtol=1e-12)
    assert np.all(low < high)


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"replicates": 0}, "replicates must be at least 1"),
        ({"link": "probit"}, "unknown link"),
        ({"theta": THETA[:4]}, r"\(4,\) and comparison counts \(5, 5\)"),
        ({"theta": THETA * np.nan}, "finite; did the fit converge"),
        ({"comparisons": -DESIGN}, "finite, at least 0 and symmetric"),
        ({"comparisons": np.triu(DESIGN)}, "finite, at least 0 and symmetric"),
    ],
)
def test_bad_arguments_are_refused(changed, message, key):
    settings = {"theta": THETA, "comparisons": DESIGN, "refit": data_alone, "replicates": 2}
    with pytest.raises(ValueError, match=message):
        parametric_bootstrap(key, **settings | changed)


def test_bad_intervals_are_refused():
    draws = jnp.zeros((4, SIZE))
    for level in (0.0, 1.0, 95):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            bootstrap_intervals(THETA, THETA, draws, level)
    for wrong in ((THETA[:2], THETA, draws), (THETA, THETA, draws.T), (THETA, THETA, draws[0])):
        with pytest.raises(ValueError, match="must have shapes"):
            bootstrap_intervals(*wrong)

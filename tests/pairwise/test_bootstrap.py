from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.links import get_link
from privrank_jax.pairwise import noisy_counts
from privrank_jax.pairwise.intervals import parametric_bootstrap
from tests.promises import promise

THETA = np.array([1.0, 0.5, 0.0, -0.4, -1.1])
SIZE, DRAWS = 5, 2000  # Few mechanisms and one number of draws keep compilations few.
DESIGN = np.array(
    [[0, 90, 30, 70, 60], [90, 0, 80, 40, 0], [30, 80, 0, 60, 60], [70, 40, 60, 0, 90], [60, 0, 60, 90, 0]],
    float,
)  # fmt: skip
EVERYONE = np.ones(SIZE, bool)
GAPS = THETA[:, None] - THETA[None, :]


def all_seen(key, wins):
    """Data, mask and noisy totals, so that one program serves most tests."""
    noisy = noisy_counts(key, wins, promise(0.2)).value
    return jnp.concatenate([wins.matrix.ravel(), wins.item_mask, noisy])


def drawn(key, comparisons=DESIGN, theta=THETA, mask=EVERYONE):
    """Win counts, masks and noisy totals of every replicate, under the Laplace link."""
    draws = parametric_bootstrap(
        key, theta, comparisons, all_seen, DRAWS, link="laplace", mask=mask
    )
    wins, masks, noisy = np.split(np.asarray(draws), [SIZE**2, SIZE**2 + SIZE], axis=1)
    return wins.reshape(DRAWS, SIZE, SIZE), masks, noisy


# --- the draws -----------------------------------------------------------------------------------


def test_outcomes_are_binomial_and_the_noise_is_that_of_the_mechanism(key):
    """Means and variances within 5 standard errors; every comparison has one winner."""
    wins, masks, noisy = drawn(key)
    np.testing.assert_array_equal(wins + np.swapaxes(wins, 1, 2), [DESIGN] * DRAWS)
    assert np.all(masks == 1)
    chance = np.asarray(get_link("laplace").cdf(GAPS))
    variance, met = DESIGN * chance * (1 - chance), DESIGN > 0
    assert np.all(np.abs(wins.mean(0) - DESIGN * chance) <= 5 * np.sqrt(variance / DRAWS))
    relative = wins.var(0)[met] / variance[met] - 1
    assert np.all(np.abs(relative) < 5 * np.sqrt(2.1 / DRAWS))  # kurtosis is near 3
    noise = noisy - wins.sum(2)
    assert np.all(np.abs(noise.var(0) / (2 * (2 / 0.2) ** 2) - 1) < 5 * np.sqrt(5 / DRAWS))
    assert len(np.unique(noise.round(9))) == noise.size
    covariance = np.corrcoef(noise.T, wins.sum(2).T)[:SIZE, SIZE:]
    assert np.all(np.abs(covariance) < 5 / np.sqrt(DRAWS))  # one key does not draw both


def test_expected_counts_are_rounded(key):
    fractions = DESIGN + np.where(DESIGN > 0, 0.3, 0.0)
    np.testing.assert_array_equal(drawn(key, fractions)[0], drawn(key)[0])


def test_masked_items_meet_nobody(key):
    mask = np.array([True, True, False, True, True])
    wins, masks, _ = drawn(key, mask=mask)
    met = np.where(np.outer(mask, mask), DESIGN, 0)
    np.testing.assert_array_equal(wins + np.swapaxes(wins, 1, 2), [met] * DRAWS)
    np.testing.assert_array_equal(masks, [mask] * DRAWS)


def test_it_runs_within_a_batch(key):
    """A mechanism may close over values that the caller maps with vmap."""

    def spread(scale):
        def scaled(_, wins):
            return scale * wins.totals

        return parametric_bootstrap(key, THETA, DESIGN, scaled, 20)

    both = jax.vmap(spread)(jnp.array([1.0, 3.0]))
    np.testing.assert_allclose(both[1], 3 * both[0], rtol=1e-12)


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"replicates": 0}, "replicates must be"),
        ({"link": "probit"}, "unknown link"),
        ({"theta": THETA[:4]}, r"\(4,\) and comparison counts \(5, 5\)"),
        ({"theta": THETA * np.nan}, "finite; did the fit converge"),
        ({"comparisons": -DESIGN}, "finite, at least 0 and symmetric"),
        ({"comparisons": np.triu(DESIGN)}, "finite, at least 0 and symmetric"),
    ],
)
def test_bad_arguments_are_refused(changed, message, key):
    settings = {"theta": THETA, "comparisons": DESIGN, "refit": all_seen, "replicates": 2}
    with pytest.raises(ValueError, match=message):
        parametric_bootstrap(key, **settings | changed)

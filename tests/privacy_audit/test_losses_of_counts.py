"""Exact privacy loss of noisy counts, and of the top item of two."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from privrank_jax import pairwise, privacy_audit
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_counts
from privrank_jax.privacy_audit import top_item_log_probability
from tests.privacy_audit.losses import noisy_totals_loss, top_item_loss
from tests.privacy_audit.search import ADJACENCIES, ROUNDING, counts, unit_contents
from tests.promises import promise


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("unit", "comparisons"), [("comparison", 1), ("user", 3)])
def test_noisy_counts_lose_exactly_epsilon(unit, comparisons, adjacency, key):
    """All contents of one unit, three items; the rest of the data cancels."""
    contents, groups = unit_contents(3, comparisons)
    result = noisy_counts(key, counts(3), promise(0.7, unit, adjacency, comparisons))
    scale = result.diagnostics.noise_scale
    loss = jax.jit(lambda a, b: noisy_totals_loss(WinCounts(a), WinCounts(b), noise_scale=scale))
    chosen = range(len(contents))
    pairs = np.array(
        [
            (a, b)
            for a, b in itertools.combinations(chosen, 2)
            if adjacency == "replace"
            or (adjacency == "add-remove" and a == 0)
            or (adjacency == "flip" and groups[a] == groups[b])
        ]
    )
    largest = float(jax.vmap(loss)(contents[pairs[:, 0]], contents[pairs[:, 1]]).max())
    assert largest == pytest.approx(0.7, rel=1e-12)


@pytest.mark.parametrize("gap", [-40.0, -3.0, -0.2, 0.0, 1.5, 12.0])
def test_top_item_probability_is_the_integral(gap):
    direct, _ = scipy.integrate.quad(
        lambda z: (
            scipy.stats.laplace.pdf(z, scale=2.0) * scipy.stats.laplace.cdf(gap + z, scale=2.0)
        ),
        -120,
        120,
        points=sorted({0.0, -gap}),
        epsabs=1e-18,
        epsrel=1e-10,
    )
    assert float(jnp.exp(top_item_log_probability(gap, 2.0))) == pytest.approx(direct, rel=1e-8)


def test_top_item_catches_the_published_scale_of_users(key):
    """Cai, Algorithm 3: a user of two items, L answers reversed, moves the gap by 2L."""
    epsilon, comparisons = 0.5, 6
    gaps = np.linspace(-4000.0, 4000.0, 8001)
    worst = {}
    for calibration in ("published", "tight"):
        asked = promise(epsilon, "user", contributions=comparisons)
        result = noisy_counts(key, counts(2), asked, calibration=calibration)
        losses = top_item_loss(gaps, gaps - 2 * comparisons, result.diagnostics.noise_scale)
        worst[calibration] = float(losses.max())
        assert worst[calibration] <= float(result.guarantee.epsilon) * ROUNDING
    assert worst["published"] >= 1.9 * epsilon
    assert 0.99 * epsilon <= worst["tight"] <= epsilon * ROUNDING


def test_top_item_under_add_remove_is_sound_at_the_published_scale():
    """Adding a user moves the gap by at most L: the printed L/ε fits this adjacency."""
    gaps = np.linspace(-4000.0, 4000.0, 8001)
    worst = float(top_item_loss(gaps, gaps - 6, 6 / 0.5).max())
    assert 0.99 * 0.5 <= worst <= 0.5 * ROUNDING


def test_noisy_counts_loss_agrees_with_the_closed_form():
    row = privacy_audit.get("noisy-counts-users")
    one, other = (WinCounts(data) for data in row.neighbors)
    scale = pairwise.noisy_counts(
        jax.random.key(0), one, promise(0.7, "user", contributions=3)
    ).diagnostics.noise_scale
    closed = noisy_totals_loss(one, other, noise_scale=scale)
    assert privacy_audit.exact_loss(row, 0.7) == pytest.approx(float(closed), rel=1e-12)

"""The noise of audited mechanisms, for pictures: what the release adds, in the units of its changes."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import privacy_audit
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.contents import questionnaire_facets
from privrank_jax.privacy_audit.empirical import noise_draws

DRAWN = [name for name in privacy_audit.names() if privacy_audit.get(name).changes is not None]


@pytest.mark.parametrize("name", DRAWN)
def test_the_neighbors_of_the_row_change_no_more_than_its_changes(name, key):
    """Each change is a mixture of those listed: no direction in which it reaches farther."""
    row = privacy_audit.get(name)
    values = [np.asarray(row.value(key, data, row.at(np.inf))) for data in row.neighbors]
    directions = np.random.default_rng(0).normal(size=(200, 3))
    ahead = directions @ row.changes.T
    assert np.all(directions @ (values[0] - values[1]) <= ahead.max(axis=1) + 1e-9)
    np.testing.assert_allclose(ahead.max(axis=1), -ahead.min(axis=1))


def test_draws_are_the_noise_alone(key):
    """K-norm noise: its mean norm is p times the scale, here 2/ε; five standard errors."""
    name = "noisy-counts-questionnaire"
    noise = noise_draws(key, name, 0.5, draws=2000)
    np.testing.assert_allclose(noise.sum(axis=1), 0, atol=1e-9)
    norms = laws.body_norm(questionnaire_facets(3, ((0, 1), (0, 1), (0, 2), (1, 2)), "flip"), noise)
    assert norms.mean() == pytest.approx(4.0, abs=5 * np.sqrt(8 / 2000))
    assert noise_draws(jax.random.key(1), name, draws=3).shape == (3, 3)
    with pytest.raises(ValueError, match=r"these do: .*noisy-counts-questionnaire"):
        noise_draws(key, "randomized-response")
    with pytest.raises(ValueError, match="epsilon"):
        noise_draws(key, name, 0.0)

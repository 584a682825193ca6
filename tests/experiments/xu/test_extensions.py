"""Mixed effects and the other extensions."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.experiments.xu import extensions as xu_extensions
from privrank_jax.pairwise.mixed_models import mixed_effects
from privrank_jax.simulate.worlds import reports
from tests.experiments.estimates import placed
from tests.experiments.rows import p_of
from tests.experiments.xu.shared import KEY, errors, same


def effect_error(found, truth):
    """L^(-1/2) of the distance, over users whose effect is finite."""
    gaps = [a - b for a, b in zip(found, truth, strict=True) if np.isfinite(a)]
    return float(np.sqrt(np.mean(np.square(gaps))))


@pytest.mark.slow
def test_mixed_effects_are_not_moved_by_padding():
    cell = {"num_items": 4, "num_users": 20, "max_items": 5, "max_users": 30}
    ours = jax.jit(lambda key: xu_extensions.table_3(key, p_of("xu-table3", **cell)))(KEY)
    world_key, user_key, answer_key = jax.random.split(KEY, 3)
    theta, _ = reports.uniform_scores(world_key, 4, 5)
    lean = np.asarray(jax.random.normal(user_key, (30,)))
    first, second = np.triu_indices(5, 1)
    logits = lean[:, None] + np.asarray(theta[first] - theta[second])
    answers = np.asarray(jax.random.uniform(answer_key, (30, 10))) < 1 / (1 + np.exp(-logits))
    estimate = mixed_effects(answers[:20, second < 4].astype(float)).value
    naive = {
        ("two-step", "l2_error"): errors(estimate.scores, theta[:4])["l2_error"],
        ("two-step", "sigma_error"): abs(float(estimate.sigma) - 1),
        ("two-step", "effect_error"): effect_error(np.asarray(estimate.user_effects), lean[:20]),
    }
    same(placed(ours, ("estimator", "metric")), naive, atol=1e-3)

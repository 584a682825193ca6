"""Claims on the attack."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import mallows
from privrank_jax.experiments.rdp import attack as rdp_attack
from privrank_jax.mallows import attack
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared import row
from tests.quick import quick_jit


def beside(mean, bound, **more):
    return [row(mean, **more), row(bound, metric="lower_bound", estimator="any attack", **more)]


def test_claims_on_the_attack():
    fine = StudyResult("t", beside(0.3, 0.2) + beside(0.19, 0.2, num_rankings=20))
    assert rdp_attack.above_bound(fine).holds is True
    assert rdp_attack.above_bound(StudyResult("t", beside(0.1, 0.2))).holds is False
    assert rdp_attack.above_bound(StudyResult("t", beside(0.0, 1e-9))).holds is True
    sizes = [row(0.1 * m, num_items=m) for m in (3, 4, 5)]
    rare = [row(0.001, num_items=m, num_rankings=90) for m in (3, 4, 5)]
    assert rdp_attack.rises(StudyResult("t", sizes + rare)).holds is True
    down = [row(0.4 - 0.1 * (m - 3), num_items=m, num_rankings=50) for m in (3, 4, 5)]
    assert rdp_attack.rises(StudyResult("t", sizes + down)).holds is False

    def schemes(slow, fast):
        return StudyResult("t", [
            row(mean, num_rankings=rankings, scheme=scheme)
            for scheme, means in ((rdp_attack.SLOW, slow), (rdp_attack.FAST, fast))
            for rankings, mean in zip((10, 100), means)
        ])  # fmt: skip

    assert rdp_attack.stays_away(schemes((0.6, 0.5), (0.3, 0.01))).holds is True
    assert rdp_attack.goes_to_zero(schemes((0.6, 0.5), (0.3, 0.01))).holds is True
    assert rdp_attack.stays_away(schemes((0.6, 0.2), (0.3, 0.2))).holds is False
    assert rdp_attack.goes_to_zero(schemes((0.6, 0.2), (0.3, 0.2))).holds is False
    assert rdp_attack.stays_away(StudyResult("t", [row(0.5)])).holds is None


def test_attack_at_falling_epsilon_is_the_attack_on_the_first_rankings():
    config = rdp_attack.AdaptiveConfig("x", items=(4,), rankings=(7, 50, 120))

    @quick_jit
    @jax.vmap
    def ours(key, rankings):
        cell = {"num_items": 4, "num_rankings": rankings, "scheme": rdp_attack.SLOW}
        found = rdp_attack.adaptive_trial(key, cell, config=config)
        return found[rdp_attack.WRONG][rdp_attack.GUESS]

    @quick_jit
    @jax.vmap
    def naive(key, rankings):
        keys = jax.random.split(key, 121)
        epsilon, center = 3 / jnp.sqrt(rankings), jnp.arange(4)
        ranks = jax.vmap(mallows.sample, (0, None, None))(keys[:120], center, epsilon)
        wins = attack.win_counts(ranks, jnp.arange(120) < rankings)
        return jnp.any(mallows.most_likely_center(keys[120], wins) != center)

    keys = jax.random.split(jax.random.key(3), 60)
    sizes = jnp.tile(jnp.array(config.rankings), 20)
    wrong = ours(keys, sizes)
    np.testing.assert_array_equal(wrong, naive(keys, sizes))
    assert 0 < wrong.mean() < 1

"""Claims on the attack."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import experiments, mallows
from privrank_jax.experiments.rdp import attack as rdp_attack
from privrank_jax.mallows import attack
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared import row
from tests.experiments.rows import p_of
from tests.quick import quick_jit


def test_claims_on_the_attack():
    bound = rdp_attack.bound_of(row(0.0))
    assert 0.1 < bound < 0.5
    known = experiments.get("rdp-fig5").claims
    for mean, holds in ((bound, True), (bound - 0.03, True), (bound - 0.2, False)):
        assert known[3].check(StudyResult("t", [row(mean)])).holds is holds
    sizes = [row(0.1 * m, num_items=m) for m in (3, 4, 5)]
    rare = [row(0.001, num_items=m, num_rankings=90) for m in (3, 4, 5)]
    assert known[2].check(StudyResult("t", sizes + rare)).holds is True
    down = [row(0.4 - 0.1 * (m - 3), num_items=m, num_rankings=50) for m in (3, 4, 5)]
    assert known[2].check(StudyResult("t", sizes + down)).holds is False
    assert [*rdp_attack.with_bounds(None, [row(0.3)])][1]["mean"] == bound

    def schemes(slow, fast):
        rows = [
            {**row(mean, num_rankings=rankings, scheme=scheme), "epsilon": None}
            for scheme, means in ((rdp_attack.SLOW, slow), (rdp_attack.FAST, fast))
            for rankings, mean in zip((10, 100), means)
        ]
        claims = experiments.get("rdp-fig6").claims[:2]
        return [claim.check(StudyResult("t", rows)).holds for claim in claims]

    assert schemes((0.6, 0.5), (0.3, 0.01)) == [True, True]
    assert schemes((0.6, 0.2), (0.3, 0.2)) == [False, False]


@pytest.mark.slow
def test_attack_at_falling_epsilon_is_the_attack_on_the_first_rankings():
    sizes = (7, 50, 120)

    @quick_jit
    @jax.vmap
    def ours(key, rankings):
        cell = {"num_items": 4, "num_rankings": rankings, "scheme": rdp_attack.SLOW}
        found = rdp_attack.figure_6(key, p_of("rdp-fig6", **cell, rankings=sizes))
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
    tiled = jnp.tile(jnp.array(sizes), 20)
    wrong = ours(keys, tiled)
    np.testing.assert_array_equal(wrong, naive(keys, tiled))
    assert 0 < wrong.mean() < 1

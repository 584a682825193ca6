"""The study of users against the public estimators, one by one."""

from __future__ import annotations

import jax
import numpy as np

from privrank_jax.experiments.cai.common import (
    AXES,
)
from privrank_jax.simulate import worlds
from tests.experiments.cai.shared import USER, naive_errors, same_tables
from tests.experiments.conftest import RUN_KEY


def test_user_study_is_the_public_estimators_one_by_one(users_result):
    """A cell that is padded in items and users, replicate by replicate."""
    naive = []
    for replicate in range(users_result.replicates):
        key = jax.random.fold_in(RUN_KEY, replicate)
        world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
        theta, mask = worlds.cai_scores(world_key, 5, 6, "float32")
        wins = worlds.user_comparisons(data_key, theta, 20, 5, mask=mask, max_users=30)
        assert float(wins.matrix.sum()) == 5 * 20
        naive.append(naive_errors((noise_key, tie_key), wins, theta, 1, USER))
    ours = {}
    for row in users_result.table.select(num_items=5, num_users=20):
        ours[tuple(row[axis] for axis in AXES)] = row["mean"]
    same_tables(ours, {name: np.mean([one[name] for one in naive]) for name in naive[0]})

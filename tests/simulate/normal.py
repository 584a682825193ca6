"""A run of a small study with what it was told."""

from __future__ import annotations

import jax

from privrank_jax.simulate import Study, grid, run
from tests.simulate.trials import normal_trial


def normal(folder, replicates=20, seed=0, **options):
    told = []
    study = Study("normal", normal_trial, grid(scale=(1.0, 2.0)))
    result = run(
        jax.random.key(seed), study, replicates, checkpoints=folder, notice=told.append, **options
    )
    return result, told

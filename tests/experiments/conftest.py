"""One small run of a study, shared by all that look at its result."""

from __future__ import annotations

import jax
import pytest

from privrank_jax import experiments

RUN_KEY = jax.random.key(20251104)
RUN_GRID = {"items": (5, 6), "users": (20, 30), "epsilons": (1.0, 2.5, float("inf"))}


@pytest.fixture(scope="session")
def users_result(tmp_path_factory):
    """Figure 6 on a small grid, three replicates, written to a folder."""
    folder = tmp_path_factory.mktemp("results") / "new"
    return experiments.run(RUN_KEY, "cai-fig6", 3, folder=folder, **RUN_GRID)

"""One small run of a study, shared by all that look at a report."""

from __future__ import annotations

import jax
import pytest

from privrank_jax import experiments

REPORT_KEY = jax.random.key(20251104)
REPORT_GRID = {"items": (5, 6), "users": (20, 30), "epsilons": (1.0, 2.5, float("inf"))}


@pytest.fixture(scope="session")
def users_report(tmp_path_factory):
    """Figure 6 on a small grid, three replicates, written to a folder."""
    folder = tmp_path_factory.mktemp("reports") / "new"
    return experiments.run(REPORT_KEY, "cai-fig6", 3, folder=folder, **REPORT_GRID)

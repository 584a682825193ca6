"""What a fit costs, and how it grows."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.xu import times as xu_times
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import KEY


def test_exponents_of_cost_are_told_from_what_a_call_costs():
    rows = [
        {"metric": "least_data_seconds", "num_users": users, "num_items": items, "mean": seconds}
        for users in (100, 200, 400)
        for items in (10, 20, 40, 80)
        for seconds in [1e-3 + 1e-7 * users * items**2]
    ]
    rows[3]["mean"] *= 2  # delayed by other work
    table = StudyResult("s", rows)
    found, _ = xu_times.exponents(table)
    np.testing.assert_allclose(found, [1, 2], atol=0.1)
    assert xu_times.grows(table, which=1, expected=2.0).holds is True
    assert xu_times.grows(table, which=1, expected=1.0).holds is False
    assert xu_times.grows(StudyResult("s", rows[:4]), which=1, expected=2.0).holds is None


@pytest.mark.slow
def test_cost_is_measured_in_every_cell(tmp_path):
    result = experiments.run(KEY, "xu-fig10", 2, folder=tmp_path, items=(3, 4), users=(5, 100))
    seconds = [row["mean"] for row in result.table.rows if row["metric"] == "seconds"]
    assert len(seconds) == 4
    assert min(seconds) > 0
    assert result.paths["picture"].stat().st_size > 10_000

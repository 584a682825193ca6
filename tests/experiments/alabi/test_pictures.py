"""The aggregation studies: worlds and errors against slow twins, small runs to the end, claims on made-up rows."""

from __future__ import annotations

import pytest

from privrank_jax import experiments
from privrank_jax.experiments.alabi import central as alabi_central
from privrank_jax.experiments.alabi import common as alabi_common
from privrank_jax.experiments.alabi import local as alabi_local
from privrank_jax.experiments.alabi.common import EXCESS, KENDALL
from tests.experiments.alabi.shared import ALABI, KEY

SMALL = {
    "alabi-central": {
        "items": (4,),
        "users": (20, 400),
        "epsilons": (0.3, 100.0),
        "flips": 0,
        "data": (),
    },
    "alabi-local": {
        "sizes": ((4, 300),),
        "epsilons": (0.5, 50.0),
        "flips": 0,
        "data": (),
    },
    "alabi-lower-bounds": {"items": (3,), "users": (2, 1000), "shapes": ((1, 3),)},
}


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.slow) for name in ALABI[:2]), ALABI[2]]
)
def test_small_runs_end_with_table_picture_and_verdicts(name, tmp_path):
    result = experiments.run(KEY, name, 3, folder=tmp_path, **SMALL[name])
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    rows = [row for row in result.table.rows if "minus" not in row["estimator"]]
    assert all(row["mean"] >= -1e-6 for row in rows)
    header, body = result.outline()
    assert len(header) > 1
    assert body
    if name == "alabi-lower-bounds":
        return
    assert {row["metric"] for row in rows} == {EXCESS, KENDALL}
    assert all(row["mean"] <= 1 + 1e-6 for row in rows)
    module = alabi_central if name == "alabi-central" else alabi_local
    wanted = alabi_central.METHODS if module is alabi_central else alabi_local.METHODS
    assert {row["estimator"] for row in rows} == {*wanted, alabi_common.PLAIN}
    # With next to no noise every solver of the noised weights finds the best ranking.
    most = max(row["epsilon"] for row in rows)
    quiet = [row for row in rows if row["epsilon"] == most and row["metric"] == EXCESS]
    assert all(row["mean"] < 1e-6 for row in quiet if "noise-all" in row["estimator"])
    names = [row["estimator"] for row in result.table.rows]
    for one, other in module.PAIRS:
        assert f"{one} minus {other}" in names
    by_place = {
        (r["study"], r["num_users"], r["epsilon"], r["metric"], r["estimator"]): r["mean"]
        for r in result.table.rows
    }
    for place, mean in by_place.items():
        one, minus, other = place[-1].partition(" minus ")
        if minus:
            difference = by_place[(*place[:-1], one)] - by_place[(*place[:-1], other)]
            assert mean == pytest.approx(difference, abs=1e-6)

"""The studies of ranking differential privacy: laws against slow twins, small runs, claims on made-up rows."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from privrank_jax import experiments
from privrank_jax.experiments.rdp import attack as rdp_attack
from privrank_jax.experiments.rdp.common import ACCURACY, NO_PRIVACY
from tests.experiments.rdp.shared import KEY, PERSONAL, PERSONAL_KEY, RDP
from tests.reference.attack import attack_error

SMALL_PERSONAL = {
    "rdp-fig7": {
        "items": (4,),
        "users": (30, 60),
        "epsilons": (1.0, 300.0),
        "held_out": 10,
        "new_users": 20,
    },
    "rdp-fig8": {"epsilons": (0.5, 60.0), "train_users": 500},
}

SMALL = {
    "rdp-fig2": {"items": (4,), "epsilons": (0.5, 40.0)},
    "rdp-fig4": {"items": (3,), "epsilons": (0.5, 2.0), "draws": 40_000},
    "rdp-fig5": {"items": (3,), "epsilons": (2.0, 40.0), "rankings": (2, 20)},
    "rdp-fig6": {"items": (3,), "rankings": (10, 60)},
}


@pytest.mark.parametrize("name", [*RDP[:3], pytest.param(RDP[3], marks=pytest.mark.slow)])
def test_small_runs_end_with_table_picture_and_verdicts(name, tmp_path):
    replicates = 1 if name == "rdp-fig4" else 400
    result = experiments.run(KEY, name, replicates, folder=tmp_path, **SMALL[name])
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    header, body = result.outline()
    assert len(body) == dict(zip(RDP, (2, 1, 2, 4)))[name]
    assert header
    words = {claim.text: verdict.holds for claim, verdict in result.verdicts}
    rows = result.table.rows
    if name == "rdp-fig2":
        assert words["sampled means are those of the closed forms"] is True
        assert words["the gain grows with m, counted in pairs"] is None
        by_place = {(r["num_items"], r["epsilon"], r["estimator"]): r["mean"] for r in rows}
        for (items, epsilon, estimator), mean in by_place.items():
            if "minus" in estimator:
                one, other = (by_place[items, epsilon, e] for e in ("Mallows", "Laplace"))
                assert mean == pytest.approx(one - other, abs=1e-6)
    elif name == "rdp-fig4":
        assert list(words.values())[:2] == [True, True]
        assert all(0 < row["low"] < row["expected"] < row["high"] for row in rows)
    else:
        assert words["no error is below our lower bound"] is True
        assert {row["metric"] for row in rows} == {"wrong", "lower_bound"}
        assert all(0 <= row["mean"] <= 1 for row in rows)
    if name == "rdp-fig5":
        # Two rankings of three items: the error over all pairs of them, by enumeration.
        exact = attack_error((0, 1, 2), 2.0, 2)
        (found,) = result.table.select("wrong", epsilon=2.0, num_rankings=2)
        assert abs(found["mean"] - exact) < 5 * math.sqrt(exact * (1 - exact) / replicates)
        (quiet,) = result.table.select("wrong", epsilon=40.0, num_rankings=20)
        assert quiet["mean"] == 0
    if name == "rdp-fig6":
        # ε is (m-1)/√N, and log N times that: the lower bound beside has the same.
        for row in rows:
            assert "epsilon" not in row
        (slow,), (fast,) = (
            result.table.select("lower_bound", scheme=scheme, num_rankings=60)
            for scheme in (rdp_attack.SLOW, rdp_attack.FAST)
        )
        tail = stats.binom.cdf(29, 59, 1 / (1 + math.exp(-1 / math.sqrt(60))))
        assert slow["mean"] == pytest.approx(tail, rel=1e-5)
        tail = stats.binom.cdf(29, 59, 1 / (1 + math.exp(-math.log(60) / math.sqrt(60))))
        assert fast["mean"] == pytest.approx(tail, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", PERSONAL)
def test_small_runs_of_personal_rankings_end_with_table_picture_and_verdicts(
    name, tmp_path, data_folder
):
    result = experiments.run(PERSONAL_KEY, name, 4, folder=tmp_path, **SMALL_PERSONAL[name])
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    assert result.diagnostics["compilations"] == 1
    header, body = result.outline()
    assert header
    assert len(body) >= 5
    assert all(verdict.holds is None for _, verdict in result.verdicts)  # 4 replicates
    place = ("num_items", "num_users", "epsilon", "metric")
    means = {
        (*(row.get(column) for column in place), row["estimator"]): row["mean"]
        for row in result.table.rows
    }
    for (*where, name), mean in means.items():
        one, minus, other = name.partition(" minus ")
        if minus:
            assert mean == pytest.approx(means[*where, one] - means[*where, other], abs=1e-6)
        elif where[2] >= 60 and ACCURACY in where:  # next to no noise
            assert mean == pytest.approx(means[*where, NO_PRIVACY], abs=0.03)
            assert 0.5 < mean <= 1

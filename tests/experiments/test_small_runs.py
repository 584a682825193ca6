"""A small run of each study to the end: what every table and picture holds, and what is known of these tables."""

from __future__ import annotations

import functools
import math

import jax
import pytest
from scipy import stats

from privrank_jax import experiments
from privrank_jax.experiments import continual
from privrank_jax.experiments.alabi import central, local
from privrank_jax.experiments.alabi.common import EXCESS, KENDALL, PLAIN
from privrank_jax.experiments.claims import is_difference
from privrank_jax.experiments.rdp import attack
from privrank_jax.experiments.rdp.common import ACCURACY, NO_PRIVACY
from tests.quick import thorough_but
from tests.reference.attack import attack_error

MALLOWS = {"flips": 0, "data": ()}
METHODS = {
    local: local.METHODS,
    central: (*central.PURE, *central.GAUSSIAN, *central.SHAPED, *central.PLACED),
}
# Replicates and parameters of each study, and the curves that its picture has in each panel.
SMALL = {
    "alabi-central": (3, {"items": (4,), "users": (20, 400), "epsilons": (0.3, 100.0), **MALLOWS}, [13, 13]),
    "alabi-local": (3, {"sizes": ((4, 300),), "epsilons": (0.5, 50.0), **MALLOWS}, [7]),
    "continual": (
        3, {"steps": (1, 12), "per_pair": (10, 20), "items": 4, "epsilon": 1e6, "delta": 0.1}, [6, 4, *[7] * 8],
    ),
    "rdp-fig2": (400, {"items": (4,), "epsilons": (0.5, 40.0)}, [4, 2]),
    "rdp-fig4": (1, {"items": (3,), "epsilons": (0.5, 2.0), "draws": 40_000}, [3]),
    "rdp-fig5": (400, {"items": (3,), "epsilons": (2.0, 40.0), "rankings": (2, 20)}, [4]),
    "rdp-fig6": (400, {"items": (3,), "rankings": (10, 60)}, [2, 2]),
    "rdp-fig7": (
        4,
        {
            "items": (4,), "users": (30, 60), "epsilons": (1.0, 300.0), "held_out": 10,
            "new_users": 20,
        },
        [5, 5],
    ),
    "rdp-fig8": (4, {"epsilons": (0.5, 60.0), "train_users": 500}, [5]),
}  # fmt: skip
PLACE = (
    *("study", "metric", "num_items", "num_users", "num_rankings", "scheme"),
    *("epsilon", "steps", "share"),
)


@functools.cache
def small(name):
    replicates, parameters, _ = SMALL[name]
    return experiments.run(jax.random.key(5), name, replicates, **parameters)


def _skip_without_data(name, request):
    if name == "rdp-fig8":
        request.getfixturevalue("data_folder")


def means(name):
    """Means by place and estimator."""
    rows = small(name).table.rows
    return {(*map(row.get, PLACE), row["estimator"]): row["mean"] for row in rows}


def rows_of(name):
    return [row for row in small(name).table.rows if not is_difference(row)]


@pytest.mark.parametrize("name", thorough_but(SMALL, "rdp-fig2"))
def test_every_run_has_its_differences_an_outline_and_a_picture(name, request):
    _skip_without_data(name, request)
    result, found = small(name), means(name)
    assert result.diagnostics["nonfinite"] == 0
    assert len(result.verdicts) == len(result.experiment.claims)
    assert len(found) == len(result.table.rows)
    for (*place, estimator), mean in found.items():
        one, minus, other = (estimator or "").partition(" minus ")
        if minus:
            assert mean == pytest.approx(found[*place, one] - found[*place, other], abs=1e-5)
    header, body = result.outline()
    assert body
    assert all(len(line) == len(header) for line in body)
    figure = result.experiment.draw(result.table)
    figure.draw_without_rendering()
    assert [len(axis.lines) for axis in figure.axes if axis.axison] == SMALL[name][2]


@pytest.mark.slow
@pytest.mark.parametrize("module", [central, local])
def test_consensus_methods_find_the_best_ranking_with_next_to_no_noise(module):
    rows = rows_of("alabi-central" if module is central else "alabi-local")
    assert {row["metric"] for row in rows} == {EXCESS, KENDALL}
    assert {row["estimator"] for row in rows} == {*METHODS[module], PLAIN}
    assert all(-1e-6 <= row["mean"] <= 1 + 1e-6 for row in rows)
    most = max(row["epsilon"] for row in rows)
    quiet = [row for row in rows if row["epsilon"] == most and row["metric"] == EXCESS]
    assert all(row["mean"] < 1e-6 for row in quiet if "noise-all" in row["estimator"])


@pytest.mark.slow
def test_all_leaderboards_are_those_of_no_privacy_with_next_to_no_noise():
    """At every tenth of the time, by every method, from one program."""
    assert small("continual").diagnostics["compilations"] == 1
    found = means("continual")
    rows = [row for row in rows_of("continual") if row["study"] != continual.ALONE]
    tenths = ((12, tenth / 10) for tenth in range(1, 11))
    assert {(row["steps"], row["share"]) for row in rows} == {(1, 1.0), *tenths}
    named = {*continual.STRATEGIES, continual.ADDED, continual.ONE, continual.PLAIN}
    assert {row["estimator"] for row in rows} == named
    for row in rows:
        if row["metric"] == continual.SCORE:
            plain = found[(*map(row.get, PLACE), continual.PLAIN)]
            assert row["mean"] == pytest.approx(plain, abs=0.01)


def test_samples_are_those_of_exact_laws():
    words = {claim.text: verdict.holds for claim, verdict in small("rdp-fig2").verdicts}
    assert words["sampled means are those of the closed forms"] is True
    assert words["the gain grows with m, counted in pairs"] is None
    counting = small("rdp-fig4")
    assert [verdict.holds for _, verdict in counting.verdicts][:2] == [True, True]
    assert all(0 < row["low"] < row["expected"] < row["high"] for row in counting.table.rows)


def test_attacks_on_two_rankings_err_as_often_as_by_enumeration():
    """Over all pairs of rankings of three items."""
    table, exact = small("rdp-fig5").table, attack_error((0, 1, 2), 2.0, 2)
    (found,) = table.select("wrong", epsilon=2.0, num_rankings=2)
    assert abs(found["mean"] - exact) < 5 * math.sqrt(exact * (1 - exact) / 400)
    (quiet,) = table.select("wrong", epsilon=40.0, num_rankings=20)
    assert quiet["mean"] == 0


@pytest.mark.slow
def test_bounds_of_attacks_are_at_the_epsilon_of_the_scheme():
    """ε is (m-1)/√N, and log N times that."""
    table = small("rdp-fig6").table
    assert {row["metric"] for row in table.rows} == {"wrong", "lower_bound"}
    for scheme, factor in ((attack.SLOW, 1.0), (attack.FAST, math.log(60))):
        (bound,) = table.select("lower_bound", scheme=scheme, num_rankings=60)
        tail = stats.binom.cdf(29, 59, 1 / (1 + math.exp(-factor / math.sqrt(60))))
        assert bound["mean"] == pytest.approx(tail, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rdp-fig7", "rdp-fig8"])
def test_scorers_are_those_of_no_privacy_with_next_to_no_noise(name, request):
    _skip_without_data(name, request)
    assert small(name).diagnostics["compilations"] == 1
    found = means(name)
    for row in rows_of(name):
        if row["epsilon"] >= 60 and row["metric"] == ACCURACY:
            plain = found[(*map(row.get, PLACE), NO_PRIVACY)]
            assert row["mean"] == pytest.approx(plain, abs=0.03)
            assert 0.5 < row["mean"] <= 1

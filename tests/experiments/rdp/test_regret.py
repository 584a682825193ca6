"""The study of excess risks: exact chances beside it, a small run, claims on made-up rows."""

from __future__ import annotations

import math

import pytest
import scipy.stats

from privrank_jax import experiments
from privrank_jax.experiments.rdp import regret
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared import KEY, row

SMALL = {"items": (2,), "users": (60, 240), "noise_exponents": (1.0, math.inf), "groups": 5}


def exact(users: int, epsilon: float, gamma: float, groups: int) -> float:
    """Expected excess at two items: the majority of a group's synthetic answers against its users' own."""
    psi = 1 / math.tanh(epsilon / 2)
    margin, share = (float(each) for each in regret.hardest(gamma, psi, users, groups))
    total = 0.0
    for weight, own in [(1 - share, 1.0)] + [(share / (groups - 1), margin)] * (groups - 1):
        wrong = 0.0
        for members in range(users + 1):
            right = scipy.stats.binom(members, (1 + own / psi) / 2)
            lost = right.cdf((members - 1) // 2)  # ties count half
            tied = right.pmf(members // 2) if members % 2 == 0 else 0.0
            wrong += scipy.stats.binom.pmf(members, users, weight) * (lost + tied / 2)
        total += weight * own * wrong / 2
    return total


def test_a_small_run_has_the_exact_excess_and_a_picture(tmp_path):
    replicates = 400
    result = experiments.run(KEY, "rdp-regret", replicates, folder=tmp_path, **SMALL)
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    _, body = result.outline()
    assert len(body) == 4
    rows = result.table.rows
    assert len(rows) == 16
    for found in rows:
        assert found["epsilon"] > 0
        wanted = exact(found["num_users"], found["epsilon"], found["noise_exponent"], 5)
        assert abs(found["mean"] - wanted) < 4.5 * found["standard_error"] + 1e-4
        assert 0 < found["without_logarithm"] < found["rate"]


def test_no_rates_where_there_are_fewer_users_than_parameters():
    with pytest.raises(ValueError, match="users must be more than"):
        regret.RegretConfig("x", items=(5,), users=(36, 100))
    with pytest.raises(ValueError, match="groups"):
        regret.RegretConfig("x", groups=1)


def excess(*means, scheme=regret.STRONG, error=0.0001, **more):
    return [
        row(mean, metric=regret.EXCESS, estimator=regret.FREE, standard_error=error, scheme=scheme, num_items=2,
            noise_exponent=1.0, num_users=users, rate=0.1, without_logarithm=0.05, **more)
        for mean, users in zip(means, (100, 1000, 10_000))
    ]  # fmt: skip


def test_claims_on_rates():
    def table(*means, **more):
        return StudyResult("t", excess(*means, **more))

    assert regret.within_rate(table(0.05, 0.04)).holds is True
    assert regret.within_rate(table(0.04, 0.05)).holds is False
    assert regret.within_rate(table(0.04, 0.05, error=0.01)).holds is True
    assert regret.within_rate(table(0.04)).holds is None
    assert regret.attained(table(0.04, 0.05, 0.03)).holds is False
    assert regret.attained(table(0.04, 0.05, 0.035)).holds is True
    assert regret.attained(table(0.04, 0.0)).holds is None
    other = [{**each, "num_items": 5} for each in excess(0.04, 0.001)]
    assert regret.attained(StudyResult("t", other)).holds is None
    falls = {"scheme": regret.KEPT, "falls": True}
    stays = {"scheme": regret.LOST, "falls": False}
    assert regret.ends(table(0.05, 0.04, 0.02, scheme=regret.KEPT), **falls).holds is True
    assert regret.ends(table(0.05, 0.04, 0.03, scheme=regret.KEPT), **falls).holds is False
    assert regret.ends(table(0.05, 0.04, 0.045, scheme=regret.LOST), **stays).holds is True
    assert regret.ends(table(0.05, 0.04, 0.03, scheme=regret.LOST), **stays).holds is False
    assert regret.ends(table(0.05, 0.04), **stays).holds is None
    assert regret.ends(table(0.0, 0.04, scheme=regret.LOST), **stays).holds is None

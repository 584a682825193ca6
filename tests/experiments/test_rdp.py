"""The studies of ranking differential privacy: laws against slow twins, small runs, claims on made-up rows."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax import experiments
from privrank_jax.experiments.rdp import attack as rdp_attack
from privrank_jax.experiments.rdp import common as rdp_common
from privrank_jax.experiments.rdp import synthetic as rdp_synthetic
from privrank_jax.simulate.result import StudyResult
from tests.reference.attack import attack_error, mallows_law

KEY = jax.random.key(6)
NAMES = ["rdp-fig2", "rdp-fig4", "rdp-fig5", "rdp-fig6"]
SMALL = {
    "rdp-fig2": {"items": (4,), "epsilons": (0.5, 40.0)},
    "rdp-fig4": {"items": (3,), "epsilons": (0.5, 2.0), "draws": 40_000},
    "rdp-fig5": {"items": (3,), "epsilons": (2.0, 40.0), "rankings": (2, 20)},
    "rdp-fig6": {"items": (3,), "rankings": (10, 60)},
}


def test_every_study_is_registered():
    assert set(NAMES) <= set(experiments.names())
    for name in NAMES:
        one = experiments.get(name)
        assert one.differences
        assert len({claim.text for claim in one.claims}) == len(one.claims) > 1


def test_grids_are_those_of_the_paper():
    fig4, fig5, fig6 = (experiments.get(name) for name in NAMES[1:])
    assert (fig4.config.draws, fig4.config.items) == (10**7, (3, 4, 5))
    assert fig4.config.epsilons == tuple(0.5 + 0.25 * i for i in range(7))
    assert (fig5.replicates, fig6.replicates) == (1000, 5000)
    assert fig5.config.epsilons == (1, 2, 3, 4)
    assert fig5.config.rankings == tuple(range(10, 101, 10))


@pytest.mark.parametrize("name", [*NAMES[:3], pytest.param(NAMES[3], marks=pytest.mark.slow)])
def test_small_runs_end_with_table_picture_and_verdicts(name, tmp_path):
    replicates = 1 if name == "rdp-fig4" else 400
    result = experiments.run(KEY, name, replicates, folder=tmp_path, **SMALL[name])
    assert result.paths["picture"].stat().st_size > 10_000
    assert result.diagnostics["nonfinite"] == 0
    header, body = result.outline()
    assert len(body) == dict(zip(NAMES, (2, 1, 2, 4)))[name]
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


def test_laplace_keeps_as_many_pairs_as_the_law_of_two_noises_says():
    for items, epsilon in ((2, 1.0), (5, 3.0), (4, 60.0)):
        scale = 2 * (items - 1) / epsilon
        expected = 0.0
        for gap in range(1, items):
            # P(X - Y < gap), by numerical integration over Y.
            at = np.linspace(-40, 40, 200_001) * scale
            chance = stats.laplace.cdf(at + gap, scale=scale) * stats.laplace.pdf(at, scale=scale)
            expected += (items - gap) * np.trapezoid(chance, at)
        assert rdp_common.laplace_concordance(items, epsilon) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("items", [3, 4])
def test_neighbors_agree_once_one_item_is_out_and_none_is_left_out(items):
    found = [tuple(ranks) for ranks in rdp_common.neighbors(items).tolist()]
    own = tuple(range(items))
    assert found[0] == own

    def without(ranks, item):
        return [other for other in np.argsort(ranks) if other != item]

    near = {
        ranks
        for ranks in itertools.permutations(range(items))
        if any(without(ranks, item) == without(own, item) for item in range(items))
    }
    assert set(found) == near
    assert len(found) == len(near) == (items - 1) ** 2 + 1
    law = rdp_common.mallows_law(items, 1.3)
    for center, row in zip(found, law):
        expected = mallows_law(center, 1.3)
        np.testing.assert_allclose(
            row, [expected[tuple(r)] for r in rdp_common.all_rankings(items)]
        )


def test_counts_are_those_of_the_law_of_each_input():
    one, draws = jnp.asarray(1.0), 70_000  # two chunks and a part of a third
    count = jax.jit(lambda key, center: rdp_synthetic.count_rankings(key, center, one, draws))
    law = rdp_common.mallows_law(3, 1.0)
    for place, center in enumerate(rdp_common.neighbors(3)[:3]):
        counts = np.asarray(count(jax.random.fold_in(KEY, place), jnp.asarray(center)))
        assert counts.sum() == draws
        assert stats.chisquare(counts, draws * law[place]).pvalue > 1e-6
        assert stats.chisquare(counts, draws * law[(place + 1) % 3]).pvalue < 1e-6


def test_the_estimate_is_the_largest_log_ratio_with_the_first_input():
    counts = np.array([[10, 20, 0], [5, 20, 0], [40, 10, 0]])
    assert float(rdp_synthetic.largest_ratio(jnp.asarray(counts))) == pytest.approx(math.log(4))
    empty = np.array([[10, 0], [10, 3]])
    assert float(rdp_synthetic.largest_ratio(jnp.asarray(empty))) == math.inf


def test_the_band_is_that_of_multinomial_counts():
    law, draws = rdp_common.mallows_law(3, 1.0), 20_000
    found = rdp_synthetic.null_means(law, draws, 1)
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(draws, row, size=2000) for row in law], axis=1)
    logs = np.log(counts)
    twin = np.max(np.abs(logs[:, :1] - logs[:, 1:]), axis=(1, 2))
    error = math.hypot(found.std() / math.sqrt(4000), twin.std() / math.sqrt(2000))
    assert abs(found.mean() - twin.mean()) < 5 * error
    assert found.std() == pytest.approx(twin.std(), rel=0.1)
    means = rdp_synthetic.null_means(law, draws, 16)
    assert means.std() == pytest.approx(found.std() / 4, rel=0.1)


def row(mean, **more):
    return {
        "study": "s", "metric": "wrong", "estimator": rdp_attack.GUESS, "mean": mean, "standard_error": 0.001,
        "replicates": 1000, "nonfinite": 0, "num_items": 3, "num_rankings": 10, "epsilon": 1.0, **more,
    }  # fmt: skip


def beside(mean, bound, **more):
    return [row(mean, **more), row(bound, metric="lower_bound", estimator="any attack", **more)]


def test_claims_on_the_attack():
    fine = StudyResult("t", beside(0.3, 0.2) + beside(0.19, 0.2, num_rankings=20))
    assert rdp_attack.above_bound(fine).holds is True
    assert rdp_attack.above_bound(StudyResult("t", beside(0.1, 0.2))).holds is False
    assert rdp_attack.above_bound(StudyResult("t", beside(0.0, 1e-9))).holds is True
    sizes = [row(0.1 * m, num_items=m) for m in (3, 4, 5)]
    rare = [row(0.001, num_items=m, num_rankings=90) for m in (3, 4, 5)]
    assert rdp_attack.rises(StudyResult("t", sizes + rare)).holds is True
    down = [row(0.4 - 0.1 * (m - 3), num_items=m, num_rankings=50) for m in (3, 4, 5)]
    assert rdp_attack.rises(StudyResult("t", sizes + down)).holds is False

    def schemes(slow, fast):
        return StudyResult("t", [
            row(mean, num_rankings=rankings, scheme=scheme)
            for scheme, means in ((rdp_attack.SLOW, slow), (rdp_attack.FAST, fast))
            for rankings, mean in zip((10, 100), means)
        ])  # fmt: skip

    assert rdp_attack.stays_away(schemes((0.6, 0.5), (0.3, 0.01))).holds is True
    assert rdp_attack.goes_to_zero(schemes((0.6, 0.5), (0.3, 0.01))).holds is True
    assert rdp_attack.stays_away(schemes((0.6, 0.2), (0.3, 0.2))).holds is False
    assert rdp_attack.goes_to_zero(schemes((0.6, 0.2), (0.3, 0.2))).holds is False
    assert rdp_attack.stays_away(StudyResult("t", [row(0.5)])).holds is None


def counted(mean, **more):
    known = {"exact": 1.0, "expected": 1.02, "low": 1.0, "high": 1.05}
    return StudyResult("t", [{**row(mean), "metric": "estimated_epsilon", **known, **more}])


def test_claims_on_counting():
    assert rdp_synthetic.within_band(counted(1.03)).holds is True
    assert rdp_synthetic.within_band(counted(1.06)).holds is False
    assert rdp_synthetic.within_band(counted(0.99)).holds is False
    assert rdp_synthetic.perfect_match(counted(1.03)).holds is False
    assert rdp_synthetic.perfect_match(counted(0.99)).holds is None
    assert rdp_synthetic.exact_loss(counted(1.0)).holds is True
    assert rdp_synthetic.exact_loss(counted(1.0, exact=1.1)).holds is False


def test_claims_on_kept_pairs():
    def gains(*exact, mean=None):
        return StudyResult("t", [
            row(value if mean is None else mean, estimator=rdp_synthetic.GAIN, exact=value, num_items=5 * (k + 1))
            for k, value in enumerate(exact)
        ])  # fmt: skip

    assert rdp_synthetic.keeps_more(gains(0.5, 1.0)).holds is True
    assert rdp_synthetic.keeps_more(gains(0.5, -0.1)).holds is False
    assert rdp_synthetic.keeps_more(gains(0.5, mean=-1.0)).holds is False
    assert rdp_synthetic.gain_grows(gains(0.5, 1.0), share=False).holds is True
    assert rdp_synthetic.gain_grows(gains(0.5, 1.0), share=True).holds is False
    assert rdp_synthetic.gain_grows(gains(0.5), share=True).holds is None
    exact = rdp_common.matches_exact(gains(0.5, 1.0), where=lambda row: True)
    assert exact.holds is True
    assert rdp_common.matches_exact(gains(0.5, mean=0.6), where=lambda row: True).holds is False

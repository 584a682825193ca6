"""Exact footrule reports: their law, the integer that decides between likely sets and others, no bias, refusals."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax.aggregation.local_footrule import ldp_footrule_aggregate, ldp_footrule_norm
from privrank_jax.release import exact_ldp_footrule, local_footrule
from tests.promises import user
from tests.reference import ldp_footrule as naive
from tests.release.laws import RATE

USERS = 60_000


def counted(row, epsilon, missing="last"):
    cuts, chosen = local_footrule.footrule_reports(np.tile(row, (USERS, 1)), epsilon, missing)
    found = {}
    for cut, one in zip(cuts.tolist(), chosen):
        report = cut, tuple(np.flatnonzero(one).tolist())
        found[report] = found.get(report, 0) + 1
    return found


def p_value(counts, law):
    assert set(counts) <= set(law)
    expected = np.array(list(law.values())) * USERS
    seen = np.array([counts.get(report, 0) for report in law])
    return stats.chisquare(seen, expected).pvalue


@pytest.mark.parametrize(
    ("row", "epsilon", "missing"),
    [([1, 2, 0], 1.0, "last"), ([3, 0, 0, -1], 3.0, "last"), ([1, -1, 0, -1], 0.3, "unknown")],
)
def test_reports_have_their_law(row, epsilon, missing):
    types = naive.best_types(len(row), epsilon)
    assert (
        p_value(counted(row, epsilon, missing), naive.report_law(row, epsilon, types, missing))
        > RATE
    )


@pytest.mark.parametrize("wrong", [0.85, 1.15])
def test_another_law_is_rejected(wrong):
    row = [1, 2, 0, 3]
    law = naive.report_law(row, wrong, naive.best_types(4, 1.0))
    assert p_value(counted(row, 1.0), law) < RATE


def test_sets_of_many_items_have_their_law():
    """70 items, where the number of sets has more than 62 bits: how many of the first items they hold."""
    items, cut, epsilon, users = 70, 35, 0.2, 20_000
    size, threshold = 34, 18
    ways = [math.comb(cut, s) * math.comb(items - cut, size - s) for s in range(size + 1)]
    assert sum(ways) > 2**62
    odds = np.array(
        [float(way) * (math.exp(epsilon) if s >= threshold else 1) for s, way in enumerate(ways)]
    )
    held = local_footrule._held(items, cut, size, threshold, epsilon, users)
    expected = odds / odds.sum() * users
    some = expected > 5
    seen = np.bincount(held, minlength=size + 1)
    assert (
        stats.chisquare(
            [*seen[some], seen[~some].sum() + 5], [*expected[some], expected[~some].sum() + 5]
        ).pvalue
        > RATE
    )


def test_both_ways_to_draw_by_integers_agree(monkeypatch):
    ways = [3, 0, 1, 2**61]
    drawn = local_footrule._by_ways(ways, 1000)
    assert set(drawn.tolist()) == {3}
    monkeypatch.setattr(secrets, "randbelow", lambda bound: 3)
    assert local_footrule._by_ways([3, 0, 1, 2**63], 2).tolist() == [2, 2]
    monkeypatch.setattr(secrets, "randbelow", lambda bound: bound - 1)
    assert local_footrule._by_ways([3, 0, 2**63, 1], 1).tolist() == [3]
    monkeypatch.setattr(
        local_footrule, "uniform_integers", lambda count, below: np.array([0, 2, 3, 4])
    )
    assert local_footrule._by_ways([3, 0, 1, 7], 4).tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 7.3, 39.9, 100.0])
@pytest.mark.parametrize(("accepted", "others"), [(1, 1), (1, 2**19), (2**90, 2**91 + 1)])
def test_loss_is_at_most_epsilon_and_by_less_than_one_word(accepted, others, epsilon):
    """Against the series of e^ε in fractions: p/(1-p) is at most e^ε Q/R, and (p + 2^-64)/(1 - p - 2^-64) more."""
    words = int(local_footrule.accepted_below(accepted, others, epsilon))
    x, term, low, count = Fraction(epsilon), Fraction(1), Fraction(1), 0
    while term > Fraction(1, 2**120) or count < 2 * epsilon:
        count += 1
        term = term * x / count
        low += term
    assert 2**64 * accepted <= words * (accepted + others) < 2**64 * (accepted + others)
    assert words * others <= (2**64 - words) * accepted * low
    if epsilon < 40:
        high = low + 2 * term
        assert (words + 1) * others > (2**64 - words - 1) * accepted * high * (
            1 - Fraction(1, 2**80)
        )


def test_epsilon_too_small_for_words_is_refused():
    with pytest.raises(ValueError, match="too small"):
        local_footrule.accepted_below(1, 2, 2.0**-70)


@pytest.mark.parametrize(
    ("row", "missing"),
    [([0, 0, -1, 1], "last"), ([0, 0, -1, 1], "unknown"), ([-1] * 4, "unknown")],
)
def test_costs_are_unbiased(row, missing):
    """Means of 60 releases of 500 users within 6 standard errors; the aggregate of the reports is what is released."""
    ranks = np.tile(row, (500, 1))
    found = [exact_ldp_footrule(ranks, user(2.0), missing=missing) for _ in range(60)]
    values = np.array([one.value for one in found])
    assert np.all(
        np.abs(values.mean(0) - naive.costs([row], missing)) < 6 * values.std(0) / math.sqrt(60)
    )
    guarantee = found[0].guarantee
    assert guarantee is not None
    assert (guarantee.numerics, guarantee.trust) == ("exact", "local")
    norm = float(ldp_footrule_norm(4, 2.0))
    assert found[0].diagnostics.cost_deviation == pytest.approx(math.sqrt((norm**2 - 13) / 500) / 4)


def test_release_is_the_aggregate_of_reports(monkeypatch):
    ranks = np.array([[0, 1, 2, -1], [2, 2, 0, 1], [1, 0, 3, 2]])
    cuts, chosen = local_footrule.footrule_reports(ranks, 1.5, "last")
    monkeypatch.setattr(local_footrule, "footrule_reports", lambda *_: (cuts, chosen))
    found = exact_ldp_footrule(ranks, user(1.5)).value
    np.testing.assert_allclose(found, ldp_footrule_aggregate(cuts, chosen, 1.5), atol=1e-12)


@pytest.mark.parametrize(
    ("ranks", "epsilon", "message"),
    [
        (np.zeros((3, 201), int), 1.0, "2 to 200 items"),
        (np.zeros((0, 3), int), 1.0, "users, items"),
        (np.zeros((3, 2)), 1.0, "integers"),
        (np.zeros((3, 2), int), math.inf, "epsilon"),
        (np.zeros((3, 5), int), 1e-300, "epsilon .* small"),
    ],
)
def test_bad_input_is_refused(ranks, epsilon, message):
    with pytest.raises(ValueError, match=message):
        exact_ldp_footrule(ranks, user(epsilon))


def test_epsilon_too_small_for_single_precision_is_refused():
    with jax.enable_x64(False), pytest.raises(ValueError, match="epsilon is so small"):
        exact_ldp_footrule(np.zeros((3, 5), int), user(1e-300))

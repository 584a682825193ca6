"""Verdicts on tables made by hand, on both sides of every threshold."""

from __future__ import annotations

import math

import pytest

from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import simulated
from privrank_jax.experiments.cai.real import near, random_difference
from privrank_jax.experiments.claims import Verdict
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rows import ONE, row, table
from tests.experiments.xu.shared import rows_of

CURVES = (
    ("log_linf_error", "mle"),
    ("log_l2_error", "mle"),
    ("top_k_error", "mle"),
    ("top_k_error", "counts"),
)
ALL = {**simulated.ERRORS, "calibration": "published"}


# --- trends --------------------------------------------------------------------------------------


def trend(means, sign=-1, error=0.1, x="num_items", at=None):
    at = range(1, len(means) + 1) if at is None else at
    rows = [row(mean, error, **{x: place}) for place, mean in zip(at, means)]
    return claims.judge_trend(table(*rows), x=x, sign=sign, wanted=ONE)


def test_a_curve_that_falls_does_not_rise():
    assert trend([3.0, 2.0, 1.0]).holds is True
    assert trend([3.0, 2.0, 1.0], sign=1).holds is False
    assert trend([1.0, 2.0, 3.0], sign=1).holds is True


def test_ends_must_differ_by_three_pooled_standard_errors():
    just = 3 * math.hypot(0.1, 0.1)
    assert trend([1.0, 1.0 - 1.01 * just]).holds is True
    assert trend([1.0, 1.0 - 0.99 * just]).holds is None
    assert trend([1.0, 1.0 + 0.99 * just]).holds is None
    assert trend([1.0, 1.0 + 1.01 * just]).holds is False
    assert trend([1.0, 0.5, 0.5, 0.5]).holds is True  # steps may be flat
    assert trend([1.0, 1.2, 1.4, 1.6]).holds is False  # every step within the slack, the ends not


def test_one_clear_step_the_other_way_refutes():
    just = 3 * math.hypot(0.1, 0.1)
    assert trend([3.0, 1.0, 1.0 + 0.99 * just, 0.5]).holds is True
    found = trend([3.0, 1.0, 1.0 + 1.01 * just, 0.5])
    assert found.holds is False
    assert "Against it: the curve 3.0000 ± 0.1000 to 0.5000 ± 0.1000" in found.evidence


def test_points_are_ordered_by_x_with_infinity_last():
    assert trend([1.0, 3.0, 2.0], x="epsilon", at=[math.inf, 0.5, 2.5]).holds is True
    assert trend([3.0, 1.0, 2.0], x="epsilon", at=[math.inf, 0.5, 2.5]).holds is False


def slopes(*falls):
    """One curve per drop, over two values of x."""
    return table(
        *(
            row(2.0 - place * fall, metric=metric, estimator=estimator, num_items=place)
            for (metric, estimator), fall in zip(CURVES, falls)
            for place in (0, 1)
        )
    )


@pytest.mark.parametrize(
    ("falls", "holds"),
    [
        ((1, 1, 1, 1), True),
        ((1, 1, 1, 0), True),  # three quarters are enough
        ((1, 1, 0, 0), None),
        ((0, 0, 0, 0), None),
        ((1, 1, 1, -1), False),
    ],
)
def test_three_quarters_of_the_curves_must_comply_and_none_refute(falls, holds):
    found = claims.judge_trend(slopes(*falls), x="num_items", sign=-1, wanted=ALL)
    assert found.holds is holds
    assert found.evidence.startswith(f"{falls.count(1)} of 4 curves fall")
    if falls[-1] == 0:
        assert "Too flat to tell" in found.evidence
        assert (
            "top_k_error, estimator = counts" not in found.evidence
        )  # estimators go by name alone


def test_only_the_named_curves_calibration_and_cells_count():
    noise = [
        row(place, num_items=place, ties="half", **other)
        for other in (
            {"calibration": "tight flip"},
            {"estimator": "counts"},
            {"metric": "top_k_error"},
        )
        for place in (1, 2)
    ]
    noise += [row(place, num_items=place, ties="dropped") for place in (1, 2)]
    good = [row(3.0 - place, num_items=place, ties="half") for place in (1, 2)]
    everything = table(*noise, *good)
    for claim in (
        claims.trend("falls", "num_items", -1, **ONE, ties="half"),
        claims.trend("falls", "num_items", -1, **ONE, where=lambda r: r.get("ties") == "half"),
    ):
        found = claim.check(everything)
        assert found.holds is True
        assert found.evidence.startswith("1 of 1 curves")


def test_what_can_not_be_told():
    assert trend([3.0]).holds is None
    assert "fewer than two values of num_items" in trend([3.0]).evidence
    assert trend([], sign=1).holds is None
    assert trend([3.0, 1.0], error=math.nan).holds is None  # one replicate
    assert trend([1.0, 1.0 + 5e-7], error=0.0).holds is None  # float32 rounding is no difference
    assert trend([1.0, 1.0 - 5e-6], error=0.0).holds is True


# --- paired differences --------------------------------------------------------------------------


def difference(mean, error=0.01, epsilon=1.0, metric="top_k_error", **cell):
    return row(mean, error, metric, "mle minus counts", epsilon=epsilon, **cell)


def beaten(*rows, private=True, difference="mle minus counts"):
    wanted = {"metric": "top_k_error", "calibration": "published"}
    return claims.better("x", difference, private=private, **wanted).check(table(*rows))


def test_the_second_must_win_in_half_of_the_cells_and_lose_in_none():
    won, lost, unclear = difference(0.0301), difference(-0.0301), difference(0.0299)
    none = difference(0.0, 0.001)
    assert beaten(won).holds is True
    assert beaten(won, unclear).holds is True
    assert beaten(won, none).holds is True
    assert beaten(won, unclear, unclear).holds is None
    assert beaten(won, unclear, none).holds is None
    assert beaten(won, none, none).holds is False  # half is out of reach
    assert beaten(won, won, won, lost).holds is False
    assert beaten(unclear).holds is None
    assert beaten(none).holds is False
    assert beaten(difference(-0.0299)).holds is None


def test_no_difference_means_within_a_hundredth_slack_included():
    assert (
        "no difference beyond 0.01 in 1, unclear in 0" in beaten(difference(0.0039, 0.002)).evidence
    )
    assert (
        "no difference beyond 0.01 in 0, unclear in 1" in beaten(difference(0.0041, 0.002)).evidence
    )
    assert "no difference beyond 0.01 in 1" in beaten(difference(-0.0039, 0.002)).evidence
    # Ties of two methods that are the same: every difference is 0, and so is its standard error.
    assert beaten(difference(0.0, 0.0), difference(0.0, 0.0)).holds is False


def test_private_cells_and_those_without_privacy_are_told_apart():
    rows = (difference(0.1, epsilon=1.0), difference(-0.1, epsilon=math.inf))
    assert beaten(*rows, private=True).holds is True
    assert beaten(*rows, private=False).holds is False
    assert beaten(*rows, private=None).holds is False
    assert beaten(rows[0], private=False).holds is None
    assert "no such cells" in beaten(rows[0], private=False).evidence


def test_one_replicate_or_another_pair_of_estimators_tells_nothing():
    assert beaten(difference(0.5, math.nan)).holds is None
    assert beaten(difference(0.5), difference="one-shot minus counts").holds is None
    assert beaten(row(0.5, 0.01, "top_k_error", "mle")).holds is None


# --- near (Figure 8) -----------------------------------------------------------------------------


def rank_rows(*means, error=0.01, epsilon=10.0, **cell):
    cell = {"data": "d", "ties": "half", "num_items": 4, **cell}
    return [
        row(m, error, "mean_rank_difference", estimator, epsilon=epsilon, **cell)
        for m, estimator in zip(means, ("mle", "counts"))
    ]


def test_near_holds_if_all_lie_below_a_quarter_of_a_random_ranking():
    limit = random_difference(4) / 4
    ask = lambda *rows: near(table(*rows), calibration="published")  # noqa: E731
    assert ask(*rank_rows(limit - 0.031, limit - 0.2)).holds is True
    assert ask(*rank_rows(limit - 0.029, limit - 0.2)).holds is None
    assert ask(*rank_rows(limit + 0.029, limit - 0.2)).holds is None
    assert ask(*rank_rows(limit - 0.2, limit + 0.031)).holds is False
    assert ask(*rank_rows(0.1, 0.1, error=math.nan)).holds is None
    assert ask().holds is None
    # Neither smaller ε, nor dropped ties, nor the difference of the two count.
    worse = rank_rows(9.0, 9.0, epsilon=8.0) + rank_rows(9.0, 9.0, ties="dropped")
    worse.append({**rank_rows(9.0)[0], "estimator": "mle minus counts"})
    found = ask(*rank_rows(0.1, 0.05), *worse)
    assert found.holds is True
    assert "d mle 0.100 ± 0.010 (8%); d counts 0.050 ± 0.010 (4%)" in found.evidence


# --- claims --------------------------------------------------------------------------------------


def test_a_claim_needs_thirty_replicates():
    claim = claims.claim("so it is", lambda found, answer: Verdict(answer, "seen"), answer=True)
    rows = [row(1.0), row(2.0)]
    assert claim.text == "so it is"
    assert claim.check(table(*rows)) == Verdict(True, "seen")
    rows[1]["replicates"] = 30
    assert claim.check(table(*rows)).holds is True
    rows[1]["replicates"] = 29
    found = claim.check(table(*rows))
    assert found.holds is None
    assert found.evidence == "replicates: 29, but a verdict needs 30. seen"


@pytest.mark.parametrize(
    ("means", "everywhere", "somewhere"),
    [
        ([0.1, 0.04], True, True),
        ([0.1, 0.0], None, True),
        ([0.1, 0.02], None, True),  # within 3 standard errors
        ([0.1, -0.04], False, False),
        ([0.02, 0.0], None, None),
        ([], None, None),
    ],
)
def test_positive_means_in_no_cell_negative_and_in_all_or_one_clearly_above(
    means, everywhere, somewhere
):
    other = [difference(-1.0, metric="other"), row(-1.0, estimator="counts minus mle")]
    rows = table(*(difference(mean) for mean in means), *other)
    for wanted, expected in ((True, everywhere), (False, somewhere)):
        ask = claims.positive("x", "mle minus counts", everywhere=wanted, metric="top_k_error")
        assert ask.check(rows).holds is expected
    least = claims.positive("x", "mle minus counts", least=0.15, metric="top_k_error")
    assert least.check(rows).holds is None
    assert claims.positive("x", "none").check(rows).holds is None


def test_trends_are_judged():
    falling = claims.trend("x", "num_users", -1, metric="l2_error")
    rows = [r for users in (1, 2) for r in rows_of([1 / users], num_users=users, printed=users)]
    assert falling.check(StudyResult("s", rows)).holds is True


def test_differences_are_first_minus_second_of_those_that_are_there():
    found = claims.with_differences({"a": 3.0, "b": 1.0}, [("a", "b"), ("b", "a"), ("a", "c")])
    assert found == {"a": 3.0, "b": 1.0, "a minus b": 2.0, "b minus a": -2.0}

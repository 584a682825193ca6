"""Verdicts on tables made by hand, on both sides of every threshold."""

from __future__ import annotations

import math

import pytest

from privrank_jax.experiments import claims
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


# --- trends --------------------------------------------------------------------------------------


def trend(means, verb=claims.falls, error=0.1, x="num_items", at=None):
    at = range(1, len(means) + 1) if at is None else at
    rows = [row(mean, error, **{x: place}) for place, mean in zip(at, means)]
    return verb("x", x, **ONE).check(table(*rows))


@pytest.mark.parametrize(
    ("means", "falls", "rises"),
    [
        ([3.0, 2.0, 1.0], True, False),
        ([1.0, 2.0, 3.0], False, True),
        ([3.0], None, None),
        ([], None, None),
        # Ends must differ by three pooled standard errors, 0.424.
        ([1.0, 0.571], True, False),
        ([1.0, 0.58], None, None),
        ([1.0, 1.42], None, None),
        ([1.0, 0.5, 0.5, 0.5], True, False),  # steps may be flat
        ([1.0, 1.2, 1.4, 1.6], False, True),  # every step within the slack, the ends not
        ([3.0, 1.0, 1.42, 0.5], True, False),
        ([3.0, 1.0, 1.43, 0.5], False, False),  # one clear step the other way
    ],
)
def test_a_curve_falls_by_its_ends_and_has_no_clear_step_the_other_way(means, falls, rises):
    assert trend(means).holds is falls
    assert trend(means, claims.rises).holds is rises


def test_points_are_ordered_by_x_with_infinity_last_and_rounding_is_no_difference():
    for means, holds in (([1.0, 3.0, 2.0], True), ([3.0, 1.0, 2.0], False)):
        assert trend(means, x="epsilon", at=[math.inf, 0.5, 2.5]).holds is holds
    assert trend([3.0, 1.0], error=math.nan).holds is None  # one replicate
    assert trend([1.0, 1.0 + 5e-7], error=0.0).holds is None  # of float32
    assert trend([1.0, 1.0 - 5e-6], error=0.0).holds is True


@pytest.mark.parametrize(
    ("drops", "holds"),
    [
        ((1, 1, 1, 1), True),
        ((1, 1, 1, 0), True),  # three quarters are enough
        ((1, 1, 0, 0), None),
        ((0, 0, 0, 0), None),
        ((1, 1, 1, -1), False),
    ],
)
def test_three_quarters_of_the_curves_must_comply_and_none_refute(drops, holds):
    rows = [
        row(2.0 - place * drop, metric=metric, estimator=estimator, num_items=place)
        for (metric, estimator), drop in zip(CURVES, drops)
        for place in (0, 1)
    ]
    found = claims.falls("x", "num_items", calibration="published").check(table(*rows))
    assert found.holds is holds
    assert found.evidence.startswith(f"{drops.count(1)} of 4 curves fall")


def test_only_the_selected_rows_count():
    rising = [
        row(place, num_items=place, ties="half", **other)
        for other in ({"calibration": "other"}, {"estimator": "counts"}, {"metric": "other"})
        for place in (1, 2)
    ]
    rising += [row(place, num_items=place, ties="dropped") for place in (1, 2)]
    good = [row(3.0 - place, num_items=place, ties="half") for place in (1, 2)]
    for ties in ("half", ("half", "none"), lambda ties: ties != "dropped"):
        found = claims.falls("x", "num_items", **ONE, ties=ties).check(table(*rising, *good))
        assert found.holds is True
        assert found.evidence.startswith("1 of 1 curves")


# --- paired differences --------------------------------------------------------------------------


def difference(mean, error=0.01, epsilon=1.0, metric="top_k_error", **cell):
    return row(mean, error, metric, "mle minus counts", epsilon=epsilon, **cell)


def beaten(*rows, cells="half", least=0.0, **where):
    where = {"metric": "top_k_error", **where}
    return claims.beats("x", "mle minus counts", cells, least, **where).check(table(*rows)).holds


def test_half_of_the_cells_must_be_above_zero_and_none_below():
    won, lost, unclear = difference(0.0301), difference(-0.0301), difference(0.0299)
    none = difference(0.0, 0.001)
    for rows, holds in (
        ([won], True), ([won, unclear], True), ([won, none], True), ([won, unclear, unclear], None),
        ([won, unclear, none], None), ([won, none, none], False), ([won, won, won, lost], False),
        ([unclear], None), ([none], False), ([difference(-0.0299)], None), ([], None),
        ([difference(0.5, math.nan)], None), ([row(0.5, 0.01, "top_k_error", "mle")], None),
    ):  # fmt: skip
        assert beaten(*rows) is holds
    # Within ±0.01, slack included, there is no difference.
    assert beaten(difference(0.0039, 0.002)) is False
    assert beaten(difference(0.0041, 0.002)) is None
    # Ties of two methods that are the same: every difference is 0, and so is its standard error.
    assert beaten(difference(0.0, 0.0), difference(0.0, 0.0)) is False


def test_a_condition_tells_private_cells_from_those_without_privacy():
    rows = (difference(0.1, epsilon=1.0), difference(-0.1, epsilon=math.inf))
    assert beaten(*rows, epsilon=math.isfinite) is True
    assert beaten(*rows, epsilon=math.isinf) is False
    assert beaten(*rows) is False


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
def test_in_no_cell_below_and_in_all_or_one_clearly_above(means, everywhere, somewhere):
    rows = [*map(difference, means), difference(-1.0, metric="other")]
    assert beaten(*rows, cells="all") is everywhere
    assert beaten(*rows, cells="some") is somewhere
    assert beaten(*rows, cells="some", least=0.15) is None


def test_differences_are_first_minus_second_of_those_that_are_there():
    found = claims.with_differences({"a": 3.0, "b": 1.0}, [("a", "b"), ("b", "a"), ("a", "c")])
    assert found == {"a": 3.0, "b": 1.0, "a minus b": 2.0, "b minus a": -2.0}


def test_the_near_gap_is_smaller_in_three_quarters_of_the_cells():
    def nearer(*means):
        rows = [row(mean, 0.1, estimator="bend", num_items=n) for n, mean in enumerate(means)]
        return claims.nearer("x", "bend").check(table(*rows)).holds

    yes, no, tie = 0.31, -0.31, 0.29
    assert [nearer(yes), nearer(tie), nearer(no), nearer()] == [True, None, False, None]
    assert nearer(yes, yes, yes, no) is True
    assert [nearer(yes, yes, tie, no), nearer(yes, yes, no, no)] == [None, False]


# --- limits --------------------------------------------------------------------------------------


def test_means_are_held_against_numbers_columns_and_functions():
    rows = table(row(1.0, 0.1, limit=0.8), row(2.0, 0.1, limit=2.0), row(9.0, limit=math.nan))
    for limit in ("limit", lambda row: row["limit"]):
        assert claims.below("x", limit).check(rows).holds is True
        assert claims.below("x", limit, 1.0).check(rows).holds is False
        assert claims.above("x", limit, 0.0).check(rows).holds is True
        assert claims.close_to("x", limit).check(rows).holds is True
        assert claims.close_to("x", limit, 1.0).check(rows).holds is False
        assert claims.close_to("x", limit, 0.0, rare=21.0).check(rows).holds is True
    assert claims.below("x", 1.0).check(rows).holds is False
    assert claims.above("x", 1.3).check(rows).holds is True
    assert claims.above("x", 1.31).check(rows).holds is False
    assert claims.below("x", 1.0, metric="other").check(rows).holds is None
    for exact, holds in ((0.8, True), (1.2, True), (0.6, False), (1.4, False)):
        assert claims.close_to("x", exact).check(table(row(1.0, 0.1))).holds is holds


# --- printed values ------------------------------------------------------------------------------


def judged(rows, least=True):
    known = claims.Printed(("metric",), {("l2_error",): (0.1, rows[0]["printed_standard_error"])})
    found = list(claims.beside(rows, claims.Printed(known.columns, known.cells, least)))
    verdict = claims.close_to_printed("x", least).check(StudyResult("s", found))
    return verdict, [row["verdict"] for row in found]


def test_a_cell_holds_up_to_three_standard_errors_of_both():
    assert judged(rows_of([0.05, 0.129]))[0].holds is True
    failing, words = judged(rows_of([0.05, 0.131]))
    assert (failing.holds, words) == (False, ["holds", "does not hold"])
    assert "1 of 2 cells" in failing.evidence
    assert judged(rows_of([0.131], printed_error=0.01))[0].holds is True
    assert judged(rows_of([0.131], error=math.nan))[0].holds is None
    for mean, holds, word in ((0.2, True, "holds"), (0.05, False, "does not hold")):
        found, words = judged(rows_of([mean]), least=False)
        assert (found.holds, words) == (holds, [word])
    for replicates, word in ((claims.ENOUGH - 1, "undecided"), (claims.ENOUGH, "does not hold")):
        found, words = judged(rows_of([0.131], replicates=replicates))
        assert [found.word] == words == [word]


def test_a_claim_needs_thirty_replicates():
    claim = claims.claim("so it is", lambda found, answer: Verdict(answer, "seen"), answer=True)
    rows = [row(1.0), row(2.0)]
    assert claim.text == "so it is"
    assert claim.check(table(*rows)) == Verdict(True, "seen")
    rows[1]["replicates"] = 29
    assert claim.check(table(*rows)).holds is None

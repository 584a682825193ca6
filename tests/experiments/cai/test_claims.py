"""Claims of the Cai studies."""

from __future__ import annotations

import math

from privrank_jax.experiments.cai import claims as cai_claims
from tests.experiments.rows import ONE, row, table


def levels(far, near_, best, error=0.1, **cell):
    return [
        row(m, error, epsilon=e, **cell) for e, m in ((1.0, far), (2.5, near_), (math.inf, best))
    ]


def closer(*curves):
    rows = [r for i, curve in enumerate(curves) for r in levels(*curve, num_items=i)]
    return cai_claims.closer(table(*rows), wanted=ONE)


def test_closer_to_no_privacy_by_more_than_the_slack():
    just = 3 * math.sqrt(6) * 0.1  # |far - near| - |near - best| has variance (1 + 4 + 1) SE²
    assert closer((3.0, 1.0, 1.0 - 2.0 + 1.01 * just)).holds is True
    assert closer((3.0, 1.0, 1.0 - 2.0 + 0.99 * just)).holds is None
    assert closer((3.0, 1.0, 1.0 - 2.0 - 0.99 * just)).holds is None
    assert closer((3.0, 1.0, 1.0 - 2.0 - 1.01 * just)).holds is False
    assert closer((3.0, 1.0, 0.5)).evidence.endswith(" 20% remains at ε = 2.5 (median)")


def test_the_paired_standard_error_is_taken_where_the_errors_fall():
    def ask(far, near_, best, paired, **cell):
        name = "mle: gain up to 2.5 minus gain beyond"
        bend = row(0.0, paired, estimator=name, epsilon=2.5, **cell)
        rows = [*levels(far, near_, best), bend]
        return cai_claims.closer(table(*rows), wanted=ONE).holds

    assert ask(1.5, 1.0, 0.9, paired=0.13) is True  # 0.4 = 3.08 SE; pooled it is 1.6 SE
    assert ask(1.5, 1.0, 0.9, paired=0.14) is None
    assert ask(1.1, 1.0, 0.5, paired=0.13) is False
    assert ask(1.5, 1.0, 0.9, paired=0.13, num_items=11) is None  # of another cell
    assert (
        ask(1.5, 1.0, 1.1, paired=0.001) is None
    )  # the error at 2.5 is below that without privacy


def test_three_quarters_of_the_cells():
    yes, no, tie = (3.0, 1.0, 0.9), (3.0, 2.9, 0.0), (3.0, 2.0, 1.0)
    assert closer(yes, yes, yes, no).holds is True
    assert closer(yes, yes, tie, tie).holds is None
    assert closer(yes, yes, tie, no).holds is None
    assert closer(yes, yes, no, no).holds is False
    assert closer(tie).holds is None
    assert closer((0.5, 1.0, 2.5)).holds is False  # errors that rise with ε count by their distance
    assert closer((1.0, 1.0, 1.0)).holds is None


def test_all_three_levels_are_needed():
    rows = levels(3.0, 1.0, 0.9)
    for left_out in rows:
        some = table(*(r for r in rows if r is not left_out))
        found = cai_claims.closer(some, wanted=ONE)
        assert found.holds is None
        assert "no cell has ε = 1, 2.5 and ∞" in found.evidence


def test_sets_of_claims_cover_every_calibration():
    texts = [claim.text for claim in cai_claims.trends("grow", "num_items", 1)]
    assert texts == [f"all errors grow ({c})" for c in ("published", "tight replace", "tight flip")]
    texts = " ".join(claim.text for claim in cai_claims.counts_against_mle("L/ε", "4L/ε", "2L/ε"))
    for noise in ("MLE 8L/ε, counts L/ε", "MLE 4L/ε, counts 2L/ε", "both 2L/ε"):
        assert noise in texts
    assert len(cai_claims.closeness()) == 3

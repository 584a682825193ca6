"""Claims that a cell stands beside a printed one."""

from __future__ import annotations

import math

from privrank_jax.experiments import printed
from privrank_jax.experiments.claims import ENOUGH
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import rows_of


def judged(rows, claim, least=True):
    rows = [{**row, "verdict": printed.verdict(row, least)} for row in rows]
    return claim.check(StudyResult("s", rows))


def test_a_cell_holds_up_to_three_standard_errors_of_both():
    claim = printed.beside_printed("x")
    assert judged(rows_of([0.05, 0.129]), claim).holds is True
    failing = judged(rows_of([0.05, 0.131]), claim)
    assert failing.holds is False
    assert "1 of 2 cells" in failing.evidence
    assert "0.1310 against 0.1000 (+3.1 SE)" in failing.evidence
    assert judged(rows_of([0.131], printed_error=0.01), claim).holds is True
    assert judged(rows_of([0.131], replicates=10), claim).holds is None
    assert judged(rows_of([0.131], error=math.nan), claim).holds is None
    most = printed.beside_printed("x", least=False)
    assert [judged(rows_of([m]), most, False).holds for m in (0.2, 0.05)] == [True, False]


def test_cells_and_claims_are_undecided_below_the_same_number_of_replicates():
    claim = printed.beside_printed("x")
    for replicates, word in ((ENOUGH - 1, "undecided"), (ENOUGH, "does not hold")):
        (row,) = rows_of([0.131], replicates=replicates)
        assert printed.verdict(row, True) == word
        found = judged([row], claim)
        assert found.word == word
        assert "Not met: " in found.evidence

"""The spending of one release: refused early, paid before anything is shown, and never by a rehearsal."""

from __future__ import annotations

import numpy as np
import pytest
from privrank_jax.cli.core.result import Result
from privrank_jax.cli.core.spending import begin
from privrank_jax.cli.rank.request import Request

from privrank_jax import Guarantee, Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.release.ledger import Ledger, LedgerError, content_sha256, create

PROMISE = Privacy(1.0, unit="comparison", adjacency="flip")


@pytest.fixture
def ledger(votes, tmp_path):
    path = tmp_path / "votes.ledger"
    budget = Privacy(2.0, unit="comparison", adjacency="flip", users="column 'user'")
    create(path, budget, data=str(votes), sha256=content_sha256(votes))
    return path


def request(votes, **options):
    usual = {"epsilon": 1.0, "unit": "comparison", "adjacency": "flip"}
    return Request(source=str(votes), **{**usual, **options})


def result(guarantee):
    return Result(
        title="t", order=np.arange(2), guarantee=guarantee, diagnostics={"method": "counts"}
    )


def test_without_a_ledger_nothing_is_spent_but_exactness_is_looked_at(votes):
    spending = begin("rank", request(votes))
    exact = result(Guarantee(PROMISE, numerics="exact"))
    assert spending.spend_for(exact) is exact
    with pytest.raises(Refusal):
        spending.spend_for(result(Guarantee(PROMISE, numerics="idealized")))


def test_what_is_paid_is_left_out_of_the_budget_and_said(votes, ledger):
    spending = begin("rank", request(votes, ledger=ledger))
    paid = spending.spend_for(result(Guarantee(PROMISE, numerics="exact")))
    assert "is left of" in paid.diagnostics["ledger"]
    assert paid.notes == (paid.diagnostics["ledger"],)
    spending.printed()
    with Ledger(ledger) as book:
        assert float(book.left()[0]) == 1.0
        (row,) = book.spends()
        assert row.command == "rank"


def test_a_budget_that_is_too_small_is_refused_before_the_work(votes, ledger):
    with pytest.raises(LedgerError, match="left"):
        begin("rank", request(votes, ledger=ledger, epsilon=2.5))
    with pytest.raises(LedgerError):
        begin("rank", request(votes, ledger=ledger, adjacency="add-remove"))
    with Ledger(ledger) as book:
        assert float(book.left()[0]) == 2.0


def test_nothing_without_privacy_is_paid_from_a_ledger(votes, ledger):
    with pytest.raises(Refusal, match="--method none has no privacy guarantee"):
        begin("rank", request(votes, ledger=ledger, method="none"))


def test_a_rehearsal_spends_nothing_and_says_so(votes, ledger, capsys):
    spending = begin("rank", request(votes, ledger=ledger, simulate=True))
    found = result(Guarantee(PROMISE, numerics="simulation"))
    assert spending.spend_for(found) is found
    assert "a rehearsal spends nothing" in capsys.readouterr().err
    with Ledger(ledger) as book:
        assert float(book.left()[0]) == 2.0


def test_another_file_is_not_paid_for(votes, ledger, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("user,winner,loser\nu,a,b\n")
    with pytest.raises(LedgerError):
        begin("rank", request(other, ledger=ledger))

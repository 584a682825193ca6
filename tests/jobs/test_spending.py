"""A ledger pays before a ranking is returned; a rehearsal, other data and too small a budget cost nothing."""

from __future__ import annotations

import jax
import pytest

import privrank_jax as pr
from privrank_jax.release.ledger import Ledger, LedgerError, content_sha256, create

PROMISE = pr.Privacy(1.0, unit="comparison", adjacency="flip")


@pytest.fixture
def ledger(votes, tmp_path):
    path = tmp_path / "votes.ledger"
    budget = pr.Privacy(2.0, unit="comparison", adjacency="flip", users="column 'user'")
    create(path, budget, data=str(votes), sha256=content_sha256(votes))
    with Ledger(path) as found:
        yield found


def test_what_is_paid_is_left_out_of_the_budget_and_said(votes, ledger):
    found = pr.rank(pr.read(votes), PROMISE, method="counts", ledger=ledger)
    assert "is left of" in found.facts["ledger"]
    assert found.notes[-1] == found.facts["ledger"]
    assert float(ledger.left()[0]) == 1.0
    (row,) = ledger.spends()
    assert (row.command, row.method) == ("rank", "counts")


def test_what_is_not_allowed_costs_nothing(votes, ledger, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("user,winner,loser\nu,a,b\n")
    data, large = pr.read(votes), pr.Privacy(2.5, unit="comparison", adjacency="flip")
    weaker = pr.Privacy(1.0, unit="comparison", adjacency="add-remove")
    for source, promise in ((data, large), (data, weaker), (pr.read(other), PROMISE)):
        with pytest.raises(LedgerError):
            pr.rank(source, promise, method="counts", ledger=ledger)
    with pytest.raises(ValueError, match="leave out the ledger"):
        pr.rank(data, None, ledger=ledger)
    rehearsed = pr.rank(data, PROMISE, method="counts", key=jax.random.key(0), ledger=ledger)
    assert rehearsed.rehearsal
    assert "ledger" not in rehearsed.facts
    assert float(ledger.left()[0]) == 2.0


def test_ranking_what_is_randomized_already_has_no_price(votes, tmp_path):
    path, kept = tmp_path / "reports.csv", tmp_path / "reports.ledger"
    pr.randomize(pr.read(votes), 1.0).write(path)
    budget = pr.Privacy(2.0, unit="comparison", adjacency="flip", users="column 'user'")
    create(kept, budget, data=str(path), sha256=content_sha256(path))
    with Ledger(kept) as ledger:
        with pytest.raises(ValueError, match="leave out the ledger"):
            pr.rank(pr.read(path), None, ledger=ledger)
        assert float(ledger.left()[0]) == 2.0

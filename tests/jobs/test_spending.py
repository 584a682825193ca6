"""A ledger pays before a ranking is returned; a rehearsal, other data and too small a budget cost nothing."""

from __future__ import annotations

import jax
import pandas
import pyarrow
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
    found = pr.rank(pr.read(votes, items="seen"), PROMISE, method="counts", ledger=ledger)
    assert "is left of" in found.facts["ledger"]
    assert found.notes[-1] == found.facts["ledger"]
    assert float(ledger.left()[0]) == 1.0
    (row,) = ledger.spends()
    assert (row.command, row.method) == ("rank", "counts")


def test_what_is_not_allowed_costs_nothing(votes, ledger, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("user,winner,loser\nu,a,b\n")
    data, large = pr.read(votes, items="seen"), pr.Privacy(2.5, unit="comparison", adjacency="flip")
    weaker = pr.Privacy(1.0, unit="comparison", adjacency="add-remove")
    for source, promise in ((data, large), (data, weaker), (pr.read(other, items="seen"), PROMISE)):
        for key in (None, jax.random.key(0)):
            with pytest.raises(LedgerError):
                pr.rank(source, promise, method="counts", ledger=ledger, key=key)
    with pytest.raises(ValueError, match="`ledger`"):
        pr.rank(data, None, ledger=ledger)
    rehearsed = pr.rank(data, PROMISE, method="counts", key=jax.random.key(0), ledger=ledger)
    assert rehearsed.rehearsal
    assert "ledger" not in rehearsed.facts
    assert float(ledger.left()[0]) == 2.0


ROWS = {"user": ["u", "v", "w"], "winner": ["a", "b", "a"], "loser": ["b", "a", "b"]}
OTHER = {"user": ["x"], "winner": ["a"], "loser": ["b"]}


def in_arrays(rows):
    winners, losers = ([*map("ab".index, rows[name])] for name in ("winner", "loser"))
    users = [0] * len(winners)
    return pr.data.Comparisons(users, winners, losers, [False] * len(users), ("a", "b"))


FRAMES = {
    "dict": lambda rows: pr.read(rows, items=["a", "b"]),
    "pandas": lambda rows: pr.read(pandas.DataFrame(rows), items=["a", "b"]),
    "arrow": lambda rows: pr.read(pyarrow.table(rows), items=["a", "b"]),
    "arrays": in_arrays,
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_ledger_knows_data_that_no_file_holds_by_their_cells(tmp_path, name):
    make, path = FRAMES[name], tmp_path / "votes.ledger"
    data = make(ROWS)
    budget = pr.Privacy(2.0, unit="comparison", adjacency="flip", users=data.users_are)
    create(path, budget, data=name, sha256=data.sha256)
    with Ledger(path) as ledger:
        again = make(dict(reversed(ROWS.items())))
        found = pr.rank(again, PROMISE, method="counts", ledger=ledger)
        assert "epsilon 1 is left of epsilon 2" in found.facts["ledger"]
        changed = {**ROWS, "winner": ["b", "b", "a"], "loser": ["a", "a", "b"]}
        for rows in (OTHER, changed):
            with pytest.raises(LedgerError, match="other content"):
                pr.rank(make(rows), PROMISE, method="counts", ledger=ledger)
        assert float(ledger.left()[0]) == 1.0


def test_a_table_of_an_engine_has_no_content_to_know(tmp_path):
    ibis = pytest.importorskip("ibis")
    rows = pr.read(ibis.memtable(pandas.DataFrame(ROWS)), items=["a", "b"])
    budget = pr.Privacy(2.0, unit="comparison", adjacency="flip")
    create(tmp_path / "l", budget, data="votes", sha256="0" * 64)
    with Ledger(tmp_path / "l") as ledger, pytest.raises(LedgerError, match="no content"):
        pr.rank(rows, PROMISE, method="counts", ledger=ledger)

"""Rows of a ledger stay as they were written: triggers refuse, and the chain tells what was done without them."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

import pytest

from privrank_jax.release.ledger import Ledger, LedgerError
from privrank_jax.release.ledger_file import TRIGGERS
from tests.release.ledgers import as_version_3, promise, spent

CHEAPER = (
    "INTO spends SELECT number, time, command, method, '0.1', delta, unit, adjacency, contributions, public, users, "
    "trust, numerics, state, link, data_set, changes FROM spends"
)


@pytest.fixture
def used(made):
    """A ledger with three spends and three published steps."""
    path = made(10)
    with Ledger(path) as ledger:
        for _ in range(3):
            ledger.mark_printed(ledger.spend(promise(1)))
        ledger.remember("1f", ["aa", "bb"])
        ledger.remember("2e", ["cc"])
    return path


@pytest.mark.parametrize(
    "statement",
    [
        f"INSERT OR REPLACE {CHEAPER}",
        f"REPLACE {CHEAPER}",
        "INSERT OR REPLACE INTO spends SELECT * FROM spends",
        "UPDATE OR REPLACE spends SET rowid = 1 WHERE number = 2",
        "UPDATE spends SET rowid = 9 WHERE number = 3",
        "UPDATE spends SET link = 'x'",
        "UPDATE spends SET state = 'printed', epsilon = '0.1'",
        "INSERT OR REPLACE INTO ledger SELECT one, data, key, fingerprint, '99', delta, unit, adjacency, "
        "contributions, public, users, created, slack, renyi_order FROM ledger",
        "INSERT OR REPLACE INTO published SELECT number, board, step, 'dd', link FROM published",
        "INSERT OR REPLACE INTO published VALUES (99, '1f', 1, 'dd', 'x')",
        "INSERT OR REPLACE INTO published VALUES (1, '9a', 7, 'dd', 'x')",
        "UPDATE published SET witness = 'dd'",
        "DELETE FROM published",
    ],
)
def test_ordinary_statements_are_refused(used, statement):
    connection = sqlite3.connect(used)
    with pytest.raises(sqlite3.IntegrityError, match=r"never (altered|replaced|deleted)"):
        connection.execute(statement)
    connection.close()
    assert spent(used) == 3


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE spends SET epsilon = '0.1' WHERE number = 2", "row 2 of spends"),
        ("UPDATE spends SET method = 'other' WHERE number = 1", "row 1 of spends"),
        ("DELETE FROM spends WHERE number = 1", "row 2 of spends"),
        ("DELETE FROM spends WHERE number = 3", "the end of spends"),
        ("DELETE FROM spends", "the end of spends"),
        ("UPDATE spends SET number = -number WHERE number = 2", "row -2 of spends"),
        ("UPDATE ledger SET epsilon = '99'", "row 1 of spends"),
        ("UPDATE ledger SET key = 'xy' || substr(key, 3)", "its key is none"),
        ("UPDATE ledger SET fingerprint = key", "row 1 of spends"),
        ("UPDATE published SET witness = 'dd' WHERE number = 3", "row 3 of published"),
        ("UPDATE published SET witness = x'00' WHERE number = 3", "row 3 of published"),
        ("DELETE FROM published WHERE number > 1", "the end of published"),
        ("UPDATE published SET link = '' WHERE step = 2", "row 2 of published"),
    ],
)
def test_the_chain_tells_what_other_tools_did(used, statement, words):
    connection = sqlite3.connect(used)
    for trigger in TRIGGERS:
        connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
    connection.execute(statement)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match=words) as error:
        Ledger(used)
    assert str(used) in str(error.value)


def test_a_ledger_that_is_altered_while_it_is_open_spends_nothing(used):
    with Ledger(used) as ledger:
        connection = sqlite3.connect(used)
        connection.execute("DROP TRIGGER spends_as_they_are")
        connection.execute("UPDATE spends SET epsilon = '0.1' WHERE number = 3")
        connection.commit()
        with pytest.raises(LedgerError, match="row 3 of spends"):
            ledger.spend(promise(1))
        assert connection.execute("SELECT count(*) FROM spends").fetchone() == (3,)
        connection.close()


def test_published_steps_are_remembered_once(used):
    with Ledger(used) as ledger:
        ledger.remember("1f", ["aa"])
        ledger.remember("1f", ["aa", "bb", "ee"])
        assert ledger.witnesses("1f") == ["aa", "bb", "ee"]
        assert ledger.witnesses("2e") == ["cc"]
        assert ledger.witnesses("other") == []
        ledger.spend(promise(1))
    assert spent(used) == 4


def test_old_ledgers_are_chained_when_they_are_opened(made):
    path = made(10)
    with Ledger(path) as ledger:
        numbers = [ledger.spend(promise(1)) for _ in range(2)]
        ledger.mark_printed(numbers[0])
        before = ledger.spends()
    as_version_3(path)
    with Ledger(path) as ledger:
        assert ledger.spends() == before
        assert ledger.spend(promise(1)) == 3
        ledger.remember("1f", ["aa"])
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="never replaced"):
        connection.execute("INSERT OR REPLACE INTO spends SELECT * FROM spends")
    connection.execute("DROP TRIGGER spends_as_they_are")
    connection.execute("UPDATE spends SET epsilon = '0.1' WHERE number = 1")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="row 1 of spends"):
        Ledger(path)


def test_an_old_ledger_is_whole_or_as_it_was(made, monkeypatch):
    path = made(10)
    with Ledger(path) as ledger:
        ledger.spend(promise(1))
    as_version_3(path)
    with monkeypatch.context() as patch:
        patch.setattr("privrank_jax.release.ledger_chain.TRIGGERS", ("no statement",))
        with pytest.raises(LedgerError, match="can't be used"):
            Ledger(path)
    assert spent(path) == Decimal(1)

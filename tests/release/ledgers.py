"""Ledgers for tests."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

from privrank_jax import Privacy
from privrank_jax.release.ledger import (
    Ledger,
)
from privrank_jax.release.ledger_chain import JOINED, PUBLISHED, SPENDS, Chain
from privrank_jax.release.ledger_file import FORMER_BUDGET, TRIGGERS

USERS = {"unit": "user", "adjacency": "replace"}


def promise(epsilon, delta=0, **kind):
    """A promise for replacing one user unless stated otherwise; strings mean decimals."""
    epsilon, delta = (Decimal(one) if isinstance(one, str) else one for one in (epsilon, delta))
    return Privacy(epsilon, delta=delta, **{**USERS, **kind})


def spent(path):
    with Ledger(path) as ledger:
        return ledger.spent()[0]


def as_version_3(path, *statements):
    """Turn a ledger into one of version 3 of the file, which had no chain, after further statements."""
    connection = sqlite3.connect(path)
    for trigger in TRIGGERS:
        connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
    for statement in (
        *statements, "DROP TABLE published", "DROP TABLE joined", "ALTER TABLE spends DROP COLUMN link",
        "ALTER TABLE spends DROP COLUMN data_set", *_WITHOUT_FILTERS, *_TRIGGERS_OF_VERSION_3,
        "PRAGMA user_version = 3",
    ):  # fmt: skip
        connection.execute(statement)
    connection.commit()
    connection.close()


def as_version_4(path, *statements):
    """Turn a ledger into one of version 4 of the file, which knew no series; then further statements."""
    _as_version(4, path, statements)


def as_version_5(path, *statements):
    """Turn a ledger into one of version 5 of the file, which knew no kinds of noise; then further statements."""
    _as_version(5, path, statements)


def _as_version(version, path, statements):
    connection = sqlite3.connect(path)
    for trigger in TRIGGERS:
        connection.execute(f"DROP TRIGGER {trigger.split()[2]}")
    chained = {"spends": SPENDS[:-1], "published": PUBLISHED, "joined": JOINED}
    if version == 4:
        connection.execute("DROP TABLE joined")
        connection.execute("ALTER TABLE spends DROP COLUMN data_set")
        chained = {"spends": SPENDS[:-2], "published": PUBLISHED}
    for statement in _WITHOUT_FILTERS:
        connection.execute(statement)
    (key,) = connection.execute("SELECT key FROM ledger").fetchone()
    for table, columns in chained.items():
        for number, link, _ in Chain(path, connection, key, table, columns, FORMER_BUDGET).links():
            connection.execute(f"UPDATE {table} SET link = ? WHERE number = ?", (link, number))
    for statement in statements:
        connection.execute(statement)
    for trigger in TRIGGERS:
        if version == 4 and " ON joined" in trigger:
            continue
        for row in ("NEW", "OLD"):
            trigger = trigger.replace(f", {row}.changes", "")
            trigger = trigger.replace(f", {row}.data_set", "") if version == 4 else trigger
        connection.execute(trigger)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()


_WITHOUT_FILTERS = (
    "ALTER TABLE spends DROP COLUMN changes",
    "ALTER TABLE ledger DROP COLUMN slack",
    "ALTER TABLE ledger DROP COLUMN renyi_order",
)


_TRIGGERS_OF_VERSION_3 = (
    "CREATE TRIGGER ledger_stays BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'a ledger is never deleted'); END",
    "CREATE TRIGGER ledger_as_it_is BEFORE UPDATE ON ledger "
    "BEGIN SELECT RAISE(ABORT, 'a budget is never altered'); END",
    "CREATE TRIGGER spends_stay BEFORE DELETE ON spends BEGIN SELECT RAISE(ABORT, 'a spend is never deleted'); END",
    "CREATE TRIGGER spends_as_they_are BEFORE UPDATE OF number, time, command, method, epsilon, delta, unit, "
    "adjacency, contributions, public, users, trust, numerics ON spends "
    "BEGIN SELECT RAISE(ABORT, 'a spend is never altered'); END",
    "CREATE TRIGGER printed_stays BEFORE UPDATE OF state ON spends WHEN NEW.state <> 'printed' "
    "BEGIN SELECT RAISE(ABORT, 'what was printed stays printed'); END",
)

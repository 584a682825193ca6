"""Chained rows of a ledger: each holds a keyed hash of itself and of the row before it, the first of the budget's row.

**What it shows.** A row that was altered, replaced, removed, reordered or put in does not fit the chain, and the ledger
is refused. Triggers keep ordinary statements from doing any of that, ``INSERT OR REPLACE`` too; the chain notices what
was done without them, by accident or with other tools. SQLite's own count of numbers tells of rows that were removed at
the end. Whether a result was shown is not part of the chain: it changes no budget.

**What it doesn't.** The key of the chain is in the file, so that anyone who may read and write it can make another
chain, or put back an older copy of the whole file.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privrank_jax.release.ledger_file import (
    BUDGET,
    FORMER_BUDGET,
    RESTORE,
    TABLES,
    TRIGGERS,
    VERSION,
    LedgerError,
    fingerprint,
)

SPENDS = (
    "number", "time", "command", "method", "epsilon", "delta", "unit", "adjacency", "contributions", "public", "users",
    "trust", "numerics", "data_set", "changes",
)  # fmt: skip
PUBLISHED = ("number", "board", "step", "witness")
JOINED = ("number", "time", "series", "data", "fingerprint")
CHAINED = {"spends": SPENDS, "published": PUBLISHED, "joined": JOINED}


class Chain:
    """The chain of one table.

    Args:
        path: the ledger.
        connection: to it.
        secret: its key, hexadecimal digits.
        table: ``"spends"``, ``"published"`` or ``"joined"``.
        columns: those that are chained, the number first.
        budget: columns of the budget's row.
    """

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        secret: str,
        table: str,
        columns: Sequence[str],
        budget: str = BUDGET,
    ) -> None:
        self._path, self._connection, self._secret = path, connection, secret
        self._table, self._columns = table, ", ".join(columns)
        row = connection.execute(f"SELECT {budget} FROM ledger").fetchone()
        self._first = self._link(table, row)

    def _link(self, before: str, cells: Sequence[Any]) -> str:
        try:
            return fingerprint(self._secret, json.dumps([before, *cells], default=repr))
        except ValueError:
            raise LedgerError(f"{self._path} is damaged: its key is none. {RESTORE}") from None

    def links(self) -> list[tuple[int, str, str]]:
        """The number of each row, the link that it must have, and the one that it has."""
        found, link = [], self._first
        query = f"SELECT {self._columns}, link FROM {self._table} ORDER BY number"
        for *cells, held in self._connection.execute(query):
            link = self._link(link, cells)
            found.append((cells[0], link, held))
        return found

    def check(self) -> tuple[int, str]:
        """The last number and link; within a transaction.

        Raises:
            LedgerError: a row does not fit.
        """
        links = self.links()
        number, link = links[-1][:2] if links else (0, self._first)
        query = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        ever = self._connection.execute(query, (self._table,)).fetchone() or (0,)
        wrong = [str(one) for one, due, held in links if due != held]
        if wrong or ever[0] != number:
            where = f"row {wrong[0]} of {self._table}" if wrong else f"the end of {self._table}"
            raise LedgerError(
                f"{self._path} was altered or damaged: {where} is not as it was written. {RESTORE}"
            )
        return number, link

    def extend(self, rows: Sequence[Sequence[Any]]) -> int:
        """Write rows without their numbers, and return the last number; within a transaction."""
        number, link = self.check()
        names = f"{self._columns}, link"
        marks = ", ".join("?" * (names.count(",") + 1))
        for row in rows:
            number += 1
            link = self._link(link, (number, *row))
            self._connection.execute(
                f"INSERT INTO {self._table} ({names}) VALUES ({marks})", (number, *row, link)
            )
        return number


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring a ledger of version 3, 4 or 5 to this version, with its triggers and a chain of all columns.

    Rows of version 3, which had no chain, are chained as they are found; later ones must fit their chain.

    Args:
        path: the ledger.
        connection: to it.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:  # no other process has brought it there meanwhile
            (key,) = connection.execute("SELECT key FROM ledger").fetchone()
            former = {}
            if version > 3:
                former |= {"spends": SPENDS[: version - 6], "published": PUBLISHED}
            if version > 4:
                former["joined"] = JOINED
            for table, columns in former.items():
                Chain(path, connection, key, table, columns, FORMER_BUDGET).check()
            query = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(query).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            if version == 3:
                connection.execute("ALTER TABLE spends ADD COLUMN link TEXT NOT NULL DEFAULT ''")
                connection.execute(TABLES["published"])
            if version < 5:
                connection.execute(
                    "ALTER TABLE spends ADD COLUMN data_set INTEGER NOT NULL DEFAULT 1"
                )
                connection.execute(TABLES["joined"])
            connection.execute("ALTER TABLE spends ADD COLUMN changes TEXT NOT NULL DEFAULT ''")
            connection.execute("ALTER TABLE ledger ADD COLUMN slack TEXT NOT NULL DEFAULT '0'")
            connection.execute("ALTER TABLE ledger ADD COLUMN renyi_order TEXT NOT NULL DEFAULT ''")
            for table, columns in CHAINED.items():
                for number, link, _ in Chain(path, connection, key, table, columns).links():
                    connection.execute(
                        f"UPDATE {table} SET link = ? WHERE number = ?", (link, number)
                    )
            for trigger in TRIGGERS:
                connection.execute(trigger)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise

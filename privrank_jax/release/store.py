"""One SQLite file: a data set's budget, spends and series, a leaderboard with its key, and published steps.

A ledger (:mod:`privrank_jax.release.ledger`) is such a file, and so is the state of a leaderboard
(:mod:`privrank_jax.release.leaderboard`), which may be the ledger's. A file beside a state, and each ledger, also
remember which steps of leaderboards were published, by hashes that reveal nothing of the data without the leaderboard's
key.

**Crashes.** What is shown is on disk before: a transaction is there (rollback journal, ``synchronous=EXTRA``) when it
returns, and a process killed at any point leaves all of it or nothing. It begins as a writer's (``BEGIN IMMEDIATE``),
so each of several processes sees all earlier ones. A file without tables is that of a creation that was cut short, and
counts as none.

**Secrecy.** Whoever reads the file has the keys in it: of the noise, which can then be taken away, and of the hash by
which the data are known. It is made for its owner alone, and refused where others may read or write it. It belongs on a
local disk, where the data are kept.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from privrank_jax._arguments import ArgumentError

WAIT = 30.0  # seconds for other processes to finish their transactions

VERSION = 8
_APPLICATION = 0x50526C67
_OLD_BOARD = 0x50526C62  # a leaderboard's state before version 8
_LAST = "f5aa864f"  # the last commit that reads files of before version 7, and such states
PROMISE = ("epsilon", "delta", "unit", "adjacency", "contributions", "public", "users")
"""Columns that hold a promise."""
TABLES = {
    "ledger": ("data", "key", "fingerprint", *PROMISE, "created", "slack", "renyi_order"),
    "spends": (
        *("time", "command", "method", *PROMISE, "trust", "numerics"),
        *("state", "data_set", "changes"),
    ),
    "series": ("time", "series", "data", "fingerprint"),
    "boards": ("identifier", "terms", "key"),
    "steps": ("board", "step", "counts", "noisy", "note", "witness"),
}
_WHOLE = ("data_set", "step")  # columns of whole numbers; all others hold text
_FACTS = {  # what else holds in a table
    "spends": ", CHECK (state IN ('spent', 'printed'))",
    "series": ", UNIQUE (fingerprint)",
    "steps": ", UNIQUE (board, step)",
}
_OF_SEVEN = {"ledger": "ledger", "spends": "spends", "joined": "series", "published": "steps"}

Row: TypeAlias = dict[str, Any]
"""Cells by their columns."""


class StoreError(ArgumentError):
    """A file that can't be used, or not for this purpose; the message says why and what to do."""

    what: ClassVar[str] = "a file of privrank"


class LedgerError(StoreError):
    """A ledger that can't be used, or not for this purpose; the message says why and what to do."""

    what = "a ledger"


class BudgetExhausted(LedgerError):
    """A spend that would exceed the budget. Nothing was spent."""


class LeaderboardError(StoreError):
    """A leaderboard that can't go on, or not in this way; the message says why and what to do."""

    what = "the state of a leaderboard"


class Store:
    """The file, opened; it need not have tables yet.

    Args:
        path: the file, which must exist.
        error: what is raised; it says what the file is for.
        wait: seconds to wait for other processes.
    """

    def __init__(
        self, path: Path, error: type[StoreError] = LedgerError, wait: float = WAIT
    ) -> None:
        self.path, self.error = path, error
        address = f"{path.absolute().as_uri()}?mode=rw"
        with self._clearly():
            self._connection = sqlite3.connect(
                address, uri=True, timeout=wait, isolation_level=None
            )
            self._connection.row_factory = _as_row
            try:
                self._connection.execute("PRAGMA synchronous = EXTRA")
                self._connection.execute("PRAGMA fullfsync = ON")
            except BaseException:
                self._connection.close()
                raise

    @classmethod
    def find(cls, path: Path, error: type[StoreError], wait: float = WAIT) -> Store | None:
        """A file that has tables, checked; None if there is none."""
        if not path.exists():
            return None
        if not path.is_file():
            raise error(f"{path} is not a file, so it is not {error.what}.")
        with contextlib.ExitStack() as stack:
            found = cls(path, error, wait)
            stack.callback(found.close)
            if found.filled:
                found._verify()
                stack.pop_all()
                return found
        return None

    @classmethod
    def make(cls, path: Path, error: type[StoreError]) -> Store:
        """A file that may be new, for :meth:`fill` to make the tables."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            if not path.stat().st_size:  # what a creation left that was cut short
                path.chmod(0o600)
        except OSError as problem:
            raise error(f"{path} can't be made ({problem.strerror}).") from problem
        return cls(path, error)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def filled(self) -> bool:
        """Whether it has tables."""
        return bool(self.run("SELECT name FROM sqlite_master"))

    def fill(self) -> None:
        """Make the tables; within a transaction."""
        for table in TABLES:
            self._make(table)
        self.run(f"PRAGMA application_id = {_APPLICATION}")
        self.run(f"PRAGMA user_version = {VERSION}")

    def _make(self, table: str) -> None:
        columns = ", ".join(
            f"{name} INTEGER NOT NULL CHECK (typeof({name}) = 'integer')"
            if name in _WHOLE
            else f"{name} TEXT NOT NULL DEFAULT '' CHECK (typeof({name}) = 'text')"
            for name in TABLES[table]
        )
        number = "number INTEGER PRIMARY KEY AUTOINCREMENT"
        self.run(f"CREATE TABLE {table} ({number}, {columns}{_FACTS.get(table, '')})")

    def run(self, query: str, cells: Sequence[Any] = ()) -> list[Row]:
        """The rows that a query finds."""
        with self._clearly():
            return self._connection.execute(query, cells).fetchall()

    def insert(self, table: str, **cells: Any) -> int:
        """Write a row; its number."""
        marks = ", ".join("?" * len(cells))
        query = f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({marks})"
        with self._clearly():
            return self._connection.execute(query, (*cells.values(),)).lastrowid or 0

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, which is on disk in full afterwards, or not at all; part of the one that is open."""
        if self._connection.in_transaction:
            yield
            return
        self.run("BEGIN IMMEDIATE")
        try:
            yield
            self.run("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def witnesses(self, board: str) -> list[str]:
        """Hashes of the published steps of a leaderboard, in order."""
        query = "SELECT witness FROM steps WHERE board = ? AND step > 0 ORDER BY step"
        return [row["witness"] for row in self.run(query, (board,))]

    def check_witnesses(self, board: str, witnesses: list[str]) -> int:
        """Refuse steps other than those that were published; the number of those that are known."""
        known = self.witnesses(board)
        for step, (one, other) in enumerate(zip(known, witnesses), 1):
            if one != other:
                raise LeaderboardError(
                    f"step {step} was published before, as {self.path} remembers, and it would not come out the same. "
                    "Either the state was put back from an older copy, and the comparisons of this step or of one "
                    "before it have changed since it was published; or the state was altered. Nothing is published: "
                    "put back the newest copy of the state, or the data as they were."
                )
        return len(known)

    def remember(self, board: str, witnesses: list[str]) -> None:
        """Keep those that are not known yet, on disk when this returns; a step 0 names the leaderboard.

        Args:
            board: its identifier.
            witnesses: of all of its published steps.

        Raises:
            LeaderboardError: other ones are known. None is kept.
        """
        if witnesses and self.witnesses(board)[: len(witnesses)] == witnesses:
            return
        with self.writing():
            known = self.check_witnesses(board, witnesses)
            if not self.run("SELECT step FROM steps WHERE board = ?", (board,)):
                self.insert("steps", board=board, step=0)
            for step, one in enumerate(witnesses[known:], known + 1):
                self.insert("steps", board=board, step=step, witness=one)

    def damaged(self, why: object) -> StoreError:
        """The error that says so."""
        return self.error(
            f"{self.path} is damaged ({why}): put back a whole copy, the newest, or release nothing more from these "
            "data. Nothing is released."
        )

    def _verify(self) -> None:
        """Refuse a file of something else, of another version, that others may read, or that is damaged."""
        application = self.run("PRAGMA application_id")[0]["application_id"]
        version = self.run("PRAGMA user_version")[0]["user_version"]
        if application not in (_APPLICATION, _OLD_BOARD):
            raise self.error(
                f"{self.path} is not {self.error.what} of privrank, but another SQLite database: name another file."
            )
        if application == _OLD_BOARD or version not in (7, VERSION):
            kind = "leaderboard" if application == _OLD_BOARD else "ledger"
            last = f"commit {_LAST}" if version < VERSION else "a later version"
            raise self.error(
                f"{self.path} is a {kind} of version {version}, and this privrank reads version {VERSION}. The file "
                f"stays as it is: go on with {last} of privrank; or make a new one in another file (a leaderboard at "
                "its own price, a ledger with what is left of its budget)."
            )
        if os.name == "posix" and (mode := self.path.stat().st_mode & 0o077):
            raise self.error(
                f"others may read or write {self.path} (mode {mode:03o} beyond its owner), which holds secret keys: "
                f"make it yours alone by `chmod 600 {self.path}`. Nothing is released."
            )
        found = self.run("PRAGMA integrity_check(1)")[0]["integrity_check"]
        if found != "ok":
            raise self.damaged(found)
        if version == 7:
            self._bring_up()

    def _bring_up(self) -> None:
        """Give a ledger of version 7 the tables of today, with all that it has."""
        with self.writing():
            if self.run("PRAGMA user_version")[0]["user_version"] != 7:  # another process did
                return
            for old, new in _OF_SEVEN.items():
                names = [row["name"] for row in self.run(f"PRAGMA table_info({old})")]
                self.run(f"ALTER TABLE {old} RENAME TO former")
                self._make(new)
                columns = ", ".join(["number", *names[1:]])
                self.run(f"INSERT INTO {new} ({columns}) SELECT * FROM former")
                self.run("DROP TABLE former")
            self._make("boards")
            self.run(f"PRAGMA user_version = {VERSION}")
        wait = self.run("PRAGMA busy_timeout")[0]["timeout"]
        self.run("PRAGMA busy_timeout = 0")
        with contextlib.suppress(
            self.error
        ):  # kept while others have it open: as safe, but two files
            self.run("PRAGMA journal_mode = DELETE")
        self.run(f"PRAGMA busy_timeout = {wait}")

    @contextlib.contextmanager
    def _clearly(self) -> Iterator[None]:
        """Turn SQLite's errors into those of the file."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_CORRUPT:
                raise self.damaged(error) from error
            why = _WHY.get(code, "can't be used as {what} ({error}).")
            said = why.format(what=self.error.what, error=error)
            raise self.error(f"{self.path} {said} Nothing is released.") from error


_BUSY = "is in use by another process: try again in a moment."
_CLOSED = "can't be written ({error}): {what} needs write permission for the file and its folder."
_WHY = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_READONLY: _CLOSED,
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
    sqlite3.SQLITE_PERM: _CLOSED,
    sqlite3.SQLITE_AUTH: _CLOSED,
    sqlite3.SQLITE_NOTADB: "is not {what} of privrank ({error}).",
}


def _as_row(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> Row:
    return {column[0]: cell for column, cell in zip(cursor.description, row)}


def now() -> str:
    """The current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")

"""One SQLite file: a data set's budget, spends and series, a leaderboard with its key, and published steps.

A ledger (:mod:`privrank_jax.release.ledger`) is such a file, and so is the state of a leaderboard
(:mod:`privrank_jax.release.leaderboard`), which may be the ledger's. A file beside a state, and each ledger, remember
the published steps of leaderboards by hashes that reveal nothing of the data without the leaderboard's key.

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
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from privrank_jax._arguments import ArgumentError

WAIT = 30.0  # seconds for other processes to finish their transactions

VERSION = 8
_APPLICATION = 0x50526C67
_LAST = "f5aa864f"  # the last commit that goes on with files of versions before 8
PROMISE = ("epsilon", "delta", "unit", "adjacency", "contributions", "public", "users")  # columns
_TABLES = {
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
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

Row: TypeAlias = dict[str, Any]  # cells by their columns


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
    """A file, opened, which need not have tables yet; ``error``: what is raised, which says what the file is for."""

    def __init__(self, path: Path, error: type[StoreError]) -> None:
        self.path, self.error = path, error
        address = f"{path.absolute().as_uri()}?mode=rw"
        with self._clearly():
            self._connection = sqlite3.connect(
                address, uri=True, timeout=WAIT, isolation_level=None
            )
        self._connection.row_factory = sqlite3.Row

    @classmethod
    def find(cls, path: Path, error: type[StoreError]) -> Store | None:
        """A file that has tables, checked; None if there is none."""
        if not path.exists():
            return None
        with contextlib.ExitStack() as files:
            found = files.enter_context(contextlib.closing(cls(path, error)))
            if found.filled:
                found._verify()
                files.pop_all()
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
        """Make the tables, unless they are there; within a transaction."""
        if self.filled:
            return
        for table, names in _TABLES.items():
            columns = (
                f"{name} INTEGER NOT NULL CHECK (typeof({name}) = 'integer')"
                if name in _WHOLE
                else f"{name} TEXT NOT NULL DEFAULT '' CHECK (typeof({name}) = 'text')"
                for name in names
            )
            number = "number INTEGER PRIMARY KEY AUTOINCREMENT"
            facts = _FACTS.get(table, "")
            self.run(f"CREATE TABLE {table} ({', '.join((number, *columns))}{facts})")
        self.run(f"PRAGMA application_id = {_APPLICATION}")
        self.run(f"PRAGMA user_version = {VERSION}")

    def run(self, query: str, cells: Sequence[Any] = ()) -> list[Row]:
        """The rows that a query finds."""
        with self._clearly():
            return [dict(row) for row in self._connection.execute(query, cells)]

    def insert(self, table: str, **cells: Any) -> int:
        """Write a row; its number."""
        marks = ", ".join("?" * len(cells))
        query = f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({marks}) RETURNING number"
        return self.run(query, (*cells.values(),))[0]["number"]

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction, which is on disk in full afterwards, or not at all; part of the one that is open."""
        if self._connection.in_transaction:
            yield
            return
        self.run("PRAGMA synchronous = EXTRA")
        self.run("PRAGMA fullfsync = ON")
        self.run("BEGIN IMMEDIATE")
        with self._clearly(), self._connection:  # which commits, or rolls back
            yield

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
                    f"step {step} was published before, as {self.path} remembers, and it would not come out the same: "
                    "the state is an older copy and comparisons up to this step have changed since, or it was altered. "
                    "Nothing is published: put back the newest copy of the state, or the data as they were."
                )
        return len(known)

    def remember(self, board: str, witnesses: list[str]) -> None:
        """Keep the hashes of all published steps, on disk when this returns; if other ones are known, keep none."""
        if self.witnesses(board)[: len(witnesses)] == witnesses:
            return
        with self.writing():
            known = self.check_witnesses(board, witnesses)
            for step, one in enumerate(witnesses[known:], known + 1):
                self.insert("steps", board=board, step=step, witness=one)

    def read(self, function: Callable[[Any], Any], cells: Any) -> Any:
        """What cells hold; refused if they hold nothing of that."""
        try:
            return function(cells)
        except ValueError as error:
            raise self.damaged(error) from None

    def damaged(self, why: object) -> StoreError:
        """The error that says so."""
        return self.error(
            f"{self.path} is damaged ({why}): put back a whole copy, the newest, or release nothing more from these "
            "data. Nothing is released."
        )

    def _verify(self) -> None:
        """Refuse a file of something else, of another version, that others may read, or that is damaged."""
        kind, version = (
            self.run(f"PRAGMA {name}")[0][name] for name in ("application_id", "user_version")
        )
        if (kind, version) != (_APPLICATION, VERSION):
            raise self.error(
                f"{self.path} is not {self.error.what} of version {VERSION}, but of {version}, or not of privrank. It "
                f"stays as it is: name another file, or go on with the commit that made it (before {VERSION}: {_LAST})."
            )
        if os.name == "posix" and (mode := self.path.stat().st_mode & 0o077):
            raise self.error(
                f"others may read or write {self.path} (mode {mode:03o} beyond its owner), which holds secret keys: "
                f"make it yours alone by `chmod 600 {self.path}`. Nothing is released."
            )
        found = self.run("PRAGMA integrity_check(1)")[0]["integrity_check"]
        if found != "ok":
            raise self.damaged(found)

    @contextlib.contextmanager
    def _clearly(self) -> Iterator[None]:
        """Turn SQLite's errors into those of the file."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_CORRUPT:
                raise self.damaged(error) from error
            why = f"can't be used as {self.error.what} ({error}): it must be one, on a disk with room, and you need"
            why += " write permission for it and its folder."
            if code in _BUSY:
                why = "is in use by another process: try again in a moment."
            raise self.error(f"{self.path} {why} Nothing is released.") from error


def now() -> str:
    """The current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")

"""The file of a leaderboard that is published again and again: its terms, and what was drawn for each step.

An SQLite file. A step is one transaction, which is on disk (``synchronous=EXTRA``) before its noisy totals are returned
and so before they are shown; the step is the key of its row. So a process killed at any point leaves the steps before
or the steps after, a step that exists is shown again and never drawn again, and of several processes only one draws a
step. Triggers keep rows from being altered or deleted. An older copy of the file put in its place would undo all this:
keep it where the data are kept, on a local disk. It holds exact counts, and is created readable by its owner only.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from privrank_jax._arguments import ArgumentError
from privrank_jax.release.ledger_file import WAIT, connect

APPLICATION = 0x50526C62
VERSION = 1
_SCHEMA = (
    "CREATE TABLE board (one INTEGER PRIMARY KEY CHECK (one = 1), identifier TEXT NOT NULL, terms TEXT NOT NULL)",
    "CREATE TABLE steps (step INTEGER PRIMARY KEY, counts TEXT NOT NULL, noisy TEXT NOT NULL, "
    "fingerprint TEXT NOT NULL)",
    "CREATE TRIGGER board_stays BEFORE DELETE ON board BEGIN SELECT RAISE(ABORT, 'never deleted'); END",
    "CREATE TRIGGER terms_stay BEFORE UPDATE ON board BEGIN SELECT RAISE(ABORT, 'never altered'); END",
    "CREATE TRIGGER steps_stay BEFORE DELETE ON steps BEGIN SELECT RAISE(ABORT, 'never deleted'); END",
    "CREATE TRIGGER steps_as_they_are BEFORE UPDATE ON steps BEGIN SELECT RAISE(ABORT, 'never altered'); END",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


class LeaderboardError(ArgumentError):
    """A leaderboard that can't go on, or not in this way; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One published step.

    Attributes:
        counts: twice the wins of each item in this step, exact and private.
        noisy: what was drawn.
        fingerprint: of the rows that were counted, as the caller defines it.
    """

    counts: tuple[int, ...]
    noisy: tuple[int, ...]
    fingerprint: str


class StateFile:
    """The file, made if there is none.

    Args:
        path: the file.
        terms: names and values that must be the same whenever it is opened.

    Attributes:
        identifier: 16 random hexadecimal digits, which a ledger may name.
    """

    def __init__(self, path: str | os.PathLike[str], terms: dict[str, str]) -> None:
        self.path = Path(path)
        with _clearly(self.path):
            # A file without tables is that of a creation that was cut short: nothing was published.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = connect(self.path, WAIT)
            try:
                self._connection.execute("PRAGMA synchronous = EXTRA")
                self._connection.execute("PRAGMA fullfsync = ON")
                with self._writing():
                    if not _has_tables(self._connection):
                        self._create(terms)
                self.identifier, found = _read_board(self.path, self._connection)
                _check_terms(self.path, found, terms)
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def steps(self) -> list[Step]:
        """All published steps, in order."""
        with _clearly(self.path):
            rows = self._connection.execute(
                "SELECT counts, noisy, fingerprint FROM steps ORDER BY step"
            ).fetchall()
        return [Step(tuple(json.loads(a)), tuple(json.loads(b)), word) for a, b, word in rows]

    def extend(self, draw: Callable[[list[Step]], Sequence[Step]]) -> list[Step]:
        """Publish further steps.

        Args:
            draw: the steps before to the new ones; other processes wait until these are on disk.

        Returns:
            The new steps, on disk.
        """
        with _clearly(self.path), self._writing():
            before = self.steps()
            new = list(draw(before))
            for place, step in enumerate(new, start=len(before) + 1):
                cells = json.dumps(step.counts), json.dumps(step.noisy), step.fingerprint
                self._connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (place, *cells))
        return new

    def _create(self, terms: dict[str, str]) -> None:
        for statement in _SCHEMA:
            self._connection.execute(statement)
        row = (secrets.token_hex(8), json.dumps(terms))
        self._connection.execute("INSERT INTO board VALUES (1, ?, ?)", row)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, begun as a writer's."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def stored_terms(path: str | os.PathLike[str]) -> dict[str, str] | None:
    """The terms of the leaderboard in a file; None if there is none yet.

    Args:
        path: the file.
    """
    if not Path(path).exists():
        return None
    with _clearly(Path(path)), contextlib.closing(connect(Path(path), WAIT)) as connection:
        return _read_board(Path(path), connection)[1] if _has_tables(connection) else None


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _read_board(path: Path, connection: sqlite3.Connection) -> tuple[str, dict[str, str]]:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if (application, version) != (APPLICATION, VERSION):
        raise LeaderboardError(
            f"{path} is not a leaderboard of this privrank: name another file for the state."
        )
    identifier, terms = connection.execute("SELECT identifier, terms FROM board").fetchone()
    return identifier, json.loads(terms)


def _check_terms(path: Path, found: dict[str, str], asked: dict[str, str]) -> None:
    differing = [name for name in asked if found.get(name) != asked[name]]
    if differing:
        told = "; ".join(f"{name}: {found.get(name)}, not {asked[name]}" for name in differing)
        raise LeaderboardError(
            f"{path} holds a leaderboard on other terms ({told}). All of its steps share one promise, made at the "
            "first: go on with the same terms, or begin another leaderboard in another file, at its own price."
        )


@contextlib.contextmanager
def _clearly(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the system into those of a leaderboard."""
    try:
        yield
    except (sqlite3.Error, OSError, json.JSONDecodeError) as error:
        raise LeaderboardError(
            f"{path} can't be used as the state of a leaderboard ({error}). Nothing is released."
        ) from error

"""The file of a leaderboard that is published again and again: its terms, its key, and what was drawn for each step.

An SQLite file. A step is one transaction, which is on disk (``synchronous=EXTRA``) before its noisy totals are returned
and so before they are shown; the step is the key of its row. So a process killed at any point leaves the steps before
or the steps after, a step that exists is shown again and never drawn again, and of several processes only one draws a
step.  The file holds exact counts and the
key of all noise, is created readable by its owner only, and belongs on a local disk, where the data are kept.

**The first step makes the file**, in its transaction: what is refused before it fixes no terms, and leaves nothing.

**Older copies.** A file beside the state, and a ledger if one is used, remember a witness of each published step
(:mod:`privrank_jax.release.published_steps`). Whenever the state is opened or a step is published, its steps must have
these witnesses; else nothing is published. So a state that was put back from an older copy draws the steps that it
lacks anew only if that gives what was published. A state with steps and no file beside it is refused, and so is a new
state beside a file that remembers steps of another one.

**Order.** The steps are on disk in the state, then in the file beside it and the ledger, then they are returned. A
process killed in between leaves steps that nobody has seen; the next one to open the state catches up.

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
from privrank_jax.release.published_steps import FileBeside, Memory
from privrank_jax.release.secret_stream import KEY_BYTES, SecretStream

APPLICATION = 0x50526C62
VERSION = 2  # also of how noise is drawn from the key
_SCHEMA = (
    "CREATE TABLE board (one INTEGER PRIMARY KEY CHECK (one = 1), identifier TEXT NOT NULL, terms TEXT NOT NULL, "
    "key TEXT NOT NULL)",
    "CREATE TABLE steps (step INTEGER PRIMARY KEY, counts TEXT NOT NULL, noisy TEXT NOT NULL, "
    "note TEXT NOT NULL, witness TEXT NOT NULL)",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)


SCORES = "scores, from wins, losses and pair counts"
_USUAL = {"publishes": "win totals"}  # of terms that a state leaves out
_LAST = "48fdee4"  # the commit that runs boards of kinds that are gone


class LeaderboardError(ArgumentError):
    """A leaderboard that can't go on, or not in this way; the message says why and what to do."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One published step.

    Attributes:
        counts: twice the wins of each item in this step, exact and private.
        noisy: what was drawn.
        note: what the caller keeps with the step.
        witness: keyed hash of ``noisy``, ``note`` and all counts up to this step.
    """

    counts: tuple[int, ...]
    noisy: tuple[int, ...]
    note: str
    witness: str


class StateFile:
    """The file, made if there is none.

    Args:
        path: the file.
        terms: names and values that must be the same whenever it is opened.
    """

    def __init__(self, path: str | os.PathLike[str], terms: dict[str, str]) -> None:
        self.path = Path(path)
        self._beside = FileBeside(self.path.resolve() if self.path.is_symlink() else self.path)
        self._memories: list[Memory] = [self._beside]
        self._connection: sqlite3.Connection | None = None
        self._board = secrets.token_hex(8), json.dumps(terms), secrets.token_hex(KEY_BYTES)
        if stored_terms(self.path) is None:
            self._check_beside([])
            return
        with _clearly(self.path):
            self._connection = _connected(self.path)
            try:
                with self._writing() as connection:
                    self._board = _read_board(self.path, connection)
                    self._check_beside(self._witnesses())
                _check_terms(self.path, json.loads(self._board[1]), terms)
                self._tell()
            except BaseException:
                self._connection.close()
                raise

    @property
    def identifier(self) -> str:
        """16 random hexadecimal digits, which a ledger may name."""
        return self._board[0]

    @property
    def stream(self) -> SecretStream:
        """The root of all noise."""
        try:
            return SecretStream(bytes.fromhex(self._board[2]))
        except ValueError:
            raise LeaderboardError(f"{self.path} was altered: its key is none.") from None

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()

    def steps(self) -> list[Step]:
        """All published steps, in order."""
        if self._connection is None:
            return []
        with _clearly(self.path):
            rows = self._connection.execute(
                "SELECT counts, noisy, note, witness FROM steps ORDER BY step"
            ).fetchall()
            return [Step(tuple(json.loads(a)), tuple(json.loads(b)), *more) for a, b, *more in rows]

    @property
    def remembered(self) -> int:
        """Number of published steps that this file or another memory has."""
        with _clearly(self.path):
            known = [len(one.witnesses(self.identifier)) for one in self._memories]
            return max(len(self._witnesses()), *known)

    def remember_in(self, memory: Memory) -> None:
        """Let a further memory watch over the published steps: it must agree, and is told of them.

        Args:
            memory: a ledger, or the file beside the state.
        """
        self._memories.append(memory)
        self._tell()

    def _tell(self) -> None:
        """Check all steps against what is remembered, and bring the memories up to date."""
        if self._connection is None:
            return
        with _clearly(self.path), self._writing():
            witnesses = self._witnesses()
            self._check_remembered(witnesses)
            for memory in self._memories:
                if len(witnesses) >= len(memory.witnesses(self.identifier)):
                    memory.remember(self.identifier, witnesses)

    def _witnesses(self) -> list[str]:
        if self._connection is None:
            return []
        rows = self._connection.execute("SELECT witness FROM steps ORDER BY step").fetchall()
        return [witness for (witness,) in rows]

    def _check_remembered(self, witnesses: list[str]) -> None:
        """Refuse steps other than those that were published."""
        for memory in self._memories:
            pairs = zip(memory.witnesses(self.identifier), witnesses)
            differing = [step for step, (one, other) in enumerate(pairs, 1) if one != other]
            if differing:
                raise LeaderboardError(
                    f"{self.path}: step {differing[0]} was published before, as {memory.path} remembers, and it would "
                    "not come out the same. Either the state was put back from an older copy, and the comparisons of "
                    "this step or of one before it have changed since it was published; or the state was altered. "
                    "Nothing is published: put back the newest copy of the state, or the data as they were."
                )

    def _check_beside(self, witnesses: list[str]) -> None:
        """Refuse a state with these steps whose file beside it is missing or tells of another one."""
        beside, steps = self._beside, len(witnesses)
        if beside.any() and beside.board() != self.identifier:
            raise LeaderboardError(
                f"{beside.path} remembers published steps of another leaderboard, whose state is not {self.path}. "
                "Put that state back; or name another file for a new leaderboard, at its own price."
            )
        if steps and beside.board() != self.identifier:
            raise LeaderboardError(
                f"{self.path} has {steps} published steps, and {beside.path}, which belongs to it, is missing. Put it "
                "back from where the state was: it tells whether this state is the newest."
            )

    def extend(self, draw: Callable[[list[Step]], Sequence[Step]]) -> list[Step]:
        """Publish further steps.

        Args:
            draw: the steps before to the new ones; other processes wait until these are on disk.

        Returns:
            The new steps, on disk.

        Raises:
            LeaderboardError: a step was published before and would not come out the same; nothing was published.
        """
        with _clearly(self.path):
            first = None
            if self._connection is None:
                first = list(draw([]))  # what it refuses leaves no file
                if not first:
                    return []
                self._connection = _connected(self.path)
            with self._writing() as connection:
                if first is not None:
                    self._begin(connection)
                before = self.steps()
                new = list(draw(before)) if first is None else first
                self._check_remembered([step.witness for step in (*before, *new)])
                for place, step in enumerate(new, start=len(before) + 1):
                    cells = json.dumps(step.counts), json.dumps(step.noisy), step.note, step.witness
                    connection.execute("INSERT INTO steps VALUES (?, ?, ?, ?, ?)", (place, *cells))
        self._tell()
        return new

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Make the tables, and the file beside them, which must be there before a step is."""
        if _has_tables(connection):
            raise LeaderboardError(
                f"{self.path}: another process began a leaderboard there. Nothing was published: run again."
            )
        self._check_beside([])
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute("INSERT INTO board VALUES (1, ?, ?, ?)", self._board)
        self._beside.remember(self.identifier, [])

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun as a writer's."""
        connection = self._connection
        assert connection is not None
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def stored_terms(path: str | os.PathLike[str]) -> dict[str, str] | None:
    """The terms of the leaderboard in a file; None if there is none yet.

    Args:
        path: the file.
    """
    path = Path(path)
    with _clearly(path):
        if not path.exists():
            os.stat(path.absolute().parent)  # it will be made there
            return None
        with contextlib.closing(connect(path, WAIT)) as connection:
            # A file without tables is that of a creation that was cut short: nothing was published.
            if not _has_tables(connection):
                return None
            terms = json.loads(_read_board(path, connection)[1])
            _check_kind(path, terms)
            return terms


def _connected(path: Path) -> sqlite3.Connection:
    """Open the file, made if there is none."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = connect(path, WAIT)
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _read_board(path: Path, connection: sqlite3.Connection) -> tuple[str, str, str]:
    """Its identifier, terms and key."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application == APPLICATION and version < VERSION:
        raise LeaderboardError(
            f"{path} is a leaderboard of an earlier privrank, whose noise can't be drawn again from a key. Go on with "
            "the version that made it, or begin another leaderboard in another file, at its own price."
        )
    if (application, version) != (APPLICATION, VERSION):
        raise LeaderboardError(
            f"{path} is not a leaderboard of this privrank: name another file for the state."
        )
    return connection.execute("SELECT identifier, terms, key FROM board").fetchone()


def _check_kind(path: Path, terms: dict[str, str]) -> None:
    """Refuse a leaderboard of a kind that is not published any more; its file stays as it is."""
    kind = "users who count in steps that are a gap apart" if "spacing" in terms else ""
    if terms.get("adjacency") in ("replace", "add-remove") and terms.get("publishes") != SCORES:
        kind = terms.get("publishes", "win totals")
    if kind:
        raise LeaderboardError(
            f"{path} holds a leaderboard of {kind}, and this version of privrank has none. The file stays as it is: go "
            f"on with commit {_LAST} of privrank; or begin another leaderboard in another file, at its own price."
        )


def _check_terms(path: Path, found: dict[str, str], asked: dict[str, str]) -> None:
    found, asked = {**_USUAL, **found}, {**_USUAL, **asked}
    differing = [name for name in {**asked, **found} if found.get(name) != asked.get(name)]
    if differing:
        told = "; ".join(f"{name}: {found.get(name)}, not {asked.get(name)}" for name in differing)
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

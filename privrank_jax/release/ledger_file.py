"""The file of a budget ledger (:mod:`privrank_jax.release.ledger`): its tables, numbers and errors."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import math
import os
import re
import secrets
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from pathlib import Path
from typing import SupportsFloat

from privrank_jax._arguments import ArgumentError
from privrank_jax._promise import Privacy, check_changes
from privrank_jax.release.ledger_filter import Filter

WAIT = 30.0  # seconds for other processes to finish their transactions

APPLICATION = 0x50526C67
VERSION = 7
TABLES = {
    "ledger": """CREATE TABLE ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    data TEXT NOT NULL,
    key TEXT NOT NULL CHECK (length(key) = 64),
    fingerprint TEXT NOT NULL CHECK (length(fingerprint) = 64),
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    unit TEXT NOT NULL,
    adjacency TEXT NOT NULL,
    contributions TEXT NOT NULL,
    public TEXT NOT NULL,
    users TEXT NOT NULL,
    created TEXT NOT NULL,
    slack TEXT NOT NULL DEFAULT '0',
    renyi_order TEXT NOT NULL DEFAULT ''
)""",
    "spends": """CREATE TABLE spends (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    command TEXT NOT NULL,
    method TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    delta TEXT NOT NULL,
    unit TEXT NOT NULL,
    adjacency TEXT NOT NULL,
    contributions TEXT NOT NULL,
    public TEXT NOT NULL,
    users TEXT NOT NULL,
    trust TEXT NOT NULL,
    numerics TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'spent' CHECK (state IN ('spent', 'printed')),
    data_set INTEGER NOT NULL DEFAULT 1,
    changes TEXT NOT NULL DEFAULT ''
)""",
    "published": """CREATE TABLE published (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    board TEXT NOT NULL,
    step INTEGER NOT NULL,
    witness TEXT NOT NULL,
    UNIQUE (board, step)
)""",
    "joined": """CREATE TABLE joined (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    time TEXT NOT NULL,
    series TEXT NOT NULL,
    data TEXT NOT NULL,
    fingerprint TEXT NOT NULL UNIQUE CHECK (length(fingerprint) = 64)
)""",
}
# Doubles reach from 5e-324 to 1.8e308: every sum of such decimals is exact, or raises.
EXACT = Context(prec=1200, traps=[Inexact, InvalidOperation, Overflow])
_DECIMAL = re.compile(r"\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?|\.\d{1,40}", re.ASCII)


class LedgerError(ArgumentError):
    """A ledger that can't be used, or not for this purpose; the message says why and what to do."""


class BudgetExhausted(LedgerError):
    """A spend that would exceed the budget. Nothing was spent."""


def create(
    path: str | os.PathLike[str],
    budget: Privacy,
    *,
    data: str,
    sha256: str,
    slack: SupportsFloat | str = 0,
) -> None:
    """Create the ledger of a data set, with nothing spent. If interrupted, it leaves no file or one that is refused.

    Args:
        path: the file, which must not exist.
        budget: what all releases together promise. Its ε and δ are stored as decimals, see :func:`amount`; releases
            that take more as public, or define a user differently, are refused. Not ``public=("ties",)``: which answers
            are ties are answers.
        data: name of the data, for people.
        sha256: identifies the data, 64 hexadecimal digits: ``sha256`` of data that were read, or
            :func:`content_sha256` of a file. Stored as a hash keyed by the
            ledger's own key, which is never printed: with a plain hash, someone who knows all rows but one could find
            that row by trying.
        slack: the part of the budget's δ that is kept for adding up by Rényi divergences
            (:mod:`privrank_jax.release.ledger_filter`); 0: only the plain sum counts.

    Raises:
        LedgerError: ε, δ or the slack is not a decimal, the slack is more than δ, the file exists or can't be made.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.ledger"
    >>> create(path, Privacy(3, unit="user", adjacency="replace"), data="votes.csv", sha256="0" * 64)
    """
    path = Path(path)
    if "ties" in budget.public:
        raise LedgerError(
            "a ledger can't take as public which answers are ties: ties are part of the answers. Ties that are kept, "
            "or broken by coins, are protected."
        )
    promised, kept, order = cells(budget), amount(slack, "slack", zero=True), ""
    epsilon, delta = numbers(budget)
    if kept > delta:
        raise LedgerError(
            f"slack {plain(kept)} is more than delta {plain(delta)} of the budget, of which it is a part: give a "
            "larger delta, or a smaller slack."
        )
    if kept:
        order = str(Filter.of(epsilon, kept).order)
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise LedgerError("sha256 must be 64 lower-case hexadecimal digits.")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise LedgerError(
            f"{path} exists, and a ledger is never replaced: `privrank ledger {path}` shows it."
        ) from None
    except OSError as error:
        raise LedgerError(f"{path} can't be made ({error.strerror}).") from error
    # A file that can't be filled stays behind, empty: removing it could conflict with another process.
    with clearly(path), contextlib.closing(connect(path, WAIT)) as connection:
        key = secrets.token_hex(32)
        of_data = as_text(data), key, fingerprint(key, sha256)
        _fill(connection, path, (*of_data, *promised, now(), str(kept), order))


def _fill(connection: sqlite3.Connection, path: Path, row: tuple[str, ...]) -> None:
    if connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise LedgerError(
            f"{path} lies on a file system that can't hold a ledger (no write-ahead log): use a local disk."
        )
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    quoted = ", ".join("'" + cell.replace("'", "''") + "'" for cell in row)
    connection.executescript(
        f"BEGIN IMMEDIATE; {'; '.join(TABLES.values())}; INSERT INTO ledger VALUES (1, {quoted}); "
        f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
    )


_RHO = "rho "  # before ρ in the column of changes
_BETWEEN = "; "  # separates facts in one cell; no fact's name contains it
PROMISE = "epsilon, delta, unit, adjacency, contributions, public, users"
"""Columns of both tables that hold a promise."""
BUDGET = f"data, created, key, fingerprint, slack, renyi_order, {PROMISE}"
"""Columns of the table of the budget."""


def cells(privacy: Privacy) -> tuple[str, ...]:
    """A promise as cells of a row, in the order of :data:`PROMISE`."""
    most = privacy.contributions
    return (
        *map(str, numbers(privacy)),
        *privacy.kind,
        "" if most is None else str(int(most)),
        _BETWEEN.join(privacy.public),
        privacy.users,
    )


def from_cells(
    epsilon: str, delta: str, unit: str, adjacency: str, contributions: str, public: str, users: str
) -> Privacy:
    """A promise from cells of a row; ``ValueError`` if they hold none."""
    return Privacy(
        amount(epsilon, "epsilon"),
        delta=amount(delta, "delta", zero=True),
        unit=unit,
        adjacency=adjacency,
        contributions=_whole(contributions) if contributions else None,
        public=tuple(public.split(_BETWEEN)) if public else (),
        users=users,
    )


Known = tuple[tuple[int, ...], Decimal | None]
"""What is known of noise: its changes and its ρ."""


def noise_cell(changes: tuple[int, ...] = (), rho: SupportsFloat | None = None) -> str:
    """What is known of noise as a cell: each size of the changes and how often it occurs, or ρ.

    >>> noise_cell((2, 6, 2)), noise_cell(rho=0.005)
    ('2*2 6*1', 'rho 0.005')
    """
    check_changes(changes)
    if rho is not None:
        return f"{_RHO}{amount(rho, 'rho')}"
    return " ".join(f"{size}*{count}" for size, count in sorted(Counter(changes).items()))


def noise_from(cell: str) -> Known:
    """What a cell holds; ``ValueError`` if it is nothing of that."""
    if cell.startswith(_RHO):
        return (), amount(cell.removeprefix(_RHO), "rho")
    pairs = [[_whole(number) for number in part.split("*")] for part in cell.split()]
    changes = tuple(size for size, count in pairs for _ in range(count))
    check_changes(changes)
    return changes, None


def _whole(number: str) -> int:
    if not number.isdecimal():
        raise ValueError(f"{number!r} must be a whole number")
    return int(number)


def numbers(privacy: Privacy) -> tuple[Decimal, Decimal]:
    """ε and δ of a promise as exact decimals."""
    return amount(privacy.epsilon, "epsilon"), amount(privacy.delta, "delta", zero=True)


def fingerprint(key: str, sha256: str) -> str:
    """HMAC-SHA-256 of a content's hash, in hexadecimal digits; it reveals nothing without the key."""
    return hmac.new(bytes.fromhex(key), sha256.encode(), hashlib.sha256).hexdigest()


def as_text(name: str) -> str:
    """A file name as text that SQLite can store; file names need not be valid text."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def content_sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def amount(given: SupportsFloat | str, name: str, *, zero: bool = False) -> Decimal:
    """A budget as an exact decimal.

    Args:
        given: the budget; a float, also one of NumPy or JAX, means the shortest decimal that denotes it as a double.
        name: of the argument, for the message.
        zero: whether 0 is allowed.

    >>> amount(0.1, "epsilon"), amount("2.50", "epsilon")
    (Decimal('0.1'), Decimal('2.50'))
    """
    exact = isinstance(given, (str, int, Decimal))
    text = str(given).strip() if exact else repr(float(given))
    number = Decimal(text) if _DECIMAL.fullmatch(text) else Decimal("nan")
    in_range = 0 < float(number) < math.inf  # as a double, which bounds the digits of sums
    if not in_range and not (zero and number == 0):
        raise LedgerError(
            f"{name} must be {'at least 0' if zero else 'a positive number'}, written such as 0.5, got {text!r}."
        )
    return number


def plain(number: Decimal) -> str:
    """A decimal in the shortest usual notation.

    >>> plain(Decimal("2.50")), plain(Decimal("1E+2")), plain(Decimal("0E-9")), plain(Decimal("0.000001"))
    ('2.5', '100', '0', '1e-6')
    """
    if number == 0:
        return "0"
    text = EXACT.normalize(number)
    return f"{text:f}" if -5 <= text.adjusted() < 15 else f"{text:e}".replace("e+", "e")


def in_words(epsilon: Decimal, delta: Decimal, *others: Decimal) -> str:
    """ε, and δ unless it and all of ``others`` are 0."""
    words = f"epsilon {plain(epsilon)}"
    return f"{words}, delta {plain(delta)}" if any((delta, *others)) else words


def now() -> str:
    """The current time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """Open an existing file for reading and writing."""
    address = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=wait, isolation_level=None)


RESTORE = "restore it from a copy that has all spends, or release nothing more from these data."


@contextlib.contextmanager
def clearly(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into those of a ledger."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            why = f"{path} is in use by another process: try again in a moment."
        elif code in (
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_AUTH,
        ):
            why = (
                f"{path} can't be written ({error}): a ledger needs write permission for the file and its folder, so "
                "that spends can be recorded."
            )
        elif code == sqlite3.SQLITE_NOTADB:
            why = f"{path} is not a ledger of privrank ({error})."
        elif code == sqlite3.SQLITE_CORRUPT:
            why = f"{path} is damaged ({error}): {RESTORE}"
        else:
            why = f"{path} can't be used as a ledger ({error})."
        raise LedgerError(f"{why} Nothing is released.") from error

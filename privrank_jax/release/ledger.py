r"""The budget of a data set: an SQLite file from which every release spends before it shows anything.

**Promise.** All releases through this ledger together are (ε, δ) differentially private for the neighbors of the ledger
(unit, adjacency, what is public, what a user is), with the ε and δ of its budget. Budgets add up: releases with (ε_i,
δ_i), each of which may be chosen after seeing the earlier ones, are together (Σ ε_i, Σ δ_i) private. This stays true
for a rule that stops before the sums exceed the budget (basic composition as a filter; Rogers, Roth, Ullman, Vadhan
2016). It holds for releases of a trusted curator and for those of local randomizers.

A ledger that keeps a part of its δ as *slack* adds up Rényi divergences too, which come to less
(:mod:`privrank_jax.release.ledger_filter`).

A release counts at its own ε if its promise covers that of the ledger (:meth:`~privrank_jax.privacy.Privacy.covers`):
replacing a unit includes changing its answers, and all of a user includes one rank, or one comparison whose user stays
the same. The release may take no more as public than the ledger does, must hold for users with as many comparisons, and
must define a user in the same way. Any other release is refused, not converted.

**Spending** is on disk when :meth:`Ledger.spend` returns, and the result is shown after that: a process killed at any
point may lose a result that was paid for, but shows none that was not (:mod:`privrank_jax.release.store`). Data are
known by a hash of their content, whose key is in the file; neither is ever printed.

**A series** of data sets with a public name, such as a survey of every year, has one ledger and one budget. Its
neighbors differ in one unit of each of its data sets: D = (D_1, ..., D_k) and D' are neighbors if, for each i, D_i and
D'_i are equal or neighbors of the ledger. So they cover a person who is in all of the files, whatever that person
answered in each, and rows that several files repeat.

Theorem: releases of (ε_j, δ_j), each of one D_i, with noise of its own, which may be chosen after seeing the earlier
ones, are together (Σ ε_j, Σ δ_j) private for these neighbors.

Proof: given what came before, release j is a function of D_i and of its own noise alone; D_i and D'_i are equal or
neighbors, so it is (ε_j, δ_j) private for D and D' too, and composition, with its filter, is that of one data set. That
also covers files which come into being later, and answers in them that depend on earlier releases, for it allows that
both D_i and D'_i are chosen after seeing these (k-fold adaptive composition; Dwork, Rothblum, Vadhan 2010, and Rogers
et al. for the filter). A sum is needed, not a maximum, for the same person may be in all files.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import hmac
import math
import os
import re
import secrets
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import SupportsFloat

from privrank_jax._promise import Privacy
from privrank_jax.release.decimals import (
    EXACT,
    amount,
    cells,
    from_cells,
    in_words,
    noise_cell,
    noise_from,
    numbers,
    plain,
)
from privrank_jax.release.ledger_filter import Filter
from privrank_jax.release.store import BudgetExhausted, LedgerError, Row, Store, now


@dataclasses.dataclass(frozen=True)
class Account:
    """What all releases together promise, for which data; they add up by the plain sum, and by a filter if any."""

    data: str
    created: str
    budget: Privacy
    filter: Filter | None


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set of a ledger: its number from 1, when it joined (UTC, ISO 8601), and its name for human readers."""

    number: int
    time: str
    data: str


@dataclasses.dataclass(frozen=True)
class Spend:
    """One release.

    Attributes:
        number, time: from 1; UTC, ISO 8601.
        state: ``"printed"``, or ``"spent"`` for a result that may not have been shown, which counts too.
        data_set: the number of the data set; 1 outside of a series.
        privacy: what the release promises; ε and δ are decimals.
        trust, numerics, changes, rho: of its guarantee; () and None where nothing is known of the noise.
    """

    number: int
    time: str
    command: str
    method: str
    trust: str
    numerics: str
    state: str
    data_set: int
    privacy: Privacy
    changes: tuple[int, ...] = ()
    rho: Decimal | None = None


_TOLD = ("number", "time", "command", "method", "trust", "numerics", "state", "data_set")


class Ledger(contextlib.AbstractContextManager["Ledger"]):
    """An existing ledger, opened; a context manager.

    Args:
        path: the file.
        series: name of the series that the ledger is of, which data that the ledger does not know may then join.

    Raises:
        LedgerError: the file is missing, no ledger, damaged, not accessible, in use for longer, or not of this series.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.ledger"
    >>> create(path, Privacy(0.3, unit="user", adjacency="replace"), data="votes.csv", sha256="0" * 64)
    >>> with Ledger(path) as ledger:
    ...     for epsilon in (0.1, 0.1, 0.1, 1e-9):
    ...         ledger.mark_printed(ledger.spend(Privacy(epsilon, unit="user", adjacency="replace")))
    Traceback (most recent call last):
    ...
    privrank_jax...BudgetExhausted: ...votes.ledger has epsilon 0 left of epsilon 0.3, and this release ...
    """

    def __init__(self, path: str | os.PathLike[str], *, series: str | None = None) -> None:
        self.path = Path(path)
        store = Store.find(self.path, LedgerError)
        if store is None:
            raise LedgerError(
                f"there is no ledger {self.path}: `privrank ledger {self.path} --data FILE --budget EPSILON` makes one."
            )
        self.store = store
        with contextlib.ExitStack() as files:
            files.callback(store.close)
            self._read_account()
            self._takes_new_data = series is not None
            if series is not None:
                self._check_series(_name(series))
            files.pop_all()

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def _read_account(self) -> None:
        row, rule = next(iter(self.store.run("SELECT * FROM ledger")), None), None
        if row is None:
            raise LedgerError(f"{self.path} has no budget and is no ledger: name another file.")
        self._key, self._own = row["key"], row["fingerprint"]
        budget = self.store.read(from_cells, row)
        epsilon, delta = numbers(budget)
        if row["renyi_order"]:
            slack, order = (amount(row[name], name) for name in ("slack", "renyi_order"))
            rule, delta = Filter(epsilon, slack, order), EXACT.subtract(delta, slack)
        self._most = epsilon, delta  # of the plain sum
        self.account = Account(row["data"], row["created"], budget, rule)

    def _joined(self) -> list[Row]:
        return self.store.run("SELECT * FROM series ORDER BY number")

    @property
    def series(self) -> str:
        """Name of the series that the ledger is of; "" where it is of one data set."""
        return next((row["series"] for row in self._joined()), "")

    def data_sets(self) -> list[DataSet]:
        """The data sets of the series, in order; outside of a series the one of the ledger."""
        found = [DataSet(row["number"], row["time"], row["data"]) for row in self._joined()]
        return found or [DataSet(1, self.account.created, self.account.data)]

    def spends(self) -> list[Spend]:
        """All spends, in order."""
        spends = []
        for row in self.store.run("SELECT * FROM spends ORDER BY number"):
            changes, rho = self.store.read(noise_from, row["changes"])
            told = {name: row[name] for name in _TOLD} | {"changes": changes, "rho": rho}
            spends.append(Spend(**told, privacy=self.store.read(from_cells, row)))
        return spends

    def spent(self, data_set: int | None = None) -> tuple[Decimal, Decimal]:
        """The sums of ε and of δ over all spends, exact; or over those of the data set with this number."""
        of = [one.privacy for one in self.spends() if data_set in (None, one.data_set)]
        pairs = ([one.epsilon for one in of], [one.delta for one in of])
        epsilon, delta = (functools.reduce(EXACT.add, column, Decimal(0)) for column in pairs)
        return epsilon, delta

    def left(self) -> tuple[Decimal, Decimal]:
        """The remaining ε and δ: of the plain sum, exact.

        With a slack, the δ beside it, and the largest ε of one more release of which nothing else is known.
        """
        (plainly, *sums, divergence), rule = self._sums(), self.account.filter
        epsilon, delta = (EXACT.subtract(*pair) for pair in zip(self._most, sums))
        if rule is not None:
            epsilon = epsilon if plainly else Decimal(-1)
            if divergence <= rule.most * (1 + 1e-9):  # in whatever order it is added up
                epsilon = max(epsilon, rule.left(divergence))
        if min(epsilon, delta) < 0:
            raise self.store.damaged("more was spent than its budget")
        return epsilon, delta

    def _sums(self, *more: tuple[Decimal, Decimal, str]) -> tuple[bool, Decimal, Decimal, float]:
        """Whether the plain sum holds, Σε_i, Σδ_i of those that count, and Σr_i or 0, of spends and ``more``."""
        rule, most = self.account.filter, self._most
        rows = self.store.run("SELECT epsilon, delta, changes FROM spends ORDER BY number")
        plainly, epsilon, delta, kinds = True, Decimal(0), Decimal(0), Counter()
        for *pair, cell in [*(row.values() for row in rows), *more]:
            one, failure = (amount(part, "a spend", zero=True) for part in pair)
            epsilon, failure = EXACT.add(epsilon, one), EXACT.add(delta, failure)
            plainly = plainly and epsilon <= most[0] and failure <= most[1]
            if plainly or self.store.read(noise_from, cell)[1] is None:
                delta = failure
            kinds[one, cell] += 1
        costs = (
            0.0 if rule is None else count * rule.cost(one, *self.store.read(noise_from, cell))
            for (one, cell), count in kinds.items()
        )
        return plainly, epsilon, delta, math.fsum(costs)

    def check_data(self, sha256: str, name: str) -> int:
        """The number of a data set of the ledger; 0 if it has yet to join the series that was named; refuse others."""
        if not sha256:
            raise LedgerError(
                f"{name} has no content by which a ledger could know it again: read it from a file or a data frame."
            )
        joined = self._joined()
        known = {self._own: 1, **{row["fingerprint"]: row["number"] for row in joined}}
        if number := known.get(_keyed(self._key, sha256)):
            return number
        if not self._takes_new_data:
            of, how = f"the series {self.series!r}", f"give series={self.series!r}"
            if not joined:
                of, how = self.account.data, f"first `privrank ledger {self.path} --series NAME`"
            raise LedgerError(
                f"{self.path} is the ledger of {of}, and {name} has other content: give it a ledger of its own; users "
                "who are in both spend from both. Or, if both are of one series under one budget, such as a survey of "
                f"every year, {how}: a release with --series NAME adds its data."
            )
        return 0

    def make_series(self, name: str) -> None:
        """Make this the ledger of a series of this public name, unless it is; ``LedgerError`` if it is of another one.

        The data that it has are the first of the series; its budget, and what was spent of it, stay.
        """
        name = _name(name)
        with self.store.writing():
            if not self.series:
                self._join(name, self.account.data, self._own)
        self._check_series(name)

    def _join(self, series: str, name: str, content: str) -> int:
        row = {"series": series, "data": as_text(name), "fingerprint": content}
        return self.store.insert("series", time=now(), **row)

    def _check_series(self, name: str) -> None:
        if (known := self.series) != name:
            of = f"the series {known!r}" if known else f"{self.account.data} alone"
            raise LedgerError(
                f"{self.path} is the ledger of {of}, not of the series {name!r}: name that one; or, of data alone, "
                f"`privrank ledger {self.path} --series {name!r}` makes these the first of the series."
            )

    def count(self, other: Ledger) -> int:
        """Spend the whole budget of another ledger of data of this series, which goes on by itself; the spend's number.

        Raises:
            BudgetExhausted: the budget left is smaller. Nothing was spent.
            LedgerError: this ledger was opened without its series, the other one was counted before, or promises less.
        """
        counted = [row["fingerprint"] for row in self._joined()]
        if self.path.samefile(other.path) or _keyed(self._key, other._own) in counted:
            raise LedgerError(f"{other.path} was counted before: nothing was spent.")
        told: Row = {"command": "ledger", "method": f"all of {as_text(other.path.name)}"}
        source = other._own, f"{other.account.data} ({other.path.name})"
        number = self.spend(other.account.budget, source=source, **told)
        self.mark_printed(number)
        return number

    def check_covers(self, promised: Privacy) -> None:
        """Refuse a promise that is weaker than the ledger's."""
        if why := promised.lacks(self.account.budget):
            raise LedgerError(
                f"{self.path} keeps a budget for {self.account.budget.neighbors.in_words()}. This release is not "
                f"enough to be counted there: {why}."
            )

    def check(
        self,
        privacy: Privacy,
        changes: tuple[int, ...] | None = (),
        rho: SupportsFloat | None = None,
    ) -> None:
        """Refuse a release as :meth:`spend` would now; changes None: its noise is not known yet, and may be any."""
        self.check_covers(privacy)
        asked, rule = numbers(privacy), self.account.filter
        noise = noise_cell(changes or (), rho)
        allowed, _, failure, divergence = self._sums((*asked, noise))
        if rule is not None and not allowed:
            allowed = failure <= self._most[1] and divergence <= rule.most
            allowed = self._sums()[-1] <= rule.most if changes is None else allowed
        if not allowed:
            left, (epsilon, delta) = self.left(), numbers(self.account.budget)
            raise BudgetExhausted(
                f"{self.path} has {in_words(*left, delta, asked[1])} left of {in_words(epsilon, delta, asked[1])}, and "
                f"this release asks for {in_words(*asked, delta)}: nothing was spent and nothing is released. Ask for "
                "less; if no delta is left, leave --delta and --noise gaussian out. Once epsilon 0 is left, the data "
                "can't be used again."
            )

    def spend(
        self,
        privacy: Privacy,
        *,
        changes: tuple[int, ...] = (),
        rho: SupportsFloat | None = None,
        trust: str = "central",
        numerics: str = "unknown",
        command: str = "",
        method: str = "",
        source: tuple[str, str] | None = None,
    ) -> int:
        """Spend ε and δ, recorded on disk when this returns; call it before any part of the result is shown.

        Args:
            privacy: what the release promises, ``guarantee.attained`` or one of ``guarantee.also``.
            changes, rho: of its guarantee, if ``privacy`` is ``guarantee.attained``, or has a larger ε.
            trust, numerics: of its guarantee.
            command, method: what released, for human readers.
            source: checksum of the content of the data, see :func:`content_sha256`, and their name; needed in a series.

        Returns:
            Its number, for :meth:`mark_printed`.

        Raises:
            BudgetExhausted: the budget left is smaller. Nothing was spent.
            LedgerError: the promise is weaker, the data are not the ledger's, or the file can't be written.
        """
        told = {"trust": trust, "numerics": numerics, "command": command, "method": method}
        with self.store.writing():
            self.check(privacy, changes, rho)
            told |= cells(privacy) | {"changes": noise_cell(changes, rho)}
            data_set = self._data_set(source)
            return self.store.insert("spends", time=now(), state="spent", data_set=data_set, **told)

    def _data_set(self, source: tuple[str, str] | None) -> int:
        """The number of these data, which have then joined the series; within a transaction."""
        if source is None and self.series:
            raise LedgerError(f"{self.path} is of a series: say which data are released by source.")
        if source is None:
            return 1
        known = self.check_data(*source)
        return known or self._join(self.series, source[1], _keyed(self._key, source[0]))

    def mark_printed(self, number: int) -> None:
        """Record that the result of a spend was shown; this informs readers and changes no budget."""
        query = "UPDATE spends SET state = 'printed' WHERE number = ? RETURNING number"
        with self.store.writing():
            if not self.store.run(query, (number,)):
                raise LedgerError(f"{self.path} has no spend number {number}.")


def create(
    path: str | os.PathLike[str],
    budget: Privacy,
    *,
    data: str,
    sha256: str,
    slack: SupportsFloat | str = 0,
) -> None:
    """Create the ledger of a data set in a new file. If interrupted, it leaves no file or an empty one.

    Args:
        path: the file.
        budget: what all releases together promise, without ``public=("ties",)``; floats mean their shortest decimals.
        data: name of the data, for people.
        sha256: ``sha256`` of data that were read, or :func:`content_sha256` of a file. What is stored is keyed: with a
            plain hash, someone who knows all rows but one could find that row by trying.
        slack: the part of the budget's δ that is kept for adding up by Rényi divergences
            (:mod:`privrank_jax.release.ledger_filter`); 0: only the plain sum counts.

    Raises:
        LedgerError: ε, δ or the slack is not a decimal, the slack is more than δ, the file exists or can't be made.
    """
    path = Path(path)
    if "ties" in budget.public:
        raise LedgerError("a ledger can't take ties as public: which answers are ties are answers.")
    kept, (epsilon, delta) = amount(slack, "slack", zero=True), numbers(budget)
    if kept > delta:
        raise LedgerError(
            f"slack {plain(kept)} is more than delta, of which it is a part: raise delta, or lower the slack."
        )
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise LedgerError("sha256 must be 64 lower-case hexadecimal digits.")
    key = secrets.token_hex(32)
    row = cells(budget) | {"key": key, "fingerprint": _keyed(key, sha256), "slack": str(kept)}
    row["renyi_order"] = str(Filter.of(epsilon, kept).order) if kept else ""
    with contextlib.closing(Store.make(path, LedgerError)) as store, store.writing():
        if store.filled:
            raise LedgerError(
                f"{path} exists, and a ledger is never replaced: `privrank ledger {path}` shows it."
            )
        store.fill()
        store.insert("ledger", data=as_text(data), created=now(), **row)


def _keyed(key: str, sha256: str) -> str:
    """HMAC-SHA-256 of a content's hash, in hexadecimal digits; it reveals nothing without the key."""
    return hmac.new(bytes.fromhex(key), sha256.encode(), hashlib.sha256).hexdigest()


def as_text(name: str) -> str:
    """A file name as text that SQLite can store; file names need not be valid text."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def content_sha256(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _name(series: str) -> str:
    """The name of a series with single blanks, by which it is compared."""
    name = " ".join(series.split())
    if not name or not name.isprintable():
        raise LedgerError(
            f"a series needs a name of letters that can be printed, such as 'citizen survey', got {series!r}."
        )
    return name

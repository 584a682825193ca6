r"""The budget of a data set: an SQLite file from which every release spends before it shows anything.

**Promise.** All releases through this ledger together are (ε, δ) differentially private for the neighbors of the
ledger (unit, adjacency, what is public, what a user is), with the ε and δ of its budget. Budgets add up: releases with
(ε_i, δ_i), each of which may be chosen after seeing the earlier ones, are together (Σ ε_i, Σ δ_i) private, and this
stays true for a rule that stops before the sums exceed the budget (basic composition as a filter; Rogers, Roth, Ullman,
Vadhan 2016). It holds both for releases of a trusted curator and for those of local randomizers. A ledger that keeps a
part of its δ for that, its *slack*, adds up Rényi divergences too, which come to less, and hold as well for releases
chosen along the way (:mod:`privrank_jax.release.ledger_filter`). :mod:`privrank_jax.privacy.accounting` gives tighter
accounting for releases that are fixed ahead of time; the ledger does not use it.

A release counts at its own ε if its promise covers that of the ledger
(:meth:`~privrank_jax.privacy.Privacy.covers`): replacing a unit includes changing its answers, and all of a user
includes one rank, or one comparison whose user stays the same. The release may take no more as public than the ledger
does, must hold for users with as many comparisons, and must define a user in the same way. Any other release is
refused, not converted.

**Data** are identified by a keyed hash of their content. The file holds the hash and its key and is created readable by
its owner only. Neither is ever printed.

**Spending** is on disk when :meth:`Ledger.spend` returns; the result is shown after that, and
:meth:`Ledger.mark_printed` records that it was. So a process killed at any point may lose a result whose budget was
spent, but never shows one whose budget was not (:mod:`privrank_jax.release.store`). Budgets are exact decimals
(:mod:`privrank_jax.release.decimals`).

**A series** of data sets with a public name, such as a survey of every year, has one ledger and one budget. Its
neighbors differ in one unit of each of its data sets: D = (D_1, ..., D_k) and D' are neighbors if, for each i, D_i and
D'_i are equal or neighbors of the ledger. So they cover a person who is in all of the files, whatever that person
answered in each, and rows that several files repeat. Theorem: releases of (ε_j, δ_j), each of one D_i, with noise of
its own, which may be chosen after seeing the earlier ones, are together (Σ ε_j, Σ δ_j) private for these neighbors.
Proof: given what came before, release j is a function of D_i and of its own noise alone; D_i and D'_i are equal or
neighbors, so it is (ε_j, δ_j) private for D and D' too, and composition, with its filter, is that of one data set. That
also covers files which come into being later, and answers in them that depend on earlier releases, for it allows that
both D_i and D'_i are chosen after seeing these (k-fold adaptive composition; Dwork, Rothblum, Vadhan 2010, and Rogers
et al. for the filter). A sum is needed, for the same person may be in all files; a maximum would do for files that
share nobody. All releases of a data set that has joined count toward the series, whoever makes them through this
ledger. What another ledger spends is counted at the whole budget of that ledger (:meth:`Ledger.count`), or not at all.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import math
import os
import re
import secrets
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import SupportsFloat, TypeVar

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
from privrank_jax.release.store import WAIT, BudgetExhausted, LedgerError, Row, Store, now


@dataclasses.dataclass(frozen=True)
class Account:
    """What a ledger promises, and for which data.

    Attributes:
        data: name of the data, for human readers.
        created: UTC, ISO 8601.
        budget: what all releases through the ledger together promise; ε and δ are decimals.
        filter: how releases add up beside the plain sum; None: not at all.
    """

    data: str
    created: str
    budget: Privacy
    filter: Filter | None = None


@dataclasses.dataclass(frozen=True)
class DataSet:
    """One data set of a ledger.

    Attributes:
        number: from 1, in the order in which they joined the series.
        time: when it joined, UTC, ISO 8601.
        data: its name, for human readers; another year's file may have the same one.
    """

    number: int
    time: str
    data: str


@dataclasses.dataclass(frozen=True)
class Spend:
    """One release.

    Attributes:
        number: from 1.
        time: UTC, ISO 8601.
        command: the command that released, such as ``"rank"``.
        method: the method that it used.
        trust, numerics: of its guarantee.
        state: ``"printed"``, or ``"spent"`` for a result that may not have been shown: its process was killed or
            failed. Both count.
        data_set: the number of the data set; 1 outside of a series.
        privacy: what the release promises; ε and δ are decimals.
        changes: of Laplace noise, as in ``Guarantee.changes``; () where no more than ε and δ is known.
        rho: of Gaussian noise, as in ``Guarantee.rho``; None where it is not known.
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


_Cells = TypeVar("_Cells")
_Found = TypeVar("_Found")
_TOLD = ("number", "time", "command", "method", "trust", "numerics", "state", "data_set")


@dataclasses.dataclass(frozen=True)
class _Sums:
    """What was spent, as the rule of a ledger counts it (:mod:`privrank_jax.release.ledger_filter`).

    Attributes:
        plainly: whether the plain sum holds.
        epsilon: Σε_i.
        delta: Σδ_i of those that count.
        divergence: Σr_i; 0 without a slack.
    """

    plainly: bool
    epsilon: Decimal
    delta: Decimal
    divergence: float


class Ledger:
    """An existing ledger, opened; a context manager.

    Args:
        path: the file.
        series: name of the series that the ledger is of. With it, data that the ledger does not know join the series
            when their first release is paid for; without it, they are refused.
        wait: seconds to wait for other processes.

    Raises:
        LedgerError: the file is missing, not a ledger, damaged, not accessible, in use for longer than ``wait``, or not
            of this series.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.ledger"
    >>> create(path, Privacy(0.3, unit="user", adjacency="replace"), data="votes.csv", sha256="0" * 64)
    >>> with Ledger(path) as ledger:
    ...     for _ in range(3):
    ...         ledger.mark_printed(ledger.spend(Privacy(0.1, unit="user", adjacency="replace")))
    ...     ledger.spend(Privacy(1e-9, unit="user", adjacency="replace"))
    Traceback (most recent call last):
    ...
    privrank_jax...BudgetExhausted: ...votes.ledger has epsilon 0 left of epsilon
    0.3, and this release asks for epsilon 1e-9: nothing was spent and nothing is released. The budget
    is exhausted: these data can't be used again.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, series: str | None = None, wait: float = WAIT
    ) -> None:
        self.path = Path(path)
        store = Store.find(self.path, LedgerError, wait)
        if store is None:
            raise LedgerError(
                f"there is no ledger {self.path}: make one by `privrank ledger {self.path} --data FILE --budget "
                "EPSILON`, once per data set."
            )
        self.store = store
        try:
            self.account = self._account()
            self._takes_new_data = series is not None
            if series is not None:
                self._check_series(_name(series))
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.store.close()

    def _account(self) -> Account:
        rows = self.store.run("SELECT * FROM ledger")
        if not rows:
            raise LedgerError(
                f"{self.path} has no budget, so it is not a ledger: name another file."
            )
        row, rule = rows[0], None
        self._key, self._own = row["key"], row["fingerprint"]
        budget = self._read(from_cells, row)
        if row["renyi_order"]:
            slack, order = (amount(row[name], name) for name in ("slack", "renyi_order"))
            rule = Filter(numbers(budget)[0], slack, order)
        return Account(row["data"], row["created"], budget, rule)

    def _read(self, read: Callable[[_Cells], _Found], cells: _Cells) -> _Found:
        """What cells hold; refused if they hold nothing of that."""
        try:
            return read(cells)
        except ValueError as error:
            raise self.store.damaged(error) from None

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
            told = {name: row[name] for name in _TOLD}
            changes, rho = self._read(noise_from, row["changes"])
            spends.append(
                Spend(**told, privacy=self._read(from_cells, row), changes=changes, rho=rho)
            )
        return spends

    def spent(self, data_set: int | None = None) -> tuple[Decimal, Decimal]:
        """The sums of ε and of δ over all spends, exact; or over those of the data set with this number."""
        epsilon = delta = Decimal(0)
        query = "SELECT epsilon, delta FROM spends WHERE data_set = coalesce(?, data_set)"
        for row in self.store.run(query, (data_set,)):
            epsilon = EXACT.add(epsilon, amount(row["epsilon"], "epsilon", zero=True))
            delta = EXACT.add(delta, amount(row["delta"], "delta", zero=True))
        return epsilon, delta

    def left(self) -> tuple[Decimal, Decimal]:
        """The remaining ε and δ: of the plain sum, exact.

        With a slack, the δ beside it, and the largest ε of one more release of which nothing else is known.
        """
        sums, rule = self._sums(), self.account.filter
        epsilon = EXACT.subtract(numbers(self.account.budget)[0], sums.epsilon)
        delta = EXACT.subtract(self._most_failure(), sums.delta)
        if rule is not None:
            epsilon = epsilon if sums.plainly else Decimal(-1)
            if sums.divergence <= rule.most * (1 + 1e-9):  # in whatever order it is added up
                epsilon = max(epsilon, rule.left(sums.divergence))
        if min(epsilon, delta) < 0:
            raise self.store.damaged("more was spent than its budget")
        return epsilon, delta

    def _most_failure(self) -> Decimal:
        """δ less the slack."""
        delta, rule = numbers(self.account.budget)[1], self.account.filter
        return delta if rule is None else EXACT.subtract(delta, rule.slack)

    def _sums(self, *more: tuple[Decimal, Decimal, str]) -> _Sums:
        """What was spent, and, after it, ε, δ and cell of the noise of further releases."""
        rule, most = self.account.filter, (numbers(self.account.budget)[0], self._most_failure())
        rows = self.store.run("SELECT epsilon, delta, changes FROM spends ORDER BY number")
        plainly, epsilon, delta, kinds = True, Decimal(0), Decimal(0), Counter()
        for *pair, cell in [*(row.values() for row in rows), *more]:
            one, failure = (amount(part, "a spend", zero=True) for part in pair)
            epsilon, failure = EXACT.add(epsilon, one), EXACT.add(delta, failure)
            plainly = plainly and epsilon <= most[0] and failure <= most[1]
            if plainly or self._read(noise_from, cell)[1] is None:
                delta = failure
            kinds[one, cell] += 1
        costs = (
            0.0 if rule is None else count * rule.cost(one, *self._read(noise_from, cell))
            for (one, cell), count in kinds.items()
        )
        return _Sums(plainly, epsilon, delta, math.fsum(costs))

    def check_data(self, sha256: str, name: str) -> int:
        """Refuse data other than those of the ledger, and, unless the series was named, than those that have joined.

        Returns:
            The number of the data set; 0 if it has yet to join the series.
        """
        if not sha256:
            raise LedgerError(
                f"{name} has no content by which a ledger could know it again: read it from a file or a data frame."
            )
        joined, content = self._joined(), _keyed(self._key, sha256)
        known = {self._own: 1, **{row["fingerprint"]: row["number"] for row in joined}}
        for one, number in known.items():
            if hmac.compare_digest(content, one):
                return number
        if not joined:
            raise LedgerError(
                f"{self.path} is the ledger of {self.account.data}, and {name} has other content: every data set has "
                "a ledger of its own. Changed data need a new one, and users who remain in them spend from both. If "
                "both are of one series with the same people, such as a survey of every year, one budget can cover "
                f"them together: `privrank ledger {self.path} --series NAME` makes this ledger that of a series, and "
                "releases with --series NAME add their data to it."
            )
        if not self._takes_new_data:
            series = joined[0]["series"]
            raise LedgerError(
                f"{self.path} is the ledger of the series {series!r}, and {name} is not among its data sets: "
                f"nothing was spent. If it belongs to the series, give series={series!r}: it joins with "
                "this release then, and all of its releases count toward the one budget of the series. If its people "
                "are in no other data set of the series, give it a ledger of its own."
            )
        return 0

    def make_series(self, name: str) -> None:
        """Make this the ledger of a series, whose first data set is the one that it has; its budget stays.

        Args:
            name: public name of the series.

        Raises:
            LedgerError: the ledger is of another series, or the name is empty or can't be printed.
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
        known = self.series
        if not known:
            raise LedgerError(
                f"{self.path} is the ledger of {self.account.data} alone, and not of a series {name!r}: `privrank "
                f"ledger {self.path} --series {name!r}` makes these data the first of the series, with the budget "
                "that the ledger has."
            )
        if known != name:
            raise LedgerError(
                f"{self.path} is the ledger of the series {known!r}, not of {name!r}."
            )

    def count(self, other: Ledger) -> int:
        """Spend the whole budget of another ledger, so that its releases count toward this series, past and future.

        Args:
            other: the ledger of data that belong to the series, which goes on by itself.

        Returns:
            The number of the spend.

        Raises:
            BudgetExhausted: the budget left is smaller. Nothing was spent.
            LedgerError: this ledger was opened without its series, the other one was counted before, or promises less.
        """
        if self.path.samefile(other.path):
            raise LedgerError(f"{other.path} is the ledger of the series itself.")
        if any(_keyed(self._key, other._own) == row["fingerprint"] for row in self._joined()):
            raise LedgerError(
                f"{other.path} was counted before, at its whole budget: nothing was spent."
            )
        number = self.spend(
            other.account.budget,
            command="ledger",
            method=f"all of {as_text(other.path.name)}",
            source=(other._own, f"{other.account.data} ({other.path.name})"),
        )
        self.mark_printed(number)
        return number

    def covers(self, promised: Privacy) -> bool:
        """Whether the ledger accepts such a promise, whatever its ε and δ."""
        return promised.covers(self.account.budget)

    def check_covers(self, promised: Privacy) -> None:
        """Refuse a promise that is weaker than the ledger's."""
        why = promised.lacks(self.account.budget)
        if why:
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
        """Refuse what the ledger doesn't allow now, without spending.

        Args:
            privacy: what the release promises.
            changes, rho: as for :meth:`spend`; changes None: nothing is known of the noise yet, so that only
                what none could allow is refused.

        Raises:
            BudgetExhausted: with what is left and what was asked for.
            LedgerError: the promise is weaker than the ledger's.
        """
        self.check_covers(privacy)
        asked = numbers(privacy)
        if not self._allows(*asked, None if changes is None else noise_cell(changes, rho)):
            left, (epsilon, delta) = self.left(), numbers(self.account.budget)
            raise BudgetExhausted(
                f"{self.path} has {in_words(*left, delta, asked[1])} left of {in_words(epsilon, delta, asked[1])}, and "
                f"this release asks for {in_words(*asked, delta)}: nothing was spent and nothing is released. "
                f"{_advice(left, asked, self.series)}"
            )

    def _allows(self, epsilon: Decimal, delta: Decimal, cell: str | None) -> bool:
        """Whether such a release may be made; of unknown noise: whether it may with any noise."""
        rule, sums = self.account.filter, self._sums((epsilon, delta, cell or ""))
        if sums.plainly or rule is None:
            return sums.plainly
        if cell is None:
            return self._sums().divergence <= rule.most
        return sums.delta <= self._most_failure() and sums.divergence <= rule.most

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
            privacy: what the release promises, ``guarantee.attained`` or one of ``guarantee.also``; a float means its
                shortest decimal.
            changes, rho: of its guarantee, if ``privacy`` is ``guarantee.attained``, or has a larger ε.
            trust, numerics: of its guarantee.
            command, method: what released, for human readers.
            source: checksum of the content of the data, see :func:`content_sha256`, and their name; needed in a series.

        Returns:
            The number of the spend, for :meth:`mark_printed`.

        Raises:
            BudgetExhausted: the budget left is smaller. Nothing was spent.
            LedgerError: the promise is weaker than the ledger's, the data are not the ledger's, or the file can't be
                written.
        """
        told = {"trust": trust, "numerics": numerics, "command": command, "method": method}
        with self.store.writing():
            self.check(privacy, changes, rho)
            return self.store.insert(
                "spends",
                time=now(),
                state="spent",
                data_set=self._joining(source),
                changes=noise_cell(changes, rho),
                **told,
                **cells(privacy),
            )

    def _joining(self, source: tuple[str, str] | None) -> int:
        """The number of these data, which have then joined the series; within a transaction."""
        if source is None:
            if self.series:
                raise LedgerError(
                    f"{self.path} is the ledger of a series: say which data are released (source=...)."
                )
            return 1
        sha256, name = source
        known = self.check_data(sha256, name)
        return known or self._join(self.series, name, _keyed(self._key, sha256))

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
    """Create the ledger of a data set, with nothing spent. If interrupted, it leaves no file or an empty one.

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
    kept, (epsilon, delta) = amount(slack, "slack", zero=True), numbers(budget)
    if kept > delta:
        raise LedgerError(
            f"slack {plain(kept)} is more than delta {plain(delta)} of the budget, of which it is a part: give a "
            "larger delta, or a smaller slack."
        )
    if not re.fullmatch("[0-9a-f]{64}", sha256):
        raise LedgerError("sha256 must be 64 lower-case hexadecimal digits.")
    key = secrets.token_hex(32)
    row = cells(budget) | {"key": key, "fingerprint": _keyed(key, sha256), "slack": str(kept)}
    row["renyi_order"] = str(Filter.of(epsilon, kept).order) if kept else ""
    exists = f"{path} exists, and a ledger is never replaced: `privrank ledger {path}` shows it."
    if path.exists() and path.stat().st_size:
        raise LedgerError(exists)
    store = Store.make(path, LedgerError)
    try:
        with store.writing():
            if store.filled:
                raise LedgerError(exists)
            store.fill()
            store.insert("ledger", data=as_text(data), created=now(), **row)
    finally:
        store.close()


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


def _advice(left: tuple[Decimal, Decimal], asked: tuple[Decimal, Decimal], series: str) -> str:
    if left[0] == 0:
        whose = f"the data of the series {series!r}" if series else "these data"
        return f"The budget is exhausted: {whose} can't be used again."
    if asked[1] > left[1] and left[1] == 0:
        return "Release without a delta: leave --noise gaussian and --delta out."
    return "Ask for less."

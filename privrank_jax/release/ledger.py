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

**Numbers** are decimals as people write them, added and compared exactly: ten times 0.1 is 1. A float means the
shortest decimal that denotes it, from which it differs by at most one part in 2^53.

**Crashes.** A spend is one transaction, which is on disk (WAL, ``synchronous=FULL``) when :meth:`Ledger.spend` returns;
the result is shown after that, and :meth:`Ledger.mark_printed` records that it was. So a process killed at any point
may lose a result whose budget was spent, but never shows one whose budget was not. Transactions begin as writers
(``BEGIN IMMEDIATE``), so each of several processes sees all earlier spends. Files FILE-wal and FILE-shm beside a ledger
belong to it; it belongs on a local disk, where the data are kept (WAL does not work over network file systems).

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

**Leaderboards.** A ledger also remembers which steps of a leaderboard over time were published
(:mod:`privrank_jax.release.published_steps`), by hashes that reveal nothing of the data without the leaderboard's key.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hmac
import math
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, SupportsFloat

from privrank_jax._neighbors import Neighbors
from privrank_jax._promise import Privacy
from privrank_jax.release.ledger_file import (
    APPLICATION,
    BUDGET,
    EXACT,
    PROMISE,
    RESTORE,
    VERSION,
    WAIT,
    BudgetExhausted,
    Known,
    LedgerError,
    amount,
    as_text,
    cells,
    clearly,
    connect,
    content_sha256,
    create,
    fingerprint,
    from_cells,
    in_words,
    noise_cell,
    noise_from,
    now,
    numbers,
    plain,
)
from privrank_jax.release.ledger_filter import Filter

_COLUMNS = {
    "spends": f"time, command, method, {PROMISE}, trust, numerics, data_set, changes",
    "published": "board, step, witness",
    "joined": "time, series, data, fingerprint",
}

__all__ = [
    "Account",
    "BudgetExhausted",
    "DataSet",
    "Ledger",
    "LedgerError",
    "Privacy",
    "Spend",
    "amount",
    "content_sha256",
    "create",
    "in_words",
    "noise_cell",
    "numbers",
    "plain",
]


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
        if not self.path.exists():
            raise LedgerError(
                f"there is no ledger {self.path}: make one by `privrank ledger {self.path} --data FILE --budget "
                "EPSILON`, once per data set."
            )
        if not self.path.is_file():
            raise LedgerError(f"{self.path} is not a file, so it is not a ledger.")
        with clearly(self.path):
            self._connection = connect(self.path, wait)
            try:
                self._verify()
                self._connection.execute("PRAGMA synchronous = FULL")
                self._connection.execute("PRAGMA fullfsync = ON")
                self._connection.execute("BEGIN")  # one state of the file
                self.account = self._account()
                self._connection.execute("COMMIT")
                self._takes_new_data = series is not None
                if series is not None:
                    self._check_series(_name(series))
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def series(self) -> str:
        """Name of the series that the ledger is of; "" where it is of one data set."""
        with clearly(self.path):
            return next((row[2] for row in self._joined()), "")

    def data_sets(self) -> list[DataSet]:
        """The data sets of the series, in order; outside of a series the one of the ledger."""
        with clearly(self.path):
            found = [DataSet(number, time, data) for number, time, _, data, _ in self._joined()]
        return found or [DataSet(1, self.account.created, self.account.data)]

    def _joined(self) -> list[Any]:
        query = "SELECT number, time, series, data, fingerprint FROM joined ORDER BY number"
        return [self._words(row, 1) for row in self._connection.execute(query)]

    def spends(self) -> list[Spend]:
        """All spends, in order."""
        columns = "number, data_set, time, command, method, trust, numerics, state, changes"
        with clearly(self.path):
            rows = self._connection.execute(
                f"SELECT {columns}, {PROMISE} FROM spends ORDER BY number"
            ).fetchall()
        spends = []
        for row in rows:
            number, data_set, *words = self._words(row, 2)
            changes, rho = self._noise(words[6])
            of: dict[str, Any] = {"changes": changes, "rho": rho, "data_set": data_set}
            spends.append(Spend(number, *words[:6], privacy=self._promise(words[7:]), **of))
        return spends

    def spent(self, data_set: int | None = None) -> tuple[Decimal, Decimal]:
        """The sums of ε and of δ over all spends, exact; or over those of the data set with this number."""
        epsilon = delta = Decimal(0)
        query = "SELECT epsilon, delta FROM spends WHERE data_set = coalesce(?, data_set)"
        with clearly(self.path):
            for one, other in self._connection.execute(query, (data_set,)):
                epsilon = EXACT.add(epsilon, amount(one, "epsilon", zero=True))
                delta = EXACT.add(delta, amount(other, "delta", zero=True))
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
            raise LedgerError(f"{self.path} is damaged: more was spent than its budget.")
        return epsilon, delta

    def _most_failure(self) -> Decimal:
        """δ less the slack."""
        delta, rule = numbers(self.account.budget)[1], self.account.filter
        return delta if rule is None else EXACT.subtract(delta, rule.slack)

    def _sums(self, *more: tuple[Decimal, Decimal, str]) -> _Sums:
        """What was spent, and, after it, ε, δ and cell of the noise of further releases."""
        rule, most = self.account.filter, (numbers(self.account.budget)[0], self._most_failure())
        with clearly(self.path):
            query = "SELECT epsilon, delta, changes FROM spends ORDER BY number"
            rows = [self._words(row) for row in self._connection.execute(query)]
        plainly, epsilon, delta, kinds = True, Decimal(0), Decimal(0), Counter()
        for *pair, cell in [*rows, *more]:
            one, failure = (amount(part, "a spend", zero=True) for part in pair)
            epsilon, failure = EXACT.add(epsilon, one), EXACT.add(delta, failure)
            plainly = plainly and epsilon <= most[0] and failure <= most[1]
            if plainly or self._noise(cell)[1] is None:
                delta = failure
            kinds[one, cell] += 1
        costs = (
            0.0 if rule is None else count * rule.cost(one, *self._noise(cell))
            for (one, cell), count in kinds.items()
        )
        return _Sums(plainly, epsilon, delta, math.fsum(costs))

    def check_data(self, sha256: str, name: str) -> None:
        """Refuse data other than those of the ledger, and, unless the series was named, than those that have joined."""
        with clearly(self.path):
            self._data_set(sha256, name)

    def _data_set(self, sha256: str, name: str) -> int:
        """The number of these data; 0 if they have yet to join the series."""
        if not sha256:
            raise LedgerError(
                f"{name} has no content by which a ledger could know it again: read it from a file or a data frame."
            )
        key, own = self._identity
        joined = self._joined()
        content = fingerprint(key, sha256)
        for number, known in [(1, own), *((row[0], row[4]) for row in joined)]:
            if hmac.compare_digest(content, known):
                return number
        if not joined:
            raise LedgerError(
                f"{self.path} is the ledger of {self.account.data}, and {name} has other content: every data set has "
                "a ledger of its own. Changed data need a new one, and users who remain in them spend from both. If "
                "both are of one series with the same people, such as a survey of every year, one budget can cover "
                f"them together: `privrank ledger {self.path} --series NAME` makes this ledger that of a series, and "
                "releases with --series NAME add their data to it."
            )
        series = joined[0][2]
        if not self._takes_new_data:
            raise LedgerError(
                f"{self.path} is the ledger of the series {series!r}, and {name} is not among its data sets: "
                f"nothing was spent. If it belongs to the series, give series (--series {series!r}): it joins with "
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
        with self._writing():
            if not self.series:
                self._insert("joined", (now(), name, self.account.data, self._identity[1]))
        self._check_series(name)
        self._copy_to_main_file()

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
        known = fingerprint(self._identity[0], other._identity[1])
        with clearly(self.path):
            if any(known == row[4] for row in self._joined()):
                raise LedgerError(
                    f"{other.path} was counted before, at its whole budget: nothing was spent."
                )
        number = self.spend(
            other.account.budget,
            command="ledger",
            method=f"all of {as_text(other.path.name)}",
            source=(other._identity[1], f"{other.account.data} ({other.path.name})"),
        )
        self.mark_printed(number)
        return number

    def covers(self, promised: Privacy | Neighbors) -> bool:
        """Whether the ledger accepts such a promise, whatever its ε and δ."""
        return not self._lacks(promised)

    def check_covers(self, promised: Privacy | Neighbors) -> None:
        """Refuse a promise that is weaker than the ledger's."""
        why = self._lacks(promised)
        if why:
            raise LedgerError(
                f"{self.path} keeps a budget for {self.account.budget.neighbors.in_words()}. This release is not "
                f"enough to be counted there: {why}."
            )

    def _lacks(self, promised: Privacy | Neighbors) -> str:
        budget = self.account.budget
        if isinstance(promised, Neighbors):
            return promised.lacks(budget.neighbors)
        return promised.lacks(budget)

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
        self.check_covers(privacy)
        with self._writing():
            self.check(privacy, changes, rho)
            told = now(), command, method, *cells(privacy), trust, numerics
            row = (*told, self._joining(source), noise_cell(changes, rho))
            number = self._insert("spends", row)
        self._copy_to_main_file()
        return number

    def _joining(self, source: tuple[str, str] | None) -> int:
        """The number of these data, which have then joined the series; within a transaction."""
        if source is None:
            if self.series:
                raise LedgerError(
                    f"{self.path} is the ledger of a series: say which data are released (source=...)."
                )
            return 1
        sha256, name = source
        known = self._data_set(sha256, name)
        if known:
            return known
        content = fingerprint(self._identity[0], sha256)
        return self._insert("joined", (now(), self.series, as_text(name), content))

    def witnesses(self, board: str) -> list[str]:
        """Witnesses of the published steps of a leaderboard, in order.

        Args:
            board: its identifier.
        """
        query = "SELECT witness FROM published WHERE board = ? ORDER BY step"
        with clearly(self.path):
            return [witness for (witness,) in self._connection.execute(query, (board,))]

    def remember(self, board: str, witnesses: list[str]) -> None:
        """Keep witnesses of steps that are not remembered yet, on disk when this returns.

        Args:
            board: identifier of the leaderboard.
            witnesses: of all of its published steps.
        """
        if len(self.witnesses(board)) >= len(witnesses):
            return
        with self._writing():
            known = len(self.witnesses(board))
            for step, one in enumerate(witnesses[known:], known + 1):
                self._insert("published", (board, step, one))
        self._copy_to_main_file()

    def _insert(self, table: str, cells: tuple[Any, ...]) -> int:
        """Write a row without its number, which is returned; within a transaction."""
        marks = ", ".join("?" * len(cells))
        query = f"INSERT INTO {table} ({_COLUMNS[table]}) VALUES ({marks})"
        return self._connection.execute(query, cells).lastrowid or 0

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction, begun as a writer's."""
        with clearly(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def mark_printed(self, number: int) -> None:
        """Record that the result of a spend was shown; this informs readers and changes no budget."""
        with clearly(self.path):
            changed = self._connection.execute(
                "UPDATE spends SET state = 'printed' WHERE number = ?", (number,)
            ).rowcount
        if changed != 1:
            raise LedgerError(f"{self.path} has no spend number {number}.")
        self._copy_to_main_file()

    def _copy_to_main_file(self) -> None:
        """Move as much as possible out of FILE-wal, in case a copy leaves that file out; never waits."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _verify(self) -> None:
        tables = self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == 0:
            raise LedgerError(
                f"{self.path} is empty, as after an interrupted creation: nothing was ever spent from it. Delete it "
                "and create the ledger again."
            )
        application = self._connection.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION:
            raise LedgerError(
                f"{self.path} is not a ledger of privrank, but another SQLite database."
            )
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise LedgerError(
                f"{self.path} has version {version}, and this privrank reads version {VERSION}: make a new ledger with "
                "what is left of its budget, as shown by the version of privrank that made it."
            )
        found = self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise LedgerError(f"{self.path} is damaged ({found}): {RESTORE}")

    def _account(self) -> Account:
        row = self._connection.execute(f"SELECT {BUDGET} FROM ledger").fetchone()
        if row is None:
            raise LedgerError(f"{self.path} is damaged: it has no budget.")
        data, created, *self._identity, slack, order = self._words(row[:6])
        budget, rule = self._promise(row[6:]), None
        if order:
            rule = Filter(numbers(budget)[0], amount(slack, "slack"), amount(order, "order"))
        return Account(data, created, budget, rule)

    def _noise(self, cell: str) -> Known:
        try:
            return noise_from(cell)
        except ValueError as error:
            raise LedgerError(f"{self.path} is damaged ({error}): {RESTORE}") from None

    def _promise(self, row: list[Any]) -> Privacy:
        texts = self._words(row)
        try:
            return from_cells(*texts)
        except ValueError as error:
            raise LedgerError(f"{self.path} is damaged ({error}): {RESTORE}") from None

    def _words(self, row: list[Any], numbers: int = 0) -> list[Any]:
        """A row of so many whole numbers, then text, which SQLite itself does not enforce."""
        kinds = [int] * numbers + [str] * (len(row) - numbers)
        if not all(map(isinstance, row, kinds)):
            raise LedgerError(
                f"{self.path} is damaged: a cell that must be text or a number holds something else. {RESTORE}"
            )
        return row


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

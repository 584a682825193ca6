"""Comparisons with times: which rows count at which step, and what was counted of the steps that are published.

Of each user the first L rows stay, in the order of their times: which of them stay depends on this user's rows alone,
and rows that arrive later change nothing that was published. Rows of one user with the same time are ordered by the
pair that they compare, so that a flipped answer doesn't decide which pairs stay; the order of rows in the file plays no
part.

The state remembers how many rows of each user were counted in each published step. What the file holds for these steps
now is left out: rows that arrived too late are never counted, rows that were taken away or changed stay counted as they
were, and of each user no more than L rows count in all steps together, whatever became of the file.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence

import numpy as np

from privrank_jax import datasets
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.checks import check_items
from privrank_jax.cli.core.sources import (
    COUNTING,
    check_rare_items,
    comparison_roles,
    found_columns,
    given_columns,
    say_reading,
    shape_roles,
)
from privrank_jax.cli.rank.input import MAX_ITEMS
from privrank_jax.cli.rank.request import Request
from privrank_jax.cli.rank.schedule import Schedule, day
from privrank_jax.datasets.row_times import read_times
from privrank_jax.pairwise.score_stream import MAX_PAIR_ITEMS


@dataclasses.dataclass(frozen=True)
class Counted:
    """What was counted in a step; the state keeps it.

    Attributes:
        rows: number of rows that were dated in the step.
        fingerprint: hash of these rows.
        used: how many of them were counted of each user, by :func:`_tag`; empty where single comparisons are protected.
        met: how often each pair was compared, ``[item, other, number]``; empty unless that is public.
    """

    rows: int
    fingerprint: str
    used: dict[str, int]
    met: list[list[int]]

    @property
    def text(self) -> str:
        """For the state."""
        return json.dumps(vars(self), sort_keys=True)


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """Comparisons by the step in which they arrived.

    Attributes:
        table: as the loader read it.
        times: ``(N,)`` datetime64, of each row.
        steps: ``(N,)`` step of each row, from 0; T for rows beyond the last step, -1 for rows before the first.
        limit: L, the most rows that count of a user in all steps together; None where single comparisons are protected.
        pairs_are_public: whether neighbors differ in answers alone.
        kept: ``(N,)`` bool, whether a row counts: it is dated in a step that is not published, and among the first of
            its user.
    """

    table: datasets.ComparisonTable
    times: np.ndarray
    steps: np.ndarray
    limit: int | None
    pairs_are_public: bool
    kept: np.ndarray

    def after(self, published: Sequence[Counted]) -> Arrivals:
        """The same file, of which the rows of further steps count."""
        return dataclasses.replace(self, kept=self._kept(published))

    def _kept(self, published: Sequence[Counted]) -> np.ndarray:
        table, later = self.table, self.steps >= len(published)
        if self.limit is None:
            return later
        used = Counter[str]()
        for step in published:
            used.update(step.used)
        left = np.full(len(table.user_names), self.limit)
        if used:
            left -= [used[_tag(name)] for name in table.user_names]
        lower, upper = (f(table.winners, table.losers) for f in (np.minimum, np.maximum))
        order = np.lexsort((upper, lower, self.times, table.users))
        return _first_rows(table.users, order[later[order]], left)

    def totals(self, first: int, last: int) -> np.ndarray:
        """Wins of each item in the steps ``first``, ..., ``last`` - 1, ``(last - first, m)``."""
        return self._wins_and_losses(first, last)[0]

    def sums(self, first: int, last: int) -> np.ndarray:
        """Wins, losses and pair counts in these steps, ``(last - first, d)``, ordered as ``pairwise.score_sums``."""
        table, items = self.table, self.table.num_items
        found = [*self._wins_and_losses(first, last)]
        if items <= MAX_PAIR_ITEMS:
            chosen = self.kept & (self.steps >= first) & (self.steps < last)
            lower, upper = (
                f(table.winners[chosen], table.losers[chosen]) for f in (np.minimum, np.maximum)
            )
            pairs = items * (items - 1) // 2
            place = lower * (2 * items - lower - 1) // 2 + upper - lower - 1
            cell = (self.steps[chosen] - first) * pairs + place
            number = np.bincount(cell, minlength=(last - first) * pairs)
            found.append(number.reshape(last - first, pairs))
        return np.hstack(found)

    def _wins_and_losses(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Wins and losses of each item in these steps, ``(last - first, m)`` each; ties are halves of both."""
        table, items = self.table, self.table.num_items
        chosen = self.kept & (self.steps >= first) & (self.steps < last)
        cell = (self.steps[chosen] - first) * items
        half = np.where(table.tied[chosen], 0.5, 1.0)
        size = (last - first) * items
        ahead, behind = cell + table.winners[chosen], cell + table.losers[chosen]
        won, lost = (
            np.bincount(one, half, minlength=size) + np.bincount(other, 1 - half, minlength=size)
            for one, other in ((ahead, behind), (behind, ahead))
        )
        return won.reshape(-1, items), lost.reshape(-1, items)

    def counted(self, first: int, last: int) -> list[Counted]:
        """What counts in the steps ``first``, ..., ``last`` - 1."""
        table, names = self.table, self.table.user_names
        order = np.flatnonzero(self.kept)
        order = order[np.argsort(self.steps[order], kind="stable")]
        ends = np.searchsorted(self.steps[order], np.arange(first, last + 1))
        found = []
        for place, (rows, fingerprint) in enumerate(self.fingerprints(first, last)):
            chosen = order[ends[place] : ends[place + 1]]
            used, met = {}, []
            if self.limit is not None:
                users, times = np.unique(table.users[chosen], return_counts=True)
                used = {_tag(names[user]): time for user, time in zip(users, times.tolist())}
            if self.pairs_are_public:
                pairs = np.sort(np.stack([table.winners[chosen], table.losers[chosen]], 1), axis=1)
                each, times = np.unique(pairs, axis=0, return_counts=True)
                met = np.column_stack([each, times]).tolist()
            found.append(Counted(rows, fingerprint, used, met))
        return found

    def fingerprints(self, first: int, last: int) -> list[tuple[int, str]]:
        """The number and a hash of all rows of each of these steps, whatever their order in the file."""
        table = self.table
        users, items = table.user_names, table.item_names
        rows: list[list[str]] = [[] for _ in range(first, last)]
        for row in np.flatnonzero((self.steps >= first) & (self.steps < last)).tolist():
            user = users[table.users[row]] if users else ""
            pair = items[table.winners[row]], items[table.losers[row]]
            cells = (str(self.times[row]), user, *pair, bool(table.tied[row]))
            rows[self.steps[row] - first].append(json.dumps(cells))
        return [
            (len(lines), hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest())
            for lines in rows
        ]

    def check_dates(self, schedule: Schedule) -> None:
        """Refuse rows before the first step, of which nothing is published yet."""
        if np.any(self.steps < 0):
            raise Refusal(
                f"{int((self.steps < 0).sum())} rows are dated before the start of the first step, "
                f"{day(schedule.starts[0])}: give an earlier --start, or leave these rows out."
            )

    def left_out(self, published: Sequence[Counted], schedule: Schedule) -> list[str]:
        """What of the file has no part in the steps, in words for the holder of the data."""
        told, name = [], self.table.name
        found = self.fingerprints(0, len(published))
        changed = [
            step
            for step, (one, now) in enumerate(zip(published, found))
            if (one.rows, one.fingerprint) != now
        ]
        if changed:
            first = changed[0]
            begin, end = (day(schedule.starts[first + k]) for k in (0, 1))
            told.append(
                f"{name}: rows dated in {len(changed)} of the {len(published)} published steps are not those that "
                f"were counted, first in step {first + 1} ({begin} to {end}), which had {published[first].rows} rows "
                f"and now has {found[first][0]}. What was published stays as it is: rows that are new there are left "
                "out of all steps, and rows that are gone or changed stay counted as they were."
            )
        early, late = int((self.steps < 0).sum()), int((self.steps >= schedule.steps).sum())
        if early:
            told.append(f"{name}: {early} rows are dated before the first step, and are left out.")
        if late:
            told.append(f"{name}: {late} rows are dated beyond the last step, and are left out.")
        return told


def pairs_met(counted: Sequence[Counted]) -> np.ndarray:
    """Rows of step, item, other, number: how often each pair was compared in each step, where that is public."""
    rows = [(step, *row) for step, one in enumerate(counted) for row in one.met]
    return np.array(rows, np.int64).reshape(-1, 4)


def _tag(user: str) -> str:
    """What the state keeps of a user's name."""
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_arrivals(request: Request, schedule: Schedule, items: list[str] | None) -> Arrivals:
    """Read the file, with the items of the state if there is one."""
    assert request.time is not None
    if several := given_columns(request, COUNTING):
        raise Refusal(
            f"{', '.join(several)}: a row is several comparisons, and --every reads the time of each: repeat the rows "
            "in the file instead."
        )
    by_user = request.unit == "user"
    roles = comparison_roles(request, request.items, by_user=by_user)
    if items is not None:
        roles["items"] = items
    roles["ignore"] = [*roles["ignore"], *found_columns(request.file, request.time)]
    table = datasets.read_comparisons(request.file, **shape_roles(request), **roles)
    say_reading(table, listed=roles["items"] is not None)
    check_rare_items(table, written=False)
    check_items(table.name, table.num_items, MAX_ITEMS, request.top_k)
    if by_user and not table.has_users:
        raise Refusal(
            f"{table.name} does not say who compared, so users can't be protected as a whole: name the column by "
            "--user, or protect single comparisons by --unit comparison."
        )
    times = read_times(request.file, request.time)
    steps = schedule.steps_of(times)
    found = Arrivals(
        table=table,
        times=times,
        steps=steps,
        limit=request.max_per_user if by_user else None,
        pairs_are_public=request.adjacency == "flip",
        kept=np.zeros(steps.size, bool),
    )
    return found.after(())


def _first_rows(users: np.ndarray, order: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Whether a row is among the first ones of its user.

    Args:
        users: user of each row.
        order: the rows that may be, in order of user and time.
        left: for each user, how many are.
    """
    kept = np.zeros(users.size, bool)
    fresh = np.diff(users[order], prepend=-1) != 0
    begin = np.maximum.accumulate(np.where(fresh, np.arange(order.size), 0))
    kept[order] = np.arange(order.size) - begin < left[users[order]]
    return kept

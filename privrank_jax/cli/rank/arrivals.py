"""Comparisons with times: which rows count at which step, and whether published steps have changed since.

Of each user the first L rows stay, in the order of their times: which of them stay depends on this user's rows alone,
and rows that arrive later change nothing that was published. Rows of one user with the same time are ordered by the
pair that they compare, so that a flipped answer doesn't decide which pairs stay; the order of rows in the file plays no
part.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path

import numpy as np

from privrank_jax import datasets
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.checks import check_items
from privrank_jax.cli.core.sources import (
    COUNTING,
    check_rare_items,
    comparison_roles,
    given_columns,
    say_reading,
    shape_roles,
)
from privrank_jax.cli.rank.input import MAX_ITEMS
from privrank_jax.cli.rank.request import Request
from privrank_jax.cli.rank.schedule import Schedule, day
from privrank_jax.datasets.row_times import read_times


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """Comparisons by the step in which they arrived.

    Attributes:
        table: as the loader read it.
        steps: ``(N,)`` step of each row, from 0; T for rows beyond the last step.
        order: rows in order of user, time and pair.
        kept: ``(N,)`` bool, whether a row is among the first L of its user.
    """

    table: datasets.ComparisonTable
    steps: np.ndarray
    order: np.ndarray
    kept: np.ndarray

    def totals(self, first: int, last: int) -> np.ndarray:
        """Wins of each item in the steps ``first``, ..., ``last`` - 1, ``(last - first, m)``."""
        table, items = self.table, self.table.num_items
        chosen = self.kept & (self.steps >= first) & (self.steps < last)
        cell = (self.steps[chosen] - first) * items
        half = np.where(table.tied[chosen], 0.5, 1.0)
        size = (last - first) * items
        won = np.bincount(cell + table.winners[chosen], half, minlength=size)
        lost = np.bincount(cell + table.losers[chosen], 1 - half, minlength=size)
        return (won + lost).reshape(last - first, items)

    def comparisons(self, last: int) -> np.ndarray:
        """How often each pair was compared before step ``last``, ``(m, m)``."""
        table, items = self.table, self.table.num_items
        chosen = self.kept & (self.steps < last)
        cell = table.winners[chosen].astype(np.int64) * items + table.losers[chosen]
        met = np.bincount(cell, minlength=items * items).reshape(items, items).astype(float)
        return met + met.T

    def fingerprints(self, last: int, times: np.ndarray) -> list[str]:
        """A hash of all rows of each step before ``last``, whatever their order in the file."""
        table = self.table
        users, items = table.user_names, table.item_names
        rows: list[list[str]] = [[] for _ in range(last)]
        for row in np.flatnonzero((self.steps >= 0) & (self.steps < last)).tolist():
            user = users[table.users[row]] if users else ""
            pair = items[table.winners[row]], items[table.losers[row]]
            cells = (str(times[row]), user, *pair, bool(table.tied[row]))
            rows[self.steps[row]].append(json.dumps(cells))
        return [hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest() for lines in rows]


def read_arrivals(
    request: Request, schedule: Schedule, items: list[str] | None
) -> tuple[Arrivals, np.ndarray]:
    """Read the file, with the items of the state if there is one; also returns the time of each row."""
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
    table = datasets.read_comparisons(
        request.file, ignore=(request.time,), **shape_roles(request), **roles
    )
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
    if np.any(steps < 0):
        raise Refusal(
            f"{int((steps < 0).sum())} rows are dated before the start of the first step, {day(schedule.starts[0])}: "
            "give an earlier --start, or leave these rows out."
        )
    limit = request.max_per_user if by_user else None
    order = np.lexsort(
        (
            np.maximum(table.winners, table.losers),
            np.minimum(table.winners, table.losers),
            times,
            table.users,
        )
    )
    return Arrivals(table, steps, order, _first_rows(table.users, order, limit)), times


def _first_rows(users: np.ndarray, order: np.ndarray, limit: int | None) -> np.ndarray:
    """Whether a row is among the first ``limit`` of its user."""
    kept = np.ones(users.size, bool)
    if limit is not None:
        fresh = np.diff(users[order], prepend=-1) != 0
        begin = np.maximum.accumulate(np.where(fresh, np.arange(users.size), 0))
        kept[order] = np.arange(users.size) - begin < limit
    return kept


def check_unchanged(
    published: list[str], found: list[str], schedule: Schedule, state: Path
) -> None:
    """Refuse rows that were added to published steps, taken from them, or changed."""
    changed = [step for step, (one, other) in enumerate(zip(published, found)) if one != other]
    if changed:
        begin, end = (day(schedule.starts[changed[0] + k]) for k in (0, 1))
        raise Refusal(
            f"rows dated in {len(changed)} of the {len(published)} published steps are not those that were counted, "
            f"first in step {changed[0] + 1} ({begin} to {end}): what was published can't be drawn again. Leave late "
            f"rows out, or date them in a step that {state.name} has not published."
        )

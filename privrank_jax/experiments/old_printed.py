"""Comparison with the values printed in a paper: columns of a table, and claims on them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.old_claims import ENOUGH, SLACK, WORDS, Claim, Verdict, Wanted
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row


@dataclass(frozen=True)
class Printed:
    """Cells of a printed table.

    Attributes:
        columns: the columns that identify a cell.
        cells: from values of those columns to (mean, standard error of the mean).
    """

    columns: tuple[str, ...]
    cells: Mapping[tuple[Any, ...], tuple[float, float]]


def beside(
    config: object,
    rows: list[Row],
    *,
    printed: Printed,
    least: bool = True,
    where: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Add ``printed``, ``printed_standard_error`` (NaN where the paper prints nothing) and ``verdict`` to the rows.

    Args:
        config: not used; part of the signature of functions that annotate rows.
        rows: rows of a table.
        printed: the cells of the paper.
        least: whether a smaller mean is better.
        where: selection of the rows that are compared with printed ones; None for all.
    """
    del config
    nothing = Printed(printed.columns, {})
    return [
        {**row, **_beside(row, printed if claims.matches(row, where or {}) else nothing, least)}
        for row in rows
    ]


def _beside(row: Row, printed: Printed, least: bool) -> Row:
    cell = tuple(row.get(column) for column in printed.columns)
    cell = cell if cell in printed.cells else tuple("-" if c == "BTL" else c for c in cell)
    mean, error = printed.cells.get(cell, (math.nan, math.nan))
    return {
        "printed": mean,
        "printed_standard_error": error,
        "verdict": verdict({**row, "printed": mean, "printed_standard_error": error}, least),
    }


def excess(row: Row, least: bool = True) -> float:
    """By how many standard errors (of both, combined) the mean is on the wrong side of the printed one."""
    gap = row["mean"] - row["printed"] if least else row["printed"] - row["mean"]
    error = math.hypot(row["standard_error"], row["printed_standard_error"])
    if error > 0:
        return gap / error
    return 0.0 if abs(gap) < 1e-9 else math.copysign(math.inf, gap)


def verdict(row: Row, least: bool) -> str:
    """The verdict on a row: is ours not worse than the printed value? Empty where nothing is printed.

    Undecided below ``ENOUGH`` replicates, as claims are.
    """
    if not math.isfinite(row["printed"]):
        return ""
    if not math.isfinite(row["standard_error"]) or row["replicates"] < ENOUGH:
        return WORDS[None]
    return WORDS[excess(row, least) <= SLACK]


def beside_printed(text: str, least: bool = True, **wanted: Wanted) -> Claim:
    """Claim: every printed cell is met, i.e. ours is not worse by more than 3 combined standard errors."""
    found = claims.claim(text, _met, least=least, wanted=wanted)
    return dataclasses.replace(found, of_printed=True)


def _met(table: StudyResult, *, least: bool, wanted: Mapping[str, Any]) -> Verdict:
    rows = [row for row in claims.selected(table.rows, wanted) if row["verdict"]]
    judged = [row for row in rows if math.isfinite(row["standard_error"])]
    if not judged:
        return Verdict(None, "no printed cell ran with enough replicates")
    failing = [row for row in judged if excess(row, least) > SLACK]
    failing.sort(key=lambda row: -excess(row, least))
    ratios = sorted(r["mean"] / r["printed"] for r in judged if r["printed"] > 0)
    better = sum(excess(r, least) < -SLACK for r in judged)
    evidence = f"{len(judged) - len(failing)} of {len(judged)} cells; {better} better by more than {SLACK:g} SE"
    if ratios:
        evidence += f"; ours over printed: median {ratios[len(ratios) // 2]:.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}"
    worst = [
        f"{_cell(r)}: {r['mean']:.4f} against {r['printed']:.4f} ({excess(r, least):+.1f} SE)"
        for r in failing
    ]
    if worst:
        more = f"; and {len(worst) - 6} more" if len(worst) > 6 else ""
        evidence += ". Not met: " + "; ".join(worst[:6]) + more
    return Verdict(not failing, evidence)


def _cell(row: Row) -> str:
    known = ("link", "scheme", "gap", "estimator", "num_items", "num_users")
    return ", ".join(f"{c} {row[c]}" for c in known if row.get(c) not in (None, ""))


def beside_blocks(
    what: str, blocks: Iterable[tuple[str, Mapping[str, Any]]], least: bool = True
) -> tuple[Claim, ...]:
    """One :func:`beside_printed` claim per block; a block is a text and the column values of its rows."""
    return tuple(beside_printed(f"{what}: {text}", least, **wanted) for text, wanted in blocks)

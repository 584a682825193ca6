"""Tables of studies: tidy rows, printed values beside ours, and claims on them.

A metric of a trial is named ``metric|column=value|...``; :func:`tidy` turns the pairs into columns and puts the
printed mean and a verdict beside each cell that the paper prints.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from privrank_jax.experiments import verdicts
from privrank_jax.experiments.registry import Claim, Verdict
from privrank_jax.simulate.result import Row, StudyResult
from privrank_jax.simulate.study import Study, grid

SLACK = verdicts.SLACK
HOLDS, FAILS, UNDECIDED = "holds", "does not hold", "undecided"
_TAIL = ("mean", "standard_error", "replicates", "nonfinite")


@dataclass(frozen=True)
class Printed:
    """Cells of a printed table.

    Attributes:
        columns: what names a cell.
        cells: values of those columns to (mean, standard error of the mean).
    """

    columns: tuple[str, ...]
    cells: Mapping[tuple[Any, ...], tuple[float, float]]


def padded(config: Any, trial: Callable[..., Any], **columns: Sequence[int]) -> tuple[Study, ...]:
    """One study, one compilation: a cell per combination, each column ``num_x`` padded to its largest, ``max_x``."""
    most = {column.replace("num_", "max_"): max(values) for column, values in columns.items()}
    run = functools.partial(trial, config=config)
    return (Study(config.name, run, grid(**columns, **most), static=tuple(most)),)


def name(metric: str, **columns: Any) -> str:
    """The name of a metric with the columns of its row.

    >>> name("l2_error", link="BTL", num_users=100)
    'l2_error|link=BTL|num_users=100'
    """
    return "|".join([metric, *(f"{column}={value}" for column, value in columns.items())])


def tidy(
    config: Any,
    rows: Sequence[Row],
    *,
    printed: Printed | None = None,
    least: bool = True,
    where: Callable[[Row], bool] | None = None,
) -> list[Row]:
    """Rows with the columns of their names, and beside them what the paper prints.

    Args:
        config: not used.
        rows: of the engine.
        printed: its cells; every row gets ``printed``, ``printed_standard_error`` (NaN where the paper prints
            nothing) and ``verdict``.
        least: whether a smaller mean is better.
        where: which rows stand beside printed ones; None: all.
    """
    del config
    parted = [_parted(row) for row in rows]
    columns = list(dict.fromkeys(c for row in parted for c in row if c not in (*_TAIL, "metric")))
    blank = {c: _blank(next(row[c] for row in parted if c in row)) for c in columns}
    result = []
    for row in parted:
        line = {c: row.get(c, blank[c]) for c in columns}
        line = {**line, "metric": row["metric"], **{c: row[c] for c in _TAIL}}
        line.setdefault("estimator", "")
        if printed is not None:
            cells = printed.cells if where is None or where(line) else {}
            line.update(_beside(line, Printed(printed.columns, cells), least))
        result.append(line)
    return result


def _parted(row: Row) -> Row:
    metric, *pairs = row["metric"].split("|")
    found = {c: v for c, v in row.items() if c != "metric" and not c.startswith("max_")}
    for pair in pairs:
        column, value = pair.split("=")
        found[column] = _number(value)
    return {**found, "metric": metric}


def _number(word: str) -> Any:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _blank(example: Any) -> Any:
    return "" if isinstance(example, str) else math.nan


def _beside(row: Row, printed: Printed, least: bool) -> Row:
    cell = tuple(row.get(column) for column in printed.columns)
    cell = cell if cell in printed.cells else tuple("-" if c == "BTL" else c for c in cell)
    mean, error = printed.cells.get(cell, (math.nan, math.nan))
    return {
        "printed": mean,
        "printed_standard_error": error,
        "verdict": _verdict({**row, "printed": mean, "printed_standard_error": error}, least),
    }


def excess(row: Row, least: bool = True) -> float:
    """By how many standard errors (both) the mean is on the wrong side of the printed one."""
    gap = row["mean"] - row["printed"] if least else row["printed"] - row["mean"]
    error = math.hypot(row["standard_error"], row["printed_standard_error"])
    if error > 0:
        return gap / error
    return 0.0 if abs(gap) < 1e-9 else math.copysign(math.inf, gap)


def _verdict(row: Row, least: bool) -> str:
    if not math.isfinite(row["printed"]):
        return ""
    if not math.isfinite(row["standard_error"]):
        return UNDECIDED
    return HOLDS if excess(row, least) <= SLACK else FAILS


def beside_printed(
    text: str, least: bool = True, where: Callable[[Row], bool] | None = None
) -> Claim:
    """Claim: every printed cell is met: ours is not worse by more than 3 standard errors of both."""
    return verdicts.claim(text, _met, least=least, where=where)


def _met(table: StudyResult, *, least: bool, where: Callable[[Row], bool] | None) -> Verdict:
    rows = [r for r in table.rows if r["verdict"] and (where is None or where(r))]
    judged = [r for r in rows if r["verdict"] != UNDECIDED]
    if not judged:
        return Verdict(None, "no printed cell ran with enough replicates")
    failing = sorted((r for r in judged if r["verdict"] == FAILS), key=lambda r: -excess(r, least))
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
    return tuple(
        beside_printed(f"{what}: {text}", least, functools.partial(matches, wanted=wanted))
        for text, wanted in blocks
    )


def matches(row: Row, wanted: Mapping[str, Any]) -> bool:
    """Whether the row has these column values."""
    return all(row.get(column) == value for column, value in wanted.items())


def trend(text: str, x: str, sign: int, metrics: Sequence[str], **wanted: Any) -> Claim:
    """Claim: every curve of these metrics goes up (``sign`` 1) or down (-1) with x."""
    return verdicts.claim(text, _trend, x=x, sign=sign, metrics=tuple(metrics), wanted=wanted)


def _trend(
    table: StudyResult, *, x: str, sign: int, metrics: Sequence[str], wanted: Mapping[str, Any]
) -> Verdict:
    curves = [(row["metric"], row["estimator"]) for row in table.rows if row["metric"] in metrics]
    where = functools.partial(matches, wanted=wanted)
    return verdicts.trend(table, x=x, sign=sign, curves=curves, calibration=None, where=where)


def paired(text: str, difference: str, metrics: Sequence[str], **wanted: Any) -> Claim:
    """Claim: the paired difference of two errors, named ``"A minus B"``, is positive: B is the better."""
    return verdicts.claim(
        text, _paired, difference=difference, metrics=tuple(metrics), wanted=wanted
    )


def _paired(
    table: StudyResult, *, difference: str, metrics: Sequence[str], wanted: Mapping[str, Any]
) -> Verdict:
    rows = [
        row
        for row in table.rows
        if row["estimator"] == difference and row["metric"] in metrics and matches(row, wanted)
    ]
    rows = [row for row in rows if row["standard_error"] > 0]
    if not rows:
        return Verdict(None, "no such cells, or one replicate only")
    scores = [row["mean"] / row["standard_error"] for row in rows]
    evidence = "; ".join(
        f"{row['metric']} {row.get('link', '')} {row['mean']:+.4f} ± {row['standard_error']:.4f} (t = {t:.1f})"
        for row, t in zip(rows, scores, strict=True)
    )
    if all(score > SLACK for score in scores):
        return Verdict(True, evidence)
    return Verdict(False if any(score < -SLACK for score in scores) else None, evidence)

"""Claims and their verdicts on a table, with a stated allowance for chance.

Two means are called different if they are more than ``SLACK`` = 3 standard errors (SE) apart: of 370 comparisons of
equal means, one is expected to be called different by chance. Standard errors of differences are pooled as if
independent; common random numbers usually make the true ones smaller, so this errs toward "can't tell".
Differences between two estimators (:func:`minus`) are metrics of their own, with their own (paired) standard errors.
Below ``ENOUGH`` replicates every claim is undecided, as standard errors are then too rough.

Every verb (:func:`falls`, :func:`rises`, :func:`beats`, :func:`nearer`, :func:`close_to`, :func:`close_to_printed`,
:func:`below`, :func:`above`) takes the text of the claim and a *selection* of rows: columns with a value, a tuple of
values, or a condition on the value. It writes the evidence. :func:`claim` takes a function of the table instead.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from privrank_jax.simulate.axes import Label
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

SLACK = 3.0
ENOUGH = 30  # replicates
NEGLIGIBLE = 0.01  # a difference between two errors, or their ranks, below this counts as none
_NAN = math.nan
BESIDE = {
    **{"printed": _NAN, "printed_standard_error": _NAN, "verdict": ""},
    **{"printed_t_statistic": _NAN, "printed_p_value": _NAN},
}
"""Columns of printed values, and what stands there where nothing is printed."""
VALUES = (
    *("mean", "standard_error", "replicates", "nonfinite", *BESIDE),
    *("t_statistic", "p_value", "bound", "bound_probability", "rate"),
)
_ROUNDING = 1e-6  # of float32 metrics
_SHOWN = 3  # exceptions that the evidence lists

Wanted = Label | None | tuple[Label | None, ...] | Callable[[Any], bool]
"""The value of a column, any of several, or a condition, that selects rows."""
Where = Mapping[str, Wanted]
Limit = float | str | Callable[[Row], float]
"""A number, a column, or a function of the row."""

WORDS = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True)
class Verdict:
    """The verdict of the replicates on a claim.

    Attributes:
        holds: True, False, or None if the replicates can't tell or the cells that the claim needs did not run.
        evidence: the figures behind the verdict, with standard errors and the slack allowed.
    """

    holds: bool | None
    evidence: str

    @property
    def word(self) -> str:
        """``holds``, ``does not hold`` or ``undecided``."""
        return WORDS[self.holds]


NO_CELLS = Verdict(None, "no such cells, or one replicate only")


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, or one of ours, and its check against a table.

    Attributes:
        text: the claim.
        check: pure function of the table.
        of_printed: whether it compares with printed values, which hold for the published parameters only.
    """

    text: str
    check: Callable[[StudyResult], Verdict]
    of_printed: bool = False


def claim(
    text: str, judge: Callable[..., Verdict], *, printed: bool = False, **facts: Any
) -> Claim:
    """Make a claim whose check is ``judge(table, **facts)``, undecided below ``ENOUGH`` replicates."""

    def check(table: StudyResult) -> Verdict:
        verdict = judge(table, **facts)
        fewest = min((row["replicates"] for row in table.rows), default=0)
        few = f"replicates: {fewest}, but a verdict needs {ENOUGH}. {verdict.evidence}"
        return verdict if fewest >= ENOUGH else Verdict(None, few)

    return Claim(text, check, printed)


# --- rows ----------------------------------------------------------------------------------------


def minus(one: str, other: str) -> str:
    """Return the estimator name of a paired difference in a table.

    >>> minus("mle", "counts")
    'mle minus counts'
    """
    return f"{one} minus {other}"


def with_differences(values: Mapping[str, Any], pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Add the paired differences, first minus second, of those pairs of which both are there."""
    there = [(one, other) for one, other in pairs if one in values and other in values]
    return {**values, **{minus(one, other): values[one] - values[other] for one, other in there}}


def is_difference(row: Row) -> bool:
    """Whether the row holds a paired difference of two estimators; see :func:`minus`."""
    return " minus " in (row["estimator"] or "")


def selected(rows: Iterable[Row], where: Where) -> list[Row]:
    """The rows of a selection."""

    def chosen(value: Any, wanted: Any) -> bool:
        if callable(wanted):
            return bool(wanted(value))
        return value in wanted if isinstance(wanted, tuple) else value == wanted

    return [row for row in rows if all(chosen(row.get(c), value) for c, value in where.items())]


def groups(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of these columns."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found


def curves(rows: Sequence[Row], x: str) -> dict[str, list[Row]]:
    """Group rows by all columns but x, sorted by x; the name of each group lists the columns that vary."""
    columns = [c for c in (rows[0] if rows else {}) if c != x and c not in VALUES]
    varying = [c for c in columns if len({row[c] for row in rows}) > 1]
    found = groups(sorted(rows, key=lambda row: row[x]), *varying)
    return {
        ", ".join(map(_spelled, varying, at)) or "the curve": held for at, held in found.items()
    }


# --- verbs ---------------------------------------------------------------------------------------


def falls(text: str, x: str, **where: Wanted) -> Claim:
    """Claim: every curve of the selection goes down with x.

    A curve complies if its ends differ by more than ``SLACK`` standard errors in that direction and no step between
    neighbors goes the other way by more than that. It refutes if such a step, or the whole curve, does go the other
    way. The claim holds if no curve refutes it and at least three quarters comply; the rest are too flat to tell.
    """
    return claim(text, _trend, x=x, sign=-1, where=where)


def rises(text: str, x: str, **where: Wanted) -> Claim:
    """Claim: every curve of the selection goes up with x; see :func:`falls`."""
    return claim(text, _trend, x=x, sign=1, where=where)


def _trend(table: StudyResult, x: str, sign: int, where: Where) -> Verdict:
    found = curves(selected(table.rows, where), x)
    found = {name: points for name, points in found.items() if len(points) > 1}
    if not found:
        return Verdict(None, f"fewer than two values of {x}")
    complying, flat, refuting, worst = 0, [], [], 0.0
    for name, points in found.items():
        against = max(-sign * _apart(b, a) for a, b in itertools.pairwise(points))
        overall = sign * _apart(points[-1], points[0])
        worst = max(worst, against)
        ends = (f"{p['mean']:.4f} ± {p['standard_error']:.4f}" for p in (points[0], points[-1]))
        line = (
            f"{name} {' to '.join(ends)} ({overall:+.1f} SE, worst step {-max(against, 0):+.1f} SE)"
        )
        if against > SLACK or overall < -SLACK:
            refuting.append(line)
        elif overall > SLACK:
            complying += 1
        else:
            flat.append(line)
    evidence = (
        f"{complying} of {len(found)} curves {'rise' if sign > 0 else 'fall'} from end to end by more than {SLACK:g} "
        f"standard errors (SE) with no step against it by more than {SLACK:g} SE (largest: {worst:.1f})"
    )
    holds = False if refuting else (True if 4 * complying >= 3 * len(found) else None)
    evidence += _listed("Against it", refuting) + _listed("Too flat to tell", flat)
    return Verdict(holds, evidence)


def beats(
    text: str, difference: str, cells: str = "all", least: float = 0.0, **where: Wanted
) -> Claim:
    """Claim: the paired difference of two estimators (:func:`minus`) is positive.

    It is refuted by one cell below zero by more than ``SLACK`` SE and ``least``. It holds if as many are above zero as
    ``cells`` says: ``"all"``, ``"half"`` of them or ``"some"``; half is out of reach, and the claim refuted, if too few
    are unclear, i.e. neither above nor within ±``NEGLIGIBLE``, ``SLACK`` SE included.
    """
    where = {"estimator": difference, **where}
    return claim(text, _positive, cells=cells, least=least, where=where)


def _positive(table: StudyResult, cells: str, least: float, where: Where) -> Verdict:
    rows = [r for r in selected(table.rows, where) if math.isfinite(r["standard_error"])]
    if not rows:
        return NO_CELLS
    counts = Counter(_outcome(row, least) for row in rows)
    largest, smallest = (pick(rows, key=lambda row: row["mean"]) for pick in (max, min))
    beyond = f"{SLACK:g} SE" + f" and {least:g}" * (least > 0)
    evidence = (
        f"{where['estimator']}: above zero in {counts['won']} and below in {counts['lost']} of {len(rows)} cells (by "
        f"more than {beyond}), no difference beyond {NEGLIGIBLE:g} in {counts['none']}; largest {_at(largest)}, "
        f"smallest {_at(smallest)}"
    )
    reached = counts["won"] + counts["unclear"]
    if counts["lost"] or (cells == "half" and 2 * reached < len(rows)):
        return Verdict(False, evidence)
    needed = {"all": len(rows), "half": len(rows) / 2, "some": 1}[cells]
    return Verdict(True if counts["won"] >= needed else None, evidence)


def _outcome(row: Row, least: float) -> str:
    """``won``, ``lost``, ``none`` or ``unclear``, from a paired difference."""
    clear = max(least, SLACK * row["standard_error"], _ROUNDING)
    if abs(row["mean"]) > clear:
        return "won" if row["mean"] > 0 else "lost"
    return "none" if abs(row["mean"]) + SLACK * row["standard_error"] < NEGLIGIBLE else "unclear"


def nearer(text: str, paired: str | tuple[str, ...], **where: Wanted) -> Claim:
    """Claim: an error tends to be nearer to that at one end than to that at another, by paired differences of gaps.

    The difference is the far gap less the near one. The claim holds if it is above zero by more than ``SLACK`` SE in at
    least three quarters of the cells, and does not hold if it is below in more than a quarter.

    Args:
        text: the claim.
        paired: names of the estimators whose rows hold the far gap less the near one.
        where: the selection.
    """
    return claim(text, _nearer, where={"estimator": paired, **where})


def _nearer(table: StudyResult, where: Where) -> Verdict:
    rows = selected(table.rows, where)
    if not rows:
        return NO_CELLS
    scores = [in_errors(row["mean"], row["standard_error"]) for row in rows]
    yes, no = sum(score > SLACK for score in scores), sum(score < -SLACK for score in scores)
    evidence = (
        f"of {len(rows)} cells, nearer in {yes} and farther in {no} by more than {SLACK:g} SE"
    )
    if 4 * yes >= 3 * len(rows):
        return Verdict(True, evidence)
    return Verdict(False if 4 * no > len(rows) else None, evidence)


def close_to(
    text: str, exact: Limit, slack: float = SLACK, rare: float = 0.0, **where: Wanted
) -> Claim:
    """Claim: every mean is within so many standard errors, and ``rare``/replicates, of the exact value.

    The second term allows for events so rare that no replicate may show them, whose standard error is then 0.
    """
    return claim(text, _bounded, sign=0, limit=exact, slack=slack, rare=rare, where=where)


def below(text: str, limit: Limit, slack: float = SLACK, **where: Wanted) -> Claim:
    """Claim: every mean is at most its limit, within ``slack`` standard errors; cells without a limit are left out."""
    return claim(text, _bounded, sign=1, limit=limit, slack=slack, where=where)


def above(text: str, limit: Limit, slack: float = SLACK, **where: Wanted) -> Claim:
    """Claim: every mean is at least its limit, within ``slack`` standard errors; cells without a limit are left out."""
    return claim(text, _bounded, sign=-1, limit=limit, slack=slack, where=where)


def _bounded(
    table: StudyResult, sign: int, limit: Limit, slack: float, where: Where, rare: float = 0.0
) -> Verdict:
    rows = selected(table.rows, where)
    limits = [
        limit(r) if callable(limit) else r[limit] if isinstance(limit, str) else limit for r in rows
    ]
    found = [(row, value) for row, value in zip(rows, limits, strict=True) if math.isfinite(value)]
    if not found:
        return NO_CELLS

    def over(one: tuple[Row, float]) -> float:
        gap = one[0]["mean"] - one[1]
        allowed = slack * one[0]["standard_error"] + rare / one[0]["replicates"]
        return (sign * gap if sign else abs(gap)) - allowed

    wrong = sum(over(one) > 0 for one in found)
    worst, value = max(found, key=over)
    what = {0: "close to their exact values", 1: "at most their limit", -1: "at least their limit"}
    return Verdict(
        not wrong,
        f"{len(found) - wrong} of {len(found)} cells are {what[sign]} (slack {slack:g} SE); the one nearest to it or "
        f"farthest beyond: {_at(worst)} against {value:.4g}",
    )


# --- printed tables ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Printed:
    """A printed table.

    Attributes:
        columns: the columns that identify a cell.
        cells: from values of those columns to (mean, standard error of the mean).
        least: whether a smaller mean is better.
        where: selection of the rows that are compared with it.
    """

    columns: tuple[str, ...]
    cells: Mapping[tuple[Any, ...], tuple[float, float]]
    least: bool = True
    where: Where = field(default_factory=dict)


def beside(rows: list[Row], printed: Printed) -> Iterator[Row]:
    """Add ``printed``, ``printed_standard_error`` (NaN where the paper prints nothing) and ``verdict`` to the rows."""
    chosen = {id(row) for row in selected(rows, printed.where)}
    for row in rows:
        cell = tuple(row.get(column) for column in printed.columns)
        cell = cell if cell in printed.cells else tuple("-" if c == "BTL" else c for c in cell)
        mean, error = printed.cells.get(cell, (_NAN,) * 2) if id(row) in chosen else (_NAN,) * 2
        found = {**row, "printed": mean, "printed_standard_error": error, "verdict": ""}
        if math.isfinite(mean):
            undecided = not math.isfinite(row["standard_error"]) or row["replicates"] < ENOUGH
            found["verdict"] = WORDS[None if undecided else excess(found, printed.least) <= SLACK]
        yield found


def excess(row: Row, least: bool = True) -> float:
    """By how many standard errors (of both, combined) the mean is on the wrong side of the printed one."""
    gap = row["mean"] - row["printed"] if least else row["printed"] - row["mean"]
    return in_errors(gap, math.hypot(row["standard_error"], row["printed_standard_error"]))


def close_to_printed(text: str, least: bool = True, **where: Wanted) -> Claim:
    """Claim: ours is in no printed cell worse by more than ``SLACK`` combined standard errors."""
    return claim(text, _met, printed=True, least=least, where=where)


def _met(table: StudyResult, least: bool, where: Where) -> Verdict:
    rows = [
        r
        for r in selected(table.rows, where)
        if r["verdict"] and math.isfinite(r["standard_error"])
    ]
    if not rows:
        return Verdict(None, "no printed cell ran with enough replicates")
    failing = [row for row in rows if excess(row, least) > SLACK]
    failing.sort(key=lambda row: -excess(row, least))
    ratios = sorted(row["mean"] / row["printed"] for row in rows if row["printed"] > 0)
    better = sum(excess(row, least) < -SLACK for row in rows)
    evidence = f"{len(rows) - len(failing)} of {len(rows)} cells; {better} better by more than {SLACK:g} SE"
    if ratios:
        evidence += f"; ours over printed: median {ratios[len(ratios) // 2]:.2f}, {ratios[0]:.2f} to {ratios[-1]:.2f}"
    worst = [f"{_at(r)} against {r['printed']:.4f} ({excess(r, least):+.1f} SE)" for r in failing]
    return Verdict(not failing, evidence + _listed("Not met", worst))


# --- figures in words ----------------------------------------------------------------------------


def in_errors(difference: float, error: float) -> float:
    """A difference in standard errors; 0 where it is rounding, infinite where the error is 0."""
    if abs(difference) < _ROUNDING:
        return 0.0
    if error > 0:
        return difference / error
    return 0.0 if math.isnan(error) else math.copysign(math.inf, difference)


def _apart(a: Row, b: Row) -> float:
    """(mean of a - mean of b) in pooled standard errors."""
    return in_errors(a["mean"] - b["mean"], math.hypot(a["standard_error"], b["standard_error"]))


def _spelled(column: str, value: object) -> str:
    if column == "epsilon":
        return "no privacy" if value == math.inf else f"ε = {value:.3g}"
    if isinstance(value, str):
        return value
    return f"{column} = {value:g}" if isinstance(value, float) else f"{column} = {value}"


def _cell(row: Row) -> str:
    told = (_spelled(c, v) for c, v in sorted(row.items()) if c not in VALUES and v is not None)
    return ", ".join(told)


def _at(row: Row) -> str:
    return f"{row['mean']:.4g} ± {row['standard_error']:.2g} ({_cell(row)})"


def _listed(heading: str, lines: list[str]) -> str:
    if not lines:
        return ""
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f". {heading}: {'; '.join(lines[:_SHOWN])}{more}"

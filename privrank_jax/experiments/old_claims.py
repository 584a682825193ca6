"""Checks of claims against a table, with a stated allowance for chance.

Two means are called different if they are more than ``SLACK`` = 3 standard errors (SE) apart: of 370 comparisons of
equal means, one is expected to be called different by chance. Standard errors of differences are pooled as if
independent; common random numbers usually make the true ones smaller, so this errs toward "can't tell".
Differences between two estimators (:func:`minus`) are metrics of their own, with their own (paired) standard errors.
Below ``ENOUGH`` replicates every claim is undecided, as standard errors are then too rough.

A *selection* of rows is a mapping from columns to values; a tuple of values selects any of them.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from privrank_jax.simulate.axes import Label
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

SLACK = 3.0
ENOUGH = 30  # replicates
NEGLIGIBLE = 0.01  # a difference between two errors, or their ranks, below this counts as none
VALUES = (
    *("mean", "standard_error", "replicates", "nonfinite"),
    *("printed", "printed_standard_error", "verdict"),
    *("t_statistic", "printed_t_statistic", "p_value", "printed_p_value"),
    *("bound", "bound_probability", "rate"),
)
_ROUNDING = 1e-6  # of float32 metrics
_SHOWN = 3  # exceptions that the evidence lists

Where = Callable[[Row], bool]
Wanted = Label | None | tuple[Label | None, ...]
"""The value of a column, or any of several, that selects rows."""


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


def claim(text: str, check: Callable[..., Verdict], **arguments: object) -> Claim:
    """Make a claim whose check is ``check(table, **arguments)``, undecided below ``ENOUGH`` replicates."""
    return Claim(text, functools.partial(_judged, check=check, **arguments))


def _judged(table: StudyResult, *, check: Callable[..., Verdict], **arguments: object) -> Verdict:
    verdict = check(table, **arguments)
    fewest = min((row["replicates"] for row in table.rows), default=0)
    if fewest >= ENOUGH:
        return verdict
    return Verdict(None, f"replicates: {fewest}, but a verdict needs {ENOUGH}. {verdict.evidence}")


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


def matches(row: Row, wanted: Mapping[str, Wanted]) -> bool:
    """Whether the row belongs to this selection."""
    return all(
        row.get(column) in value if isinstance(value, tuple) else row.get(column) == value
        for column, value in wanted.items()
    )


def selected(
    rows: Iterable[Row], wanted: Mapping[str, Wanted], where: Where | None = None
) -> list[Row]:
    """The rows of a selection for which ``where`` is true."""
    return [row for row in rows if matches(row, wanted) and (where is None or where(row))]


def groups(rows: Iterable[Row], *columns: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of these columns."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return found


def curves(rows: Iterable[Row], x: str) -> dict[str, list[Row]]:
    """Group rows by all columns but x, sorted by x; the name of each group lists the columns that vary."""
    rows = list(rows)
    columns = [c for c in (rows[0] if rows else {}) if c != x and c not in VALUES]
    varying = [c for c in columns if len({row[c] for row in rows}) > 1]
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[x]):
        name = ", ".join(_spelled(column, row[column]) for column in varying) or "the curve"
        found.setdefault(name, []).append(row)
    return found


# --- trends --------------------------------------------------------------------------------------


def trend(text: str, x: str, sign: int, *, where: Where | None = None, **wanted: Wanted) -> Claim:
    """Claim: every curve of the selection goes up (``sign`` 1) or down (-1) with x."""
    return claim(text, judge_trend, x=x, sign=sign, wanted=wanted, where=where)


def judge_trend(
    table: StudyResult,
    *,
    x: str,
    sign: int,
    wanted: Mapping[str, Wanted],
    where: Where | None = None,
) -> Verdict:
    """Does every curve go up (``sign`` 1) or down (-1) with x?

    A curve complies if its ends differ by more than ``SLACK`` standard errors in the direction of ``sign``
    and no step between neighbors goes the other way by more than that. It refutes if such a step, or
    the whole curve, does go the other way. The claim holds if no curve refutes it and at least three
    quarters comply; the rest are too flat to tell.
    """
    found = curves(selected(table.rows, wanted, where), x)
    found = {name: points for name, points in found.items() if len(points) > 1}
    if not found:
        return Verdict(None, f"fewer than two values of {x}")
    complying, flat, refuting, worst = 0, [], [], 0.0
    for name, points in found.items():
        against = max(-sign * _apart(b, a) for a, b in itertools.pairwise(points))
        overall = sign * _apart(points[-1], points[0])
        worst = max(worst, against)
        line = (
            f"{name} {_figure(points[0])} to {_figure(points[-1])} ({overall:+.1f} SE, worst step "
            f"{-max(against, 0):+.1f} SE)"
        )
        if against > SLACK or overall < -SLACK:
            refuting.append(line)
        elif overall > SLACK:
            complying += 1
        else:
            flat.append(line)
    verb = "rise" if sign > 0 else "fall"
    evidence = (
        f"{complying} of {len(found)} curves {verb} from end to end by more than {SLACK:g} standard errors (SE) "
        f"with no step against it by more than {SLACK:g} SE (largest: {worst:.1f})"
    )
    enough = 4 * complying >= 3 * len(found)
    holds = False if refuting else (True if enough else None)
    evidence = _with_list(evidence, "Against it", refuting)
    return Verdict(holds, _with_list(evidence, "Too flat to tell", flat))


# --- paired differences --------------------------------------------------------------------------


def better(
    text: str,
    difference: str,
    *,
    private: bool | None = None,
    where: Where | None = None,
    **wanted: Wanted,
) -> Claim:
    """Claim: a paired difference of two errors is positive, so the second is better; see :func:`judge_better`."""
    wanted = {"estimator": difference, **wanted}
    return claim(text, judge_better, wanted=wanted, private=private, where=where)


def judge_better(
    table: StudyResult,
    *,
    wanted: Mapping[str, Wanted],
    private: bool | None = None,
    where: Where | None = None,
) -> Verdict:
    """Is the paired difference of two errors positive, i.e. is the second estimator better?

    In each cell the second wins or loses (by more than ``SLACK`` SE), or there is no difference (it lies, ``SLACK`` SE
    included, within ±``NEGLIGIBLE``), or it is unclear. The claim holds if the second wins in at least half of the
    cells and loses in none; it does not hold if the second loses in one, or can no longer win in half of them.
    """
    rows = selected(table.rows, wanted, where)
    if private is not None:
        rows = [row for row in rows if math.isfinite(row["epsilon"]) == private]
    rows = [row for row in rows if math.isfinite(row["standard_error"])]
    if not rows:
        return Verdict(None, "no such cells, or one replicate only")
    counts = collections.Counter(map(_outcome, rows))
    ends = [max(rows, key=lambda row: row["mean"]), min(rows, key=lambda row: row["mean"])]
    mean = sum(row["mean"] for row in rows) / len(rows)
    evidence = (
        f"{wanted['estimator']} in {len(rows)} cells: better in {counts['won']}, worse in {counts['lost']} (by more "
        f"than {SLACK:g} SE), no difference beyond {NEGLIGIBLE:g} in {counts['none']}, unclear in {counts['unclear']}; "
        f"mean difference {_signed(mean)}, largest {_point(ends[0])}, smallest {_point(ends[1])}"
    )
    out_of_reach = 2 * (counts["won"] + counts["unclear"]) < len(rows)
    if counts["lost"] or out_of_reach:
        return Verdict(False, evidence)
    return Verdict(True if 2 * counts["won"] >= len(rows) else None, evidence)


def _outcome(row: Row) -> str:
    """``won``, ``lost``, ``none`` or ``unclear``, from a paired difference."""
    mean, error = row["mean"], row["standard_error"]
    score = in_errors(mean, error)
    if abs(score) > SLACK:
        return "won" if score > 0 else "lost"
    return "none" if abs(mean) + SLACK * error < NEGLIGIBLE else "unclear"


def positive(
    text: str, difference: str, *, everywhere: bool = True, least: float = 0.0, **wanted: Wanted
) -> Claim:
    """Claim: a paired difference (:func:`minus`) is positive; see :func:`judge_positive`."""
    chosen = {"estimator": difference, **wanted}
    return claim(text, judge_positive, wanted=chosen, everywhere=everywhere, least=least)


def judge_positive(
    table: StudyResult, *, wanted: Mapping[str, Wanted], everywhere: bool = True, least: float = 0.0
) -> Verdict:
    """Is the paired difference negative in no cell, and positive in all of them (in one, if not ``everywhere``)?

    A cell counts for a side if the difference is beyond ``SLACK`` standard errors and beyond ``least``.
    """
    rows = [r for r in selected(table.rows, wanted) if not math.isnan(r["standard_error"])]
    if not rows:
        return Verdict(None, "no such cells, or one replicate only")
    clear = [max(least, SLACK * row["standard_error"]) for row in rows]
    won = sum(row["mean"] > beyond for row, beyond in zip(rows, clear, strict=True))
    lost = sum(row["mean"] < -beyond for row, beyond in zip(rows, clear, strict=True))
    ends = [pick(rows, key=lambda row: row["mean"]) for pick in (max, min)]
    slack = f"{SLACK:g} SE and {least:g}" if least else f"{SLACK:g} SE"
    evidence = (
        f"{wanted['estimator']}: positive in {won} and negative in {lost} of {len(rows)} cells (by more than {slack}); "
        f"largest {_point(ends[0])}, smallest {_point(ends[1])}"
    )
    enough = won == len(rows) if everywhere else won > 0
    return Verdict(False if lost else (True if enough else None), evidence)


# --- figures in words ----------------------------------------------------------------------------


def in_errors(difference: float, error: float) -> float:
    """A difference in standard errors; 0 where it is rounding, infinite where the error is 0."""
    if abs(difference) < _ROUNDING:
        return 0.0
    if error > 0:
        return difference / error
    return 0.0 if math.isnan(error) else math.copysign(math.inf, difference)


def _spelled(column: str, value: object) -> str:
    if column == "epsilon":
        return "no privacy" if value == math.inf else f"ε = {value:.3g}"
    if column in ("metric", "estimator", "study", "calibration"):
        return str(value)
    return f"{column} = {value:g}" if isinstance(value, float) else f"{column} = {value}"


def _figure(row: Row) -> str:
    return f"{row['mean']:.4f} ± {row['standard_error']:.4f}"


def _point(row: Row) -> str:
    place = [
        _spelled(column, row[column])
        for column in row
        if column not in (*VALUES, "estimator", "calibration") and row[column] is not None
    ]
    return f"{_signed(row['mean'])} ± {row['standard_error']:.4f} at {', '.join(place)}"


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"  # without a minus zero


def _with_list(evidence: str, heading: str, lines: list[str]) -> str:
    if not lines:
        return evidence
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f"{evidence}. {heading}: {'; '.join(lines[:_SHOWN])}{more}"


def _apart(a: Row, b: Row) -> float:
    """(mean of a - mean of b) in pooled standard errors."""
    return in_errors(a["mean"] - b["mean"], math.hypot(a["standard_error"], b["standard_error"]))

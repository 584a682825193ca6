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

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from privrank_jax.simulate.axes import Label
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

SLACK = 3.0
ENOUGH = 30  # replicates
NEGLIGIBLE = 0.01  # a difference between two errors, or their ranks, below this counts as none
BESIDE: dict[str, Any] = {
    "printed": math.nan,
    "printed_standard_error": math.nan,
    "printed_t_statistic": math.nan,
    "printed_p_value": math.nan,
    "verdict": "",
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
    text: str, check: Callable[..., Verdict], of_printed: bool = False, **arguments: Any
) -> Claim:
    """Make a claim whose check is ``check(table, **arguments)``, undecided below ``ENOUGH`` replicates."""
    return Claim(text, functools.partial(_judged, check=check, arguments=arguments), of_printed)


def _judged(
    table: StudyResult, *, check: Callable[..., Verdict], arguments: Mapping[str, Any]
) -> Verdict:
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


def selected(rows: Iterable[Row], where: Mapping[str, Wanted]) -> list[Row]:
    """The rows of a selection."""
    return [row for row in rows if all(_is(row.get(name), value) for name, value in where.items())]


def _is(value: Any, wanted: Any) -> bool:
    if callable(wanted):
        return wanted(value)
    return value in wanted if isinstance(wanted, tuple) else value == wanted


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


def _trend(table: StudyResult, x: str, sign: int, where: Mapping[str, Wanted]) -> Verdict:
    found = curves(selected(table.rows, where), x)
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


def _positive(table: StudyResult, cells: str, least: float, where: Mapping[str, Wanted]) -> Verdict:
    rows = [r for r in selected(table.rows, where) if math.isfinite(r["standard_error"])]
    if not rows:
        return NO_CELLS
    counts = Counter(_outcome(row, least) for row in rows)
    ends = (pick(rows, key=lambda row: row["mean"]) for pick in (max, min))
    largest, smallest = map(_point, ends)
    beyond = f"{SLACK:g} SE" + f" and {least:g}" * (least > 0)
    evidence = (
        f"{where['estimator']}: above zero in {counts['won']} and below in {counts['lost']} of {len(rows)} cells (by "
        f"more than {beyond}), no difference beyond {NEGLIGIBLE:g} in {counts['none']}; largest {largest}, smallest "
        f"{smallest}"
    )
    if counts["lost"]:
        return Verdict(False, evidence)
    if cells == "half" and 2 * (counts["won"] + counts["unclear"]) < len(rows):
        return Verdict(False, evidence)
    needed = {"all": len(rows), "half": len(rows) / 2, "some": 1}[cells]
    return Verdict(True if counts["won"] >= needed else None, evidence)


def _outcome(row: Row, least: float) -> str:
    """``won``, ``lost``, ``none`` or ``unclear``, from a paired difference."""
    clear = max(least, SLACK * row["standard_error"], _ROUNDING)
    if abs(row["mean"]) > clear:
        return "won" if row["mean"] > 0 else "lost"
    return "none" if abs(row["mean"]) + SLACK * row["standard_error"] < NEGLIGIBLE else "unclear"


def nearer(
    text: str, x: str, at: float, to: float, than: float, paired: str, **where: Wanted
) -> Claim:
    """Claim: the mean at ``x = at`` is nearer to that at ``to`` than to that at ``than``.

    "Tend to" is read as "in at least three quarters of the curves": the claim holds if "at" is nearer by
    more than ``SLACK`` SE in that many; it does not hold if the contrary is so in more than a quarter.

    Args:
        text: the claim.
        x: column.
        at: value of x, as are ``to`` and ``than``.
        to: nearer.
        than: farther.
        paired: name of the estimator, with ``{}`` for its own name, whose rows at ``at`` hold (than - at) - (at - to).
        where: the selection.
    """
    points = (at, to, than)
    return claim(text, _nearer, x=x, points=points, paired=paired, where=where)


def _nearer(
    table: StudyResult, x: str, points: Sequence[float], paired: str, where: Mapping[str, Any]
) -> Verdict:
    bent = {**where, "estimator": tuple(map(paired.format, where["estimator"]))}
    errors = {_place(row): row["standard_error"] for row in selected(table.rows, bent)}
    gaps, shares = [], []
    for curve in curves(selected(table.rows, where), x).values():
        by_level = {row[x]: row for row in curve}
        if not set(points) <= set(by_level):
            continue
        at, to, than = (by_level[point] for point in points)
        near, far = at["mean"] - to["mean"], than["mean"] - at["mean"]
        error = math.hypot(*(f * row["standard_error"] for f, row in ((2, at), (1, to), (1, than))))
        if min(near, far) >= 0:  # then the paired metric is this very difference
            error = errors.get(_place({**at, "estimator": paired.format(at["estimator"])}), error)
        gaps.append(in_errors(abs(far) - abs(near), error))
        shares.append(near / (near + far) if near + far else math.nan)
    words = "{:g}, {:g} and {:g}".format(*sorted(points)).replace("inf", "∞")
    if not gaps:
        return Verdict(None, f"no cell has {x} = {words}")
    yes, no = sum(gap > SLACK for gap in gaps), sum(gap < -SLACK for gap in gaps)
    known = sorted(filter(math.isfinite, shares)) or [math.nan]
    evidence = (
        f"of {len(gaps)} cells with {x} = {words}, nearer in {yes} and farther in {no} by more than {SLACK:g} SE, the "
        f"others between; the nearer gap is {known[len(known) // 2]:.0%} of both (median)"
    )
    if 4 * yes >= 3 * len(gaps):
        return Verdict(True, evidence)
    return Verdict(False if 4 * no > len(gaps) else None, evidence)


def _place(row: Row) -> tuple[object, ...]:
    """Everything that distinguishes a row from others."""
    return tuple(row[column] for column in sorted(row) if column not in VALUES)


def close_to(
    text: str, exact: Limit, slack: float = SLACK, rare: float = 0.0, **where: Wanted
) -> Claim:
    """Claim: every mean is within so many standard errors, and ``rare``/replicates, of the exact value.

    The second term allows for events so rare that no replicate may show them, whose standard error is then 0.
    """
    return claim(text, _close, exact=exact, slack=slack, rare=rare, where=where)


def _close(
    table: StudyResult, exact: Limit, slack: float, rare: float, where: Mapping[str, Wanted]
) -> Verdict:
    found = [(row, _value(exact, row)) for row in selected(table.rows, where)]
    found = [(row, value) for row, value in found if math.isfinite(value)]
    if not found:
        return NO_CELLS

    def off(one: tuple[Row, float]) -> float:
        row, value = one
        allowed = slack * row["standard_error"] + rare / row["replicates"]
        return abs(row["mean"] - value) / max(allowed, _ROUNDING)

    worst, value = max(found, key=off)
    wrong = sum(off(one) > 1 for one in found)
    return Verdict(
        not wrong,
        f"{len(found) - wrong} of {len(found)} cells within {slack:g} SE of the exact value; farthest: {_at(worst)} "
        f"against {value:.5g}",
    )


def below(text: str, limit: Limit, slack: float = SLACK, **where: Wanted) -> Claim:
    """Claim: every mean is at most its limit, within ``slack`` standard errors."""
    return claim(text, _bounded, sign=1, limit=limit, slack=slack, where=where)


def above(text: str, limit: Limit, slack: float = SLACK, **where: Wanted) -> Claim:
    """Claim: every mean is at least its limit, within ``slack`` standard errors."""
    return claim(text, _bounded, sign=-1, limit=limit, slack=slack, where=where)


def _bounded(
    table: StudyResult, sign: int, limit: Limit, slack: float, where: Mapping[str, Wanted]
) -> Verdict:
    found = [(row, _value(limit, row)) for row in selected(table.rows, where)]
    found = [(row, value) for row, value in found if math.isfinite(value)]
    if not found:
        return NO_CELLS
    over = [sign * (row["mean"] - value) - slack * row["standard_error"] for row, value in found]
    wrong = sum(one > 0 for one in over)

    def share(one: tuple[Row, float]) -> float:
        row, value = one
        return sign * (row["mean"] / value if value > 0 else row["mean"] - value)

    closest, value = max(found, key=share)
    return Verdict(
        not wrong,
        f"{len(found) - wrong} of {len(found)} cells at {'most' if sign > 0 else 'least'} their limit (slack {slack:g} "
        f"SE); closest: {_at(closest)} against {value:.4g}",
    )


def _value(limit: Limit, row: Row) -> float:
    found = limit(row) if callable(limit) else row[limit] if isinstance(limit, str) else limit
    return math.nan if found is None else found


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
    where: Mapping[str, Wanted] = field(default_factory=dict)


def beside(rows: list[Row], printed: Printed) -> list[Row]:
    """Add ``printed``, ``printed_standard_error`` (NaN where the paper prints nothing) and ``verdict`` to the rows."""
    chosen = {id(row) for row in selected(rows, printed.where)}
    return [{**row, **_beside(row, printed, id(row) in chosen)} for row in rows]


def _beside(row: Row, printed: Printed, chosen: bool) -> Row:
    cell = tuple(row.get(column) for column in printed.columns)
    cell = cell if cell in printed.cells else tuple("-" if c == "BTL" else c for c in cell)
    if not chosen or cell not in printed.cells:
        return {name: BESIDE[name] for name in ("printed", "printed_standard_error", "verdict")}
    mean, error = printed.cells[cell]
    found = {"printed": mean, "printed_standard_error": error}
    undecided = not math.isfinite(row["standard_error"]) or row["replicates"] < ENOUGH
    met = None if undecided else excess({**row, **found}, printed.least) <= SLACK
    return {**found, "verdict": WORDS[met]}


def excess(row: Row, least: bool = True) -> float:
    """By how many standard errors (of both, combined) the mean is on the wrong side of the printed one."""
    gap = row["mean"] - row["printed"] if least else row["printed"] - row["mean"]
    error = math.hypot(row["standard_error"], row["printed_standard_error"])
    if error > 0:
        return gap / error
    return 0.0 if abs(gap) < 1e-9 else math.copysign(math.inf, gap)


def close_to_printed(text: str, least: bool = True, **where: Wanted) -> Claim:
    """Claim: ours is in no printed cell worse by more than ``SLACK`` combined standard errors."""
    return claim(text, _met, of_printed=True, least=least, where=where)


def _met(table: StudyResult, least: bool, where: Mapping[str, Wanted]) -> Verdict:
    rows = [row for row in selected(table.rows, where) if row["verdict"]]
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


def _spelled(column: str, value: object) -> str:
    if column == "epsilon":
        return "no privacy" if value == math.inf else f"ε = {value:.3g}"
    if isinstance(value, str):
        return value
    return f"{column} = {value:g}" if isinstance(value, float) else f"{column} = {value}"


def _figure(row: Row) -> str:
    return f"{row['mean']:.4f} ± {row['standard_error']:.4f}"


def _point(row: Row) -> str:
    mean = f"{round(row['mean'], 4) + 0.0:+.4f}"  # without a minus zero
    return f"{mean} ± {row['standard_error']:.4f} at {_cell(row, 'estimator', 'calibration')}"


def _at(row: Row) -> str:
    return f"{row['mean']:.4g} ± {row['standard_error']:.2g} ({_cell(row)})"


def _cell(row: Row, *without: str) -> str:
    left_out = (*VALUES, *without)
    told = (_spelled(c, v) for c, v in row.items() if c not in left_out and v is not None)
    return ", ".join(told)


def _listed(heading: str, lines: list[str]) -> str:
    if not lines:
        return ""
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f". {heading}: {'; '.join(lines[:_SHOWN])}{more}"


def _apart(a: Row, b: Row) -> float:
    """(mean of a - mean of b) in pooled standard errors."""
    return in_errors(a["mean"] - b["mean"], math.hypot(a["standard_error"], b["standard_error"]))

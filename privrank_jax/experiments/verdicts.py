"""Claims held against a table, with the slack of chance stated.

Two means are called different if they are more than ``SLACK`` = 3 standard errors (SE) apart: of 370 comparisons of
equal means, one is expected to be called different by chance. Standard errors of differences are pooled as if
independent; common random numbers usually make the true ones smaller, so this errs to the side of "can't tell".
Differences between two estimators, and what one more ε gains (``BEND``), are metrics of their own, with their own
(paired) standard errors. Below ``ENOUGH`` replicates nothing is decided: standard errors are then too rough.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

from privrank_jax.experiments.cai.common import (
    BEND,
    CALIBRATIONS,
    COUNTS,
    DIFFERENCE,
    FAR,
    L2,
    LINF,
    MLE,
    NEAR,
    TOP,
)
from privrank_jax.experiments.registry import Claim, Verdict
from privrank_jax.simulate.result import Row, StudyResult

SLACK = 3.0
ENOUGH = 30  # replicates
NEGLIGIBLE = 0.01  # a difference between two errors below this, or their ranks, is none
_VALUES = (
    *("mean", "standard_error", "replicates", "nonfinite"),
    *("printed", "printed_standard_error", "verdict"),
)
_SIMULATED = ((LINF, MLE), (L2, MLE), (TOP, MLE), (TOP, COUNTS))
_ROUNDING = 1e-6  # of float32 metrics
_SHOWN = 3  # exceptions that evidence spells out


def _everywhere(row: Row) -> bool:
    del row
    return True


def claim(text: str, check: Callable[..., Verdict], **arguments: object) -> Claim:
    """A claim whose check is ``check(table, **arguments)``, undecided below ``ENOUGH`` replicates."""
    return Claim(text, functools.partial(_judged, check=check, **arguments))


def _judged(table: StudyResult, *, check: Callable[..., Verdict], **arguments: object) -> Verdict:
    verdict = check(table, **arguments)
    fewest = min((row["replicates"] for row in table.rows), default=0)
    if fewest >= ENOUGH:
        return verdict
    return Verdict(None, f"replicates: {fewest}, but a verdict needs {ENOUGH}. {verdict.evidence}")


def trends(text: str, x: str, sign: int) -> tuple[Claim, ...]:
    """One claim per calibration: all four errors change with x as ``sign`` says."""
    return tuple(
        claim(
            f"all errors {text} ({calibration.name})",
            trend,
            x=x,
            sign=sign,
            curves=_SIMULATED,
            calibration=calibration.name,
        )
        for calibration in CALIBRATIONS
    )


def counts_against_mle(
    published: str = "2/ε", replaced: str = "4/ε", flipped: str = "2/ε"
) -> tuple[Claim, ...]:
    """Counts have the smaller top-k error: private and not, published and tight.

    Args:
        published: noise of the published counts (that of the MLE is 8/ε or 8L/ε).
        replaced: noise of the tight MLE under replacement.
        flipped: noise of both methods under flips, and of the tight counts.
    """
    texts = (
        (f"privately (published: MLE 8{flipped[1:]}, counts {published})", "published", True),
        ("without privacy (published)", "published", False),
        (
            f"privately at tight noise (replace: MLE {replaced}, counts {flipped})",
            "tight replace",
            True,
        ),
        (f"privately at equal, tight noise (flip: both {flipped})", "tight flip", True),
        ("without privacy (MLE with the default ridge)", "tight flip", False),
    )
    return tuple(
        claim(
            f"counting recovers the top k better than the MLE, {text}",
            beaten,
            calibration=calibration,
            private=private,
        )
        for text, calibration, private in texts
    )


def closeness() -> tuple[Claim, ...]:
    """Per calibration: errors at ε = 2.5 are closer to those without privacy than to those at ε = 1."""
    return tuple(
        claim(
            f"errors at ε = 2.5 are closer to those without privacy than to those at ε = 1 ({calibration.name})",
            closer,
            curves=_SIMULATED,
            calibration=calibration.name,
        )
        for calibration in CALIBRATIONS
    )


def trend(
    table: StudyResult,
    *,
    x: str,
    sign: int,
    curves: Sequence[tuple[str, str]],
    calibration: str | None,
    where: Callable[[Row], bool] = _everywhere,
) -> Verdict:
    """Does every curve go up (``sign`` 1) or down (-1) with x?

    A curve complies if its ends differ by more than ``SLACK`` standard errors in the direction of ``sign``
    and no step between neighbors goes the other way by more than that. It refutes if such a step, or
    the whole curve, does go the other way. The claim holds if no curve refutes it and at least three
    quarters comply; the rest are too flat to tell.
    """
    found = _curves(_chosen(table.rows, curves, calibration, where), x)
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


def beaten(
    table: StudyResult,
    *,
    calibration: str | None,
    private: bool | None,
    metric: str = TOP,
    difference: str = DIFFERENCE,
    what: str = "MLE minus counts",
    where: Callable[[Row], bool] = _everywhere,
) -> Verdict:
    """Is the paired difference of two errors positive: is the second estimator the better one?

    In each cell the second wins or loses (by more than ``SLACK`` SE), or there is no difference (it lies, ``SLACK`` SE
    included, within ±``NEGLIGIBLE``), or it is unclear. The claim holds if the second wins in at least half of the
    cells and loses in none; it does not hold if the second loses in one, or can't win in half of them any more.
    """
    rows = _chosen(table.rows, [(metric, difference)], calibration, where)
    if private is not None:
        rows = [row for row in rows if math.isfinite(row["epsilon"]) == private]
    rows = [row for row in rows if math.isfinite(row["standard_error"])]
    if not rows:
        return Verdict(None, "no such cells, or one replicate only")
    counts = collections.Counter(map(_outcome, rows))
    ends = [max(rows, key=lambda row: row["mean"]), min(rows, key=lambda row: row["mean"])]
    mean = sum(row["mean"] for row in rows) / len(rows)
    evidence = (
        f"{what} in {len(rows)} cells: better in {counts['won']}, worse in {counts['lost']} (by more than {SLACK:g} "
        f"SE), no difference beyond {NEGLIGIBLE:g} in {counts['none']}, unclear in {counts['unclear']}; mean "
        f"difference {_signed(mean)}, largest {_point(ends[0])}, smallest {_point(ends[1])}"
    )
    out_of_reach = 2 * (counts["won"] + counts["unclear"]) < len(rows)
    if counts["lost"] or out_of_reach:
        return Verdict(False, evidence)
    return Verdict(True if 2 * counts["won"] >= len(rows) else None, evidence)


def _outcome(row: Row) -> str:
    """``won``, ``lost``, ``none`` or ``unclear``, from a paired difference."""
    mean, error = row["mean"], row["standard_error"]
    score = _in_errors(mean, error)
    if abs(score) > SLACK:
        return "won" if score > 0 else "lost"
    return "none" if abs(mean) + SLACK * error < NEGLIGIBLE else "unclear"


def closer(table: StudyResult, *, curves: Sequence[tuple[str, str]], calibration: str) -> Verdict:
    """Is |e(2.5) - e(∞)| < |e(1) - e(2.5)|, e the error at an ε?

    "Tend to" is read as: in at least three quarters of the (curve, x) cells. The claim holds if so many say yes by
    more than ``SLACK`` SE; it does not hold if more than a quarter say no by as much.
    """
    bends = _chosen(table.rows, [(m, BEND.format(e)) for m, e in curves], calibration, _everywhere)
    paired = {_place(row): row["standard_error"] for row in bends}
    gaps, shares = [], []
    chosen = _chosen(table.rows, curves, calibration, _everywhere)
    for points in _curves(chosen, "epsilon").values():
        by_level = {row["epsilon"]: row for row in points}
        if not {NEAR, FAR, math.inf} <= set(by_level):
            continue
        at, low, best = by_level[NEAR], by_level[FAR], by_level[math.inf]
        to_best, to_low = at["mean"] - best["mean"], low["mean"] - at["mean"]
        error = math.sqrt(
            4 * at["standard_error"] ** 2 + low["standard_error"] ** 2 + best["standard_error"] ** 2
        )
        if min(to_best, to_low) >= 0:  # then the paired metric is this very difference
            error = paired.get(_place({**at, "estimator": BEND.format(at["estimator"])}), error)
        gaps.append(_in_errors(abs(to_low) - abs(to_best), error))
        shares.append(to_best / (to_best + to_low) if to_best + to_low else math.nan)
    if not gaps:
        return Verdict(None, f"no cell has ε = {FAR:g}, {NEAR:g} and ∞")
    yes, no = sum(gap > SLACK for gap in gaps), sum(gap < -SLACK for gap in gaps)
    known = sorted(share for share in shares if math.isfinite(share)) or [math.nan]
    evidence = (
        f"of {len(gaps)} cells, closer in {yes} and farther in {no} by more than {SLACK:g} SE, the others between; of "
        f"the loss at ε = {FAR:g}, {known[len(known) // 2]:.0%} remains at ε = {NEAR:g} (median)"
    )
    if 4 * yes >= 3 * len(gaps):
        return Verdict(True, evidence)
    return Verdict(False if 4 * no > len(gaps) else None, evidence)


def _place(row: Row) -> tuple[object, ...]:
    """All that tells a row from others."""
    return tuple(row[column] for column in sorted(row) if column not in _VALUES)


def _chosen(
    rows: Iterable[Row],
    curves: Sequence[tuple[str, str]],
    calibration: str | None,
    where: Callable[[Row], bool],
) -> list[Row]:
    return [
        row
        for row in rows
        if (row["metric"], row["estimator"]) in curves
        and (calibration is None or row["calibration"] == calibration)
        and where(row)
    ]


def _curves(rows: Iterable[Row], x: str) -> dict[str, list[Row]]:
    """Rows by all columns but x, sorted by x; the name spells out the columns that vary."""
    rows = list(rows)
    columns = [c for c in (rows[0] if rows else {}) if c != x and c not in _VALUES]
    varying = [c for c in columns if len({row[c] for row in rows}) > 1]
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row[x]):
        name = ", ".join(_spelled(column, row[column]) for column in varying) or "the curve"
        found.setdefault(name, []).append(row)
    return found


def _apart(a: Row, b: Row) -> float:
    """(mean of a - mean of b) in pooled standard errors."""
    return _in_errors(a["mean"] - b["mean"], math.hypot(a["standard_error"], b["standard_error"]))


def _in_errors(difference: float, error: float) -> float:
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
        if column not in (*_VALUES, "metric", "estimator", "calibration", "study")
    ]
    return f"{_signed(row['mean'])} ± {row['standard_error']:.4f} at {', '.join(place)}"


def _signed(value: float) -> str:
    return f"{round(value, 4) + 0.0:+.4f}"  # without a minus zero


def _with_list(evidence: str, heading: str, lines: list[str]) -> str:
    if not lines:
        return evidence
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return f"{evidence}. {heading}: {'; '.join(lines[:_SHOWN])}{more}"

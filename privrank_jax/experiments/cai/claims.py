"""Claims that the studies of Cai, Chakraborty and Wang share, one for each calibration."""

from __future__ import annotations

import math
from typing import Any

from privrank_jax.experiments import claims
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
from privrank_jax.experiments.claims import SLACK, Claim, Verdict
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

# The errors of the figures: of θ by the MLE, of the top k by both.
ERRORS = {"metric": (LINF, L2, TOP), "estimator": (MLE, COUNTS)}


def trends(text: str, x: str, sign: int) -> tuple[Claim, ...]:
    """One claim per calibration: all four errors change with x as ``sign`` says."""
    return tuple(
        claims.trend(
            f"all errors {text} ({calibration.name})",
            x,
            sign,
            **ERRORS,
            calibration=calibration.name,
        )
        for calibration in CALIBRATIONS
    )


def counts_against_mle(
    published: str = "2/ε", replaced: str = "4/ε", flipped: str = "2/ε"
) -> tuple[Claim, ...]:
    """Counts have the smaller top-k error, with and without privacy, published and tight.

    Args:
        published: noise of the published counts (the MLE's is 8/ε or 8L/ε).
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
        claims.better(
            f"counting recovers the top k better than the MLE, {text}",
            DIFFERENCE,
            private=private,
            metric=TOP,
            calibration=calibration,
        )
        for text, calibration, private in texts
    )


def closeness() -> tuple[Claim, ...]:
    """Per calibration: errors at ε = 2.5 are closer to those without privacy than to those at ε = 1."""
    return tuple(
        claims.claim(
            f"errors at ε = 2.5 are closer to those without privacy than to those at ε = 1 ({calibration.name})",
            closer,
            wanted={**ERRORS, "calibration": calibration.name},
        )
        for calibration in CALIBRATIONS
    )


def closer(table: StudyResult, *, wanted: dict[str, Any]) -> Verdict:
    """Is |e(2.5) - e(∞)| < |e(1) - e(2.5)|, e the error at an ε?

    "Tend to" is read as "in at least three quarters of the (curve, x) cells". The claim holds if the inequality holds
    by more than ``SLACK`` SE in that many cells; it does not hold if the inequality fails by as much in more than a
    quarter.
    """
    estimators = wanted["estimator"]
    bent = {**wanted, "estimator": tuple(map(BEND.format, estimators))}
    paired = {_place(row): row["standard_error"] for row in claims.selected(table.rows, bent)}
    gaps, shares = [], []
    chosen = claims.selected(table.rows, wanted)
    for points in claims.curves(chosen, "epsilon").values():
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
        gaps.append(claims.in_errors(abs(to_low) - abs(to_best), error))
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
    """Everything that distinguishes a row from others."""
    return tuple(row[column] for column in sorted(row) if column not in claims.VALUES)

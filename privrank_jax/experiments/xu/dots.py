"""Studies that show every replicate as a row of the table, and regression lines through the replicates."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import ArrayLike

from privrank_jax._types import Key
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.experiment import Experiment, Run
from privrank_jax.experiments.old_claims import Claim, Verdict
from privrank_jax.experiments.xu import common
from privrank_jax.pairwise.debiased_fit import DebiasedSums
from privrank_jax.privacy.local import report_information
from privrank_jax.simulate.engine import run
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Trial
from privrank_jax.simulate.table_files import Row

X = "x"  # metric that gives the horizontal position of a dot


@dataclass(frozen=True)
class Line:
    """A least-squares line through n points.

    Attributes:
        slope: slope of the line.
        slope_error: its standard error.
        intercept: intercept of the line.
        correlation: Pearson's.
        deviation: standard deviation of the residuals, n - 2 degrees of freedom.
        count: n.
        middle: mean of x.
        spread: Σ(x - mean)².
    """

    slope: float
    slope_error: float
    intercept: float
    correlation: float
    deviation: float
    count: int
    middle: float
    spread: float

    @classmethod
    def through(cls, x: ArrayLike, y: ArrayLike) -> Line:
        """Fit the line through points ``(n,)``, n >= 3, not all at one x."""
        x, y = np.asarray(x, float), np.asarray(y, float)
        spread = float(np.sum((x - x.mean()) ** 2))
        slope = float(np.sum((x - x.mean()) * (y - y.mean()))) / spread
        intercept = float(y.mean() - slope * x.mean())
        deviation = math.sqrt(float(np.sum((y - intercept - slope * x) ** 2)) / (len(x) - 2))
        total = float(np.sum((y - y.mean()) ** 2))
        correlation = slope * math.sqrt(spread / total) if total else math.nan
        error = deviation / math.sqrt(spread)
        return cls(slope, error, intercept, correlation, deviation, len(x), float(x.mean()), spread)

    def predict(self, at: ArrayLike, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the line at these x; also returns half the width of its prediction interval there."""
        import scipy.stats

        at = np.asarray(at, float)
        quantile = scipy.stats.t.ppf(0.5 + level / 2, self.count - 2)
        width = np.sqrt(1 + 1 / self.count + (at - self.middle) ** 2 / self.spread)
        return self.intercept + self.slope * at, quantile * self.deviation * width


def errors_at(
    epsilon: Array, sums: Sequence[DebiasedSums], thetas: Sequence[Array], gamma: float
) -> Metrics:
    """1/√B(ε) of one replicate, and the errors of ADRR at each link, from its sums and true θ there."""

    def one(row: int, link: str) -> tuple[Metrics, Array]:
        values, codes = common.fits(common.stacked(sums[row]), link, gamma)
        return {common.ADRR: common.score_errors(values[0], thetas[row])}, codes

    return {X: jnp.mean(report_information(epsilon)) ** -0.5, **common.by_link(one)}


def per_replicate(key: Key, experiment: Experiment, replicates: int, run: Run = run) -> StudyResult:
    """Run each cell of an experiment once per replicate, as cells of their own with a column ``draw``."""
    studies = []
    for study in experiment.studies():
        cells = tuple({**cell, "draw": draw} for cell in study.cells for draw in range(replicates))
        trial = functools.partial(_one, trial=study.trial)
        studies.append(dataclasses.replace(study, trial=trial, cells=cells))
    return run(key, studies, 1, batch_size=experiment.pairs_at_once())


def _one(key: Key, cell: Parameters, *, trial: Trial) -> Metrics:
    rest = {column: value for column, value in cell.items() if column != "draw"}
    return trial(jax.random.fold_in(key, cell["draw"]), rest)


def placed(config: object, rows: list[Row]) -> list[Row]:
    """Make the metric ``x`` of each draw a column of the rows of its other metrics."""
    del config
    places = {(row["study"], row["draw"]): row["mean"] for row in rows if row["metric"] == X}
    return [_placed(row, places) for row in rows if row["metric"] != X]


def _placed(row: Row, places: Mapping[tuple[str, Any], float]) -> Row:
    return {
        "study": row["study"],
        X: places.get((row["study"], row["draw"]), math.nan),
        **{column: value for column, value in row.items() if column != "study"},
    }


def linear(text: str, metrics: Sequence[str], least: float = 0.0) -> Claim:
    """Claim: errors grow linearly with x, i.e. every correlation exceeds ``least``, by its 95% interval."""
    return Claim(text, functools.partial(_linear, metrics=tuple(metrics), least=least))


def _linear(table: StudyResult, *, metrics: Sequence[str], least: float) -> Verdict:
    lines = {}
    for link in dict.fromkeys(row["link"] for row in table.rows if row["link"]):
        for metric in metrics:
            rows = [r for r in table.rows if r["link"] == link and r["metric"] == metric]
            if len(rows) > 3:
                lines[link, metric] = Line.through([r[X] for r in rows], [r["mean"] for r in rows])
    if not lines:
        return Verdict(None, "too few replicates")
    ends = {place: _interval(line) for place, line in lines.items()}
    evidence = "; ".join(
        f"{link} {metric}: correlation {line.correlation:.3f} (95%: {ends[link, metric][0]:.3f} to "
        f"{ends[link, metric][1]:.3f}), slope {line.slope:.4f} ± {line.slope_error:.4f}, intercept "
        f"{line.intercept:+.4f}"
        for (link, metric), line in lines.items()
    )
    if min(line.count for line in lines.values()) < claims.ENOUGH:
        return Verdict(None, f"fewer than {claims.ENOUGH} replicates. {evidence}")
    if all(low > least for low, _ in ends.values()):
        return Verdict(True, evidence)
    return Verdict(False if any(high < least for _, high in ends.values()) else None, evidence)


def _interval(line: Line) -> tuple[float, float]:
    """95% interval of the correlation, by Fisher's transformation."""
    middle = math.atanh(min(max(line.correlation, -1 + 1e-12), 1 - 1e-12))
    half = 1.96 / math.sqrt(line.count - 3)
    return math.tanh(middle - half), math.tanh(middle + half)

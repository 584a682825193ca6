"""Studies that show every replicate as a row of the table, and regression lines through the replicates."""

from __future__ import annotations

import math
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax.experiments.claims import ENOUGH, NO_CELLS, Claim, Verdict, groups, selected
from privrank_jax.experiments.study import P
from privrank_jax.experiments.xu import common
from privrank_jax.pairwise.debiased_fit import DebiasedSums
from privrank_jax.privacy.local import report_information
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

X = "x"  # metric that gives the horizontal position of a dot
PICTURE = {
    "x": X,
    "x_label": "1/√B(ε)",
    "y": {name: common.LABELS[name] for name in common.ERRORS},
    "panel": ("link",),
    "color": "link",
    "kind": "dots",
}


def errors_at(
    epsilon: Array, sums: Sequence[DebiasedSums], thetas: Sequence[Array], gamma: float
) -> Metrics:
    """1/√B(ε) of one replicate, and the errors of ADRR at each link, from its sums and true θ there."""

    def one(row: int, link: str) -> tuple[Metrics, Array]:
        values, codes = common.fits(common.stacked(sums[row]), link, gamma)
        return {common.ADRR: common.score_errors(values[0], thetas[row])}, codes

    return {X: jnp.mean(report_information(epsilon)) ** -0.5, **common.by_link(one)}


def placed(p: P, rows: list[Row]) -> list[Row]:
    """Make the metric ``x`` of each draw a column of the rows of its other metrics."""
    del p
    places = {(row["study"], row["draw"]): row["mean"] for row in rows if row["metric"] == X}
    return [
        {"study": row["study"], X: places.get((row["study"], row["draw"]), math.nan), **row}
        for row in rows
        if row["metric"] != X
    ]


def linear(text: str, metrics: Sequence[str], least: float = 0.0) -> Claim:
    """Claim: errors grow linearly with x, i.e. every correlation exceeds ``least``, by its 95% interval."""

    def check(table: StudyResult) -> Verdict:
        from scipy.stats import linregress

        rows = selected(table.rows, {"metric": tuple(metrics), "link": lambda link: link})
        found = {at: held for at, held in groups(rows, "link", "metric").items() if len(held) > 3}
        if not found:
            return NO_CELLS
        lows, highs, said = [], [], []
        for (link, metric), held in found.items():
            line = linregress([row[X] for row in held], [row["mean"] for row in held])
            # By Fisher's transformation.
            middle = math.atanh(min(max(line.rvalue, -1 + 1e-12), 1 - 1e-12))
            half = 1.96 / math.sqrt(len(held) - 3)
            lows.append(math.tanh(middle - half))
            highs.append(math.tanh(middle + half))
            said.append(
                f"{link} {metric}: correlation {line.rvalue:.3f} (95%: {lows[-1]:.3f} to {highs[-1]:.3f}), slope "
                f"{line.slope:.4f} ± {line.stderr:.4f}, intercept {line.intercept:+.4f}"
            )
        evidence = "; ".join(said)
        if min(map(len, found.values())) < ENOUGH:
            return Verdict(None, f"fewer than {ENOUGH} replicates. {evidence}")
        if all(low > least for low in lows):
            return Verdict(True, evidence)
        return Verdict(False if any(high < least for high in highs) else None, evidence)

    return Claim(text, check)

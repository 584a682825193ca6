"""Figure 10 of Xu, Sun and Cheng: what an estimate costs against users and items, in measured seconds."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._linalg import one_blas_thread
from privrank_jax.experiments import xu_common as common
from privrank_jax.experiments.registry import Experiment, Verdict
from privrank_jax.pairwise.debiased_rr import scores_from_sums
from privrank_jax.pairwise.debiased_sums import debiased_sums
from privrank_jax.simulate import reports
from privrank_jax.simulate.engine import Study, grid
from privrank_jax.simulate.result import StudyResult

Array = jax.Array

SECONDS, LEAST = "seconds", "least_seconds"
_OVERHEAD = 4.0  # cells this many times the cheapest one tell how cost grows


@dataclass(frozen=True)
class CostConfig:
    """Grid of Figure 10.

    Attributes:
        name: of the study.
        items: m.
        users: L.
        low: ε_l ~ Unif(low, high).
        high: see ``low``.
        link: of the fit.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, ...] = (10, 20, 40, 80, 160)
    users: tuple[int, ...] = (200, 400, 800, 1600, 3200)
    low: float = 1.0
    high: float = 5.0
    link: str = "logistic"
    dtype: str = "float32"


def build(config: CostConfig) -> tuple[Study, ...]:
    """The cells; :func:`measure` runs them, since a trial can't time itself."""
    return (Study(config.name, _untimed, grid(num_items=config.items, num_users=config.users)),)


def _untimed(key: Array, cell: dict[str, Any]) -> dict[str, Array]:
    raise NotImplementedError("a trial can't time itself: run the experiment")


def measure(key: Array, experiment: Experiment, replicates: int) -> list[StudyResult]:
    """Time reports to scores ``replicates`` times in every cell, after one call that compiles.

    All cells are timed once before any is timed again, so that other work on the machine hits them alike.
    """
    config = experiment.config
    (study,) = experiment.studies()
    started = time.perf_counter()
    with one_blas_thread():
        problems = [_problem(key, cell, config) for cell in study.cells]
        for problem in problems:
            _estimate(problem, config.link)
        compiled = time.perf_counter() - started
        seconds = np.array(
            [[_timed(problem, config.link) for problem in problems] for _ in range(replicates)]
        )
    rows = []
    for column, cell in enumerate(study.cells):
        head = {"study": study.name, **cell}
        values = seconds[:, column]
        error = float(values.std(ddof=1)) / math.sqrt(replicates) if replicates > 1 else math.nan
        tail = {"replicates": replicates, "nonfinite": 0}
        for metric, mean, spread in (
            (SECONDS, values.mean(), error),
            (LEAST, values.min(), math.nan),
        ):
            name = common.name(metric, estimator=common.ADRR)
            rows.append(
                {**head, "metric": name, "mean": float(mean), "standard_error": spread, **tail}
            )
    diagnostics = {
        "compilations": len(config.items) * (len(config.users) + 1),
        "compile_seconds": compiled,
        "run_seconds": float(seconds.sum()),
    }
    return [StudyResult(study.name, rows, diagnostics)]


def _problem(key: Array, cell: dict[str, Any], config: CostConfig) -> tuple[Array, Array, Array]:
    """Reports, which were made, and ε of one cell. Half of the pairs are asked; what was said does not matter."""
    pairs = cell["num_items"] * (cell["num_items"] - 1) // 2
    shape = (cell["num_users"], pairs)
    epsilon_key, report_key, asked_key = jax.random.split(key, 3)
    epsilon = jax.random.uniform(epsilon_key, shape[:1], config.dtype, config.low, config.high)
    chances = reports.pair_chances(jnp.linspace(-1, 1, cell["num_items"]), config.link)
    says = jax.random.uniform(report_key, shape) < chances
    asked = jax.random.bernoulli(asked_key, common.PROBABILITY, shape)
    return jax.block_until_ready((says, asked, epsilon))


def _estimate(problem: tuple[Array, Array, Array], link: str) -> Array:
    # In two calls, as sums of shards would be: one program per shape for the sums, one per m for the fit.
    sums = jax.vmap(debiased_sums)(*(part[None] for part in problem))
    sums = jax.tree.map(lambda leaf: leaf[0], sums)
    return jax.block_until_ready(scores_from_sums(sums, link, common.RIDGE).value)


def _timed(problem: tuple[Array, Array, Array], link: str) -> float:
    started = time.perf_counter()
    _estimate(problem, link)
    return time.perf_counter() - started


def exponents(table: StudyResult) -> tuple[np.ndarray, np.ndarray, int]:
    """(α, β) of seconds ~ L^α m^β with standard errors, over the cells where the data cost most of the time."""
    rows = [row for row in table.rows if row["metric"] == LEAST]
    cheapest = min(row["mean"] for row in rows)
    rows = [row for row in rows if row["mean"] > _OVERHEAD * cheapest]
    if len({r["num_users"] for r in rows}) < 2 or len({r["num_items"] for r in rows}) < 2:
        return np.full(2, np.nan), np.full(2, np.nan), len(rows)
    logs = np.log([[math.e, row["num_users"], row["num_items"], row["mean"]] for row in rows])
    design, target = logs[:, :3], logs[:, 3]
    found, *_ = np.linalg.lstsq(design, target, rcond=None)
    spare = max(len(rows) - 3, 1)
    variance = float(np.sum((target - design @ found) ** 2)) / spare
    errors = np.sqrt(variance * np.diag(np.linalg.pinv(design.T @ design)))
    return found[1:], errors[1:], len(rows)


def grows(table: StudyResult, *, which: int, expected: float, slack: float = 0.25) -> Verdict:
    """Is an exponent (0: of L, 1: of m) within ``slack`` of the expected one?"""
    found, errors, cells = exponents(table)
    evidence = (
        f"seconds ~ L^{found[0]:.2f} m^{found[1]:.2f} (standard errors {errors[0]:.2f}, {errors[1]:.2f}), fitted to "
        f"the least times of {cells} cells that cost over {_OVERHEAD:g} times the cheapest"
    )
    if not np.isfinite(found[which]):
        return Verdict(None, evidence)
    return Verdict(bool(abs(found[which] - expected) <= slack), evidence)

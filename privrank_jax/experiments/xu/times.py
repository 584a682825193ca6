"""Figure 10 of Xu, Sun and Cheng: measured time of an estimate against users and items."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Count, Key
from privrank_jax._workarounds.threads import one_blas_thread
from privrank_jax.experiments.claims import Verdict
from privrank_jax.experiments.experiment import Experiment, Run
from privrank_jax.experiments.xu import common
from privrank_jax.links import get_link
from privrank_jax.pairwise.debiased_rr import scores_from_sums
from privrank_jax.pairwise.debiased_sums import DebiasedSums, debiased_sums, num_items
from privrank_jax.simulate.result import StudyDiagnostics, StudyResult
from privrank_jax.simulate.study import Study, grid

SECONDS, LEAST = "seconds", "least_seconds"
LEAST_DATA, LEAST_FIT = "least_data_seconds", "least_fit_seconds"
_SHARD = 50  # users


@dataclass(frozen=True)
class CostConfig:
    """Grid of Figure 10.

    Attributes:
        name: name of the study.
        items: m.
        users: L.
        low: ε_l ~ Unif(low, high).
        high: see ``low``.
        link: link of the fit.
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
    """Build no studies: a trial cannot time itself, so :func:`measure` does the work."""
    del config
    return ()


def measure(key: Key, experiment: Experiment, replicates: int, run: Run) -> StudyResult:
    """Time reports to scores ``replicates`` times in every cell, after one call that compiles.

    Cells with the same number of items read the first L users of the same reports, by one program.
    All cells are timed once before any is timed again, so that other work on the machine affects them equally.
    """
    del run  # a trial cannot time itself
    config = experiment.config
    cells = grid(num_items=config.items, num_users=config.users)
    started = time.perf_counter()
    with one_blas_thread():
        reports_by_items = _problems(key, config)
        problems = [
            (*reports_by_items[cell["num_items"]], np.int32(cell["num_users"])) for cell in cells
        ]
        for problem in problems:
            _timed(problem, config.link)
        compiled = time.perf_counter() - started
        seconds = np.array(
            [[_timed(problem, config.link) for problem in problems] for _ in range(replicates)]
        )
    rows = []
    for column, cell in enumerate(cells):
        head = {"study": config.name, **cell}
        parts = seconds[:, column]  # (replicates, 2): sums, fit
        values = parts.sum(axis=1)
        error = float(values.std(ddof=1)) / math.sqrt(replicates) if replicates > 1 else math.nan
        tail = {"replicates": replicates, "nonfinite": 0}
        for metric, mean, spread in (
            (SECONDS, values.mean(), error),
            (LEAST, values.min(), math.nan),
            (LEAST_DATA, parts[:, 0].min(), math.nan),
            (LEAST_FIT, parts[:, 1].min(), math.nan),
        ):
            found = {"metric": metric, "mean": float(mean), "standard_error": spread}
            rows.append({**head, "estimator": common.ADRR, **found, **tail})
    diagnostics = StudyDiagnostics(
        compilations=2 * len(config.items),  # sums and fit
        compile_seconds=compiled,
        run_seconds=float(seconds.sum()),
    )
    return StudyResult(config.name, rows, diagnostics)


def _problems(key: Key, config: CostConfig) -> dict[int, tuple[Array, Array, Array]]:
    """By the number of items: reports, the mask of those made, and ε of the largest number of users, in shards.

    Half of the pairs are asked; the answers do not matter, and are drawn on the host, which compiles nothing.
    """
    random = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    users = max(config.users)
    shards = (-1, math.gcd(_SHARD, *config.users))
    epsilon = random.uniform(config.low, config.high, users).astype(config.dtype)
    gaps = []
    for items in config.items:
        scores, (first, second) = np.linspace(-1, 1, items), np.triu_indices(items, 1)
        gaps.append(scores[first] - scores[second])
    chances = np.asarray(get_link(config.link).cdf(jnp.asarray(np.concatenate(gaps))))
    found = {}
    for items, chance in zip(
        config.items, np.split(chances, np.cumsum([len(gap) for gap in gaps])[:-1]), strict=True
    ):
        shape = (users, len(chance))
        says = random.random(shape, np.float32) < chance
        asked = random.random(shape, np.float32) < common.PROBABILITY
        split = (part.reshape(*shards, shape[1]) for part in (says, asked))
        found[items] = jax.block_until_ready(
            tuple(jnp.asarray(part) for part in (*split, epsilon.reshape(shards)))
        )
    return found


@jax.jit
def _sums(says: Array, asked: Array, epsilon: Array, users: Count) -> DebiasedSums:
    """Add up sums over shards of users, so that a shard stays in cache for any number of users."""
    zero = jnp.zeros((num_items(says.shape[-1]),) * 2, epsilon.dtype)

    def add(shard: Array, total: DebiasedSums) -> DebiasedSums:
        return total + debiased_sums(says[shard], asked[shard], epsilon[shard])

    shards = jnp.asarray(users) // says.shape[1]
    return jax.lax.fori_loop(0, shards, add, DebiasedSums(zero, zero))


def _timed(problem: tuple[Array, Array, Array, Count], link: str) -> tuple[float, float]:
    """Seconds of the sums, and of the fit to them, whose cost does not depend on the users."""
    started = time.perf_counter()
    sums = jax.block_until_ready(_sums(*problem))
    summed = time.perf_counter()
    jax.block_until_ready(scores_from_sums(sums, link, common.GAMMA).value)
    return summed - started, time.perf_counter() - summed


def exponents(table: StudyResult) -> tuple[np.ndarray, np.ndarray]:
    """(α, β) of seconds = a + b L^α m^β with standard errors, fitted to the logarithms of the sums' least times."""
    rows = [row for row in table.rows if row["metric"] == LEAST_DATA]
    if len({r["num_users"] for r in rows}) < 3 or len({r["num_items"] for r in rows}) < 3:
        return np.full(2, np.nan), np.full(2, np.nan)
    import scipy.optimize

    users, items, seconds = (
        np.log([row[column] for row in rows]) for column in ("num_users", "num_items", "mean")
    )

    def misfit(parameters: np.ndarray) -> np.ndarray:
        fixed, scale, by_users, by_items = parameters
        return np.logaddexp(fixed, scale + by_users * users + by_items * items) - seconds

    scale = seconds.max() - users.max() - 2 * items.max()
    # Soft loss: a cell delayed by other work has little weight.
    fit = scipy.optimize.least_squares(
        misfit, [seconds.min(), scale, 1.0, 2.0], loss="soft_l1", f_scale=0.1
    )
    variance = 2 * fit.cost / max(len(rows) - 4, 1)
    covariance = variance * np.linalg.pinv(fit.jac.T @ fit.jac)
    return fit.x[2:], np.sqrt(np.diag(covariance))[2:]


def grows(table: StudyResult, *, which: int, expected: float, slack: float = 0.25) -> Verdict:
    """Is the exponent of L (0) or m (1) within ``slack`` of the expected one?"""
    found, errors = exponents(table)
    evidence = (
        f"reading the reports takes a + b L^{found[0]:.2f} m^{found[1]:.2f} seconds (standard errors {errors[0]:.2f}, "
        f"{errors[1]:.2f}; least time of each cell; within {slack:g} of {expected:g} counts); {_largest(table)}"
    )
    if not np.isfinite(found[which]):
        return Verdict(None, evidence)
    return Verdict(bool(abs(found[which] - expected) <= slack), evidence)


def _largest(table: StudyResult) -> str:
    """Time of the largest cell, and the share of the fit, whose cost does not depend on L."""
    rows = [row for row in table.rows if row["metric"] in (LEAST, LEAST_FIT)]
    if not rows:
        return "nothing was timed"
    size = max((row["num_items"], row["num_users"]) for row in rows)
    at = {r["metric"]: r["mean"] for r in rows if (r["num_items"], r["num_users"]) == size}
    share = at.get(LEAST_FIT, math.nan) / at.get(LEAST, math.nan)
    return (
        f"at m = {size[0]}, L = {size[1]}: {1000 * at.get(LEAST, math.nan):.1f} ms, {share:.0%} of it the fit to the "
        "sums, which does not see the users"
    )

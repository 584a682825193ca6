"""Figures 3, 5 and 10 of Xu, Sun and Cheng: convexity, error against privacy (Scenario II), cost."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Count, Key
from privrank_jax._workarounds.threads import one_blas_thread
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.experiment import Experiment, Run
from privrank_jax.experiments.old_claims import Claim, Verdict
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.experiments.xu import pictures as xu_pictures
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.links import get_link
from privrank_jax.pairwise.debiased_fit import (
    DebiasedSums,
    debiased_sums,
    num_items,
    scores_from_sums,
    smallest_curvature,
)
from privrank_jax.pairwise.report_theory import convexity_bound
from privrank_jax.privacy.local import report_information
from privrank_jax.simulate.result import StudyDiagnostics, StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds import reports

EIGENVALUE = "smallest_eigenvalue"
_ERRORS = (common.L2, common.LINF)


# --- Figure 3: convexity -------------------------------------------------------------------------


@dataclass(frozen=True)
class CurvatureConfig:
    """Grid of Figure 3: one curve against m at ``probability``, one against p at ``fixed_items``.

    Attributes:
        items: m.
        probabilities: p.
        probability: p of the first curve.
        fixed_items: m of the second curve.
        users: L.
        epsilon: ε of all users.
        link: link of the model.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    epsilon: float
    items: tuple[int, ...] = (10, 20, 30, 40, 50)
    probabilities: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1.0)
    probability: float = 0.8
    fixed_items: int = 30
    users: int = 30
    link: str = "normal"
    dtype: str = "float32"


def curvature_trial(key: Key, cell: Parameters, *, config: CurvatureConfig) -> Metrics:
    """One replicate: the smallest non-zero eigenvalue of the published Hessian at the true θ."""
    items, padded = cell["num_items"], cell["max_items"]
    index = jnp.arange(padded)
    theta = jnp.where(index < items, index / (jnp.asarray(items, config.dtype) - 1), 0)
    theta = theta.astype(config.dtype)
    epsilon = jnp.full(config.users, config.epsilon, config.dtype)
    chances = reports.pair_chances(theta, config.link)
    sums = reports.draw_report_sums(
        key, chances, epsilon, None, cell["probability"], mask=index < items
    )
    total = jnp.sum(report_information(epsilon))
    value = smallest_curvature(theta, sums, config.link) / total
    return {"TM": {common.ADRR: {EIGENVALUE: value}}}


def build_curvature(config: CurvatureConfig) -> tuple[Study, ...]:
    """Build two studies, named after the column that varies."""
    run = functools.partial(curvature_trial, config=config)
    most = max(*config.items, config.fixed_items)
    by_items = grid(num_items=config.items, probability=config.probability, max_items=most)
    by_chance = grid(num_items=config.fixed_items, probability=config.probabilities, max_items=most)
    return tuple(
        Study(f"xu-fig3 {column}", run, cells, ("max_items",), common.AXES)
        for column, cells in (("num_items", by_items), ("probability", by_chance))
    )


def straight(table: StudyResult, *, column: str) -> Verdict:
    """Does a line in ``column`` explain more than 0.99 of the variance of the mean eigenvalues?"""
    rows = [r for r in table.rows if r["study"].endswith(column) and r["metric"] == EIGENVALUE]
    values = sorted({row[column] for row in rows})
    if len(values) < 3:
        return Verdict(None, f"fewer than three values of {column}")
    groups = [[row["mean"] for row in rows if row[column] == value] for value in values]
    means = [float(np.mean(group)) for group in groups]
    line = xu_dots.Line.through(values, means)
    negative = "; ".join(
        f"{value:g}: {mean:.3f}, {np.mean(np.array(group) <= 0):.0%} not positive"
        for value, mean, group in zip(values, means, groups, strict=True)
    )
    evidence = (
        f"slope {line.slope:.4f}, intercept {line.intercept:+.4f}, explains {line.correlation**2:.4f} of the variance "
        f"of the means. {column}: mean eigenvalue, share not positive: {negative}"
    )
    if min(map(len, groups)) < claims.ENOUGH:
        return Verdict(None, evidence)
    return Verdict(line.slope > 0 and line.correlation**2 > 0.99, evidence)


def with_bounds(config: CurvatureConfig, rows: list[Row]) -> list[Row]:
    """Add the eigenvalue and the probability of Lemma 4 at the true θ to the rows."""
    told = config.users * float(report_information(config.epsilon))
    found = []
    for row in rows:
        sizes = row["num_items"], told, row["probability"]
        bound = convexity_bound(*sizes, spread=1.0, link=config.link)
        found.append({**row, "bound": bound.eigenvalue, "bound_probability": bound.probability})
    return found


def convex(table: StudyResult) -> Verdict:
    """Lemma 4: do at least as many eigenvalues exceed its bound as it says?"""
    groups: dict[tuple[int, float, float], list[bool]] = {}
    for row in table.rows:
        if row["metric"] == EIGENVALUE:
            cell = row["num_items"], row["probability"], row["bound_probability"]
            groups.setdefault(cell, []).append(row["mean"] > row["bound"])
    if not groups:
        return Verdict(None, "no cells")
    lines, holds = [], True
    for (items, chance, promised), above in sorted(groups.items()):
        promised = max(promised, 0.0)
        slack = claims.SLACK * math.sqrt(promised * (1 - promised) / len(above))
        holds &= bool(np.mean(above) >= promised - slack)
        lines.append(f"m = {items}, p = {chance:g}: {np.mean(above):.0%}, at least {promised:.0%}")
    evidence = f"share of eigenvalues above the lemma's, and its bound: {'; '.join(lines)}"
    said = any(promised > 0 for _, _, promised in groups)
    if not said or min(map(len, groups.values())) < claims.ENOUGH:
        return Verdict(None, evidence)
    return Verdict(holds, evidence)


# --- Figure 5: Scenario II -----------------------------------------------------------------------


@dataclass(frozen=True)
class PrivacyConfig(common.SpreadConfig):
    """Scenario II.

    Attributes:
        items: m.
        users: L.
        probability: p.
    """

    items: int = 20
    users: int = 200
    probability: float = 1.0


def privacy_trial(key: Key, cell: Parameters, *, config: PrivacyConfig) -> Metrics:
    """One replicate: 1/√B(ε), and the errors under both links."""
    del cell
    world_key, base_key, epsilon_key, report_key = jax.random.split(key, 4)
    theta, _ = reports.uniform_scores(world_key, config.items, None, config.dtype)
    base = jax.random.uniform(base_key, (), config.dtype, config.low, config.high)
    epsilon = base + config.width * jax.random.uniform(epsilon_key, (config.users,), config.dtype)
    chances = [reports.pair_chances(theta, link) for link in common.LINKS.values()]
    draw = functools.partial(reports.draw_report_sums, report_key)
    sums = [draw(chance, epsilon, None, config.probability) for chance in chances]
    return xu_dots.errors_at(epsilon, sums, [theta] * len(sums), config.gamma)


def build_privacy(config: PrivacyConfig) -> tuple[Study, ...]:
    """Build one study with one compilation."""
    run = functools.partial(privacy_trial, config=config)
    return (Study(config.name, run, ({},), axes=common.AXES, optimized=False),)


# --- Figure 10: measured time of an estimate against users and items -----------------------------

SECONDS, LEAST = "seconds", "least_seconds"
LEAST_DATA, LEAST_FIT = "least_data_seconds", "least_fit_seconds"
QUARTILES = {"lower_quartile_seconds": 0.25, "median_seconds": 0.5, "upper_quartile_seconds": 0.75}
MOST = "most_seconds"
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


def build_costs(config: CostConfig) -> tuple[Study, ...]:
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
            *((name, np.quantile(values, at), math.nan) for name, at in QUARTILES.items()),
            (MOST, values.max(), math.nan),
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


# --- registered ----------------------------------------------------------------------------------

EXPERIMENTS = (
    Experiment(
        name="xu-fig3",
        title="Convexity under the TM model: smallest non-zero Hessian eigenvalue against m and p",
        paper=f"{common.PAPER}, Figure 3",
        config=CurvatureConfig(epsilon=2.0),
        build=build_curvature,
        annotate=with_bounds,
        claims=(
            Claim(
                "the eigenvalue grows linearly with the number of items",
                functools.partial(straight, column="num_items"),
            ),
            Claim(
                "the eigenvalue grows linearly with the observation probability",
                functools.partial(straight, column="probability"),
            ),
            Claim(
                "Lemma 4: eigenvalues exceed its bound at least as often as it says",
                convex,
            ),
        ),
        draw=functools.partial(
            xu_pictures.boxes,
            panels=(("num_items", "items m (p = 0.8)"), ("probability", "p (m = 30)")),
            y_label="smallest non-zero eigenvalue",
        ),
        replicates=xu_printed.REPLICATES,
        outline=("num_items", "probability"),
        measure=xu_dots.per_replicate,
        differences=(
            "the values of m and p are not printed as text; here m = 10 to 50 and p = 0.2 to 1",
            "the Hessian is that of the loss with weights that sum to 1 over users, without ridge, at the true θ",
            "Lemma 4 says nothing at the paper's 30 users: its probability is below 0; --set users=300 has more",
        ),
    ),
    Experiment(
        name="xu-fig5",
        title="Scenario II: errors of ADRR against 1/√B(ε)",
        paper=f"{common.PAPER}, Figure 5",
        config=PrivacyConfig("xu-fig5"),
        build=build_privacy,
        annotate=xu_dots.placed,
        claims=(
            xu_dots.linear(
                "errors grow linearly with 1/√B(ε), with correlations above 0.9", _ERRORS, 0.9
            ),
            xu_dots.linear("errors grow linearly with 1/√B(ε)", _ERRORS),
        ),
        draw=functools.partial(xu_pictures.clouds, metrics=_ERRORS, x_label="1/√B(ε)"),
        replicates=xu_printed.REPLICATES,
        outline=("x", "link"),
        measure=xu_dots.per_replicate,
        differences=(
            *common.COMMON_DIFFERENCES[:2],
            "correlations: with m = 20 the ℓ₂ error of one replicate scatters by 1/√(2·19) = 16% about its mean, and "
            "1/√B(ε) by 28% about its own, so independent replicates correlate at about 0.28/√(0.28² + 0.17²) = 0.85, "
            "whatever the estimator; correlations above 0.9, as printed, need replicates that share noise",
        ),
    ),
    Experiment(
        name="xu-fig10",
        title="Cost of an estimate: seconds against users and items",
        paper=f"{common.PAPER}, supplement S.3 and Figure 10",
        config=CostConfig("xu-fig10"),
        build=build_costs,
        claims=(
            Claim(
                "the cost is linear in the number of users",
                functools.partial(grows, which=0, expected=1.0),
            ),
            Claim(
                "the cost is quadratic in the number of items",
                functools.partial(grows, which=1, expected=2.0),
            ),
        ),
        draw=xu_pictures.times,
        replicates=30,
        outline=("num_users", "num_items"),
        measure=measure,
        differences=(
            "times are of this machine; a time covers reports to scores (sums and fit), not the draw of the reports",
            "as in the paper boxplots of 30 runs, whose whiskers here are the least and the largest time; exponents "
            "are fitted to the least",
            "small problems cost what a call costs, a; exponents are those of the rest, of reading the reports. The "
            "fit to their sums costs the same for any number of users",
        ),
    ),
)

"""Figures 3, 5 and 10 of Xu, Sun and Cheng: convexity, error against privacy (Scenario II), cost."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.experiments import claims
from privrank_jax.experiments.claims import Claim, Verdict
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.xu import common
from privrank_jax.experiments.xu import dots as xu_dots
from privrank_jax.experiments.xu import pictures as xu_pictures
from privrank_jax.experiments.xu import printed as xu_printed
from privrank_jax.experiments.xu import times as xu_times
from privrank_jax.pairwise.debiased_rr import smallest_curvature
from privrank_jax.privacy.local import report_information
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
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


# --- Figure 5: Scenario II -----------------------------------------------------------------------


@dataclass(frozen=True)
class PrivacyConfig:
    """Scenario II.

    Attributes:
        name: name of the study.
        items: m.
        users: L.
        low: A ~ Unif(low, high).
        high: see ``low``.
        width: ε_l ~ Unif(A, A + width).
        probability: p.
        gamma: ridge γ added to the sums; 2 is λ = 1/(L B(ε)).
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: int = 20
    users: int = 200
    low: float = 0.5
    high: float = 2.5
    width: float = 0.5
    probability: float = 1.0
    gamma: float = common.GAMMA
    dtype: str = "float32"


def privacy_trial(key: Key, cell: Parameters, *, config: PrivacyConfig) -> Metrics:
    """One replicate: 1/√B(ε), and the errors under both links."""
    del cell
    world_key, base_key, epsilon_key, report_key = jax.random.split(key, 4)
    theta, _ = reports.uniform_scores(world_key, config.items, None, config.dtype)
    base = jax.random.uniform(base_key, (), config.dtype, config.low, config.high)
    epsilon = base + config.width * jax.random.uniform(epsilon_key, (config.users,), config.dtype)
    found: dict[str, Any] = {xu_dots.X: jnp.mean(report_information(epsilon)) ** -0.5}
    failed: Array | int = 0
    for link, spelled in common.LINKS.items():
        chances = reports.pair_chances(theta, spelled)
        sums = reports.draw_report_sums(report_key, chances, epsilon, None, config.probability)
        values, codes = common.fits(jax.tree.map(lambda leaf: leaf[None], sums), link, config.gamma)
        failed += codes
        found[link] = {common.ADRR: common.score_errors(values[0], theta)}
    return {**found, common.FAILED: failed}


def build_privacy(config: PrivacyConfig) -> tuple[Study, ...]:
    """Build one study with one compilation."""
    run = functools.partial(privacy_trial, config=config)
    return (Study(config.name, run, ({},), axes=common.AXES, optimized=False),)


# --- registered ----------------------------------------------------------------------------------

EXPERIMENTS = (
    Experiment(
        name="xu-fig3",
        title="Convexity under the TM model: smallest non-zero Hessian eigenvalue against m and p",
        paper=f"{common.PAPER}, Figure 3",
        config=CurvatureConfig(epsilon=2.0),
        build=build_curvature,
        claims=(
            Claim(
                "the eigenvalue grows linearly with the number of items",
                functools.partial(straight, column="num_items"),
            ),
            Claim(
                "the eigenvalue grows linearly with the observation probability",
                functools.partial(straight, column="probability"),
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
        config=xu_times.CostConfig("xu-fig10"),
        build=xu_times.build,
        claims=(
            Claim(
                "the cost is linear in the number of users",
                functools.partial(xu_times.grows, which=0, expected=1.0),
            ),
            Claim(
                "the cost is quadratic in the number of items",
                functools.partial(xu_times.grows, which=1, expected=2.0),
            ),
        ),
        draw=xu_pictures.times,
        replicates=10,
        outline=("num_users", "num_items"),
        measure=xu_times.measure,
        differences=(
            "times are of this machine; a time covers reports to scores (sums and fit), not the draw of the reports",
            "the paper averages 30 runs; here 10, and the exponents are fitted to the least",
            "small problems cost what a call costs, a; exponents are those of the rest, of reading the reports. The "
            "fit to their sums costs the same for any number of users",
        ),
    ),
)

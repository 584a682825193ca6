"""Figures 3 and 5 of Xu, Sun and Cheng: convexity, and error against privacy (Scenario II)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Key
from privrank_jax.experiments import claims
from privrank_jax.experiments.study import P, number, study, whole, word
from privrank_jax.experiments.xu import common, dots
from privrank_jax.pairwise.debiased_fit import smallest_curvature
from privrank_jax.pairwise.report_theory import convexity_bound
from privrank_jax.privacy.local import report_information
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, grid
from privrank_jax.simulate.table_files import Row
from privrank_jax.simulate.worlds import reports

EIGENVALUE = "smallest_eigenvalue"


# --- Figure 3: convexity -------------------------------------------------------------------------


def cells(p: P) -> dict[str, tuple[Parameters, ...]]:
    """Two parts, named after the column that varies."""
    most = max(*p.items, p.fixed_items)
    return {
        "xu-fig3 num_items": grid(num_items=p.items, probability=p.probability, max_items=most),
        "xu-fig3 probability": grid(
            num_items=p.fixed_items, probability=p.probabilities, max_items=most
        ),
    }


def with_bounds(p: P, rows: list[Row]) -> Iterator[Row]:
    """Add the eigenvalue and the probability of Lemma 4 at the true θ to the rows."""
    told = p.users * float(report_information(p.epsilon))
    for row in rows:
        sizes = row["num_items"], told, row["probability"]
        bound = convexity_bound(*sizes, spread=1.0, link=p.link)
        yield {**row, "bound": bound.eigenvalue, "bound_probability": bound.probability}


def straight(table: StudyResult, column: str) -> claims.Verdict:
    """Does a line in ``column`` explain more than 0.99 of the variance of the mean eigenvalues?"""
    from scipy.stats import linregress

    where = {"study": f"xu-fig3 {column}", "metric": EIGENVALUE}
    found = claims.groups(
        sorted(claims.selected(table.rows, where), key=lambda row: row[column]), column
    )
    if len(found) < 3:
        return claims.Verdict(None, f"fewer than three values of {column}")
    values = {value: np.array([row["mean"] for row in held]) for (value,), held in found.items()}
    line = linregress([*values], [v.mean() for v in values.values()])
    negative = "; ".join(
        f"{value:g}: {held.mean():.3f}, {np.mean(held <= 0):.0%} not positive"
        for value, held in values.items()
    )
    evidence = (
        f"slope {line.slope:.4f}, intercept {line.intercept:+.4f}, explains {line.rvalue**2:.4f} of the variance of "
        f"the means. {column}: mean eigenvalue, share not positive: {negative}"
    )
    if min(map(len, values.values())) < claims.ENOUGH:
        return claims.Verdict(None, evidence)
    return claims.Verdict(bool(line.slope > 0 and line.rvalue**2 > 0.99), evidence)


def convex(table: StudyResult) -> claims.Verdict:
    """Lemma 4: do at least as many eigenvalues exceed its bound as it says?"""
    rows = claims.selected(table.rows, {"metric": EIGENVALUE})
    found = claims.groups(rows, "num_items", "probability", "bound_probability")
    if not found:
        return claims.NO_CELLS
    lines, holds = [], True
    for (items, chance, promised), held in sorted(found.items()):
        promised = max(promised, 0.0)
        share = float(np.mean([row["mean"] > row["bound"] for row in held]))
        slack = claims.SLACK * math.sqrt(promised * (1 - promised) / len(held))
        holds &= share >= promised - slack
        lines.append(f"m = {items}, p = {chance:g}: {share:.0%}, at least {promised:.0%}")
    evidence = f"share of eigenvalues above the lemma's, and its bound: {'; '.join(lines)}"
    said = any(promised > 0 for _, _, promised in found)
    if not said or min(map(len, found.values())) < claims.ENOUGH:
        return claims.Verdict(None, evidence)
    return claims.Verdict(holds, evidence)


@study(
    "xu-fig3",
    "Convexity under the TM model: smallest non-zero Hessian eigenvalue against m and p",
    f"{common.PAPER}, Figure 3",
    epsilon=number(2.0, "ε of all users"),
    items=whole((10, 20, 30, 40, 50), "m", least=2),
    probabilities=number((0.2, 0.4, 0.6, 0.8, 1.0), "p", most=1),
    probability=number(0.8, "p of the first curve", most=1),
    fixed_items=whole(30, "m of the second curve", least=2),
    users=whole(30, "L"),
    link=word("normal", "link of the model", among=("logistic", "normal", "laplace")),
    cells=cells,
    static=("max_items",),
    axes=common.AXES,
    replicates=common.REPLICATES,
    each=True,
    rows=with_bounds,
    claims=[
        claims.Claim(
            "the eigenvalue grows linearly with the number of items",
            functools.partial(straight, column="num_items"),
        ),
        claims.Claim(
            "the eigenvalue grows linearly with the observation probability",
            functools.partial(straight, column="probability"),
        ),
        claims.Claim("Lemma 4: eigenvalues exceed its bound at least as often as it says", convex),
    ],
    picture={
        "lines": (
            {"x": "num_items", "where": {"study": "xu-fig3 num_items"}},
            {"x": "probability", "where": {"study": "xu-fig3 probability"}},
        ),
        "y": {EIGENVALUE: "smallest non-zero eigenvalue"},
        "kind": "boxes",
        "level": 0.0,
    },
    outline=("num_items", "probability"),
    differences=(
        "the values of m and p are not printed as text; here m = 10 to 50 and p = 0.2 to 1",
        "the Hessian is that of the loss with weights that sum to 1 over users, without ridge, at the true θ",
        "Lemma 4 says nothing at the paper's 30 users: its probability is below 0; --set users=300 has more",
    ),
)
def figure_3(key: Key, p: P) -> Metrics:
    """One replicate: the smallest non-zero eigenvalue of the published Hessian at the true θ."""
    index = jnp.arange(p.max_items)
    real = index < p.num_items
    theta = jnp.where(real, index / (jnp.asarray(p.num_items, float) - 1), 0).astype(float)
    epsilon = jnp.full(p.users, p.epsilon, float)
    chances = reports.pair_chances(theta, p.link)
    sums = reports.draw_report_sums(key, chances, epsilon, None, p.probability, mask=real)
    total = jnp.sum(report_information(epsilon))
    value = smallest_curvature(theta, sums, p.link) / total
    return {"TM": {common.ADRR: {EIGENVALUE: value}}}


# --- Figure 5: Scenario II -----------------------------------------------------------------------


@common.declare(
    "xu-fig5",
    "Scenario II: errors of ADRR against 1/√B(ε)",
    "Figure 5",
    **common.levels(0.5, 2.5, 0.5),
    items=whole(20, "m", least=2),
    users=whole(200, "L"),
    probability=number(1.0, "p", most=1),
    cells=lambda p: [{}],
    optimized=False,
    each=True,
    rows=dots.placed,
    claims=[
        dots.linear(
            "errors grow linearly with 1/√B(ε), with correlations above 0.9", common.ERRORS, 0.9
        ),
        dots.linear("errors grow linearly with 1/√B(ε)", common.ERRORS),
    ],
    picture=dots.PICTURE,
    outline=("x", "link"),
    differences=(
        common.RIDGE,
        common.DRAWN_ANEW,
        "correlations: with m = 20 the ℓ₂ error scatters by 1/√(2·19) = 16 % about its mean, and 1/√B(ε) by 28 %, so "
        "independent replicates correlate at about 0.28/√(0.28² + 0.17²) = 0.85; above 0.9, as printed, they share "
        "noise",
    ),
)
def figure_5(key: Key, p: P) -> Metrics:
    """One replicate: 1/√B(ε), and the errors under both links."""
    world_key, base_key, epsilon_key, report_key = jax.random.split(key, 4)
    theta, _ = reports.uniform_scores(world_key, p.items)
    epsilon = common.spread_levels((base_key, epsilon_key), p, p.users)
    sums = [
        reports.draw_report_sums(
            report_key, reports.pair_chances(theta, link), epsilon, None, p.probability
        )
        for link in common.LINKS.values()
    ]
    return dots.errors_at(epsilon, sums, [theta] * len(sums), p.gamma)

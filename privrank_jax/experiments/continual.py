"""A leaderboard that is published again and again: errors over time, by how its noise is drawn (``continual``)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.experiments import claims
from privrank_jax.experiments.pictures import MIDDLE
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy import Privacy, gaussian_scale
from privrank_jax.privacy.prefix_sums import prefix_sum_error_bound, prefix_sum_errors
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import worlds
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics
from privrank_jax.simulate.table_files import Row

ROOT, TREE, INDEPENDENT, ADDED = "square root", "tree", "independent", "added budgets"
ENDLESS = "no last step"
ONE, PLAIN = "a single release", "no privacy"
INCREMENTS, BOUND = "increments", "any strategy (bound)"
PURE = ", pure ε"  # ends the names of strategies with Laplace noise
SCORE, KENDALL, NOISE = "score_error", "kendall_distance", "noise_variance"
LARGEST, MEAN = "largest_deviation", "mean_square_deviation"
END = 1.0  # share of the time after the last step
ALONE = "noise"  # study of the rows that are about noise alone
SHARES = 10  # the time of all steps is looked at after each tenth
STRATEGIES = {
    ROOT: "square-root",
    TREE: "tree",
    INDEPENDENT: "independent",
    ENDLESS: "unbounded-root",
}
PAIRS = (
    *((TREE, ROOT), (INDEPENDENT, ROOT), (ADDED, INDEPENDENT), (ROOT, ONE)),
    *((INDEPENDENT, ENDLESS), (ENDLESS, ROOT)),
)
STEPS = (1, 10, 100, 365, 1000)


def promise(p: P) -> Privacy:
    """The promise for all steps together; who compared what, and when, is public."""
    return Privacy(
        p.epsilon, unit="user", adjacency="flip", delta=p.delta, contributions=p.contributions
    )


def scale(p: P) -> float:
    """σ of a single release."""
    alone = continual_totals(jax.random.key(0), np.zeros((1, 2)), promise(p))
    return float(alone.diagnostics.noise_scale)


def ends_of(steps: int) -> dict[int, int]:
    """The step that ends with each tenth of the time, for the tenths that end with one where there are few steps.

    >>> ends_of(1), ends_of(5)
    ({10: 1}, {2: 1, 4: 2, 6: 3, 8: 4, 10: 5})
    """
    return {
        tenth: -(-tenth * steps // SHARES)
        for tenth in range(1, SHARES + 1)
        if steps >= SHARES or tenth * steps % SHARES == 0
    }


# --- the table -----------------------------------------------------------------------------------


def deviations(p: P, steps: int) -> dict[str, np.ndarray]:
    """Standard deviation of the noise of one total after each of T steps, by method, in units of one release's.

    Returns:
        ``(T,)`` float64 for Gaussian noise by its strategy, and for budgets that are added up; for Laplace noise by its
        strategy; and the bound, ``(1,)``, that holds for the largest deviation of any strategy with Gaussian noise.
    """
    found = {name: prefix_sum_errors(own, steps, "gaussian") for name, own in STRATEGIES.items()}
    with jax.enable_x64(True):
        alone = float(gaussian_scale(1.0, p.epsilon, p.delta))
        split = float(gaussian_scale(1.0, p.epsilon / steps, p.delta / steps))
    found[ADDED] = np.full(steps, split / alone)
    own = {TREE: "tree", INCREMENTS: "increments", INDEPENDENT: "independent"}
    for name, strategy in {**own, ENDLESS: "unbounded-tree"}.items():
        found[f"{name}{PURE}"] = prefix_sum_errors(strategy, steps, "laplace")
    return found | {BOUND: np.array([prefix_sum_error_bound(steps)])}


def with_deviations(p: P, rows: list[Row]) -> Iterator[Row]:
    """The rows with the number of comparisons as study, and rows of the largest and root mean square deviation.

    Noise is the same whatever the number of comparisons, and its rows stand there once.
    """
    pairs = p.items * (p.items - 1) // 2
    known: Row = {}
    for row in rows:
        noise, count = row["metric"] == NOISE, round(row["per_pair"])
        if noise and (count != p.per_pair[0] or claims.is_difference(row)):
            continue
        kept = {name: value for name, value in row.items() if name != "per_pair"}
        yield kept | {"study": ALONE if noise else f"{pairs * count:,} comparisons"}
        known = dict.fromkeys(kept)
    known |= {"study": ALONE, "share": END}
    known |= {"standard_error": 0.0, "replicates": rows[0]["replicates"], "nonfinite": 0}
    for steps in sorted({*p.steps, *p.lengths}):
        for name, values in deviations(p, steps).items():
            both = {LARGEST: values.max(), MEAN: np.sqrt(np.mean(np.square(values)))}
            for metric, value in both.items():
                own = {"steps": steps, "estimator": name, "metric": metric, "mean": float(value)}
                yield {**known, **own}


# --- claims --------------------------------------------------------------------------------------


def largest(table: StudyResult, name: str) -> dict[int, float]:
    """The largest deviation of a method by T."""
    rows = claims.selected(table.rows, {"metric": LARGEST, "estimator": name})
    return {row["steps"]: row["mean"] for row in rows}


def within(
    table: StudyResult, name: str, others: tuple[str, ...], most: float, least: int = 0
) -> claims.Verdict:
    """Is the largest deviation of a method at most so many times the least of the others, from some T on?"""
    own, known = largest(table, name), [largest(table, other) for other in others]
    ends = {
        steps: (value, min(other[steps] for other in known))
        for steps, value in own.items()
        if steps >= least
    }
    if not ends:
        return claims.NO_CELLS
    spelled = "; ".join(
        f"T = {steps:,}: {one:.3f} against {other:.3f} ({one / other:.3f} times)"
        for steps, (one, other) in ends.items()
    )
    return claims.Verdict(max(one / other for one, other in ends.values()) <= most, spelled)


@functools.cache
def _variances(strategy: str, steps: int) -> np.ndarray:
    return np.square(prefix_sum_errors(strategy, steps, "gaussian"))


def variance(row: Row) -> float:
    """The variance of noise by the formula of its strategy, in a row of simulated noise."""
    if row["estimator"] not in STRATEGIES:
        return math.nan
    end = ends_of(row["steps"])[round(row["share"] * SHARES)]
    return _variances(STRATEGIES[row["estimator"]], row["steps"])[end - 1]


def smaller(better: str, worse: str, metric: str, named: str) -> claims.Claim:
    """The claim that a method is nowhere worse than another at the end, from 100 steps on, and somewhere better."""
    return claims.beats(
        f"{better} never has more of {named} at the end than {worse} (T = 100, 365, 1,000), and somewhere less",
        claims.minus(worse, better),
        "some",
        metric=metric,
        share=END,
        steps=(100, 365, 1000),
    )


# --- the study -----------------------------------------------------------------------------------

_NOISY = (ROOT, TREE, INDEPENDENT, ADDED)
_LOOKS = {
    **{name: (color, 0) for color, name in enumerate((*_NOISY, ONE, PLAIN, BOUND))},
    ENDLESS: (7, 2),
    INCREMENTS: (0, 1),
}


def _gaussian(row: Row) -> Row:
    """A row under the name of its strategy, whatever its noise."""
    return {**row, "estimator": row["estimator"].removesuffix(PURE)}


@study(
    "continual",
    "A leaderboard published again and again under one budget",
    "Fichtenberger, Henzinger and Upadhyay, Constant matters (2023; no leaderboards there)",
    epsilon=number(1.0, "ε of all steps together"),
    contributions=whole(10, "L, comparisons of one user in all steps together"),
    delta=number(1e-6, "δ of all steps together", most=1),
    steps=whole(STEPS, "T"),
    lengths=whole((52, 3650), "further T, of which the deviations of noise alone are compared"),
    per_pair=whole(
        (100, 1000, 10_000),
        "comparisons of each pair of items in all steps together, multiples of 10",
    ),
    items=whole(10, "m", least=2),
    check=lambda p: f"per_pair must be multiples of {SHARES}" * any(n % SHARES for n in p.per_pair),
    prepare=lambda p: {"scale": scale(p)},
    cells=lambda p: [{"per_pair": count} for count in p.per_pair],
    axes=("steps", "estimator", "share", "metric"),
    optimized=False,
    rows=with_deviations,
    claims=[
        claims.below(
            "square root: up to 3,650 leaderboards are no noisier than 14 independent releases",
            14**0.5,
            metric=LARGEST,
            estimator=ROOT,
        ),
        *(
            claims.claim(text, within, name=name, others=others, most=most, least=least)
            for text, name, others, most, least in (
                (
                    "square root: the largest deviation is at most 1.2 times the bound for any strategy",
                    *(ROOT, (BOUND,), 1.2, 0),
                ),
                (
                    "no last step, Gaussian noise: from 10 steps on the largest deviation is at most 1.35 times that "
                    "of the square root for just so many",
                    *(ENDLESS, (ROOT,), 1.35, 10),
                ),
                (
                    "no last step, Laplace noise: from 365 steps on the largest deviation is at most 0.9 times the "
                    "least for just so many",
                    *(f"{ENDLESS}{PURE}", (f"{TREE}{PURE}", f"{INCREMENTS}{PURE}"), 0.9, 365),
                ),
            )
        ),
        claims.close_to(
            "simulated noise has the variance of the formula after every tenth of the time",
            variance,
            4.0,
            metric=NOISE,
        ),
        *(
            smaller(better, worse, metric, named)
            for better, worse in (
                (ROOT, TREE),
                (ROOT, INDEPENDENT),
                (INDEPENDENT, ADDED),
                (ONE, ROOT),
                (ENDLESS, INDEPENDENT),
                (ROOT, ENDLESS),
            )
            for metric, named in ((SCORE, "the error of scores"), (KENDALL, "Kendall's distance"))
        ),
        claims.falls(
            "square root: Kendall's distance falls over time",
            "share",
            metric=KENDALL,
            estimator=ROOT,
            steps=lambda steps: steps > 1,
        ),
        claims.rises(
            "independent and added budgets: Kendall's distance at the end grows with T",
            "steps",
            metric=KENDALL,
            estimator=(INDEPENDENT, ADDED),
            share=END,
        ),
    ],
    picture={
        "lines": (
            {
                "x": "steps",
                "y": {LARGEST: "largest deviation, Gaussian"},
                "where": {"estimator": (*_NOISY, ENDLESS, BOUND)},
                "log_y": True,
            },
            {
                "x": "steps",
                "y": {LARGEST: "largest deviation, Laplace"},
                "where": {"estimator": lambda name: name.endswith(PURE)},
                "change": _gaussian,
                "log_y": True,
            },
            {"x": "steps", "where": {"share": END}},
            {
                "x": "share",
                "where": {"steps": MIDDLE},
                "log_x": False,
            },
        ),
        "y": {SCORE: "error of scores", KENDALL: "Kendall's distance"},
        "panel": ("study",),
        "log_x": True,
        "looks": _LOOKS,
        "names": {"steps": "steps T", "share": "share of the time"},
        "wide": 6,
    },
    replicates=200,
    outline=("share", "steps"),
    differences=(
        "worlds, grid and claims are ours; the paper bounds the deviation of counts",
        "users give 10 comparisons in any steps; who compared what, and when, is public (flip)",
        "scores: ridge fits to noisy totals, with the ridge of least first-order risk for their noise",
        f"{ONE}: the whole budget is spent on the leaderboard looked at, and no other is published",
        f"{ENDLESS}: a strategy for any number of steps; the others know T",
        f"{ADDED}: each step spends ε/T and δ/T, by basic composition",
    ),
)
def trial(key: Key, p: P) -> Metrics:
    """One stream of comparisons, published by every method at every T.

    All comparisons of a tenth of the time arrive in the step that ends it: noise does not depend on the data, so the
    leaderboards looked at have the law that they have where comparisons arrive evenly.
    """
    world_key, data_key, noise_key = jax.random.split(key, 3)
    theta, _ = worlds.uniform_scores(world_key, p.items)
    draw = functools.partial(
        worlds.repeated_comparisons, scores=theta, per_pair=p.per_pair // SHARES
    )
    arrived = jax.vmap(draw)(jax.random.split(data_key, SHARES))
    totals = jnp.cumsum(arrived.totals, axis=0)
    met = jnp.cumsum(arrived.comparisons, axis=0)
    published = released(noise_key, totals, p)
    noisy, deviations, tenths = (
        jnp.stack(parts) for parts in zip(*published.values(), strict=True)
    )
    judge = functools.partial(errors, truth=totals, met=met, theta=theta, scale=p.scale)
    judged = jax.vmap(jax.vmap(judge))(noisy, deviations, tenths)
    place = {name: at for at, name in enumerate(published)}
    found = {}
    for steps in p.steps:
        ends = np.array([tenth - 1 for tenth in ends_of(steps)])
        table = {
            name: judged[place.get((name, steps), place.get((name, 0)))][ends]
            for name in (*STRATEGIES, ADDED, ONE, PLAIN)
        }
        table = claims.with_differences(table, PAIRS)
        shares = tuple((end + 1) / SHARES for end in ends.tolist())
        values = jnp.stack([*table.values()])
        found[steps] = labeled(values, tuple(table), shares, (SCORE, KENDALL, NOISE))
    return found


Released = tuple[Array, Array, Array]
"""At each tenth of the time: totals ``(10, m)``, the deviation of their noise ``(10,)``, the tenth ``(10,)`` from 0."""


def released(key: Key, totals: Array, p: P) -> Mapping[tuple[str, int], Released]:
    """What each method publishes at each T; T = 0 where it does not depend on T."""
    lasting = [name for name in STRATEGIES if name != ENDLESS]
    one_key, *keys = jax.random.split(key, 1 + len(p.steps) * (2 + len(lasting)))
    left, privacy = iter(keys), promise(p)
    nothing = jnp.zeros(SHARES, totals.dtype)
    found: dict[tuple[str, int], Any] = {
        (PLAIN, 0): (totals, nothing, jnp.arange(SHARES)),
        (ONE, 0): by_themselves(one_key, totals, privacy),
    }
    for steps in p.steps:
        for name in lasting:
            found[name, steps] = together(next(left), totals, privacy, steps, name)
        split = replace(privacy, epsilon=p.epsilon / steps, delta=p.delta / steps)
        found[ADDED, steps] = by_themselves(next(left), totals, split)
    for steps, own_key in zip(p.steps, left, strict=True):
        found[ENDLESS, steps] = together(own_key, totals, privacy, steps, ENDLESS)
    return found


def by_themselves(key: Key, totals: Array, privacy: Privacy) -> Released:
    """A release of its own after each tenth, each under this promise."""

    def release(key: Key, total: Array) -> tuple[Array, Array]:
        found = continual_totals(key, total[None], privacy)
        return found.value[0], found.diagnostics.deviations[0]

    noisy, deviations = jax.vmap(release)(jax.random.split(key, SHARES), totals)
    return noisy, deviations, jnp.arange(SHARES)


def together(key: Key, totals: Array, privacy: Privacy, steps: int, name: str) -> Released:
    """T steps under one promise; tenths that end with no step show the last tenth."""
    ends = ends_of(steps)
    tenths, at = np.array([*ends]) - 1, np.array([*ends.values()]) - 1
    arrived = jnp.zeros((steps, totals.shape[1]), totals.dtype)
    arrived = arrived.at[at].set(jnp.diff(totals[tenths], axis=0, prepend=0))
    found = continual_totals(key, arrived, privacy, strategy=STRATEGIES[name])
    shown = np.full(SHARES, tenths[-1])
    shown[tenths] = tenths
    step = at[np.searchsorted(tenths, shown)]
    return found.value[step], found.diagnostics.deviations[step], jnp.asarray(shown)


def errors(
    noisy: Array,
    deviation: Array,
    tenth: Array,
    truth: Array,
    met: Array,
    theta: Array,
    scale: float,
) -> Array:
    """Root mean square error of scores, Kendall's distance, and squared noise in units of one release's variance."""
    degree = jnp.sum(met[tenth]) / theta.size
    gamma = least_risk_gamma(degree, jnp.square(deviation))
    scores = pairwise.fit(pairwise.designs.Counts(met[tenth]), noisy, gamma).value
    far = kendall_distance(ranks_from_scores(scores), ranks_from_scores(theta), normalized=True)
    noise = jnp.mean(jnp.square((noisy - truth[tenth]) / scale))
    return jnp.stack([jnp.sqrt(jnp.mean(jnp.square(scores - theta))), far, noise])

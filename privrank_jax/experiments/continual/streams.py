"""Errors of a leaderboard over time, by how its noise is drawn, with the deviations of this noise (``continual``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import pairwise
from privrank_jax._types import Key
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.continual import common, pictures
from privrank_jax.experiments.continual.common import ContinualConfig, deviations, ends_of
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import Verdict, minus
from privrank_jax.metrics import kendall_distance
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.prefix_sums import prefix_sum_errors
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate import worlds
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study
from privrank_jax.simulate.table_files import Row

PAIRS = (
    *((common.TREE, common.ROOT), (common.INDEPENDENT, common.ROOT)),
    *((common.ADDED, common.INDEPENDENT), (common.ROOT, common.ONE)),
    *((common.INDEPENDENT, common.ENDLESS), (common.ENDLESS, common.ROOT)),
)
AXES = ("steps", "estimator", "share", "metric")
_CLOSE = 1.2  # times the bound


def trial(key: Key, cell: Parameters, *, config: ContinualConfig, scale: float) -> Metrics:
    """One stream of comparisons, published by every method at every T.

    All comparisons of a tenth of the time arrive in the step that ends it: noise does not depend on the data, so the
    leaderboards looked at have the law that they have where comparisons arrive evenly.
    """
    items = config.items
    world_key, data_key, noise_key = jax.random.split(key, 3)
    theta, _ = worlds.uniform_scores(world_key, items)
    each = cell["per_pair"] // common.SHARES
    draw = functools.partial(worlds.repeated_comparisons, scores=theta, per_pair=each)
    arrived = jax.vmap(draw)(jax.random.split(data_key, common.SHARES))
    totals = jnp.cumsum(arrived.totals, axis=0)
    met = jnp.cumsum(arrived.comparisons, axis=0)
    released = _released(noise_key, totals, config)
    noisy, deviations, tenths = (jnp.stack(parts) for parts in zip(*released.values(), strict=True))
    judge = functools.partial(_errors, truth=totals, met=met, theta=theta, scale=scale)
    errors = jax.vmap(jax.vmap(judge))(noisy, deviations, tenths)
    place = {name: number for number, name in enumerate(released)}
    found = {}
    for steps in config.steps:
        ends = np.array([tenth - 1 for tenth in ends_of(steps)])
        table = {
            name: errors[place.get((name, steps), place.get((name, 0)))][ends]
            for name in (*common.STRATEGIES, common.ADDED, common.ONE, common.PLAIN)
        }
        table = claims.with_differences(table, PAIRS)
        shares = tuple((end + 1) / common.SHARES for end in ends.tolist())
        values = jnp.stack([*table.values()])
        found[steps] = labeled(
            values, tuple(table), shares, (common.SCORE, common.KENDALL, common.NOISE)
        )
    return found


Released = tuple[Array, Array, Array]
"""At each tenth of the time: totals ``(10, m)``, the deviation of their noise ``(10,)``, the tenth ``(10,)`` from 0."""


def _released(
    key: Key, totals: Array, config: ContinualConfig
) -> Mapping[tuple[str, int], Released]:
    """What each method publishes at each T; T = 0 where it does not depend on T."""
    lasting = [name for name in common.STRATEGIES if name != common.ENDLESS]
    one_key, *keys = jax.random.split(key, 1 + len(config.steps) * (2 + len(lasting)))
    left = iter(keys)
    found = {
        (common.PLAIN, 0): (
            totals,
            jnp.zeros(common.SHARES, totals.dtype),
            jnp.arange(common.SHARES),
        ),
        (common.ONE, 0): _by_themselves(one_key, totals, config.privacy),
    }
    for steps in config.steps:
        for name in lasting:
            found[name, steps] = _together(next(left), totals, config.privacy, steps, name)
        split = replace(config.privacy, epsilon=config.epsilon / steps, delta=config.delta / steps)
        found[common.ADDED, steps] = _by_themselves(next(left), totals, split)
    for steps, own_key in zip(config.steps, left, strict=True):
        name = common.ENDLESS
        found[name, steps] = _together(own_key, totals, config.privacy, steps, name)
    return found


def _by_themselves(key: Key, totals: Array, privacy: Privacy) -> Released:
    """A release of its own after each tenth, each under this promise."""

    def release(key: Key, total: Array) -> tuple[Array, Array]:
        found = continual_totals(key, total[None], privacy)
        return found.value[0], found.diagnostics.deviations[0]

    noisy, deviations = jax.vmap(release)(jax.random.split(key, common.SHARES), totals)
    return noisy, deviations, jnp.arange(common.SHARES)


def _together(key: Key, totals: Array, privacy: Privacy, steps: int, name: str) -> Released:
    """T steps under one promise; tenths that end with no step show the last tenth."""
    ends = ends_of(steps)
    tenths, at = np.array([*ends]) - 1, np.array([*ends.values()]) - 1
    seen = totals[tenths]
    arrived = jnp.zeros((steps, totals.shape[1]), totals.dtype)
    arrived = arrived.at[at].set(jnp.diff(seen, axis=0, prepend=0))
    found = continual_totals(key, arrived, privacy, strategy=common.STRATEGIES[name])
    shown = np.full(common.SHARES, tenths[-1])
    shown[tenths] = tenths
    step = at[np.searchsorted(tenths, shown)]
    return found.value[step], found.diagnostics.deviations[step], jnp.asarray(shown)


def _errors(
    noisy: Array,
    deviation: Array,
    tenth: Array,
    *,
    truth: Array,
    met: Array,
    theta: Array,
    scale: float,
) -> Array:
    """Root mean square error of scores, Kendall's distance, and squared noise in units of one release's variance."""
    degree = jnp.sum(met[tenth]) / theta.size
    gamma = least_risk_gamma(degree, jnp.square(deviation))
    scores = pairwise.fit(pairwise.Counts(met[tenth]), noisy, gamma).value
    far = kendall_distance(ranks_from_scores(scores), ranks_from_scores(theta), normalized=True)
    noise = jnp.mean(jnp.square((noisy - truth[tenth]) / scale))
    return jnp.stack([jnp.sqrt(jnp.mean(jnp.square(scores - theta))), far, noise])


def build(config: ContinualConfig) -> tuple[Study, ...]:
    """Build one study; one program."""
    if any(count % common.SHARES for count in config.per_pair):
        raise ValueError(f"per_pair must be multiples of {common.SHARES}, got {config.per_pair}.")
    cells = tuple({"per_pair": count} for count in config.per_pair)
    run = functools.partial(trial, config=config, scale=config.scale)
    return (Study(config.name, run, cells, axes=AXES, optimized=False),)


def with_deviations(config: ContinualConfig, rows: list[Row]) -> list[Row]:
    """The rows with the number of comparisons as study, and rows of the largest and root mean square deviation.

    Noise is the same whatever the number of comparisons, and its rows stand there once.
    """
    pairs = config.items * (config.items - 1) // 2
    found: list[Row] = []
    for row in rows:
        noise, count = row["metric"] == common.NOISE, round(row["per_pair"])
        if noise and (count != config.per_pair[0] or claims.is_difference(row)):
            continue
        kept = {name: value for name, value in row.items() if name != "per_pair"}
        found.append(kept | {"study": common.ALONE if noise else f"{pairs * count:,} comparisons"})
    replicates = rows[0]["replicates"]
    for steps in sorted({*config.steps, *config.lengths}):
        for name, values in deviations(config, steps).items():
            both = {common.LARGEST: values.max(), common.MEAN: np.sqrt(np.mean(np.square(values)))}
            for metric, value in both.items():
                found.append(
                    {
                        **dict.fromkeys(found[0]),
                        "study": common.ALONE,
                        "steps": steps,
                        "estimator": name,
                        "share": common.END,
                        "metric": metric,
                        "mean": float(value),
                        "standard_error": 0.0,
                        "replicates": replicates,
                        "nonfinite": 0,
                    }
                )
    return found


# --- claims --------------------------------------------------------------------------------------


def _largest(table: StudyResult, name: str) -> dict[int, float]:
    """The largest deviation of a method by T."""
    rows = claims.selected(table.rows, {"metric": common.LARGEST, "estimator": name})
    return {row["steps"]: row["mean"] for row in rows}


def near_bound(table: StudyResult) -> Verdict:
    """Is the largest deviation of the square root at most 1.2 times the bound for any strategy, at every T?"""
    own, bound = _largest(table, common.ROOT), _largest(table, common.BOUND)
    if not own:
        return Verdict(None, "no such rows")
    shares = {steps: own[steps] / bound[steps] for steps in own}
    spelled = "; ".join(
        f"T = {steps:,}: {own[steps]:.3f} against {bound[steps]:.3f} ({share:.3f} times)"
        for steps, share in shares.items()
    )
    return Verdict(max(shares.values()) <= _CLOSE, spelled)


def like_few(table: StudyResult, *, most: int) -> Verdict:
    """Is the largest deviation of the square root that of at most so many independent releases, at every T?"""
    own = _largest(table, common.ROOT)
    if not own:
        return Verdict(None, "no such rows")
    spelled = "; ".join(f"T = {steps:,}: {value**2:.1f}" for steps, value in own.items())
    return Verdict(max(own.values()) ** 2 <= most, f"as many as {spelled}")


def as_without_end(
    table: StudyResult, end: str, known: tuple[str, ...], *, most: float, least: int = 0
) -> Verdict:
    """Is the largest deviation without a last step at most so many times the least for a known T, from some T on?"""
    own = _largest(table, f"{common.ENDLESS}{end}")
    others = [_largest(table, f"{name}{end}") for name in known]
    shares = {
        steps: (own[steps], min(other[steps] for other in others))
        for steps in own
        if steps >= least
    }
    if not shares:
        return Verdict(None, "no such rows")
    spelled = "; ".join(
        f"T = {steps:,}: {one:.3f} against {other:.3f} ({one / other:.3f} times)"
        for steps, (one, other) in shares.items()
    )
    return Verdict(max(one / other for one, other in shares.values()) <= most, spelled)


def as_computed(table: StudyResult, *, config: ContinualConfig) -> Verdict:
    """Is the mean square of the noise within 4 standard errors of its variance by formula, after every tenth?"""
    worst, count, named = 0.0, 0, ""
    for steps in config.steps:
        for name, own in common.STRATEGIES.items():
            variances = np.square(prefix_sum_errors(own, steps, "gaussian"))
            for row in claims.selected(
                table.rows, {"metric": common.NOISE, "estimator": name, "steps": steps}
            ):
                end = ends_of(steps)[round(row["share"] * common.SHARES)]
                apart = abs(row["mean"] - variances[end - 1]) / row["standard_error"]
                count += 1
                if apart > worst:
                    worst, named = apart, f"{name}, T = {steps}, share {row['share']:g}"
    if not count:
        return Verdict(None, "no such cells")
    evidence = f"{count} means; the one farthest off, by {worst:.1f} standard errors: {named}"
    return Verdict(bool(worst <= 4.0), evidence)


def _smaller(better: str, worse: str, *, steps: tuple[int, ...], metric: str) -> claims.Claim:
    named = {common.SCORE: "the error of scores", common.KENDALL: "Kendall's distance"}[metric]
    return claims.positive(
        f"{better} never has more of {named} at the end than {worse} (T = {', '.join(f'{t:,}' for t in steps)}), and "
        "somewhere less",
        minus(worse, better),
        everywhere=False,
        metric=metric,
        share=common.END,
        steps=steps,
    )


CONFIG = ContinualConfig("continual", epsilon=1.0, contributions=10)
MANY = tuple(steps for steps in CONFIG.steps if steps >= 100)

EXPERIMENTS = (
    Experiment(
        name="continual",
        title="A leaderboard published again and again under one budget",
        paper="Fichtenberger, Henzinger and Upadhyay, Constant matters (2023; no leaderboards there)",
        config=CONFIG,
        build=build,
        annotate=with_deviations,
        claims=(
            claims.claim(
                f"square root: the largest deviation is at most {_CLOSE:g} times the bound for any strategy",
                near_bound,
            ),
            claims.claim(
                "square root: up to 3,650 leaderboards are no noisier than 14 independent releases",
                like_few,
                most=14,
            ),
            claims.claim(
                "no last step, Gaussian noise: from 10 steps on the largest deviation is at most 1.35 times that of "
                "the square root for just so many",
                as_without_end,
                end="",
                known=(common.ROOT,),
                most=1.35,
                least=10,
            ),
            claims.claim(
                "no last step, Laplace noise: from 365 steps on the largest deviation is at most 0.9 times the least "
                "for just so many",
                as_without_end,
                end=common.PURE,
                known=(common.TREE, common.INCREMENTS),
                most=0.9,
                least=365,
            ),
            claims.claim(
                "simulated noise has the variance of the formula after every tenth of the time",
                as_computed,
                config=CONFIG,
            ),
            *(
                _smaller(better, worse, steps=steps, metric=metric)
                for better, worse, steps in (
                    (common.ROOT, common.TREE, MANY),
                    (common.ROOT, common.INDEPENDENT, MANY),
                    (common.INDEPENDENT, common.ADDED, MANY),
                    (common.ONE, common.ROOT, MANY),
                    (common.ENDLESS, common.INDEPENDENT, MANY),
                    (common.ROOT, common.ENDLESS, MANY),
                )
                for metric in (common.SCORE, common.KENDALL)
            ),
            claims.trend(
                "square root: Kendall's distance falls over time",
                "share",
                -1,
                metric=common.KENDALL,
                estimator=common.ROOT,
                where=lambda row: row["steps"] > 1,
            ),
            claims.trend(
                "independent and added budgets: Kendall's distance at the end grows with T",
                "steps",
                1,
                metric=common.KENDALL,
                estimator=(common.INDEPENDENT, common.ADDED),
                share=common.END,
            ),
        ),
        draw=pictures.over_time,
        replicates=200,
        outline=("share", "steps"),
        differences=(
            "worlds, grid and claims are ours; the paper bounds the deviation of counts",
            "users give 10 comparisons in any steps; who compared what, and when, is public (flip)",
            "scores: ridge fits to noisy totals, with the ridge of least first-order risk for their noise",
            f"{common.ONE}: the whole budget is spent on the leaderboard looked at, and no other is published",
            f"{common.ENDLESS}: a strategy for any number of steps; the others know T",
            f"{common.ADDED}: each step spends ε/T and δ/T, by basic composition",
        ),
    ),
)

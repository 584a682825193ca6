"""The inference attack on synthetic rankings: at fixed ε (study ``rdp-fig5``), at ε falling with N (``rdp-fig6``)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import mallows
from privrank_jax._types import Epsilon, Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import Verdict
from privrank_jax.experiments.rdp import common
from privrank_jax.experiments.rdp import pictures as rdp_pictures
from privrank_jax.mallows import attack
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid
from privrank_jax.simulate.table_files import Row

WRONG, BOUND = "wrong", "lower_bound"
GUESS = "most likely center"
SLOW, FAST = "(m-1)/√N", "(m-1) log N/√N"
_PART = 50  # rankings drawn at once
_SEEN = 0.02  # below this an error is too rare to show a trend
_FACTORS = {SLOW: lambda n: 1.0, FAST: math.log}


@dataclass(frozen=True)
class AttackConfig:
    """Grid of ``rdp-fig5``.

    Attributes:
        name: name of the study.
        items: m.
        epsilons: ε.
        rankings: N.
    """

    name: str
    items: tuple[int, ...] = (3, 4, 5)
    epsilons: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    rankings: tuple[int, ...] = tuple(range(10, 101, 10))


@dataclass(frozen=True)
class AdaptiveConfig:
    """Grid of ``rdp-fig6``.

    Attributes:
        name: name of the study.
        items: m.
        rankings: N.
        schemes: laws by which ε falls with N.
    """

    name: str
    items: tuple[int, ...] = (3, 4, 5)
    rankings: tuple[int, ...] = (*range(10, 101, 10), 200, 400)
    schemes: tuple[str, ...] = (SLOW, FAST)


def attack_trial(key: Key, cell: Parameters, *, config: AttackConfig) -> Metrics:
    """Draw synthetic rankings for the largest N, and attack the first N of them for every N."""
    sizes = jnp.asarray(config.rankings)
    wrong = _attacked(key, cell["num_items"], cell["epsilon"], sizes, max(config.rankings))
    return {WRONG: {GUESS: labeled(wrong, config.rankings)}}


def adaptive_trial(key: Key, cell: Parameters, *, config: AdaptiveConfig) -> Metrics:
    """Attack N synthetic rankings at the scheme's ε for this N."""
    rankings, items = cell["num_rankings"], cell["num_items"]
    factor = jnp.log(rankings) if cell["scheme"] == FAST else 1.0
    epsilon = (items - 1) * factor / jnp.sqrt(rankings)
    center = fixed(jnp.arange(items))

    def add(part: Array, wins: Array) -> Array:
        index = part * _PART + jnp.arange(_PART)
        keys = jax.vmap(functools.partial(jax.random.fold_in, key))(index)
        ranks = jax.vmap(mallows.sample, (0, None, None))(keys, center, epsilon)
        return wins + attack.win_counts(ranks, index < rankings)

    # Replicates of one cell end together; cells of few rankings need few parts.
    zero = jnp.zeros((items, items), jnp.int32)
    wins = jax.lax.fori_loop(0, -(-rankings // _PART), add, zero)
    guess = mallows.most_likely_center(jax.random.fold_in(key, max(config.rankings)), wins)
    return {WRONG: {GUESS: jnp.any(guess != center).astype(float)}}


def _attacked(key: Key, items: int, epsilon: Epsilon, sizes: Array, most: int) -> Array:
    """Whether the most likely center of the first N of ``most`` rankings is wrong, for each N of ``sizes``."""
    keys = jax.random.split(key, most + sizes.shape[0])  # one for each ranking, then one for each N
    center = fixed(jnp.arange(items))
    ranks = jax.vmap(mallows.sample, (0, None, None))(keys[:most], center, epsilon)

    def attacked(key: Key, size: Array) -> Array:
        wins = attack.win_counts(ranks, jnp.arange(most) < size)
        return jnp.any(mallows.most_likely_center(key, wins) != center)

    return jax.vmap(attacked)(keys[most:], sizes).astype(float)


def build(config: AttackConfig) -> tuple[Study, ...]:
    """Build one study, with a program per m."""
    trial = functools.partial(attack_trial, config=config)
    cells = grid(num_items=config.items, epsilon=config.epsilons)
    axes = (*common.AXES, "num_rankings")
    return (Study(config.name, trial, cells, ("num_items",), axes, optimized="some"),)


def build_adaptive(config: AdaptiveConfig) -> tuple[Study, ...]:
    """Build one study, with a program per m and scheme."""
    trial = functools.partial(adaptive_trial, config=config)
    cells = grid(num_items=config.items, scheme=config.schemes, num_rankings=config.rankings)
    static = ("num_items", "scheme")
    return (Study(config.name, trial, cells, static, common.AXES, optimized="some"),)


def with_bounds(config: object, rows: list[Row]) -> list[Row]:
    """Add a row with the lower bound of the error after each row of the attack."""
    del config
    result = []
    for row in rows:
        items, rankings = int(row["num_items"]), int(row["num_rankings"])
        epsilon = row.get("epsilon")
        if epsilon is None:
            epsilon = (items - 1) * _FACTORS[row["scheme"]](rankings) / math.sqrt(rankings)
        bound = float(mallows.attack_error_bound(items, epsilon, rankings))
        known = {"metric": BOUND, "mean": bound, "standard_error": 0.0, "nonfinite": 0}
        result += [row, {**row, **known, "estimator": "any attack"}]
    return result


# --- claims --------------------------------------------------------------------------------------


def above_bound(table: StudyResult) -> Verdict:
    """Is no error below its lower bound, by more than the slack?"""
    found = _beside_bounds(table)
    if not found:
        return Verdict(None, "no cells")
    below = [row for row, bound in found if row["mean"] + common.Z * _error(row, bound) < bound]
    ratios = sorted(row["mean"] / bound for row, bound in found if bound > 20 / row["replicates"])
    spelled = f"error over bound: {ratios[0]:.2f} to {ratios[-1]:.2f}" if ratios else ""
    evidence = f"{len(found) - len(below)} of {len(found)} cells at or above it (slack {common.Z:g} SE); {spelled}"
    return Verdict(not below, evidence)


def _beside_bounds(table: StudyResult) -> list[tuple[Row, float]]:
    """Rows of the attack, each with its bound, which is the next row of the table."""
    rows = table.rows
    return [(row, after["mean"]) for row, after in zip(rows[::2], rows[1::2], strict=True)]


def _error(row: Row, chance: float) -> float:
    """Standard error of a share if the true probability were ``chance``; not 0 even when no errors are observed."""
    return math.sqrt(chance * (1 - chance) / row["replicates"])


def rises(table: StudyResult) -> Verdict:
    """Does the error rise with m at every ε and N at which it exceeds ``_SEEN`` for some m?"""
    rows = [row for row in table.rows if row["metric"] == WRONG]
    seen = [
        row
        for some in claims.groups(rows, "epsilon", "num_rankings").values()
        if max(row["mean"] for row in some) > _SEEN
        for row in some
    ]
    wanted = {"metric": WRONG, "estimator": GUESS}
    return claims.judge_trend(StudyResult(table.study, seen), x="num_items", sign=1, wanted=wanted)


def stays_away(table: StudyResult) -> Verdict:
    """At ε = (m-1)/√N, is the error at every N at least the limit of its lower bound?"""
    rows = [row for row in table.rows if row["metric"] == WRONG and row.get("scheme") == SLOW]
    if not rows:
        return Verdict(None, "the scheme did not run")
    tail = 0.5 * math.erfc(0.5 / math.sqrt(2))
    lines, holds = [], True
    for (items,), some in claims.groups(rows, "num_items").items():
        limit = 1 - (1 - tail) ** (items // 2)
        least = min(some, key=lambda row: row["mean"])
        last = max(some, key=lambda row: row["num_rankings"])
        holds &= least["mean"] + common.Z * _error(least, limit) >= limit
        lines.append(
            f"m = {items}: least {least['mean']:.3f} (N = {least['num_rankings']}), {last['mean']:.3f} at N = "
            f"{last['num_rankings']}, limit of the bound {limit:.3f}"
        )
    return Verdict(holds, "; ".join(lines))


def goes_to_zero(table: StudyResult) -> Verdict:
    """At ε = (m-1) log N/√N, does the error fall to below a tenth of its value at the smallest N?"""
    rows = [row for row in table.rows if row["metric"] == WRONG and row.get("scheme") == FAST]
    curves = claims.groups(rows, "num_items")
    if not curves or any(len(some) < 2 for some in curves.values()):
        return Verdict(None, "the scheme did not run at two N")
    lines, holds = [], True
    for (items,), some in curves.items():
        some = sorted(some, key=lambda row: row["num_rankings"])
        first, last = some[0], some[-1]
        holds &= last["mean"] < 0.1 * first["mean"]
        lines.append(
            f"m = {items}: {first['mean']:.4f} at N = {first['num_rankings']} to {last['mean']:.4f} at N = "
            f"{last['num_rankings']}"
        )
    return Verdict(holds, "; ".join(lines))


# --- registered ----------------------------------------------------------------------------------

_BOUND = claims.claim("no error is below our lower bound", above_bound)
_TIES = (
    "rankings that are equally likely are drawn at random; the paper does not say what breaks ties",
    "dashed: our form of the bound of Theorem 2, without constants; the printed one has a constant of unknown value",
)

EXPERIMENTS = (
    Experiment(
        name="rdp-fig5",
        title="Recovering a ranking from N synthetic ones at fixed ε",
        paper=f"{common.PAPER}, section 6.2 and Figure 5",
        config=AttackConfig("rdp-fig5"),
        build=build,
        annotate=with_bounds,
        claims=(
            claims.trend(
                "the error falls with the number N of rankings", "num_rankings", -1, metric=WRONG
            ),
            claims.trend("the error falls with ε", "epsilon", -1, metric=WRONG),
            claims.claim(
                f"the error rises with the number m of items, where it exceeds {_SEEN:g}", rises
            ),
            _BOUND,
        ),
        draw=rdp_pictures.attack_by_epsilon,
        replicates=1000,
        outline=("num_rankings", "num_items"),
        differences=("the likelihood is maximized (its printed sign is wrong)", *_TIES),
    ),
    Experiment(
        name="rdp-fig6",
        title="Recovering a ranking from N synthetic ones at ε that falls with N",
        paper=f"{common.PAPER}, section 6.2 and Figure 6",
        config=AdaptiveConfig("rdp-fig6"),
        build=build_adaptive,
        annotate=with_bounds,
        claims=(
            claims.claim(f"at ε = {SLOW} the error stays away from 0", stays_away),
            claims.claim(f"at ε = {FAST} the error goes to 0", goes_to_zero),
            _BOUND,
        ),
        draw=rdp_pictures.attack_adaptive,
        replicates=5000,
        outline=("num_rankings", "num_items"),
        differences=(
            "N: 10, 20, ..., 100, as in the first example, whose settings the paper says it keeps; and 200 and 400",
            *_TIES,
        ),
    ),
)

"""The inference attack on synthetic rankings: at fixed ε (study ``rdp-fig5``), at ε falling with N (``rdp-fig6``)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax import mallows
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import claims
from privrank_jax.experiments.rdp import common
from privrank_jax.experiments.study import P, number, study, whole, word
from privrank_jax.mallows import attack
from privrank_jax.mallows.attack import attack_error_bound
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.study import Metrics, grid
from privrank_jax.simulate.table_files import Row

WRONG, BOUND = "wrong", "lower_bound"
GUESS, ANY = "most likely center", "any attack"
SLOW, FAST = "(m-1)/√N", "(m-1) log N/√N"
_PART = 50  # rankings drawn at once
_SEEN = 0.02  # below this an error is too rare to show a trend
_TAIL = 0.5 * math.erfc(0.5 / math.sqrt(2))


def bound_of(row: Row) -> float:
    """The lower bound of the error of any attack in a cell."""
    items, rankings = int(row["num_items"]), int(row["num_rankings"])
    factor = math.log(rankings) if row.get("scheme") == FAST else 1.0
    epsilon = row.get("epsilon") or (items - 1) * factor / math.sqrt(rankings)
    return float(attack_error_bound(items, epsilon, rankings))


def with_bounds(p: P, rows: list[Row]) -> Iterator[Row]:
    """Add a row with the lower bound of the error after each row of the attack."""
    del p
    for row in rows:
        known = {"metric": BOUND, "mean": bound_of(row), "standard_error": 0.0, "nonfinite": 0}
        yield row
        yield {**row, **known, "estimator": ANY}


def seen(table: StudyResult) -> claims.Verdict:
    """Does the error rise with m at every ε and N at which it exceeds ``_SEEN`` for some m?"""
    rows = claims.selected(table.rows, {"metric": WRONG})
    cells = claims.groups(rows, "epsilon", "num_rankings").values()
    kept = [row for some in cells if max(r["mean"] for r in some) > _SEEN for row in some]
    return claims.rises("", "num_items").check(StudyResult(table.study, kept))


def goes_to_zero(table: StudyResult) -> claims.Verdict:
    """At ε = (m-1) log N/√N, does the error fall to below a tenth of its value at the smallest N?"""
    curves = claims.groups(
        claims.selected(table.rows, {"metric": WRONG, "scheme": FAST}), "num_items"
    )
    if not curves or any(len(some) < 2 for some in curves.values()):
        return claims.NO_CELLS
    lines, holds = [], True
    for (items,), some in curves.items():
        first, *_, last = sorted(some, key=lambda row: row["num_rankings"])
        holds &= last["mean"] < 0.1 * first["mean"]
        ends = (f"{row['mean']:.4f} at N = {row['num_rankings']}" for row in (first, last))
        lines.append(f"m = {items}: {' to '.join(ends)}")
    return claims.Verdict(holds, "; ".join(lines))


def at_least(text: str, limit: Any, **where: Any) -> claims.Claim:
    """Claim: no error is below a limit by more than the slack, in standard errors of a share that is that limit."""

    def allowed(row: Row) -> float:
        chance = limit(row)
        return chance - common.Z * math.sqrt(chance * (1 - chance) / row["replicates"])

    return claims.above(text, allowed, 0.0, metric=WRONG, **where)


def declare(name: str, title: str, figure: str, color: str, panel: str, **more: Any) -> Any:
    """:func:`study` of attacks, whose error stands against N."""
    return study(
        name,
        title,
        f"{common.PAPER}, section 6.2 and {figure}",
        rows=with_bounds,
        optimized="some",
        outline=("num_rankings", "num_items"),
        picture={
            "x": "num_rankings",
            "y": {WRONG: "P(ranking not recovered)"},
            "change": lambda row: {**row, "limit": bound_of(row)},
            "color": color,
            "panel": (panel,),
            "exact": "limit",
            "log_x": True,
            "from_zero": True,
            "note": "dashed: lower bound for any attack",
        },
        **more,
    )


_BOUND = at_least("no error is below our lower bound", bound_of)
_TIES = (
    "rankings that are equally likely are drawn at random; the paper does not say what breaks ties",
    "dashed: our form of the bound of Theorem 2, without constants; the printed one has a constant of unknown value",
)


@declare(
    "rdp-fig5",
    "Recovering a ranking from N synthetic ones at fixed ε",
    "Figure 5",
    "epsilon",
    "num_items",
    items=whole((3, 4, 5), "m", least=2),
    epsilons=number((1.0, 2.0, 3.0, 4.0), "ε"),
    rankings=whole(tuple(range(10, 101, 10)), "N"),
    cells=lambda p: grid(num_items=p.items, epsilon=p.epsilons),
    static=("num_items",),
    axes=("metric", "estimator", "num_rankings"),
    claims=[
        claims.falls("the error falls with the number N of rankings", "num_rankings", metric=WRONG),
        claims.falls("the error falls with ε", "epsilon", metric=WRONG),
        claims.claim(
            f"the error rises with the number m of items, where it exceeds {_SEEN:g}", seen
        ),
        _BOUND,
    ],
    replicates=1000,
    differences=("the likelihood is maximized (its printed sign is wrong)", *_TIES),
)
def figure_5(key: Key, p: P) -> Metrics:
    """Draw synthetic rankings for the largest N, and attack the first N of them for every N."""
    sizes, most = jnp.asarray(p.rankings), max(p.rankings)
    keys = jax.random.split(key, most + sizes.shape[0])  # one for each ranking, then one for each N
    center = fixed(jnp.arange(p.num_items))
    ranks = jax.vmap(mallows.sample, (0, None, None))(keys[:most], center, p.epsilon)

    def attacked(key: Key, size: Array) -> Array:
        wins = attack.win_counts(ranks, jnp.arange(most) < size)
        return jnp.any(mallows.most_likely_center(key, wins) != center)

    wrong = jax.vmap(attacked)(keys[most:], sizes).astype(float)
    return {WRONG: {GUESS: labeled(wrong, p.rankings)}}


@declare(
    "rdp-fig6",
    "Recovering a ranking from N synthetic ones at ε that falls with N",
    "Figure 6",
    "num_items",
    "scheme",
    items=whole((3, 4, 5), "m", least=2),
    rankings=whole((*range(10, 101, 10), 200, 400), "N"),
    schemes=word((SLOW, FAST), "laws by which ε falls with N", among=(SLOW, FAST)),
    cells=lambda p: grid(num_items=p.items, scheme=p.schemes, num_rankings=p.rankings),
    static=("num_items", "scheme"),
    claims=[
        at_least(
            f"at ε = {SLOW} the error stays away from 0",
            lambda row: (
                1 - (1 - _TAIL) ** (row["num_items"] // 2)
            ),  # limit of the lower bound there
            scheme=SLOW,
        ),
        claims.claim(f"at ε = {FAST} the error goes to 0", goes_to_zero),
        _BOUND,
    ],
    replicates=5000,
    differences=(
        "N: 10, 20, ..., 100, as in the first example, whose settings the paper says it keeps; and 200 and 400",
        *_TIES,
    ),
)
def figure_6(key: Key, p: P) -> Mapping[str, Any]:
    """Attack N synthetic rankings at the scheme's ε for this N."""
    rankings, items = p.num_rankings, p.num_items
    factor = jnp.log(rankings) if p.scheme == FAST else 1.0
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
    guess = mallows.most_likely_center(jax.random.fold_in(key, max(p.rankings)), wins)
    return {WRONG: {GUESS: jnp.any(guess != center).astype(float)}}

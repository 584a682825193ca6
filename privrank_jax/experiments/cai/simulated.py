"""Figures 1 to 3 and 5 to 7 of Cai, Chakraborty and Wang: tournaments under edge DP, users under individual DP."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jaxtyping import Array

from privrank_jax._types import Key
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai import common
from privrank_jax.experiments.cai.common import COUNTS, L2, LINF, MLE, TOP, Unit, errors
from privrank_jax.experiments.claims import Claim, beats, falls, nearer, rises
from privrank_jax.experiments.study import P, number, study, whole
from privrank_jax.simulate import worlds
from privrank_jax.simulate.study import Metrics, Parameters, grid

# Tournaments fitted at once on a CPU: two keep two cores busy, four hide most of the waiting, more exceed the cache.
BATCH = 4
LEVELS = (0.5, 1.0, 2.5, math.inf)
MORE_LEVELS = (1 / 5, 1 / 4, 1 / 3, 1 / 2, 1.0, 3 / 2, 2.0, 5 / 2, 5.0, math.inf)
SEVENTH = (0.25, 1.0, 2.0, 4.0, 8.0, 10.0)  # of Figure 7 in the published code
ERRORS = {"metric": (LINF, L2, TOP), "estimator": (MLE, COUNTS)}
EPSILON = "ε; ∞ means no privacy"


def sized(sizes: Sequence[int], programs: int = 3) -> list[Parameters]:
    """Cells of these numbers of items, each padded to the largest of its group of neighbors, compiled once.

    >>> [cell["max_items"] for cell in sized([10, 20, 30, 40], 2)]
    [20, 20, 40, 40]
    """
    ordered = sorted(set(sizes))
    each = math.ceil(len(ordered) / programs)
    padded = {m: ordered[min(k - k % each + each, len(ordered)) - 1] for k, m in enumerate(ordered)}
    return [{"num_items": m, "max_items": padded[m]} for m in sizes]


def tournament(key: Key, p: P, probability: Any) -> tuple[WinCounts, Array, Array]:
    """Draw scores and one tournament: win counts, θ ``(m,)``, and the size k of the top set."""
    world_key, data_key = jax.random.split(key)
    theta, mask = worlds.cai_scores(world_key, p.num_items, p.max_items)
    wins = worlds.tournament(data_key, theta, probability, mask=mask)
    return wins, theta, worlds.cai_top_k(p.num_items)


def claimed(change: Callable[..., Claim], text: str, x: str, counts: str, per: str) -> list[Claim]:
    """Claims of every figure: how errors change with x, counts against the MLE, and that ε = 2.5 is near no privacy.

    ``counts`` is the noise of the published counts, ``per`` is ``"L"`` where users are protected, else empty.
    """
    against = (
        (f"privately (published: MLE 8{per}/ε, counts {counts})", "published", math.isfinite),
        ("without privacy (published)", "published", math.isinf),
        (
            f"privately at tight noise (replace: MLE 4{per}/ε, counts 2{per}/ε)",
            "tight replace",
            math.isfinite,
        ),
        (f"privately at equal, tight noise (flip: both 2{per}/ε)", "tight flip", math.isfinite),
        ("without privacy (MLE with the default ridge)", "tight flip", math.isinf),
    )
    close = "errors at ε = 2.5 are closer to those without privacy than to those at ε = 1"
    bent = (common.BEND.format(MLE), common.BEND.format(COUNTS))
    return [
        *(change(f"all errors {text} ({n})", x, **ERRORS, calibration=n) for n in common.NAMES),
        *(
            beats(
                f"counting recovers the top k better than the MLE, {how}",
                common.DIFFERENCE,
                "half",
                metric=TOP,
                calibration=calibration,
                epsilon=private,
            )
            for how, calibration, private in against
        ),
        *(
            nearer(f"{close} ({n})", bent, metric=ERRORS["metric"], calibration=n)
            for n in common.NAMES
        ),
    ]


def figure(n: int, title: str, changes: tuple[Any, str, str], curve: str, **more: Any) -> Any:
    """Declare the study of Figure n; ``changes`` are a verb, words and the column on the axis."""
    change, text, x = changes
    users, log_x = n > 4, x == "epsilon"
    names = {"num_items": "items n", "num_users": "users m", "probability": "chance p"}
    labels = (
        (LINF, "log relative ℓ∞ error of θ"),
        (L2, "log relative ℓ₂ error of θ"),
        (TOP, "top-k error"),
    )
    printed = common.USER_DIFFERENCES if users else common.EDGE_DIFFERENCES
    return study(
        f"cai-fig{n}",
        title,
        f"{common.PAPER}, Experiment {n} and Figure {n}",
        axes=common.AXES,
        static=("max_items", "max_users"),
        claims=claimed(change, text, x, "L/ε" if users else "2/ε", "L" * users),
        picture={
            "x": x,
            "y": dict(labels),
            "color": curve,
            "style": "estimator",
            "panel": ("calibration",),
            "where": {"estimator": (MLE, COUNTS)},
            "log_x": log_x,
            "names": {**common.WRITTEN, **names},
        },
        outline=(x, curve),
        replicates=1000 if users else 100,
        batch=None if users else BATCH,
        **{"differences": (common.PUBLISHED_GRID, *printed), **more},
    )


# --- tournaments: ε protects one comparison ------------------------------------------------------


def pairs(items: tuple[int, ...], chances: tuple[float, ...], levels: tuple[float, ...]) -> Any:
    """Parameters of a grid in which every pair of items is compared at most once."""
    return {
        "items": whole(items, "n", least=2),
        "probabilities": number(chances, "p, the chance that a pair is compared", most=1),
        "epsilons": number(levels, EPSILON),
        "cells": lambda p: [
            {**cell, "probability": chance} for cell in sized(p.items) for chance in p.probabilities
        ],
    }


@figure(
    1,
    "Edge DP: errors against the number of items, p = 1",
    (falls, "decrease as the number of items grows", "num_items"),
    "epsilon",
    **pairs(tuple(range(100, 701, 75)), (1.0,), LEVELS),
)
@figure(
    2,
    "Edge DP: errors against the chance p that a pair is compared, 300 items",
    (falls, "decrease as p grows", "probability"),
    "epsilon",
    **pairs((300,), tuple(round(0.1 + 0.075 * step, 3) for step in range(13)), LEVELS),
)
@figure(
    3,
    "Edge DP: errors against ε at four chances p of a comparison, 300 items",
    (falls, "decrease as ε grows", "epsilon"),
    "probability",
    **pairs((300,), (0.25, 0.5, 0.75, 1.0), MORE_LEVELS),
)
def compared(key: Key, p: P) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one tournament."""
    data_key, noise_key, tie_key = jax.random.split(key, 3)
    wins, theta, top = tournament(data_key, p, p.probability)
    return errors((noise_key, tie_key), wins, theta, top, Unit(), p.epsilons)


# --- users: ε protects all comparisons of one ----------------------------------------------------


def crowd(items: tuple[int, ...], users: tuple[int, ...], levels: tuple[float, ...]) -> Any:
    """Parameters of a grid in which every user answers L pairs drawn at random."""
    return {
        "items": whole(items, "n, padded to the largest", least=2),
        "users": whole(users, "m, padded to the largest"),
        "epsilons": number(levels, EPSILON),
        "per_user": whole(5, "L, comparisons of each user"),
        "cells": lambda p: grid(
            num_items=p.items,
            num_users=p.users,
            max_items=max(p.items),
            max_users=max(p.users),
        ),
        "optimized": "some",
    }


@figure(
    5,
    "Individual DP: errors against the number of items, 1000 users with 5 comparisons each",
    (rises, "increase as the number of items grows", "num_items"),
    "epsilon",
    **crowd((12, 16, 20, 24, 28, 32), (1000,), LEVELS),
)
@figure(
    6,
    "Individual DP: errors against the number of users, 16 items, 5 comparisons each",
    (falls, "decrease as the number of users grows", "num_users"),
    "epsilon",
    **crowd((16,), (250, 500, 750, 1000, 1500, 2000), LEVELS),
)
@figure(
    7,
    "Individual DP: errors against ε at four numbers of users, 16 items",
    (falls, "decrease as ε grows", "epsilon"),
    "num_users",
    **crowd((16,), (250, 500, 1000, 2000), (*SEVENTH, 0.5, 1.5, 2.5, 5.0, math.inf)),
    differences=(
        "the paper prints no grid of ε; here that of the published code, and beside it 0.5, 1.5, 2.5, 5 and ∞",
        *common.USER_DIFFERENCES,
    ),
)
def asked(key: Key, p: P) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one set of users."""
    world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
    theta, mask = worlds.cai_scores(world_key, p.num_items, p.max_items)
    wins = worlds.user_comparisons(
        data_key, theta, p.num_users, p.per_user, mask=mask, max_users=p.max_users
    )
    unit, top = Unit("user", p.per_user), worlds.cai_top_k(p.num_items)
    return errors((noise_key, tie_key), wins, theta, top, unit, p.epsilons)

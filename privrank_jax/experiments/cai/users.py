"""Figures 5 to 7 of Cai, Chakraborty and Wang: individual differential privacy on simulated users."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax

from privrank_jax._types import Key
from privrank_jax.experiments.cai import claims as cai_claims
from privrank_jax.experiments.cai import pictures as cai_pictures
from privrank_jax.experiments.cai.common import AXES, PAPER, USER_DIFFERENCES, Unit, errors
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.simulate import worlds
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid


@dataclass(frozen=True)
class UserConfig:
    """Grid of a study under individual DP: every user answers L pairs drawn at random.

    Attributes:
        name: name of the study.
        items: n, padded to the largest.
        users: m, padded to the largest.
        epsilons: ε; ∞ means no privacy.
        per_user: L, comparisons of each user.
        dtype: ``"float32"`` or, where x64 is enabled, ``"float64"``.
    """

    name: str
    items: tuple[int, ...]
    users: tuple[int, ...]
    epsilons: tuple[float, ...]
    per_user: int = 5
    dtype: str = "float32"


def trial(
    key: Key, cell: Parameters, *, epsilons: tuple[float, ...], per_user: int, dtype: str
) -> Metrics:
    """One replicate: the errors of all calibrations and ε on one set of users."""
    world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
    items = cell["num_items"]
    theta, mask = worlds.cai_scores(world_key, items, cell["max_items"], dtype)
    wins = worlds.user_comparisons(
        data_key, theta, cell["num_users"], per_user, mask=mask, max_users=cell["max_users"]
    )
    unit = Unit("user", per_user)
    return errors((noise_key, tie_key), wins, theta, worlds.cai_top_k(items), unit, epsilons)


def build(config: UserConfig) -> tuple[Study, ...]:
    """Build one study with one compilation: items and users are padded and masked."""
    run = functools.partial(
        trial, epsilons=config.epsilons, per_user=config.per_user, dtype=config.dtype
    )
    cells = grid(
        num_items=config.items,
        num_users=config.users,
        max_items=max(config.items),
        max_users=max(config.users),
    )
    static = ("max_items", "max_users")
    return (Study(config.name, run, cells, static, AXES, optimized="some"),)


_LEVELS = (0.5, 1.0, 2.5, math.inf)

EXPERIMENTS = (
    Experiment(
        name="cai-fig5",
        title="Individual DP: errors against the number of items, 1000 users with 5 comparisons each",
        paper=f"{PAPER}, Experiment 5 and Figure 5",
        config=UserConfig("cai-fig5", (12, 16, 20, 24, 28, 32), (1000,), _LEVELS),
        build=build,
        claims=(
            *cai_claims.trends("increase as the number of items grows", "num_items", 1),
            *cai_claims.counts_against_mle("L/ε", "4L/ε", "2L/ε"),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(cai_pictures.errors_by_epsilon, x="num_items", x_label="items n"),
        replicates=1000,
        outline=("num_items", "epsilon"),
        differences=USER_DIFFERENCES,
    ),
    Experiment(
        name="cai-fig6",
        title="Individual DP: errors against the number of users, 16 items, 5 comparisons each",
        paper=f"{PAPER}, Experiment 6 and Figure 6",
        config=UserConfig("cai-fig6", (16,), (250, 500, 750, 1000, 1500, 2000), _LEVELS),
        build=build,
        claims=(
            *cai_claims.trends("decrease as the number of users grows", "num_users", -1),
            *cai_claims.counts_against_mle("L/ε", "4L/ε", "2L/ε"),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(cai_pictures.errors_by_epsilon, x="num_users", x_label="users m"),
        replicates=1000,
        outline=("num_users", "epsilon"),
        differences=(
            *USER_DIFFERENCES,
            "the paper prints no grid of users; here it is that of the published code",
        ),
    ),
    Experiment(
        name="cai-fig7",
        title="Individual DP: errors against ε at four numbers of users, 16 items",
        paper=f"{PAPER}, Experiment 7 and Figure 7",
        config=UserConfig(
            "cai-fig7",
            (16,),
            (250, 500, 1000, 2000),
            (0.5, 1.0, 1.5, 2.0, 2.5, 5.0, math.inf),
        ),
        build=build,
        claims=(
            *cai_claims.trends("decrease as ε grows", "epsilon", -1),
            *cai_claims.counts_against_mle("L/ε", "4L/ε", "2L/ε"),
            *cai_claims.closeness(),
        ),
        draw=functools.partial(
            cai_pictures.errors_against_epsilon, curve="num_users", curve_label="users m"
        ),
        replicates=1000,
        outline=("epsilon", "num_users"),
        differences=(
            *USER_DIFFERENCES,
            "the paper prints no grid of ε; that of the published code is 0.25, 1, 2, 4, 8, 10; here 0.5 to 5, and ∞",
        ),
    ),
)

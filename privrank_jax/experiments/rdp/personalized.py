"""Personalized rankings learned from synthetic ones: simulated users (``rdp-fig7``), sushi (``rdp-fig8``)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data, personalized
from privrank_jax._backend import product
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.experiments.old_claims import Claim, minus, with_differences
from privrank_jax.experiments.rdp import common, pictures
from privrank_jax.experiments.rdp.common import (
    ACCURACY,
    LAPLACE,
    MALLOWS,
    NO_PRIVACY,
    RAW_LAPLACE,
    UNBIASED,
)
from privrank_jax.mallows.attack import win_counts
from privrank_jax.personalized import Users, pairwise_accuracy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.study import Metrics, Parameters, Study, grid

SUSHI = ("tuna", "salmon roe", "egg", "fatty tuna", "cucumber roll")
_FEATURES, _REACH = 4, 3.0  # features uniform on ±3


# --- rdp-fig7: networks --------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkConfig:
    """Grid of ``rdp-fig7``.

    Attributes:
        name: name of the study.
        items: m; one program for each.
        users: n, padded to the largest.
        epsilons: ε.
        held_out: how many of the n users are held out for early stopping.
        new_users: N, the test users, evaluated on their own rankings.
        batch_size: users per step.
        steps: steps per round, after which the risk of the held-out users is computed.
        patience: rounds without a better risk before training stops.
        max_rounds: maximum number of rounds.
    """

    name: str
    items: tuple[int, ...] = (15, 30)
    users: tuple[int, ...] = (200, 250, 300, 350)
    epsilons: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    held_out: int = 100
    new_users: int = 1000
    batch_size: int = 32
    steps: int = 5
    patience: int = 10
    max_rounds: int = 50

    def __post_init__(self) -> None:
        if min(self.users) <= self.held_out:
            raise ValueError(
                f"users must be more than held_out={self.held_out}, or none is left to train on; got {min(self.users)}"
            )


# Networks trained in one batch stop after similar numbers of rounds.
_TOGETHER = ((MALLOWS, LAPLACE), (UNBIASED, NO_PRIVACY))
_NETWORK_METHODS = (*(name for names in _TOGETHER for name in names), common.LINEAR)
_NETWORK_PAIRS = (
    (MALLOWS, LAPLACE),
    (UNBIASED, MALLOWS),
    (common.LINEAR, MALLOWS),
    (NO_PRIVACY, MALLOWS),
)


def network_trial(key: Key, cell: Parameters, *, config: NetworkConfig) -> Metrics:
    """One replicate: draw a world, privatize its users' rankings, train all methods, evaluate them on new users."""
    world_key, user_key, new_key, item_key, noise_key, train_key = jax.random.split(key, 6)
    size, most = cell["num_items"], cell["max_users"]

    def features(key: Key, count: int) -> Array:
        return jax.random.uniform(key, (count, _FEATURES), minval=-_REACH, maxval=_REACH)

    alpha, beta = jax.random.normal(world_key, (2, _FEATURES))
    items, users = features(item_key, size), features(user_key, most)
    new_users = features(new_key, config.new_users)

    def own_ranks(user: Array) -> Array:
        return ranks_from_scores(product(user, alpha) + product(items, beta))

    ranks, new_ranks = jax.vmap(own_ranks)(users), jax.vmap(own_ranks)(new_users)
    wins = common.wins_by_method(noise_key, ranks, cell["epsilon"], _NETWORK_METHODS)
    held = config.held_out
    real = jnp.arange(most - held) < cell["num_users"] - held

    def accuracy(scorer: personalized.Scorer, wins: Array) -> Array:
        found = personalized.train(
            train_key,
            scorer,
            items,
            Users(users[held:], wins[held:], real),
            Users(users[:held], wins[:held]),
            batch_size=config.batch_size,
            steps=config.steps,
            patience=config.patience,
            max_rounds=config.max_rounds,
        )

        def one(user: Array, own: Array) -> Array:
            return pairwise_accuracy(scorer.score(found.params, user, items), own)

        return jnp.mean(jax.vmap(one)(new_users, new_ranks))

    # One compiled training serves both groups, one after the other.
    stacked = jnp.stack([jnp.stack([wins[name] for name in names]) for names in _TOGETHER])
    found = jax.lax.map(jax.vmap(functools.partial(accuracy, common.NETWORK_SCORER)), stacked)
    judged = {
        name: found[row, column]
        for row, names in enumerate(_TOGETHER)
        for column, name in enumerate(names)
    }
    judged[common.LINEAR] = accuracy(common.LINEAR_SCORER, wins[common.LINEAR])
    return {ACCURACY: with_differences(judged, _NETWORK_PAIRS)}


def build_networks(config: NetworkConfig) -> tuple[Study, ...]:
    """Build one study, with a program per m, as users are padded and masked."""
    run = functools.partial(network_trial, config=config)
    cells = grid(
        num_items=config.items,
        num_users=config.users,
        epsilon=config.epsilons,
        max_users=max(config.users),
    )
    return (Study(config.name, run, cells, ("num_items", "max_users"), common.AXES),)


# --- rdp-fig8: sushi -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SushiConfig:
    """Grid of ``rdp-fig8``.

    Attributes:
        name: name of the study.
        data: named data set.
        items: names of the items kept; ranks are recomputed among them.
        train_users: number of users to train on, drawn anew in each replicate; the rest are test users.
        epsilons: ε.
    """

    name: str
    data: str = "sushi"
    items: tuple[str, ...] = SUSHI
    train_users: int = 3000
    epsilons: tuple[float, ...] = tuple(round(0.06 + 0.04 * step, 2) for step in range(12))


_SUSHI_METHODS = (MALLOWS, LAPLACE, UNBIASED, RAW_LAPLACE, NO_PRIVACY)
_SUSHI_PAIRS = ((MALLOWS, LAPLACE), (UNBIASED, MALLOWS), (MALLOWS, RAW_LAPLACE))


def sushi_ranks(config: SushiConfig) -> np.ndarray:
    """Ranks ``(n, m)`` of the chosen items among themselves.

    Raises:
        ValueError: the data are missing, or have no item of that name.
    """
    table = data.load(config.data)
    if unknown := sorted(set(config.items) - set(table.item_names)):
        raise ValueError(f"items {unknown} are not in {config.data}: choose of {table.item_names}")
    columns = [table.item_names.index(name) for name in config.items]
    return np.argsort(np.argsort(np.asarray(table.ranks)[:, columns], axis=1), axis=1)


def sushi_trial(key: Key, cell: Parameters, *, config: SushiConfig, ranks: np.ndarray) -> Metrics:
    """One replicate: a split, privatized rankings, and item scores, evaluated on the test users' own rankings."""
    split_key, noise_key = jax.random.split(key)
    own = fixed(ranks.astype(np.int32))[jax.random.permutation(split_key, len(ranks))]
    training, test = own[: config.train_users], own[config.train_users :]
    wins = common.wins_by_method(noise_key, training, cell["epsilon"], _SUSHI_METHODS)

    ahead = win_counts(test)
    pairs = len(test) * len(config.items) * (len(config.items) - 1) / 2

    def accuracy(scores: Array) -> Array:
        """The mean of :func:`~.pairwise_accuracy` over the test users, who all have these scores."""
        return jnp.sum(jnp.where(scores[:, None] > scores, ahead, 0)) / pairs

    means = jnp.stack([jnp.mean(each, axis=0) for each in wins.values()])
    scores = jax.vmap(common.item_scores)(means)
    found = {name: accuracy(own) for name, own in zip(wins, scores, strict=True)}
    utility = {name: value / found[NO_PRIVACY] for name, value in found.items()}
    return {
        ACCURACY: with_differences(found, _SUSHI_PAIRS),
        common.UTILITY: with_differences(utility, _SUSHI_PAIRS),
    }


def build_sushi(config: SushiConfig) -> tuple[Study, ...]:
    """Build one study with one program."""
    run = functools.partial(sushi_trial, config=config, ranks=sushi_ranks(config))
    return (Study(config.name, run, grid(epsilon=config.epsilons), axes=common.AXES),)


# --- registered ----------------------------------------------------------------------------------


def _rises(text: str, x: str, sign: int = 1) -> Claim:
    return claims.trend(text, x, sign, metric=ACCURACY, estimator=(MALLOWS, LAPLACE))


EXPERIMENTS = (
    Experiment(
        name="rdp-fig7",
        title="Two-tower networks trained on synthetic rankings: accuracy on new users",
        paper=f"{common.PAPER}, section 6.3 and Figure 7",
        config=NetworkConfig("rdp-fig7"),
        build=build_networks,
        claims=(
            claims.positive(
                "Mallows is more accurate than Laplace noise in every cell",
                minus(MALLOWS, LAPLACE),
                metric=ACCURACY,
            ),
            _rises("accuracy grows with ε", "epsilon"),
            _rises("accuracy grows with n", "num_users"),
            _rises("accuracy falls with m", "num_items", -1),
        ),
        draw=pictures.networks,
        replicates=50,
        batch_size=16,  # as training waits for its slowest replicate
        outline=("epsilon", "num_users"),
        differences=(
            "x_u cancels in every pair of r_ui = α'x_u + β'y_i: all users of a replicate have the same ranking, and "
            "what the networks learn of x_u is noise; a linear scorer is shown for comparison",
            "unbiased ranks are shown for comparison; under the logistic loss they train exactly as debiased pairs do. "
            "With one ranking for all there is no bias to correct, and their noise costs accuracy",
            "α, β are not printed: standard normal, drawn anew in each replicate, as are the features",
            "the 100 users for validation are part of the n; validation error: the logistic risk of their privatized "
            "rankings",
            "loss: logistic; Adam at rate 0.01, 32 users a step, validated every 5 steps, patience of 10, at most 50 "
            "rounds (the paper prints none of these)",
            "3-layer perceptron: three dense layers of 10 units, ReLU after the first two, starts uniform on "
            "±1/√inputs",
            common.METRIC,
        ),
    ),
    Experiment(
        name="rdp-fig8",
        title="Sushi: item scores trained on synthetic rankings, relative utility against ε",
        paper=f"{common.PAPER}, section 6.4 and Figure 8",
        config=SushiConfig("rdp-fig8"),
        build=build_sushi,
        claims=(
            claims.positive(
                "Mallows is at least as useful as Laplace noise at every ε",
                minus(MALLOWS, LAPLACE),
                metric=common.UTILITY,
            ),
            claims.trend(
                "relative utility grows with ε",
                "epsilon",
                1,
                metric=common.UTILITY,
                estimator=(MALLOWS, LAPLACE),
            ),
        ),
        draw=pictures.sushi,
        replicates=400,
        outline=("epsilon", "study"),
        differences=(
            "user features are not in the public file; in αx_u + βy_i they cancel anyway. Item features: one-hot, a "
            "free score for every item",
            "relative utility: of each replicate, over its own L*; the paper divides by the mean L* of all replicates",
            "12 values of ε (the paper prints only the ends); a new split in each of 400 replicates, not 50: at 50 the "
            "small ε decide nothing",
            "trained to the minimum of the logistic risk, without users held out: the problem is convex, with 5 scores",
        ),
    ),
)

"""Personalized rankings learned from synthetic ones: simulated users (``rdp-fig7``), sushi (``rdp-fig8``).

And two groups of users with identical features, where synthetic ranks mislead (``rdp-hidden-groups``).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data, personalized
from privrank_jax._backend import product
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments import claims
from privrank_jax.experiments.claims import Claim, Verdict, minus, with_differences
from privrank_jax.experiments.experiment import Experiment
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
from privrank_jax.simulate.result import StudyResult
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

    means = {name: jnp.mean(each, axis=0) for name, each in wins.items()}
    scores = common.item_scores_by_method(means)
    found = {name: accuracy(values) for name, values in scores.items()}
    utility = {name: value / found[NO_PRIVACY] for name, value in found.items()}
    return {
        ACCURACY: with_differences(found, _SUSHI_PAIRS),
        common.UTILITY: with_differences(utility, _SUSHI_PAIRS),
    }


def build_sushi(config: SushiConfig) -> tuple[Study, ...]:
    """Build one study with one program."""
    run = functools.partial(sushi_trial, config=config, ranks=sushi_ranks(config))
    return (Study(config.name, run, grid(epsilon=config.epsilons), axes=common.AXES),)


# --- rdp-hidden-groups ------------------------------------------------------------------------------

NEGLIGIBLE = 0.01  # of all pairs


@dataclass(frozen=True)
class GroupConfig:
    """Grid of ``rdp-hidden-groups``.

    Attributes:
        name: name of the study.
        num_items: m.
        movers: number of items that the first group has on top and the second at the bottom, in random order.
        block: number of items that both groups keep together in random order, next to the top.
        share: share of users in the first group.
        users: n, drawn in blocks of their greatest common divisor.
        epsilons: ε.
    """

    name: str
    num_items: int = 15
    movers: int = 2
    block: int = 5
    share: float = 0.774
    users: tuple[int, ...] = (1000, 10_000, 100_000)
    epsilons: tuple[float, ...] = (7.5,)

    def __post_init__(self) -> None:
        if self.movers + self.block > self.num_items:
            raise ValueError(
                f"movers and block must be at most num_items={self.num_items} together; got "
                f"movers={self.movers}, block={self.block}"
            )


GROUP_METHODS = (MALLOWS, UNBIASED, LAPLACE, RAW_LAPLACE, NO_PRIVACY)
_GROUP_PAIRS = (
    *((NO_PRIVACY, other) for other in (MALLOWS, UNBIASED, LAPLACE, RAW_LAPLACE)),
    (UNBIASED, MALLOWS),
    (UNBIASED, RAW_LAPLACE),
)


def group_ranks(key: Key, count: int, config: GroupConfig) -> Array:
    """Rankings of users from the two groups, ``(count, m)``: items are movers, then the block, then the rest."""
    group_key, order_key = jax.random.split(key)
    first = jax.random.uniform(group_key, (count, 1)) < config.share
    places = jnp.where(first, *(jnp.asarray(places, jnp.float32) for places in _places(config)))
    part = _parts(config)
    # Ties within movers and block, broken at random; the rest keeps its order.
    lots = jax.random.uniform(order_key, places.shape)
    return jax.vmap(ranks_from_scores)(-places - 0.5 * jnp.where(part < 2, lots, 0))


def group_weights(config: GroupConfig) -> np.ndarray:
    """P(i before j) over all users, ``(m, m)``."""
    parts = _parts(config)
    total = np.zeros((config.num_items,) * 2)
    for share, places in zip((config.share, 1 - config.share), _places(config), strict=True):
        total += share * 0.5 * (1 + np.sign(places - places[:, None]))
    tied = (parts[:, None] == parts) & (parts < 2)
    return np.where(tied, 0.5, total) * ~np.eye(config.num_items, dtype=bool)


def _parts(config: GroupConfig) -> np.ndarray:
    """0 for movers, 1 for the block, 2 for the rest."""
    item = np.arange(config.num_items)
    return (item >= config.movers).astype(int) + (item >= config.movers + config.block)


def _places(config: GroupConfig) -> tuple[np.ndarray, np.ndarray]:
    """Places of the items in either group, equal for items in random order."""
    item, parts = np.arange(config.num_items), _parts(config)
    first = np.where(parts == 2, item, np.where(parts == 1, config.movers, 0))
    return first, np.where(parts == 0, config.num_items, first)


def group_trial(key: Key, cell: Parameters, *, config: GroupConfig) -> Metrics:
    """One replicate: the share of the population's pairs that each method's item scores order correctly."""
    means = mean_wins(key, cell, config=config)
    weights = jnp.asarray(group_weights(config), jnp.float32)
    pairs = config.num_items * (config.num_items - 1) / 2

    def accuracy(scores: Array) -> Array:
        return jnp.sum(weights * (scores[:, None] > scores)) / pairs

    scores = common.item_scores_by_method(dict(zip(GROUP_METHODS, means, strict=True)))
    found = {name: accuracy(values) for name, values in scores.items()}
    return {ACCURACY: with_differences(found, _GROUP_PAIRS)}


def mean_wins(key: Key, cell: Parameters, *, config: GroupConfig) -> Array:
    """Mean wins over n users, (methods, m); users are drawn independently, so in blocks, each with its own key."""
    users, size = cell["num_users"], math.gcd(*config.users)

    def add(block: Array, total: Array) -> Array:
        world_key, noise_key = jax.random.split(jax.random.fold_in(key, block))
        ranks = group_ranks(world_key, size, config)
        wins = common.wins_by_method(noise_key, ranks, cell["epsilon"], GROUP_METHODS)
        return total + jnp.stack([jnp.sum(wins[name], axis=0) for name in GROUP_METHODS])

    zero = jnp.zeros((len(GROUP_METHODS), config.num_items))
    return jax.lax.fori_loop(0, users // size, add, zero) / users


def build_groups(config: GroupConfig) -> tuple[Study, ...]:
    """Build one study with one program."""
    run = functools.partial(group_trial, config=config)
    cells = grid(num_users=config.users, epsilon=config.epsilons)
    return (Study(config.name, run, cells, axes=common.AXES),)


def consistent(table: StudyResult, *, estimator: str) -> Verdict:
    """Does the accuracy at the largest n reach that without privacy, within ``SLACK`` SE of the paired difference?"""
    rows = [row for row in table.rows if row["estimator"] == minus(NO_PRIVACY, estimator)]
    if not rows:
        return Verdict(None, "no such cells")
    most = max(row["num_users"] for row in rows)
    at = [row for row in rows if row["num_users"] == most]
    lost = [
        row for row in at if row["mean"] > max(NEGLIGIBLE, claims.SLACK * row["standard_error"])
    ]
    spelled = "; ".join(
        f"{row['mean']:.4f} ± {row['standard_error']:.4f} at ε = {row['epsilon']:g}" for row in at
    )
    unclear = any(claims.SLACK * row["standard_error"] > NEGLIGIBLE for row in at)
    evidence = f"accuracy lost against no privacy, n = {most:,}: {spelled}"
    return Verdict(False if lost else (None if unclear else True), evidence)


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
            claims.ahead(
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
            "With one ranking for all there is no bias to correct (see rdp-hidden-groups), and their noise costs "
            "accuracy",
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
            claims.ahead(
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
    Experiment(
        name="rdp-hidden-groups",
        title="Two groups that no feature tells apart: synthetic ranks as they are, and unbiased",
        paper=f"{common.PAPER}, section 5.2; the study is ours",
        config=GroupConfig("rdp-hidden-groups"),
        build=build_groups,
        claims=(
            claims.claim(
                "with users enough, scores trained on synthetic ranks as they are order items as true ranks do",
                consistent,
                estimator=MALLOWS,
            ),
            claims.claim(
                "with users enough, scores trained on unbiased ranks order items as true ranks do",
                consistent,
                estimator=UNBIASED,
            ),
        ),
        draw=pictures.groups,
        replicates=50,
        outline=("num_users", "epsilon"),
        differences=(
            "not in the paper: 77% of the users have two items on top, the others at the bottom, and five items lie "
            "next to the top for all; by mean rank the two lead by a tenth of a rank",
            "item scores (linear scorer, one-hot items) at the minimum of the logistic risk, which follows mean ranks; "
            "the majority of every single pair survives the synthesis here, as Lemma 6 says (elsewhere it may not)",
            "accuracy: over the whole population, exactly",
        ),
    ),
)

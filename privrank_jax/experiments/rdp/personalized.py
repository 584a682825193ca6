"""Personalized rankings learned from synthetic ones: simulated users (``rdp-fig7``), sushi (``rdp-fig8``)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import data, personalized
from privrank_jax._backend import product
from privrank_jax._types import Key
from privrank_jax._workarounds.xla import fixed
from privrank_jax.experiments.claims import beats, falls, minus, rises, with_differences
from privrank_jax.experiments.rdp import common
from privrank_jax.experiments.rdp.common import (
    ACCURACY,
    LAPLACE,
    LINEAR,
    MALLOWS,
    NO_PRIVACY,
    RAW_LAPLACE,
    UNBIASED,
    UTILITY,
)
from privrank_jax.experiments.study import P, number, study, whole, word
from privrank_jax.mallows.attack import win_counts
from privrank_jax.personalized import Users, pairwise_accuracy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.study import Metrics, grid

SUSHI = ("tuna", "salmon roe", "egg", "fatty tuna", "cucumber roll")
_FEATURES, _REACH = 4, 3.0  # features uniform on ±3
_STYLES = {MALLOWS: 0, LAPLACE: 0, UNBIASED: 1, RAW_LAPLACE: 1, LINEAR: 2, NO_PRIVACY: 2}
LOOKS = {name: (color, style) for color, (name, style) in enumerate(_STYLES.items())}
BOTH: dict[str, Any] = {"metric": ACCURACY, "estimator": (MALLOWS, LAPLACE)}


# --- rdp-fig7: networks --------------------------------------------------------------------------

# Networks trained in one batch stop after similar numbers of rounds.
_TOGETHER = ((MALLOWS, LAPLACE), (UNBIASED, NO_PRIVACY))
_NETWORK_METHODS = (*(name for names in _TOGETHER for name in names), LINEAR)
_NETWORK_PAIRS = (
    (MALLOWS, LAPLACE),
    (UNBIASED, MALLOWS),
    (LINEAR, MALLOWS),
    (NO_PRIVACY, MALLOWS),
)


@study(
    "rdp-fig7",
    "Two-tower networks trained on synthetic rankings: accuracy on new users",
    f"{common.PAPER}, section 6.3 and Figure 7",
    items=whole((15, 30), "m; one program for each", least=2),
    users=whole((200, 250, 300, 350), "n, padded to the largest"),
    epsilons=number((1.0, 2.0, 3.0, 4.0), "ε"),
    held_out=whole(100, "how many of the n users are held out for early stopping"),
    new_users=whole(1000, "N, the test users, evaluated on their own rankings"),
    batch_size=whole(32, "users per step"),
    steps=whole(5, "steps per round, after which the risk of the held-out users is computed"),
    patience=whole(10, "rounds without a better risk before training stops"),
    max_rounds=whole(50, "maximum number of rounds"),
    check=lambda p: (
        f"users must be more than held_out={p.held_out}, or none is left to train on; got {min(p.users)}"
        * (min(p.users) <= p.held_out)
    ),
    cells=lambda p: grid(
        num_items=p.items, num_users=p.users, epsilon=p.epsilons, max_users=max(p.users)
    ),
    static=("num_items", "max_users"),
    claims=[
        beats(
            "Mallows is more accurate than Laplace noise in every cell",
            minus(MALLOWS, LAPLACE),
            metric=ACCURACY,
        ),
        rises("accuracy grows with ε", "epsilon", **BOTH),
        rises("accuracy grows with n", "num_users", **BOTH),
        falls("accuracy falls with m", "num_items", **BOTH),
    ],
    picture={
        "x": "num_users",
        "y": {ACCURACY: "pairwise accuracy"},
        "panel": ("num_items", "epsilon"),
        "looks": LOOKS,
        "wide": 4,
    },
    replicates=50,
    batch=16,  # as training waits for its slowest replicate
    outline=("epsilon", "num_users"),
    differences=(
        "x_u cancels in every pair of r_ui = α'x_u + β'y_i: all users of a replicate have the same ranking, and what "
        "the networks learn of x_u is noise; a linear scorer is shown for comparison",
        "unbiased ranks are shown for comparison: with one ranking for all there is no bias, and their noise costs "
        "accuracy",
        "α, β are not printed: standard normal, drawn anew in each replicate, as are the features",
        "the 100 users for validation are part of the n, and judged by the logistic risk of their privatized rankings",
        "not printed either: logistic loss; Adam at rate 0.01, 32 users a step, validated every 5 steps, patience of "
        "10, at most 50 rounds; three dense layers of 10 units, ReLU after the first two, starts uniform on ±1/√inputs",
        common.METRIC,
    ),
)
def figure_7(key: Key, p: P) -> Metrics:
    """One replicate: draw a world, privatize its users' rankings, train all methods, evaluate them on new users."""
    world_key, user_key, new_key, item_key, noise_key, train_key = jax.random.split(key, 6)

    def features(key: Key, count: int) -> Array:
        return jax.random.uniform(key, (count, _FEATURES), minval=-_REACH, maxval=_REACH)

    alpha, beta = jax.random.normal(world_key, (2, _FEATURES))
    items, users = features(item_key, p.num_items), features(user_key, p.max_users)
    new_users = features(new_key, p.new_users)

    def own_ranks(user: Array) -> Array:
        return ranks_from_scores(product(user, alpha) + product(items, beta))

    ranks, new_ranks = jax.vmap(own_ranks)(users), jax.vmap(own_ranks)(new_users)
    wins = common.wins_by_method(noise_key, ranks, p.epsilon, _NETWORK_METHODS)
    held = p.held_out
    real = jnp.arange(p.max_users - held) < p.num_users - held

    def accuracy(scorer: personalized.Scorer, wins: Array) -> Array:
        found = personalized.train(
            train_key,
            scorer,
            items,
            Users(users[held:], wins[held:], real),
            Users(users[:held], wins[:held]),
            batch_size=p.batch_size,
            steps=p.steps,
            patience=p.patience,
            max_rounds=p.max_rounds,
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
    judged[LINEAR] = accuracy(common.LINEAR_SCORER, wins[LINEAR])
    return {ACCURACY: with_differences(judged, _NETWORK_PAIRS)}


# --- rdp-fig8: sushi -----------------------------------------------------------------------------

_SUSHI_METHODS = (MALLOWS, LAPLACE, UNBIASED, RAW_LAPLACE, NO_PRIVACY)
_SUSHI_PAIRS = ((MALLOWS, LAPLACE), (UNBIASED, MALLOWS), (MALLOWS, RAW_LAPLACE))


def sushi_ranks(p: P) -> np.ndarray:
    """Ranks ``(n, m)`` of the chosen items among themselves.

    Raises:
        ValueError: the data are missing, or have no item of that name.
    """
    table = data.load(p.data)
    if unknown := sorted(set(p.items) - set(table.item_names)):
        raise ValueError(f"items {unknown} are not in {p.data}: choose of {table.item_names}")
    columns = [table.item_names.index(name) for name in p.items]
    return np.argsort(np.argsort(np.asarray(table.ranks)[:, columns], axis=1), axis=1)


@study(
    "rdp-fig8",
    "Sushi: item scores trained on synthetic rankings, relative utility against ε",
    f"{common.PAPER}, section 6.4 and Figure 8",
    data=word("sushi", "named data set", among=("sushi",)),
    items=word(SUSHI, "names of the items kept; ranks are recomputed among them"),
    train_users=whole(
        3000,
        "number of users to train on, drawn anew in each replicate; the rest are test users",
    ),
    epsilons=number(tuple(round(0.06 + 0.04 * step, 2) for step in range(12)), "ε"),
    prepare=lambda p: {"ranks": sushi_ranks(p)},
    cells=lambda p: grid(epsilon=p.epsilons),
    claims=[
        beats(
            "Mallows is at least as useful as Laplace noise at every ε",
            minus(MALLOWS, LAPLACE),
            metric=UTILITY,
        ),
        rises("relative utility grows with ε", "epsilon", **{**BOTH, "metric": UTILITY}),
    ],
    picture={
        "x": "epsilon",
        "y": {UTILITY: "accuracy over that without privacy"},
        "looks": LOOKS,
    },
    replicates=400,
    outline=("epsilon", "study"),
    differences=(
        "user features, which are not in the public file, cancel in αx_u + βy_i; items have a free score each",
        "relative utility: of each replicate, over its own L*; the paper divides by the mean L* of all replicates",
        "12 values of ε (the paper prints only the ends); 400 replicates, not 50, at which small ε decide nothing",
        "trained to the minimum of the logistic risk, without users held out: the problem is convex, with 5 scores",
    ),
)
def figure_8(key: Key, p: P) -> Metrics:
    """One replicate: a split, privatized rankings, and item scores, evaluated on the test users' own rankings."""
    split_key, noise_key = jax.random.split(key)
    own = fixed(p.ranks.astype(np.int32))[jax.random.permutation(split_key, len(p.ranks))]
    training, test = own[: p.train_users], own[p.train_users :]
    wins = common.wins_by_method(noise_key, training, p.epsilon, _SUSHI_METHODS)
    ahead = win_counts(test)
    pairs = len(test) * len(p.items) * (len(p.items) - 1) / 2

    def accuracy(scores: Array) -> Array:
        """The mean of :func:`~.pairwise_accuracy` over the test users, who all have these scores."""
        return jnp.sum(jnp.where(scores[:, None] > scores, ahead, 0)) / pairs

    means = jnp.stack([jnp.mean(each, axis=0) for each in wins.values()])
    scores = jax.vmap(common.item_scores)(means)
    found = {name: accuracy(own) for name, own in zip(wins, scores, strict=True)}
    utility = {name: value / found[NO_PRIVACY] for name, value in found.items()}
    return {
        ACCURACY: with_differences(found, _SUSHI_PAIRS),
        UTILITY: with_differences(utility, _SUSHI_PAIRS),
    }

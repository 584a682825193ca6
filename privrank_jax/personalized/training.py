"""Training with early stopping on held-out users: one compiled program, ready for ``vmap`` over whole replicates.

Rounds of minibatch steps continue until the risk of the held-out users has not fallen for ``patience`` rounds; the
best parameters are kept.

A penalty λJ (Xu, Sun and Cheng, (6)) is added to both risks. With the training users held out as well, full batches and
enough patience the result is the minimizer of (6). It exists for debiased targets too, for which the logistic risk
alone may have none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PyTree, Real

from privrank_jax._types import Count, Key
from privrank_jax._validate import check_shape, check_whole, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.personalized.surrogate import logistic_risk
from privrank_jax.personalized.towers import Scorer

Risk = Callable[[Array, Any], Array]
Penalty = Callable[[Any], Array]

ADAM = optax.adam(0.01)


class Users(NamedTuple):
    """A set of users to train on, or to hold out.

    Attributes:
        features: ``(n, p)`` float.
        targets: with which the risk compares scores, leading axis n: wins ``(n, m)`` for
            :func:`~privrank_jax.personalized.surrogate.logistic_risk`, weights ``(n, m, m)`` for
            :func:`~privrank_jax.personalized.surrogate.pairwise_risk`.
        mask: ``(n,)`` bool, users that count; ``None`` means all.
    """

    features: Real[Array, "*batch users p"]
    targets: PyTree
    mask: Bool[Array, "*batch users"] | None = None


class Trained(NamedTuple):
    """The result of training.

    Attributes:
        params: the parameters with the least risk of the held-out users, in the form of the scorer's ``init``.
        risk: that risk, with the penalty if there is one.
        best_round: the round after which they were found, int32; 0 means the initial parameters.
        rounds: rounds run, int32; ``max_rounds`` if the risk was still falling.
    """

    params: PyTree
    risk: Float[Array, "*batch"]
    best_round: Int[Array, "*batch"]
    rounds: Int[Array, "*batch"]


def train(
    key: Key,
    scorer: Scorer,
    items: Real[Array, "items q"] | Real[np.ndarray, "items q"],
    training: Users,
    validation: Users,
    *,
    risk: Risk = logistic_risk,
    penalty: Penalty | None = None,
    optimizer: optax.GradientTransformation = ADAM,
    batch_size: int | None = 32,
    steps: int = 10,
    patience: Count = 10,
    max_rounds: Count = 100,
    start: PyTree = None,
) -> Trained:
    """Minimize the mean risk of the training users, with early stopping on the risk of the held-out users.

    Post-processing where the targets are private releases: it adds no privacy loss.

    Args:
        key: PRNG key, for the initial parameters and the choice of minibatches.
        scorer: :class:`~privrank_jax.personalized.Scorer`, static.
        items: ``(m, q)`` features.
        training: users to train on.
        validation: users held out; their targets affect the result, so use privatized ones here too.
        risk: function of the scores ``(m,)`` and the target of one user; static.
        penalty: function of the parameters that is added to the mean risk; static, hashed by identity, public.
        optimizer: any optax transformation; static and hashed by identity, so build it once.
        batch_size: users per step, drawn without replacement until all have been used; ``None`` for all.
        steps: steps per round, static.
        patience: rounds without a new best risk after which to stop, may be traced.
        max_rounds: the largest number of rounds, may be traced.
        start: initial parameters; ``None`` uses those of ``scorer.init``.

    Returns:
        The best parameters, with their risk on the held-out users.

    Raises:
        ValueError: shapes that don't fit, no user that counts, NaN in the data of users that count, ``steps`` or
            ``batch_size`` below 1.

    >>> from privrank_jax.personalized import Linear
    >>> users = Users(jnp.zeros((4, 1)), jnp.tile(jnp.array([1.0, 0.0]), (4, 1)))  # all prefer item 0
    >>> items = jnp.eye(2)
    >>> found = train(jax.random.key(0), Linear(), items, users, users, max_rounds=3)
    >>> bool(found.params["item"][0] > found.params["item"][1])
    True
    """
    items = jnp.asarray(items)
    items = items.astype(jnp.result_type(items, float))
    check_whole("steps", steps)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    learned = _checked("training", training)
    held_out = _checked("validation", validation)
    sizes = learned.features.shape[1], held_out.features.shape[1]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"training has {sizes[0]} features per user, but validation has {sizes[1]}; pass the same features."
        )
    check_shape("items", items, ("m", "q"))
    return _train(
        key, items, learned, held_out, jnp.asarray(patience), jnp.asarray(max_rounds), start,
        scorer=scorer, risk=risk, penalty=penalty, optimizer=optimizer, batch_size=batch_size, steps=steps,
    )  # fmt: skip


def _checked(name: str, users: Users) -> _Counted:
    features = jnp.asarray(users.features)
    if features.ndim != 2 or features.shape[0] < 1:
        raise ValueError(f"the features of {name} must have shape (n, p), got {features.shape}.")
    count = features.shape[0]
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(users.targets)}
    if lengths != {(count,)}:
        raise ValueError(f"the targets of {name} need a leading axis of {count} users.")
    mask = jnp.ones(count, bool) if users.mask is None else users.mask
    check_shape(f"the mask of {name}", mask, (count,))
    if not is_traced(mask) and not np.any(mask):
        raise ValueError(f"{name} has no user that counts.")
    mask = jnp.asarray(mask, bool)

    def real(leaf: ArrayLike) -> Array:  # the data of masked users may be NaN
        leaf = jnp.asarray(leaf)
        leaf = jnp.where(mask.reshape((-1,) + (1,) * (leaf.ndim - 1)), leaf, 0)
        if not is_traced(leaf) and np.any(np.isnan(leaf)):
            raise ValueError(
                f"{name} holds NaN, for instance from unranked items: mask these users, or "
                "give pairwise_risk weights that are 0 there."
            )
        return leaf

    return _Counted(real(features), jax.tree.map(real, users.targets), mask)


class _Counted(NamedTuple):
    """Users with a mask."""

    features: Float[Array, "users p"]
    targets: PyTree
    mask: Bool[Array, "users"]


class _State(NamedTuple):
    params: PyTree
    memory: optax.OptState
    best: PyTree
    best_risk: Float[Array, ""]
    best_round: Int[Array, ""]
    rounds: Int[Array, ""]


@functools.partial(
    jax.jit, static_argnames=("scorer", "risk", "penalty", "optimizer", "batch_size", "steps")
)
def _train(
    key: Key,
    items: Float[Array, "items q"],
    training: _Counted,
    validation: _Counted,
    patience: Int[Array, ""],
    max_rounds: Int[Array, ""],
    start: PyTree,
    *,
    scorer: Scorer,
    risk: Risk,
    penalty: Penalty | None,
    optimizer: optax.GradientTransformation,
    batch_size: int | None,
    steps: int,
) -> Trained:
    start_key, batch_key = jax.random.split(fused(key))
    if start is None:
        sizes = (training.features.shape[1], items.shape[1])
        start = scorer.init(start_key, *sizes, items.dtype)

    def mean_risk(params: PyTree, users: _Counted) -> Float[Array, ""]:
        def one(features: Float[Array, "p"], target: PyTree) -> Float[Array, ""]:
            return risk(scorer.score(params, features, items), target)

        each = jax.vmap(one)(users.features, users.targets)
        mean = jnp.sum(jnp.where(users.mask, each, 0)) / jnp.maximum(jnp.sum(users.mask), 1)
        return mean if penalty is None else mean + penalty(params)

    def one_round(state: _State) -> _State:
        order = _shuffled(jax.random.fold_in(batch_key, state.rounds), training.mask)

        def step(
            number: Int[Array, ""], carry: tuple[PyTree, optax.OptState]
        ) -> tuple[PyTree, optax.OptState]:
            params, memory = carry
            users = training if batch_size is None else _batch(training, order, number, batch_size)
            slope = jax.grad(mean_risk)(params, users)
            change, memory = optimizer.update(slope, memory, params)
            return optax.apply_updates(params, change), memory

        params, memory = jax.lax.fori_loop(0, steps, step, (state.params, state.memory))
        found = mean_risk(params, validation)
        better = found < state.best_risk  # never where it is NaN
        rounds = state.rounds + 1
        best = jax.tree.map(functools.partial(jnp.where, better), params, state.best)
        least = jnp.where(better, found, state.best_risk)
        return _State(
            params, memory, best, least, jnp.where(better, rounds, state.best_round), rounds
        )

    def goes_on(state: _State) -> Bool[Array, ""]:
        return (state.rounds < max_rounds) & (state.rounds - state.best_round < patience)

    zero = jnp.int32(0)
    first = _State(start, optimizer.init(start), start, mean_risk(start, validation), zero, zero)
    last = jax.lax.while_loop(goes_on, one_round, first)
    return Trained(last.best, last.best_risk, last.best_round, last.rounds)


def _shuffled(key: Key, mask: Bool[Array, "users"]) -> Int[Array, "users"]:
    """Indices of all users in random order, followed by those that don't count."""
    return jnp.argsort(jnp.where(mask, jax.random.uniform(key, mask.shape), 2.0))


def _batch(
    users: _Counted, order: Int[Array, "users"], number: Int[Array, ""], size: int
) -> _Counted:
    """The next ``size`` users of that order, starting over once all have been used."""
    real = jnp.maximum(jnp.sum(users.mask), 1)
    chosen = order[(number * size + jnp.arange(size)) % real]
    features, targets = jax.tree.map(lambda leaf: leaf[chosen], (users.features, users.targets))
    return _Counted(features, targets, jnp.ones(size, bool))

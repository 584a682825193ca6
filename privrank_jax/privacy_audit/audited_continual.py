"""Audited leaderboards over time: win totals after every step, whose noise is that of the strategy's rows.

What is published determines Y = CX + Z, with independent noise Z of one scale, and is a function of it. So the loss is
that of noise on the numbers CX, which the rows compute from the streams, independently of the theorem at the head of
:mod:`privrank_jax.privacy.prefix_sums`. Small streams are enumerated with all that a unit can hold at all steps.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._backend import product
from privrank_jax.pairwise.continual import continual_counts
from privrank_jax.pairwise.score_stream import continual_score_sums
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.prefix_sums import strategy_matrices
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.audited_comparisons import on_wins
from privrank_jax.privacy_audit.neighbors import Instances, comparison_kinds, neighbors_among
from privrank_jax.privacy_audit.registry import Audited, Facts

Array = jax.Array

_STEPS = 3
_USER = Privacy(1.0, unit="user", adjacency="replace", delta=0.01, contributions=2)
_FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")


def _encoded(data: np.ndarray, strategy: str) -> np.ndarray:
    """CX of stacked streams ``(D, T, m, m)``, ``(D, T m)``."""
    encode = strategy_matrices(strategy, data.shape[1])[1]
    return np.einsum("st,dti->dsi", encode, data.sum(-1)).reshape(len(data), -1)


def _gaussian_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts, *, strategy: str
) -> np.ndarray:
    shifts = np.linalg.norm(_encoded(first, strategy) - _encoded(second, strategy), axis=1)
    return laws.gaussian_epsilon(np.round(shifts, 12), facts["noise_scale"], privacy.delta)


def _laplace_law(data: np.ndarray, _: Privacy, facts: Facts, *, strategy: str) -> np.ndarray:
    return laws.additive_laplace(_encoded(data, strategy), facts["noise_scale"])


def _streams(promise: Privacy, num_items: int, steps: int = _STEPS) -> Callable[[], Instances]:
    """All streams of so many steps that hold what one unit can hold, and nothing else."""

    def every() -> Instances:
        kinds = []
        for step, (matrix, pair) in itertools.product(range(steps), comparison_kinds(num_items)):
            stream = np.zeros((steps, num_items, num_items))
            stream[step] = matrix
            kinds.append((stream, (step, *pair)))
        return neighbors_among(kinds, promise.comparisons_per_unit, promise.adjacency)

    return functools.cache(every)


def _stream(*wins: tuple[int, int]) -> np.ndarray:
    """Wins of item 0 over item 1, and of item 1 over item 0, in each step."""
    return np.array([[[0.0, ahead], [behind, 0.0]] for ahead, behind in wins])


def _noisy_sums(value: Array, strategy: str) -> Array:
    """Y, to which the strategy adds independent noise, ``(S m,)``."""
    return product(np.linalg.inv(strategy_matrices(strategy, value.shape[0])[0]), value).ravel()


def _along(value: Array, strategy: str, change: np.ndarray) -> Array:
    """How far Y lies in the direction in which the neighbors differ."""
    return jnp.sum(_noisy_sums(value, strategy) * change)


def _least_rise(value: Array, strategy: str, change: np.ndarray) -> Array:
    """The least number of Y that differs between the neighbors, in the direction in which it does: signs decide."""
    moved = np.flatnonzero(change)
    return jnp.min(_noisy_sums(value, strategy)[moved] * np.sign(change[moved]))


def _row(
    strategy: str,
    noise: str,
    promise: Privacy,
    neighbors: tuple[np.ndarray, np.ndarray],
    **fields: Any,
) -> Audited:
    told = {"law" if noise == "laplace" else "loss": _LOSSES[noise]}
    here, there = _encoded(np.stack(neighbors), strategy)
    reduce = _least_rise if noise == "laplace" else _along
    return Audited(
        function="continual_counts",
        calibration="tight",
        release=on_wins(continual_counts, noise=noise, strategy=strategy),
        promise=promise,
        neighbors=neighbors,
        instances=_streams(promise, 2),
        reduce=functools.partial(reduce, strategy=strategy, change=here - there),
        note="privacy/prefix_sums.py",
        **{name: functools.partial(one, strategy=strategy) for name, one in told.items()},
        **fields,
    )


def _scaled_sums(data: np.ndarray, facts: Facts, strategy: str) -> np.ndarray:
    """C times wins, losses and pair counts of stacked streams, each over the scale of its noise, ``(D, T d)``."""
    encode = strategy_matrices(strategy, data.shape[1])[1]
    met = (data + np.swapaxes(data, -1, -2))[..., *np.triu_indices(data.shape[-1], 1)]
    own, pairs = facts["noise_scale"], facts["pair_scale"]
    sums = np.concatenate([data.sum(-1) / own, data.sum(-2) / own, met / pairs], axis=-1)
    return np.einsum("st,dti->dsi", encode, sums).reshape(len(data), -1)


def _score_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts, *, strategy: str
) -> np.ndarray:
    moved = _scaled_sums(first, facts, strategy) - _scaled_sums(second, facts, strategy)
    shifts = np.round(np.linalg.norm(moved, axis=1), 12)
    return laws.gaussian_epsilon(shifts, 1.0, privacy.delta)


def _score_law(data: np.ndarray, _: Privacy, facts: Facts, *, strategy: str) -> np.ndarray:
    return laws.additive_laplace(_scaled_sums(data, facts, strategy), 1.0)


def _score_row(
    strategy: str,
    noise: str,
    promise: Privacy,
    neighbors: tuple[np.ndarray, np.ndarray],
    steps: int,
    **fields: Any,
) -> Audited:
    told = {"law": _score_law} if noise == "laplace" else {"loss": _score_loss}
    here, there = _scaled_sums(
        np.stack(neighbors), {"noise_scale": 1.0, "pair_scale": 1.0}, strategy
    )
    reduce = _least_rise if noise == "laplace" else _along
    change = here - there
    if (
        noise == "gaussian"
    ):  # along the difference in units of the noise, whose variances are as 2/(3/4) to 1/(1/4)
        items = neighbors[0].shape[-1]
        weights = np.r_[np.full(2 * items, 3 / 8), np.full(items * (items - 1) // 2, 1 / 4)]
        change = change * np.tile(weights, steps)
    return Audited(
        function="continual_score_sums",
        calibration="tight",
        release=on_wins(continual_score_sums, noise=noise, strategy=strategy),
        promise=promise,
        neighbors=neighbors,
        instances=_streams(promise, 3, steps),
        reduce=functools.partial(reduce, strategy=strategy, change=change),
        note="pairwise/score_stream.py",
        **{name: functools.partial(one, strategy=strategy) for name, one in told.items()},
        **fields,
    )


def _meeting(step: int, winner: int, loser: int, steps: int) -> np.ndarray:
    """A stream that holds one comparison."""
    stream = np.zeros((steps, 3, 3))
    stream[step, winner, loser] = 1.0
    return stream


_LOSSES: dict[str, Any] = {"laplace": _laplace_law, "gaussian": _gaussian_loss}
_USERS = (_stream((2, 0), (0, 1), (1, 0)), _stream((0, 2), (0, 1), (1, 0)))
_ANSWERS = (_stream((1, 0), (0, 0), (0, 0)), _stream((0, 1), (0, 0), (0, 0)))

AUDITED = (
    _row(
        "square-root",
        "gaussian",
        _USER,
        _USERS,
        name="continual-counts",
        title="win totals after each of 3 steps, square-root strategy, Gaussian noise, one user of L = 2",
        sees="the numbers that noise is added to, along their difference between the neighbors",
    ),
    _row(
        "tree",
        "gaussian",
        dataclasses.replace(_USER, adjacency="add-remove"),
        (_USERS[0], _stream((0, 0), (0, 1), (1, 0))),
        name="continual-counts-add-remove",
        title="win totals after each of 3 steps, tree, Gaussian noise, one user of L = 2 added or removed",
        sees="the numbers that noise is added to, along their difference between the neighbors",
    ),
    _row(
        "tree",
        "laplace",
        _FLIPPED,
        _ANSWERS,
        name="continual-counts-tree",
        title="win totals after each of 3 steps, tree, Laplace noise, one answer",
        sees="the least rise of item 0 and fall of item 1 among the sums that hold the first step",
    ),
    _score_row(
        "square-root",
        "gaussian",
        dataclasses.replace(_USER, contributions=1),
        (_meeting(0, 0, 1, 3), _meeting(0, 2, 0, 3)),
        3,
        name="continual-score-sums",
        title="wins, losses and pair counts after each of 3 steps, square-root strategy, Gaussian noise, one user",
        sees="the numbers that noise is added to, along their difference between the neighbors",
    ),
    _score_row(
        "increments",
        "laplace",
        Privacy(1.0, unit="comparison", adjacency="replace"),
        (_meeting(0, 0, 1, 1), _meeting(0, 2, 0, 1)),
        1,
        name="continual-score-sums-laplace",
        title="wins, losses and pair counts after one step, Laplace noise, one comparison replaced",
        sees="the least change among wins, losses and pair counts, in the direction in which the neighbors differ",
    ),
)

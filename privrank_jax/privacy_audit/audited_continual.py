"""Audited leaderboards over time: totals after every step, with noise by the strategy's rows.

What is published determines Y = CX + Z, with independent noise Z of one scale, and is a function of it. So the loss is
that of noise on the numbers CX, which the rows compute from the streams, independently of the theorem at the head of
:mod:`privrank_jax.privacy.prefix_sums`. Small streams are enumerated with all that a unit can hold at all steps.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._backend import product
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import continual_score_sums, continual_totals
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.prefix_sums import strategy_matrices
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.neighbors import Instances, comparison_kinds, neighbors_among
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import audited, on

Array = jax.Array

_USER = Privacy(1.0, unit="user", adjacency="replace", delta=0.01, contributions=2)
_FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")


def _streams(promise: Privacy, num_items: int, steps: int) -> Callable[[], Instances]:
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


def _encode(strategy: str, steps: int) -> np.ndarray:
    """C of a strategy."""
    return strategy_matrices(strategy, steps)[1]


def _noisy_sums(value: Array, strategy: str) -> Array:
    """Y, to which the strategy adds independent noise, ``(S m,)``."""
    steps = jnp.diff(value, axis=0, prepend=jnp.zeros_like(value[:1]))
    return product(_encode(strategy, len(value)), steps).ravel()


def _totals(data: np.ndarray, _: Facts, strategy: str) -> np.ndarray:
    """CX of stacked streams ``(D, T, m, m)``, ``(D, T m)``."""
    return _summed(data.sum(-1), {}, strategy)


def _summed(data: np.ndarray, _: Facts, strategy: str) -> np.ndarray:
    """CX of stacked streams ``(D, T, m)``, ``(D, T m)``."""
    encode = _encode(strategy, data.shape[1])
    return np.einsum("st,dti->dsi", encode, data).reshape(len(data), -1)


def _sums(data: np.ndarray, facts: Facts, strategy: str) -> np.ndarray:
    """C times wins, losses and pair counts, each over the scale of its noise, likewise."""
    encode = _encode(strategy, data.shape[1])
    met = (data + np.swapaxes(data, -1, -2))[..., *np.triu_indices(data.shape[-1], 1)]
    own, pairs = facts["noise_scale"], facts["pair_scale"]
    sums = np.concatenate([data.sum(-1) / own, data.sum(-2) / own, met / pairs], axis=-1)
    return np.einsum("st,dti->dsi", encode, sums).reshape(len(data), -1)


def _won(data: Array) -> Array:
    """Wins of each item in each step, ``(T, m)``, of counts ``(T, m, m)``."""
    return jnp.sum(data, axis=-1)


def _of_wins(
    function: Callable[..., Any],
    given: Callable[[Array], Any],
    numbers: Callable[[np.ndarray, Facts, Any], np.ndarray],
    scale: Callable[[Facts], float],
    strategy: str,
    promise: Privacy,
    *pair: np.ndarray,
    weights: Any = 1.0,
) -> dict[str, Any]:
    """Streams of what one unit can hold of comparisons."""
    noise = "gaussian" if promise.delta else "laplace"
    release = on(function, given, noise=noise, strategy=strategy)
    found = _published(release, numbers, scale, strategy, promise, *pair, weights=weights)
    return found | {"instances": _streams(promise, pair[0].shape[-1], len(pair[0]))}


def _published(
    release: Release,
    numbers: Callable[[np.ndarray, Facts, Any], np.ndarray],
    scale: Callable[[Facts], float],
    strategy: str,
    promise: Privacy,
    *pair: np.ndarray,
    weights: Any = 1.0,
) -> dict[str, Any]:
    """Gaussian noise where there is a δ, else Laplace noise, on ``numbers``; ``weights`` divide by its variances."""

    def law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
        return laws.additive_laplace(numbers(data, facts, strategy), scale(facts))

    def loss(first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
        moved = numbers(first, facts, strategy) - numbers(second, facts, strategy)
        shifts = np.round(np.linalg.norm(moved, axis=1), 12)
        return laws.gaussian_epsilon(shifts, scale(facts), privacy.delta)

    alike = {"noise_scale": 1.0, "pair_scale": 1.0}
    change = np.subtract(*numbers(np.stack(pair), alike, strategy))
    moved = np.flatnonzero(change)
    fields = {
        "release": release,
        "promise": promise,
        "neighbors": pair,
    }
    if promise.delta:
        return fields | {
            "loss": loss,
            "reduce": lambda value: jnp.sum(_noisy_sums(value, strategy) * (change * weights)),
            "sees": "the numbers that noise is added to, along their difference between the neighbors",
        }
    return fields | {
        "law": law,
        "reduce": lambda value: jnp.min(
            _noisy_sums(value, strategy)[moved] * np.sign(change[moved])
        ),
        "sees": "the least shift, away from the neighbor, of the numbers that noise is added to and that differ",
    }


def _meeting(step: int, winner: int, loser: int, steps: int) -> np.ndarray:
    """A stream that holds one comparison."""
    stream = np.zeros((steps, 3, 3))
    stream[step, winner, loser] = 1.0
    return stream


_USERS = (_stream((2, 0), (0, 1), (1, 0)), _stream((0, 2), (0, 1), (1, 0)))
_ANSWERS = (_stream((1, 0), (0, 0), (0, 0)), _stream((0, 1), (0, 0), (0, 0)))
_REMOVED = dataclasses.replace(_USER, adjacency="add-remove")
_SINGLE = dataclasses.replace(_USER, contributions=1)
_REPLACED = Privacy(1.0, unit="comparison", adjacency="replace")

_FLIPPED_USER = dataclasses.replace(_USER, adjacency="flip")
_BY_PART = np.tile(np.repeat([3 / 8, 1 / 4], (6, 3)), 3)  # variances are as 2/(3/4) to 1/(1/4)

_TOTALS = (continual_totals, _won, _totals, operator.itemgetter("noise_scale"))
_SCORES = (continual_score_sums, WinCounts, _sums, lambda _: 1.0)

AUDITED = (
    audited(
        "continual-totals",
        "win totals after each of 3 steps, square-root strategy, Gaussian noise, answers of one user of L = 2",
        note="privacy/prefix_sums.py",
        **_of_wins(*_TOTALS, "square-root", _FLIPPED_USER, *_USERS),
    ),
    audited(
        "continual-totals-tree",
        "win totals after each of 3 steps, tree, Laplace noise, one answer",
        note="privacy/prefix_sums.py",
        **_of_wins(*_TOTALS, "tree", _FLIPPED, *_ANSWERS),
    ),
    audited(
        "continual-totals-unbounded",
        "win totals after the first 3 steps of any number, root, Gaussian noise, answers of one user of L = 2",
        note="privacy/prefix_sums.py; later steps may lose as much again",
        calibration="sound",
        **_of_wins(*_TOTALS, "unbounded-root", _FLIPPED_USER, *_USERS),
    ),
    audited(
        "continual-totals-unbounded-tree",
        "win totals after the first 3 steps of any number, tree, Laplace noise, one answer",
        note="privacy/prefix_sums.py; later steps may lose as much again",
        calibration="sound",
        **_of_wins(*_TOTALS, "unbounded-tree", _FLIPPED, *_ANSWERS),
    ),
    audited(
        "continual-score-sums",
        "wins, losses and pair counts after each of 3 steps, square-root strategy, Gaussian noise, one user",
        **_of_wins(
            *_SCORES,
            "square-root",
            _SINGLE,
            _meeting(0, 0, 1, 3),
            _meeting(0, 2, 0, 3),
            weights=_BY_PART,
        ),
    ),
    audited(
        "continual-score-sums-laplace",
        "wins, losses and pair counts after one step, Laplace noise, one comparison replaced",
        **_of_wins(*_SCORES, "increments", _REPLACED, _meeting(0, 0, 1, 1), _meeting(0, 2, 0, 1)),
    ),
    audited(
        "continual-score-sums-add-remove",
        "wins, losses and pair counts after each of 3 steps, tree, Gaussian noise, one user of L = 2 added or removed",
        **_of_wins(
            *_SCORES,
            "tree",
            _REMOVED,
            2 * _meeting(0, 0, 1, 3) + _meeting(1, 1, 2, 3),
            _meeting(1, 1, 2, 3),
            weights=_BY_PART,
        ),
    ),
)

"""Audited leaderboards over time: totals after every step, with noise by the strategy's rows.

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
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import continual_score_sums, continual_totals
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.prefix_sums import strategy_matrices
from privrank_jax.privacy_audit.contents import Units, answers
from privrank_jax.privacy_audit.registry import Audited
from privrank_jax.privacy_audit.rows import additive

Array = jax.Array

_USER = Privacy(1.0, unit="user", adjacency="replace", delta=0.01, contributions=2)
_REMOVED = dataclasses.replace(_USER, adjacency="add-remove")
_SINGLE = dataclasses.replace(_USER, contributions=1)
_FLIPPED_USER = dataclasses.replace(_USER, adjacency="flip")
_FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
_REPLACED = Privacy(1.0, unit="comparison", adjacency="replace")


def _streams(promise: Privacy, num_items: int, steps: int) -> np.ndarray:
    """All streams ``(T, m, m)`` of win counts that hold what one unit can hold, and nothing else."""
    kinds = []
    for step, one in itertools.product(range(steps), answers(num_items, 1)[1:, 0]):
        kinds.append(np.zeros((steps, num_items, num_items)))
        kinds[-1][step] = one
    sizes = range(promise.comparisons_per_unit + 1)
    chosen = (itertools.combinations_with_replacement(kinds, size) for size in sizes)
    sums = [sum(one, 0 * kinds[0]) for one in itertools.chain.from_iterable(chosen)]
    return np.unique(sums, axis=0)


def _totals(data: np.ndarray) -> np.ndarray:
    """Wins of each item in each step, ``(..., m)``, of counts."""
    return data.sum(-1)


def _sums(data: np.ndarray) -> np.ndarray:
    """Wins, losses and pair counts, likewise."""
    met = (data + np.swapaxes(data, -1, -2))[..., *np.triu_indices(data.shape[-1], 1)]
    return np.concatenate([data.sum(-1), data.sum(-2), met], axis=-1)


def _row(
    name: str,
    title: str,
    strategy: str,
    promise: Privacy,
    num_items: int,
    steps: int = 3,
    *,
    of_scores: bool = False,
    **fields: Any,
) -> Audited:
    """Streams of comparisons, of which C times the numbers of each step get independent noise."""
    encode = strategy_matrices(strategy, steps)[1]
    each: Callable[[np.ndarray], np.ndarray] = _sums if of_scores else _totals

    def numbers(data: np.ndarray) -> np.ndarray:
        return np.einsum("st,dti->dsi", encode, each(data)).reshape(len(data), -1)

    def read(value: Array) -> Array:
        steps = jnp.diff(value, axis=0, prepend=jnp.zeros_like(value[:1]))
        return product(encode, steps).ravel()

    def scales(facts: Any, noise: str) -> Any:
        if not of_scores:
            return facts["noise_scale"]
        parts = [facts["noise_scale"]] * 6 + [facts["pair_scale"]] * 3
        return np.tile(parts, len(encode))

    units = Units(
        contents=_streams(promise, num_items, steps),
        made=WinCounts if of_scores else lambda data: jnp.sum(data, axis=-1),
        numbers=numbers,
        group=lambda content: (content + content.swapaxes(-1, -2)).tobytes(),
        read=read,
        scales=scales,
        nominal={"noise_scale": (8 / 3) ** 0.5, "pair_scale": 2.0},  # of 3/4 and 1/4 of ε
    )
    noise = "gaussian" if promise.delta else "laplace"
    function = continual_score_sums if of_scores else continual_totals
    given = {"noise": noise, "strategy": strategy}
    return additive(name, title, function, units, promise, noise, given=given, **fields)


_scores = functools.partial(_row, of_scores=True)
_LATER = "privacy/prefix_sums.py; later steps may lose as much again"

AUDITED = (
    _row(
        "continual-totals",
        "win totals after each of 3 steps, square-root strategy, Gaussian noise, answers of one user of L = 2",
        *("square-root", _FLIPPED_USER, 2),
        note="privacy/prefix_sums.py",
    ),
    _row(
        "continual-totals-tree",
        "win totals after each of 3 steps, tree, Laplace noise, one answer",
        *("tree", _FLIPPED, 2),
        note="privacy/prefix_sums.py",
    ),
    _row(
        "continual-totals-unbounded",
        "win totals after the first 3 steps of any number, root, Gaussian noise, answers of one user of L = 2",
        *("unbounded-root", _FLIPPED_USER, 2),
        calibration="sound",
        note=_LATER,
    ),
    _row(
        "continual-totals-unbounded-tree",
        "win totals after the first 3 steps of any number, tree, Laplace noise, one answer",
        *("unbounded-tree", _FLIPPED, 2),
        calibration="sound",
        note=_LATER,
    ),
    _scores(
        "continual-score-sums",
        "wins, losses and pair counts after each of 3 steps, square-root strategy, Gaussian noise, one user",
        *("square-root", _SINGLE, 3),
    ),
    _scores(
        "continual-score-sums-laplace",
        "wins, losses and pair counts after one step, Laplace noise, one comparison replaced",
        *("increments", _REPLACED, 3, 1),
    ),
    _scores(
        "continual-score-sums-add-remove",
        "wins, losses and pair counts after each of 3 steps, tree, Gaussian noise, one user of L = 2 added or removed",
        *("tree", _REMOVED, 3),
    ),
)

"""Audited fits with noise in the objective: private covariates, ties and choices from private sets.

Four items: 0 is far behind 1, and 2 behind 3, at the outputs where losses are largest; many wins of 3 over 1 fix the
signs of the noise. The densities are those of a conditional logit, worked out here from its alternatives.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors
from privrank_jax.privacy_audit.audited_comparisons import ADDED, COMPARISON, gap, protecting
from privrank_jax.privacy_audit.audited_ties import on_ties, with_ties_of
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import audited, on

Array = jax.Array
Answer = tuple[np.ndarray, float]
"""Alternatives ``(K, d)`` less the one that was given, and how often."""

_ITEMS, _MANY = 4, 10**6
_AHEAD = [-1.0, 90.0, 1.0, 30.0]


def _outputs(near: Sequence[float], size: int) -> np.ndarray:
    """Points ``(T, d)``: a given one, with 1 for numbers that are not scores, and random ones."""
    rng = np.random.default_rng(0)
    first = [*near, *[1.0] * (size - len(near))]
    return np.array([first, *rng.choice([-40.0, -8.0, -1.0, 0.0, 1.0, 8.0, 40.0], (150, size))])


def _log_density(
    answers: Sequence[Answer], at: np.ndarray, scales: np.ndarray, gamma: float
) -> np.ndarray:
    """Log densities ``(T,)`` of the uncentered minimizer, but for a constant."""
    slope = gamma * at
    bend = np.broadcast_to(gamma * np.eye(at.shape[1]), (len(at), *[at.shape[1]] * 2)).copy()
    for vectors, times in answers:
        logs = np.einsum("ti,ki->tk", at, vectors)
        chances = np.exp(logs - logs.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        mean = np.einsum("tk,ki->ti", chances, vectors)
        away = vectors[None] - mean[:, None]
        slope = slope + times * mean
        bend += times * np.einsum("tk,tki,tkj->tij", chances, away, away)
    return np.linalg.slogdet(bend)[1] - (np.abs(slope) / scales).sum(-1)


def _met(first: int, second: int, features: Sequence[float]) -> np.ndarray:
    z = np.array([0.0] * _ITEMS + list(features))
    z[first] += 1
    z[second] -= 1
    return z


def _of_outcome(z: np.ndarray, outcome: float, ties: bool, times: float = 1.0) -> list[Answer]:
    """A comparison as answers; a tie that is half a win is half of a win and half of a loss."""
    if ties:
        tie = np.append(np.zeros(z.size), 0.5)
        vectors = np.array([np.append(-z / 2, 0), tie, np.append(z / 2, 0)])
        return [(vectors - vectors[round(2 * outcome)], times)]
    vectors = np.array([-z / 2, z / 2])
    shares = ((vectors[0], 1 - outcome), (vectors[1], outcome))
    return [(vectors - given, times * share) for given, share in shares if share]


# --- covariates ----------------------------------------------------------------------------------------

_ROWS = ((0, 1, 1.0, 0.5), (2, 3, 1.0, -0.5), (2, 3, 1.0, 0.5), (0, 2, 0.5, -0.5))


def _tables(*changes: tuple[float, ...] | None) -> np.ndarray:
    """One comparison after the other in front of two that all share; ``(3, 5)``, the last column 0 for none."""
    base = [(3, 1, 1.0, 0.0, 1.0), (1, 2, 0.5, 0.5, 1.0)]
    return np.array([[(*one, 1.0) if one else (0, 1, 0.0, 0.0, 0.0), *base] for one in changes])


def _table(data: Array) -> CovariateTable:
    data = jnp.asarray(data)
    pair = data[:, :2].astype(jnp.int32)
    design = CovariateDesign(
        *(pair[:, 0], pair[:, 1], data[:, 3:4], jnp.arange(len(data)), jnp.ones(1, data.dtype)),
        data[:, 4] > 0,
        num_items=_ITEMS,
        names=("x",),
        private=True,
    )
    return CovariateTable(design, data[:, 2])


def _table_law(data: np.ndarray, _: Privacy, facts: Facts, *, ties: bool) -> np.ndarray:
    scale = facts["noise_scale"]
    scales = scale * np.array([1] * _ITEMS + [2] * (1 + ties))
    at = _outputs(_AHEAD, _ITEMS + 1 + ties)
    found = []
    for rows in data:
        answers = [
            one
            for i, j, y, x, real in rows
            if real
            for one in _of_outcome(_met(int(i), int(j), [x]), y, ties)
        ]
        found.append(_log_density(answers, at, scales, max(scale, 1.0)))
    return np.array(found)


def _covariates(promise: Privacy, change: tuple[float, ...] | None, ties: bool) -> dict[str, Any]:
    """One comparison of four, or none, in front of those that all share; the first differs from another."""
    every = neighbors.of_values(*_tables(None, *_ROWS))
    if promise.adjacency == "add-remove":
        every = neighbors.Instances(every.data, every.pairs[every.pairs[:, 0] == 0])
    return {
        "neighbors": tuple(_tables(change, _ROWS[0])),
        "promise": promise,
        "reduce": lambda fitted: fitted[_ITEMS],
        "sees": "the coefficient",
        "law": functools.partial(_table_law, ties=ties),
        "instances": lambda: every,
        "note": _PROOF,
    }


# --- ties and choices --------------------------------------------------------------------------------------


def _ties_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Win counts tell the ties of each pair here."""
    scales = facts["noise_scale"] * np.array([1] * _ITEMS + [2])
    at = _outputs(_AHEAD, _ITEMS + 1)
    found = []
    for wins, halves in data:
        answers: list[Answer] = []
        for i, j in itertools.permutations(range(_ITEMS), 2):
            z = _met(i, j, ())
            if won := wins[i, j] - halves[i, j]:
                answers += _of_outcome(z, 1.0, True, won)
            if halves[i, j]:  # a half for each of two orders of the items
                answers += _of_outcome(z, 0.5, True, halves[i, j])
        found.append(_log_density(answers, at, scales, facts["gamma"]))
    return np.array(found)


_SETS = np.array([[0, 1, 2], [1, 3, 1], [0, 2, 3], [1, 3, 1], [2, 3, 2]])
_OFFERED = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 0], [1, 1, 0]], bool)


def _choices(data: Array) -> Choices:
    """Data are ``(3, 3)``: the number of the set, the place of the chosen item, and how often."""
    data = jnp.asarray(data)
    number, place = data[:, 0].astype(jnp.int32), data[:, 1].astype(jnp.int32)
    sets = jnp.asarray(_SETS)[number]
    chosen = jnp.take_along_axis(sets, place[:, None], axis=1)[:, 0]
    return Choices(sets, jnp.asarray(_OFFERED)[number], chosen, data[:, 2], _ITEMS)


def _choices_of(*changes: tuple[int, int]) -> np.ndarray:
    """A choice in front of those that fix signs: 1 and 2 are chosen over 3."""
    return np.array([[(*one, 1.0), (3, 0, _MANY), (4, 0, _MANY)] for one in changes], float)


def _choices_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    at = _outputs([1.0, 30.0, 30.0, 90.0], _ITEMS)
    scales = facts["noise_scale"] * np.ones(_ITEMS)
    found = []
    for rows in data:
        answers = []
        for number, place, times in rows:
            items = _SETS[int(number)][_OFFERED[int(number)]]
            vectors = np.eye(_ITEMS)[items]
            answers.append((vectors - vectors[int(place)], times))
        found.append(_log_density(answers, at, scales, facts["gamma"]))
    return np.array(found)


_KINDS = [(number, place) for number in range(3) for place in range(int(_OFFERED[number].sum()))]
_FEW: Callable[..., np.ndarray] = functools.partial(with_ties_of, _ITEMS)
_SIDES = "--side left --covariate length:-1:2"
_PROOF = "pairwise/objective_perturbation.py"

AUDITED = (
    audited(
        "perturbed-covariates",
        "scores with private covariates, a comparison is added or removed, Laplace((2 + p/4)/ε), γ ≥ λ",
        on(pairwise.perturbed_mle, _table, ties="half"),
        commands=(
            f"rank --unit comparison {_SIDES}",
            f"rank --max-per-user 2 {_SIDES}",
            f"rank --max-per-user 2 --adjacency add-remove {_SIDES}",
        ),
        **_covariates(ADDED, None, ties=False),
    ),
    audited(
        "perturbed-covariate-ties",
        "Davidson's model with private covariates, a comparison is replaced, Laplace((4 + p/2)/ε), γ ≥ λ",
        on(pairwise.perturbed_mle, _table, ties="davidson"),
        calibration="sound",
        commands=(f"rank --max-per-user 2 --ties davidson {_SIDES}",),
        **_covariates(COMPARISON, _ROWS[1], ties=True),
    ),
    audited(
        "perturbed-davidson",
        "Davidson's model, a comparison is replaced, Laplace(4/ε), γ ≥ λ",
        on_ties(pairwise.perturbed_mle, ties="davidson"),
        neighbors=(_FEW((0, 1, 1), (1, 0, 3)), _FEW((1, 0, 4))),
        **protecting(COMPARISON, np.zeros((2, _ITEMS, _ITEMS)), _FEW((3, 1, _MANY))),
        reduce=gap,
        sees="the gap between the scores of items 0 and 1",
        law=_ties_law,
        commands=(
            "rank --max-per-user 2 --ties davidson",
            "rank --unit comparison --ties davidson",
            "rank --max-per-user 2 --ties davidson --adjacency add-remove",
        ),
        note=_PROOF,
    ),
    audited(
        "perturbed-choices",
        "Plackett-Luce scores, a choice and its set are replaced, Laplace((4 + V)/ε), γ ≥ λ",
        on(pairwise.perturbed_mle, _choices),
        calibration="sound",
        neighbors=tuple(_choices_of((0, 0), (1, 0))),
        promise=COMPARISON,
        reduce=lambda scores: scores[0] - scores[2],
        sees="the gap between the scores of items 0 and 2",
        law=_choices_law,
        instances=lambda: neighbors.of_values(*_choices_of(*_KINDS)),
        commands=(
            "rank --max-per-user 2 --method scores",
            "rank --unit comparison --method scores",
            "rank --max-per-user 2 --method scores --adjacency add-remove",
        ),
        note=f"{_PROOF}; tight for sets smaller than the list of items",
    ),
)

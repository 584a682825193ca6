"""Audited fits with noise in the objective: private covariates, ties and choices from private sets.

Four items: 0 is far behind 1, and 2 behind 3, at the outputs where losses are largest; many wins of 3 over 1 fix the
signs of the noise. The densities are those of a conditional logit, worked out here from its alternatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import minimizers, neighbors
from privrank_jax.privacy_audit.audited_comparisons import ADDED, COMPARISON, gap
from privrank_jax.privacy_audit.contents import protecting, with_ties, with_ties_of
from privrank_jax.privacy_audit.registry import Facts, Law
from privrank_jax.privacy_audit.rows import audited, on

Array = jax.Array
_ITEMS, _MANY = 4, 10**6
_AHEAD = [-1.0, 90.0, 1.0, 30.0]


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


def _rows_loss(theta: Array, data: Array, *, ties: bool) -> Array:
    """Of rows, padded ones 0; a tie that is no outcome of its own is half a win."""
    first, second, outcome, feature, real = data.T
    ahead, behind = (theta[one.astype(int)] for one in (first, second))
    gap = ahead - behind + theta[_ITEMS] * feature
    odds = [-gap / 2, gap / 2] + [theta[-1] / 2 + 0 * gap] * ties
    logs = jnp.stack(odds) - jax.nn.logsumexp(jnp.stack(odds), axis=0)
    tied = (outcome == 0.5) & ties
    said = jnp.where(tied, logs[-1], (1 - outcome) * logs[0] + outcome * logs[1])
    return -jnp.sum(real * said)


def _table_law(ties: bool) -> Law:
    """Coefficients and log ν have noise of twice the scale, and the ridge is that scale, at least 1."""
    size, loss = _ITEMS + 1 + ties, functools.partial(_rows_loss, ties=ties)
    units = np.array([1.0] * _ITEMS + [2.0] * (1 + ties))

    def logs(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
        ridge = max(facts["noise_scale"], 1.0)
        law = minimizers.law(loss, minimizers.points_near(_AHEAD, size), ridge=ridge, units=units)
        return law(data, privacy, facts)

    return logs


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
        "law": _table_law(ties),
        "instances": lambda: every,
        "note": _PROOF,
    }


# --- ties and choices --------------------------------------------------------------------------------------


# log ν moves by half a tie, in units of its noise.
_TIES = minimizers.law(
    minimizers.of_ties(0.5),
    minimizers.points_near(_AHEAD, _ITEMS + 1),
    units=np.array([1.0] * _ITEMS + [2.0]),
)

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


def _sets_loss(theta: Array, data: Array) -> Array:
    """Of choices, as they are told."""
    number, place = data[:, 0].astype(int), data[:, 1].astype(int)
    sets, offered = jnp.asarray(_SETS)[number], jnp.asarray(_OFFERED)[number]
    chosen = jnp.take_along_axis(sets, place[:, None], axis=1)[:, 0]
    among = jax.nn.logsumexp(jnp.where(offered, theta[sets], -jnp.inf), axis=1)
    return jnp.sum(data[:, 2] * (among - theta[chosen]))


_KINDS = [(number, place) for number in range(3) for place in range(int(_OFFERED[number].sum()))]
_FEW: Callable[..., np.ndarray] = functools.partial(with_ties_of, _ITEMS)
_SIDES = "--side left --covariate length:-1:2"
_PROOF = "pairwise/perturbed_answers.py"

AUDITED = (
    audited(
        "perturbed-covariates",
        "scores with private covariates, a comparison is added or removed, Laplace((2 + p/4)/ε), γ ≥ λ",
        on(pairwise.perturbed_covariates, _table, ties="half"),
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
        on(pairwise.perturbed_covariates, _table, ties="davidson"),
        calibration="sound",
        commands=(f"rank --max-per-user 2 --ties davidson {_SIDES}",),
        **_covariates(COMPARISON, _ROWS[1], ties=True),
    ),
    audited(
        "perturbed-davidson",
        "Davidson's model, a comparison is replaced, Laplace(4/ε), γ ≥ λ",
        on(pairwise.perturbed_davidson, with_ties(_ITEMS).made),
        neighbors=(_FEW((0, 1, 1), (1, 0, 3)), _FEW((1, 0, 4))),
        **protecting(COMPARISON, np.zeros((2, _ITEMS, _ITEMS)), _FEW((3, 1, _MANY))),
        reduce=gap,
        sees="the gap between the scores of items 0 and 1",
        law=_TIES,
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
        on(pairwise.perturbed_choices, _choices),
        calibration="sound",
        neighbors=tuple(_choices_of((0, 0), (1, 0))),
        promise=COMPARISON,
        reduce=lambda scores: scores[0] - scores[2],
        sees="the gap between the scores of items 0 and 2",
        law=minimizers.law(_sets_loss, minimizers.points_near([1.0, 30.0, 30.0, 90.0], _ITEMS)),
        instances=lambda: neighbors.of_values(*_choices_of(*_KINDS)),
        commands=(
            "rank --max-per-user 2 --method scores",
            "rank --unit comparison --method scores",
            "rank --max-per-user 2 --method scores --adjacency add-remove",
        ),
        note=f"{_PROOF}; tight for sets smaller than the list of items",
    ),
)

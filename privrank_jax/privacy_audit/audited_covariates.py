"""Audited mechanisms on comparisons with public covariates: noisy sums, number of ties, and scores fitted to them.

Three comparisons of three items, with the advantage of the first item and one more covariate; neighbors differ in one
outcome, or in all of them, where one user gave all. The data of a row are the outcomes; the design is public.
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

from privrank_jax import pairwise
from privrank_jax._backend import product
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_noise import noisy_covariate_sums
from privrank_jax.pairwise.covariate_ties import noisy_covariate_ties
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.pairwise.designs import outcome_odds
from privrank_jax.pairwise.noisy_ties import tie_weight
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, shapes
from privrank_jax.privacy_audit.neighbors import Instances
from privrank_jax.privacy_audit.registry import Audited, Facts, Release

Array = jax.Array

_FIRST, _SECOND = np.array([0, 1, 0]), np.array([1, 2, 1])
# Rows 0 and 2 are equal, so that their outcomes move all sums in one direction.
_FEATURES = np.array([[0.5, 0.25], [0.5, -0.5], [0.5, 0.25]])
_MATRIX = np.array(
    [[*(np.eye(3)[i] - np.eye(3)[j]), *x] for i, j, x in zip(_FIRST, _SECOND, _FEATURES)]
)

_GAMMA = 0.5
_RIDGES = _GAMMA * np.array([1.0] * 3 + [*np.square(_MATRIX[:, 3:]).max(0), 1.0])
"""Of scores, coefficients and log ν."""

COMPARISON = Privacy(1.0, unit="comparison", adjacency="flip", public=("covariates",))
USER = dataclasses.replace(COMPARISON, unit="user")


def _design(outcomes: Array, users: tuple[int, ...]) -> CovariateDesign:
    """The design, on the host also where outcomes are traced, as K-norm noise needs it."""
    dtype = jnp.result_type(outcomes)
    parts: tuple[Any, ...] = (
        *(np.asarray(part, np.int32) for part in (_FIRST, _SECOND)),
        np.asarray(_FEATURES, dtype),
        np.asarray(users, np.int32),
        np.ones(2, dtype),
    )
    return CovariateDesign(*parts, num_items=3)


def _on_outcomes(
    function: Callable[..., Estimate], users: tuple[int, ...], **options: Any
) -> Release:
    """Turn a function of a table into ``(key, outcomes, privacy) -> Estimate``, its value one array."""

    def release(key: Array, outcomes: Array, privacy: Privacy) -> Estimate:
        outcomes = jnp.asarray(outcomes)
        table = CovariateTable(_design(outcomes, users), outcomes)
        found = function(key, table, privacy, **options)
        parts = [jnp.ravel(part) for part in jax.tree.leaves(found.value)]
        return dataclasses.replace(found, value=jnp.concatenate(parts))

    return release


def _sums(data: np.ndarray) -> np.ndarray:
    """S of stacked outcomes."""
    return data @ _MATRIX


def _sums_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.additive_laplace(_sums(data), facts["noise_scale"])


def _tied(data: np.ndarray) -> np.ndarray:
    """(S, T) of stacked outcomes."""
    return np.column_stack([data @ _MATRIX, (data == 0.5).sum(-1)])


def _ties_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.additive_laplace(_tied(data), facts["noise_scale"])


def _gaussian_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts
) -> np.ndarray:
    moved = _tied(first) - _tied(second)
    moved[:, -1] *= tie_weight("gaussian")
    shifts = np.round(np.linalg.norm(moved, axis=1), 12)
    return laws.gaussian_epsilon(shifts, facts["noise_scale"], privacy.delta)


def _scores_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered; the Hessian does not depend on outcomes."""
    rng = np.random.default_rng(0)
    size = _MATRIX.shape[1]
    points = rng.standard_normal((400, size)) * rng.choice([0.1, 3.0, 40.0], (400, 1))
    chances = 1 / (1 + np.exp(-points @ _MATRIX.T))
    noise = (chances @ _MATRIX + _RIDGES[:-1] * points)[None] - (data @ _MATRIX)[:, None]
    return -np.abs(noise).sum(-1) / facts["noise_scale"]


_DELTA = 0.01


def _davidson_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """As for the scores, with log ν: the noise that leads to an output is the gradient there without it."""
    rng = np.random.default_rng(0)
    size = _MATRIX.shape[1] + 1
    points = rng.standard_normal((800, size)) * rng.choice([0.1, 3.0, 40.0], (800, 1))
    odds = outcome_odds(jnp.asarray(points[:, :-1] @ _MATRIX.T), jnp.asarray(points[:, -1:]))
    win, _lose, tie = map(np.asarray, odds)
    expected = np.column_stack([(win + 0.5 * tie) @ _MATRIX, tie.sum(-1)])
    noise = (expected + _RIDGES * points)[None] - _tied(data)[:, None]
    return -np.abs(noise).sum(-1) / facts["noise_scale"]


def _behind_scores(fitted: Array) -> Array:
    """The noisy sums to which scores were fitted, up to what centered scores don't tell."""
    ridge = _RIDGES[:-1].astype(fitted.dtype)
    return product(jax.nn.sigmoid(product(_MATRIX, fitted)), _MATRIX) + ridge * fitted


def _behind_davidson(fitted: Array) -> Array:
    """The noisy (S, T) to which scores and log ν were fitted, up to what centered scores don't tell."""
    odds = outcome_odds(product(_MATRIX, fitted[:-1]), fitted[-1:])
    expected = jnp.append(product(odds[0] + 0.5 * odds[2], _MATRIX), jnp.sum(odds[2]))
    return expected + _RIDGES.astype(fitted.dtype) * fitted


def _least_shift(noisy: Array, *, center: np.ndarray, change: np.ndarray) -> Array:
    """The least shift, of the sums that differ between the neighbors, in the direction in which they differ."""
    moved = np.flatnonzero(change)
    return jnp.min((noisy - jnp.asarray(center, noisy.dtype))[moved] * np.sign(change[moved]))


def _flips(users: tuple[int, ...]) -> Instances:
    """All outcomes; neighbors differ in those of one unit."""
    data = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=len(users))))
    near = [
        (a, b)
        for a, b in itertools.combinations(range(len(data)), 2)
        if len({users[row] for row in np.flatnonzero(data[a] != data[b])}) == 1
    ]
    return Instances(data, np.array(near))


_EACH, _TWO = (0, 1, 2), (0, 1, 0)  # users of the rows
_WON = np.array([1.0, 1.0, 1.0])
_WON_SUMS = _sums(_WON)
_ONE_TIED = _tied(np.array([_WON, [1.0, 0.5, 1.0]]))
_GAUSSIAN_CHANGE = np.subtract(*_tied(np.array([_WON, [0.0, 1.0, 0.0]]))) * np.append(
    np.ones(_MATRIX.shape[1]), tie_weight("gaussian") ** 2
)
"""Divided by the variances of the noise."""


def _row(
    flipped: list[int],
    users: tuple[int, ...],
    promise: Privacy,
) -> dict[str, Any]:
    lost = np.where(np.isin(np.arange(3), flipped), 1 - _WON, _WON)
    return {
        "neighbors": (_WON, lost),
        "promise": promise,
        "release": _on_outcomes(noisy_covariate_sums, users),
        "law": _sums_law,
        "reduce": functools.partial(_least_shift, center=_WON_SUMS, change=_sums(_WON - lost)),
        "sees": "the least shift of a sum in the direction of the neighbors' difference",
        "instances": functools.partial(_flips, users),
        "function": "noisy_covariate_sums",
        "note": "pairwise/covariates.py",
    }


def _tied_row(
    answers: tuple[float, float, float], users: tuple[int, ...], promise: Privacy
) -> dict[str, Any]:
    changed = np.array(answers)
    center, other = _tied(np.stack([_WON, changed]))
    return {
        **_row([], users, promise),
        "neighbors": (_WON, changed),
        "release": _on_outcomes(noisy_covariate_ties, users),
        "law": _ties_law,
        "reduce": functools.partial(_least_shift, center=center, change=center - other),
        "sees": "the least shift of a number in the direction of the neighbors' difference",
        "function": "noisy_covariate_ties",
        "released_by": "exact_covariate_ties",
        "note": "pairwise/covariate_ties.py",
    }


_SHAPED_FACETS = np.block(
    [
        [shapes.zonotope_facets(np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0]])), np.zeros((3, 3))],
        [np.zeros((3, 3)), np.diag(1 / np.array([1.0, 0.5, 2.0]))],
    ]
)
"""Of what user 0 or 1 of ``_TWO`` can change in the items' sums, in those of the covariates, and in the ties."""


def _shaped_row(
    mechanism: Callable[..., Estimate], statistic: Callable[..., Any]
) -> dict[str, Any]:
    """All outcomes of user 0 flip; ``statistic`` is what the mechanism adds noise to, of stacked outcomes."""
    lost = np.array([0.0, 1.0, 0.0])
    center, other = statistic(np.stack([_WON, lost]))
    facets = _SHAPED_FACETS[:, : center.size]
    facets = facets[facets.any(axis=1)]

    def law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
        return laws.k_norm(statistic(data), facets, facts["noise_scale"])

    return {
        **_row([0, 2], _TWO, USER),
        "release": _on_outcomes(mechanism, _TWO, noise="k-norm"),
        "law": law,
        "reduce": lambda noisy: shapes.margin(
            noisy - jnp.asarray(center, noisy.dtype), facets, center - other
        ),
        "sees": "how far the noise lies inside the facets next to the change",
        "function": mechanism.__name__,
        "note": "pairwise/covariate_shape.py",
    }


AUDITED = (
    Audited(
        name="covariate-sums",
        title="sums of comparisons with covariates + Laplace(max ‖z‖/ε), one outcome flips",
        calibration="tight",
        released_by="exact_covariate_sums",
        commands=(
            "rank --method mle --adjacency flip --unit comparison --side left --covariate length",
            "rank --method mle --adjacency flip --unit comparison --side left --covariate-group judge",
        ),
        **_row([1], _EACH, COMPARISON),
    ),
    Audited(
        name="covariate-sums-users",
        title="sums of comparisons with covariates + Laplace(Σ‖z‖/ε), the outcomes of one user flip",
        calibration="tight",
        released_by="exact_covariate_sums",
        commands=(
            "rank --method mle --adjacency flip --max-per-user 2 --side left --covariate length:-1:2",
        ),
        **_row([0, 2], _TWO, USER),
    ),
    Audited(
        name="covariate-sums-questionnaire",
        title="sums of comparisons with covariates + K-norm noise of the questions, outcomes of one user flip",
        calibration="tight",
        released_by="exact_covariate_sums",
        commands=(
            "rank --method mle --adjacency flip --max-per-user 2 --side left --covariate length --noise k-norm",
        ),
        **_shaped_row(noisy_covariate_sums, _sums),
    ),
    Audited(
        name="covariate-ties-questionnaire",
        title="sums with covariates and ties + K-norm noise of the questions, outcomes of one user flip",
        calibration="tight",
        released_by="exact_covariate_ties",
        commands=(
            "rank --method mle --adjacency flip --max-per-user 2 --side left --covariate length --ties davidson "
            "--noise k-norm",
        ),
        **_shaped_row(noisy_covariate_ties, _tied),
    ),
    Audited(
        name="covariate-mle",
        calibration="tight",
        **{
            **_row([1], _EACH, COMPARISON),
            "title": "scores and coefficients of covariates from noisy sums, one outcome flips",
            "function": "perturbed_mle",
            "release": _on_outcomes(pairwise.perturbed_mle, _EACH, gamma=_GAMMA),
            "law": _scores_law,
            "reduce": lambda value: _least_shift(
                _behind_scores(value), center=_WON_SUMS, change=_MATRIX[1]
            ),
            "sees": "of the noisy sums behind the scores: their least shift in the direction of the neighbors' "
            "difference",
        },
    ),
    Audited(
        name="covariate-ties",
        title="sums with covariates and ties + Laplace(max ‖z‖/ε), one win becomes a tie",
        calibration="tight",
        commands=(
            "rank --method mle --adjacency flip --unit comparison --side left --covariate length --ties davidson",
        ),
        **_tied_row((1.0, 0.5, 1.0), _EACH, COMPARISON),
    ),
    Audited(
        name="covariate-ties-users",
        title="sums with covariates and ties + Laplace(Σ‖z‖/ε), the outcomes of one user change",
        calibration="tight",
        commands=(
            "rank --method mle --adjacency flip --max-per-user 2 --side left --covariate length:-1:2 --ties davidson",
        ),
        **_tied_row((0.0, 1.0, 0.0), _TWO, USER),
    ),
    Audited(
        name="covariate-ties-gaussian",
        calibration="tight",
        commands=(
            "rank --method mle --adjacency flip --max-per-user 2 --side left --covariate length --ties davidson "
            "--noise gaussian --delta 1e-6",
        ),
        **{
            **_tied_row((0.0, 1.0, 0.0), _TWO, dataclasses.replace(USER, delta=_DELTA)),
            "title": "sums with covariates and ties + Gaussian noise at δ = 0.01, outcomes of one user change",
            "release": _on_outcomes(noisy_covariate_ties, _TWO, noise="gaussian"),
            "reduce": lambda noisy: jnp.sum(noisy * _GAUSSIAN_CHANGE),
            "sees": "the numbers along the neighbors' difference, in units of their noise",
            "law": None,
            "loss": _gaussian_loss,
            "note": "pairwise/covariate_ties.py; Balle and Wang (2018)",
        },
    ),
    Audited(
        name="covariate-davidson-mle",
        calibration="tight",
        **{
            **_tied_row((1.0, 0.5, 1.0), _EACH, COMPARISON),
            "title": "Davidson's model with covariates from noisy sums and ties, one win becomes a tie",
            "function": "perturbed_mle",
            "released_by": "",
            "release": _on_outcomes(
                pairwise.perturbed_mle, _EACH, gamma=_GAMMA, tie_gamma=_GAMMA, ties="davidson"
            ),
            "law": _davidson_law,
            "reduce": lambda value: _least_shift(
                _behind_davidson(value), center=_ONE_TIED[0], change=_ONE_TIED[0] - _ONE_TIED[1]
            ),
            "sees": "of the noisy numbers behind the scores: their least shift in the direction of the neighbors' "
            "difference",
        },
    ),
)

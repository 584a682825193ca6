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
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.pairwise.designs import outcome_odds
from privrank_jax.pairwise.tie_noise import tie_weight
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.neighbors import Instances, those_near
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import audited, gaussian, on, under_laplace

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
    """The design, on the host also where outcomes are traced, as sensitivities to users need it."""
    dtype = jnp.result_type(outcomes)
    parts: tuple[Any, ...] = (
        *(np.asarray(part, np.int32) for part in (_FIRST, _SECOND)),
        np.asarray(_FEATURES, dtype),
        np.asarray(users, np.int32),
        np.ones(2, dtype),
    )
    return CovariateDesign(*parts, num_items=3)


def _on_outcomes(function: Callable[..., Any], users: tuple[int, ...], **options: Any) -> Release:
    """Turn a function of a table into ``(key, outcomes, privacy) -> Estimate``, its value one array."""

    def table(outcomes: Array) -> CovariateTable:
        return CovariateTable(_design(outcomes, users), jnp.asarray(outcomes))

    return on(function, table, **options)


def _sums(data: np.ndarray) -> np.ndarray:
    """S of stacked outcomes."""
    return data @ _MATRIX


def _tied(data: np.ndarray) -> np.ndarray:
    """(S, T) of stacked outcomes."""
    return np.column_stack([data @ _MATRIX, (data == 0.5).sum(-1)])


def _scores_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered; the Hessian does not depend on outcomes."""
    rng = np.random.default_rng(0)
    size = _MATRIX.shape[1]
    points = rng.standard_normal((400, size)) * rng.choice([0.1, 3.0, 40.0], (400, 1))
    chances = 1 / (1 + np.exp(-points @ _MATRIX.T))
    noise = (chances @ _MATRIX + _RIDGES[:-1] * points)[None] - (data @ _MATRIX)[:, None]
    return -np.abs(noise).sum(-1) / facts["noise_scale"]


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


def _flips(users: tuple[int, ...]) -> Instances:
    """All outcomes; neighbors differ in those of one unit."""

    def near(first: np.ndarray, second: np.ndarray) -> bool:
        return len({users[row] for row in np.flatnonzero(first != second)}) == 1

    data = np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=len(users))))
    return those_near(data, near)


_EACH, _TWO = (0, 1, 2), (0, 1, 0)  # users of the rows
_WON, _LOST_ONE = np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0])
_TIED_ONE, _LOST_TWO = np.array([1.0, 0.5, 1.0]), np.array([0.0, 1.0, 0.0])
_ONE: dict[str, Any] = {"promise": COMPARISON, "instances": functools.partial(_flips, _EACH)}
_BOTH: dict[str, Any] = {"promise": USER, "instances": functools.partial(_flips, _TWO)}
_GAUSSIAN = np.append(np.ones(_MATRIX.shape[1]), tie_weight("gaussian"))
"""What Gaussian noise is divided by to have one scale."""
_GAUSSIAN_CHANGE = np.subtract(*_tied(np.array([_WON, _LOST_TWO]))) * _GAUSSIAN**2
_COMMON = "rank --method mle --adjacency flip"
_EACH_LEFT, _USERS_LEFT = (
    f"{_COMMON} {unit} --side left" for unit in ("--unit comparison", "--max-per-user 2")
)

AUDITED = (
    audited(
        "covariate-sums",
        "sums of comparisons with covariates + Laplace(max ‖z‖/ε), one outcome flips",
        _on_outcomes(pairwise.noisy_sums, _EACH),
        commands=(
            f"{_EACH_LEFT} --covariate length",
            f"{_EACH_LEFT} --covariate-group judge",
        ),
        note="pairwise/covariates.py",
        **_ONE,
        **under_laplace(_sums, _WON, _LOST_ONE),
    ),
    audited(
        "covariate-sums-users",
        "sums of comparisons with covariates + Laplace(Σ‖z‖/ε), the outcomes of one user flip",
        _on_outcomes(pairwise.noisy_sums, _TWO),
        commands=(f"{_USERS_LEFT} --covariate length:-1:2",),
        note="pairwise/covariates.py",
        **_BOTH,
        **under_laplace(_sums, _WON, _LOST_TWO),
    ),
    audited(
        "covariate-sums-gaussian",
        "sums of comparisons with covariates + Gaussian noise at δ = 0.01, outcomes of one user flip",
        _on_outcomes(pairwise.noisy_sums, _TWO, noise="gaussian"),
        commands=(f"{_USERS_LEFT} --covariate length --noise gaussian --delta 1e-6",),
        note="pairwise/covariates.py; Balle and Wang (2018)",
        neighbors=(_WON, _LOST_TWO),
        reduce=lambda noisy: jnp.sum(noisy * np.subtract(*_sums(np.array([_WON, _LOST_TWO])))),
        sees="the sums along the neighbors' difference",
        loss=gaussian(_sums),
        **_BOTH | {"promise": dataclasses.replace(USER, delta=0.01)},
    ),
    audited(
        "covariate-mle",
        "scores and coefficients of covariates from noisy sums, one outcome flips",
        _on_outcomes(pairwise.perturbed_mle, _EACH, gamma=_GAMMA),
        note="pairwise/covariates.py; of the noisy sums behind the scores",
        **_ONE,
        **under_laplace(_sums, _WON, _LOST_ONE, read=_behind_scores, law=_scores_law),
    ),
    audited(
        "covariate-ties",
        "sums with covariates and ties + Laplace(max ‖z‖/ε), one win becomes a tie",
        _on_outcomes(pairwise.noisy_sums_and_ties, _EACH),
        commands=(f"{_EACH_LEFT} --covariate length --ties davidson",),
        **_ONE,
        **under_laplace(_tied, _WON, _TIED_ONE),
    ),
    audited(
        "covariate-ties-users",
        "sums with covariates and ties + Laplace(Σ‖z‖/ε), the outcomes of one user change",
        _on_outcomes(pairwise.noisy_sums_and_ties, _TWO),
        commands=(f"{_USERS_LEFT} --covariate length:-1:2 --ties davidson",),
        **_BOTH,
        **under_laplace(_tied, _WON, _LOST_TWO),
    ),
    audited(
        "covariate-ties-gaussian",
        "sums with covariates and ties + Gaussian noise at δ = 0.01, outcomes of one user change",
        _on_outcomes(pairwise.noisy_sums_and_ties, _TWO, noise="gaussian"),
        commands=(
            f"{_USERS_LEFT} --covariate length --ties davidson --noise gaussian --delta 1e-6",
        ),
        neighbors=(_WON, _LOST_TWO),
        reduce=lambda noisy: jnp.sum(noisy * _GAUSSIAN_CHANGE),
        sees="the numbers along the neighbors' difference, in units of their noise",
        loss=gaussian(lambda data: _tied(data) * _GAUSSIAN),
        remark="Balle and Wang (2018)",
        **_BOTH | {"promise": dataclasses.replace(USER, delta=0.01)},
    ),
    audited(
        "covariate-davidson-mle",
        "Davidson's model with covariates from noisy sums and ties, one win becomes a tie",
        _on_outcomes(
            pairwise.perturbed_mle, _EACH, gamma=_GAMMA, tie_gamma=_GAMMA, ties="davidson"
        ),
        note="pairwise/covariate_ties.py; of the noisy numbers behind the scores",
        **_ONE,
        **under_laplace(_tied, _WON, _TIED_ONE, read=_behind_davidson, law=_davidson_law),
    ),
)

"""Audited mechanisms on win totals and the number of ties, and on fits of Davidson's model to them.

A data set is ``(2, m, m)``, wins with half wins for ties, and the half wins alone
(:func:`~privrank_jax.privacy_audit.neighbors.with_ties_apart`), so that the number of ties is the sum of the second. A
release is a vector: the totals and the ties, or the scores and log ν.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.designs import outcome_odds
from privrank_jax.pairwise.noisy_ties import GAUSSIAN_TIE_WEIGHT, noisy_tie_counts, with_ties
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, neighbors, shapes
from privrank_jax.privacy_audit.audited_comparisons import all_comparisons, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Facts, Release

Array = jax.Array

_DELTA = 0.01
_RIDGE = 0.5
FLIPPED = Privacy(1.0, unit="comparison", adjacency="flip")
USER = Privacy(1.0, unit="user", adjacency="flip", contributions=2)
_ASKED = Privacy(1.0, unit="user", adjacency="flip")
_PAIRS = ((0, 1), (0, 1), (1, 2))
_COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)


def with_ties_of(num_items: int, *rows: tuple[int, int, int], ties: int = 0) -> np.ndarray:
    """``(2, m, m)`` wins and ties from (winner, loser, times), and ``ties`` between items 0 and 1."""
    half = win_matrix(num_items, (0, 1, 1), (1, 0, 1)) * 0.5 * ties
    return np.stack([win_matrix(num_items, *rows) + half, half])


def on_ties(function: Callable[..., Estimate], **options: Any) -> Release:
    """Turn a function of win counts that know their ties into ``(key, data, privacy) -> Estimate`` of a vector."""

    def release(key: Array, data: Array, privacy: Privacy) -> Estimate:
        found = function(key, WinCounts(data[0], None, data[1].sum()), privacy, **options)
        parts = jax.tree.leaves(found.value)  # (m,) and ()
        return dataclasses.replace(found, value=jnp.append(*parts))

    return release


def numbers(data: np.ndarray) -> np.ndarray:
    """(N, T) of stacked data sets, ``(D, m + 1)``."""
    return np.column_stack([data[:, 0].sum(-1), data[:, 1].sum((-2, -1))])


def _counts_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.additive_laplace(numbers(data), facts["noise_scale"])


def _gaussian_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts
) -> np.ndarray:
    weight = np.array([1.0] * first.shape[-1] + [GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1]])
    shifts = np.linalg.norm((numbers(first) - numbers(second)) * weight, axis=1)
    return laws.gaussian_epsilon(np.round(shifts, 12), facts["noise_scale"], privacy.delta)


_FACETS = shapes.zonotope_facets(with_ties(_COUNTS))


def _shaped_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    return laws.k_norm(_with_untied(numbers(data)), _FACETS, facts["noise_scale"])


def _with_untied(known: np.ndarray) -> np.ndarray:
    """(N, T, -T), in which the shape of the noise is stated."""
    return np.column_stack([known, -known[:, -1]])


def _scores_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered; the determinant does not depend on outcomes.

    The noise that leads to an output is the gradient there without it: the observed numbers less the expected ones and
    the pull of the ridges.
    """
    rng = np.random.default_rng(0)
    outputs = rng.choice([-60.0, -6.0, 0.0, 6.0, 60.0], (2000, data.shape[-1] + 1))
    scores, log_tie = outputs[:, :-1], outputs[:, -1, None, None]
    odds = outcome_odds(jnp.asarray(scores[:, :, None] - scores[:, None, :]), jnp.asarray(log_tie))
    win, tie = np.asarray(odds[0]), np.asarray(odds[2])
    found = []
    for known, of_all in zip(numbers(data), data[:, 0]):
        met = of_all + of_all.T
        totals, ties = (met * (win + 0.5 * tie)).sum(-1), 0.5 * (met * tie).sum((-2, -1))
        drawn = known - np.column_stack([totals, ties]) - _RIDGE * outputs
        found.append(-np.abs(drawn).sum(1) / facts["noise_scale"])
    return np.array(found)


# One of two users turns a win of item 0 into a tie.
_ONE_ANSWER = (with_ties_of(2, (0, 1, 2)), with_ties_of(2, (0, 1, 1), ties=1))
# A user turns two wins of item 0 into losses.
_ONE_USER = (with_ties_of(2, (0, 1, 3), ties=1), with_ties_of(2, (0, 1, 1), (1, 0, 2), ties=1))
# A user turns a win of item 0 over item 1 twice, and one of item 1 over item 2.
_ALL_ANSWERS = (with_ties_of(3, (0, 1, 2), (1, 2, 1)), with_ties_of(3, (1, 0, 2), (2, 1, 1)))
_EMPTY = np.zeros((2, 3, 3))
_UNEVEN = with_ties_of(3, (0, 1, 2), (2, 1, 1), ties=2)


def _shift(noisy: Array, *, first: np.ndarray, second: np.ndarray) -> Array:
    """The least shift beyond the first data set, away from the second, of the numbers in which they differ."""
    start, end = (numbers(one[None])[0] for one in (first, second))
    away = start - end
    shifts = [np.sign(move) * (noisy[k] - start[k]) for k, move in enumerate(away) if move]
    return functools.reduce(jnp.minimum, shifts)


def _gap(noisy: Array) -> Array:
    return noisy[0] - noisy[1]


def _inside(noisy: Array, *, first: np.ndarray, second: np.ndarray) -> Array:
    """How far the noise that leads from the first data set lies inside the facets next to the second."""
    start, end = _with_untied(numbers(np.stack([first, second])))
    noise = jnp.append(noisy, -noisy[-1]) - jnp.asarray(start, noisy.dtype)
    return shapes.margin(noise, _FACETS, start - end)


def _behind_scores(fitted: Array, *, data: np.ndarray) -> Array:
    """(N, T) with the noise to which scores and log ν were fitted, up to what centered scores don't tell."""
    scores, log_tie = fitted[:-1], fitted[-1]
    odds = outcome_odds(scores[:, None] - scores, log_tie[None, None])
    met = data[0] + data[0].T
    totals, ties = jnp.sum(met * (odds[0] + 0.5 * odds[2]), -1), 0.5 * jnp.sum(met * odds[2])
    return jnp.append(totals, ties) + _RIDGE * fitted


_LAPLACE: dict[str, Any] = {
    "function": "noisy_tie_counts",
    "release": on_ties(noisy_tie_counts),
    "law": _counts_law,
    "released_by": "exact_noisy_tie_counts",
    "sees": "the least shift, away from the neighbor, of the numbers in which they differ",
    "note": "pairwise/noisy_ties.py",
}

AUDITED = (
    Audited(
        name="noisy-tie-counts",
        title="win totals and ties + Laplace(2/ε), one outcome changes",
        calibration="tight",
        neighbors=_ONE_ANSWER,
        promise=FLIPPED,
        reduce=functools.partial(_shift, first=_ONE_ANSWER[0], second=_ONE_ANSWER[1]),
        instances=all_comparisons(FLIPPED, _EMPTY, _UNEVEN),
        commands=("rank --method mle --unit comparison --adjacency flip --ties davidson",),
        **_LAPLACE,
    ),
    Audited(
        name="noisy-tie-counts-users",
        title="win totals and ties + Laplace(2L/ε), one user of L = 2 comparisons",
        calibration="tight",
        neighbors=_ONE_USER,
        promise=USER,
        reduce=functools.partial(_shift, first=_ONE_USER[0], second=_ONE_USER[1]),
        instances=all_comparisons(USER, _EMPTY, _UNEVEN),
        commands=("rank --method mle --max-per-user 2 --adjacency flip --ties davidson",),
        **_LAPLACE,
    ),
    Audited(
        name="noisy-tie-counts-gaussian",
        title="win totals and ties + Gaussian noise at δ = 0.01, one user of L = 2 comparisons",
        calibration="tight",
        function="noisy_tie_counts",
        neighbors=_ONE_USER,
        promise=dataclasses.replace(USER, delta=_DELTA),
        release=on_ties(noisy_tie_counts, noise="gaussian"),
        reduce=_gap,
        sees="the gap between the noisy totals",
        loss=_gaussian_loss,
        instances=all_comparisons(USER, _EMPTY),
        commands=(
            "rank --method mle --max-per-user 2 --adjacency flip --ties davidson --noise gaussian --delta 1e-6",
        ),
        released_by="exact_noisy_tie_counts",
        note="pairwise/noisy_ties.py; Balle and Wang (2018)",
    ),
    Audited(
        name="noisy-tie-counts-questionnaire",
        title="win totals and ties + K-norm noise of a public questionnaire, answers flip",
        calibration="tight",
        function="noisy_tie_counts",
        neighbors=_ALL_ANSWERS,
        promise=_ASKED,
        release=on_ties(noisy_tie_counts, questionnaire=_COUNTS),
        reduce=functools.partial(_inside, first=_ALL_ANSWERS[0], second=_ALL_ANSWERS[1]),
        sees="how far the noise lies inside the facets next to the change",
        law=_shaped_law,
        instances=functools.partial(neighbors.questionnaires, (_EMPTY, _UNEVEN), _PAIRS, "flip"),
        note="pairwise/noisy_ties.py",
    ),
    Audited(
        name="noisy-tie-counts-questionnaire-laplace",
        title="win totals and ties + Laplace noise for a public questionnaire, answers flip",
        calibration="tight",
        function="noisy_tie_counts",
        neighbors=_ALL_ANSWERS,
        promise=_ASKED,
        release=on_ties(noisy_tie_counts, questionnaire=_COUNTS, noise="laplace"),
        reduce=functools.partial(_shift, first=_ALL_ANSWERS[0], second=_ALL_ANSWERS[1]),
        sees=_LAPLACE["sees"],
        law=_counts_law,
        instances=functools.partial(neighbors.questionnaires, (_EMPTY,), _PAIRS, "flip"),
        note="pairwise/noisy_ties.py",
    ),
    Audited(
        name="perturbed-davidson-mle",
        title="Davidson's model fitted to win totals and ties + Laplace(2/ε)",
        calibration="tight",
        function="perturbed_mle",
        neighbors=_ONE_ANSWER,
        promise=FLIPPED,
        release=on_ties(pairwise.perturbed_mle, ties="davidson", gamma=_RIDGE, tie_gamma=_RIDGE),
        reduce=lambda fitted: _shift(
            _behind_scores(fitted, data=_ONE_ANSWER[0]), first=_ONE_ANSWER[0], second=_ONE_ANSWER[1]
        ),
        sees="of the noisy numbers behind the scores: their least shift, away from the neighbor",
        law=_scores_law,
        instances=all_comparisons(FLIPPED, np.zeros((2, 2, 2)), with_ties_of(2, (0, 1, 2), ties=1)),
        note="pairwise/noisy_ties.py; the fit is a function of noisy counts",
    ),
)

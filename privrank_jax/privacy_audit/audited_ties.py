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
from privrank_jax.pairwise.designs import outcome_odds
from privrank_jax.pairwise.tie_noise import GAUSSIAN_TIE_WEIGHT
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors
from privrank_jax.privacy_audit.audited_comparisons import gap, protecting, win_matrix
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import audited, gaussian, on, under_laplace

Array = jax.Array

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


def on_ties(function: Callable[..., Any], **options: Any) -> Release:
    """Turn a function of win counts that know their ties into ``(key, data, privacy) -> Estimate`` of a vector."""
    return on(function, lambda data: WinCounts(data[0], None, data[1].sum()), **options)


def numbers(data: np.ndarray) -> np.ndarray:
    """(N, T) of stacked data sets, ``(D, m + 1)``."""
    return np.column_stack([data[:, 0].sum(-1), data[:, 1].sum((-2, -1))])


def _weighed(data: np.ndarray) -> np.ndarray:
    """(N, T), in which Gaussian noise has one scale."""
    known = numbers(data)
    known[:, -1] *= GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1]
    return known


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


def _behind_scores(fitted: Array) -> Array:
    """(N, T) with the noise to which scores and log ν were fitted, up to what centered scores don't tell."""
    scores, log_tie = fitted[:-1], fitted[-1]
    odds = outcome_odds(scores[:, None] - scores, log_tie[None, None])
    met = _ONE_ANSWER[0][0] + _ONE_ANSWER[0][0].T
    totals, ties = jnp.sum(met * (odds[0] + 0.5 * odds[2]), -1), 0.5 * jnp.sum(met * odds[2])
    return jnp.append(totals, ties) + _RIDGE * fitted


_COMMAND = "rank --method mle --max-per-user 2 --adjacency flip --ties davidson"


def _asked(*bases: np.ndarray) -> dict[str, Any]:
    every = functools.partial(neighbors.questionnaires, bases, _PAIRS, "flip")
    return {"promise": _ASKED, "instances": every}


AUDITED = (
    audited(
        "noisy-tie-counts",
        "win totals and ties + Laplace(2/ε), one outcome changes",
        on_ties(pairwise.noisy_ties),
        **protecting(FLIPPED, _EMPTY, _UNEVEN),
        **under_laplace(numbers, *_ONE_ANSWER),
        commands=("rank --method mle --unit comparison --adjacency flip --ties davidson",),
    ),
    audited(
        "noisy-tie-counts-users",
        "win totals and ties + Laplace(2L/ε), one user of L = 2 comparisons",
        on_ties(pairwise.noisy_ties),
        **protecting(USER, _EMPTY, _UNEVEN),
        **under_laplace(numbers, *_ONE_USER),
        commands=(_COMMAND,),
    ),
    audited(
        "noisy-tie-counts-gaussian",
        "win totals and ties + Gaussian noise at δ = 0.01, one user of L = 2 comparisons",
        on_ties(pairwise.noisy_ties, noise="gaussian"),
        neighbors=_ONE_USER,
        **protecting(dataclasses.replace(USER, delta=0.01), _EMPTY),
        reduce=gap,
        sees="the gap between the noisy totals",
        loss=gaussian(_weighed),
        commands=(f"{_COMMAND} --noise gaussian --delta 1e-6",),
        remark="Balle and Wang (2018)",
    ),
    audited(
        "noisy-tie-counts-questionnaire-laplace",
        "win totals and ties + Laplace noise for a public questionnaire, answers flip",
        on_ties(pairwise.noisy_ties, questionnaire=_COUNTS, noise="laplace"),
        **_asked(_EMPTY),
        **under_laplace(numbers, *_ALL_ANSWERS),
    ),
    audited(
        "perturbed-davidson-mle",
        "Davidson's model fitted to win totals and ties + Laplace(2/ε)",
        on_ties(pairwise.perturbed_mle, ties="davidson", gamma=_RIDGE, tie_gamma=_RIDGE),
        **protecting(FLIPPED, np.zeros((2, 2, 2)), with_ties_of(2, (0, 1, 2), ties=1)),
        **under_laplace(numbers, *_ONE_ANSWER, read=_behind_scores, law=_scores_law),
        note="pairwise/noisy_ties.py; the fit is a function of noisy counts, whose shift is seen",
    ),
)

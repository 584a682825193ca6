"""Audited mechanisms on the answers to a public questionnaire, with K-norm noise in the shape of what they can change.

Three items; one pair is asked twice, the others once. The neighbors are a user's answers and their opposites, so their
totals differ by a corner of the body of changes; see :mod:`privrank_jax.privacy_audit.shapes` for the statistic.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.links import logistic
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import neighbors, shapes
from privrank_jax.privacy_audit.audited_comparisons import on_wins, totals, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Facts
from privrank_jax.privacy_audit.rows import audited, under_k_norm

_PAIRS = ((0, 1), (0, 1), (0, 2), (1, 2))
COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)
APART = pairwise.questionnaire_counts([(0, 1), (2, 3), (2, 3)], 5)
"""Two components, and an item that nobody is asked about."""

_OTHERS = win_matrix(3, (1, 0, 1), (2, 1, 2))
_BASES = (np.zeros((3, 3)), _OTHERS)
_BEST_FIRST = win_matrix(3, (0, 1, 2), (0, 2, 1), (1, 2, 1))
_AHEAD, _BEHIND = _OTHERS + _BEST_FIRST, _OTHERS + _BEST_FIRST.T

FLIPPED = Privacy(1.0, unit="user", adjacency="flip")
REPLACED = Privacy(1.0, unit="user", adjacency="replace", public=("questionnaire",))


def facets_of(counts: np.ndarray, adjacency: str) -> np.ndarray:
    """Facets of what a user's answers can change in the totals.

    Under replacement it is half of a zonotope with an item "no answer", whose coordinate is minus the sum of the
    others, and which stands last: no facet has an entry for it.
    """
    if adjacency == "flip":
        return shapes.zonotope_facets(counts)
    asked = counts.sum(axis=1, keepdims=True)
    with_none = np.block([[counts, asked], [asked.T, np.zeros((1, 1))]])
    return shapes.zonotope_facets(with_none / 2)[:, :-1]


def _flips() -> np.ndarray:
    """What opposite answers to some of the questions change in the totals."""
    answers = np.array(list(itertools.product((-1, 1), repeat=len(_PAIRS))))
    return answers @ np.array([np.eye(3)[i] - np.eye(3)[j] for i, j in _PAIRS])


def _scores_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered, at scores whose noise sums to 0 over each component.

    The determinant is the same for all answers to the same questions, and is left out.
    """
    facets, rng = facets_of(COUNTS, privacy.adjacency), np.random.default_rng(0)
    scores = rng.standard_normal((400, 3)) * rng.choice([0.1, 1.0, 10.0], (400, 1))
    scores *= facts["noise_scale"] / facts["gamma"]
    scores -= scores.mean(axis=1, keepdims=True)
    gaps = scores[:, :, None] - scores[:, None, :]
    pull = data[:, None] * np.asarray(logistic.score(jnp.asarray(gaps)))
    tilt = pull.sum(-1) - pull.sum(-2) - facts["gamma"] * scores
    return -shapes.body_norm(facets, tilt) / facts["noise_scale"]


def _on_totals(
    name: str,
    title: str,
    promise: Privacy,
    counts: np.ndarray,
    ahead: np.ndarray,
    behind: np.ndarray,
    **fields: Any,
) -> Audited:
    return audited(
        name,
        title,
        on_wins(pairwise.noisy_counts, questionnaire=counts),
        promise=promise,
        note="pairwise/questionnaire_noise.py",
        **under_k_norm(totals, facets_of(counts, promise.adjacency), ahead, behind),
        **fields,
    )


_TWO_PARTS, _NOBODY = win_matrix(5, (0, 1, 1), (2, 3, 2)), np.zeros((5, 5))
_ASKED_APART = ((0, 1), (2, 3), (2, 3))
_FLIPS = functools.partial(neighbors.questionnaires, _BASES, _PAIRS, "flip")

AUDITED = (
    _on_totals(
        "noisy-counts-questionnaire",
        "win totals + K-norm noise of a public questionnaire, answers flip",
        *(FLIPPED, COUNTS, _AHEAD, _BEHIND),
        instances=_FLIPS,
        changes=_flips(),
    ),
    _on_totals(
        "questionnaire-replace",
        "win totals + K-norm noise of a public questionnaire, answers are replaced or missing",
        *(REPLACED, COUNTS, _AHEAD, _BEHIND),
        instances=functools.partial(neighbors.questionnaires, _BASES, _PAIRS, "replace"),
    ),
    _on_totals(
        "questionnaire-components",
        "win totals + K-norm noise, a questionnaire of two components and an item in none",
        *(FLIPPED, APART, _TWO_PARTS, _TWO_PARTS.T),
        instances=functools.partial(neighbors.questionnaires, (_NOBODY,), _ASKED_APART, "flip"),
    ),
    audited(
        "perturbed-mle-questionnaire",
        "perturbed MLE + K-norm noise of a public questionnaire, answers flip",
        on_wins(pairwise.perturbed_mle, questionnaire=COUNTS, gamma=0.5),
        neighbors=(_AHEAD, _BEHIND),
        promise=FLIPPED,
        reduce=lambda scores: scores[0] - scores[2],
        sees="the gap between the scores of items 0 and 2",
        law=_scores_law,
        instances=_FLIPS,
        note="pairwise/questionnaire_noise.py; the scores are a function of noisy totals",
    ),
)

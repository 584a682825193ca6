"""Audited mechanisms on the answers to a public questionnaire, with K-norm noise in the shape of what they can change.

Three items; one pair is asked twice, the others once. The neighbors are a user's answers and their opposites, so their
totals differ by a corner of the body of changes; see :mod:`privrank_jax.privacy_audit.shapes` for the statistic.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.links import logistic
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws, neighbors, shapes
from privrank_jax.privacy_audit.audited_comparisons import on_wins, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Facts

Array = jax.Array

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


def _totals_law(
    data: np.ndarray, privacy: Privacy, facts: Facts, *, counts: np.ndarray = COUNTS
) -> np.ndarray:
    facets = facets_of(counts, privacy.adjacency)
    return laws.k_norm(data.sum(-1), facets, facts["noise_scale"])


def _margin(noisy: Array, *, first: np.ndarray, second: np.ndarray, facets: np.ndarray) -> Array:
    ahead, behind = (data.sum(axis=1) for data in (first, second))
    return shapes.margin(noisy - jnp.asarray(ahead, noisy.dtype), facets, ahead - behind)


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


_TOTALS: dict[str, Any] = {
    "function": "noisy_counts",
    "sees": "how far the noise lies inside the facets next to the change",
    "note": "pairwise/questionnaire_noise.py",
}


def _on_totals(
    promise: Privacy, first: np.ndarray, second: np.ndarray, counts: np.ndarray
) -> dict[str, Any]:
    facets = facets_of(counts, promise.adjacency)
    return {
        "neighbors": (first, second),
        "promise": promise,
        "release": on_wins(pairwise.noisy_counts, questionnaire=counts),
        "law": functools.partial(_totals_law, counts=counts),
        "reduce": functools.partial(_margin, first=first, second=second, facets=facets),
        **_TOTALS,
    }


_TWO_PARTS = win_matrix(5, (0, 1, 1), (2, 3, 2))
_ASKED_APART = ((0, 1), (2, 3), (2, 3))

AUDITED = (
    Audited(
        name="noisy-counts-questionnaire",
        title="win totals + K-norm noise of a public questionnaire, answers flip",
        calibration="tight",
        instances=functools.partial(neighbors.questionnaires, _BASES, _PAIRS, "flip"),
        changes=_flips(),
        **_on_totals(FLIPPED, _AHEAD, _BEHIND, COUNTS),
    ),
    Audited(
        name="questionnaire-replace",
        title="win totals + K-norm noise of a public questionnaire, answers are replaced or missing",
        calibration="tight",
        instances=functools.partial(neighbors.questionnaires, _BASES, _PAIRS, "replace"),
        **_on_totals(REPLACED, _AHEAD, _BEHIND, COUNTS),
    ),
    Audited(
        name="questionnaire-components",
        title="win totals + K-norm noise, a questionnaire of two components and an item in none",
        calibration="tight",
        instances=functools.partial(
            neighbors.questionnaires, (np.zeros((5, 5)),), _ASKED_APART, "flip"
        ),
        **_on_totals(FLIPPED, _TWO_PARTS, _TWO_PARTS.T, APART),
    ),
    Audited(
        name="perturbed-mle-questionnaire",
        title="perturbed MLE + K-norm noise of a public questionnaire, answers flip",
        calibration="tight",
        function="perturbed_mle",
        neighbors=(_AHEAD, _BEHIND),
        release=on_wins(pairwise.perturbed_mle, questionnaire=COUNTS, gamma=0.5),
        promise=FLIPPED,
        reduce=lambda scores: scores[0] - scores[2],
        sees="the gap between the scores of items 0 and 2",
        law=_scores_law,
        instances=functools.partial(neighbors.questionnaires, _BASES, _PAIRS, "flip"),
        note="pairwise/questionnaire_noise.py; the scores are a function of noisy totals",
    ),
)

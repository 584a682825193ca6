"""Audited mechanisms on the answers to a public questionnaire, with K-norm noise in the shape of what they can change.

Three items; one pair is asked twice, the others once. The neighbors are a user's answers and their opposites, so their
totals differ by a corner of the body of changes; see :mod:`privrank_jax.privacy_audit.shapes` for the statistic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from privrank_jax import pairwise
from privrank_jax.links import logistic
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents, shapes
from privrank_jax.privacy_audit.audited_comparisons import on_wins
from privrank_jax.privacy_audit.contents import win_matrix
from privrank_jax.privacy_audit.registry import Facts
from privrank_jax.privacy_audit.rows import additive, audited

_PAIRS = ((0, 1), (0, 1), (0, 2), (1, 2))
COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)
_APART = ((0, 1), (2, 3), (2, 3))
"""Two components, and an item that nobody is asked about."""

_OTHERS = win_matrix(3, (1, 0, 1), (2, 1, 2))
_BEST_FIRST = win_matrix(3, (0, 1, 2), (0, 2, 1), (1, 2, 1))
_AHEAD, _BEHIND = _OTHERS + _BEST_FIRST, _OTHERS + _BEST_FIRST.T

FLIPPED = Privacy(1.0, unit="user", adjacency="flip")
REPLACED = Privacy(1.0, unit="user", adjacency="replace", public=("questionnaire",))


def _scores_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of the minimizer before it is centered, at scores whose noise sums to 0 over each component.

    The determinant is the same for all answers to the same questions, and is left out.
    """
    facets, rng = (
        contents.questionnaire_facets(3, _PAIRS, privacy.adjacency),
        np.random.default_rng(0),
    )
    scores = rng.standard_normal((400, 3)) * rng.choice([0.1, 1.0, 10.0], (400, 1))
    scores *= facts["noise_scale"] / facts["gamma"]
    scores -= scores.mean(axis=1, keepdims=True)
    gaps = scores[:, :, None] - scores[:, None, :]
    pull = data[:, None] * np.asarray(logistic.score(jnp.asarray(gaps)))
    tilt = pull.sum(-1) - pull.sum(-2) - facts["gamma"] * scores
    return -shapes.body_norm(facets, tilt) / facts["noise_scale"]


def _units(asked: Sequence[tuple[int, int]], num_items: int, adjacency: str) -> contents.Units:
    facets = contents.questionnaire_facets(num_items, asked, adjacency)
    return contents.comparisons(num_items, asked=asked, facets=facets)


_totals = functools.partial(
    additive,
    function=pairwise.noisy_counts,
    noise="k-norm",
    note="pairwise/questionnaire_noise.py",
)

AUDITED = (
    _totals(
        "noisy-counts-questionnaire",
        "win totals + K-norm noise of a public questionnaire, answers flip",
        units=_units(_PAIRS, 3, "flip"),
        promise=FLIPPED,
        given={"questionnaire": COUNTS},
    ),
    _totals(
        "questionnaire-replace",
        "win totals + K-norm noise of a public questionnaire, answers are replaced or missing",
        units=_units(_PAIRS, 3, "replace"),
        promise=REPLACED,
        given={"questionnaire": COUNTS},
    ),
    _totals(
        "questionnaire-components",
        "win totals + K-norm noise, a questionnaire of two components and an item in none",
        units=_units(_APART, 5, "flip"),
        promise=FLIPPED,
        given={"questionnaire": pairwise.questionnaire_counts(_APART, 5)},
    ),
    audited(
        "perturbed-mle-questionnaire",
        "perturbed MLE + K-norm noise of a public questionnaire, answers flip",
        on_wins(pairwise.perturbed_mle, questionnaire=COUNTS, gamma=0.5),
        neighbors=(_AHEAD, _BEHIND),
        reduce=lambda scores: scores[0] - scores[2],
        sees="the gap between the scores of items 0 and 2",
        law=_scores_law,
        **_units(_PAIRS, 3, "flip").protecting(FLIPPED, np.zeros((3, 3)), _OTHERS),
        note="pairwise/questionnaire_noise.py; the scores are a function of noisy totals",
    ),
)

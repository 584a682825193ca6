"""Audited mechanisms on the answers to a public questionnaire, with K-norm noise in the shape of what they can change.

Three items; one pair is asked twice, the others once. The neighbors are a user's answers and their opposites, so their
totals differ by a corner of the body of changes; see :mod:`privrank_jax.privacy_audit.shapes` for the statistic.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import contents
from privrank_jax.privacy_audit.rows import additive

_PAIRS = ((0, 1), (0, 1), (0, 2), (1, 2))
COUNTS = pairwise.questionnaire_counts(_PAIRS, 3)
_APART = ((0, 1), (2, 3), (2, 3))
"""Two components, and an item that nobody is asked about."""

FLIPPED = Privacy(1.0, unit="user", adjacency="flip")
REPLACED = Privacy(1.0, unit="user", adjacency="replace", public=("questionnaire",))


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
)

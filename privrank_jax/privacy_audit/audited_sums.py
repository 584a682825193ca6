"""Audited noise on linear numbers: sums over comparisons, choices, rankings and ballots, once or after every step.

The publications of a continual mechanism determine Y = CX + Z, with independent noise Z of one scale, and are a
function of it. So the loss is that of noise on the numbers CX, which the rows compute from all small streams.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation, pairwise
from privrank_jax.aggregation.footrule import dp_footrule
from privrank_jax.aggregation.plurality import noisy_plurality
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.best_worst import best_worst_totals
from privrank_jax.pairwise.continual import continual_score_sums, continual_totals
from privrank_jax.pairwise.private_design import noisy_design
from privrank_jax.pairwise.published import published_counts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.prefix_sums import strategy_matrices
from privrank_jax.privacy_audit import contents
from privrank_jax.privacy_audit.contents import Pairs, comparisons, win_matrix, with_ties
from privrank_jax.privacy_audit.registry import Audited, Facts
from privrank_jax.privacy_audit.rows import ANSWER, PUBLISHED, USER, additive, audited, like, on

Rows = tuple[Audited, ...]

_FLIPPED, _ADDED = like(ANSWER, "flip"), like(ANSWER, "add-remove")
_ALL, _JOINS = like(USER, "flip"), like(USER, "add-remove")  # all that one user says
_TWO, _THREE = like(_ALL, contributions=2), like(USER, contributions=3)


def _asked(name: str, asked: Pairs, num_items: int, promise: Privacy) -> Rows:
    """K-norm noise for a public questionnaire."""
    facets = contents.questionnaire_facets(num_items, asked, promise.adjacency)
    row = name, comparisons(num_items, asked=asked, facets=facets), promise, "k-norm"
    given = {"questionnaire": pairwise.questionnaire_counts(asked, num_items), "noise": "k-norm"}
    words = f"win totals of {len(asked)} public questions"
    return additive(pairwise.noisy_counts, words, row, given=given)


def _top_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Which of two totals g apart is on top with noise: the lower one with probability (1 + g/(2λ)) e^{-g/λ}/2."""
    gaps = (data[:, 0, 1] - data[:, 1, 0])[:, None] / facts["noise_scale"]
    lower = np.log1p(0.5 * np.abs(gaps)) - np.abs(gaps) - np.log(2)
    return np.where(gaps * [1, -1] < 0, lower, np.log1p(-np.exp(lower)))


_WRONG = "Cai, Algorithm 3: replacing a user moves the totals by 2L in ℓ₁, so the loss is 2ε"
# Item 1 is ahead by up to 5,000 wins, where "item 0 is on top" loses all but 0.01 ε for ε >= 0.3.
_AHEAD = tuple(win_matrix(2, (1, 0, ahead)) for ahead in (0, 4, 60, 5000))
# Scores of four items: no pair adds more than the first two, and none more to the items alone than the last two.
_AT = np.array([1.7, 0.0, 6.0, 6.0])


def _informed(data: np.ndarray) -> np.ndarray:
    """Information about each item, and along the scores, in multiples of 1/1024."""
    gap = _AT[:, None] - _AT
    slope = 1024 / (2 + 2 * np.cosh(gap))
    met = data + data.swapaxes(-1, -2)
    of_items = (met * np.floor(slope)).sum(-1)
    along = (np.triu(met) * np.floor(slope * gap**2)).sum((-2, -1))
    return np.concatenate([of_items, along[..., None]], axis=-1) / 1024


_DESIGN = dataclasses.replace(comparisons(4), numbers=_informed, read=lambda value: value[:5])


def _covariates(function: Any, name: str, numbers: str, *, ties: bool) -> Rows:
    """Each row has a user of its own, or two of them have the same and move all sums in one direction."""
    rows = ((0, 1, (0.5, 0.25)), (1, 2, (0.5, -0.5)), (0, 1, (0.5, 0.25)))
    single, shared = (
        contents.covariates(rows, users, ties=ties) for users in ((0, 1, 2), (0, 1, 0))
    )
    one, user = (like(promise, public=("covariates",)) for promise in (_FLIPPED, _ALL))
    return additive(
        function,
        numbers,
        (name, single, one, "laplace"),
        (f"{name}-users", shared, user, "laplace"),
        (f"{name}-gaussian", shared, user, "gaussian"),
    )


def _stream(
    name: str, strategy: str, promise: Privacy, noise: str, steps: int = 3, **fields: Any
) -> Rows:
    """Totals of two items, or sums for scores of three, of which C times the numbers of each step get noise."""
    of_scores, encode = "score" in name, strategy_matrices(strategy, steps)[1]
    limit, items = promise.comparisons_per_unit, 2 + of_scores
    units = contents.streams(limit, items, steps, of_scores=of_scores, encode=encode)
    return additive(
        continual_score_sums if of_scores else continual_totals,
        f"{'score sums' if of_scores else 'win totals'} of steps 1 to {steps} by {strategy}",
        (name, units, promise, noise),
        given={"noise": noise, "strategy": strategy},
        **fields,
    )


_endless = functools.partial(
    _stream, calibration="sound", note="privacy/prefix_sums.py; later steps may lose as much again"
)
_ONE, _USERS = comparisons(3), comparisons(2, 3)
_LINKED: Pairs = ((0, 1), (0, 1), (1, 2))
_SCORES, _WEIGHTS = contents.scores_of_rankings(), contents.weights_of_rankings()
_PLACES, _FIRST = contents.positions_of_rankings(), contents.first_places()

AUDITED = (
    *additive(
        pairwise.noisy_counts,
        "win totals",
        ("noisy-counts", _ONE, ANSWER, "laplace"),
        ("noisy-counts-add-remove", _ONE, _ADDED, "laplace"),
        ("noisy-counts-users", _USERS, _THREE, "laplace"),
        ("noisy-counts-gaussian", _ONE, ANSWER, "gaussian"),
        ("noisy-counts-gaussian-users", _USERS, _THREE, "gaussian"),
        ("noisy-counts-gaussian-add-remove", _USERS, like(_THREE, "add-remove"), "gaussian"),
    ),
    *_asked("noisy-counts-questionnaire", ((0, 1), (0, 1), (0, 2), (1, 2)), 3, _ALL),
    *_asked(
        "questionnaire-replace",
        ((0, 1), (0, 1), (0, 2), (1, 2)),
        3,
        like(USER, public=("questionnaire",)),
    ),
    # Two components, and an item that nobody compares.
    *_asked("questionnaire-components", ((0, 1), (2, 3), (2, 3)), 5, _ALL),
    *additive(
        published_counts,
        "win totals at the published scale L/ε",
        ("noisy-counts-users-published", _USERS, _THREE, "laplace"),
        given={},
        note=_WRONG,
        **PUBLISHED,
    ),
    audited(
        "top-item-published",
        on(published_counts, WinCounts),
        "the item with most win totals at the published scale L/ε",
        neighbors=(win_matrix(2, (0, 1, 3), (1, 0, 5)), win_matrix(2, (1, 0, 8))),
        **_USERS.protecting(_THREE, *_AHEAD),
        reduce=lambda noisy: (noisy[1] > noisy[0]).astype(jnp.int32),
        outcomes=("0", "1"),
        finite=True,
        law=_top_law,
        note=f"{_WRONG}, of the top item alone far from a tie",
        **PUBLISHED,
    ),
    *additive(
        noisy_design,
        "information about items and along published scores",
        ("noisy-design", _DESIGN, ANSWER, "laplace"),
        ("noisy-design-add-remove", _DESIGN, _ADDED, "laplace"),
        given={"published": _AT},
    ),
    *_covariates(pairwise.noisy_sums, "covariate-sums", "sums with covariates", ties=False),
    *_covariates(
        pairwise.noisy_sums_and_ties, "covariate-ties", "sums with covariates and ties", ties=True
    ),
    *additive(
        pairwise.noisy_ties,
        "win totals and ties",
        ("noisy-tie-counts", with_ties(3), _FLIPPED, "laplace"),
        ("noisy-tie-counts-users", with_ties(3, 2), _TWO, "laplace"),
        ("noisy-tie-counts-gaussian", with_ties(3, 2), _TWO, "gaussian"),
    ),
    *additive(
        pairwise.noisy_ties,
        "win totals and ties of 3 public questions",
        (
            "noisy-tie-counts-questionnaire-laplace",
            with_ties(3, asked=_LINKED),
            _ALL,
            "laplace",
        ),
        given={"questionnaire": pairwise.questionnaire_counts(_LINKED, 3), "noise": "laplace"},
    ),
    *additive(
        pairwise.noisy_choices,
        "totals of choices",
        ("noisy-choices", contents.choices(), _FLIPPED, "laplace"),
        ("noisy-choices-users", contents.choices(2), _TWO, "laplace"),
        ("noisy-choices-gaussian", contents.choices(2), _TWO, "gaussian"),
    ),
    *additive(
        best_worst_totals,
        "best less worst",
        *(
            (f"best-worst-{one}-{noise}", contents.best_and_worst(), like(_TWO, one), noise)
            for one in ("flip", "replace", "add-remove")
            for noise in ("laplace", "gaussian")
        ),
    ),
    *additive(
        aggregation.dp_borda,
        "Borda scores",
        ("dp-borda", _SCORES, USER, "k-norm"),
        ("dp-borda-laplace", _SCORES, USER, "laplace"),
        ("dp-borda-gaussian", _SCORES, USER, "gaussian"),
        ("dp-borda-add-remove", _SCORES, _JOINS, "k-norm"),
        ("dp-borda-add-remove-laplace", _SCORES, _JOINS, "laplace"),
    ),
    *additive(
        aggregation.noise_all,
        "all pairwise weights",
        ("noise-all", _WEIGHTS, USER, "k-norm"),
        ("noise-all-laplace", _WEIGHTS, USER, "laplace"),
        ("noise-all-gaussian", _WEIGHTS, USER, "gaussian"),
    ),
    *additive(
        dp_footrule,
        "footrule costs",
        ("dp-footrule", _PLACES, USER, "k-norm"),
        ("dp-footrule-laplace", _PLACES, USER, "laplace"),
        ("dp-footrule-gaussian", _PLACES, USER, "gaussian"),
    ),
    *additive(
        noisy_plurality,
        "totals of first places",
        ("noisy-plurality", _FIRST, USER, "laplace"),
        ("noisy-plurality-add-remove", _FIRST, _JOINS, "laplace"),
        ("noisy-plurality-gaussian", _FIRST, USER, "gaussian"),
    ),
    *additive(
        aggregation.dp_scores,
        "totals of points",
        ("dp-scores", contents.ballots(), USER, "k-norm"),
        ("dp-scores-points", contents.ballots(most=2), USER, "k-norm"),
        ("dp-scores-plurality", contents.ballots(limit=1), USER, "laplace"),
        ("dp-scores-add-remove", contents.ballots(), _JOINS, "k-norm"),
        ("dp-scores-gaussian", contents.ballots(), USER, "gaussian"),
    ),
    *_stream("continual-totals", "square-root", _TWO, "gaussian"),
    *_stream("continual-totals-tree", "tree", _FLIPPED, "laplace"),
    *_endless("continual-totals-unbounded", "unbounded-root", _TWO, "gaussian"),
    *_endless("continual-totals-unbounded-tree", "unbounded-tree", _FLIPPED, "laplace"),
    *_stream("continual-score-sums", "square-root", like(USER, contributions=1), "gaussian"),
    *_stream("continual-score-sums-laplace", "increments", ANSWER, "laplace", 1),
    *_stream("continual-score-sums-add-remove", "tree", like(_TWO, "add-remove"), "gaussian"),
)

r"""Borda scores from one report of each user's scores, as a vector: local and not interactive.

Each user reports the centered scores x - (m-1)/2, m numbers that sum to 0, once by an ε-local mechanism for vectors
(:mod:`privrank_jax.privacy.vectors`). They lie in the ball of radius √(m(m²-1)/12), on whose surface full rankings lie
(:mod:`~privrank_jax.aggregation.borda`), and the dimension that counts for the error is m - 1. Reports are unbiased, so
their mean, shifted by (m-1)/2, is unbiased for the scores. A report has norm B, whatever the ranking is, and so the
mean squared error B² less the square of the centered scores.

Users may report two sets of items instead (:mod:`~privrank_jax.aggregation.subset_selection`), with less error for up
to 20 items at ε <= 5, and drawn exactly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import Epsilon, Key, RankingsLike
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.borda import user_scores
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import MISSING, ranks_of_users
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.vectors import VECTOR_MECHANISMS, report_norm


def score_radius(num_items: int) -> float:
    """√(m(m²-1)/12), the norm of the centered scores of a full ranking, the largest of any user.

    >>> score_radius(3) ** 2
    2.0000000000000004
    """
    return math.sqrt(num_items * (num_items**2 - 1) / 12)


def reports_on_ranks(ranks: RankingsLike, *, missing: str = "last") -> tuple[Array, Facts]:
    """How mechanisms read what users report on: ranks ``(n, m)`` of two items at least; the rule is public.

    Args:
        ranks: integers, 0 = best.
        missing: ``"last"`` or ``"unknown"``.
    """
    given = ranks_of_users(ranks)
    check_choice("missing", missing, MISSING)
    users, items = given.shape
    if items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to report.")
    return given, Facts(items, users, rules=(missing,))


def centered_scores(ranks: Array, facts: Facts) -> Array:
    """The scores of each user less their middle."""
    (missing,) = facts.rules
    return user_scores(ranks, missing=missing) - (facts.num_items - 1) / 2


def mean_scores(reports: Any, tuned: Any, facts: Facts) -> tuple[Any, ReportDiagnostics]:
    """Scores from reports of norm ``tuned[1]``, and how far they vary."""
    xp: Any = np if isinstance(reports, np.ndarray) else jnp
    users, items = reports.shape
    value = xp.mean(reports, axis=0) + (items - 1) / 2
    spread = xp.std(reports, axis=0, ddof=1) if users > 1 else xp.full(items, xp.inf)
    return value, ReportDiagnostics(tuned[1], spread / users**0.5)


def borda_by(
    name: str,
    doc: str,
    send: Callable[[Key, Array, Any, Facts], Array],
    norm: Callable[[Epsilon, Facts], Array],
    exact: Callable[[np.ndarray, Privacy, Facts], tuple[Any, np.ndarray]] | None = None,
) -> Local:
    """Scores from reports of one norm.

    Args:
        name, doc, send, exact: as of a :class:`~privrank_jax.mechanism.Local`.
        norm: (ε, facts) -> B, the scale of the record.
    """

    def tune(epsilon: Any, facts: Facts) -> tuple[Any, Array]:
        return epsilon, norm(epsilon, facts)

    return Local(
        name, doc, of_rankings, reports_on_ranks, send, mean_scores, norm, tune=tune, exact=exact
    )


def _send(key: Key, ranks: Array, tuned: Any, facts: Facts, mechanism: str) -> Array:
    radius = score_radius(facts.num_items)
    scores = centered_scores(ranks, facts)
    return VECTOR_MECHANISMS[mechanism](key, scores, tuned[0], radius, zero_sum=True)


def _norm(epsilon: Epsilon, facts: Facts, mechanism: str) -> Array:
    return report_norm(mechanism, facts.num_items - 1, epsilon, score_radius(facts.num_items))


_DOC = """Borda scores from one report of each user, by {}.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof in
    :mod:`privrank_jax.privacy.vectors`.

    Of ranks ``(n, m)``, integers, 0 = best, m >= 2; ties and items not ranked (``missing="last"`` or ``"unknown"``) as
    for :func:`~privrank_jax.aggregation.borda.user_scores`.

    ``value``: unbiased scores ``(m,)``, in items beaten, high = preferred. ``diagnostics``:
    :class:`~privrank_jax.aggregation.diagnostics.ReportDiagnostics`. ``report`` gives the centered scores of one user,
    randomized; ``scale`` is B, the norm of a report{}.

    >>> import jax
    >>> from privrank_jax.privacy import Privacy
    >>> ranks = jnp.tile(jnp.arange(3), (4000, 1))
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> scores = {}(jax.random.key(0), ranks, privacy).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """

ldp_borda = borda_by(
    "ldp_borda",
    _DOC.format("the mechanism of Duchi, Jordan and Wainwright", "", "ldp_borda"),
    functools.partial(_send, mechanism="duchi"),
    functools.partial(_norm, mechanism="duchi"),
)
ldp_borda_privunit = borda_by(
    "ldp_borda_privunit",
    _DOC.format("PrivUnit", ", less than that of ``ldp_borda``", "ldp_borda_privunit"),
    functools.partial(_send, mechanism="privunit"),
    functools.partial(_norm, mechanism="privunit"),
)

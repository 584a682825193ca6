r"""Totals of approvals or points with exact discrete noise, for real releases.

Totals of whole points are integers, on which integer noise (:mod:`~privrank_jax.exact.integer_noise`) is drawn
exactly. With a middle of c/2, twice the totals less nc are integers, which change by twice as much. What one user
changes, in the norm of each noise, is that of the simulated twin; proof at the head of
:mod:`privrank_jax.aggregation.scores`. As no number changes by more than c, Laplace noise composes like that on as many
numbers that change by c as make up its sensitivity. Dividing by 2 is post-processing.
"""

from __future__ import annotations

import numpy as np

from privrank_jax.aggregation.diagnostics import ScoreDiagnostics
from privrank_jax.aggregation.promise import ADDED, of_rankings
from privrank_jax.aggregation.scores import (
    PointTotals,
    check_totals,
    scores_change,
)
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import (
    concentrated,
    exact_estimate,
    exact_promise,
    integer_noise,
)
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy


def exact_scores(data: PointTotals, privacy: Privacy, *, noise: str = "k-norm") -> Estimate:
    """Totals of approvals or points plus exact discrete noise; the twin of :func:`~privrank_jax.aggregation.dp_scores`.

    **Guarantee.** As for the twin; proof at the head of this module.

    Args:
        data, noise: as for the twin.
        privacy: as for the twin, ε finite.

    Returns:
        ``value``: noisy totals, ``(m,)`` float64 NumPy array of whole or half points, less n times the middle, high =
        preferred. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.ScoreDiagnostics`.

    Raises:
        TypeError, ValueError: as for the twin and all exact releases (:mod:`privrank_jax.release`).

    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> points = PointTotals.from_points(np.array([[1, 0, 1]] * 1000))
    >>> exact_scores(points, privacy).value.argmin().item()
    1
    """
    attained = exact_promise(of_rankings(privacy, "exact_scores", noise, SHAPED_NOISES, ADDED))
    check_totals(data, "exact_scores")
    items, rules = data.num_items, (data.most, data.limit)
    change, middle = scores_change(items, attained, *rules, noise)
    totals, parts = np.asarray(data.totals, np.int64), 1
    if middle:
        totals, parts = 2 * totals - data.most * int(data.num_users), 2
    body = items if noise == "k-norm" else None
    add_noise, scale = integer_noise(noise, attained, parts * change, body)
    about = ScoreDiagnostics(scale / parts, middle)
    value = add_noise(totals) / parts
    each = (data.most,) * round(parts * change / data.most) if noise == "laplace" else ()
    rho = concentrated(noise, parts * change, scale)
    return exact_estimate(value, privacy, attained, about, changes=each, rho=rho)

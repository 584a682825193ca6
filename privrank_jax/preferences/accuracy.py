r"""Accuracy of a scorer, estimated from privatized labels.

Let a_i = 1 if the scores order example i as its report ỹ_i does, 0 if not, 1/2 for a tie of scores, and
t_i = tanh(ε_i/2) = 1 - 2q_i. A report agrees with the scores less often than the label does:
E a_i - 1/2 = t_i(A_i - 1/2), where A_i is the probability that the scores agree with the true label. So

.. math:: \hat A = \frac12 + \frac{\sum_i t_i (a_i - 1/2)}{\sum_i t_i^2}

is unbiased for the mean of the A_i with weights t_i², the information of a report, which is the accuracy if personal
ε are independent of how well the scores do.

**Intervals.** The terms t_i(a_i - 1/2) are independent, each in an interval of length t_i. By Hoeffding's inequality
the error exceeds h with probability at most 2 exp(-2h² Σ t_i²), at any number of examples and any A_i: :math:`h =
\sqrt{\log(2/α) / (2 \sum_i t_i^2)}`.

The score interval is Wilson's: it holds all A at which the estimate lies within z standard errors of A. There the
variance of :math:`\sum_i t_i(a_i - 1/2)` is :math:`\sum_i t_i^2/4 - \sum_i t_i^4 (A_i - 1/2)^2`. By the Cauchy-Schwarz
inequality it is at most :math:`S/4 - S^2 (A - 1/2)^2 / n` with :math:`S = \sum_i t_i^2`. This bound is used; it is
attained where all t_i and all A_i are alike. This interval is shorter, never empty, and valid for many examples. An
estimate outside [0, 1] is moved to the end, which is no farther from any A.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from privrank_jax._types import NumbersLike, ReportsLike, Scalar
from privrank_jax._validate import (
    check_choice,
    check_epsilon,
    check_level,
    check_shape,
    is_traced,
)
from privrank_jax.preferences.loss_arguments import NOT_RANDOMIZED, as_scores, nan_unless_private
from privrank_jax.privacy.local import check_reports, report_values

INTERVALS = ("score", "hoeffding")


class Accuracy(NamedTuple):
    """Estimated accuracy with its interval.

    Attributes:
        value: unbiased estimate of the accuracy; with few reports it can lie outside [0, 1].
        low: lower end of the confidence interval, in [0, 1].
        high: upper end, in [0, 1].
        information: Σ tanh²(ε/2), the number of labels without randomization that would say as much where half of
            them agree.
    """

    value: Float[Array, ""]
    low: Float[Array, ""]
    high: Float[Array, ""]
    information: Float[Array, ""]


def debiased_accuracy(
    score_difference: Real[Array, "examples"] | Real[np.ndarray, "examples"],
    reports: ReportsLike,
    epsilon: NumbersLike,
    *,
    level: Scalar = 0.95,
    interval: str = "score",
    coding: str | None = None,
) -> Accuracy:
    """Share of the true labels that the scores predict, estimated from randomized reports.

    Post-processing of the reports: it adds no privacy loss. The examples must not have been used for training.

    Args:
        score_difference: ``(n,)`` s, score of candidate A less that of B; 0 counts as half right.
        reports: ``(n,)`` ỹ, coded as for :func:`~privrank_jax.preferences.debiased_loss`.
        epsilon: ε > 0 of each report: ``(n,)`` or one number; may be traced.
        level: confidence level in (0, 1).
        interval: ``"score"`` (Wilson), for many examples, or ``"hoeffding"``, which holds for any number; static.
        coding: as for :func:`~privrank_jax.preferences.debiased_loss`.

    Returns:
        Estimate and interval. NaN where traced reports, scores or ε are invalid.

    Raises:
        ValueError: no example, shapes that don't fit, NaN scores, ε not positive, invalid reports, an unknown
            interval or level outside (0, 1).

    >>> found = debiased_accuracy(jnp.array([1.0, 2.0, -1.0, 0.5]), [1, 1, 0, 0], jnp.inf)
    >>> round(float(found.value), 3), float(found.information)
    (0.75, 4.0)
    """
    check_choice("interval", interval, INTERVALS)
    check_level(level)
    epsilon = check_epsilon(epsilon, instead=NOT_RANDOMIZED)
    check_reports(reports, coding=coding)
    difference = as_scores(score_difference)
    if difference.ndim != 1 or difference.shape[0] < 1:
        squeeze = ": squeeze the last axis, scores[..., 0]" if difference.shape[-1:] == (1,) else ""
        raise ValueError(
            f"score_difference must have shape (n,), n > 0; got {difference.shape}{squeeze}."
        )
    if not is_traced(difference) and bool(np.any(np.isnan(np.asarray(difference)))):
        raise ValueError("score_difference has NaN: leave out the examples without scores.")
    for name, given in (("reports", reports), ("epsilon", epsilon)):
        check_shape(name, given, (), difference.shape)
    sign = 2 * report_values(jnp.asarray(reports), difference.dtype, coding) - 1
    agreement = sign * jnp.sign(difference)
    kept = jnp.tanh(0.5 * jnp.asarray(epsilon).astype(agreement.dtype))
    kept = nan_unless_private(epsilon, kept)
    terms = 0.5 * kept * agreement
    information = jnp.sum(jnp.broadcast_to(jnp.square(kept), terms.shape))
    lead = jnp.sum(terms) / information
    tail = 1 - jnp.asarray(level).astype(agreement.dtype)
    if interval == "hoeffding":
        middle, half = lead, jnp.sqrt(jnp.log(2 / tail) / (2 * information))
    else:
        quantile = jax.scipy.special.ndtri(0.5 * tail)
        middle, half = _score_interval(lead, information, terms.shape[0], quantile)
    low, high = (jnp.clip(0.5 + middle + side * half, 0, 1) for side in (-1, 1))
    return Accuracy(0.5 + lead, low, high, information)


def _score_interval(
    lead: Array, information: Array, count: int, quantile: Array
) -> tuple[Array, Array]:
    """Middle and half width of all x with (lead - x)² <= z² (1/4 - x² S/n)/S."""
    lead = jnp.clip(lead, -0.5, 0.5)
    spread = jnp.square(quantile) / information
    shrink = 1 + jnp.square(quantile) / count
    half = jnp.sqrt(spread * (0.25 * shrink - information / count * jnp.square(lead))) / shrink
    return lead / shrink, half

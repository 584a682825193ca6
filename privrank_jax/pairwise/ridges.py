"""Ridges of fits to noisy counts: those with the least first-order risk."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from privrank_jax._types import Numbers, Scalar
from privrank_jax.pairwise.designs import Design, Meetings
from privrank_jax.privacy.bodies import Noise


def default_ridges(
    design: Design, added: Noise, gamma: Scalar | None = None, tie_gamma: Scalar | None = None
) -> tuple[Any, Any]:
    """Ridges of a fit to noisy counts of a public design: as given, else those with the least first-order risk.

    γ_k = s_k²(h_k + v_k)/h_k, with v_k the variance of the noise of a number and s_k the largest size of a feature (1
    for scores and log ν). The usual information is h_k: at scores N(0, 1) 1/5 of ``design.evidence``, with ties as
    outcomes 1/7; about log ν at equal scores, ν = 1, 2/9 of the number of meetings.

    Args:
        design: the public part of the data.
        added: the noise.
        gamma, tie_gamma: γ of the scores and of log ν, if it is not the default.

    Returns:
        γ of each score, with features ``(m + p,)`` of each score and feature; and γ of log ν, if ties are outcomes.

    >>> from privrank_jax.pairwise.designs import Counts
    >>> met = Counts([[0.0, 50.0], [50.0, 0.0]])
    >>> [float(one) for one in default_ridges(met, Noise.independent("gaussian", 5.0**0.5))[:1]]
    [1.5]
    """
    unit = None if design.feature_units is None else design.ridges(1.0)
    if gamma is not None:
        ridge = gamma if unit is None else unit * gamma
    else:
        variance = added.variance_per_dimension()
        if unit is not None:
            of_items = jnp.broadcast_to(jnp.asarray(variance, unit.dtype), (design.num_items,))
            others = jnp.asarray(added.variances[design.num_items : design.size], unit.dtype)
            variance = jnp.concatenate([of_items, others])
        ridge = least_risk_gamma(design.evidence, variance, 7.0 if design.ties else 5.0)
        ridge = ridge if unit is None else unit * ridge
    if tie_gamma is None and design.ties:
        assert isinstance(design, Meetings)
        meetings = 0.5 * design.num_real * design.degree
        tie_gamma = least_risk_gamma(meetings, added.variances[-1], 4.5)
    return ridge, tie_gamma


def least_risk_gamma(degree: Numbers, variance: Numbers, share: float = 5.0) -> Any:
    """γ = (h + variance)/h, of least first-order risk for scores N(0, 1) fitted to noisy totals.

    The usual information h is 1/share of the mean number of comparisons of an item.
    """
    information = jnp.maximum(degree, 1e-3) / share
    return (information + variance) / information

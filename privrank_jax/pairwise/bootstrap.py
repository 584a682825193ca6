"""Confidence intervals of private scores by simulating the whole mechanism, privacy noise included."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.standard_errors import as_design

Array = jax.Array


def parametric_bootstrap(
    key: Array,
    theta: Any,
    comparisons: Any,
    refit: Callable[[Array, WinCounts], Any],
    replicates: int = 1000,
    *,
    link: str | Link = "logistic",
    mask: Any = None,
    batch_size: int = 100,
) -> Array:
    """Estimates from data drawn under ``theta`` with fresh privacy noise. Costs no privacy.

    Args:
        key: PRNG key.
        theta: ``(m,)`` released scores, or the ``centre`` of :func:`standard_errors`, which are less biased.
        comparisons: ``(m, m)`` public comparison counts, rounded to whole numbers.
        refit: ``(key, WinCounts) -> Estimate`` (or ``(m,)`` array), the mechanism with its original noise, for
            example ``lambda key, wins: perturbed_mle(key, wins, epsilon=1.0)``.
        replicates: B, how many.
        link: the model that outcomes are drawn from.
        mask: ``(m,)`` bool, real items.
        batch_size: replicates that run side by side, a bound on memory.

    Returns:
        ``(B, m)`` estimates θ*, for :func:`bootstrap_intervals`.

    Raises:
        ValueError: shapes differ, unknown link, ``replicates`` < 1.
    """
    if replicates < 1:
        raise ValueError(f"replicates must be at least 1, got {replicates}; 1000 is usual.")
    link = get_link(link)
    theta, comparisons, real = as_design(theta, comparisons, mask)
    chance = link.cdf(theta[:, None] - theta[None, :])
    upper = jnp.triu(jnp.round(comparisons), 1)

    def replicate(key: Array) -> Array:
        outcomes, noise = jax.random.split(key)
        won = jax.random.binomial(outcomes, upper, chance, dtype=theta.dtype)
        again = refit(noise, WinCounts(won + (upper - won).T, None if mask is None else real))
        return again.value if isinstance(again, Estimate) else again

    return jax.lax.map(replicate, jax.random.split(key, replicates), batch_size=batch_size)


def bootstrap_intervals(
    value: Any, theta: Any, draws: Array, level: Any = 0.95
) -> tuple[Array, Array]:
    """Basic (reverse percentile) intervals: the released value less quantiles of the simulated errors.

    Args:
        value: ``(m,)`` released scores.
        theta: ``(m,)`` scores that the draws were simulated under.
        draws: ``(B, m)`` from :func:`parametric_bootstrap`.
        level: confidence.

    Returns:
        (low, high), each ``(m,)``. Intervals for ranks come from :func:`rank_intervals`: percentiles of
        simulated ranks do not cover near ties.
    """
    tail = (1 - level) / 2
    errors = draws - jnp.asarray(theta)
    high, low = jnp.quantile(errors, jnp.asarray([tail, 1 - tail]), axis=0)
    return jnp.asarray(value) - low, jnp.asarray(value) - high

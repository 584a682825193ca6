"""Confidence intervals of private scores by simulating the whole mechanism, privacy noise included."""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import (
    Key,
    Mask,
    MaskLike,
    PairMatrix,
    PairMatrixLike,
    Scalar,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import check_level
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.meetings import as_design


def parametric_bootstrap(
    key: Key,
    theta: ScoresLike,
    comparisons: PairMatrixLike,
    refit: Callable[[Key, WinCounts], Estimate | Scores],
    replicates: int = 1000,
    *,
    link: str | Link = "logistic",
    mask: MaskLike | None = None,
    batch_size: int = 100,
) -> Float[Array, "replicates items"]:
    """Estimates refitted to data drawn under ``theta``, with fresh privacy noise. Costs no privacy.

    Outcomes are drawn as wins and losses. Where ties count as half wins, the data vary less than that, and intervals
    are wider than need be.

    Args:
        key: PRNG key.
        theta: ``(m,)`` released scores, or the ``center`` of :func:`standard_errors`, which is less biased.
        comparisons: ``(m, m)`` public comparison counts, rounded to whole numbers.
        refit: ``(key, WinCounts) -> Estimate`` (or ``(m,)`` array), the mechanism with its original noise, for
            example ``lambda key, wins: perturbed_mle(key, wins, privacy)``. The program is compiled once per
            function object: reuse the same object across calls.
        replicates: B, the number of replicates.
        link: the model from which outcomes are drawn.
        mask: ``(m,)`` bool, real items.
        batch_size: replicates computed at once; bounds the memory in use.

    Returns:
        ``(B, m)`` estimates θ*, for :func:`bootstrap_intervals`.

    Raises:
        ValueError: shapes differ, scores not finite, counts negative, unknown link, ``replicates`` < 1.

    >>> fit = lambda key, wins: wins.totals  # a mechanism without noise
    >>> draws = parametric_bootstrap(jax.random.key(0), [1.0, -1.0], [[0, 10], [10, 0]], fit, 50)
    >>> draws.shape, draws.sum(-1).min().item()
    ((50, 2), 10.0)
    """
    if replicates < 1:
        raise ValueError(f"replicates must be at least 1, got {replicates}; 1000 is usual.")
    link = get_link(link)
    theta, comparisons, real = as_design(theta, comparisons, mask)
    masked = None if mask is None else real
    return _simulate(key, theta, comparisons, masked, refit, replicates, link, batch_size)


@functools.partial(jax.jit, static_argnames=("refit", "replicates", "link", "batch_size"))
def _simulate(
    key: Key,
    theta: Scores,
    comparisons: PairMatrix,
    mask: Mask | None,
    refit: Callable[[Key, WinCounts], Estimate | Scores],
    replicates: int,
    link: Link,
    batch_size: int,
) -> Float[Array, "replicates items"]:
    chance = link.cdf(theta[:, None] - theta[None, :])
    upper = jnp.triu(jnp.round(comparisons), 1)

    def replicate(key: Key) -> Scores:
        outcomes, noise = jax.random.split(key)
        won = jax.random.binomial(outcomes, upper, chance, dtype=theta.dtype)
        again = refit(noise, WinCounts(won + (upper - won).T, mask))
        return again.value if isinstance(again, Estimate) else again

    return jax.lax.map(replicate, jax.random.split(fused(key), replicates), batch_size=batch_size)


def bootstrap_intervals(
    value: ScoresLike,
    theta: ScoresLike,
    draws: Float[Array, "replicates items"],
    level: Scalar = 0.95,
) -> tuple[Scores, Scores]:
    """Basic (reverse percentile) intervals: the released value less quantiles of the simulated errors.

    Args:
        value: ``(m,)`` released scores.
        theta: ``(m,)`` scores under which the draws were simulated.
        draws: ``(B, m)`` from :func:`parametric_bootstrap`.
        level: confidence in (0, 1), may be traced.

    Returns:
        (low, high), each ``(m,)``. Intervals for ranks come from :func:`confidence_intervals`: percentiles of
        simulated ranks do not cover near ties.

    Raises:
        ValueError: ``level`` outside (0, 1), shapes differ.

    >>> low, high = bootstrap_intervals([2.0], [1.0], jnp.array([[0.0], [1.0], [3.0]]), 0.5)
    >>> low.item(), high.item()  # errors have quartiles -0.5 and 1
    (1.0, 2.5)
    """
    check_level(level)
    value, theta = jnp.asarray(value), jnp.asarray(theta)
    if not value.shape == theta.shape == draws.shape[1:]:
        raise ValueError(
            f"values {value.shape}, scores {theta.shape} and draws {draws.shape} must have shapes (m,), (m,) "
            "and (B, m)."
        )
    tail = (1 - level) / 2
    least, most = jnp.quantile(draws - theta, jnp.asarray([tail, 1 - tail]), axis=0)
    return value - most, value - least

"""A leaderboard that is published again and again as comparisons arrive, under one promise for all of its steps."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from privrank_jax._types import Key, Mask, Numbers, Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.graph import check_counts
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy.continual import Steps, StepsLike, noisy_stream
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def continual_counts(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """Noisy win totals after each of T steps, all of them together under one promise.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that is published in all T
    steps, for the promised unit and adjacency, whichever steps the L comparisons of a user fall into, and even where
    comparisons depend on what was published before. The sensitivity is that of one release
    (:func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`) times the length of the longest column of the
    strategy; proof at the head of :mod:`privrank_jax.privacy.prefix_sums`. T is public.

    The noise of the totals at a step grows with log T for Gaussian noise, where a release of its own at every step
    needs √T (``strategy="independent"``). Noise of nearby steps is correlated.

    Args:
        key: PRNG key.
        wins: counts of the comparisons that arrived in each step, ``(T, m, m)``, not accumulated.
        privacy: what is promised for all steps together: unit comparison or user, any adjacency. L is the most
            comparisons of one user in all steps together. ε = ∞ adds no noise; ε, δ and ``contributions`` may be
            traced.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        strategy: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`; by default the one with the least
            largest error. Or of :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`: the T steps are then the first
            ones of any number, and the guarantee is for all that will ever be published.

    Returns:
        ``value``: noisy totals after each step, ``(T, m)``, in wins, high = preferred (masked items: noise only);
        :func:`continual_scores` fits scores to them. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.continual.ContinualDiagnostics`.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, users without ``contributions``, counts
            without an axis of steps, unknown names.

    Source: Fichtenberger, Henzinger and Upadhyay (2023); Chan, Shi and Song (2011) for the tree; users ours.

    >>> wins = WinCounts(jnp.array([[[0, 9], [1, 0]], [[0, 90], [10, 0]]], float))
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace", delta=1e-6)
    >>> totals = continual_counts(jax.random.key(0), wins, promise).value
    >>> totals.shape, bool(totals[1, 0] > totals[1, 1])
    ((2, 2), True)
    """
    return continual_totals(key, stream_totals(wins), privacy, noise=noise, strategy=strategy)


def continual_totals(
    key: Key,
    totals: StepsLike,
    privacy: Privacy,
    *,
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """:func:`continual_counts` on the wins of each item in each step, ``(T, m)``; other arguments as there.

    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace", delta=1e-6)
    >>> continual_totals(jax.random.key(0), jnp.zeros((3, 2)), promise).value.shape
    (3, 2)
    """
    attained = of_comparisons(privacy, "continual_counts", noise)
    totals = jnp.asarray(totals)
    value, told = noisy_stream(key, totals, attained, totals_changes(attained), noise, strategy)
    return Estimate(value, Guarantee(privacy, attained), told)


def totals_changes(privacy: Privacy) -> tuple[Numbers, Numbers]:
    """Sensitivity of the win totals of one release, in ℓ₁ and ℓ₂."""
    return totals_sensitivity(privacy, "l1"), totals_sensitivity(privacy, "l2")


def continual_scores(
    totals: Real[Array, "steps items"], wins: WinCounts, gamma: Scalar
) -> Float[Array, "steps items"]:
    """Logistic scores after each step, fitted to (noisy) totals: post-processing where who compared what is public.

    Under ``flip``, these scores have the guarantee of the totals; under other adjacencies the numbers of comparisons
    of each pair, which enter the fit, are not protected.

    Args:
        totals: ``(T, m)``, totals after each step, such as the value of :func:`continual_counts`.
        wins: counts of each step, ``(T, m, m)``; only how often each pair was compared is used.
        gamma: ridge γ > 0, may be traced.

    Returns:
        ``(T, m)``, mean 0 over real items; see :func:`~privrank_jax.pairwise.fit`.

    >>> wins = WinCounts(jnp.array([[[0, 9], [1, 0]], [[0, 81], [9, 0]]], float))
    >>> scores = continual_scores(jnp.cumsum(wins.totals, 0), wins, 1e-6)
    >>> [round(float(ahead), 3) for ahead in scores[:, 0] - scores[:, 1]]  # log 9
    [2.197, 2.197]
    """
    stream_totals(wins)
    comparisons = jnp.cumsum(wins.comparisons, axis=0)

    def fitted(total: Array, met: Array, real: Mask) -> Array:
        return fit(Counts(met, real), total, gamma).value

    real = jnp.broadcast_to(wins.item_mask, comparisons.shape[:2])
    return jax.vmap(fitted)(totals, comparisons, real)


def stream_totals(wins: WinCounts) -> Steps:
    """Wins of each item in each step, ``(T, m)``, of counts with an axis of steps.

    Raises:
        ValueError: no such axis, or no steps.
        TypeError: ``wins`` is a plain array.
    """
    check_counts(wins)
    if wins.matrix.ndim != 3 or not wins.matrix.shape[0]:
        raise ValueError(
            f"wins must have an axis of steps, (T, m, m) with T >= 1, got {wins.matrix.shape}: stack the counts of the "
            "comparisons that arrived in each step."
        )
    return wins.totals

"""Noisy win totals over time, under one promise for all steps: what scores are fitted to where pairs are public."""

from __future__ import annotations

import jax.numpy as jnp

from privrank_jax._types import Key, Numbers
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy.continual import StepsLike, noisy_stream
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def continual_totals(
    key: Key,
    totals: StepsLike,
    privacy: Privacy,
    *,
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """Noisy win totals after each of T steps, all of them together under one promise.

    Where it is public who compared what (``flip``), scores are fitted to the totals of a step
    (:func:`~privrank_jax.pairwise.fit`, with how often each pair was compared up to it): post-processing. Elsewhere use
    :func:`~privrank_jax.pairwise.score_stream.continual_score_sums`, as totals follow how often items were compared.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that is published in all T
    steps, for the promised unit and adjacency, whichever steps the L comparisons of a user fall into, and even where
    comparisons depend on what was published before. The sensitivity is that of one release
    (:func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`) times the length of the longest column of the
    strategy; proof at the head of :mod:`privrank_jax.privacy.prefix_sums`. T is public.

    The noise of the totals at a step grows with log T for Gaussian noise, where a release of its own at every step
    needs √T (``strategy="independent"``). Noise of nearby steps is correlated.

    Args:
        key: PRNG key.
        totals: wins of each item among the comparisons that arrived in each step, ``(T, m)``, not accumulated.
        privacy: what is promised for all steps together: unit comparison or user, any adjacency. L is the most
            comparisons of one user in all steps together. ε = ∞ adds no noise; ε, δ and ``contributions`` may be
            traced.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        strategy: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`; by default the one with the least
            largest error. Or of :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`: the T steps are then the first
            ones of any number, and the guarantee is for all that will ever be published.

    Returns:
        ``value``: noisy totals after each step, ``(T, m)``, in wins, high = preferred. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.continual.ContinualDiagnostics`.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, users without ``contributions``, totals
            without an axis of steps, unknown names.

    Source: Fichtenberger, Henzinger and Upadhyay (2023); Chan, Shi and Song (2011) for the tree; users ours.

    >>> import jax
    >>> promise = Privacy(2.0, unit="comparison", adjacency="flip", delta=1e-6)
    >>> totals = continual_totals(jax.random.key(0), jnp.array([[9.0, 1.0], [90.0, 10.0]]), promise).value
    >>> totals.shape, bool(totals[1, 0] > totals[1, 1])
    ((2, 2), True)
    """
    attained = of_comparisons(privacy, "continual_totals", noise)
    totals = jnp.asarray(totals)
    if totals.ndim != 2 or not totals.shape[0]:
        raise ValueError(
            f"totals must have shape (T, m) with T >= 1, one row for each step, got {totals.shape}."
        )
    value, told = noisy_stream(key, totals, attained, totals_changes(attained), noise, strategy)
    return Estimate(value, Guarantee(privacy, attained), told)


def totals_changes(privacy: Privacy) -> tuple[Numbers, Numbers]:
    """Sensitivity of the win totals of one release, in ℓ₁ and ℓ₂."""
    return totals_sensitivity(privacy, "l1"), totals_sensitivity(privacy, "l2")

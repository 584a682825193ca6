"""Mechanisms and scales of noise as they were published, unsound or loose: for studies and audits."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Key, Numbers, Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.objective import Ridge
from privrank_jax.pairwise.noisy_totals import of_comparisons
from privrank_jax.pairwise.perturbed_fit import link_of, mean_degree, perturbed_mle
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


def published_one_shot_scale(
    privacy: Privacy, k: Count, num_items: Count, most: Scalar, *, approximate: bool = False
) -> Float[Array, "..."]:
    """Laplace scale of one-shot selection as published: 2ks/ε, or 8s√(k ln(m/δ))/ε, where s is what moves one score.

    The former is ε-DP; the latter (ε, δ)-DP for ε <= 0.2 and δ <= 0.05 alone, and shown beyond that as it stands.
    Source: Qiao, Su and Zhang (2021).
    """
    if not approximate:
        return jnp.asarray(2.0 * k * most / privacy.epsilon)
    delta = jnp.asarray(privacy.delta, float)
    inner = k * jnp.log(num_items / jnp.where(delta > 0, delta, 1.0))
    return 8.0 * most * jnp.sqrt(inner) / jnp.asarray(privacy.epsilon, float)


def published_counts(key: Key, wins: WinCounts, privacy: Privacy) -> Estimate:
    """Win totals with Laplace noise of the published scale: 2/ε for one comparison, L/ε for a user.

    **Guarantee.** The latter carries 2ε under replacement, as one user moves the totals by 2L.

    Args:
        key, wins, privacy: as for :data:`~privrank_jax.pairwise.noisy_counts`, without its options.

    Returns:
        As of :data:`~privrank_jax.pairwise.noisy_counts`.

    Raises:
        TypeError, ValueError: a promise that this can't keep.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=3)
    >>> float(published_counts(jax.random.key(0), wins, promise).guarantee.epsilon)
    2.0
    """
    attained, note = of_comparisons(privacy, "published_counts", "laplace"), ""
    users = attained.unit == "user"
    scale = (attained.comparisons_per_unit if users else 2.0) / attained.epsilon
    added = Noise.independent("laplace", scale, wins.num_items)
    if users and attained.adjacency != "add-remove":
        attained = dataclasses.replace(attained, epsilon=2 * attained.epsilon)
        note = "published as epsilon, but proven only for twice that."
    guarantee = Guarantee(privacy, attained, note=note)
    counted = wins.totals
    value = counted + added.draw(key, counted.dtype)
    return Estimate(value, guarantee, NoiseDiagnostics(scale))


def _slope(attained: Privacy, facts: Facts) -> Change:
    every = 8.0 * link_of(facts).kappa1 * attained.comparisons_per_unit
    return Change(lambda: [every / 2, every / 2])


def _ridge(attained: Privacy, facts: Facts, change: Change) -> Ridge:
    times = (8.0 if attained.unit == "user" else 4.0) * attained.comparisons_per_unit
    return Ridge(times * link_of(facts).kappa2 / attained.epsilon)


def _usual(wins: WinCounts, facts: Facts, attained: Privacy, variance: Numbers) -> Numbers:
    """2√(d log m), where the number d of comparisons of an item is public; else the floor."""
    if attained.unit == "user" or attained.adjacency == "add-remove":
        return 0.0
    items = jnp.maximum(jnp.sum(wins.item_mask), 2)
    return 2.0 * jnp.sqrt(jnp.maximum(mean_degree(wins), 1e-3) * jnp.log(items))


published_mle = dataclasses.replace(
    perturbed_mle,
    name="published_mle",
    doc="""Scores of win counts with the published noise and ridge: λ = 8κ₁L/ε, γ >= 4κ₂/ε, or 8κ₂L/ε for users.

    By default γ is 2√(d log m) for one comparison, where d is public, else its floor. κ₂ is the supremum of the
    curvature, 1/4 for the logistic link, as in the published code; the paper's (A2) asks for more than 56.6.

    **Guarantee.** ε-DP: sound for replacement, hence for the rest, with twice the noise that is needed. The
    propositions do not cover the Laplace link, which violates (A2); the theorem at the head of
    :mod:`privrank_jax.pairwise.perturbed_fit` does, at 3ε/4.

    Source: Cai, Chakraborty and Wang (2025), Propositions 2.1 and 3.1, and Theorem 2.1; the 2 is of their code.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=7)
    >>> told = published_mle(jax.random.key(0), wins, promise).diagnostics
    >>> float(told.noise_scale), float(told.gamma)
    (56.0, 14.0)
    """,
    slope=_slope,
    ridge=_ridge,
    usual=_usual,
    noises=("laplace",),
)

r"""Private scores from choices among public sets: noise on how often each item was chosen, then a ridge fit.

**Statistic.** The likelihood of choices sees them through N alone, N_i how often i was chosen, next to the sets
(:mod:`privrank_jax.pairwise.choices`).

**Sensitivity.** A choice adds one unit vector e_i to N, as a comparison without ties adds e_i to the win totals, so the
sensitivities are those of win totals (:func:`~privrank_jax.pairwise.noisy_counts.totals_sensitivity`): another choice
moves N by e_j - e_i, by 2 in ℓ₁ and √2 in ℓ₂; one more moves it by 1; L choices of a user by L times that at most, by
the triangle inequality, which is attained.

**What is public.** Noisy totals alone protect choices under any adjacency. The fit also needs the sets, which are
public under ``flip`` alone, where neighbors differ in what was chosen and not in what was offered; then it is
post-processing of the totals, whatever its ridge, solver and rounding: the fit takes the sets from
``Choices.design``, in an order that does not depend on the choices. Under ``replace``
and ``add-remove`` the sets are private too, and the same noise, of a larger scale, is noise in the objective
(:mod:`privrank_jax.pairwise.objective_perturbation`).
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from privrank_jax._types import Key, Numbers, Scalar
from privrank_jax._validate import check_positive
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fit import STAGES, fitted
from privrank_jax.pairwise.noisy_counts import totals_sensitivity
from privrank_jax.pairwise.objective_perturbation import fit_in_objective
from privrank_jax.pairwise.perturbed_mle import PerturbedFit, least_risk_gamma
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, norm_of
from privrank_jax.privacy.privacy import Privacy


def noisy_choices(
    key: Key, choices: Choices, privacy: Privacy, *, noise: str = "laplace"
) -> Estimate:
    """How often each item was chosen, plus noise.

    **Guarantee.** ε-DP (Laplace), or (ε, δ)-DP (Gaussian), for one choice (unit comparison) or for a user of at most
    ``contributions`` choices; theorem and proof at the head of this module,
    ``help(sys.modules[noisy_choices.__module__])``.

    Args:
        key: PRNG key.
        choices: choices, not stages of rankings.
        privacy: what is promised: unit comparison or user, any adjacency; ε, δ and ``contributions`` may be traced.
        noise: ``"laplace"``, or ``"gaussian"`` at the δ of the promise.

    Returns:
        ``value``: noisy totals, ``(m,)``; ``pairwise.fit`` fits scores to them under ``flip``.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ or σ; public.

    Raises:
        ValueError: stages of rankings, a promise that can't be kept, users without ``contributions``.

    >>> import jax
    >>> choices = Choices.from_top1([(0, [1, 2])] * 60 + [(1, [0, 2])] * 20, num_items=3)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> found = noisy_choices(jax.random.key(0), choices, promise)
    >>> int(found.value.argmax()), found.diagnostics.noise_scale
    (0, 2.0)
    """
    check_no_stages(choices)
    attained = of_comparisons(privacy, "noisy_choices", noise)
    change = totals_sensitivity(attained, norm_of(noise))
    scale = additive_scale(noise, attained, change, change)
    totals = choices.totals
    value = totals + Noise.independent(noise, scale, choices.num_items).draw(key, totals.dtype)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


def perturbed_plackett_luce(
    key: Key,
    choices: Choices,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    noise: str = "laplace",
) -> Estimate:
    """Private scores from choices among public sets: the ridge fit to :func:`noisy_choices`.

    **Guarantee.** That of the noisy totals under ``flip``, of which this is post-processing. Under ``replace`` and
    ``add-remove``, where what was offered is private as well, ε-DP by noise in the objective: by default λ = (4 + V)L/ε
    or (2 + V)L/ε with V = (m - 2)/(m - 1), and γ >= λ. Theorem and proof: head of
    :mod:`privrank_jax.pairwise.objective_perturbation`, for real numbers (``numerics="idealized"``).

    Args:
        key: PRNG key.
        choices: choices from sets, not stages of rankings.
        privacy: what is promised: unit comparison or user, any adjacency.
        gamma: ridge γ > 0, may be traced; ``None`` = :func:`default_choice_gamma`; under ``replace`` and ``add-remove``
            its floor, (4 + V)L/ε or (2 + V)L/ε, or 1 if that is more.
        noise: ``"laplace"``, or under ``flip`` ``"gaussian"`` at the δ of the promise.

    Returns:
        ``value``: θ, ``(m,)``, mean 0. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.pairwise.perturbed_mle.PerturbedFit`; all of it public with the release.

    Raises:
        ValueError: stages of rankings, a promise that can't be kept, γ <= 0 or below its floor.

    >>> import jax
    >>> choices = Choices.from_top1([(0, [1, 2])] * 60 + [(1, [0, 2])] * 20, num_items=3)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> found = perturbed_plackett_luce(jax.random.key(0), choices, promise)
    >>> int(found.value.argmax())
    0
    """
    if gamma is not None:
        check_positive("gamma", gamma, infinite=False)
    check_no_stages(choices)
    by, design = "perturbed_plackett_luce", choices.design
    if of_comparisons(privacy, by, noise).adjacency != "flip":
        return fit_in_objective(key, choices.totals, privacy, design, by, gamma, noise)
    noisy = noisy_choices(key, choices, privacy, noise=noise)
    scale = noisy.diagnostics.noise_scale
    variance = Noise.independent(noise, scale).variance_per_dimension()
    ridge = default_choice_gamma(choices, variance) if gamma is None else gamma
    found = fitted(design, noisy.value, design.ridges(ridge))
    return Estimate(found.value, noisy.guarantee, PerturbedFit(scale, ridge, found.diagnostics))


def default_choice_gamma(choices: Choices, variance: Numbers) -> Any:
    """The ridge with the least first-order risk for scores θ ~ N(0, 1), from the public sets.

    A choice from a set of s equal items has information 1 - 1/s about their scores together, that of 2(1 - 1/s)
    comparisons; :func:`~privrank_jax.pairwise.perturbed_mle.least_risk_gamma` takes their mean number per item.

    Args:
        choices: of which only the public sets and weights count.
        variance: of the noise of one total.

    Returns:
        γ.

    >>> choices = Choices.from_top1([(0, [1])] * 50, num_items=2)  # 50 comparisons of each item
    >>> float(default_choice_gamma(choices, 5.0))
    1.5
    """
    sizes = jnp.sum(choices.offered, -1)
    comparisons = jnp.sum(choices.weights * 2 * (1 - 1 / sizes))
    return least_risk_gamma(2 * comparisons / choices.num_items, variance)


def check_no_stages(choices: Choices) -> None:
    """Raise ``ValueError`` for stages of rankings, whose sets depend on answers."""
    if not choices.public_sets:
        raise ValueError(STAGES)

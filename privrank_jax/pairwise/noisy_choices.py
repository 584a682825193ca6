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

from privrank_jax._types import Key
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fit import STAGES
from privrank_jax.pairwise.noisy_counts import totals_sensitivity
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


def check_no_stages(choices: Choices) -> None:
    """Raise ``ValueError`` for stages of rankings, whose sets depend on answers."""
    if not choices.public_sets:
        raise ValueError(STAGES)

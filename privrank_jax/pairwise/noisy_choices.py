r"""Private scores from choices among public sets: noise on how often each item was chosen, then a ridge fit.

**Statistic.** The likelihood of choices sees them through N alone, N_i how often i was chosen, next to the sets
(:mod:`privrank_jax.pairwise.choices`).

**Sensitivity.** A choice adds one unit vector e_i to N, as a comparison without ties adds e_i to the win totals, so the
sensitivities are those of win totals (:func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`): another choice
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

from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fits import STAGES


def check_no_stages(choices: Choices) -> None:
    """Raise ``ValueError`` for stages of rankings, whose sets depend on answers."""
    if not choices.public_sets:
        raise ValueError(STAGES)

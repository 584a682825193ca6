"""Davidson's model fitted to noisy win totals and a noisy number of ties, or with noise in its objective."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from privrank_jax._types import Key, PairMatrixLike, Scalar
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fit import fitted
from privrank_jax.pairwise.graph import check_tied_counts
from privrank_jax.pairwise.mle import design_of
from privrank_jax.pairwise.noisy_ties import add_tie_noise, tie_noise
from privrank_jax.pairwise.objective_perturbation import fit_in_objective
from privrank_jax.pairwise.perturbed_mle import PerturbedFit
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy, check_privacy

_USUAL_INFORMATION = 1 / 7.0  # about a score, of one comparison, at scores ~ N(0, 1) and ν = 1
_USUAL_TIES = 2 / 9.0  # about log ν, of one comparison, at equal scores and ν = 1


def perturbed_davidson_mle(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    tie_gamma: Scalar | None = None,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """Private scores and tie parameter: Davidson's model fitted to ``noisy_tie_counts``.

    **Guarantee.** Under ``flip`` that of the noisy counts, of which this is post-processing. Under ``replace`` and
    ``add-remove``, where who met is private as well, the noise is in the objective: λ = 4L/ε or 2L/ε on the totals, 4λ
    on the ties, γ >= λ and γ_T = 4γ: as without ties, which cost nothing. Theorem and proof: head of
    :mod:`privrank_jax.pairwise.objective_perturbation`, for real numbers (``numerics="idealized"``).

    **Default ridges.** Those with the least first-order risk for scores and log ν of variance 1:
    γ = (h + noise variance)/h, with h the usual information about a score (d/7 at d comparisons per item) or about
    log ν (2/9 per comparison). Under ``replace`` and ``add-remove`` γ is λ, or 1 if that is more.

    Args:
        key: PRNG key.
        wins: win counts of m items that know their ``ties``.
        privacy: as for ``noisy_tie_counts``, or adjacency ``replace`` or ``add-remove``.
        gamma: ridge γ > 0 of the scores, may be traced; ``None`` = default.
        tie_gamma: ridge γ_T > 0 of log ν, may be traced; ``None`` = default; under ``flip`` only.
        noise: as for ``noisy_tie_counts``.
        questionnaire: as for ``noisy_tie_counts``.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.designs.ModelScores`. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.pairwise.perturbed_mle.PerturbedFit`; all of it public under ``flip``.

    Raises:
        ValueError: as ``noisy_tie_counts``; a ridge that is not positive, or below λ where
            that is its floor; Gaussian noise, a questionnaire or γ_T where the noise is in the objective.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 600], [400, 0]], ties=200)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> found = perturbed_davidson_mle(jax.random.key(0), wins, promise).value
    >>> bool(found.scores[0] > found.scores[1]), bool(0.3 < found.tie < 0.7)  # without noise 0.51
    (True, True)
    """
    check_tied_counts(wins)
    for name, given in (("gamma", gamma), ("tie_gamma", tie_gamma)):
        if given is not None:
            check_positive(name, given, infinite=False)
    by = "perturbed_davidson_mle"
    check_privacy(privacy)
    if privacy.adjacency != "flip":
        if tie_gamma is not None or questionnaire is not None:
            raise ValueError(
                "tie_gamma and questionnaire are for adjacency='flip', where noise is on counts; leave them out."
            )
        design, exact = design_of(wins, True)
        return fit_in_objective(key, exact, privacy, design, by, gamma, noise or "laplace")
    attained, law = tie_noise(privacy, by, wins.num_items, noise, questionnaire)
    usual, usual_of_ties = default_ridges(wins, law)
    ridge = usual if gamma is None else gamma
    tie_ridge = usual_of_ties if tie_gamma is None else tie_gamma
    design, counts = Counts(wins.comparisons, wins.mask, ties=True), add_tie_noise(key, wins, law)
    counted = jnp.append(jnp.asarray(counts.totals), jnp.asarray(counts.ties))
    found = fitted(design, counted, design.all_ridges(ridge, tie_ridge))
    facts = PerturbedFit(law.scale, ridge, found.diagnostics, tie_ridge)
    return Estimate(found.value, Guarantee(privacy, attained), facts)


def default_ridges(wins: WinCounts, law: Noise) -> tuple[Any, Any]:
    """γ and γ_T chosen for utility from public quantities, see :func:`perturbed_davidson_mle`.

    Args:
        wins: win counts, of which only the public numbers of meetings count.
        law: the noise.
    """
    items = jnp.maximum(jnp.sum(wins.item_mask), 2)
    meetings = jnp.maximum(0.5 * jnp.sum(wins.degrees), 1e-3)
    about_score = _USUAL_INFORMATION * 2 * meetings / items
    about_tie = _USUAL_TIES * meetings
    per_score, per_tie = law.variance_per_dimension(wins.num_items), law.variances[-1]
    return (about_score + per_score) / about_score, (about_tie + per_tie) / about_tie

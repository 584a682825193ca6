"""Scores and coefficients of private covariates: objective perturbation, with ties as half wins or as outcomes."""

from __future__ import annotations

import jax.numpy as jnp

from privrank_jax._types import Key, Scalar
from privrank_jax._validate import check_choice
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_davidson import CovariateDavidsonFit, fit_covariate_ties
from privrank_jax.pairwise.covariate_mle import CovariateFit, check_table, fit_covariate_sums
from privrank_jax.pairwise.covariate_ties import CovariateTies, number_of_ties
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.objective_perturbation import (
    TIE_SHARE,
    kept_by_objective,
    meeting_noise,
    noise_in_objective,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

TIES = ("half", "davidson")


def perturbed_covariate_mle(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    ties: str = "half",
) -> Estimate:
    """Private scores and coefficients where covariates and who met are private too, by noise in the objective.

    **Guarantee.** ε-DP for whole comparisons, one or all of a user: with p covariates λ = (4 + p/2)L/ε under
    ``replace``, (2 + p/4)L/ε under ``add-remove``, twice that on sums of features and four times on ties; γ >= λ. Ties
    cost nothing. Theorem and proof: head of :mod:`privrank_jax.pairwise.objective_perturbation`, for real numbers
    (``numerics="idealized"``); ``release.exact_perturbed_covariate_mle`` is the exact twin.

    Args:
        key: PRNG key.
        table: comparisons, from ``covariate_table(..., private=True)``; users have at most L of them.
        privacy: what is promised: unit comparison or user (with ``contributions``), adjacency replace or add-remove.
            ε = ∞ adds no noise; ε and ``contributions`` may be traced.
        gamma: ridge γ of scores and coefficients of features, at least λ; default λ, or 1 if that is more. That of log
            ν is 4γ.
        ties: ``"half"``: a tie is half a win; ``"davidson"``: an outcome of its own.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.covariate_mle.CovariateScores`, or
        :class:`~privrank_jax.pairwise.covariate_davidson.CovariateDavidsonScores`. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.pairwise.covariate_mle.CovariateFit` or
        :class:`~privrank_jax.pairwise.covariate_davidson.CovariateDavidsonFit`, of which ``fit`` is not public.

    Raises:
        ValueError: a table whose scales were read from its rows, adjacency flip, a promise that can't be kept, γ below
            its floor, an unknown treatment of ties.
        TypeError: ``table`` is no :class:`~privrank_jax.pairwise.covariates.CovariateTable`.

    >>> import jax
    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 450, [1, 0] * 450, [1, 1] * 360 + [1, 0] * 90  # who is first wins most often
    >>> home = {"home": [1.0] * 900}
    >>> table = covariate_table(first, second, won, home, num_items=2, bounds={"home": (0, 1)}, private=True)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> value = perturbed_covariate_mle(jax.random.key(0), table, promise).value
    >>> bool(value.coefficients[0] > 0.5)
    True
    """
    check_choice("ties", ties, TIES)
    attained = kept_by_objective(privacy, "perturbed_covariate_mle")
    check_private(table)
    design = table.design
    scale, used = meeting_noise(attained, len(design.names), gamma)
    dtype, features = design.features.dtype, design.size - design.num_items
    added = noise_in_objective(scale, design.num_items, features, ties=ties == "davidson")
    drawn = added.draw(key, dtype)
    sums, ridge = table.sums + drawn[: design.size], jnp.full(design.size, used, dtype)
    guarantee = Guarantee(privacy, attained, numerics="idealized")
    if ties == "half":
        found = fit_covariate_sums(design, sums, ridge)
        return Estimate(found.value, guarantee, CovariateFit(scale, ridge, found.diagnostics))
    tied = CovariateTies(sums, number_of_ties(table) + drawn[-1])
    tie_gamma = ridge[0] / TIE_SHARE**2
    found = fit_covariate_ties(design, tied, ridge, tie_gamma)
    facts = CovariateDavidsonFit(scale, ridge, tie_gamma, found.diagnostics)
    return Estimate(found.value, guarantee, facts)


def check_private(table: CovariateTable) -> None:
    """Raise unless ``table`` is one whose features have scales by public bounds."""
    check_table(table)
    if not table.design.private:
        raise ValueError(
            "the scales of this table's features were read from its rows, which are private here: make it by "
            "covariate_table(..., bounds=..., private=True)."
        )

"""Davidson's model fitted to noisy win totals and a noisy number of ties, or with noise in its objective."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Key, MaskLike, PairMatrix, PairMatrixLike, Scalar, ScoresLike
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.davidson import check_tied_counts, davidson_objective, fit_davidson
from privrank_jax.pairwise.mle import FitDiagnostics
from privrank_jax.pairwise.noisy_ties import TieCounts, add_tie_noise, tie_noise
from privrank_jax.pairwise.objective_perturbation import (
    TIE_SHARE,
    kept_by_objective,
    meeting_noise,
    noise_in_objective,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy, check_privacy

_USUAL_INFORMATION = 1 / 7.0  # about a score, of one comparison, at scores ~ N(0, 1) and ν = 1
_USUAL_TIES = 2 / 9.0  # about log ν, of one comparison, at equal scores and ν = 1


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PerturbedDavidsonFit:
    """Noise scale, ridges and solver diagnostics of a fit to noisy totals and ties; all public with the release.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) on each total, or 1/ε (K-norm).
        gamma: the ridge of the scores.
        tie_gamma: the ridge of log ν.
        fit: :class:`~privrank_jax.pairwise.mle.FitDiagnostics` of the solver, a function of the noisy statistic.
    """

    noise_scale: Scalar
    gamma: Scalar
    tie_gamma: Scalar
    fit: FitDiagnostics


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
        ``value``: ``DavidsonScores``. ``guarantee``. ``diagnostics``:
        :class:`PerturbedDavidsonFit`.

    Raises:
        ValueError: as ``noisy_tie_counts``; a ridge that is not positive, or below λ where
            that is its floor; Gaussian noise, a questionnaire or γ_T where the noise is in the objective.

    >>> wins = WinCounts.from_matrix([[0, 600], [400, 0]], ties=200)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> found = perturbed_davidson_mle(jax.random.key(0), wins, promise).value
    >>> bool(found.scores[0] > found.scores[1]), bool(0.3 < found.tie < 0.7)  # without noise 0.51
    (True, True)
    """
    check_tied_counts(wins)
    by, items = "perturbed_davidson_mle", wins.num_items
    check_privacy(privacy)
    if privacy.adjacency != "flip":
        return _by_objective(key, wins, privacy, gamma, tie_gamma, noise, questionnaire)
    attained, law = tie_noise(privacy, by, items, noise, questionnaire)
    usual, usual_of_ties = default_ridges(wins, law)
    ridge = usual if gamma is None else gamma
    tie_ridge = usual_of_ties if tie_gamma is None else tie_gamma
    ridges = _checked_ridges(ridge, tie_ridge, wins.comparisons.dtype)
    counts = add_tie_noise(key, wins, law)
    found = _fit(counts, wins.comparisons, *ridges, wins.mask)
    diagnostics = PerturbedDavidsonFit(law.scale, ridge, tie_ridge, found.diagnostics)
    return Estimate(found.value, Guarantee(privacy, attained), diagnostics)


def _by_objective(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    gamma: Scalar | None,
    tie_gamma: Scalar | None,
    noise: str | None,
    questionnaire: PairMatrixLike | None,
) -> Estimate:
    """The fit with noise in the objective."""
    attained = kept_by_objective(privacy, "perturbed_davidson_mle", noise or "laplace")
    if tie_gamma is not None or questionnaire is not None:
        raise ValueError(
            "tie_gamma and questionnaire are for adjacency='flip', where noise is on counts; leave them out."
        )
    scale, ridge = meeting_noise(attained, gamma=gamma)
    ridges = _checked_ridges(ridge, ridge / TIE_SHARE**2, wins.comparisons.dtype)
    counts = add_tie_noise(key, wins, noise_in_objective(scale, wins.num_items, ties=True))
    found = _fit(counts, wins.comparisons, *ridges, wins.mask)
    diagnostics = PerturbedDavidsonFit(scale, *ridges, found.diagnostics)
    guarantee = Guarantee(privacy, attained, numerics="idealized")
    return Estimate(found.value, guarantee, diagnostics)


def davidson_from_totals(
    totals: ScoresLike,
    ties: Scalar,
    comparisons: PairMatrixLike,
    gamma: Scalar,
    tie_gamma: Scalar,
    mask: MaskLike | None = None,
) -> Estimate:
    """Davidson's model fitted to given (for instance noisy) win totals and ties, without access to outcomes.

    With the counts of a release whose meetings M are public this is the private fit, as post-processing: it spends no
    privacy, whatever the solver's tolerance. The counts need not be attainable; positive ridges make the solution
    finite and unique.

    Args:
        totals: ``(m,)`` float, N, ties counted half.
        ties: T.
        comparisons: ``(m, m)`` symmetric, M_ij = how often i and j were compared, zero diagonal.
        gamma: ridge γ > 0 of the scores, may be traced.
        tie_gamma: ridge γ_T > 0 of log ν, may be traced.
        mask: ``(m,)`` bool, real items (default all).

    Returns:
        ``value``: ``DavidsonScores``. ``guarantee``: ``None``; that of the counts applies.
        ``diagnostics``: :class:`~privrank_jax.pairwise.mle.FitDiagnostics`, a function of the arguments alone.

    Raises:
        ValueError: a ridge that is not positive, shapes that don't match.

    >>> found = davidson_from_totals([35.0, 15.0], 20.0, [[0.0, 50.0], [50.0, 0.0]], 1e-6, 1e-6).value
    >>> round(float(found.scores[0] - found.scores[1]), 3)  # log 5
    1.609
    """
    comparisons = jnp.asarray(comparisons)
    if not jnp.issubdtype(comparisons.dtype, jnp.floating):
        comparisons = comparisons.astype(jnp.result_type(float))
    ridges = _checked_ridges(gamma, tie_gamma, comparisons.dtype)
    totals = jnp.asarray(totals, comparisons.dtype)
    real = None if mask is None else jnp.asarray(mask)
    if totals.ndim != 1 or comparisons.shape != totals.shape * 2:
        raise ValueError(
            f"totals (m,) and comparisons (m, m) don't match: got {totals.shape} and {comparisons.shape}."
        )
    counts = TieCounts(totals, jnp.asarray(ties, comparisons.dtype))
    return _fit(counts, comparisons, *ridges, real)


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


def _checked_ridges(gamma: Scalar, tie_gamma: Scalar, dtype: Any) -> tuple[Array, Array]:
    """As arrays, so that numbers given and the default are fitted by one program."""
    check_positive("gamma", gamma, infinite=False)
    check_positive("tie_gamma", tie_gamma, infinite=False)
    return jnp.asarray(gamma, dtype), jnp.asarray(tie_gamma, dtype)


@jax.jit
def _fit(
    counts: TieCounts,
    comparisons: PairMatrix,
    gamma: Scalar,
    tie_gamma: Scalar,
    mask: Array | None,
) -> Estimate:
    totals: Any = counts.totals
    ties: Any = counts.ties
    objective = davidson_objective(totals, ties, comparisons, gamma, tie_gamma, mask)
    found = fit_davidson(objective)
    diagnostics = FitDiagnostics(found.gradient_norm, found.steps, found.code)
    return Estimate(objective.value_of(found), None, diagnostics)

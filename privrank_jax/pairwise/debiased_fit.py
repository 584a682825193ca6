r"""Scores from reports that users randomize themselves (Xu, Sun and Cheng), and baseline estimators.

Notation: a in {0, 1} marks the observed pairs, ỹ reports that i is preferred to j, t = tanh(ε_l/2), G = Σ_l t². The
published objective, with weights w_l = t²/G and debiased reports z̃ = 1/2 + (ỹ-1/2)/t,

.. math:: -\sum_l\sum_{i<j} a\{w_l z̃ \log F + (w_l - w_l z̃) \log(1-F)\} + \tfrac{γ}{2G}‖θ‖², \quad F = F(θ_i - θ_j),

is multiplied by G here, so that the data enter through two sums per pair,

.. math:: W_{ij} = Σ_l a\,t², \qquad D_{ij} = Z_{ij} - W_{ij}/2 = Σ_l a\,t\,(ỹ - 1/2),

and the ridge is γ/2 ‖θ‖². Nothing is divided by t, so ε may be arbitrarily small. Sums over different users add up,
so data sets can be merged. The fit is to real-valued win counts W/2 ± D, which debiasing can make negative. For the
logistic link D enters the linear term alone and the objective stays convex. For other links it need not be convex
(see :func:`debiased_rr`).
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import MaskLike, NumbersLike, ReportTableLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_nonnegative
from privrank_jax._workarounds.linalg import eigenvalues
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.debiasing import (
    DebiasedSums,
    checked_reports,
    coefficients,
    kept_pairs,
    sums_of,
)
from privrank_jax.pairwise.fits import FitDiagnostics, fit_signed
from privrank_jax.pairwise.masked import center
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import local_guarantee, report_information, report_values


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DebiasedFit:
    """Diagnostics of a fit to randomized reports, all of them post-processing of the reports.

    Attributes:
        fit: :class:`~privrank_jax.pairwise.maximum_likelihood.FitDiagnostics`; its ``code`` is 0 where the search
            converged.
        smallest_eigenvalue: least eigenvalue over Σθ = 0 of the Hessian at θ̂ of the objective of the sums
            without its ridge (see :func:`smallest_curvature`), ``()``.
        gamma: ridge γ in the objective of those sums, ``()``.
        total_information: Σ_l tanh²(ε_l/2) over users with a report, ``()``; ``None`` if users are unknown.
        mean_information: B(ε), the mean over these users, ``()``; ``None`` if users are unknown.
    """

    fit: FitDiagnostics
    smallest_eigenvalue: Float[Array, ""]
    gamma: Float[Array, ""]
    total_information: Float[Array, ""] | None = None
    mean_information: Float[Array, ""] | None = None


def debiased_rr(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    link: str | Link = "logistic",
    gamma: Scalar | None = None,
    weighted: bool = True,
    debiased: bool = True,
    *,
    mechanism: str = "randomized-response",
    clipped: bool = False,
    mask: MaskLike | None = None,
) -> Estimate:
    """Scores from randomized responses with personal ε; adaptive and debiased (ADRR) by default.

    Minimizes -Σ_l Σ_{i<j} a{w_l z log F + (w_l - w_l z) log(1-F)} + λ‖θ‖² with λ = γ/(2Σ w_l) before the w_l are
    normalized. The method determines w_l and z:

    ===========================  ========  ========  ==================================================
    method                       weighted  debiased  w_l (normalized), z
    ===========================  ========  ========  ==================================================
    ADRR                         True      True      ∝ tanh²(ε_l/2), debiased ỹ
    debiased without weights     False     True      1/L, debiased ỹ
    classic randomized response  False     False     1/L, ỹ: biased toward equal scores
    Laplace on comparisons       False     either    1/L, ỹ (``mechanism="laplace"``)
    ===========================  ========  ========  ==================================================

    Two more baselines are separate functions: :func:`report_counts` (the count method), and ``NoisyObj``, which
    needs a trusted curator: ``perturbed_mle(key, wins, privacy, noise="gaussian")`` at the smallest ε and δ = 1e-6.

    **Guarantee.** The fit is post-processing of the reports and inherits their guarantee. It is stated for one
    comparison, max_l ε_l, and for one user, max_l S_l ε_l, where user l gives S_l reports.

    **Links other than the logistic** can make the objective non-convex when debiased counts are negative. The
    search then descends from θ = 0, along Newton's direction or, where the Hessian is not positive definite, what
    conjugate gradients have of it when they meet negative curvature, to a stationary point
    (``diagnostics.fit.code`` 0), of which there may be several; ``diagnostics.smallest_eigenvalue`` measures how
    convex the objective is there. Under the normal link, negative counts that outweigh the ridge, as with few
    reports at small ε, leave the objective unbounded below. The code is then not 0, and a larger ``gamma``,
    ``clipped=True`` or the logistic link helps.

    Args:
        reports: ỹ, ``(users, pairs)``, bool, 0/1 or -1/+1, in the order of ``np.triu_indices(m, 1)``; 1 means that
            the pair's first item is preferred. Floats for ``mechanism="laplace"``. Entries that are not observed
            may hold anything, NaN included.
        observed: ``(users, pairs)``, bool or 0/1, which comparisons were reported. Users added as padding have none
            and do not affect the result.
        epsilon: ``(users,)`` or one number, ε_l > 0 at which the reports were randomized; may be traced.
        link: ``"logistic"``, ``"normal"`` or ``"laplace"``.
        gamma: ridge γ >= 0 in the objective of the sums, which stands at the head of this module:
            ``help(sys.modules[debiased_rr.__module__])``. May be traced. ``None`` is 2 with
            weights, and 2L/Σ_l tanh²(ε_l/2) without: λ = 1/Σ_l tanh²(ε_l/2) either way.
        weighted: weigh users by their information.
        debiased: correct the reports for the flips.
        mechanism: ``"randomized-response"``, or ``"laplace"`` for reports y + Laplace(1/ε_l), which
            ``weighted=True`` weights by their information ε²/(ε²+8).
        clipped: clip the debiased share of wins of each pair to [0, 1]: convex under every link, but biased.
        mask: ``(m,)`` bool, real items; pairs with a masked item are dropped, its score is 0.

    Returns:
        ``value``: θ̂, ``(m,)``, mean 0 over real items, high = preferred; float type of ``epsilon``, or of
        ``reports`` if that is wider. Differentiable in ε, γ and float reports. ``guarantee``: local.
        ``diagnostics``: :class:`DebiasedFit`.

    Raises:
        ValueError: ε <= 0 or NaN, an observed report that isn't 0 or 1 (-1 or 1), shapes that don't fit, nothing
            observed, γ < 0, unknown names.

    Source: Xu, Sun and Cheng, "Rate-optimal rank aggregation with private pairwise rankings", sections 3, 4.

    >>> reports = jnp.repeat(jnp.array([[1, 1, 1], [1, 1, 0], [0, 1, 1]]), 40, axis=0)
    >>> estimate = debiased_rr(reports, reports >= 0, jnp.full(120, 2.0))
    >>> estimate.value.argsort().tolist(), float(estimate.guarantee.also[0].epsilon)
    ([2, 1, 0], 6.0)
    """
    link = get_link(link)
    if gamma is not None:
        check_nonnegative("gamma", gamma)
    reports, observed, epsilon = checked_reports(reports, observed, epsilon, mechanism, mask)
    return _debiased_rr(
        reports, observed, epsilon, gamma, mask, link, bool(weighted), bool(debiased), mechanism,
        bool(clipped),
    )  # fmt: skip


def scores_from_sums(
    sums: DebiasedSums, link: str | Link = "logistic", gamma: Scalar = 2.0
) -> Estimate:
    """Scores θ that minimize -Σ_{i<j} {Z log F + (W - Z) log(1-F)} + γ/2 ‖θ‖², Z = W/2 + D.

    For the logistic link this is :func:`~privrank_jax.pairwise.fit` at totals Σ_j Z_ij. On non-convex
    objectives see :func:`debiased_rr`.

    Args:
        sums: D and W of m items.
        link: as :func:`debiased_rr`.
        gamma: ridge γ >= 0, may be traced.

    Returns:
        ``value``: θ, ``(m,)``, dtype of the sums. ``guarantee``: ``None``; the guarantee of the reports applies.
        ``diagnostics``: :class:`DebiasedFit`.

    Raises:
        ValueError: unknown link, γ < 0.

    >>> sums = DebiasedSums(jnp.array([[0.0, 2.0], [-2.0, 0.0]]), jnp.array([[0.0, 8.0], [8.0, 0.0]]))
    >>> round(float(scores_from_sums(sums, gamma=0.0).value[0]), 3)  # 6 wins to 2: log(3)/2
    0.549
    """
    check_nonnegative("gamma", gamma)
    return _fit(sums, gamma, get_link(link))


def report_counts(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    *,
    mask: MaskLike | None = None,
) -> Estimate:
    """Scores by the count method: wins S̃_i = Σ_j Σ_l a ỹ_ij in the randomized reports, without debiasing.

    Args:
        reports: as :func:`debiased_rr`.
        observed: as :func:`debiased_rr`.
        epsilon: as :func:`debiased_rr`; only the guarantee needs it.
        mask: as :func:`debiased_rr`.

    Returns:
        ``value``: S̃, ``(m,)``, in reports, high = preferred. ``guarantee``: local. ``diagnostics``: ``None``.

    Raises:
        ValueError: as :func:`debiased_rr`.

    Source: Xu, Sun and Cheng, Scenario V, after Yan et al. (2020).

    >>> report_counts([[1, 1, 0]], [[1, 1, 1]], 1.0).value.tolist()
    [2.0, 0.0, 1.0]
    """
    reports, observed, epsilon = checked_reports(
        reports, observed, epsilon, "randomized-response", mask
    )
    return _counts(reports, observed, epsilon, mask)


def smallest_curvature(
    theta: ScoresLike, sums: DebiasedSums, link: str | Link = "logistic"
) -> Float[Array, ""]:
    """Least eigenvalue over Σθ = 0 of the Hessian of -Σ_{i<j} {Z log F + (W - Z) log(1-F)} at ``theta``.

    If positive, the objective is strictly convex there, even without a ridge. Divided by Σ_l tanh²(ε_l/2)
    (L without weights) it is the smallest non-zero eigenvalue of the published objective (Figure 3).

    Args:
        theta: ``(m,)`` scores.
        sums: D and W.
        link: as :func:`debiased_rr`.

    Returns:
        ``()``; no gradient flows through it.

    >>> sums = DebiasedSums(jnp.zeros((2, 2)), jnp.array([[0.0, 8.0], [8.0, 0.0]]))
    >>> round(float(smallest_curvature([0.0, 0.0], sums)), 3)  # 2 · 8/4
    4.0
    """
    return _smallest_curvature(jnp.asarray(theta), sums, get_link(link))


@functools.partial(
    jax.jit, static_argnames=("link", "weighted", "debiased", "mechanism", "clipped")
)
def _debiased_rr(
    reports: Array,
    observed: Array,
    epsilon: Array,
    gamma: Scalar | None,
    mask: MaskLike | None,
    link: Link,
    weighted: bool,
    debiased: bool,
    mechanism: str,
    clipped: bool,
) -> Estimate:
    sums = sums_of(reports, observed, epsilon, mask, weighted, debiased, mechanism)
    sums = sums.clipped() if clipped else sums
    kept = kept_pairs(observed, mask)
    present = jnp.any(kept, axis=1)
    users = jnp.maximum(jnp.sum(present), 1).astype(epsilon.dtype)
    information = jnp.sum(jnp.where(present, report_information(epsilon), 0))
    _, weight = coefficients(epsilon, weighted, debiased, mechanism)
    total_weight = jnp.sum(jnp.where(present, weight, 0))
    if gamma is None:
        gamma = 2.0 * jnp.where(information > 0, total_weight / information, 1)
    estimate = _fit(sums, gamma, link)
    diagnostics = dataclasses.replace(
        estimate.diagnostics, total_information=information, mean_information=information / users
    )
    return Estimate(estimate.value, _guarantee(kept, epsilon), diagnostics)


@functools.partial(jax.jit, static_argnames=("link",))
def _fit(sums: DebiasedSums, gamma: Scalar, link: Link) -> Estimate:
    found = fit_signed(sums.margins, sums.weights, link, gamma=gamma, mask=sums.mask)
    value = center(found.value, sums.mask)
    fit = FitDiagnostics.of(found)
    gamma = jnp.asarray(gamma, value.dtype)
    return Estimate(value, None, DebiasedFit(fit, _smallest_curvature(value, sums, link), gamma))


@functools.partial(jax.jit, static_argnames=("link",))
def _smallest_curvature(theta: Scores, sums: DebiasedSums, link: Link) -> Float[Array, ""]:
    theta = jax.lax.stop_gradient(theta)
    gap = theta[:, None] - theta[None, :]
    bend = jax.lax.stop_gradient(sums.wins) * link.curvature(gap)
    weight = bend + bend.T
    real = jnp.ones(theta.shape, bool) if sums.mask is None else sums.mask
    degree = weight.sum(-1)
    # All eigenvalues are at most twice the largest absolute row sum. The direction 1 and masked items get a larger
    # one, so that the smallest eigenvalue belongs to Σθ = 0.
    above = 4 * jnp.max(jnp.sum(jnp.abs(weight), -1))
    share = jnp.where(real[:, None] & real[None, :], above / jnp.maximum(jnp.sum(real), 1), 0)
    return eigenvalues(jnp.diag(jnp.where(real, degree, above)) - weight + share)[0]


@jax.jit
def _counts(reports: Array, observed: Array, epsilon: Array, mask: MaskLike | None) -> Estimate:
    kept = kept_pairs(observed, mask)
    won = jnp.where(kept, report_values(reports, epsilon.dtype), 0).sum(0)
    asked = kept.sum(0).astype(epsilon.dtype)
    totals = DebiasedSums.from_pairs(won - 0.5 * asked, asked).wins.sum(1)
    return Estimate(totals, _guarantee(kept, epsilon), None)


def _guarantee(kept: Array, epsilon: Array) -> Guarantee:
    return local_guarantee(epsilon, kept.sum(1))

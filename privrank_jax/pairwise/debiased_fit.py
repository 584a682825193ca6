r"""Scores from reports that users randomize themselves (Xu, Sun and Cheng), their errors, and baseline estimators.

Notation: a in {0, 1} marks the observed pairs, ỹ reports that i is preferred to j, t = tanh(ε_l/2), G = Σ_l t². The
published objective, with weights w_l = t²/G and debiased reports z̃ = 1/2 + (ỹ-1/2)/t,

.. math:: -\sum_l\sum_{i<j} a\{w_l z̃ \log F + (w_l - w_l z̃) \log(1-F)\} + \tfrac{γ}{2G}‖θ‖², \quad F = F(θ_i - θ_j),

is multiplied by G here, so that the data enter through two sums per pair,

.. math:: W_{ij} = Σ_l a\,t², \qquad D_{ij} = Z_{ij} - W_{ij}/2 = Σ_l a\,t\,(ỹ - 1/2),

and the ridge is γ/2 ‖θ‖². Nothing is divided by t, so ε may be arbitrarily small, and sums over different users add up.
The fit is to real-valued win counts W/2 ± D, which debiasing can make negative. For the logistic link D enters the
linear term alone and the objective stays convex. For other links it need not be convex (see :func:`debiased_rr`).

**Standard errors.** To first order :math:`θ̂ - θ = H^{-1}(S - γθ)` on Σθ = 0. The gradient S of the log likelihood has
mean 0 because the reports are debiased, and E H = I + γ, I the Laplacian of W F'²/(F(1-F)). A term t(ỹ-1/2) of Z has
variance :math:`t^2\{1/4 - t^2(F-1/2)^2\}`, so with Q = Σ t⁴

.. math:: \mathrm{Cov}\,S = M = \mathrm{Laplacian}\{(F'/(F(1-F)))^2\,(W/4 - Q(F-1/2)^2)\}.

A report is a bit even of a tie, which a coin decides first: its variance follows from its mean. One Newton step without
the ridge leaves I⁻¹MI⁻¹ (:mod:`~privrank_jax.pairwise.uncertainty`). Only reports enter, so no privacy is spent.

Source: Xu, Sun and Cheng, "Rate-optimal rank aggregation with private pairwise rankings", sections 3, 4.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Shaped

from privrank_jax._pytrees import pytree
from privrank_jax._types import (
    MaskLike,
    NumbersLike,
    PairMatrixLike,
    ReportTableLike,
    Scalar,
    ScoresLike,
)
from privrank_jax._validate import (
    check_choice,
    check_epsilon,
    check_nonnegative,
    check_shape,
    in_floats,
    is_traced,
    shape_of,
)
from privrank_jax._workarounds.linalg import eigenvalues
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.fits import FitDiagnostics, fit_signed
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.meetings import as_design
from privrank_jax.pairwise.uncertainty import Uncertainty, standard_errors
from privrank_jax.privacy.local import check_bits, check_reports, local_guarantee, report_values


@pytree
class DebiasedSums:
    """Sums of the reports that a fit needs; those over different users add up by ``+``.

    Attributes:
        margins: ``(m, m)`` antisymmetric float, D_ij, weighted, debiased wins of i over j beyond half.
        weights: ``(m, m)`` symmetric float, W_ij >= 0, weight of the reports on the pair.
        mask: ``(m,)`` bool, real items; ``None`` = all.
    """

    margins: Float[Array, "*batch items items"]
    weights: Float[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "margins", in_floats("margins", self.margins))
        object.__setattr__(self, "weights", in_floats("weights", self.weights))

    @classmethod
    def from_pairs(
        cls,
        margins: Float[Array, "pairs"],
        weights: Float[Array, "pairs"],
        mask: MaskLike | None = None,
    ) -> DebiasedSums:
        """Sums per pair i < j, ``(m(m-1)/2,)`` in the order of ``np.triu_indices(m, 1)``."""
        items = num_items(len(margins))
        upper, mask = np.triu_indices(items, 1), None if mask is None else jnp.asarray(mask, bool)
        if mask is not None:
            kept = mask[upper[0]] & mask[upper[1]]
            margins, weights = jnp.where(kept, margins, 0), jnp.where(kept, weights, 0)
        empty = jnp.zeros((items, items), margins.dtype)
        margins, weights = empty.at[upper].set(margins), empty.at[upper].set(weights)
        return cls(margins - margins.T, weights + weights.T, mask)

    @property
    def wins(self) -> Float[Array, "*batch items items"]:
        """``(m, m)`` Z_ij = W_ij/2 + D_ij, weighted debiased wins; entries may be negative."""
        return 0.5 * self.weights + self.margins

    def __add__(self, other: DebiasedSums) -> DebiasedSums:
        """Sums of both sets of users over the same items."""
        both = None if self.mask is None or other.mask is None else self.mask | other.mask
        return DebiasedSums(self.margins + other.margins, self.weights + other.weights, both)


@pytree
class DebiasedFit:
    """Diagnostics of a fit to randomized reports, all of them post-processing of the reports.

    Attributes:
        fit: :class:`~privrank_jax.pairwise.fits.FitDiagnostics`; its ``code`` is 0 where the search converged.
        smallest_eigenvalue: :func:`smallest_curvature` at θ̂, ``()``.
        gamma: ridge γ in the objective of the sums, ``()``.
    """

    fit: FitDiagnostics
    smallest_eigenvalue: Float[Array, ""]
    gamma: Float[Array, ""]


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
    mask: MaskLike | None = None,
) -> Estimate:
    """Scores from randomized responses with personal ε; adaptive and debiased (ADRR) by default.

    It minimizes the objective at the head of this module, ``help(sys.modules[debiased_rr.__module__])``, or another:

    ===========================  ========  ========  ==================================================
    method                       weighted  debiased  w_l (normalized), z
    ===========================  ========  ========  ==================================================
    ADRR                         True      True      ∝ tanh²(ε_l/2), debiased ỹ
    debiased without weights     False     True      1/L, debiased ỹ
    classic randomized response  False     False     1/L, ỹ: biased toward equal scores
    Laplace on comparisons       False     either    1/L, ỹ (``mechanism="laplace"``)
    ===========================  ========  ========  ==================================================

    The count method is ``debiased_sums(reports, observed, epsilon, False, False).wins.sum(1)``; ``NoisyObj``, with a
    trusted curator, ``perturbed_mle(key, wins, privacy, noise="gaussian")`` at the smallest ε.

    **Guarantee** of the reports, of which the fit is post-processing: for one comparison, max_l ε_l, and for one user,
    max_l S_l ε_l, where user l gives S_l reports.

    **Other links than the logistic** can make the objective non-convex when debiased counts are negative. The search
    then descends from θ = 0 to one of several stationary points. Under the normal link, negative counts that outweigh
    the ridge leave it unbounded below: ``diagnostics.fit.code`` is not 0, and a larger ``gamma`` helps.

    Args:
        reports: ỹ, ``(users, pairs)``, bool, 0/1 or -1/+1, in the order of ``np.triu_indices(m, 1)``; 1: the pair's
            first item is preferred. Floats for ``mechanism="laplace"``. What is not observed may be NaN.
        observed: ``(users, pairs)``, bool or 0/1, which comparisons were reported; none of users added as padding.
        epsilon: ``(users,)`` or one number, ε_l > 0 at which the reports were randomized; may be traced.
        link: ``"logistic"``, ``"normal"`` or ``"laplace"``.
        gamma: ridge γ >= 0 in the objective of the sums, may be traced. ``None``: 2 with weights, and without
            2L/Σ_l tanh²(ε_l/2), which is the published λ = 1/Σ_l tanh²(ε_l/2) either way.
        weighted: weigh users by their information.
        debiased: correct the reports for the flips.
        mechanism: ``"randomized-response"``, or ``"laplace"`` for reports y + Laplace(1/ε_l), which
            ``weighted=True`` weights by ε²/(ε²+8).
        mask: ``(m,)`` bool, real items; pairs with a masked item are dropped, its score is 0.

    Returns:
        ``value``: θ̂, ``(m,)``, mean 0 over real items, high = preferred; the wider float type of ``epsilon`` and
        ``reports``. Differentiable in ε, γ and float reports. ``guarantee``: local. ``diagnostics``:
        :class:`DebiasedFit`.

    Raises:
        ValueError: ε <= 0, observed reports that aren't such, shapes that don't fit, nothing observed, γ < 0.

    >>> reports = jnp.repeat(jnp.array([[1, 1, 1], [1, 1, 0], [0, 1, 1]]), 40, axis=0)
    >>> estimate = debiased_rr(reports, reports >= 0, jnp.full(120, 2.0))
    >>> estimate.value.argsort().tolist(), float(estimate.guarantee.also[0].epsilon)
    ([2, 1, 0], 6.0)
    """
    link = get_link(link)
    if gamma is not None:
        check_nonnegative("gamma", gamma)
    checked = _checked(reports, observed, epsilon, mechanism, mask)
    return _debiased_rr(*checked, gamma, mask, link, bool(weighted), bool(debiased), mechanism)


def debiased_sums(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    weighted: bool = True,
    debiased: bool = True,
    *,
    mechanism: str = "randomized-response",
    mask: MaskLike | None = None,
) -> DebiasedSums:
    """The sums that :func:`~privrank_jax.pairwise.debiased_rr` fits; arguments and errors as there.

    Returns:
        :class:`DebiasedSums`; with ``weighted=False`` W_ij is the number of reports.

    >>> sums = debiased_sums([[1, 1, 0]], [[1, 0, 1]], [np.inf])
    >>> sums.wins.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    checked = _checked(reports, observed, epsilon, mechanism, mask)
    return _sums_of(*checked, mask, bool(weighted), bool(debiased), mechanism)


def scores_from_sums(
    sums: DebiasedSums, link: str | Link = "logistic", gamma: Scalar = 2.0
) -> Estimate:
    """Scores θ that minimize -Σ_{i<j} {Z log F + (W - Z) log(1-F)} + γ/2 ‖θ‖², Z = W/2 + D.

    For the logistic link this is :func:`~privrank_jax.pairwise.fit` at totals Σ_j Z_ij.

    Args:
        sums: D and W of m items.
        link: as :func:`debiased_rr`.
        gamma: ridge γ >= 0, may be traced; a negative one or an unknown link is a ``ValueError``.

    Returns:
        As :func:`debiased_rr`, in the dtype of the sums, but for the guarantee, which is that of the reports.

    >>> sums = DebiasedSums(jnp.array([[0.0, 2.0], [-2.0, 0.0]]), jnp.array([[0.0, 8.0], [8.0, 0.0]]))
    >>> round(float(scores_from_sums(sums, gamma=0.0).value[0]), 3)  # 6 wins to 2: log(3)/2
    0.549
    """
    check_nonnegative("gamma", gamma)
    return _fit(sums, gamma, get_link(link))


def smallest_curvature(
    theta: ScoresLike, sums: DebiasedSums, link: str | Link = "logistic"
) -> Float[Array, ""]:
    """Least eigenvalue over Σθ = 0 of the Hessian of -Σ_{i<j} {Z log F + (W - Z) log(1-F)} at ``theta``.

    Divided by Σ_l tanh²(ε_l/2) (L without weights) it is the smallest non-zero eigenvalue of the published objective
    (Figure 3).

    Args:
        theta: ``(m,)`` scores; ``sums`` and ``link`` are arguments as of :func:`scores_from_sums`.

    Returns:
        ``()``; no gradient flows through it.

    >>> sums = DebiasedSums(jnp.zeros((2, 2)), jnp.array([[0.0, 8.0], [8.0, 0.0]]))
    >>> round(float(smallest_curvature([0.0, 0.0], sums)), 3)  # 2 · 8/4
    4.0
    """
    theta = jax.lax.stop_gradient(jnp.asarray(theta))
    gap = theta[:, None] - theta[None, :]
    bend = jax.lax.stop_gradient(sums.wins) * get_link(link).curvature(gap)
    weight = bend + bend.T
    real = jnp.ones(theta.shape, bool) if sums.mask is None else sums.mask
    degree = weight.sum(-1)
    # All eigenvalues are at most twice the largest absolute row sum. The direction 1 and masked items get a larger
    # one, so that the smallest eigenvalue belongs to Σθ = 0.
    above = 4 * jnp.max(jnp.sum(jnp.abs(weight), -1))
    share = jnp.where(real[:, None] & real[None, :], above / jnp.maximum(jnp.sum(real), 1), 0)
    return eigenvalues(jnp.diag(jnp.where(real, degree, above)) - weight + share)[0]


def report_standard_errors(
    theta: ScoresLike,
    sums: DebiasedSums,
    squares: PairMatrixLike | None = None,
    *,
    gamma: Scalar = 0.0,
    link: str | Link = "logistic",
) -> Uncertainty:
    """Covariance and standard errors of scores from :func:`scores_from_sums` (Lemma 2, with its constants).

    Args:
        theta: ``(m,)`` the scores.
        sums: the sums to which the scores were fitted, adaptive and debiased.
        squares: ``(m, m)`` symmetric, Q_ij = Σ tanh⁴(ε/2) of the reports on the pair. ``None`` takes 0, which
            makes intervals somewhat too wide where preferences are sharp and ε is large.
        gamma: ridge γ of the fit, may be traced.
        link: as in the fit.

    Returns:
        :class:`~privrank_jax.pairwise.uncertainty.Uncertainty`, centered at the scores less the ridge bias; errors as
        of :func:`~privrank_jax.pairwise.standard_errors`.

    >>> sums = DebiasedSums(jnp.zeros((2, 2)), 100 * jnp.tanh(0.5) ** 2 * (1 - jnp.eye(2)))  # 100 reports at ε = 1
    >>> errors = report_standard_errors([0.0, 0.0], sums)
    >>> round(float(2 * errors.standard_errors[0] * jnp.tanh(0.5)), 4)  # of the difference: 0.2 without privacy
    0.2
    """
    link = get_link(link)
    theta, weights, mask = as_design(theta, sums.weights, sums.mask)
    fourth = 0.0 if squares is None else as_design(theta, squares, sums.mask)[1]
    theta = center(theta, mask)
    gap = theta[:, None] - theta[None, :]
    pull = jnp.square(link.score(gap) + link.score(-gap))  # F'/(F(1-F)), squared
    spread = pull * (0.25 * weights - fourth * jnp.square(link.cdf(gap) - 0.5))
    outcomes = jnp.diag(spread.sum(-1)) - spread
    return standard_errors(theta, weights, gamma=gamma, link=link, outcomes=outcomes, mask=mask)


@functools.partial(jax.jit, static_argnames=("link", "weighted", "debiased", "mechanism"))
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
) -> Estimate:
    sums = _sums_of(reports, observed, epsilon, mask, weighted, debiased, mechanism)
    if gamma is None:
        present = jnp.any(observed, 1)
        _, weight = coefficients(epsilon, weighted, debiased, mechanism)
        information = jnp.sum(jnp.where(present, jnp.square(jnp.tanh(0.5 * epsilon)), 0))
        total_weight = jnp.sum(jnp.where(present, weight, 0))
        gamma = 2.0 * jnp.where(information > 0, total_weight / information, 1)
    fitted = _fit(sums, gamma, link)
    return dataclasses.replace(fitted, guarantee=local_guarantee(epsilon, observed.sum(1)))


@functools.partial(jax.jit, static_argnames=("link",))
def _fit(sums: DebiasedSums, gamma: Scalar, link: Link) -> Estimate:
    found = fit_signed(sums.margins, sums.weights, link, gamma=gamma, mask=sums.mask)
    value = center(found.value, sums.mask)
    fit = FitDiagnostics.of(found)
    gamma = jnp.asarray(gamma, value.dtype)
    return Estimate(value, None, DebiasedFit(fit, smallest_curvature(value, sums, link), gamma))


@functools.partial(jax.jit, static_argnames=("weighted", "debiased", "mechanism"))
def _sums_of(
    reports: Shaped[Array, "users pairs"],
    observed: Bool[Array, "users pairs"],
    epsilon: Float[Array, "users"],
    mask: MaskLike | None,
    weighted: bool,
    debiased: bool,
    mechanism: str,
) -> DebiasedSums:
    numbers = mechanism == "laplace"
    values = reports.astype(epsilon.dtype) if numbers else report_values(reports, epsilon.dtype)
    centered = jnp.where(observed, values - 0.5, 0)
    lean, weight = coefficients(epsilon, weighted, debiased, mechanism)
    weights = total(weight, observed.astype(epsilon.dtype))
    return DebiasedSums.from_pairs(total(lean, centered), weights, mask)


def total(
    weights: Float[Array, "users"], values: Float[Array, "users pairs"]
) -> Float[Array, "pairs"]:
    """Σ_l weights_l values_lp."""
    # TF32 products, the default on GPUs, would round the weights to ten bits.
    return jnp.einsum("l,lp->p", weights, values, precision=jax.lax.Precision.HIGHEST)


def coefficients(
    epsilon: Float[Array, "users"], weighted: bool, debiased: bool, mechanism: str
) -> tuple[Float[Array, "users"], Float[Array, "users"]]:
    """Contribution of a report ỹ to D per unit of ỹ - 1/2, and to W."""
    one = jnp.ones_like(epsilon)
    if mechanism == "laplace":
        weight = 1 / (1 + 8 / jnp.square(epsilon)) if weighted else one
        return weight, weight
    tanh = jnp.tanh(0.5 * epsilon)
    weight = jnp.square(tanh) if weighted else one
    if not debiased:
        return weight, weight
    return (tanh if weighted else 1 / tanh), weight


def kept_pairs(
    observed: Bool[Array, "users pairs"], mask: MaskLike | None
) -> Bool[Array, "users pairs"]:
    """Which reports are observed and compare two real items."""
    if mask is None:
        return observed
    first, second = np.triu_indices(num_items(observed.shape[1]), 1)
    mask = jnp.asarray(mask, bool)
    return observed & mask[first] & mask[second]


def num_items(pairs: int) -> int:
    """m from its number of pairs m(m-1)/2; 0 where there is no such m."""
    items = (1 + math.isqrt(1 + 8 * pairs)) // 2
    return items if items * (items - 1) // 2 == pairs else 0


def _checked(
    reports: ReportTableLike,
    observed: ReportTableLike,
    epsilon: NumbersLike,
    mechanism: str,
    mask: MaskLike | None,
) -> tuple[Shaped[Array, "users pairs"], Bool[Array, "users pairs"], Float[Array, "users"]]:
    """Arrays of one problem: reports, whether observed of two real items, and ε of the working dtype."""
    check_choice("mechanism", mechanism, ("randomized-response", "laplace"))
    epsilon = check_epsilon(epsilon)
    shape, seen = shape_of("reports", reports), shape_of("observed", observed)
    if len(shape) != 2 or seen != shape:
        raise ValueError(
            f"reports and observed need one shape (users, pairs), got {shape} and {seen}; "
            "use jax.vmap for a batch of problems."
        )
    items = num_items(shape[1])
    if shape[0] < 1 or items < 2:
        raise ValueError(
            f"{shape[0]} user(s) and {shape[1]} pair(s) cannot be fitted: pass at least one user, and "
            "m(m-1)/2 pairs for some number m >= 2 of items."
        )
    check_shape("epsilon", epsilon, (), shape[:1])
    if mask is not None:
        check_shape("mask", mask, (items,))
    check_bits("observed", observed)
    if not is_traced(observed, mask):
        told = np.asarray(observed, bool)
        told = told if mask is None else np.asarray(kept_pairs(jnp.asarray(told), mask))
        if not told.any():
            raise ValueError("nothing is observed: no report of two real items to rank by.")
        if mechanism == "randomized-response":
            check_reports(reports, where=told)
        elif not is_traced(reports) and not np.all(np.isfinite(np.asarray(reports, float)[told])):
            raise ValueError("reports must be finite numbers wherever they are observed.")
    reports, epsilon = jnp.asarray(reports), jnp.asarray(epsilon)
    dtype = epsilon.dtype if jnp.issubdtype(epsilon.dtype, jnp.floating) else jnp.result_type(float)
    if jnp.issubdtype(reports.dtype, jnp.floating):
        dtype = jnp.promote_types(dtype, reports.dtype)
    epsilon = jnp.broadcast_to(epsilon.astype(dtype), shape[:1])
    return reports, kept_pairs(jnp.asarray(observed) == 1, mask), epsilon

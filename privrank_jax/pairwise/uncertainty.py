r"""Standard errors of fits and of win totals, privacy noise included.

Everything here is post-processing of the release: it takes the private estimate, the public noise and ridge, and the
design, never the outcomes, but for ``ties`` and ``outcomes`` of fits without privacy. The design is public under
``adjacency="flip"``; otherwise the caller passes a public one.

**Fits.** β are all parameters: scores, coefficients of features, log ν of ties (:mod:`privrank_jax.pairwise.designs`).
A perturbed or ridge fit solves ∇L(β̃) + Rβ̃ = -w, R = diag(γ). The design identifies differences within components of
items that met, and all other parameters. On these directions :math:`β̃ - β = H^{-1}(S - w - Rβ)` to first order, with S
the score of the answers, of covariance I (the Fisher information at β̃), and H = I + R. So β̃ has covariance
:math:`H^{-1}(I + V)H^{-1}`, V the covariance of w, about the *penalized* target, and the bias -H⁻¹Rβ about the truth.

One Newton step of the fit without ridge, β̃ + I⁻¹Rβ̃, removes that bias and has covariance :math:`I^{-1}(I + V)I^{-1}`.
V is 2λ² Id (Laplace), σ² Id (Gaussian) or, for K-norm noise, 1/ε² times a matrix that depends on the questionnaire, not
on ε (:mod:`privrank_jax.privacy.noise_law`).

**Where the ridge bias can't be removed.** A fit is ``near`` its center if no answer's information, about log-odds or
log ν, changes by more than a factor of ``MOST_CHANGE`` along the step; otherwise intervals are infinite. Where the
likelihood has no finite maximum (separation: some items never lost to the others), the step is too long for every γ.

Let u be a direction in which the likelihood never falls, u_k ≥ 0 its difference along comparison k, winner less loser,
and q_k the gradient of the comparison's log likelihood. The step d solves Σ I_k u_k d_k = Σ q_k u_k, so d_k ≥ q_k/I_k
for some k with u_k > 0. Such an increase of a difference multiplies the pair's information by at most 0.43 (logistic
link), 0.37 (laplace) or 0.56 (normal).

**Ties as half wins.** Outcomes then vary less, and S has a covariance C ≼ I, which takes the place of the inner I: each
pair keeps the share of its information that :func:`privrank_jax.pairwise.meetings.varying_share` finds from its ties.
C needs the ties of each pair, which are outcomes. Without them, as after a private release, errors are too wide where
ties are common (by 15 % at equal items, a quarter of whose comparisons are ties).

**Win totals** have covariance Laplacian(M_ij p_ij(1 - p_ij)) ≼ Laplacian(M)/4 whatever the p_ij, plus V; with known
ties T_ij it is at most Laplacian(M - T)/4.

**Users whose answers hang together.** Let :math:`s_u = \sum_r w_r ρ_r (e_i - e_j)` be the part of user u in the
gradient at the fit. Here r runs over the rows of u, i and j are the items of row r, and w_r is its weight. The slope of
its log-likelihood in θ_i - θ_j is ρ_r: F'/F(θ_i - θ_j) where i won, -F'/F(θ_j - θ_i) where j did, their mean for a tie.

If users answer independently of one another, the gradient has the covariance :math:`C = \sum_u E[s_u s_uᵀ]`, which
takes the place of the inner I (Liang and Zeger, *Biometrika* 73, 1986). With each row as a user of its own, errors are
right for weighted rows, however much outcomes vary.

**Few users.** At the fit s_u is too small, as user u drew the fit to themselves: to first order it is :math:`s_u^0 -
H_u I^{-1} \sum_v s_v^0`, s⁰ at the truth, H_u the part of u in the information I. So if answers are independent,
:math:`\sum_u s_u s_uᵀ` has the expectation :math:`I - \sum_u H_u I^{-1} H_u`. The missing part is at most :math:`B =
\sum_u \min(1, ℓ_u) H_u`, ℓ_u = tr(I⁻¹H_u) the leverage of u: K = I^{-1/2} H_u I^{-1/2} has eigenvalues in [0, 1] with
sum ℓ_u, so K² ≼ min(1, ℓ_u) K. Where answers hang together, or weights differ, more is missing; hence

.. math:: C = \sum_u s_u s_uᵀ + \max(1, φ) B, \qquad φ = \mathrm{tr}\Bigl(I^{-1} \sum_u s_u s_uᵀ\Bigr) / \mathrm{rank} I

much as Morel, Bokossa and Neerchal do (*Biometrical J.* 45, 2003): φ is the factor by which variances are larger than
those of independent answers, on average over directions. The leverages add up to rank I < m, so B fades as users become
many. Where one user made all comparisons of an item, B keeps its error at what independent answers have at least.

**Assumptions.** The model holds, answers are independent given its parameters (those of one user too, but with
``outcomes``), and errors are small enough for one linear step.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Integer

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._components import components
from privrank_jax._counting import FlagsLike, WeightsLike, check_comparisons, count_on_host
from privrank_jax._pytrees import pytree, static
from privrank_jax._quickly import quickly
from privrank_jax._types import (
    MaskLike,
    PairMatrix,
    PairMatrixLike,
    RowsLike,
    Scalar,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import check_choice, check_nonnegative, check_shape, is_traced
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.comparisons import default_float
from privrank_jax.links import Link, get_link, logistic
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.designs import Counts, Design, Information, ModelScores, Parameters
from privrank_jax.pairwise.fits import information
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.meetings import as_design, checked_ties, varying_share
from privrank_jax.privacy.bodies import Independent, Law, Noise

MOST_CHANGE = 1.75
"""Largest factor by which an answer's information may change from the fit to the center of its intervals."""


@pytree
class Uncertainty:
    """The distribution of an estimate's error, to first order: of m scores or totals, then p coefficients, then log ν.

    Attributes:
        value: ``(parameters,)``, the estimate; scores are centered.
        center: ``(parameters,)``, where intervals are centered.
        covariance: ``(parameters, parameters)``, privacy noise included; of scores about the mean of their component.
        influence: ``(parameters, k)``, how the error depends on the k numbers of the privacy noise w.
        linked: ``(m, m)`` bool, pairs of real items whose difference the data identify.
        mask: ``(m,)`` bool, real items.
        noise: w, by its law.
        near: bool, whether the ridge bias can be removed.
        ties: whether the last parameter is log ν; static.
        pull: ``(m,)``, most that a ridge drew each score toward 0, all in proportion, where it was not removed.
    """

    value: Float[Array, "*batch parameters"]
    center: Float[Array, "*batch parameters"]
    covariance: Float[Array, "*batch parameters parameters"]
    influence: Float[Array, "*batch parameters numbers"]
    linked: Bool[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"]
    noise: Noise
    near: Bool[Array, "*batch"]
    ties: bool = static(default=False)
    pull: Float[Array, "*batch items"] | None = None

    @property
    @of_each_problem
    def variances(self) -> Scores:
        """``(m,)`` variance of each item; infinite unless all real items are linked, 0 if masked."""
        whole = jnp.sum(self.linked, -1) == jnp.sum(self.mask)
        own = jnp.diagonal(self.covariance)[: self.mask.shape[0]]
        return jnp.where(self.mask & ~whole, jnp.inf, own)

    @property
    def standard_errors(self) -> Scores:
        """``(m,)`` square roots of ``variances``."""
        return jnp.sqrt(self.variances)

    @property
    @of_each_problem
    def of_differences(self) -> PairMatrix:
        """``(m, m)`` variance of the difference of two items, if the data identify it."""
        m = self.mask.shape[0]
        covariance = self.covariance[:m, :m]
        own = jnp.diagonal(covariance)
        return own[:, None] + own[None, :] - 2 * covariance


def standard_errors(
    value: ModelScores | ScoresLike,
    design: Design | PairMatrixLike,
    *,
    noise: Noise | Scalar = 0.0,
    gamma: Scalar | Float[Array, "size"] = 0.0,
    tie_gamma: Scalar = 0.0,
    link: str | Link = "logistic",
    ties: PairMatrixLike | FlagsLike | None = None,
    outcomes: PairMatrixLike | None = None,
    mask: MaskLike | None = None,
    target: str = "truth",
) -> Uncertainty:
    """Covariance and standard errors of all that a fit found, private or not, for :func:`confidence_intervals`.

    Args:
        value: what was fitted: ``(m,)`` scores, or :class:`~privrank_jax.pairwise.designs.ModelScores`, in which log ν
            says that ties are outcomes of their own.
        design: the public part of the data: ``(m, m)`` comparison counts M_ij, expected ones too, or
            :class:`~privrank_jax.pairwise.designs.Counts`, or the ``design`` of a table with covariates or of choices.
        noise: of the release, on what is counted; a number, which may be traced, is the λ of Laplace noise.
        gamma: ridge γ >= 0 of the fit, or ``(m + p,)``, one number for each score and feature; may be traced.
        tie_gamma: ridge of log ν in the fit.
        link: as in the fit; other designs than counts have the logistic one.
        ties: ``(m, m)``, how many comparisons of each pair are ties, each half a win for both; of a table, ``(N,)``
            bool, which rows are. They are outcomes: only for fits without privacy, or where ties are public.
        outcomes: ``(m, m)``, covariance S of the gradient of the likelihood where it is not I, such as
            :func:`~privrank_jax.pairwise.uncertainty.clustered_covariance` finds without privacy.
        mask: ``(m,)`` bool, real items of a matrix.
        target: ``"truth"``: about the true parameters, centered at the estimates less their ridge bias;
            ``"penalized"``: about the minimizer of the expected ridged objective, centered at the estimates.

    Returns:
        :class:`Uncertainty`. Where the comparisons leave the items in several components, standard errors are infinite,
        and only ranks within components are bounded.

    Raises:
        ValueError: shapes differ, a fit that is not finite, counts negative or not symmetric, a negative scale or
            ridge, more ties than comparisons, ties beside ``outcomes`` or log ν, noise on other numbers, unknown names.

    >>> errors = standard_errors([0.0, 0.0], [[0, 100], [100, 0]])
    >>> round(float(2 * errors.standard_errors[0]), 4)  # of the difference: 1/√(100/4)
    0.2
    """
    link = get_link(link)
    check_choice("target", target, ("truth", "penalized"))
    check_nonnegative("gamma", gamma)
    check_nonnegative("tie_gamma", tie_gamma)
    beta, design = _checked(value, design, mask)
    added = noise_on(noise, beta.size)
    tied = None if ties is None else _checked_ties(ties, beta, design)
    if outcomes is not None:
        if ties is not None:
            raise ValueError("outcomes have the ties in them: leave ties out.")
        outcomes = jnp.asarray(outcomes, beta.dtype)
        check_shape("outcomes", outcomes, beta.shape * 2)
    return _errors(beta, design, (gamma, tie_gamma), tied, outcomes, added, link, target == "truth")


def totals_standard_errors(
    totals: ScoresLike,
    comparisons: PairMatrixLike,
    *,
    noise: Noise | Scalar = 0.0,
    ties: PairMatrixLike | None = None,
    mask: MaskLike | None = None,
) -> Uncertainty:
    """Standard errors of win totals from :func:`noisy_counts`, about the expected totals Σ_j M_ij p_ij.

    They need no model. Expected totals order the items as θ does if every pair is compared equally often.

    Args:
        totals: ``(m,)`` released totals.
        comparisons: ``(m, m)`` public comparison counts M_ij, or expected ones. Other arguments and errors are those of
            :func:`standard_errors`.

    Returns:
        :class:`Uncertainty` of the totals.

    >>> errors = totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]], noise=2.0)
    >>> round(float(errors.standard_errors[0]) ** 2, 3)  # 100/4 + 2·2²
    33.0
    """
    totals, comparisons, mask = as_design(totals, comparisons, mask)
    tied = checked_ties(ties, totals, comparisons, mask)
    comparisons = comparisons if tied is None else comparisons - tied
    added, influence = noise_on(noise, totals.size), jnp.diag(mask.astype(totals.dtype))
    sampling = 0.25 * (jnp.diag(comparisons.sum(-1)) - comparisons)
    covariance = sampling + added.covariance(influence)
    linked, near = mask[:, None] & mask[None, :], jnp.asarray(True)
    return Uncertainty(totals, totals, covariance, influence, linked, mask, added, near)


def noise_on(noise: Noise | Scalar, count: int) -> Noise:
    """Noise on so many numbers, or ``ValueError``, by its law; of a number, Laplace noise of that scale."""
    if not isinstance(noise, Noise):
        noise = Noise.independent("laplace", noise, count)
    check_nonnegative("noise", noise.scale)
    known = noise.known
    body = known.body
    assert isinstance(body, Independent | Law)
    shape = body.shape if isinstance(body, Independent) else body.covariance.shape[-1:]
    if shape != (count,):
        raise ValueError(f"the noise must be on {count} numbers, one for each, got {shape}.")
    return known


def _checked(
    value: ModelScores | ScoresLike, design: Design | PairMatrixLike, mask: MaskLike | None
) -> tuple[Parameters, Design]:
    if isinstance(design, Design) and mask is not None:
        raise ValueError("mask is about the items of a matrix; other designs have their own.")
    fit = value if isinstance(value, ModelScores) else None
    modeled = fit is not None and fit.log_tie is not None
    if isinstance(design, Counts) or not isinstance(design, Design):
        known = (design.comparisons, design.mask) if isinstance(design, Counts) else (design, mask)
        scores: Any = value if fit is None else fit.scores
        theta, met, real = as_design(scores, *known)
        if isinstance(design, Counts):
            theta, met = theta.astype(design.dtype), met.astype(design.dtype)
        if fit is not None and modeled:
            theta = jnp.append(theta, jnp.asarray(fit.log_tie, theta.dtype))
        return theta, Counts(met, real, modeled)
    if isinstance(design, CovariateDesign) and design.ties != modeled:
        design = dataclasses.replace(design, ties=modeled)
    beta = design.beta_of(value).astype(design.dtype)
    if beta.shape != (design.size + design.ties,):
        raise ValueError(
            f"the fit must have {design.num_items} scores and {design.size - design.num_items} coefficients, got "
            f"{beta.size} numbers in all."
        )
    if not is_traced(beta) and not np.all(np.isfinite(np.asarray(beta))):
        raise ValueError("scores and coefficients must be finite; did the fit converge?")
    return beta, design


def _checked_ties(
    ties: PairMatrixLike | FlagsLike, beta: Parameters, design: Design
) -> Array | None:
    """Ties of each pair, or of rows, beside the design in which they are half wins."""
    if isinstance(design, Counts) and not design.ties:
        assert design.item_mask is not None
        met = jnp.asarray(design.comparisons)
        return checked_ties(jnp.asarray(ties), beta, met, design.item_mask)
    if not isinstance(design, CovariateDesign) or design.ties:
        raise ValueError("ties are about comparisons whose ties are half wins: leave them out.")
    flags = jnp.asarray(ties)
    if flags.dtype != bool or flags.shape != design.first.shape:
        raise ValueError(
            f"ties must be bool of shape {design.first.shape}, got {flags.dtype} of shape {flags.shape}."
        )
    return flags


@functools.partial(jax.jit, static_argnames=("link", "about_truth"))
def _errors(
    beta: Parameters,
    design: Design,
    ridges: tuple[Any, Scalar],
    ties: Array | None,
    outcomes: PairMatrix | None,
    noise: Noise,
    link: Link,
    about_truth: bool,
) -> Uncertainty:
    m, size, dtype = design.num_items, beta.shape[0], beta.dtype
    ridge = design.all_ridges(*ridges).astype(dtype)
    mask = jnp.ones(m, bool) if design.item_mask is None else design.item_mask
    beta = beta.at[:m].set(center(beta[:m], mask))
    within, linked = identified(design.linked, dtype)
    project = jnp.eye(size, dtype=dtype).at[:m, :m].set(within)
    fisher = of_full_rank(_information(design, beta, link), project)
    if outcomes is None:
        outcomes = fisher if ties is None else _of_half_wins(design, beta, ties, link)
    bend = fisher if about_truth else fisher + product(project * ridge, project)
    influence = project_inverse(bend, project)
    spread = outcomes + noise.covariance(project)
    covariance = product(product(influence, spread), influence.T)
    middle = beta + product(influence, ridge * beta) if about_truth else beta
    change = _bend(design, beta, link) - _bend(design, middle, link)
    near = jnp.all(jnp.abs(change) <= math.log(MOST_CHANGE))
    units = jnp.ones_like(beta)
    if design.feature_units is not None:
        units = units.at[m : design.size].set(design.feature_units)
    return Uncertainty(
        beta / units,
        middle / units,
        covariance / units / units[:, None],
        influence / units[:, None],
        linked & mask[:, None] & mask[None, :],
        mask,
        noise,
        near,
        design.ties,
    )


def _information(design: Design, beta: Parameters, link: Link) -> Information:
    """The Fisher information; counts whose ties are half wins may have any link."""
    if isinstance(design, Counts) and not design.ties:
        return information(beta, jnp.asarray(design.comparisons), link)
    return design.information(beta)


def _bend(design: Design, beta: Parameters, link: Link) -> Array:
    """Log of the information of each answer; 0 for padding."""
    if isinstance(design, Counts) and not design.ties:
        gap = design.log_odds(beta)
        return design.real(jnp.log(link.score(gap)) + jnp.log(link.score(-gap)))
    return design.bend(beta)


def _of_half_wins(design: Design, beta: Parameters, ties: Array, link: Link) -> Information:
    """Covariance of the gradient of the likelihood where ties count half for both items."""
    if isinstance(design, Counts):
        met, gap = jnp.asarray(design.comparisons), design.log_odds(beta)
        left = varying_share(met * link.cdf(gap) * link.cdf(-gap), ties)
        return information(beta, met * left, link)
    assert isinstance(design, CovariateDesign)
    odds = design.log_odds(beta)
    most = logistic.curvature(odds)

    def of_pairs(weights: Array) -> Array:
        return -design.gram(weights)[: design.num_items, : design.num_items]  # off the diagonal

    left = varying_share(of_pairs(most), of_pairs(ties.astype(most.dtype)))
    return design.gram(most * left[design.first, design.second])


def identified(
    met: Bool[Array, "items items"], dtype: DTypeLike
) -> tuple[PairMatrix, Bool[Array, "items items"]]:
    """The projection on differences within components of items that met, and the pairs within them."""
    labels = components(met)
    linked = labels[:, None] == labels[None, :]
    return jnp.eye(met.shape[0], dtype=dtype) - linked / jnp.sum(linked, -1).astype(dtype), linked


def of_full_rank(fisher: PairMatrix, project: PairMatrix) -> PairMatrix:
    """The information plus what rounding may have taken from it, on the range of the projection."""
    slack = 4 * fisher.shape[0] * jnp.finfo(fisher.dtype).eps * _largest(fisher)
    return fisher + slack * project


def project_inverse(bend: PairMatrix, project: PairMatrix) -> PairMatrix:
    """Inverse of ``bend`` on the range of ``project``, the identified differences, and 0 on its complement."""
    shift = jnp.eye(bend.shape[0], dtype=bend.dtype) - project
    return product(project, solve_positive_definite(bend + _largest(bend) * shift, project))


def _largest(matrix: PairMatrix) -> Float[Array, ""]:
    most = jnp.max(jnp.diagonal(matrix))
    return jnp.where(most > 0, most, 1.0)


def clustered_covariance(
    theta: ScoresLike,
    users: RowsLike,
    winners: RowsLike,
    losers: RowsLike,
    *,
    weights: WeightsLike | None = None,
    tied: FlagsLike | None = None,
    link: str | Link = "logistic",
) -> PairMatrix:
    """Covariance of the gradient of the likelihood where the answers of one user may depend on each other.

    For ``outcomes`` of :func:`standard_errors`, without privacy; computed on the host, without traced values.

    Args:
        theta: ``(m,)`` scores fitted to these comparisons, each as often as it counts.
        users: ``(N,)`` int, who compared; ``range(N)`` where each row is independent of the others.
        winners: ``(N,)`` int, item that won.
        losers: ``(N,)`` int, item that lost.
        weights: ``(N,)`` float, how often each comparison counts, such as the inverse of its probability; default 1.
        tied: ``(N,)`` bool; a tie is half a win for both items.
        link: as in the fit.

    Returns:
        ``(m, m)``, symmetric, without negative eigenvalues, its rows of sum 0.

    Raises:
        ValueError: shapes differ, users or items that are none, negative weights, scores not finite, traced arguments.

    >>> users, winners, losers = [0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 0, 1], [1, 1, 0, 0, 1, 0]
    >>> found = clustered_covariance([0.0, 0.0], users, winners, losers)
    >>> round(float(found[0, 0]), 2)  # 2 of the two users who agree with themselves, 2/3 of B; if independent 6/4
    2.67
    """
    link = get_link(link)
    if is_traced(theta, users, winners, losers, weights, tied):
        raise ValueError("clustered_covariance works on the host: call it outside jit and vmap.")
    values = np.asarray(theta, np.result_type(np.asarray(theta), default_float()))
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("theta must be finite scores of shape (m,); did the fit converge?")
    size = values.size
    check_comparisons(winners, losers, size, weights, tied)
    first, second = (np.asarray(items, np.int32) for items in (winners, losers))
    who = np.asarray(users)
    if who.shape != first.shape or not (who.size == 0 or np.issubdtype(who.dtype, np.integer)):
        raise ValueError(
            f"users must be integers of shape {first.shape}, one per row, got {who.dtype} of shape {who.shape}."
        )
    weight = np.ones(first.shape) if weights is None else np.asarray(weights, np.float64)
    wins = count_on_host(first, second, size, weight, tied)
    slope = np.asarray(quickly(link.score, values[:, None] - values[None, :]), np.float64)
    ahead, behind = slope[first, second], slope[second, first]
    inverse, rank = _inverse(slope * slope.T, wins + wins.T)
    ties = False if tied is None else np.asarray(tied, bool)
    pull = weight * np.where(ties, 0.5 * (ahead - behind), ahead)
    dense = who.size and 0 <= who.min() <= who.max() < 2 * who.size  # as numbers of a table are
    user = who if dense else np.unique(who, return_inverse=True)[1].ravel()
    found = _sum_of_squares(user, first, second, pull, size)
    inflation = max(1.0, float(np.sum(inverse * found)) / max(rank, 1))
    bend = weight * ahead * behind
    own = np.diagonal(inverse)
    of_row = bend * (own[first] + own[second] - 2 * inverse[first, second])
    leverage = np.minimum(np.bincount(user, of_row), 1.0)
    missing = count_on_host(first, second, size, inflation * leverage[user] * bend, None)
    missing += missing.T
    found += np.diag(missing.sum(1)) - missing
    return jax.device_put(found.astype(values.dtype))


def _inverse(each: np.ndarray, met: np.ndarray) -> tuple[np.ndarray, int]:
    """The inverse of the information on the differences that it identifies, and their number, by NumPy.

    Args:
        each: ``(m, m)``, the information of one comparison of two items.
        met: ``(m, m)``, how often they were compared.
    """
    labels = components(met)
    linked = labels[:, None] == labels[None, :]
    rest = linked / linked.sum(1)
    project = np.eye(labels.size) - rest
    pairs = met * each
    largest = max(pairs.sum(1)) or 1.0
    slack = (
        4 * labels.size * np.finfo(np.float64).eps
    )  # more than rounding takes from the least eigenvalue
    bend = np.diag(pairs.sum(1)) - pairs + largest * (slack * project + rest)
    return project @ np.linalg.solve(bend, project), round(np.trace(project))


def _sum_of_squares(
    users: Integer[np.ndarray, "rows"],
    first: Integer[np.ndarray, "rows"],
    second: Integer[np.ndarray, "rows"],
    pull: Float[np.ndarray, "rows"],
    num_items: int,
) -> Float[np.ndarray, "items items"]:
    """``(m, m)``, the sum over users of ssᵀ, s the sum of their rows: ``pull`` for one item, less for the other."""
    import scipy.sparse

    parts, places = np.concatenate([pull, -pull]), np.concatenate([first, second])
    shape, rows = (int(users.max(initial=-1)) + 1, num_items), np.tile(users.astype(np.int32), 2)
    sums = scipy.sparse.csr_array((parts, (rows, places)), shape=shape)
    return (sums.T @ sums).toarray()

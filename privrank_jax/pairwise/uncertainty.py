r"""Standard errors of private scores and win totals, privacy noise included.

Everything here is post-processing of the release: it takes the private estimate, the public noise scale and ridge,
and the comparison counts M_ij, never the outcomes, and so spends no privacy. The counts are public under
``adjacency="flip"``; under ``"replace"`` and ``"add-remove"`` they are private, and the caller passes a public
design instead, such as :func:`~privrank_jax.pairwise.meetings.uniform_design`. The exceptions are ``ties`` and
``outcomes``, for fits without privacy.

**Scores.** The perturbed MLE solves ∇L(θ̃) + γθ̃ = -w. To first order
:math:`θ̃ - θ = H^{-1}(S - w - γθ)` on the space Σθ = 0, with S the score of the comparisons, of covariance I (the Fisher
information), and H = I + γ. So θ̃ has covariance :math:`H^{-1}(I + V)H^{-1}`, V the covariance of w, about the
*penalized* target, and the bias -γH⁻¹θ about the truth. One Newton step of the fit without ridge, θ̃ + γI⁻¹θ̃, removes
that bias and has covariance :math:`I^{-1}(I + V)I^{-1}`. I is evaluated at θ̃. V is 2λ² Id (Laplace), σ² Id (Gaussian)
or, for K-norm noise, 1/ε² times a matrix that depends on the questionnaire, not on ε, and is found by a formula or by
simulation (:mod:`privrank_jax.privacy.noise_law`).

**Ties as half wins.** Outcomes then vary less, and S has covariance C = Laplacian(v F'²/(F(1-F))²) ≼ I, v the variance
of a pair's outcomes (:mod:`privrank_jax.pairwise.half_wins`), which takes the place of the inner I: the sandwich
covariance I⁻¹CI⁻¹ without privacy. C needs the ties of each pair, which are outcomes. Without them, as after a private
release, the inner I stays, and errors are too wide where ties are common (by 15 % at equal items, a quarter of whose
comparisons are ties): never too narrow.

**Users whose answers hang together, weights.** Without privacy the inner I may be any covariance of S: that of
:func:`~privrank_jax.pairwise.clustered_errors.clustered_covariance` counts users, not answers, as independent, and
serves weighted rows.

**Win totals.** The totals have covariance Laplacian(M_ij p_ij(1 - p_ij)) ≼ Laplacian(M)/4 whatever the p_ij, plus V;
with known ties T_ij it is at most Laplacian(M - T)/4.

**Assumptions.** The model's link is correct, comparisons are independent given the scores (several answers of one
user count as independent, but with ``outcomes``), and errors are small enough for one linear step.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float

from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._components import components
from privrank_jax._types import (
    Mask,
    MaskLike,
    PairMatrix,
    PairMatrixLike,
    Scalar,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import check_choice, check_nonnegative, is_traced
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.half_wins import varying_share
from privrank_jax.pairwise.likelihood import information
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.meetings import as_design, checked_ties
from privrank_jax.pairwise.questionnaire_noise import noise_on_totals, noise_that_was
from privrank_jax.privacy.bodies import Noise

TARGETS = ("truth", "penalized")


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Uncertainty:
    """The distribution of an estimate's error, to first order.

    Attributes:
        center: ``(m,)``, where intervals are centered.
        covariance: ``(m, m)``, of the estimate, privacy noise included; of scores, about the mean of
            their connected component.
        influence: ``(m, k)``, how the error depends on the privacy noise w, which has k = m numbers, or more where
            there are covariates or ties are modeled.
        linked: ``(m, m)`` bool, pairs of real items whose difference the data identify.
        mask: ``(m,)`` bool, real items.
        noise: w, by its law; None for no noise, or noise that counts as normal.
    """

    center: Float[Array, "*batch items"]
    covariance: Float[Array, "*batch items items"]
    influence: Float[Array, "*batch items numbers"]
    linked: Bool[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"]
    noise: Noise | None

    @property
    @of_each_problem
    def variances(self) -> Scores:
        """``(m,)`` variance of each item; infinite unless all real items are linked, 0 if masked."""
        whole = jnp.sum(self.linked, -1) == jnp.sum(self.mask)
        return jnp.where(self.mask & ~whole, jnp.inf, jnp.diagonal(self.covariance))

    @property
    def standard_errors(self) -> Scores:
        """``(m,)`` square roots of ``variances``."""
        return jnp.sqrt(self.variances)

    def check_whole(self, what: str) -> None:
        """Refuse, outside of ``jit`` and ``vmap``, scores of items that are masked or not linked with all others.

        Args:
            what: needs the scores of all items.

        Raises:
            ValueError: there are such items.
        """
        if is_traced(self):
            return
        if not np.all(np.asarray(self.mask)) or not np.all(np.asarray(self.linked)):
            raise ValueError(
                f"{what} need scores of real items that comparisons link, all with one another: leave others out."
            )


def standard_errors(
    theta: ScoresLike,
    comparisons: PairMatrixLike,
    *,
    noise_scale: Scalar = 0.0,
    gamma: Scalar = 0.0,
    link: str | Link = "logistic",
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    unanswered: bool = False,
    ties: PairMatrixLike | None = None,
    outcomes: PairMatrixLike | None = None,
    mask: MaskLike | None = None,
    target: str = "truth",
) -> Uncertainty:
    """Covariance and standard errors of scores from :func:`perturbed_mle` or :func:`mle`.

    Args:
        theta: ``(m,)`` released scores.
        comparisons: ``(m, m)`` public comparison counts M_ij, or expected ones.
        noise_scale: λ or σ, or 1/ε for K-norm noise, may be traced; 0 = no privacy noise.
        gamma: ridge γ >= 0 of the fit, may be traced.
        link: as in the fit.
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``; default K-norm noise with a questionnaire, else Laplace
            noise.
        questionnaire: ``(m, m)``, that of a release with K-norm noise; not traced.
        unanswered: whether its noise hides as well which questions a user answered, as under ``replace``.
        ties: ``(m, m)``, how many comparisons of each pair are ties, each half a win for both. They are outcomes: only
            for fits without privacy, or where ties are public.
        outcomes: ``(m, m)``, covariance of the gradient of the likelihood, such as
            :func:`~privrank_jax.pairwise.clustered_errors.clustered_covariance` finds without privacy; default: the
            Fisher information, less what ``ties`` take from it.
        mask: ``(m,)`` bool, real items.
        target: ``"truth"``: about θ, centered at the scores less their ridge bias; ``"penalized"``: about
            the minimizer of the expected ridged objective, centered at the scores.

    Returns:
        :class:`Uncertainty`. Where the comparisons leave the items in several components, the data do not
        determine differences between components: standard errors are infinite, and only ranks within components are
        bounded.

    Raises:
        ValueError: shapes differ, scores not finite, counts negative or not symmetric, negative scale or
            ridge, more ties than comparisons, ties beside ``outcomes``, K-norm noise without a questionnaire or a
            questionnaire with other noise, unknown names.

    >>> design = [[0, 100], [100, 0]]
    >>> errors = standard_errors([0.0, 0.0], design)
    >>> round(float(2 * errors.standard_errors[0]), 4)  # of the difference: 1/√(100/4)
    0.2
    """
    link = get_link(link)
    check_choice("target", target, TARGETS)
    theta, comparisons, mask = _checked(theta, comparisons, mask, noise_scale, gamma)
    tied = checked_ties(ties, theta, comparisons, mask)
    if outcomes is not None:
        if ties is not None:
            raise ValueError("outcomes have the ties in them: leave ties out.")
        outcomes = jnp.asarray(outcomes, theta.dtype)
        if outcomes.shape != comparisons.shape:
            raise ValueError(f"outcomes must have shape {comparisons.shape}, got {outcomes.shape}.")
    items, adjacency = theta.shape[0], "replace" if unanswered else "flip"
    kind, asked = noise_that_was(noise, questionnaire, items)
    added = noise_on_totals(kind, noise_scale, items, asked, adjacency).known
    return _score_errors(theta, comparisons, tied, outcomes, mask, gamma, added, link, target)


def totals_standard_errors(
    totals: ScoresLike,
    comparisons: PairMatrixLike,
    *,
    noise_scale: Scalar = 0.0,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
    ties: PairMatrixLike | None = None,
    mask: MaskLike | None = None,
) -> Uncertainty:
    """Standard errors of win totals from :func:`noisy_counts`, about the expected totals Σ_j M_ij p_ij.

    They need no model: the sampling variance of every difference of totals is bounded by its largest value,
    attained at p_ij = 1/2. Expected totals order the items as θ does if every pair is compared equally often.

    Args:
        totals: ``(m,)`` released totals.
        comparisons: ``(m, m)`` public comparison counts M_ij, or expected ones.
        noise_scale: λ or σ, or 1/ε for K-norm noise, may be traced.
        noise: as for :func:`standard_errors`.
        questionnaire: as for :func:`standard_errors`.
        ties: as for :func:`standard_errors`.
        mask: ``(m,)`` bool, real items.

    Returns:
        :class:`Uncertainty` of the totals.

    Raises:
        ValueError: as :func:`standard_errors`.

    >>> errors = totals_standard_errors([90.0, 10.0], [[0, 100], [100, 0]], noise_scale=2.0)
    >>> round(float(errors.standard_errors[0]) ** 2, 3)  # 100/4 + 2·2²
    33.0
    """
    totals, comparisons, mask = _checked(totals, comparisons, mask, noise_scale, 0.0)
    tied = checked_ties(ties, totals, comparisons, mask)
    comparisons = comparisons if tied is None else comparisons - tied
    kind, asked = noise_that_was(noise, questionnaire, totals.shape[0])
    added = noise_on_totals(kind, noise_scale, totals.shape[0], asked, "flip").known
    return _totals_errors(totals, comparisons, mask, added)


def _checked(
    value: ScoresLike,
    comparisons: PairMatrixLike,
    mask: MaskLike | None,
    noise_scale: Scalar,
    gamma: Scalar,
) -> tuple[Scores, PairMatrix, Mask]:
    check_nonnegative("noise_scale", noise_scale)
    check_nonnegative("gamma", gamma)
    return as_design(value, comparisons, mask)


@functools.partial(jax.jit, static_argnames=("link", "target"))
def _score_errors(
    theta: Scores,
    comparisons: PairMatrix,
    ties: PairMatrix | None,
    outcomes: PairMatrix | None,
    mask: Mask,
    gamma: Scalar,
    noise: Noise,
    link: Link,
    target: str,
) -> Uncertainty:
    theta, fisher, project, linked = differences(theta, comparisons, link, mask)
    if outcomes is None:
        outcomes = fisher
    if ties is not None:
        gap = theta[:, None] - theta[None, :]
        left = varying_share(comparisons * link.cdf(gap) * link.cdf(-gap), ties)
        outcomes = information(theta, comparisons * left, link)
    found = sandwich(theta, fisher, outcomes, project, gamma, noise, target)
    return Uncertainty(*found, linked & mask[:, None] & mask[None, :], mask, noise)


def sandwich(
    params: Float[Array, "parameters"],
    fisher: Float[Array, "parameters parameters"],
    outcomes: Float[Array, "parameters parameters"],
    project: Float[Array, "parameters parameters"],
    ridge: Scalar | Float[Array, "parameters"],
    noise: Noise | None,
    target: str = "truth",
) -> tuple[Array, Array, Array]:
    """Center, covariance and influence of a ridge fit, by the formulas at the head of this module.

    ``help(sys.modules[standard_errors.__module__])`` shows them.

    Args:
        params: the fit; scores are centered.
        fisher: their information, of full rank on the range of ``project``.
        outcomes: covariance of the gradient of the likelihood; the information, but for ties that are half wins.
        project: the projection on what the data identify.
        ridge: γ, or one for each parameter.
        noise: by its law; None for none.
        target: ``"truth"`` or ``"penalized"``.
    """
    ridge = jnp.broadcast_to(jnp.asarray(ridge, params.dtype), params.shape)
    penalized = target == "penalized"
    bend = fisher + product(project * ridge, project) if penalized else fisher
    influence = project_inverse(bend, project)
    spread = outcomes if noise is None else outcomes + noise.covariance(project)
    covariance = product(product(influence, spread), influence.T)
    middle = params if penalized else params + product(influence, ridge * params)
    return middle, covariance, influence


def differences(
    theta: Scores, weights: PairMatrix, link: Link, mask: Mask
) -> tuple[Scores, PairMatrix, PairMatrix, Bool[Array, "items items"]]:
    """Centered θ, its Fisher information, the projection on identified differences, and the linked pairs.

    Scores are known up to a shift of each connected component; each masked item is its own component.
    """
    theta = center(theta, mask)
    project, linked = identified(weights > 0, theta.dtype)
    return theta, of_full_rank(information(theta, weights, link), project), project, linked


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


@jax.jit
def _totals_errors(
    totals: Scores, comparisons: PairMatrix, mask: Mask, noise: Noise
) -> Uncertainty:
    influence = jnp.diag(mask.astype(totals.dtype))
    sampling = 0.25 * (jnp.diag(comparisons.sum(-1)) - comparisons)
    covariance = sampling + noise.covariance(influence)
    return Uncertainty(totals, covariance, influence, mask[:, None] & mask[None, :], mask, noise)

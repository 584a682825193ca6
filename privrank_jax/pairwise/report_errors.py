r"""Standard errors of scores from randomized reports, including the noise of the responses.

The fit of :func:`~privrank_jax.pairwise.debiased_rr` minimizes -Σ{Z log F + (W-Z) log(1-F)} + γ/2 ‖θ‖² over the sums Z
and W = Σ t², t = tanh(ε/2). To first order :math:`θ̂ - θ = H^{-1}(S - γθ)` on Σθ = 0, with S the gradient of the log
likelihood, of mean 0 because the reports are debiased, and E H = I + γ, I the Laplacian of W F'²/(F(1-F)). A term
t(ỹ-1/2) of Z has variance :math:`t^2\{1/4 - t^2(F-1/2)^2\}`, so with Q = Σ t⁴

.. math:: \mathrm{Cov}\,S = M = \mathrm{Laplacian}\{(F'/(F(1-F)))^2\,(W/4 - Q(F-1/2)^2)\},

and θ̂ has covariance H⁻¹MH⁻¹. A report is a bit even of a tie, which a coin decides before it is randomized: its
variance follows from its mean, however many answers are ties. One Newton step without the ridge removes its bias, as in
:mod:`~privrank_jax.pairwise.uncertainty`, and leaves I⁻¹MI⁻¹, the sandwich covariance. Without privacy Q = W
and M = I.

**Assumptions**, as in that module: the link is correct, reports are independent given the scores, errors are small
enough for one linear step. Only reports enter, so no privacy is spent.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from privrank_jax._types import Mask, PairMatrix, PairMatrixLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_nonnegative
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.debiasing import DebiasedSums
from privrank_jax.pairwise.meetings import as_design
from privrank_jax.pairwise.uncertainty import (
    Uncertainty,
    differences,
    hardly_changes,
    pair_bend,
    sandwich,
)


def report_standard_errors(
    theta: ScoresLike,
    sums: DebiasedSums,
    squares: PairMatrixLike | None = None,
    *,
    gamma: Scalar = 0.0,
    link: str | Link = "logistic",
) -> Uncertainty:
    """Covariance and standard errors of scores from :func:`~privrank_jax.pairwise.debiased_fit.scores_from_sums`.

    Args:
        theta: ``(m,)`` the scores.
        sums: the sums to which the scores were fitted, adaptive and debiased.
        squares: ``(m, m)`` symmetric, Q_ij = Σ tanh⁴(ε/2) of the reports on the pair. ``None`` takes 0, which
            makes intervals somewhat too wide where preferences are sharp and ε is large.
        gamma: ridge γ of the fit, may be traced.
        link: as in the fit.

    Returns:
        :class:`~privrank_jax.pairwise.uncertainty.Uncertainty`, centered at the scores less the ridge bias. Items
        not linked by reports have infinite standard errors.

    Raises:
        ValueError: shapes differ, scores not finite, sums negative or not symmetric, γ < 0, unknown link.

    Source: Lemma 2 of Xu, Sun and Cheng, with its constants; module head.

    >>> half = jnp.tanh(0.5) ** 2 * 100  # 100 reports on one pair at ε = 1
    >>> sums = DebiasedSums(jnp.zeros((2, 2)), half * (1 - jnp.eye(2)))
    >>> errors = report_standard_errors([0.0, 0.0], sums)
    >>> round(float(2 * errors.standard_errors[0] * jnp.tanh(0.5)), 4)  # of the difference: 0.2 without privacy
    0.2
    """
    link = get_link(link)
    check_nonnegative("gamma", gamma)
    theta, weights, mask = as_design(theta, sums.weights, sums.mask)
    fourth = jnp.zeros_like(weights) if squares is None else as_design(theta, squares, sums.mask)[1]
    return _errors(theta, weights, fourth, mask, gamma, link)


@functools.partial(jax.jit, static_argnames=("link",))
def _errors(
    theta: Scores, weights: PairMatrix, fourth: PairMatrix, mask: Mask, gamma: Scalar, link: Link
) -> Uncertainty:
    theta, fisher, project, linked = differences(theta, weights, link, mask)
    gap = theta[:, None] - theta[None, :]
    pull = jnp.square(link.score(gap) + link.score(-gap))  # F'/(F(1-F)), squared
    spread = pull * (0.25 * weights - fourth * jnp.square(link.cdf(gap) - 0.5))
    outcomes = jnp.diag(spread.sum(-1)) - spread
    middle, covariance, influence = sandwich(theta, fisher, outcomes, project, gamma, None)
    linked = linked & mask[:, None] & mask[None, :]
    near = hardly_changes(pair_bend(middle, weights, link) - pair_bend(theta, weights, link))
    return Uncertainty(theta, middle, covariance, influence, linked, mask, None, near)

r"""Private scores of win counts by noise in the objective of their likelihood.

Notation as at the head of :mod:`privrank_jax.mechanism.objective`; F the link, s = F'/F its score, κ₁ = sup
F'/(F(1-F)), κ₂ = sup -(log F)''.

**Noise term.** A comparison won at difference x = θ_i - θ_j contributes the gradient -s(x)(e_i - e_j): ℓ₁ norm 2s(x).
Flipped, it changes by (s(x) + s(-x))(e_i - e_j) = F'/(F(1-F)) (e_i - e_j), at most 2κ₁ in ℓ₁; replaced, by at most 4
sup s; added or removed, by 2 sup s. In ℓ₂ each is this over √2.

**Log-determinant term.** A comparison contributes c(x)(e_i - e_j)(e_i - e_j)ᵀ, c = -(log F)'' in [0, κ₂]. By the matrix
determinant lemma each comparison whose curvature grows adds at most log(1 + 2κ₂/γ), and one whose curvature shrinks
adds at most 0.

**Logistic link, Laplace noise.** c(x) = c(-x): a flip leaves the Hessian as it is, so its loss is 2/λ for **any** γ >
0. Where a comparison is added, gradient and curvature can't both be large: with p = F(x), 2(1-p)/λ + log(1 +
2p(1-p)/γ) has derivative at most -2/λ + 2/γ ≤ 0 in p when γ ≥ λ, because log(1+z) ≤ z and p(1-p) ≤ p; so it is at most
its value at p = 0, 2/λ. Hence ε = 2/λ (add, remove) and ε = 2/λ + 2/λ (replace). For L comparisons each of these is
multiplied by L.

**Logistic link, Gaussian noise.** A flip has a_l = s(x) + s(-x) = 1: the shift is constant, and δ exactly the Gaussian
mechanism's. Where comparisons are added or removed, **ε₀ = 0 if γ ≥ 2k/ε**, the floor of Laplace noise.

A comparison that leaves the data set adds at most 2a_l(1 - a_l)/γ to the log-determinant term (a_l = 1 - p, as above).
So its share of the loss is at most the largest value of a(X_l + k)/σ² + 2a(1 - a)/γ over a in [0, 1]. This concave
function has the slope (X_l + k)/σ² - 2/γ at a = 1. If that is at least 0, the largest value is (X_l + k)/σ², as without
the term. Otherwise the function is at most 2a/γ + 2a(1 - a)/γ = 2(1 - (1 - a)²)/γ ≤ 2/γ ≤ ε/k, and the comparison's
term in the sum there is 0.

**Weights.** An arena that shows some pairs more often than others weights each comparison by 1 divided by the
probability of its pair. Let weights be at most W, which is known without looking at the data, and count in units of W:
a comparison counts w in [0, 1], and the minimizer is the same. *All of the above holds for it, with the same noise and
least ridge. Under replacement and addition or removal a unit may change weights as well; under flips they are public.*

Proof. A comparison contributes the gradient -w s(x)(e_i - e_j) and the curvature w c(x), in [0, κ₂]: each bound of both
terms holds with the factor w ≤ 1, and a change of a weight is a removal and an addition.

Logistic link, Laplace noise, γ ≥ λ: an added comparison costs at most 2w(1 - p)/λ + log(1 + 2wp(1 - p)/γ) ≤ (2w/λ)(1 -
p²) ≤ 2/λ; a flip leaves the curvature w c(x) as it is. Gaussian noise: w a_l, in [0, A] too, takes the place of a_l; a
flip shifts by w, which is constant. Logistic link, γ ≥ 2k/ε: the share of a comparison that leaves is at most w times
the largest value above, w(X_l + k)/σ² ≤ (X_l + k)/σ², as X_l + k > 0, or 2w/γ ≤ ε/k. ∎

Weights are rounded down to multiples of 2^-10 W, so that the exact release has whole numbers to start from. Bounding
and rounding look at one row at a time, so neighbors stay neighbors.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax._counting import WeightsLike
from privrank_jax._types import Numbers, Scalar
from privrank_jax._validate import check_positive, in_floats, is_traced
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link, logistic
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.objective import Objective, Ridge, Tilt
from privrank_jax.pairwise.fits import FitDiagnostics, fit_counts
from privrank_jax.pairwise.graph import check_one_problem
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.noisy_totals import WIN_COUNTS, doubled_counts
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import COMPARISON_KINDS, Privacy

# Share of ε that the log-determinant term of other links than the logistic one may use: at the floor of γ, and where
# γ is ours to choose.
_SHARE_AT_FLOOR, _SHARE_CHOSEN = 0.5, 0.25
_WEIGHT_STEPS = 1024  # to the largest weight


def bounded_weights(weights: WeightsLike, most: Scalar) -> Float[Array, "rows"]:
    """Weights in units of a public bound, on a public grid: what each comparison counts in a private fit.

    Args:
        weights: ``(N,)``, at least 0.
        most: W > 0, known without looking at the data; larger weights count as W. Most should be near it.

    Returns:
        ``(N,)`` float in [0, 1], multiples of 2^-10: for ``weights`` of
        :meth:`~privrank_jax.comparisons.WinCounts.from_comparisons`, and then :data:`perturbed_mle` with
        ``weighted=True``.

    Raises:
        ValueError: negative weights, weights that are no finite numbers, a bound that is not positive and finite.

    >>> bounded_weights([0.5, 4.0, 99.0], 8.0).tolist()
    [0.0625, 0.5, 1.0]
    """
    check_positive("most", most, infinite=False)
    if not is_traced(weights):
        given = np.asarray(weights)
        if given.ndim != 1 or not np.all(np.isfinite(given) & (given >= 0)):
            raise ValueError("weights must be finite, at least 0, and of shape (N,).")
    share = jnp.minimum(jnp.asarray(in_floats("weights", weights)) / most, 1.0)
    return jnp.floor(share * _WEIGHT_STEPS) / _WEIGHT_STEPS


def _rules(facts: Facts) -> tuple[Link, bool]:
    """The link, and whether comparisons are weighted."""
    return facts.rules or (logistic, False)


def link_of(facts: Facts) -> Link:
    """The link, logistic if nothing else is said."""
    return _rules(facts)[0]


def _floats(
    wins: WinCounts, link: str | Link = "logistic", *, weighted: bool = False
) -> tuple[WinCounts, Facts]:
    check_one_problem(wins)
    return wins, Facts(wins.num_items, rules=(get_link(link), weighted))


def _whole(wins: WinCounts, **public: Any) -> tuple[Int[np.ndarray, "items items"], Facts]:
    facts = _floats(wins, **public)[1]
    return whole_wins(wins, _rules(facts)[1]), facts


def whole_wins(wins: WinCounts, weighted: bool = False) -> Int[np.ndarray, "items items"]:
    """Twice the win counts, or 2048 times weighted ones."""
    steps = (
        f"exact noise needs weights that are multiples of 1/{_WEIGHT_STEPS}: bound and round them by "
        "pairwise.perturbed_fit.bounded_weights."
    )
    counts = doubled_counts(wins, 2 * _WEIGHT_STEPS, steps) if weighted else doubled_counts(wins)
    if np.any(counts < 0) or np.any(np.diag(counts)):
        raise ValueError("win counts must be at least 0, and no item can meet itself.")
    return counts


def _slope(attained: Privacy, facts: Facts) -> Change:
    link = link_of(facts)
    if not math.isfinite(link.kappa1):
        raise ValueError(
            f"the {link.name} link has an unbounded score (κ₁ = ∞), so no finite noise makes the "
            "perturbed MLE private. Use link='logistic' or link='laplace', or noisy_counts, which "
            "needs no link."
        )
    most = {
        "flip": 2 * link.kappa1,
        "replace": 4 * link.sup_score,
        "add-remove": 2 * link.sup_score,
    }
    every = most[attained.adjacency] * attained.comparisons_per_unit
    return Change(lambda: [every / 2, every / 2], second=lambda: every / math.sqrt(2))


def _ridge(attained: Privacy, facts: Facts, change: Change) -> Ridge:
    link, epsilon = link_of(facts), attained.epsilon
    if link.name == "logistic" and attained.adjacency == "flip":
        return Ridge(fixed=True)
    if link.name == "logistic":
        return Ridge(change.size("laplace") / epsilon, tied=True)
    times = attained.comparisons_per_unit

    def spending(share: float) -> Any:
        return 2 * link.kappa2 / jnp.expm1(share * epsilon / jnp.asarray(times, float))

    return Ridge(
        spending(_SHARE_AT_FLOOR),
        spending(_SHARE_CHOSEN),
        lambda gamma: times * jnp.log1p(2 * link.kappa2 / gamma),
    )


def default_gamma(
    wins: WinCounts, privacy: Privacy, variance: Numbers, *, weighted: bool = False
) -> Numbers:
    """The γ chosen for utility at this noise variance per dimension, before its floor (see :data:`perturbed_mle`)."""
    users, adjacency = privacy.unit == "user", privacy.adjacency
    if adjacency == "add-remove" or (adjacency == "replace" and (users or weighted)):
        return 1.0  # the number of comparisons, or the sum of their weights, is private
    return least_risk_gamma(mean_degree(wins), variance)


def mean_degree(wins: WinCounts) -> Any:
    """Mean number of comparisons of a real item; fewer than two items count as two."""
    return jnp.sum(wins.degrees) / jnp.maximum(jnp.sum(wins.item_mask), 2)


def _fit(wins: WinCounts, facts: Facts, tilt: Any, gamma: Any) -> tuple[Any, Any]:
    found = fit_counts(wins, link_of(facts), gamma=gamma, tilt=tilt)
    return center(found.value, wins.mask), FitDiagnostics.of(found)


def perturbed_scores(counts: Int[np.ndarray, "items items"], facts: Facts, tilt: Tilt) -> list[int]:
    """Centered scores in multiples of the grid, of 2, or for weighted comparisons 2048 times the win counts."""
    from privrank_jax.exact.likelihoods import of_wins
    from privrank_jax.exact.minimizer import drawn_minimizer

    link, weighted = _rules(facts)
    likelihood = of_wins(counts, link.name, 2 * _WEIGHT_STEPS if weighted else 2)
    return drawn_minimizer(likelihood, (1,) * len(counts), tilt.noise, tilt.scale, tilt.gamma)


perturbed_mle = Objective(
    "perturbed_mle",
    """Private scores of :class:`~privrank_jax.comparisons.WinCounts`: the minimizer of -(log-likelihood) + (γ/2)‖θ‖² +
    wᵀθ with random w, centered. The likelihood is that of :func:`~privrank_jax.pairwise.mle`, a tie half a win.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, under any
    adjacency; theorems and proofs are at the heads of :mod:`privrank_jax.pairwise.perturbed_fit` and
    :mod:`privrank_jax.mechanism.objective`. λ is 2L/ε under ``flip`` and ``add-remove`` and 4L/ε under ``replace``, for
    users of L comparisons (one comparison: L = 1), with γ >= λ but under ``flip``. There the estimate is the ridge fit
    to noisy win totals, whatever γ and the solver (``numerics="simulation"``). Otherwise the proofs are for real
    numbers (``numerics="idealized"``), and ``release`` keeps them. Users need ``contributions``, which must hold in
    the data (:func:`~privrank_jax.comparisons.bound_contributions`).

    Public, and a choice of yours:

    - ``link``: ``"logistic"`` or ``"laplace"``; ``"normal"`` has κ₁ = ∞ and is refused.
    - ``weighted``: whether comparisons count less than once, by
      :func:`~privrank_jax.pairwise.perturbed_fit.bounded_weights`.

    ``gamma`` may be 0 under ``flip`` with the logistic link. The usual one has the least first-order risk for scores
    that are N(0, 1), raised to its floor; where the number of comparisons is private (``add-remove``, and ``replace``
    of a user) it is the floor or 1. With a public questionnaire, fit to :data:`~privrank_jax.pairwise.noisy_counts`.

    ``value``: θ̃, ``(m,)``, mean 0 over real items, high = preferred.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants ours.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> int(perturbed_mle(jax.random.key(0), wins, promise).value.argmax())
    0
    >>> [float(one) for one in perturbed_mle.scale(promise, Facts(2))]
    [2.0, 1.0]
    """,
    data=dataclasses.replace(WIN_COUNTS, floats=_floats, whole=_whole),
    kinds=COMPARISON_KINDS,
    slope=_slope,
    ridge=_ridge,
    fit=_fit,
    exact=lambda *given: perturbed_scores(*given),
    usual=lambda wins, facts, attained, variance: default_gamma(
        wins, attained, variance, weighted=_rules(facts)[1]
    ),
    noises=NOISES,
)

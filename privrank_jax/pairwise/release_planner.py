r"""Number of users, or ε, that a private release of scores by a curator needs for a target error.

**Theory.** A crowd of N comparisons meets i and j M_ij times, in proportion to a_i a_j, where an item of rank r by
exposure has a ∝ 1/r^power; or, where opponents are near in strength, an item is shown in proportion to a_i and its
opponent in proportion to a_j exp(-(θ_i - θ_j)²/2s²), s = 1/2. The fit with Laplace noise of scale λ on totals, or in
the objective, and ridge γ (:func:`~privrank_jax.pairwise.perturbed_mle`) is nearly normal about t, the ridge fit to the
expected wins, with

.. math:: \mathrm{Cov} = H^{-1} (I + 2λ^2 P) H^{-1}, \qquad H = I + γ,

I the Fisher information at t, P the projection on contrasts. λ and γ follow from the promise alone; under ``flip`` γ
depends on the number of comparisons too. So the error has three parts: answers ∝ 1/√N, noise ∝ 1/N, and the ridge's
bias t - θ ∝ 1/N. Where noise rules, twice the users halve it.

θ is unknown at planning time, so the functions take planning values. Which items are shown most is unknown as well:
they are taken in an order that has nothing to do with their scores.

**Errors** are those of :mod:`privrank_jax.pairwise.planner`, with the bias of each item squared into its variance; and
the share of pairs in the wrong order, the mean over pairs of P(t_i < t_j) where θ_i > θ_j.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._roots import log_root
from privrank_jax._types import Numbers, PairMatrix, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_positive
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.links import get_link, normal
from privrank_jax.pairwise.perturbed_fit import least_risk_gamma
from privrank_jax.pairwise.planner import expected_largest, largest_quantile
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.calibration import calibrate_objective_perturbation
from privrank_jax.privacy.privacy import Privacy

CRITERIA = ("expected", "upper", "rms", "wrong_pairs")
_MOST_USERS = 1e15
_EPSILONS = (1e-6, 1e4)
_STEPS = 4  # of Newton's method
_NEAR = 0.5  # spread of the strengths of opponents, where they are near


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ReleaseError:
    """The expected error of a release of scores.

    Attributes:
        expected: E‖t - θ‖_∞, in units of θ, ``()``.
        upper: bound that ‖t - θ‖_∞ stays below with probability ``confidence``, ``()``.
        rms: √(E‖t - θ‖₂²/m), ``()``.
        wrong_pairs: expected share of pairs in the wrong order, ``()``.
        noise_scale: λ, ``()``.
        gamma: γ, ``()``.
    """

    expected: Float[Array, "*batch"]
    upper: Float[Array, "*batch"]
    rms: Float[Array, "*batch"]
    wrong_pairs: Float[Array, "*batch"]
    noise_scale: Numbers
    gamma: Numbers


def planned_release(
    scores: ScoresLike,
    privacy: Privacy,
    num_users: Scalar,
    *,
    exposure: float = 0.0,
    near: bool = False,
    confidence: Scalar = 0.95,
) -> ReleaseError:
    """Expected error of private scores that a curator publishes.

    Args:
        scores: ``(m,)`` planning values of θ, m >= 2, e.g. ``jnp.linspace(-1, 1, m)``.
        privacy: what will be promised, unit comparison or user, of ``contributions`` comparisons; ε = ∞: no noise, and
            the ridge that belongs to it.
        num_users: n > 0, users with ``contributions`` comparisons each (unit comparison: with one). May be traced.
        exposure: power of 1/rank, >= 0, static: how unequally items are shown.
        near: whether opponents are near in strength, static.
        confidence: of ``upper``, in (0, 1).

    Returns:
        :class:`ReleaseError`.

    Raises:
        ValueError: an argument out of range, a promise that can't be kept.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> plan = planned_release(jnp.linspace(-1, 1, 10), promise, 2000)
    >>> round(float(plan.expected), 2), round(float(plan.wrong_pairs), 3)
    (0.14, 0.002)
    """
    check_positive("num_users", num_users)
    told = _checked(scores, privacy, exposure, near, confidence)
    return _planned(*told, privacy, jnp.asarray(num_users, told[0].dtype), confidence)


def users_for_release(
    scores: ScoresLike,
    privacy: Privacy,
    target: Scalar,
    *,
    exposure: float = 0.0,
    near: bool = False,
    criterion: str = "expected",
    confidence: Scalar = 0.95,
) -> Float[Array, ""]:
    """Number of users needed for an error of at most ``target``.

    Args:
        scores: as :func:`planned_release`.
        privacy: as :func:`planned_release`.
        target: > 0.
        exposure: as :func:`planned_release`.
        near: as :func:`planned_release`.
        criterion: which error: ``"expected"``, ``"upper"``, ``"rms"`` or ``"wrong_pairs"``.
        confidence: for ``"upper"``.

    Returns:
        ``()`` float, to be rounded up; NaN if more than 10^15 users are needed.

    Raises:
        ValueError: an argument out of range, an unknown criterion.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> needed = users_for_release(jnp.linspace(-1, 1, 10), promise, 0.02, criterion="wrong_pairs")
    >>> 900 < float(needed) < 1300
    True
    """
    check_positive("target", target, infinite=False)
    told = _checked(scores, privacy, exposure, near, confidence, criterion)

    def error(users: Array) -> Array:
        return getattr(_planned(*told, privacy, users, confidence), criterion)

    return _solved(lambda x: error(x) - target, (1e-3, _MOST_USERS), told[0].dtype)


def epsilon_for_release(
    scores: ScoresLike,
    privacy: Privacy,
    num_users: Scalar,
    target: Scalar,
    *,
    exposure: float = 0.0,
    near: bool = False,
    criterion: str = "expected",
    confidence: Scalar = 0.95,
) -> Float[Array, ""]:
    """The smallest ε at which the error is at most ``target``.

    Args:
        scores: as :func:`planned_release`.
        privacy: as :func:`planned_release`; its ε does not count.
        num_users: as :func:`planned_release`.
        target: > 0.
        exposure: as :func:`planned_release`.
        near: as :func:`planned_release`.
        criterion: as :func:`users_for_release`.
        confidence: for ``"upper"``.

    Returns:
        ε, ``()``; NaN if even ε = 10^4 misses the target.

    Raises:
        ValueError: an argument out of range, an unknown criterion.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> found = epsilon_for_release(jnp.linspace(-1, 1, 10), promise, 4000, 0.0903)
    >>> 0.3 < float(found) < 0.8
    True
    """
    check_positive("target", target, infinite=False)
    check_positive("num_users", num_users)
    told = _checked(scores, privacy, exposure, near, confidence, criterion)
    number = jnp.asarray(num_users, told[0].dtype)

    def error(epsilon: Array) -> Array:
        asked = dataclasses.replace(privacy, epsilon=epsilon)
        return getattr(_planned(*told, asked, number, confidence), criterion)

    return _solved(lambda x: error(x) - target, _EPSILONS, told[0].dtype)


def _solved(missing: Any, ends: tuple[float, float], dtype: Any) -> Float[Array, ""]:
    """Where a decreasing function crosses 0; NaN where it does not."""
    low, high = jnp.asarray(ends, dtype)
    found, least = jax.jit(lambda: (log_root(missing, low, high), missing(high)))()
    return jnp.where(least > 0, jnp.nan, found)


def _checked(
    scores: ScoresLike,
    privacy: Privacy,
    exposure: float,
    near: bool,
    confidence: Scalar,
    criterion: str = "expected",
) -> tuple[Scores, PairMatrix]:
    """Scores, and the share of all comparisons that each pair has."""
    check_choice("criterion", criterion, CRITERIA)
    of_comparisons(privacy, "planned_release", "laplace", ("laplace",))
    check_positive("confidence", confidence)
    if not float(confidence) < 1:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")
    if not 0 <= exposure < math.inf:
        raise ValueError(f"exposure must be a power of at least 0, got {exposure!r}.")
    scores = jnp.asarray(scores)
    scores = scores.astype(jnp.result_type(scores, float))
    if scores.ndim != 1 or scores.shape[0] < 2:
        raise ValueError(f"scores must be (m,) with m >= 2 items, got shape {scores.shape}.")
    items = scores.shape[0]
    order = np.random.default_rng(0).permutation(items)  # has nothing to do with the scores
    shown = (1.0 + order) ** -float(exposure)
    met = shown * (1 - np.eye(items))
    if near:
        values = np.asarray(scores, np.float64)
        apart = np.square(values[:, None] - values) + np.where(np.eye(items), np.inf, 0.0)
        closest = apart.min(1, keepdims=True)  # of each item, so that not all of its weights vanish
        met *= np.exp((closest - apart) / (2 * _NEAR**2))
    first = shown / met.sum(1) if near else shown
    shares = first[:, None] * met
    shares += shares.T
    return scores - jnp.mean(scores), jnp.asarray(2 * shares / shares.sum(), scores.dtype)


@jax.jit
def _planned(
    scores: Scores, shares: PairMatrix, privacy: Privacy, num_users: Array, confidence: Scalar
) -> ReleaseError:
    items, link = scores.shape[0], get_link("logistic")
    met = num_users * privacy.comparisons_per_unit * shares
    degree = jnp.sum(met) / items
    scale, gamma = calibrate_objective_perturbation(link, privacy)
    if privacy.adjacency == "flip":
        gamma = least_risk_gamma(degree, 2 * jnp.square(scale))
    gap = scores[:, None] - scores[None, :]
    real = jnp.eye(items, dtype=scores.dtype)

    def bent(at: Scores) -> tuple[Array, Array]:
        """The Fisher information, and the inverse of H."""
        ahead = at[:, None] - at[None, :]
        weights = met * link.cdf(ahead) * link.cdf(-ahead)
        information = jnp.diag(weights.sum(-1)) - weights
        return information, solve_positive_definite(information + gamma * real, real)

    def nearer(_: object, at: Scores) -> Scores:
        """A Newton step towards the ridge fit to the expected wins."""
        ahead = at[:, None] - at[None, :]
        slope = jnp.sum(met * (link.cdf(ahead) - link.cdf(gap)), -1) + gamma * at
        return at - product(bent(at)[1], slope)

    center = jax.lax.fori_loop(0, _STEPS, nearer, scores)
    information, inverse = bent(center)
    apart = real - 1 / items
    noise = information + 2 * jnp.square(scale) * apart
    covariance = product(product(inverse, noise), inverse)
    bias = center - scores
    spread = jnp.sqrt(jnp.maximum(jnp.diagonal(covariance), 0) + jnp.square(bias))
    own = jnp.diagonal(covariance)
    difference = own[:, None] + own[None, :] - 2 * covariance
    middle = gap + bias[:, None] - bias[None, :]
    ahead = jnp.where(gap > 0, middle / jnp.sqrt(jnp.where(gap > 0, difference, 1.0)), 0.0)
    wrong = jnp.sum(jnp.where(gap > 0, normal.cdf(-ahead), 0.0)) / jnp.maximum(jnp.sum(gap > 0), 1)
    rms = jnp.sqrt(jnp.mean(jnp.square(spread)))
    upper = largest_quantile(spread, confidence)
    return ReleaseError(expected_largest(spread), upper, rms, wrong, scale, gamma)

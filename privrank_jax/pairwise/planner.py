r"""Number of users, or ε, that a survey under randomized response needs for a target error.

**Theory.** Users answer each pair with probability p and report at ε_l, t_l = tanh(ε_l/2). To first order the adaptive,
debiased estimator (:func:`~privrank_jax.pairwise.debiased_rr`) is normal about θ with covariance

.. math:: \frac{1}{p\,I}\,G^{+} M_r\, G^{+}, \qquad I = \sum_l t_l^2, \quad r = \frac{\sum_l t_l^4}{\sum_l t_l^2},

G the Laplacian of F'²/(F(1-F)) over the pairs, :math:`M_r` that of ¼(1 - r(2F-1)²)·(F'/(F(1-F)))²: a debiased report
has variance ¼(1/t² - (2F-1)²), and the weights are t². So the budgets enter through I, the *effective users*, and
through r, which matters only where preferences are sharp. Without privacy r = 1, M = G and I is the number of users.

**Error.** ‖θ̂ - θ‖_∞ is the largest of m normal variables, taken as if they were independent, which can only overstate
it (Šidák's inequality). θ is unknown at planning time, so the functions take planning values;
scores that lie closer together are easier to estimate, more spread ones harder.

**The largest error** is overstated for equal items by 11% at m = 3, 4% at m = 5, 1% at m = 10. Errors of two items that
sum to 0 are one variable; that case is exact.

**Assumptions.** The model holds, answers are independent, errors are small enough for one linear step (below about
half a unit of θ), the ridge is negligible.

Sources: the paper's planning rule is :func:`local_rate`, Theorem 2 and S.1.4 of Xu, Sun, Cheng, Rate-optimal rank
aggregation with private pairwise rankings; it leaves out constants. The constants here follow from Lemma 2 of that
paper and the delta method.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._roots import log_root
from privrank_jax._types import Numbers, NumbersLike, PairMatrix, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_epsilon, check_positive, is_traced
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.links import Link, get_link
from privrank_jax.privacy.local import report_information

CRITERIA = ("expected", "upper", "rms")
_EPSILON_RANGE = (1e-6, 60.0)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PlannedError:
    """The expected error of a design, in units of θ.

    Attributes:
        expected: E‖θ̂ - θ‖_∞, ``()``.
        upper: bound that ‖θ̂ - θ‖_∞ stays below with probability ``confidence``, ``()``.
        rms: √(E‖θ̂ - θ‖₂²/m), ``()``.
        standard_errors: of each item's score, ``(m,)``.
        effective_users: Σ_l tanh²(ε_l/2), ``()``.
    """

    expected: Float[Array, "*batch"]
    upper: Float[Array, "*batch"]
    rms: Float[Array, "*batch"]
    standard_errors: Float[Array, "*batch items"]
    effective_users: Float[Array, "*batch"]


def effective_users(epsilon: NumbersLike) -> Float[Array, ""]:
    """Σ_l tanh²(ε_l/2): the number of users answering without privacy who carry the same information.

    The measure of information of S.1.4: data are collected until it exceeds a threshold.

    Args:
        epsilon: ``(L,)``, ε_l > 0 of each user; ∞ counts 1.

    Returns:
        ``()`` float, between 0 and the number of users.

    Raises:
        ValueError: ε not positive.

    >>> round(float(effective_users([1.0, 1.0, math.inf])), 3)
    1.427
    """
    return jnp.sum(report_information(epsilon))


def uniform_budgets(low: Scalar, high: Scalar, count: int = 64) -> Float[Array, "count"]:
    """``count`` budgets that represent ε ~ Uniform(low, high): the midpoints of equal parts.

    Args:
        low: > 0.
        high: >= low.
        count: static.

    Returns:
        ``(count,)``; pass it as ``epsilon`` with ``num_users``.

    Raises:
        ValueError: ``low`` not positive, ``high`` below it.

    >>> uniform_budgets(1.0, 3.0, 2).tolist()
    [1.5, 2.5]
    """
    low = check_epsilon(low)
    if not is_traced(low, high) and not np.all(np.asarray(high) >= np.asarray(low)):
        raise ValueError(f"the largest epsilon, {high}, is below the smallest, {low}.")
    return low + (jnp.arange(count) + 0.5) / count * (high - low)


def local_rate(
    num_items: Numbers,
    effective_users: Numbers,
    share_observed: Numbers = 1.0,
    *,
    constant: Numbers = 1.0,
) -> Float[Array, "..."]:
    """The paper's rate of ‖θ̂ - θ‖_∞, C/√(m p Σ_l tanh²(ε_l/2)), log factor left out (S.1.4, Theorem 3).

    It serves to compare designs; for an error in units of θ use :func:`planned_error`.

    Args:
        num_items: m.
        effective_users: Σ_l tanh²(ε_l/2).
        share_observed: p, the share of all pairs that each user is asked.
        constant: C.

    Returns:
        The rate; the arguments broadcast.

    Raises:
        ValueError: an argument not positive.

    >>> round(float(local_rate(10, 40.0, 0.25)), 6)
    0.1
    """
    check_positive("num_items", num_items)
    check_positive("effective_users", effective_users)
    check_positive("share_observed", share_observed)
    return jnp.asarray(constant) / jnp.sqrt(
        jnp.asarray(num_items * effective_users * share_observed, float)
    )


def planned_error(
    scores: ScoresLike,
    epsilon: NumbersLike,
    num_users: Scalar | None = None,
    *,
    share_observed: Scalar = 1.0,
    link: str | Link = "logistic",
    confidence: Scalar = 0.95,
) -> PlannedError:
    """Expected error of the debiased estimate under a design (theory in the module docstring).

    Args:
        scores: ``(m,)`` planning values of θ, m >= 2, e.g. ``jnp.linspace(-1, 1, m)``.
        epsilon: ``(k,)`` or one number: the users' budgets; each represents ``num_users``/k users.
        num_users: L > 0; by default k, one user for each budget.
        share_observed: p in (0, 1], the share of the pairs that a user answers.
        link: as in the fit.
        confidence: of ``upper``, in (0, 1).

    Returns:
        :class:`PlannedError`. All arguments but ``link`` may be traced and batched by ``vmap``.

    Raises:
        ValueError: an argument out of range.

    >>> plan = planned_error(jnp.linspace(-1, 1, 10), 1.0, 1000, share_observed=0.5)
    >>> round(float(plan.expected), 3), round(float(plan.effective_users), 1)
    (0.132, 213.6)
    """
    scores, epsilon, link = _checked(scores, epsilon, share_observed, link, confidence)
    if num_users is None:
        num_users = epsilon.size
    check_positive("num_users", num_users)
    return _planned_error(scores, epsilon, num_users, share_observed, link, confidence)


def users_needed(
    scores: ScoresLike,
    epsilon: NumbersLike,
    target: Scalar,
    *,
    present: NumbersLike | None = None,
    share_observed: Scalar = 1.0,
    link: str | Link = "logistic",
    criterion: str = "expected",
    confidence: Scalar = 0.95,
) -> Float[Array, ""]:
    """Number of (further) users needed for an error of at most ``target``.

    Args:
        scores: as :func:`planned_error`.
        epsilon: ``(k,)`` or one number, budgets of the further users, in equal shares.
        target: a > 0, in units of θ.
        present: ``(n,)`` budgets of users who have reported already; default none.
        share_observed: p, of all users.
        link: as in the fit.
        criterion: which error: ``"expected"`` or ``"upper"`` ‖θ̂ - θ‖_∞, or ``"rms"``.
        confidence: for ``"upper"``.

    Returns:
        The number of further users, a float ``()`` >= 0 (round up); 0 if those present suffice.

    Raises:
        ValueError: an argument out of range, an unknown criterion.

    >>> needed = users_needed(jnp.linspace(-1, 1, 10), 1.0, 0.1318, share_observed=0.5)
    >>> round(float(needed) / 1000, 2)
    1.0
    """
    check_choice("criterion", criterion, CRITERIA)
    check_positive("target", target, infinite=False)
    scores, epsilon, link = _checked(scores, epsilon, share_observed, link, confidence)
    if present is not None:
        present = check_epsilon(present)
        present = jnp.asarray(present, scores.dtype)
    return _users_needed(
        scores, epsilon, target, present, share_observed, link, criterion, confidence
    )


def epsilon_needed(
    scores: ScoresLike,
    num_users: Scalar,
    target: Scalar,
    *,
    share_observed: Scalar = 1.0,
    link: str | Link = "logistic",
    criterion: str = "expected",
    confidence: Scalar = 0.95,
) -> Float[Array, ""]:
    """The smallest ε, the same for all users, at which their error is at most ``target``.

    Args:
        scores: as :func:`planned_error`.
        num_users: L > 0.
        target: a > 0.
        share_observed: p.
        link: as in the fit.
        criterion: as :func:`users_needed`.
        confidence: as :func:`users_needed`.

    Returns:
        ε per comparison, ``()``; NaN if even answers without privacy miss the target.

    Raises:
        ValueError: an argument out of range, an unknown criterion.

    >>> found = epsilon_needed(jnp.linspace(-1, 1, 10), 1000, 0.1318, share_observed=0.5)
    >>> round(float(found), 2)
    1.0
    """
    check_choice("criterion", criterion, CRITERIA)
    check_positive("target", target, infinite=False)
    check_positive("num_users", num_users)
    scores, _, link = _checked(scores, 1.0, share_observed, link, confidence)
    return _epsilon_needed(scores, num_users, target, share_observed, link, criterion, confidence)


class _Variances(NamedTuple):
    """Variance of each score times pI is ``base`` - r ``sharp``, ``(m,)`` each."""

    base: Array
    sharp: Array


@functools.partial(jax.jit, static_argnames=("link",))
def _planned_error(
    scores: Scores,
    epsilon: Float[Array, "budgets"],
    num_users: Scalar,
    share: Scalar,
    link: Link,
    confidence: Scalar,
) -> PlannedError:
    total, fourth = _powers(epsilon)
    users = jnp.asarray(num_users, scores.dtype) / epsilon.size
    unit = jnp.sqrt(share * users * total)
    spread = _spread(_variances(scores, link), fourth / total)
    expected, upper, rms = (_criterion(spread, name, confidence) / unit for name in CRITERIA)
    return PlannedError(expected, upper, rms, spread / unit, users * total)


@functools.partial(jax.jit, static_argnames=("link", "criterion"))
def _users_needed(
    scores: Scores,
    epsilon: Float[Array, "budgets"],
    target: Scalar,
    present: Float[Array, "users"] | None,
    share: Scalar,
    link: Link,
    criterion: str,
    confidence: Scalar,
) -> Float[Array, ""]:
    variances = _variances(scores, link)
    each, each_fourth = (x / epsilon.size for x in _powers(epsilon))
    have, have_fourth = (0.0, 0.0) if present is None else _powers(present)

    def error(users: Scalar) -> Float[Array, ""]:
        total, fourth = have + users * each, have_fourth + users * each_fourth
        safe = jnp.where(total > 0, total, 1)
        value = _criterion(_spread(variances, fourth / safe), criterion, confidence)
        return jnp.where(total > 0, value / jnp.sqrt(share * safe), jnp.inf)

    # r = 0 gives the largest variances.
    widest = _criterion(_spread(variances, 0.0), criterion, confidence)
    most = jnp.square(widest / target) / share / each
    found = log_root(lambda x: error(x) - target, most * 1e-9, most)
    return jnp.where(error(0.0) <= target, 0.0, found)


@functools.partial(jax.jit, static_argnames=("link", "criterion"))
def _epsilon_needed(
    scores: Scores,
    num_users: Scalar,
    target: Scalar,
    share: Scalar,
    link: Link,
    criterion: str,
    confidence: Scalar,
) -> Float[Array, ""]:
    variances = _variances(scores, link)

    def error(square: Scalar) -> Float[Array, ""]:
        value = _criterion(_spread(variances, square), criterion, confidence)
        return value / jnp.sqrt(share * num_users * square)

    low, high = jnp.asarray(_EPSILON_RANGE, scores.dtype)
    found = log_root(lambda x: error(report_information(x)) - target, low, high)
    return jnp.where(error(1.0) > target, jnp.nan, found)


def _powers(epsilon: Float[Array, "budgets"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    square = report_information(epsilon)
    return jnp.sum(square), jnp.sum(jnp.square(square))


def _variances(scores: Scores, link: Link) -> _Variances:
    size = scores.shape[0]
    gap = scores[:, None] - scores[None, :]
    others = 1 - jnp.eye(size, dtype=scores.dtype)
    up, down = link.score(gap), link.score(-gap)  # F'/F, F'/(1-F)
    design = _laplacian(others * up * down) + 1 / size
    inverse = solve_positive_definite(design, jnp.eye(size, dtype=scores.dtype)) - 1 / size
    pull = 0.25 * others * jnp.square(up + down)
    sharp = pull * jnp.square(link.cdf(gap) - link.cdf(-gap))
    base, less = (
        jnp.sum(inverse * product(_laplacian(weight), inverse).T, -1) for weight in (pull, sharp)
    )
    return _Variances(base, less)


def _laplacian(weight: PairMatrix) -> PairMatrix:
    return jnp.diag(weight.sum(-1)) - weight


def _spread(variances: _Variances, sharpness: Scalar) -> Scores:
    return jnp.sqrt(variances.base - sharpness * variances.sharp)


def _criterion(spread: Scores, criterion: str, confidence: Scalar) -> Float[Array, ""]:
    if criterion == "rms":
        return jnp.sqrt(jnp.mean(jnp.square(spread)))
    return (
        expected_largest(spread)
        if criterion == "expected"
        else largest_quantile(spread, confidence)
    )


def _checked(
    scores: ScoresLike, epsilon: NumbersLike, share: Scalar, link: str | Link, confidence: Scalar
) -> tuple[Scores, Float[Array, "budgets"], Link]:
    epsilon = check_epsilon(epsilon)
    for name, value in (("share_observed", share), ("confidence", confidence)):
        check_positive(name, value)
        if not is_traced(value) and np.any(np.asarray(value) > 1):
            raise ValueError(f"{name} must be at most 1, got {value!r}.")
    scores = jnp.asarray(scores)
    scores = scores.astype(jnp.result_type(scores, float))
    if scores.ndim != 1 or scores.shape[0] < 2:
        raise ValueError(f"scores must be (m,) with m >= 2 items, got shape {scores.shape}.")
    epsilon = jnp.ravel(jnp.asarray(epsilon, scores.dtype))
    return scores, epsilon, get_link(link)


# Nodes of the integral of P(max > x): the midpoint rule errs by less than 1e-4 (1e-6 for m > 2).
_NODES = 400


def expected_largest(spread: Scores) -> Float[Array, ""]:
    """E max_i |X_i| = ∫ P(max > x) dx, X_i normal with standard deviations ``spread``."""
    # Beyond √(2 log m) + 7 standard deviations the remaining probability is negligible.
    reach = jnp.max(spread) * (7 + math.sqrt(2 * math.log(spread.shape[0])))
    nodes = (jnp.arange(_NODES, dtype=spread.dtype) + 0.5) / _NODES
    return reach * jnp.mean(-jnp.expm1(jax.vmap(lambda x: _log_below(spread, x))(reach * nodes)))


def largest_quantile(spread: Scores, confidence: Scalar) -> Float[Array, ""]:
    """The quantile of max_i |X_i| at ``confidence``."""
    wanted = jnp.log(jnp.asarray(confidence, spread.dtype))
    largest = jnp.max(spread)
    high = largest * (12 + math.sqrt(2 * math.log(spread.shape[0])))
    return log_root(lambda x: wanted - _log_below(spread, x), 1e-6 * largest, high)


def _log_below(spread: Scores, bound: Scalar) -> Float[Array, ""]:
    """log P(max <= bound); with two items only one is free."""
    free = spread[:1] if spread.shape[0] == 2 else spread
    return jnp.sum(jnp.log1p(-jax.lax.erfc(bound / (free * math.sqrt(2)))))

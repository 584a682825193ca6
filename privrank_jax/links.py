"""Link functions: the CDF ``F`` in P(i beats j) = F(θ_i − θ_j), and what likelihoods need of it.

Three symmetric links: :data:`logistic` (Bradley–Terry–Luce), :data:`normal` (Thurstone–Mosteller) and :data:`laplace`
(Dawkins threshold). Every function is elementwise, follows the dtype of its input, and is finite with finite
derivatives up to the third of ``log_cdf`` for ``|x|`` ≤ 1e4 in float32 and float64. Derivatives are set by rule: the
gradient of ``log_cdf`` *is* ``score``, that of ``score`` *is* ``−curvature``. Relative accuracy over ``|x|`` ≤ 1e4,
down to the smallest normal numbers: 1e-12 in float64, 2e-5 in float32.

Constants: κ₁ and κ₂ are the suprema that assumption (A1) and the first half of (A2) of Cai, Chakraborty and Wang,
*Optimal Differentially Private Ranking from Pairwise Comparisons*, want bounded; our proofs of privacy use no more. The
second half of (A2) also wants κ₂ > 1/c, c the least curvature on ``|x|`` ≤ 4: that would be κ₂ > 56.6 for the logistic
link and κ₂ > 1.8e3 for the normal one, where ours are 1/4 (so is that of the paper's code) and 1. The Laplace link
violates (A2) whatever κ₂ is: its ``log F`` is linear for x < 0, where the curvature is 0.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Real

Elementwise = Callable[[ArrayLike], Array]
Derivative = Callable[[Array], Array]

_LOG_2 = math.log(2.0)
_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
_INV_SQRT_2PI = 1.0 / math.sqrt(2.0 * math.pi)

# (start, terms): below -start the inverse Mills ratio comes from that many terms of a continued fraction, above it from
# erfc. Each pair keeps the truncation of the first and the cancellation in `score + x` of the second near the limit.
_TAIL_FLOAT32 = (2.0, 24)
_TAIL_FLOAT64 = (4.0, 28)


@dataclasses.dataclass(frozen=True)
class Link:
    """A symmetric CDF with the derivatives and constants that estimation and privacy need; hashable, so static.

    The four functions take and return arrays of any shape; integers become JAX's default float.

    Attributes:
        name: what :func:`get_link` calls it.
        cdf: ``F(x)``.
        log_cdf: ``log F(x)``.
        score: ``F'(x) / F(x)``, the derivative of ``log_cdf``.
        curvature: ``−(log F)''(x)``, minus the derivative of ``score``; never negative.
        kappa1: κ₁ = sup ``F' / (F (1 − F))``, infinite for the normal link; how far one outcome
            moves the gradient of the log-likelihood.
        kappa2: κ₂ = sup ``curvature``, not the larger constant of (A2) (module docstring).
        sup_score: sup ``F' / F``.

    >>> float(logistic.cdf(0.0)), laplace.kappa1
    (0.5, 2.0)
    """

    name: str
    cdf: Elementwise
    log_cdf: Elementwise
    score: Elementwise
    curvature: Elementwise
    kappa1: float
    kappa2: float
    sup_score: float

    def __repr__(self) -> str:
        return f"Link({self.name!r})"


def get_link(link: str | Link) -> Link:
    """Look a link up by name; a :class:`Link` passes through.

    Args:
        link: ``"logistic"``, ``"normal"``, ``"laplace"``, or a :class:`Link`.

    Returns:
        The link.

    Raises:
        ValueError: for any other name or type; the message lists the names.

    >>> get_link("normal") is normal
    True
    """
    if isinstance(link, Link):
        return link
    if isinstance(link, str) and link in _LINKS:
        return _LINKS[link]
    names = ", ".join(repr(name) for name in _LINKS)
    raise ValueError(f"unknown link {link!r}: use one of {names}, or pass a Link")


def _of_numbers(core: Derivative) -> Elementwise:
    """``core`` of whatever makes an array, integers in JAX's default float."""

    def function(x: Real[ArrayLike, "*shape"]) -> Float[Array, "*shape"]:
        x = jnp.asarray(x)
        return core(x.astype(jnp.result_type(x, float)))

    return function


def _with_derivative(function: Derivative, derivative: Derivative) -> Derivative:
    """``function`` whose JVP is ``derivative``, compiled into whatever calls it."""
    wrapped = jax.custom_jvp(function)
    wrapped.defjvps(lambda tangent, _value, x: derivative(x) * tangent)
    return jax.jit(wrapped, inline=True)


def _logistic_density(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """F', which is also the curvature."""
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


# --- normal --------------------------------------------------------------------------------------
# With t = −x > 0 the score is the inverse Mills ratio h = φ(t)/Q(t), and Gauss's continued fraction
# gives h = t + D, D = 1/(t + K), K = 2/(t + 3/(t + 4/(t + ...))), every term positive. So the
# curvature h(h + x) = hD and its derivative hD(K − 2D) need no difference of large numbers. Cut after
# j/t, tK/2 is a ratio of two polynomials in 1/t² with positive whole coefficients: one division, not j.


def _density(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    return jnp.exp(-0.5 * x * x) * _INV_SQRT_2PI


def _tail_start(x: Float[Array, "*shape"]) -> tuple[float, int]:
    return _TAIL_FLOAT64 if x.dtype == jnp.float64 else _TAIL_FLOAT32


@functools.cache
def _tail_ratio(terms: int) -> tuple[list[int], list[int]]:
    """Coefficients of the numerator and the denominator of tK/2, the highest power first."""
    above, below = [1], [1]
    for j in range(terms, 2, -1):
        above, below = below, np.polyadd(below, [*(j * c for c in above), 0]).tolist()
    return above, below


def _far(x: Float[Array, "*shape"]) -> tuple[Array, ...]:
    """Return ``(tail, h, D, K)``: h the score, D = h + x, all of them meaningful where ``tail`` holds."""
    start, terms = _tail_start(x)
    tail = x < -start
    t = jnp.where(tail, -x, start)
    above, below = (jnp.polyval(jnp.array(p, x.dtype), 1 / (t * t)) for p in _tail_ratio(terms))
    k = 2.0 * above / (t * below)
    excess = 1.0 / (t + k)
    return tail, t + excess, excess, k


def _mills(x: Float[Array, "*shape"]) -> tuple[Array, ...]:
    """The same, with h and D of all x."""
    tail, far_score, excess, k = _far(x)
    near = jnp.where(tail, -_tail_start(x)[0], x)
    score = _density(near) / (0.5 * jax.lax.erfc(-near * _SQRT_HALF))
    return tail, jnp.where(tail, far_score, score), jnp.where(tail, excess, score + near), k


def _normal_curvature_slope(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    tail, score, excess, k = _mills(x)
    near_excess = jnp.where(tail, 0.0, excess)
    near_score = jnp.where(tail, 0.0, score)
    curvature = near_score * near_excess
    near = near_score * (1.0 - curvature) - curvature * near_excess
    return jnp.where(tail, score * excess * (k - 2.0 * excess), near)


def _normal_curvature(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    _, score, excess, _ = _mills(x)
    return score * excess


def _normal_log_cdf(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    tail, score, _, _ = _far(x)
    near = jnp.where(tail, 0.0, x)
    # Q(|x|) is the smaller tail: log(1 − Q) for x > 0 must not round 1 − Q first.
    upper = 0.5 * jax.lax.erfc(jnp.abs(near) * _SQRT_HALF)
    body = jnp.where(near > 0, jnp.log1p(-upper), jnp.log(jnp.where(near > 0, 0.5, upper)))
    return jnp.where(tail, -0.5 * x * x - _LOG_SQRT_2PI - jnp.log(score), body)


# --- Laplace -------------------------------------------------------------------------------------
# log F is linear for x < 0 (curvature 0) and its curvature jumps to 2 at x = 0. The right limit is
# taken there, so that a Newton step from θ = 0 sees the larger of the two.


def _laplace_half(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """``F(−|x|)``, which is also the density."""
    return 0.5 * jnp.exp(-jnp.abs(x))


def _laplace_score(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    half = _laplace_half(x)
    return jnp.where(x < 0, 1.0, half / (1.0 - half))


def _laplace_curvature(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    score = _laplace_score(x)
    return jnp.where(x < 0, 0.0, score * (1.0 + score))


def _laplace_cdf(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    half = _laplace_half(x)
    return jnp.where(x < 0, half, 1.0 - half)


def _link(
    name: str,
    cdf: Derivative,
    log_cdf: Derivative,
    score: Derivative,
    curvature: Derivative,
    slope: Derivative,
    density: Derivative | None = None,
    **constants: float,
) -> Link:
    """A link from its four functions, the slope of the curvature, and F', by default the curvature."""
    curvature = _with_derivative(curvature, slope)
    score = _with_derivative(score, lambda x: -curvature(x))
    log_cdf = _with_derivative(log_cdf, score)
    cdf = _with_derivative(cdf, density or curvature)
    of = _of_numbers
    return Link(name, of(cdf), of(log_cdf), of(score), of(curvature), **constants)


logistic = _link(
    "logistic",
    jax.nn.sigmoid,
    lambda x: -jax.nn.softplus(-x),
    lambda x: jax.nn.sigmoid(-x),
    _logistic_density,
    lambda x: -_logistic_density(x) * jnp.tanh(0.5 * x),
    kappa1=1.0,
    kappa2=0.25,
    sup_score=1.0,
)
"""Bradley–Terry–Luce: ``F(x) = 1 / (1 + e^{−x})``."""

normal = _link(
    "normal",
    lambda x: 0.5 * jax.lax.erfc(-x * _SQRT_HALF),
    _normal_log_cdf,
    lambda x: _mills(x)[1],
    _normal_curvature,
    _normal_curvature_slope,
    _density,
    kappa1=math.inf,
    kappa2=1.0,
    sup_score=math.inf,
)
"""Thurstone–Mosteller: ``F = Φ``, the standard normal CDF."""

laplace = _link(
    "laplace",
    _laplace_cdf,
    lambda x: jnp.where(x < 0, x - _LOG_2, jnp.log1p(-_laplace_half(x))),
    _laplace_score,
    _laplace_curvature,
    lambda x: -(1.0 + 2.0 * _laplace_score(x)) * _laplace_curvature(x),
    _laplace_half,
    kappa1=2.0,
    kappa2=2.0,
    sup_score=1.0,
)
"""Dawkins threshold: ``F(x) = e^x / 2`` for x < 0, ``1 − e^{−x} / 2`` otherwise."""

_LINKS = {link.name: link for link in (logistic, normal, laplace)}

r"""Local privacy of yes-or-no answers: randomized response, its debiasing, the Laplace baseline.

Notation: y in {0, 1} an answer, ỹ its report, p = 1/(e^ε+1) the flip probability, t = tanh(ε/2) = 1 - 2p.

**Theorem (Warner 1965).** A report that gives the answer with probability 1-p and its opposite with probability p is
ε-local-DP for that answer: unit one comparison, adjacency ``flip``, and the loss log((1-p)/p) = ε is attained. Reports
are drawn independently, so a user who gives S of them at ε spends Sε as a user, and this bound is attained too.

**Debiasing.** E[ỹ | y] = p + (1-2p)y, so z̃ = (ỹ-p)/(1-2p) = 1/2 + (ỹ-1/2)/t has E[z̃ | y] = y. A debiased report
varies as 1/(4t²) - (F-1/2)² when P(y=1) = F: hence t² as the information of a report, relative to a plain answer.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Shaped

from privrank_jax._types import Key, MaskLike, NumbersLike, ReportsLike
from privrank_jax._validate import (
    check_choice,
    check_epsilon,
    check_nonnegative,
    is_real,
    is_traced,
)
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import laplace
from privrank_jax.privacy.privacy import Privacy


def flip_probability(epsilon: NumbersLike) -> Float[Array, "..."]:
    """Probability 1/(e^ε + 1) with which randomized response reports the opposite of the answer.

    Args:
        epsilon: ε > 0, else ``ValueError``; any shape, may be traced; ∞ gives 0.

    Returns:
        p, shape of ``epsilon``, float.

    >>> round(float(flip_probability(jnp.log(3.0))), 6)
    0.25
    """
    return jax.nn.sigmoid(-_as_float(check_epsilon(epsilon)))


def report_information(epsilon: NumbersLike) -> Float[Array, "..."]:
    """Information tanh²(ε/2) of a randomized report, relative to a plain answer: a user's weight, not normalized.

    Args:
        epsilon: ε > 0, else ``ValueError``; any shape, may be traced; ∞ gives 1.

    Returns:
        tanh²(ε/2), shape of ``epsilon``, in (0, 1].

    Source: Xu, Sun and Cheng, equation (4).

    >>> round(float(report_information(2.0)), 3)
    0.58
    """
    return jnp.square(jnp.tanh(0.5 * _as_float(check_epsilon(epsilon))))


def randomized_response(
    key: Key, bits: ReportsLike, epsilon: NumbersLike
) -> Shaped[Array, "*shape"]:
    """Report each bit, or its opposite with probability 1/(e^ε + 1).

    **Guarantee.** ε-local DP for each bit (adjacency ``flip``, unit one comparison); :func:`local_guarantee` states it
    for a data set. The flip probability is a multiple of 2^-32, rounded so that the loss never exceeds ε.

    Args:
        key: PRNG key.
        bits: answers, bool or 0/1 of any shape; traced ones other than 1 count as 0.
        epsilon: ε > 0, may be traced: one number, one per user (along the leading axis), or one per report.

    Returns:
        The reports, shape and dtype of ``bits``.

    Raises:
        ValueError: ε <= 0 or NaN, bits other than 0 and 1, shapes that don't fit.

    Source: Warner (1965); Xu, Sun and Cheng, section 3.1.

    >>> randomized_response(jax.random.key(0), [True, False], jnp.inf).tolist()
    [True, False]
    """
    check_bits("bits", bits)
    return _randomize(key, *_per_report(bits, epsilon))


def laplace_reports(key: Key, bits: ReportsLike, epsilon: NumbersLike) -> Float[Array, "*shape"]:
    """Report each bit plus Laplace noise of scale 1/ε: a baseline, unbiased without debiasing.

    **Guarantee.** The Laplace mechanism on a number of sensitivity 1: ε-local DP as :func:`randomized_response`. Its
    variance 2/ε² exceeds that of a debiased randomized report, 1/(4 sinh²(ε/2)), at every ε.

    Arguments and errors are those of :func:`randomized_response`; ε = ∞ adds no noise.

    Returns:
        Reports, shape of ``bits``, float (that of ``bits``, else of ``epsilon``).

    >>> laplace_reports(jax.random.key(0), [1, 0, 1], jnp.inf).tolist()
    [1.0, 0.0, 1.0]
    """
    check_bits("bits", bits)
    return _add_laplace(key, *_per_report(bits, epsilon))


def debias(reports: ReportsLike, epsilon: NumbersLike) -> Float[Array, "..."]:
    """Unbiased answers ((e^ε + 1)ỹ - 1)/(e^ε - 1) from randomized reports: their mean given y is y.

    Args:
        reports: ỹ, bool, 0/1 or -1/+1 of any shape, else ``ValueError``.
        epsilon: ε of the reports, as for :func:`randomized_response`.

    Returns:
        z̃, shape of ``reports``, float: 1/(1 - e^-ε) for 1, -1/(e^ε - 1) for 0 or -1, NaN for what is no report.

    Source: Xu, Sun and Cheng, equation (3).

    >>> debias([1, 0], jnp.log(3.0)).round(6).tolist()
    [1.5, -0.5]
    """
    check_reports(reports)
    return _debiased(*_per_report(reports, epsilon))


@functools.partial(jax.jit, inline=True)
def _debiased(reports: Array, epsilon: Array) -> Array:
    kept = -jnp.expm1(-epsilon)
    found = jnp.where(reports == 1, 1 / kept, -jnp.exp(-epsilon) / kept)
    return jnp.where(jnp.isnan(report_values(reports, epsilon.dtype)), jnp.nan, found)


def local_guarantee(epsilon: NumbersLike, reports_per_user: NumbersLike = 1) -> Guarantee:
    """The guarantee of users who randomize at their own ε, for one comparison and for one user.

    Args:
        epsilon: ``(users,)`` or one number, ε_l > 0, else ``ValueError``; may be traced.
        reports_per_user: ``(users,)`` or one number, S_l >= 0 reports of each user; users who gave none are ignored.

    Returns:
        That of the largest ε_l (unit comparison); ``also`` has the largest S_l ε_l (unit user). Adjacency ``flip``.

    Source: Xu, Sun and Cheng, supplement S.2.

    >>> guarantee = local_guarantee([1.0, 2.0], [10, 3])
    >>> float(guarantee.epsilon), float(guarantee.also[0].epsilon)
    (2.0, 10.0)
    """
    check_nonnegative("reports_per_user", reports_per_user)
    epsilon, reports = _as_float(check_epsilon(epsilon)), jnp.asarray(reports_per_user)
    gave = reports > 0
    one = jnp.where(gave, epsilon, 0)
    whole = jnp.where(gave, epsilon * jnp.where(gave, reports, 1).astype(epsilon.dtype), 0)
    comparison = Privacy.proven(jnp.max(one), unit="comparison", adjacency="flip")
    user = Privacy.proven(jnp.max(whole), unit="user", adjacency="flip")
    note = "the largest of the users' own epsilons; to each user, that user's own applies."
    return Guarantee(comparison, trust="local", note=note, also=(user,))


@jax.jit
def _randomize(key: Key, bits: Array, epsilon: Array) -> Array:
    flipped = jax.random.bits(fused(key), bits.shape, jnp.uint32) < flip_threshold(epsilon)
    return (flipped != (bits == 1)).astype(bits.dtype)


@functools.partial(jax.jit, inline=True)
def flip_threshold(epsilon: Array) -> Array:
    """k, uint32, such that a uniform 32-bit word is below k with probability k/2^32 ≥ 1/(e^ε+1).

    So the loss log((2^32-k)/k) is at most ε; for small ε, the distance of k to 1/2 determines it. k is 0 only at ε = ∞,
    and a report at ε = NaN is a random bit.
    """
    margin = 4 * jnp.finfo(epsilon.dtype).eps
    near_half = jnp.floor(jnp.tanh(0.5 * jnp.minimum(epsilon, 1.0)) * (1 - margin) * 2.0**31)
    small = jnp.ceil(jax.nn.sigmoid(-epsilon) * (1 + margin) * 2.0**32)
    small = jnp.clip(small, 1.0, 2.0**31).astype(jnp.uint32)
    count = jnp.where(epsilon < 1, jnp.uint32(2**31) - near_half.astype(jnp.uint32), small)
    count = jnp.where(jnp.isnan(epsilon), jnp.uint32(2**31), count)
    return jnp.where(jnp.isinf(epsilon), jnp.uint32(0), count)


@jax.jit
def _add_laplace(key: Key, bits: Array, epsilon: Array) -> Array:
    dtype = bits.dtype if jnp.issubdtype(bits.dtype, jnp.floating) else epsilon.dtype
    return (bits == 1).astype(dtype) + laplace(key, bits.shape, 1 / epsilon, dtype)


def _per_report(reports: ReportsLike, epsilon: NumbersLike) -> tuple[Array, Float[Array, "..."]]:
    """Both as arrays, ε as floats of a shape that broadcasts; a leading axis is the axis of users."""
    reports, epsilon = jnp.asarray(reports), _as_float(check_epsilon(epsilon))
    shape = reports.shape
    if epsilon.ndim and epsilon.shape == shape[: epsilon.ndim]:
        return reports, epsilon.reshape(epsilon.shape + (1,) * (len(shape) - epsilon.ndim))
    fits = all(given in (1, wanted) for given, wanted in zip(epsilon.shape, shape))
    if epsilon.ndim in (0, len(shape)) and fits:
        return reports, epsilon
    raise ValueError(
        f"epsilon has shape {epsilon.shape}, the reports have {shape}: give one number, one per user "
        "(the leading axis), or one per report."
    )


def check_bits(name: str, bits: ReportsLike) -> None:
    """Raise ``ValueError`` unless every entry is 0 or 1."""
    if not is_traced(bits) and not _all_among(bits, (0, 1)):
        raise ValueError(f"{name} must be 0 or 1 (or bool).")


CODINGS = {"0/1": (0, 1), "-1/1": (-1, 1)}


def check_reports(
    reports: ReportsLike, where: MaskLike | ReportsLike | None = None, *, coding: str | None = None
) -> None:
    """Raise ``ValueError`` unless the reports (where ``where`` is True) are 0 and 1, or -1 and 1."""
    wanted = "reports must be 0 or 1 (or bool), or all of them -1 or 1; mark missing ones as not observed."
    codings = tuple(CODINGS.values())
    if coding is not None:
        check_choice("coding", coding, tuple(CODINGS))
        codings = (CODINGS[coding],)
        wanted = f"with coding={coding!r} reports must be {CODINGS[coding][0]} or 1; leave ties and missing ones out."
    if is_traced(reports, where) or any(_all_among(reports, one, where) for one in codings):
        return
    raise ValueError(wanted)


def _all_among(
    values: ReportsLike, coding: tuple[int, int], where: ReportsLike | None = None
) -> bool:
    array = np.asarray(values)
    left_out = False if where is None else ~np.asarray(where, bool)
    return is_real(array) and bool(np.all(np.isin(array, coding) | left_out))


@functools.partial(jax.jit, static_argnames=("dtype", "coding"), inline=True)
def report_values(
    reports: Array, dtype: DTypeLike, coding: str | None = None
) -> Float[Array, "..."]:
    """Reports as numbers: 1 for 1, 0 for 0 and -1, NaN for anything else, or what the coding does not have."""
    values = reports.astype(dtype)
    lost = ((values == 0) & (coding != "-1/1")) | ((values == -1) & (coding != "0/1"))
    return jnp.where(values == 1, 1, jnp.where(lost, 0, jnp.nan)).astype(dtype)


def _as_float(epsilon: NumbersLike) -> Float[Array, "..."]:
    epsilon = jnp.asarray(epsilon)
    return epsilon.astype(jnp.result_type(epsilon, float))

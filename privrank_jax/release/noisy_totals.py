r"""Exact discrete noise on win totals, by OpenDP.

Floating-point noise leaks: the low bits of ``total + noise`` tell totals apart (Mironov 2012). Win totals are
multiples of 1/2 (a tie is half a win for both), so twice the totals are integers whose sensitivity is twice that of
the totals, and integer noise on them is drawn exactly, from the operating system's entropy; halving the result is
post-processing.

*Laplace*: P(X = x) ∝ exp(-\|x\|/s) on the integers with s = Δ₁/ε is ε-DP as its continuous twin is (Ghosh,
Roughgarden, Sundararajan 2009). *Gaussian*: P(X = x) ∝ exp(-x²/2σ²) is Δ₂²/(2σ²)-zCDP (Canonne, Kamath, Steinke
2020), and OpenDP turns that into (ε, δ); σ is the smallest for which it does, some percent above the σ of the
continuous mechanism. Either way the guarantee is the one that OpenDP computes for the mechanism, rounded against
itself; it is checked here to be no larger than what was asked for.

*Top-k*: the proof of the one-shot mechanism (:mod:`privrank_jax.privacy.selection`) shifts the noise of each selected
item by t - d_i, twice which is an integer here, and a shift by c changes P(X = x) by at most exp(\|c\|/s) on the
integers too. Ties are broken by item index, before and after the shift alike. So discrete noise serves it as it is.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale
from privrank_jax.release.library import load_opendp

_LARGEST = 2**52  # doubled totals beyond this are not exact in float64


def exact_noisy_totals(
    wins: WinCounts | Any,
    *,
    sensitivity: float,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "laplace",
    unit: str = "user",
    adjacency: str = "flip",
    note: str = "",
) -> Estimate:
    """Win totals plus exact discrete noise: what a real release sorts, or fits.

    **Guarantee.** ε-DP (Laplace), or (ε, δ)-DP (Gaussian), for every pair of data sets whose totals
    differ by at most ``sensitivity``; proof at the head of this module. ``unit`` and ``adjacency``
    only say which pairs the sensitivity was computed for. Runs on the host: no tracing, no key.

    Args:
        wins: win counts, or the ``(m,)`` win totals themselves; multiples of 1/2.
        sensitivity: of the totals, in wins: ℓ₁ for Laplace, ℓ₂ for Gaussian noise, for instance from
            :func:`~privrank_jax.pairwise.totals_sensitivity` or
            :func:`~privrank_jax.pairwise.questionnaire_sensitivity`.
        epsilon: ε, finite.
        delta: δ, for Gaussian noise.
        noise: ``"laplace"`` or ``"gaussian"``.
        unit: recorded in the guarantee.
        adjacency: recorded in the guarantee.
        note: recorded in the guarantee.

    Returns:
        ``value``: noisy totals, ``(m,)`` float64 NumPy array, multiples of 1/2. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: ``{"noise_scale": s or σ, in wins}``, public.

    Raises:
        ValueError: totals that are no multiples of 1/2, or too large for exact counts in their dtype; ε, δ or the
            sensitivity out of range.
        ImportError: OpenDP is not installed, or unsound.

    >>> estimate = exact_noisy_totals([90.0, 10.5], sensitivity=2, epsilon=1.0)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.numerics
    (True, 'exact')
    """
    check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    check_positive("sensitivity", sensitivity, infinite=False)
    check_choice("noise", noise, ("laplace", "gaussian"))
    check_delta(delta, positive=noise == "gaussian")
    doubled = _doubled(wins)
    mechanism, scale = (
        discrete_laplace(2 * sensitivity, float(epsilon))
        if noise == "laplace"
        else discrete_gaussian(2 * sensitivity, float(epsilon), float(delta))
    )
    attained = Privacy(
        float(epsilon),
        unit=unit,
        adjacency=adjacency,
        delta=float(delta) if noise == "gaussian" else 0.0,
    )
    guarantee = Guarantee(attained, numerics="exact", note=note)
    value = np.asarray(mechanism(doubled.tolist()), np.float64) / 2
    return Estimate(value, guarantee, {"noise_scale": scale / 2})


def exact_top_k(
    wins: WinCounts | Any,
    k: int,
    *,
    sensitivity: float,
    total_sensitivity: float,
    epsilon: float,
    unit: str = "user",
    adjacency: str = "flip",
    note: str = "",
) -> Estimate:
    """The k items with the most wins by the one-shot mechanism with exact noise; only their order is published.

    **Guarantee.** ε-DP for the ordered list, at the noise of
    :func:`~privrank_jax.pairwise.one_shot_top_k` and never more than that of :func:`exact_noisy_totals`.

    Args:
        wins: as for :func:`exact_noisy_totals`.
        k: length of the list, 1 <= k <= m.
        sensitivity: s, most that one unit can move one total, in wins.
        total_sensitivity: ℓ₁ sensitivity of all totals.
        epsilon: ε, finite.
        unit: recorded in the guarantee.
        adjacency: recorded in the guarantee; under ``"add-remove"`` totals move one way, and half the
            noise suffices.
        note: recorded in the guarantee.

    Returns:
        ``value``: item indices, ``(k,)`` int64 NumPy array, best first. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: ``{"noise_scale": s, in wins}``, public.

    Raises:
        ValueError, ImportError: as :func:`exact_noisy_totals`; k out of range.

    >>> estimate = exact_top_k([90, 10, 80], 2, sensitivity=1, total_sensitivity=2, epsilon=2.0)
    >>> estimate.value.tolist()
    [0, 2]
    """
    monotone = adjacency == "add-remove"
    change, _, _ = one_shot_scale(
        k,
        np.inf,
        sensitivity=sensitivity,
        epsilon=1.0,
        total_change=total_sensitivity / (1 if monotone else 2),
        monotone=monotone,
    )
    noisy = exact_noisy_totals(
        wins,
        sensitivity=float(change),
        epsilon=epsilon,
        unit=unit,
        adjacency=adjacency,
        note=note,
    )
    items = noisy.value.size
    if not 1 <= k <= items:
        raise ValueError(f"k must be an integer from 1 to m = {items}, got {k!r}.")
    return dataclasses.replace(noisy, value=np.argsort(-noisy.value, kind="stable")[:k])


def _doubled(wins: Any) -> np.ndarray:
    """Twice the totals as int64."""
    given = np.asarray(wins.matrix if isinstance(wins, WinCounts) else wins)
    doubled = 2 * given.astype(np.float64)
    # Beyond this a floating-point count may have been rounded, so that one more win adds 2, or nothing.
    largest = _LARGEST
    if jnp.issubdtype(given.dtype, jnp.floating):
        largest = min(largest, 2 ** (jnp.finfo(given.dtype).nmant + 1))
    if np.any(np.abs(doubled) > largest):
        raise ValueError(
            f"exact noise needs exact counts, and {given.dtype} holds none beyond {largest // 2:,}: count in float64, "
            "or in integers."
        )
    if isinstance(wins, WinCounts):
        doubled = doubled.sum(-1)
    if doubled.ndim != 1 or not doubled.size:
        raise ValueError(f"win totals must have shape (m,), got {doubled.shape}.")
    whole = np.isfinite(doubled) & (doubled == np.round(doubled)) & (np.abs(doubled) <= _LARGEST)
    if not np.all(whole):
        raise ValueError(
            "exact noise needs win totals that are multiples of 1/2 (whole wins, half wins for ties); "
            "weighted comparisons have no such totals: use pairwise.noisy_counts for a simulation."
        )
    return doubled.astype(np.int64)


def _in_range(build: Callable[..., tuple[Any, float]]) -> Callable[..., tuple[Any, float]]:
    """OpenDP's own refusals, of budgets beyond what it can compute, as ``ValueError``."""

    @functools.wraps(build)
    def built(*args: float) -> tuple[Any, float]:
        dp = load_opendp()
        try:
            return build(*args)
        except dp.OpenDPException as error:
            raise ValueError(
                "no exact noise can be computed for this epsilon and delta: take values nearer to the usual ones, "
                "such as 1 and 1e-6."
            ) from error

    return built


@_in_range
def discrete_laplace(sensitivity: float, epsilon: float) -> tuple[Any, float]:
    """OpenDP's discrete Laplace mechanism on integers, and its scale."""
    dp = load_opendp()
    change = math.ceil(sensitivity)
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = change / epsilon
    mechanism = dp.m.make_laplace(domain, metric, scale=scale)
    for _ in range(8):  # the quotient was rounded to nearest; the proof wants it rounded up
        if mechanism.map(change) <= epsilon:
            break
        scale *= 1 + 2**-51
        mechanism = dp.m.make_laplace(domain, metric, scale=scale)
    return _checked(mechanism, mechanism.map(change), epsilon), scale


@_in_range
def discrete_gaussian(sensitivity: float, epsilon: float, delta: float) -> tuple[Any, float]:
    """OpenDP's discrete Gaussian mechanism on integers, and its standard deviation parameter σ."""
    dp = load_opendp()
    change = sensitivity * (1 + 2**-50)  # a root may have been rounded down by an ulp or two
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")

    def build(scale: float) -> Any:
        concentrated = dp.m.make_gaussian(domain, metric, scale=scale)
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta)

    # ρ + 2√(ρ log 1/δ) bounds ε from above, so this σ suffices; the sharper conversion allows less.
    root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))
    high = change / (math.sqrt(2) * root) * (1 + 1e-9)
    low = high / 16
    for _ in range(50):
        middle = math.sqrt(low * high)
        if build(middle).map(change)[0] <= epsilon:
            high = middle
        else:
            low = middle
        if high <= low * (1 + 1e-6):
            break
    mechanism = build(high)
    return _checked(mechanism, mechanism.map(change)[0], epsilon), high


def _checked(mechanism: Any, proven: float, epsilon: float) -> Any:
    if not proven <= epsilon:
        raise ValueError(
            f"the mechanism proves epsilon = {proven!r}, not {epsilon!r}: ask for another epsilon, "
            "this one is at the limit of double precision."
        )
    return mechanism

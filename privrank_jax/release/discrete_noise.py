r"""OpenDP's discrete noise on integers, held to the ε that was asked for.

*Laplace*: P(X = x) ∝ exp(-\|x\|/s) on the integers with s = Δ₁/ε is ε-DP as its continuous twin is (Ghosh,
Roughgarden, Sundararajan 2009). *Gaussian*: P(X = x) ∝ exp(-x²/2σ²) is Δ₂²/(2σ²)-zCDP (Canonne, Kamath, Steinke
2020), and OpenDP turns that into (ε, δ); σ is the smallest at which OpenDP proves the promise, a few percent above the
σ of the continuous mechanism. Either way the guarantee is the one that OpenDP computes for the mechanism, rounded
conservatively; a check here ensures that it is no larger than what was asked for.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from privrank_jax.release.library import load_opendp

ROUNDED = 1 + 2**-50
"""Times a sensitivity in ℓ₂, a root that may have been rounded down by an ulp or two."""
_LARGEST = 2**53  # whole sensitivities up to it are exact in doubles


def _in_range(build: Callable[..., tuple[Any, float]]) -> Callable[..., tuple[Any, float]]:
    """Turn OpenDP's refusals of budgets that it can't compute with into ``ValueError``."""

    @functools.wraps(build)
    def built(*args: float) -> tuple[Any, float]:
        dp = load_opendp()
        try:
            return build(*args)
        except dp.OpenDPException as error:
            raise ValueError(
                "no exact noise can be computed for this epsilon and delta: choose values closer to usual ones, "
                "such as 1 and 1e-6."
            ) from error

    return built


@_in_range
def discrete_laplace(sensitivity: float, epsilon: float) -> tuple[Any, float]:
    """OpenDP's discrete Laplace mechanism on integers, and its scale."""
    dp = load_opendp()
    change = math.ceil(sensitivity)
    if change > _LARGEST:
        raise ValueError(
            f"exact noise is for a sensitivity of at most 2^53 units, got {sensitivity:.3g}: promise fewer "
            "contributions, or give covariates fewer bits."
        )
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = change / epsilon
    mechanism = dp.m.make_laplace(domain, metric, scale=scale)
    for _ in range(8):  # the quotient is rounded to nearest; the proof needs it rounded up
        if mechanism.map(change) <= epsilon:
            break
        scale *= 1 + 2**-51
        mechanism = dp.m.make_laplace(domain, metric, scale=scale)
    return _checked(mechanism, mechanism.map(change), epsilon), scale


@_in_range
def discrete_gaussian(sensitivity: float, epsilon: float, delta: float) -> tuple[Any, float]:
    """OpenDP's discrete Gaussian mechanism on integers, and its standard deviation parameter σ."""
    change = sensitivity * ROUNDED
    scale = _least_scale(change, epsilon, delta)
    mechanism = _gaussian(scale, delta)
    return _checked(mechanism, mechanism.map(change)[0], epsilon), scale


def _gaussian(scale: float, delta: float) -> Any:
    dp = load_opendp()
    domain, metric = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    concentrated = dp.m.make_gaussian(domain, metric, scale=scale)
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(concentrated), delta)


@functools.lru_cache(maxsize=256)
def _least_scale(change: float, epsilon: float, delta: float) -> float:
    # ρ + 2√(ρ log 1/δ) bounds ε from above, so this σ suffices; the sharper conversion allows less.
    root = epsilon / (math.sqrt(epsilon - math.log(delta)) + math.sqrt(-math.log(delta)))
    high = change / (math.sqrt(2) * root) * (1 + 1e-9)
    low = high / 16
    for _ in range(50):
        middle = math.sqrt(low * high)
        if _gaussian(middle, delta).map(change)[0] <= epsilon:
            high = middle
        else:
            low = middle
        if high <= low * (1 + 1e-6):
            break
    return high


def _checked(mechanism: Any, proven: float, epsilon: float) -> Any:
    if not proven <= epsilon:
        raise ValueError(
            f"the mechanism proves epsilon = {proven!r}, not {epsilon!r}: ask for another epsilon, "
            "this one is at the limit of double precision."
        )
    return mechanism

"""Ranking by noisy win totals: no model, one dose of noise."""

from __future__ import annotations

import functools
from typing import Any

import jax

from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import gaussian_scale, laplace_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import ADJACENCIES, COMPARISON_UNITS, Privacy

Array = jax.Array


def totals_sensitivity(
    unit: str = "comparison", adjacency: str = "replace", comparisons_per_user: Any = 1
) -> Any:
    """ℓ₁ sensitivity of the win totals (N_i): 2 per comparison that changes, 1 per one added or removed.

    A comparison adds 1 in all to the totals (a tie 1/2 twice), at items that its neighbor need not
    share; so L comparisons replaced, or answered differently, move them by at most 2L, and L added or
    removed by at most L. All three are attained.

    >>> totals_sensitivity("user", "replace", 15), totals_sensitivity("user", "add-remove", 15)
    (30.0, 15.0)
    """
    check_choice("unit", unit, COMPARISON_UNITS)
    check_choice("adjacency", adjacency, ADJACENCIES)
    check_positive("comparisons_per_user", comparisons_per_user, infinite=False)
    per_unit = comparisons_per_user if unit == "user" else 1
    return (1.0 if adjacency == "add-remove" else 2.0) * per_unit


def noisy_counts(
    key: Array,
    wins: WinCounts,
    epsilon: Any = 1.0,
    unit: str = "comparison",
    adjacency: str = "replace",
    comparisons_per_user: Any = 1,
    calibration: str = "tight",
    *,
    delta: Any = 0.0,
    noise: str = "laplace",
    sensitivity: Any = None,
) -> Estimate:
    """Win totals plus noise; sort them (``rankings.ranks_from_scores``) for a full ranking or a top-k set.

    **Guarantee.** The Laplace mechanism on the totals, of scale sensitivity/ε with the ℓ₁ sensitivity of
    :func:`totals_sensitivity`: ε-DP for the unit and adjacency given; everything computed from the value
    inherits it. With Gaussian noise (ε, δ)-DP, calibrated to the ℓ₂ sensitivity (√2 per comparison
    flipped or replaced, 1 per comparison added or removed, times L).

    ``calibration="published"`` reproduces Cai, Algorithms 2 and 3: 2/ε for one comparison, L/ε for a
    user. The latter is unsound under replacement (one user moves the totals by 2L), and the guarantee
    says so: it carries 2ε.

    Args:
        key: PRNG key.
        wins: win counts of m items.
        epsilon: ε > 0, may be traced; ∞ adds no noise.
        unit: ``"comparison"`` or ``"user"``.
        adjacency: ``"flip"``, ``"replace"``, ``"add-remove"`` of one unit.
        comparisons_per_user: L >= 1, most comparisons of one user (must hold in the data).
        calibration: ``"tight"`` or ``"published"``.
        delta: δ, for Gaussian noise.
        noise: ``"laplace"`` or ``"gaussian"``.
        sensitivity: a smaller public sensitivity in the noise's norm, instead of the generic one (see
            :func:`~privrank_jax.pairwise.questionnaire_sensitivity`).

    Returns:
        ``value``: noisy totals, ``(m,)``, in wins, high = preferred (masked items: noise only).
        ``guarantee``. ``diagnostics``: ``{"noise_scale": λ or σ}``, public.

    Raises:
        ValueError: ε <= 0, unknown names, L < 1, δ missing.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3, with the sensitivity corrected.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> totals = noisy_counts(jax.random.key(0), wins, epsilon=1.0).value
    >>> bool(totals[0] > totals[1])
    True
    """
    check_epsilon(epsilon)
    check_choice("noise", noise, ("laplace", "gaussian"))
    check_choice("calibration", calibration, ("tight", "published"))
    check_delta(delta, positive=noise == "gaussian")
    change = totals_sensitivity(unit, adjacency, comparisons_per_user)
    proven, note = epsilon, ""
    if calibration == "published":
        if noise != "laplace" or sensitivity is not None:
            raise ValueError("the published calibration has Laplace noise and its own sensitivity.")
        scale = (comparisons_per_user if unit == "user" else 2.0) / epsilon
        if unit == "user" and adjacency != "add-remove":
            proven, note = 2 * epsilon, "published as epsilon, but proven only for twice that."
    elif noise == "laplace":
        scale = laplace_scale(change if sensitivity is None else sensitivity, epsilon)
    else:
        euclidean = change / 2**0.5 if adjacency != "add-remove" else change
        scale = gaussian_scale(euclidean if sensitivity is None else sensitivity, epsilon, delta)
    delta = delta if noise == "gaussian" else 0.0
    guarantee = Guarantee(
        Privacy(epsilon, unit=unit, adjacency=adjacency, delta=delta),
        Privacy(proven, unit=unit, adjacency=adjacency, delta=delta),
        note=note,
    )
    return Estimate(_noisy_totals(key, wins, scale, noise), guarantee, {"noise_scale": scale})


@functools.partial(jax.jit, static_argnames=("noise",))
def _noisy_totals(key: Array, wins: WinCounts, scale: Any, noise: str) -> Array:
    draw = laplace if noise == "laplace" else gaussian
    totals = wins.totals
    return totals + draw(key, totals.shape, scale, totals.dtype)

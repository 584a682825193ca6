r"""Private weights from exact releases of Borda scores and of all pairs, for a consensus.

A user orders the pair i < j by σ_ij in {-1, 0, 1} (:mod:`privrank_jax.aggregation.borda`). With p the sum of
these over all users, and t_i the sum of what i is ahead by, Σ_j σ_ij, both are integers. Replacing one user changes t
within cZ(K_m), c = 2, the complete zonotope, and each entry of p by at most c; ‖Δt‖² ≤ c²m(m²-1)/3 and ‖Δp‖² ≤
c²m(m-1)/2, both attained by a ranking and its reversal (:mod:`privrank_jax.aggregation.borda`). Under add-remove c = 1,
attained by any ranking. Everything after the two noisy vectors is post-processing.

**K-norm noise**: t at ε₁ = φε, rounded to a double, p at the largest double ε₂ with ε₁ + ε₂ ≤ ε, the sum taken exactly.
Both draws are those of :mod:`privrank_jax.exact.k_norm`.

**Gaussian noise**, rounded to integers (:mod:`privrank_jax.exact.rounded_gaussian`): N(0, σ_t²) on t and N(0, σ_p²)
on p are one Gaussian mechanism, on (t/σ_t, p/σ_p). Its ℓ₂ sensitivity squared is at most ‖Δt‖²/σ_t² + ‖Δp‖²/σ_p² ≤ φμ²
+ (1 - φ)μ² = μ², with σ_t and σ_p rounded up to rationals and μ the largest sensitivity that is proven (ε, δ)-DP
(:mod:`privrank_jax.privacy.gaussian`). So neither two releases, nor the lattice, nor rounding costs privacy: the
law before rounding is that of the simulated twin. Its noise on g has precision m/σ_t² + 1/σ_p² in doubled units, which
is μ²(φ/A + (1 - φ)/(A + C))/4 as there; the noise on the sum of t, which is 0, is projected out.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax._types import Number
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.promise import ADDED, of_rankings, unit_of
from privrank_jax.aggregation.split_weights import (
    SHRINKAGES,
    WEIGHT_NOISES,
    check_focus,
    combined,
    default_focus,
    precisions,
)
from privrank_jax.aggregation.weights import PairWeights, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise, largest_below
from privrank_jax.exact.k_norm import discrete_cube, discrete_zonotope
from privrank_jax.exact.rounded_gaussian import gaussian_mechanism, root_above
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.privacy.gaussian import concentrated_budget, gaussian_budget
from privrank_jax.privacy.privacy import Privacy


def exact_weights(
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: Number | None = None,
    shrink: str = "james-stein",
) -> Estimate:
    """Pairwise weights with exact noise; the twin of :func:`~privrank_jax.aggregation.private_weights`.

    **Guarantee.** As for the twin; proof at the head of this module.

    Arguments and errors: as for the twin and all exact releases (:mod:`privrank_jax.release`).

    Returns:
        ``value``: ``(m, m)`` float64 NumPy array, not clipped: w̃_ij + w̃_ji = 1, diagonal 0; under add-remove as the
        twin. ``guarantee``. ``diagnostics``: :class:`~privrank_jax.aggregation.split_weights.WeightsDiagnostics`.

    >>> from privrank_jax.aggregation.weights import counted_weights
    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_weights(counted_weights([[0, 1]] * 1000), privacy).value.round(1).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    check_choice("shrink", shrink, SHRINKAGES)
    attained = exact_promise(of_rankings(privacy, "exact_weights", noise, WEIGHT_NOISES, ADDED))
    whole, users, items = whole_counts(weights), int(weights.num_users), weights.num_items
    (change, divisor), middle = unit_of(attained, users), 0.5
    if attained.adjacency == "add-remove":
        middle, focus = 0.0, 0.0 if focus is None else focus
    share = float(default_focus(items, users, attained, noise=noise) if focus is None else focus)
    check_focus(share)
    counts = whole - users * (1 - np.eye(items, dtype=np.int64))
    above = np.triu_indices(items, 1)
    release = _gaussian if noise == "gaussian" else _k_norm
    totals, pairs, scale = release(counts.sum(axis=1), counts[above], change, share, attained)
    scores = totals / (2 * divisor)
    x = np.zeros((items, items))
    x[above] = pairs / (2 * divisor)
    scale *= change / (2 * divisor)
    shares = map(np.float64, (middle, scale, share, *precisions(items, items, noise)))
    combine = functools.partial(combined, noise=noise, shrink=shrink)
    with jax.enable_x64(True):
        value, diagnostics = quickly(
            combine, scores - scores.mean(), x - x.T, np.ones(items, bool), *shares
        )
        value = np.asarray(value)
    rho = None
    if noise == "gaussian":
        rho = concentrated_budget(gaussian_budget(attained.epsilon, attained.delta))
    return exact_estimate(value, privacy, attained, diagnostics, rho=rho)


def _k_norm(
    totals: np.ndarray, pairs: np.ndarray, change: int, share: float, attained: Privacy
) -> tuple[np.ndarray, np.ndarray, float]:
    """Noisy t and p, zeros for a release that has no share, and 1/ε."""
    for_scores, for_pairs = split_epsilon(attained.epsilon, share)
    noisy, above = np.zeros(totals.size), np.zeros(pairs.size)
    if for_scores:
        noisy = discrete_zonotope(Graph.of_all_pairs(totals.size), change, for_scores)[0](totals)
    if for_pairs:
        above = discrete_cube(pairs.size, change, for_pairs)[0](pairs)
    return noisy, above, 1 / attained.epsilon


def split_epsilon(epsilon: float, share: float) -> tuple[float, float]:
    """ε₁ = φε, rounded to a double, and the largest double ε₂ with ε₁ + ε₂ ≤ ε.

    Args:
        epsilon: ε.
        share: φ in [0, 1].

    >>> split_epsilon(1.0, 0.25)
    (0.25, 0.75)
    """
    first = share * epsilon
    return first, max(largest_below(Fraction(epsilon) - Fraction(first)), 0.0)


def _gaussian(
    totals: np.ndarray, pairs: np.ndarray, change: int, share: float, attained: Privacy
) -> tuple[np.ndarray, np.ndarray, float]:
    """Noisy t and p, zeros for a release that has no share, and 1/μ."""
    budget = gaussian_budget(attained.epsilon, attained.delta)
    scales = deviations(totals.size, change, Fraction(share), budget)
    parts = [(part, scale) for part, scale in zip((totals, pairs), scales) if scale is not None]
    released = gaussian_mechanism(
        np.concatenate([part for part, _ in parts]),
        tuple((part.size, scale) for part, scale in parts),
        attained.epsilon,
        budget,
    )
    noisy, above = np.zeros(totals.size), np.zeros(pairs.size)
    if scales[0] is not None:
        noisy, released = released[: totals.size], released[totals.size :]
    if scales[1] is not None:
        above = released
    return noisy, above, float(1 / budget)


def deviations(
    num_items: int, change: int, share: Fraction, budget: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """σ_t and σ_p, None for a release that has no share.

    Args:
        num_items: m >= 2.
        change: c.
        share: φ in [0, 1].
        budget: μ.
    """
    m, square = num_items, change**2
    squares = (
        (Fraction(square * m * (m * m - 1), 3), share),
        (Fraction(square * m * (m - 1), 2), 1 - share),
    )
    first, second = (
        root_above(moved / (part * budget**2)) if part else None for moved, part in squares
    )
    return first, second

r"""Private footrule costs with exact discrete noise, for real releases of a consensus.

Four times n times the prefix counts F are integers, G_jp: how many quarters of users have item j at place p or before
(:mod:`privrank_jax.aggregation.footrule`), 0 <= p < m - 1. Replacing one user changes each G_jp by at most 4, and G by
at most 4√⌊m²/2⌋ in ℓ₂, ties and gaps included (:mod:`privrank_jax.aggregation.private_footrule`). Both are attained by
a ranking and its reversal. Costs and rankings are functions of the noisy G and of n, which is public.

**K-norm noise** is that of the cube [-1, 1]^d, d = m(m-1), with c = 4 in the proof at the head of
:mod:`privrank_jax.release.k_norm`. **Gaussian noise** is rounded to integers
(:mod:`privrank_jax.release.rounded_gaussian`), at a σ that is at least 4√⌊m²/2⌋/μ, rounded up to a rational; μ is the
largest sensitivity that is proven (ε, δ)-DP at σ = 1 (:mod:`privrank_jax.release.gaussian_budget`). Noise in a tree of
places has no exact twin.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from privrank_jax._types import RankingsLike
from privrank_jax._validate import check_choice, is_traced
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule import PositionHistograms, check_histograms
from privrank_jax.aggregation.private_footrule import dp_footrule_deviation
from privrank_jax.aggregation.weights import MISSING
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.exact_aggregation import exact_promise
from privrank_jax.release.gaussian_budget import gaussian_budget
from privrank_jax.release.k_norm import discrete_cube
from privrank_jax.release.weights_in_parts import gaussian_mechanism, root_above

CHANGE = 4
"""What one user changes of four times a prefix count."""

_NOISES = ("k-norm", "gaussian")


def exact_footrule(
    data: RankingsLike | PositionHistograms,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    missing: str = "last",
) -> Estimate:
    """Footrule costs from noisy prefix counts; the exact twin of :func:`~privrank_jax.aggregation.dp_footrule`.

    **Guarantee.** ε-DP with K-norm noise, (ε, δ)-DP with Gaussian noise; unit user, adjacency replace, and whatever
    these cover; proof at the head of this module. Runs on the host: no tracing, no key.

    Args:
        data: ranks ``(n, m)``, integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked. Or
            :class:`~privrank_jax.aggregation.PositionHistograms`.
        privacy: what is promised: unit user, adjacency replace; ε finite.
        noise: ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PositionHistograms.from_ranks`; of
            ranks.

    Returns:
        ``value``: noisy costs, ``(m, m)`` float64 NumPy array, in positions; 4n times them are integers.
        ``guarantee`` with ``numerics="exact"``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.FootruleDiagnostics`.

    Raises:
        ValueError: a promise that this can't keep, ε infinite or out of range, fewer than 2 items, no users, ranks that
            are not integers, histograms that are traced or not those of n users.

    >>> from scipy.optimize import linear_sum_assignment
    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> costs = exact_footrule([[2, 0, 1]] * 1000, privacy).value
    >>> linear_sum_assignment(costs)[1].tolist()
    [2, 0, 1]
    """
    check_choice("noise", noise, _NOISES)
    attained = exact_promise(
        privacy, "exact_footrule", "gaussian" if noise == "gaussian" else "laplace"
    )
    check_choice("missing", missing, MISSING)
    if not isinstance(data, PositionHistograms):
        data = PositionHistograms.from_ranks(data, missing=missing)
    if is_traced(data.counts, data.num_users):
        raise ValueError("exact releases run on the host, and these histograms are traced.")
    check_histograms(data)
    users, items = int(data.num_users), data.num_items
    if items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to release.")
    counts = np.asarray(data.counts, np.int64)
    prefixes = np.cumsum(counts, axis=1)[:, :-1].ravel()
    if noise == "k-norm":
        noisy = discrete_cube(prefixes.size, CHANGE, attained.epsilon)[0](prefixes)
        spread = float(np.asarray(dp_footrule_deviation(items, users, attained, noise=noise)))
    else:
        budget = gaussian_budget(attained.epsilon, attained.delta)
        scale = deviation(items, budget)
        noisy = gaussian_mechanism(prefixes, ((prefixes.size, scale),), attained.epsilon, budget)
        spread = float(scale) / (CHANGE * users) * math.sqrt(2 * (items**2 - 1) / (3 * items))
    value = _costs(np.asarray(noisy, np.float64).reshape(items, items - 1) / (4 * users))
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(value, guarantee, FootruleDiagnostics(spread))


def deviation(num_items: int, budget: Fraction) -> Fraction:
    """σ of the Gaussian noise on four times the prefix counts.

    Args:
        num_items: m >= 2.
        budget: μ.

    >>> round(float(deviation(3, Fraction(1, 2))), 6)
    16.0
    """
    return root_above(Fraction(CHANGE**2 * (num_items**2 // 2)) / budget**2)


def _costs(prefixes: np.ndarray) -> np.ndarray:
    """C_jp = Σ_{q<p} F_jq + Σ_{q>=p} (1 - F_jq)."""
    steps = np.cumsum(2 * prefixes - 1, axis=1)
    first = np.sum(1 - prefixes, axis=1, keepdims=True)
    return np.hstack([first, first + steps])

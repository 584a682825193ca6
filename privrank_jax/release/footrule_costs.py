r"""Private footrule costs with exact discrete noise, for real releases of a consensus.

Four times n times the prefix counts F are integers, G_jp: how many quarters of users have item j at place p or before
(:mod:`privrank_jax.aggregation.footrule`), 0 <= p < m - 1. Replacing one user changes each G_jp by at most 4, and G by
at most 4⌊m²/2⌋ in ℓ₁ and 4√⌊m²/2⌋ in ℓ₂, ties and gaps included (:mod:`privrank_jax.aggregation.private_footrule`).
All are attained by a ranking and its reversal. Costs and rankings are functions of the noisy G and of n, which is
public.

**K-norm noise** is that of the cube [-1, 1]^d, d = m(m-1), with c = 4 in the proof at the head of
:mod:`privrank_jax.exact.k_norm`. **Laplace noise** on integers (:mod:`privrank_jax.exact.integer_laplace`) has the
scale 4⌊m²/2⌋/ε; it composes as noise on ⌊m²/2⌋ numbers that change by 4, for k counts change by at most 4k, and all by
4⌊m²/2⌋. **Gaussian noise** is rounded to integers (:mod:`privrank_jax.exact.rounded_gaussian`), at a σ that is at
least 4√⌊m²/2⌋/μ, rounded up to a rational; μ is the largest sensitivity that is proven (ε, δ)-DP at σ = 1
(:mod:`privrank_jax.privacy.gaussian`).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax._types import Rankings, RankingsLike
from privrank_jax._validate import check_choice, check_no_padding, is_traced
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule import PositionHistograms, check_histograms
from privrank_jax.aggregation.private_footrule import dp_footrule_deviation
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import MISSING
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import SYSTEM
from privrank_jax.exact.integer_laplace import laplace_mechanism
from privrank_jax.exact.integer_noise import UNPADDED, exact_estimate, exact_promise
from privrank_jax.exact.k_norm import discrete_cube
from privrank_jax.privacy.gaussian import concentrated_budget, gaussian_budget
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.weights_in_parts import gaussian_mechanism, root_above

CHANGE = 4
"""What one user changes of four times a prefix count."""


def exact_footrule(
    data: RankingsLike | PositionHistograms,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    missing: str = "last",
) -> Estimate:
    """Footrule costs from noisy prefix counts; the exact twin of :func:`~privrank_jax.aggregation.dp_footrule`.

    **Guarantee.** As for the twin; proof at the head of this module.

    Args:
        data: ranks ``(n, m)``, integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked. Or
            :class:`~privrank_jax.aggregation.PositionHistograms`.
        privacy: as for the twin, ε finite.
        noise: as for the twin.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PositionHistograms.from_ranks`; of
            ranks.

    Returns:
        ``value``: noisy costs, ``(m, m)`` float64 NumPy array, in positions. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.FootruleDiagnostics`.

    Raises:
        ValueError: as for the twin and all exact releases (:mod:`privrank_jax.release`); fewer than 2 items, no users,
            ranks that are not integers, histograms that are traced, padded or not those of n users.

    >>> from scipy.optimize import linear_sum_assignment
    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> costs = exact_footrule([[2, 0, 1]] * 1000, privacy).value
    >>> linear_sum_assignment(costs)[1].tolist()
    [2, 0, 1]
    """
    attained = exact_promise(of_rankings(privacy, "exact_footrule", noise, SHAPED_NOISES))
    check_choice("missing", missing, MISSING)
    if not isinstance(data, PositionHistograms):
        data = counted_histograms(data, missing)
    if is_traced(data.counts, data.num_users):
        raise ValueError("exact releases run on the host, and these histograms are traced.")
    check_histograms(data)
    check_no_padding(data, UNPADDED)
    users, items = int(data.num_users), data.num_items
    if items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to release.")
    prefixes = np.cumsum(np.asarray(data.counts, np.int64), axis=1)[:, :-1].ravel()
    moved, rho, changes = items**2 // 2, None, ()
    if noise == "gaussian":
        budget = gaussian_budget(attained.epsilon, attained.delta)
        scale, rho = deviation(items, budget), concentrated_budget(budget)
        noisy = gaussian_mechanism(prefixes, ((prefixes.size, scale),), attained.epsilon, budget)
        spread = float(scale) / (CHANGE * users) * math.sqrt(2 * (items**2 - 1) / (3 * items))
    else:
        if noise == "laplace":
            scale, changes = CHANGE * moved / Fraction(attained.epsilon), (CHANGE,) * moved
            noisy = laplace_mechanism(prefixes[None], scale, [SYSTEM])[0]
        else:
            noisy = discrete_cube(prefixes.size, CHANGE, attained.epsilon)[0](prefixes)
        spread = float(np.asarray(dp_footrule_deviation(items, users, attained, noise=noise)))
    value = _costs(noisy.reshape(items, items - 1) / (4 * users))
    about = FootruleDiagnostics(spread)
    return exact_estimate(value, privacy, attained, about, changes=changes, rho=rho)


def counted_histograms(ranks: RankingsLike, missing: str) -> PositionHistograms:
    """:meth:`PositionHistograms.from_ranks <privrank_jax.aggregation.PositionHistograms.from_ranks>`, by NumPy.

    Args:
        ranks: ``(n, m)`` integers, as there.
        missing: as there.

    Raises:
        ValueError: as there.
    """
    given = np.asarray(ranks)
    count = functools.partial(_counts, missing=missing)
    return PositionHistograms(quickly(count, given), len(given))


def _counts(ranks: Rankings, missing: str) -> Any:
    return PositionHistograms.from_ranks(ranks, missing=missing).counts


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

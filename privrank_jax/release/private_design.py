"""Noisy numbers of comparisons of items and of pairs, with exact integer noise, for intervals of private scores.

The statistic, its sensitivity and the split of ε are those of :mod:`privrank_jax.pairwise.private_design`. Twice the
counts are integers, and the noise on them is drawn by :mod:`privrank_jax.exact.integer_laplace`, with scales that are
rationals; halving is post-processing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import SYSTEM
from privrank_jax.exact.integer_laplace import laplace_mechanism
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.pairwise.private_design import APPEARANCES_SHARE, DesignNoise, NoisyDesign
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.whole_counts import doubled_counts
from privrank_jax.privacy.privacy import Privacy


def exact_noisy_design(wins: WinCounts, privacy: Privacy) -> Estimate:
    """Noisy numbers of comparisons with exact noise, for a real release; the twin of ``pairwise.noisy_design``.

    **Guarantee.** As for the twin; proof at the heads of this module and of
    :mod:`privrank_jax.pairwise.private_design`.

    Arguments and errors: as for the twin and all exact releases (:mod:`privrank_jax.release`); ``ValueError`` unless
    counts are multiples of 1/2.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.private_design.NoisyDesign` of float64 NumPy arrays, multiples of 1/2.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.pairwise.private_design.DesignNoise`, public.

    >>> wins = WinCounts.from_matrix([[0, 900], [100, 0]])
    >>> promise = Privacy(50.0, unit="comparison", adjacency="replace")
    >>> bool(950 < exact_noisy_design(wins, promise).value.pairs[0, 1] < 1050)
    True
    """
    attained = exact_promise(of_comparisons(privacy, "exact_noisy_design", "laplace"))
    if attained.adjacency == "flip":
        raise ValueError(
            "under adjacency='flip' it is public who compared what: take wins.comparisons as it is."
        )
    doubled = doubled_counts(wins)
    met = doubled + doubled.T
    moved = (2 if attained.adjacency == "replace" else 1) * Fraction(attained.comparisons_per_unit)
    share, epsilon = Fraction(str(APPEARANCES_SHARE)), Fraction(attained.epsilon)
    of_items, of_pairs = 2 * moved / (share * epsilon), moved / ((1 - share) * epsilon)
    first, second = np.triu_indices(len(met), 1)
    appearances = laplace_mechanism(met.sum(1)[None], 2 * of_items, [SYSTEM])[0] / 2
    pairs: Any = np.zeros(met.shape)
    pairs[first, second] = (
        laplace_mechanism(met[first, second][None], 2 * of_pairs, [SYSTEM])[0] / 2
    )
    value = NoisyDesign(appearances, pairs + pairs.T, float(of_items), float(of_pairs))
    about = DesignNoise(float(of_pairs), float(of_items))
    return exact_estimate(value, privacy, attained, about)

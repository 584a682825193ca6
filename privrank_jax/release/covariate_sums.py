r"""Exact discrete noise on the sums of comparisons with public covariates, and on the number of ties.

Where features are multiples of 2^{-b}, 2^{b+1}S is a vector of integers whose sensitivity is 2^{b+1} times that of S
(theorems at the heads of :mod:`privrank_jax.pairwise.covariates` and :mod:`privrank_jax.pairwise.covariate_shape`): in
ℓ₁ a whole number, computed in integers or, below 2^53, exactly in doubles. Integer noise on it
(:mod:`privrank_jax.exact.integer_noise`) is drawn exactly, from the operating system's entropy. Dividing by 2^{b+1},
and any fit, is post-processing. b is a function of the public design.

*With the number of ties T* (theorem at the head of :mod:`privrank_jax.pairwise.covariate_ties`): 2^{b+1}(S, T) for
Laplace noise and 2^{b+1}(9S, 11T) for Gaussian noise are whole, and their sensitivity is 2^{b+1} and 9·2^{b+1} times
that of S, or of (S, T) where users share questions.
"""

from __future__ import annotations

import math

import numpy as np

from privrank_jax._types import Scalar
from privrank_jax._validate import check_positive
from privrank_jax.exact.integer_noise import concentrated, integer_noise
from privrank_jax.pairwise.covariate_shape import shaped_sensitivity
from privrank_jax.pairwise.covariates import (
    CovariateDesign,
    CovariateTable,
    resolution,
)
from privrank_jax.pairwise.noisy_ties import GAUSSIAN_TIE_WEIGHT
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy

_LARGEST = 2**52  # integers below it are exact in float64
_TOO_LARGE = (
    "these sums are too large for exact noise: give covariates fewer bits, or leave some out."
)


def noisy_sums(
    table: CovariateTable,
    attained: Privacy,
    noise: str,
    sensitivity: Scalar | None = None,
    *,
    ties: bool = False,
) -> tuple[np.ndarray, float, float | None]:
    """Noisy sums, with the number of ties where it is released too, the scale of their noise, and ρ of Gaussian noise.

    Args:
        table: comparisons with features, whose outcomes are 0, 1/2 or 1.
        attained: what ``exact_noisy_counts`` attains.
        noise: its kind.
        sensitivity: a smaller public one.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: features that are no multiples of a power of 1/2, other outcomes, sums beyond 2^52 units.
    """
    design = table.design
    bits = resolution(np.asarray(design.features))
    number = _number_of_ties(table, bits)
    values, unit = _whole_sums(table, bits), math.ldexp(2.0, bits)
    units = np.full(values.size, unit)
    on_ties, on_sums = GAUSSIAN_TIE_WEIGHT if ties and noise == "gaussian" else (1, 1)
    if ties:
        values = np.append(on_sums * values, on_ties * (2 << bits) * number)
        units = np.append(on_sums * units, on_ties * unit)
    if sensitivity is None:
        sensitivity = _change(design, attained, noise, bits, ties=ties)
    check_positive("sensitivity", sensitivity, infinite=False)
    change = on_sums * unit * float(sensitivity)
    add_noise, scale = integer_noise(noise, attained, change)
    rho = concentrated(noise, change, scale)
    return add_noise(values) / units, scale / (on_sums * unit), rho


def _number_of_ties(table: CovariateTable, bits: int) -> int:
    real = _rows(table.design, bits)[3]
    return int(np.sum(np.asarray(table.outcomes)[real] == 0.5))


def _whole_sums(table: CovariateTable, bits: int) -> np.ndarray:
    """2^{b+1}S as int64."""
    first, second, features, real = _rows(table.design, bits)
    doubled = 2 * np.asarray(table.outcomes, np.float64)[real]
    if not np.all(np.isin(doubled, (0.0, 1.0, 2.0))):
        raise ValueError("exact noise needs outcomes that are 0, 1/2 or 1.")
    if 2 * len(first) * max(int(np.abs(features).max(initial=0)), 1 << bits) > _LARGEST:
        raise ValueError(_TOO_LARGE)
    twice = doubled.astype(np.int64)
    items = np.zeros(table.design.num_items, np.int64)
    np.add.at(items, first, twice << bits)
    np.subtract.at(items, second, twice << bits)
    return np.concatenate([items, (twice[:, None] * features).sum(0)])


def _change(
    design: CovariateDesign, privacy: Privacy, noise: str, bits: int, *, ties: bool = False
) -> float:
    """Sensitivity of S, or of S and the number of ties, by the better of two theorems; exact, but in ℓ₂ rounded up."""
    single = _change_by_norms(design, privacy, noise, bits)
    if privacy.unit != "user":
        return single
    return min(single, shaped_sensitivity(design, norm_of(noise), ties=ties))


def _change_by_norms(design: CovariateDesign, privacy: Privacy, noise: str, bits: int) -> float:
    """That by the norms of single comparisons."""
    first, _, features, real = _rows(design, bits)
    if noise == "laplace":
        each = (2 << bits) + np.abs(features).sum(1)
    else:
        # 32 roundings upward; pairwise sums of up to 2^20 squares, and the root, make at most 18
        each = np.sqrt(2 + np.square(np.ldexp(features, -bits)).sum(1)) * (1 + 2**-48)
    if privacy.unit == "user":
        users = np.asarray(design.users)[real]
        together = np.zeros(len(real), each.dtype)
        np.add.at(together, users, each)
        each = together
    most = each.max()
    if noise == "laplace":
        return math.ldexp(int(most), -bits)
    return float(most) * (1 + len(first) * 2**-52)


def _rows(
    design: CovariateDesign, bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """First and second items, 2^b times the features as int64, of the rows that are no padding; and which these are."""
    count = len(design.first)
    real = np.ones(count, bool) if design.mask is None else np.asarray(design.mask)
    first, second = (np.asarray(items)[real] for items in (design.first, design.second))
    whole = np.ldexp(np.asarray(design.features, np.float64)[real], bits)
    if np.any(np.abs(whole) > _LARGEST):
        raise ValueError(_TOO_LARGE)
    return first, second, whole.astype(np.int64), real

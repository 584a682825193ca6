r"""Noise on the sums of comparisons with public covariates, and on the number of ties.

*What it protects*: outcomes alone, adjacency flip. Who compared what and the covariates enter a fit without noise, so
the promise must take them as public.

*Sensitivity*: by norms of single comparisons (head of :mod:`privrank_jax.pairwise.covariates`) or, if that is less, by
the shape of what users are asked (:mod:`privrank_jax.pairwise.covariate_shape`); with the number of ties
:mod:`privrank_jax.pairwise.covariate_ties`.

*Integers.* Where features are multiples of 2^{-b}, 2^{b+1}S is a vector of whole numbers whose sensitivity is 2^{b+1}
times that of S: in ℓ₁ a whole number, computed in integers or, below 2^53, exactly in doubles. b is a function of the
public design. With the number of ties T, 2^{b+1}(S, T) for Laplace noise and 2^{b+1}(9S, 11T) for Gaussian noise are
whole, and their sensitivity is 2^{b+1} and 9·2^{b+1} times that of S, or of (S, T) where users share questions.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import check_positive, is_traced
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.pairwise.covariate_shape import shaped_sensitivity
from privrank_jax.pairwise.covariate_ties import number_of_ties
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable, resolution
from privrank_jax.pairwise.noisy_totals import known_of
from privrank_jax.pairwise.tie_noise import FLIPS, tie_parts, tie_weight
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import NOISES, norm_of
from privrank_jax.privacy.privacy import Privacy

_LARGEST = 2**52  # integers below it are exact in float64
_TOO_LARGE = (
    "these sums are too large for exact noise: give covariates fewer bits, or leave some out."
)


def covariate_sensitivity(
    design: CovariateDesign, privacy: Privacy, norm: str, *, ties: bool = False
) -> Any:
    """Sensitivity of the sums to one unit: by norms of single comparisons or, if that is less, by the shape of G.

    The theorems are at the heads of :mod:`privrank_jax.pairwise.covariates` and
    :mod:`privrank_jax.pairwise.covariate_shape`.

    Args:
        design: the comparisons.
        privacy: the promise, of which the unit counts.
        norm: ``"l1"`` or ``"l2"``.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: a traced design, for users: its shape is computed on the host.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, who = [0, 0, 1] * 2, [1, 2, 2] * 2, [0, 0, 0, 1, 1, 1]
    >>> table = covariate_table(first, second, [1] * 6, {}, num_items=3, users=who)
    >>> promise = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))
    >>> float(table.design.sensitivity(promise)), float(covariate_sensitivity(table.design, promise, "l1"))
    (6.0, 4.0)
    """
    generic = design.sensitivity(privacy, norm)
    if privacy.unit != "user":
        return generic
    if is_traced(design):
        raise ValueError(
            "what a user changes depends on the shape of the design, which must not be traced: keep the table's design "
            "out of jax.jit and jax.vmap (its outcomes may be traced), or give sensitivity."
        )
    return jnp.minimum(generic, shaped_sensitivity(design, norm, ties=ties))


def noise_on_sums(design: CovariateDesign, kind: str, scale: Any, *, ties: bool = False) -> Noise:
    """Noise of this kind and scale on the sums of this design, and on the number of ties behind them.

    Args:
        design: the comparisons.
        kind: ``"laplace"`` or ``"gaussian"``.
        scale: λ or σ of each sum.
        ties: whether the number of ties is released too.
    """
    return Noise.independent(kind, scale, design.size + ties, (tie_weight(kind),) * ties)


def _changed(attained: Privacy, facts: Facts, noise: str, ties: bool) -> Change:
    if "covariates" not in attained.neighbors.shared:
        raise ValueError(
            "the covariates of each comparison, and which item was first, enter the fit without noise, so the promise "
            "must say that they are public: Privacy(..., public=('covariates',))."
        )
    design, bits = facts.told["design"], facts.told.get("bits")
    unit = 1 if bits is None else 1 << bits
    parts: Any = tie_parts(noise, design.size, unit) if ties else unit

    def size() -> Any:
        given = facts.told.get("sensitivity")
        if given is not None:
            check_positive("sensitivity", given, infinite=False)
        elif bits is None:
            given = covariate_sensitivity(design, attained, norm_of(noise), ties=ties)
        else:
            given = _exact_change(design, attained, noise, bits, ties=ties)
        return 2 * (parts if np.ndim(parts) == 0 else parts[0]) * given

    return Change(lambda: [size()], parts=parts)


def _floats(table: CovariateTable, sensitivity: Any = None) -> tuple[CovariateTable, Facts]:
    told = known_of(design=table.design, sensitivity=sensitivity)
    return table, Facts(table.design.num_items, told=told)


def _whole(table: CovariateTable, sensitivity: Any = None, *, ties: bool) -> tuple[Any, Facts]:
    """Twice the sums, and the number of ties, exactly in float64."""
    bits = resolution(np.asarray(table.design.features))
    told = known_of(design=table.design, sensitivity=sensitivity, bits=bits)
    sums = np.ldexp(_whole_sums(table, bits).astype(float), -bits)
    values = np.append(sums, 2.0 * _number_of_ties(table, bits)) if ties else sums
    return values, Facts(table.design.num_items, told=told)


def _sums(table: Any, facts: Facts, ties: bool) -> Any:
    if isinstance(table, np.ndarray):
        return table
    return jnp.append(table.sums, number_of_ties(table)) if ties else table.sums


TABLES = Data(
    CovariateTable,
    "make a table by covariate_table.",
    floats=_floats,
    whole=functools.partial(_whole, ties=False),
    times=2,
)
"""Tables as mechanisms read them."""


def _record(name: str, doc: str, *, ties: bool) -> Additive:
    return Additive(
        name,
        doc,
        data=dataclasses.replace(TABLES, whole=functools.partial(_whole, ties=ties)),
        kinds=FLIPS,
        statistic=functools.partial(_sums, ties=ties),
        change=functools.partial(_changed, ties=ties),
        shape=lambda facts: (facts.told["design"].size + ties,),
        noises=NOISES,
    )


_ABOUT = """

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, adjacency flip,
    public ``"covariates"``; theorems as the head of :mod:`privrank_jax.pairwise.covariate_noise` says. A table says
    who gave what, so users need no ``contributions``; for them its design must not be traced, unless a smaller public
    ``sensitivity`` in the norm of the noise is given. :func:`~privrank_jax.pairwise.fit` fits a model to the value,
    which is post-processing. A release needs features that are multiples of a power of 1/2.

    """

noisy_sums = _record(
    "noisy_sums",
    """Sums of comparisons with features, a tie half a win, with noise; of a table by ``covariate_table``."""
    + _ABOUT
    + """``value``: ``(m + p,)``, sums of the items, then of the features.

    >>> import jax
    >>> from privrank_jax.pairwise import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0.5], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> noisy_sums(jax.random.key(0), table, free).value.tolist()
    [0.5, -0.5, 1.5]
    """,
    ties=False,
)

noisy_sums_and_ties = _record(
    "noisy_sums_and_ties",
    """Sums of comparisons with features, and the number of ties, with noise; of a table by ``covariate_table``."""
    + _ABOUT
    + """``value``: ``(m + p + 1,)``, sums of the items, of the features, and last the number of outcomes 1/2.

    >>> import jax
    >>> from privrank_jax.pairwise import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0.5], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> noisy_sums_and_ties(jax.random.key(0), table, free).value.tolist()
    [0.5, -0.5, 1.5, 1.0]
    """,
    ties=True,
)


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


def _exact_change(
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

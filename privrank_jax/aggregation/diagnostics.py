"""Diagnostics of private functions on rankings."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Count, Numbers, Scalar


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class SortDiagnostics:
    """Diagnostics of a sort on noisy answers.

    Attributes:
        queries: answered; a private value, as the ranking is.
        exceeded: whether the sort needed more than ``max_queries``; a private value.
        noise_scale: λ or σ of the noise on one weight; public.
        max_queries: q, the most queries that are answered; public.
    """

    queries: Count
    exceeded: bool | Bool[Array, ""]
    noise_scale: Numbers
    max_queries: Count


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LocalSortDiagnostics:
    """Diagnostics of LDPKwikSort, a sort that asks groups of users.

    Attributes:
        queries: answered; a private value, as the ranking is.
        refused: whether a group had no answer left, so that the fallback ranked; a private value.
        epsilon_per_query: ε₀ of one response; public.
        max_uses: τ, the most queries that a group answers; public.
    """

    queries: Count
    refused: bool | Bool[Array, ""]
    epsilon_per_query: Scalar
    max_uses: Count


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ExponentialDiagnostics:
    """Diagnostics of the exponential mechanism.

    Attributes:
        rate: β, per pair of items and user that disagree with the ranking; public.
    """

    rate: Scalar


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ReportDiagnostics:
    """Diagnostics of local reports of vectors.

    Attributes:
        report_norm: B, the norm of every report; public.
        standard_errors: ``(m,)``, of the scores, by the variance of the reports over users, with that of the users'
            scores, so rather too large; ∞ for one user. Post-processing of the reports; a private value.
    """

    report_norm: Scalar
    standard_errors: Float[Array | np.ndarray, "*batch items"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PairDiagnostics:
    """Diagnostics of a protocol with one answer per user, the order of a few items.

    Attributes:
        users_per_pair: the smallest number of users asked about one pair; public.
        items_per_user: k, the number of items that each user orders; public.
    """

    users_per_pair: Count
    items_per_user: Count


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ShuffledDiagnostics:
    """Diagnostics of a protocol with one shuffled answer per user.

    Attributes:
        local_epsilon: ε₀ of one report, before it is shuffled; public.
        users_per_pair: the expected number of users who draw one pair; public.
    """

    local_epsilon: Scalar
    users_per_pair: Scalar

"""Diagnostics of private functions on rankings."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Bool, Float

from privrank_jax._pytrees import pytree
from privrank_jax._types import Count, Numbers, Scalar


@pytree
class SortDiagnostics:
    """Diagnostics of a sort on noisy answers."""

    queries: Count  #: answered; a private value, as the ranking is
    exceeded: bool | Bool[Array, ""]  #: whether more were needed; a private value
    noise_scale: Numbers  #: λ or σ of the noise on one weight; public
    max_queries: Count  #: q, the most queries that are answered; public


@pytree
class LocalSortDiagnostics:
    """Diagnostics of LDPKwikSort, a sort that asks groups of users."""

    queries: Count  #: answered; a private value, as the ranking is
    refused: bool | Bool[Array, ""]  #: whether a group had no answer left; a private value
    epsilon_per_query: Scalar  #: ε₀ of one response; public
    max_uses: Count  #: τ, the most queries that a group answers; public


@pytree
class ExponentialDiagnostics:
    """Diagnostics of the exponential mechanism."""

    rate: Scalar  #: β, per pair of items and user that disagree with the ranking; public


@pytree
class ReportDiagnostics:
    """Diagnostics of local reports of vectors.

    The variance of reports holds that of the users' scores, so standard errors are rather too large; ∞ for one user.
    """

    report_norm: Scalar  #: B, the norm of every report; public
    standard_errors: Float[Array | np.ndarray, "*batch items"]  #: of the scores; private


@pytree
class PairDiagnostics:
    """Diagnostics of a protocol with one answer per user, the order of a few items."""

    users_per_pair: Count  #: the smallest number of users asked about one pair; public
    items_per_user: Count  #: k, the number of items that each user orders; public


@pytree
class ShuffledDiagnostics:
    """Diagnostics of a protocol with one shuffled answer per user."""

    local_epsilon: Scalar  #: ε₀ of one report, before it is shuffled; public
    users_per_pair: Scalar  #: the expected number of users who draw one pair; public

r"""Weights in the local model: every user sends one randomized report on all pairs, the server averages (Reduction I).

**What a user holds**: the vector v of N = m(m-1)/2 entries, one per pair i < j in row order: +1 where the user ranks i
first, -1 where j, 0 for a tie or an unknown pair. So w_ij = (1 + mean v_ij)/2, and ‖v‖₂ ≤ √N, with equality for full
rankings.

**What a user sends**: v by an ℓ₂ mechanism of radius √N at ε (``"duchi"``, ``"privunit"``; see
:mod:`privrank_jax.privacy.vectors`), or each entry by randomized response at ε/N, divided by t = tanh(ε/(2N)), so that
its mean is v: an entry is reported as +1 with probability (1 + t v_ij)/2, of loss at most ε/N between any two values of
v_ij in {-1, 0, 1}. All three are ε-local DP under any change of the ranking. For randomized response this follows by
composition, and a ranking and its reversal, which differ in every pair, attain ε.

The order of a few items (:mod:`~privrank_jax.aggregation.sub_rankings`) has less error than these from 3 items on.

**Error.** Reports are unbiased, so w̃_ij = (1 + mean report)/2 is unbiased too. For full rankings its variance, given
the data, is (B²/N - 1)/(4n) at *every* pair, B the norm of a report: E zzᵀ is rotation symmetric around v/‖v‖, whose
entries are ±1/√N, so its diagonal is even. For randomized response B² = N/t². Where users tie pairs or leave them
unknown, 1 becomes the mean of v_ij², and PrivUnit's error, unchanged in total, shifts toward the pairs that are not
tied. Duchi's variance is of order N/(nε²), that of randomized response N²/(nε²): a factor m less in the error, except
at large ε and small m, where randomized response beats Duchi but not PrivUnit (m = 4, ε = 5).

Sources: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 8 and Lemma 17, on ±1 in place of {0, 1}: half the
norm.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Count, Epsilon, Key, PairMatrix
from privrank_jax._validate import check_choice, check_epsilon, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import gaps_last
from privrank_jax.aggregation.local_borda import reports_on_ranks
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.privacy.local import randomized_response
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.vectors import VECTOR_MECHANISMS, report_norm

_MECHANISMS = (*VECTOR_MECHANISMS, "randomized-response")


def local_weight_variance(
    num_items: int, num_users: Count, epsilon: Epsilon, mechanism: str = "duchi"
) -> Float[Array, ...]:
    """Variance of one weight given n full rankings, (B²/N - 1)/(4n); the same at every pair.

    Args:
        num_items: m >= 2, static.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0, may be traced.
        mechanism: ``"duchi"``, ``"privunit"`` or ``"randomized-response"``.

    Returns:
        The variance; ``num_users`` and ``epsilon`` broadcast.

    >>> float(local_weight_variance(2, 1, jnp.inf))
    0.0
    """
    check_choice("mechanism", mechanism, _MECHANISMS)
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    pairs = num_items * (num_items - 1) // 2
    if mechanism == "randomized-response":
        square = 1 / jnp.square(jnp.tanh(0.5 * jnp.asarray(epsilon) / pairs))
    else:
        square = jnp.square(report_norm(mechanism, pairs, epsilon))
        # A report of radius √N has B² = N square, spread evenly over N entries.
    return jnp.maximum(square - 1, 0) / (4 * num_users)


@functools.partial(jax.jit, static_argnames=("missing",))
def _pair_signs(ranks: Array, missing: str) -> Array:
    """v: +1, -1, 0 for each pair i < j, in row order; ``(..., N)``, JAX's default float."""
    first, second = np.triu_indices(ranks.shape[-1], 1)
    known, ranks = gaps_last(ranks)
    left, right = ranks[..., first], ranks[..., second]
    signs = (left < right).astype(jnp.int8) - (left > right).astype(jnp.int8)
    if missing == "unknown":
        signs = jnp.where(known[..., first] & known[..., second], signs, 0)
    return signs.astype(jnp.result_type(float))


def _by_vectors(key: Key, ranks: Array, epsilon: Any, facts: Facts, mechanism: str) -> Array:
    signs = _pair_signs(ranks, *facts.rules)
    return VECTOR_MECHANISMS[mechanism](key, signs, epsilon, _pairs(facts) ** 0.5)


def _by_answers(key: Key, ranks: Array, epsilon: Any, facts: Facts) -> Array:
    signs, pairs = _pair_signs(ranks, *facts.rules), _pairs(facts)
    coin_key, report_key = jax.random.split(fused(key))
    # A tie answers by a fair coin, and so reports +1 with probability 1/2.
    coins = jax.random.bernoulli(coin_key, 0.5, signs.shape)
    bits = jnp.where(signs == 0, coins, signs > 0)
    told = randomized_response(report_key, bits, epsilon / pairs)
    reports = jnp.where(told, 1, -1) / jnp.tanh(0.5 * epsilon / pairs)
    return jnp.where(jnp.isinf(epsilon), signs, reports)


def _pairs(facts: Facts) -> int:
    return facts.num_items * (facts.num_items - 1) // 2


def _summed(reports: Array, real: Array, epsilon: Any, facts: Facts) -> Array:
    return jnp.sum(jnp.where(real[:, None], reports, 0), axis=0)


def weights_of_mean(mean: Float[Array, " pairs"], num_items: int) -> PairMatrix:
    """Unbiased weights w̃ from the mean of all reports.

    Args:
        mean: ``(m(m-1)/2,)``.
        num_items: m.

    Returns:
        ``(m, m)``, w̃_ij + w̃_ji = 1, which may lie outside [0, 1]; diagonal 0.

    >>> weights_of_mean(jnp.array([0.5]), 2).tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    weights = 0.5 + 0.5 * mean
    first, second = np.triu_indices(num_items, 1)
    empty = jnp.zeros((num_items, num_items), weights.dtype)
    return empty.at[first, second].set(weights).at[second, first].set(1 - weights)


def _finish(total: Array, epsilon: Any, facts: Facts, mechanism: str) -> tuple[Array, Any]:
    value = weights_of_mean(total / facts.num_users, facts.num_items)
    return value, NoiseDiagnostics(_deviation(epsilon, facts, mechanism))


def _deviation(epsilon: Any, facts: Facts, mechanism: str) -> Array:
    return jnp.sqrt(local_weight_variance(facts.num_items, facts.num_users, epsilon, mechanism))


def _weights_by(name: str, mechanism: str, words: str) -> Local:
    send = functools.partial(_by_vectors, mechanism=mechanism)
    return Local(
        name,
        f"""Unbiased weights of all pairs from one report of each user, by {words}.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    :mod:`privrank_jax.aggregation.weight_reports`.

    Of ranks ``(n, m)``, integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked, by
    ``missing="last"`` or ``"unknown"`` as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`. Users are
    simulated in blocks, so memory does not grow with their number beyond the ranks.

    ``value``: ``(m, m)``, w̃_ij + w̃_ji = 1, diagonal 0; not clipped, so entries may lie outside [0, 1].
    ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics` with ``scale``, the standard deviation of one
    weight given full rankings. ``report`` gives ``(m(m-1)/2,)`` numbers of one user, pairs in row order.

    >>> from privrank_jax.privacy import Privacy
    >>> ranks, privacy = jnp.tile(jnp.arange(3), (4000, 1)), Privacy(2.0, unit="user", adjacency="replace")
    >>> w = {name}(jax.random.key(0), ranks, privacy).value
    >>> bool(w[0, 1] > 0.5), bool(w[0, 1] + w[1, 0] == 1.0)
    (True, True)
    """,
        of_rankings,
        reports_on_ranks,
        _by_answers if mechanism == "randomized-response" else send,
        functools.partial(_finish, mechanism=mechanism),
        functools.partial(_deviation, mechanism=mechanism),
        tally=_summed,
        width=_pairs,
    )


local_weights = _weights_by("local_weights", "duchi", "Duchi's mechanism for vectors")
local_weights_privunit = _weights_by("local_weights_privunit", "privunit", "PrivUnit")
local_weights_rr = _weights_by(
    "local_weights_rr", "randomized-response", "randomized response of each pair at ε/N"
)

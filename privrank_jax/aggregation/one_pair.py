r"""Pairwise weights from one answer per user: a randomly assigned pair, answered by randomized response at the full ε.

**What a user sends.** The N = m(m-1)/2 pairs are dealt to the users in turn, after a shuffle independent of the data,
so each pair has ⌊n/N⌋ or ⌈n/N⌉ users. A user sends one bit by randomized response at ε: whether the first item of the
pair is ahead of the second, with a fair coin for ties.

**Theorem.** ε-DP in the local model, unit user, adjacency replace: which pair is asked does not depend on the ranking,
and any change of the ranking can at most flip the bit of the one answer. The loss ε is attained. Unlike reports of real
numbers (:mod:`~privrank_jax.aggregation.local_weights`) a bit can be drawn exactly:
:func:`privrank_jax.release.exact_one_pair_weights`.

**Error.** With t = tanh(ε/2) and g = ⌊n/N⌋, ŵ_ij = 1/2 + (mean of the g bits - 1/2)/t is unbiased over the shuffle, of
variance at most n/(n-1)/(4t²g): (1-t²)/4 of each bit is the response's, and the users asked are drawn without
replacement, t² S_ij(1/g - 1/n) with S_ij <= n/(4(n-1)). The covariance of two pairs is -S_ij,kl/n, so that of a sum of
k weights, -Σ S/n over different pairs is at most Σ S_ij/n, and its variance at most k n/(n-1)/(4t²g).
At small ε a Borda score then has mean squared error (m-1)N/(4t²n) ~ m³/(8t²n), against π m³/(24t²n) = 0.13 m³/(t²n) of
Duchi's mechanism for vectors: one exact bit is worth as much as m real numbers. At larger ε two sets of items
(:mod:`~privrank_jax.aggregation.subset_selection`), of which a pair is the simplest case, have less error.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Integer, Shaped

from privrank_jax._types import Count, Key, Numbers, PairMatrix, Rankings, RankingsLike, RanksLike
from privrank_jax._validate import check_choice, check_epsilon, check_users, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import PairDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import MISSING, checked_ranks
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import randomized_response
from privrank_jax.privacy.privacy import Privacy


def one_pair_weights(
    key: Key,
    ranks: RankingsLike,
    privacy: Privacy,
    *,
    missing: str = "last",
) -> Estimate:
    """Unbiased pairwise weights from one randomized answer per user; simulates all users at once.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    this module.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best, ties allowed, -1 = not ranked; m >= 2, n >= m(m-1)/2.
        privacy: what is promised: unit user, adjacency replace. ε may be traced; ε = ∞ sends the true bit (ties by a
            fair coin).
        missing: ``"last"``: items not ranked come last, tied; ``"unknown"``: their pairs are answered by a fair coin.

    Returns:
        ``value``: ``(m, m)`` weights, w_ij + w_ji = 1, which may lie outside [0, 1]; for Borda scores sum its rows
        (:func:`~privrank_jax.aggregation.borda_scores`). ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.PairDiagnostics`.

    Raises:
        ValueError: a promise that this can't keep, fewer users than pairs, fewer than 2 items, ranks that are no
            integers.

    >>> ranks = jnp.tile(jnp.arange(3), (3000, 1))
    >>> privacy = Privacy(2.0, unit="user", adjacency="replace")
    >>> w = one_pair_weights(jax.random.key(0), ranks, privacy).value
    >>> np.allclose(w, np.triu(np.ones((3, 3)), 1), atol=0.1)
    True
    """
    attained = of_rankings(privacy, "one_pair_weights")
    given, pairs = checked_for_pairs(ranks, missing)
    epsilon = jnp.asarray(attained.epsilon, jnp.result_type(float))
    value = _weights(key, given, epsilon, missing)
    guarantee = Guarantee(privacy, attained, trust="local")
    return Estimate(value, guarantee, PairDiagnostics(given.shape[0] // pairs))


def one_pair_report(
    key: Key,
    ranks: RanksLike,
    pair: Int[ArrayLike, ""],
    epsilon: Numbers,
    *,
    missing: str = "last",
) -> Bool[Array, ""]:
    """What one user sends when asked about ``pair``: whether its first item is ahead, randomized.

    ε-local DP by itself; the simulated draws are not fit to protect real users, see :mod:`privrank_jax.release`.

    Args:
        key: PRNG key.
        ranks: ``(m,)`` integers, as :func:`one_pair_weights`.
        pair: number of the pair, in the order of ``np.triu_indices(m, 1)``; assigned at random, public.
        epsilon: ε > 0 of the report, may be traced.
        missing: as :func:`one_pair_weights`.

    Returns:
        ``()`` bool.

    Raises:
        ValueError: ε <= 0, no such pair, ranks that are not integers.

    >>> bool(one_pair_report(jax.random.key(0), [2, 0, 1], 0, jnp.inf))  # pair (0, 1): item 1 is ahead
    False
    """
    given = checked_ranks(ranks)
    check_epsilon(epsilon)
    check_choice("missing", missing, MISSING)
    first, second = np.triu_indices(given.shape[-1], 1)
    if not is_traced(pair) and not 0 <= int(np.asarray(pair)) < len(first):
        raise ValueError(f"pair must be a number from 0 to {len(first) - 1}, got {pair!r}.")
    one, other = jnp.asarray(first)[pair], jnp.asarray(second)[pair]
    coin_key, response_key = jax.random.split(fused(key))
    lead = order_lead(given[one], given[other], missing)
    ahead = jnp.where(lead == 0, jax.random.bernoulli(coin_key, 0.5), lead > 0)
    return randomized_response(response_key, ahead, epsilon)


def one_pair_variance(num_items: int, num_users: Count, epsilon: Numbers) -> Float[Array, ...]:
    """Upper bound on the variance of one weight, n/(n-1)/(4t²⌊n/N⌋); ∞ with fewer users than pairs.

    t = tanh(ε/2), N = m(m-1)/2; proof at the head of this module.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0, may be traced; one value for all users.

    Returns:
        The bound, in squared shares of users; of the shape of ``num_users`` and ``epsilon``.

    Raises:
        ValueError: ε <= 0, no users.

    >>> round(float(one_pair_variance(2, 1001, jnp.inf)), 6)
    0.00025
    """
    check_epsilon(epsilon)
    check_users(num_users)
    pairs = num_items * (num_items - 1) // 2
    strength = jnp.square(jnp.tanh(0.5 * jnp.asarray(epsilon, jnp.result_type(float))))
    users = jnp.asarray(num_users, strength.dtype)
    return users / jnp.maximum(users - 1, 1) / (4 * strength * (users // pairs))


def checked_for_pairs(ranks: RankingsLike, missing: str) -> tuple[Rankings, int]:
    """Ranks ``(n, m)`` with at least one user per pair, and the number of pairs; ``ValueError`` otherwise."""
    ranks = checked_ranks(ranks)
    check_choice("missing", missing, MISSING)
    if ranks.ndim != 2 or 0 in ranks.shape or ranks.shape[1] < 2:
        raise ValueError(
            f"ranks must have shape (users, items), two items or more, got {ranks.shape}."
        )
    pairs = ranks.shape[1] * (ranks.shape[1] - 1) // 2
    if ranks.shape[0] < pairs:
        raise ValueError(
            f"{ranks.shape[0]:,} users are too few for {pairs:,} pairs: each is asked about one pair, so some pairs "
            "would get no answer. Use local_weights or ldp_borda, whose users report on all pairs."
        )
    return ranks, pairs


@functools.partial(jax.jit, static_argnames=("num_items",))
def weights_of_answers(
    answers: Shaped[ArrayLike, " users"],
    asked: Integer[ArrayLike, " users"],
    num_items: int,
    epsilon: Numbers,
) -> PairMatrix:
    """ŵ from randomized answers, ``(n,)`` bits, and the pair of each, ``(n,)``; 1/2 for pairs without an answer."""
    pairs = num_items * (num_items - 1) // 2
    dtype = jnp.result_type(float)
    ahead = jnp.zeros(pairs, dtype).at[asked].add(jnp.asarray(answers, dtype))
    users = jnp.zeros(pairs, dtype).at[asked].add(1)
    lead = jnp.where(users > 0, ahead / jnp.maximum(users, 1) - 0.5, 0)
    weights = 0.5 + lead / jnp.tanh(0.5 * jnp.asarray(epsilon, dtype))
    first, second = np.triu_indices(num_items, 1)
    upper = jnp.zeros((num_items, num_items), dtype).at[first, second].set(weights)
    return upper.at[second, first].set(1 - weights)


@functools.partial(jax.jit, static_argnames=("missing",))
def _weights(key: Key, ranks: Array, epsilon: Array, missing: str) -> Array:
    users, items = ranks.shape
    shuffle_key, report_key = jax.random.split(fused(key))
    asked = jax.random.permutation(shuffle_key, users) % (items * (items - 1) // 2)
    return weights_of_asked(report_key, ranks, asked, epsilon, missing)


def weights_of_asked(
    key: Key, ranks: Array, asked: Array, local_epsilon: Array, missing: str
) -> PairMatrix:
    """ŵ from checked ranks ``(n, m)`` of users who are asked these pairs, ``(n,)``."""

    def report(key: Key, ranks: Array, pair: Array) -> Array:
        return one_pair_report(key, ranks, pair, local_epsilon, missing=missing)

    answers = jax.vmap(report)(jax.random.split(key, len(ranks)), ranks, asked)
    return weights_of_answers(answers, asked, ranks.shape[1], local_epsilon)

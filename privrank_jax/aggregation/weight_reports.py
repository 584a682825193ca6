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

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from privrank_jax._backend import sum_of_parts
from privrank_jax._types import Count, Epsilon, Key, PairMatrix, RankingsLike, RanksLike
from privrank_jax._validate import check_choice, check_epsilon, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import gaps_last
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import MISSING, checked_ranks, ranks_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import randomized_response
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.vectors import report_norm, report_vectors

LOCAL_MECHANISMS = ("duchi", "privunit", "randomized-response")
_BLOCK = (
    1 << 18
)  # numbers in the reports of one key, which fit in cache; another number draws other reports
_BYTES = 40  # of the working set, for each of them


def local_weights(
    key: Key,
    ranks: RankingsLike,
    privacy: Privacy,
    *,
    mechanism: str = "duchi",
    missing: str = "last",
) -> Estimate:
    """Unbiased pairwise weights from one report per user: local and non-interactive.

    Simulates all users: :func:`local_weights_report` for each, then :func:`local_weights_aggregate`. It works in
    blocks, so that memory does not grow with the number of users beyond the ranks themselves.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    this module, ``help(sys.modules[local_weights.__module__])``.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best, m >= 2; equal ranks are ties, negative ones items not ranked.
        privacy: what is promised: unit user, adjacency replace. ε may be traced; ε = ∞ reports the vectors themselves.
        mechanism: ``"duchi"``, ``"privunit"`` or ``"randomized-response"``.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.

    Returns:
        ``value``: ``(m, m)``, JAX's default float: w̃, unbiased, w̃_ij + w̃_ji = 1, diagonal 0; not clipped, so
        entries may lie outside [0, 1]. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, the standard deviation of one weight given full rankings.

    Raises:
        ValueError: a promise that this can't keep, fewer than 2 items, ranks that are not integers, unknown names.

    >>> ranks = jnp.tile(jnp.arange(3), (4000, 1))
    >>> privacy = Privacy(2.0, unit="user", adjacency="replace")
    >>> w = local_weights(jax.random.key(0), ranks, privacy).value
    >>> bool(w[0, 1] > 0.5), bool(w[0, 1] + w[1, 0] == 1.0)
    (True, True)
    """
    attained = of_rankings(privacy, "local_weights")
    given = ranks_of_users(ranks)
    _check(given, mechanism, missing)
    users, items = given.shape
    epsilon = jnp.asarray(attained.epsilon, jnp.result_type(float))
    mean = _mean_report(key, given, epsilon, mechanism, missing, _BLOCK)
    scale = jnp.sqrt(local_weight_variance(items, users, epsilon, mechanism))
    guarantee = Guarantee(privacy, attained, trust="local")
    return Estimate(_mirrored(mean, items), guarantee, NoiseDiagnostics(scale))


def local_weights_report(
    key: Key,
    ranks: RanksLike | RankingsLike,
    epsilon: Epsilon,
    *,
    mechanism: str = "duchi",
    missing: str = "last",
) -> Float[Array, "*users pairs"]:
    """What one user sends: ``(m(m-1)/2,)`` numbers, pairs in row order, for ranks ``(m,)``.

    ε-local DP by itself, unbiased for ±1 on each pair; the simulated draws are not fit to protect real users, see
    :mod:`privrank_jax.release`.

    Args:
        key: PRNG key.
        ranks: ``(m,)`` integers, as :func:`local_weights`; users ``(n, m)`` draw independent reports.
        epsilon: ε > 0 of the report, may be traced; ∞ reports the vector itself.
        mechanism, missing: as :func:`local_weights`.

    Returns:
        Reports, ``(m(m-1)/2,)`` or ``(n, m(m-1)/2)`` float.

    >>> local_weights_report(jax.random.key(0), [2, 0, 1], jnp.inf).round(3).tolist()  # pairs 01, 02, 12
    [-1.0, -1.0, 1.0]
    """
    given = checked_ranks(ranks)
    epsilon = jnp.asarray(check_epsilon(epsilon), jnp.result_type(float))
    _check(given, mechanism, missing)
    return _reports(key, given, epsilon, mechanism, missing)


def local_weights_aggregate(
    reports: Float[ArrayLike, "users pairs"],
) -> PairMatrix:
    """Unbiased weights w̃ from the mean of all reports.

    Args:
        reports: ``(n, m(m-1)/2)``, as of :func:`local_weights_report`, n >= 1.

    Returns:
        Unbiased weights ``(m, m)``, w_ij + w_ji = 1, which may lie outside [0, 1], as of :func:`local_weights`.

    Raises:
        ValueError: no reports, or reports whose length is not a number of pairs m(m-1)/2.

    >>> local_weights_aggregate(jnp.array([[1.0], [0.0]])).tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    given = jnp.asarray(reports)
    pairs = given.shape[-1] if given.ndim == 2 else 0
    items = int((1 + (1 + 8 * pairs) ** 0.5) // 2)
    if not pairs or items * (items - 1) // 2 != pairs or not given.shape[0]:
        raise ValueError(f"reports must have shape (users, m(m-1)/2), got {given.shape}.")
    return _mirrored(jnp.mean(given, axis=0), items)


def local_weight_variance(
    num_items: int, num_users: Count, epsilon: Epsilon, mechanism: str = "duchi"
) -> Float[Array, ...]:
    """Variance of one weight given n full rankings, (B²/N - 1)/(4n); the same at every pair.

    Args:
        num_items: m >= 2, static.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0, may be traced.
        mechanism: as :func:`local_weights`.

    Returns:
        The variance; ``num_users`` and ``epsilon`` broadcast.

    >>> float(local_weight_variance(2, 1, jnp.inf))
    0.0
    """
    check_choice("mechanism", mechanism, LOCAL_MECHANISMS)
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    pairs = num_items * (num_items - 1) // 2
    if mechanism == "randomized-response":
        square = 1 / jnp.square(jnp.tanh(0.5 * jnp.asarray(epsilon) / pairs))
    else:
        square = jnp.square(report_norm(mechanism, pairs, epsilon))
        # A report of radius √N has B² = N square, spread evenly over N entries.
    return jnp.maximum(square - 1, 0) / (4 * num_users)


def _check(ranks: Array, mechanism: str, missing: str) -> None:
    check_choice("mechanism", mechanism, LOCAL_MECHANISMS)
    check_choice("missing", missing, MISSING)
    if ranks.shape[-1] < 2:
        raise ValueError("a ranking of fewer than 2 items has no pair to report.")


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


@functools.partial(jax.jit, static_argnames=("mechanism", "missing"))
def _reports(key: Array, ranks: Array, epsilon: Array, mechanism: str, missing: str) -> Array:
    signs = _pair_signs(ranks, missing)
    pairs = signs.shape[-1]
    if mechanism != "randomized-response":
        return report_vectors(key, signs, epsilon, pairs**0.5, mechanism=mechanism)
    coin_key, report_key = jax.random.split(fused(key))
    # A tie answers by a fair coin, and so reports +1 with probability 1/2.
    coins = jax.random.bernoulli(coin_key, 0.5, signs.shape)
    bits = jnp.where(signs == 0, coins, signs > 0)
    told = randomized_response(report_key, bits, epsilon / pairs)
    reports = jnp.where(told, 1, -1) / jnp.tanh(0.5 * epsilon / pairs)
    return jnp.where(jnp.isinf(epsilon), signs, reports)


@functools.partial(jax.jit, static_argnames=("mechanism", "missing", "numbers"))
def _mean_report(
    key: Array, ranks: Array, epsilon: Array, mechanism: str, missing: str, numbers: int
) -> Array:
    users, items = ranks.shape
    pairs = items * (items - 1) // 2
    block = max(1, min(users, numbers // pairs))
    blocks = -(-users // block)
    padded = jnp.pad(ranks, ((0, blocks * block - users), (0, 0)))
    real = (jnp.arange(blocks * block) < users).reshape(blocks, block)

    def sums(part: tuple[Array, Array, Array]) -> Array:
        key, ranks, real = part
        reports = _reports(key, ranks, epsilon, mechanism, missing)
        return jnp.sum(jnp.where(real[:, None], reports, 0), axis=0)

    parts = (jax.random.split(fused(key), blocks), padded.reshape(blocks, block, items), real)
    return sum_of_parts(sums, parts, _BYTES * block * pairs) / users


@functools.partial(jax.jit, static_argnames=("items",))
def _mirrored(mean: Array, items: int) -> Array:
    weights = 0.5 + 0.5 * mean
    first, second = np.triu_indices(items, 1)
    empty = jnp.zeros((items, items), weights.dtype)
    return empty.at[first, second].set(weights).at[second, first].set(1 - weights)

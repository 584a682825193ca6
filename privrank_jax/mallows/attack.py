r"""The inference attack: the maximum-likelihood center of N synthetic copies of one ranking.

**The maximum-likelihood center.** N draws around φ have log-likelihood -θ Σ_l d(π_l, φ) - N log Z, θ = ε/(m-1),
q = e^-θ. Z is the same for every φ, so the maximum does not depend on ε: it is the ranking that agrees with the most
pairs of the draws, the Kemeny ranking of their win counts. (The paper prints + N log Z and minimizes, which would find
the reverse of the ranking.) Where several rankings attain the maximum, one of them is drawn uniformly: breaking ties by
index would favor a true center that lies in index order.

**A lower bound of the error**, sharper than Theorem 2 and with explicit constants. Let a, b be neighbors in φ, so that
all other items stand on one side of both. Swapping a and b in an output reverses this pair and keeps the number of
other discordant pairs, so b comes ahead of a with odds q : 1, whatever the rest of the output is.

Disjoint pairs of neighbors can be swapped one after another, so the orders of all ⌊m/2⌋ of them are independent. Let X
of N draws put b ahead. If X > N/2, φ with a and b swapped is more likely than φ; if X = N/2, it is as likely, and each
of k such ties doubles the number of rankings at least as likely as φ. Hence

    P(wrong) ≥ 1 - (1 - β)^⌊m/2⌋,    β = P(X > N/2) + P(X = N/2)/2 = I_p(h, h),    p = q/(1+q), h = ⌈N/2⌉,

where I is the regularized incomplete beta function (a majority of 2h draws, ties broken by a fair coin, errs as often
as one of 2h - 1). Equality holds at m = 2. *No* attack errs less on a center drawn uniformly: the maximum-likelihood
center is then the Bayes rule, and its error is the same at every center. At θ = c/√N, N → ∞, β → Φ(-c/2): the error
stays away from 0.

Theorem 2 states C₀ coth(θ/2) √(2/πN) exp(-N (e^θ - 1)²) instead, C₀ unspecified; its proof counts ties as errors. At
small θ its exponent is 8 times that of β, N log cosh(θ/2) ~ N θ²/8.

Source: Xu, Sun and Cheng, section 4 and Theorem 2.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betainc
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Integer, Real

from privrank_jax._roots import bracketed_root
from privrank_jax._types import (
    Key,
    Numbers,
    PairMatrix,
    PairMatrixLike,
    RankingsLike,
    Ranks,
    RanksLike,
    Scalar,
)
from privrank_jax._validate import (
    as_ranks,
    check_epsilon,
    check_matrix,
    check_positive,
    check_shape,
    check_whole,
    is_traced,
)
from privrank_jax._workarounds.threefry import fused
from privrank_jax.mallows.distribution import as_float, checked_ranks, decay

_DECAYS = 1e-6, 80.0  # between which θ is sought
MOST_ITEMS = 8  # all rankings are tried up to this size, where there are 40,320


def win_counts(
    ranks: RankingsLike, counted: Bool[ArrayLike, "users"] | Sequence[bool] | None = None
) -> Int[Array, "items items"]:
    """Number of rankings that place i ahead of j, of those that are counted, without pairs with an item not ranked.

    >>> win_counts([[0, 1], [0, 1], [1, 0]]).tolist()
    [[0, 2], [1, 0]]
    """
    ranks = as_ranks(ranks, gaps=True)
    check_shape("ranks", ranks, ("N", "m"))
    counted = jnp.ones(ranks.shape[:1], bool) if counted is None else jnp.asarray(counted)
    check_shape("counted", counted, ranks.shape[:1])
    return _win_counts(ranks, counted)


@jax.jit
def _win_counts(
    ranks: Integer[Array, "users items"], counted: Bool[Array, "users"]
) -> Int[Array, "items items"]:
    def column(item: Int[Array, ""]) -> Int[Array, "items"]:
        own = ranks[:, item, None]
        ahead = (own >= 0) & (ranks > own) & counted[:, None]
        return jnp.sum(ahead, axis=0, dtype=jnp.int32)

    return jax.lax.map(column, jnp.arange(ranks.shape[1]))


def most_likely_center(
    key: Key, wins: PairMatrixLike, *, solver: Callable[[PairMatrix], Ranks] | None = None
) -> Ranks:
    """Maximum-likelihood center of synthetic rankings; ties between centers are broken at random.

    Args:
        key: PRNG key; decides between rankings that are equally likely.
        wins: ``(m, m)``, how many synthetic rankings have i ahead of j.
        solver: from wins, of items in a random order, to the ranks ``(m,)`` of a Kemeny ranking, for instance
            ``aggregation.local_search``; None tries all rankings, of at most ``MOST_ITEMS`` items.

    Returns:
        Ranks ``(m,)``, int32, 0 = best.

    Raises:
        ValueError: ``wins`` not square, or more than ``MOST_ITEMS`` items and no solver.

    >>> most_likely_center(jax.random.key(0), [[0, 9, 8], [1, 0, 7], [2, 3, 0]]).tolist()
    [0, 1, 2]
    """
    check_matrix("wins", wins)
    wins = jnp.asarray(wins)
    items = wins.shape[0]
    if solver is not None:
        order = jax.random.permutation(fused(key), items)
        found = jnp.asarray(solver(wins[order][:, order]), jnp.int32)
        return jnp.zeros(items, jnp.int32).at[order].set(found)
    if items > MOST_ITEMS:
        raise ValueError(
            f"{items} items have too many rankings to enumerate (at most {MOST_ITEMS} items): pass a solver, such as "
            "aggregation.exact_kemeny"
        )
    return _try_all(key, wins)


@jax.jit
def _try_all(key: Key, wins: Real[Array, "items items"]) -> Ranks:
    first, second, every, ahead = _all_rankings(wins.shape[0])
    leads = wins[first, second] - wins[second, first]
    scores = jnp.sum(jnp.where(ahead, leads, 0), axis=1)
    best = scores == jnp.max(scores)
    # A uniform index among the maximizers; randint would take ten times as long to compile.
    chosen = jnp.floor(jax.random.uniform(fused(key)) * jnp.sum(best))
    return jnp.asarray(every)[jnp.argmax(jnp.cumsum(best) > chosen)]


@functools.cache
def _all_rankings(items: int) -> tuple[np.ndarray, ...]:
    """Pairs i < j, all rankings as ranks ``(m!, m)``, and which of them has i ahead of j."""
    first, second = np.triu_indices(items, 1)
    every = np.array(list(itertools.permutations(range(items))), np.int32)
    return first, second, every, every[:, first] < every[:, second]


def most_likely_epsilon(center_ranks: RanksLike, wins: PairMatrixLike) -> Float[Array, ""]:
    """Maximum-likelihood ε of synthetic rankings around a center: it keeps as many pairs as they do, on average.

    With few rankings it comes out too large where the center is fitted too.

    Args:
        center_ranks: ``(m,)`` integers, 0 = best, m >= 2.
        wins: ``(m, m)``, how many synthetic rankings have i ahead of j.

    Returns:
        Scalar, float: ∞ where no pair is turned, 0 where at least half are.

    Raises:
        ValueError: shapes that don't match, a center that is not a ranking, fewer than two items.

    >>> round(float(most_likely_epsilon([0, 1], [[0, 3], [1, 0]])), 4)  # log 3
    1.0986
    """
    center, wins = checked_ranks(center_ranks), jnp.asarray(wins)
    if (items := center.shape[0]) < 2:
        raise ValueError("one item has no pairs to keep: center_ranks needs at least two.")
    check_shape("wins", wins, (items, items))
    return _most_likely_epsilon(center, wins)


@jax.jit
def _most_likely_epsilon(center: Ranks, wins: Real[Array, "items items"]) -> Float[Array, ""]:
    items = center.shape[0]
    pairs = items * (items - 1) / 2
    against = jnp.sum(jnp.where(center[:, None] > center, wins, 0))
    turned = pairs * against / jnp.sum(wins)
    places = jnp.arange(items)
    steps = places[:, None] >= places  # item t moves ahead of k = 0, ..., t of those before it

    def expected(theta: Scalar) -> Scalar:
        weights = jnp.where(steps, jnp.exp(-theta * places), 0)
        return jnp.sum(jnp.sum(places * weights, axis=1) / jnp.sum(weights, axis=1))

    ends = jnp.log(jnp.asarray(_DECAYS, turned.dtype))
    log = bracketed_root(lambda log: expected(jnp.exp(log)) - turned, *ends)
    found = (items - 1) * jnp.exp(log)
    return jnp.where(turned >= pairs / 2, 0, jnp.where(against == 0, jnp.inf, found))


def attack_error_bound(
    num_items: Numbers, epsilon: Numbers, num_rankings: Numbers
) -> Float[Array, "..."]:
    """Lower bound on the error of the maximum-likelihood center, and of any attack on a uniformly random center.

    Args:
        num_items: m >= 2, may be traced.
        epsilon: ε > 0, may be traced.
        num_rankings: N >= 1 synthetic rankings, may be traced; the three broadcast.

    Returns:
        Float: 1 - (1 - β)^⌊m/2⌋, see the head of this module.

    Raises:
        ValueError: ε <= 0 or NaN, m < 2, N < 1.

    >>> round(float(attack_error_bound(2, jnp.log(3.0), 1)), 4), round(float(attack_error_bound(4, 1.0, 50)), 4)
    (0.25, 0.2274)
    """
    epsilon = check_epsilon(epsilon)
    check_positive("num_rankings", num_rankings, infinite=False)
    for items in () if is_traced(num_items) else np.ravel(num_items):
        check_whole("num_items", items, 2)
    items, rankings = jnp.asarray(num_items), jnp.asarray(num_rankings)
    turned = jax.nn.sigmoid(-decay(as_float(epsilon), items))
    half = ((rankings + 1) // 2).astype(turned.dtype)
    one_pair = betainc(half, half, turned)
    return -jnp.expm1((items // 2) * jnp.log1p(-one_pair))

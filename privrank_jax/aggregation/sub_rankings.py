r"""Pairwise weights from one answer per user: the order of a few assigned items, by randomized response at the full ε.

**What a user sends.** The N = m(m-1)/2 pairs are dealt to the users in turn, after a shuffle independent of the data,
so each pair is dealt to d = ⌊n/N⌋ users or one more. To the pair of a user k - 2 of the other items are added, any as
likely. The user tells the order of these k items, ties broken at random, with probability f = (e^ε - 1)/(e^ε + k! - 1),
and else a uniform one. Gaps that count as ``"unknown"`` come all first or all last, by a fair coin.

For k = 2 this is randomized response about one pair. The size k is the one of least error for m, n and ε, public facts:
2 below ε = 1.5 or so, all items at large ε.

**Theorem.** ε-DP in the local model, unit user, adjacency replace: which items are asked does not depend on the
ranking, their true order is told with probability f + (1 - f)/k! = e^ε/(e^ε + k! - 1), each other one with 1/(e^ε + k!
- 1), and with ties the mean of such laws is. The loss ε is attained. All of it can be drawn exactly:
:mod:`privrank_jax.exact.local_reports`.

**Error.** Of the g users who are asked about i and j, a share b tells i ahead, and ŵ_ij = 1/2 + (b - 1/2)/f: uniform
orders have mean 1/2. Given who is asked what, those g are any of the n users, as likely, so ŵ is unbiased. A user who
has i ahead with chance a (1/2 in a tie) tells it with a bit of variance 1/4 - f²(a - 1/2)². With M the mean of
(a - 1/2)², the variance given g is at most (1/4 - f²M)/(f²g) + M n/(n-1)(1/g - 1/n) ≤ 1/(4f²g).

A pair is asked of the d users that it is dealt to and, independently, of others by chance, C(k, 2)d in the mean at
least. Let μ be the mean of the others. Then E s^g ≤ s^d exp(-(1-s)μ) ≤ s exp(-(1-s)(d-1+μ)) for 0 < s ≤ 1, and E 1/g =
∫ E s^{g-1} ds ≤ 1/(d-1+μ). So the variance is at most

.. math:: v = \frac{1}{4f^2a}, \qquad a = d \text{ for } k = 2, \quad n \text{ for } k = m, \quad
              \binom k2 d - 1 \text{ otherwise.}

For k = 2 that of a sum of K weights, as of Borda scores, is at most K n/(n-1) v: the covariance of two pairs is -S/n, S
that of users' answers, over different pairs at most ΣS_ij/n in sum. At larger ε two sets of items
(:mod:`~privrank_jax.aggregation.subset_selection`) have less error of scores.

**What any mechanism needs.** The bound at the head of :mod:`~privrank_jax.aggregation.subset_selection` holds for ±1 by
who is ahead of whom. By enumeration (``tests/reference/local_pairs.py``, ε = 0.5 to 5) the total error is 1.00 to 1.09,
1.19, 1.24 and 1.31 times the least of any mechanism for 3, 4, 5 and 6 items. PrivUnit
(:mod:`~privrank_jax.aggregation.vector_reports`) has 1.3 to 4.7, 3.4, 2.3 and 2.1 times the least.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, ArrayLike, Float, Int

from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Key, Numbers, PairMatrix, RankingsLike
from privrank_jax._validate import check_epsilon, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import PairDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.subset_selection import places_of_words, strict_scores
from privrank_jax.aggregation.vector_reports import reports_on_ranks, weights_of_mean
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.privacy.privacy import Privacy


def sub_ranking_variance(num_items: int, num_users: Count, epsilon: Numbers) -> Float[Array, "..."]:
    """Upper bound v on the variance of one weight, for the best size; ∞ if that is m and no order of all is told."""
    return jnp.min(_variances(np.arange(2, num_items + 1), num_items, num_users, epsilon), axis=-1)


def one_pair_variance(num_items: int, num_users: Count, epsilon: Numbers) -> Float[Array, "..."]:
    """v for k = 2, times n/(n-1): K times it bounds a sum of K weights; ∞ with fewer users than pairs."""
    found = _variances(np.array([2]), num_items, num_users, epsilon)[..., 0]
    users = jnp.asarray(num_users, found.dtype)
    return users / jnp.maximum(users - 1, 1) * found


def best_size(num_items: int, num_users: Count, epsilon: Numbers) -> Int[Array, "..."]:
    """The size k of least v, from public facts.

    >>> [int(best_size(10, 1000, epsilon)) for epsilon in (1.0, 3.0, 5.0, 20.0)]
    [2, 3, 4, 10]
    """
    sizes = np.arange(2, num_items + 1)
    return jnp.asarray(sizes)[jnp.argmin(_variances(sizes, num_items, num_users, epsilon), axis=-1)]


def told_chance(size: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """f, the chance to tell the order of k items."""
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    growth = -jnp.expm1(-epsilon)
    return growth / (growth + jnp.exp(gammaln(jnp.asarray(size, epsilon.dtype) + 1) - epsilon))


def _variances(sizes: np.ndarray, items: int, users: Count, epsilon: Numbers) -> Array:
    """v for each size, on a last axis."""
    epsilon = jnp.asarray(check_epsilon(epsilon), jnp.result_type(float))
    check_users(users)
    told = told_chance(sizes, epsilon[..., None])
    users = jnp.asarray(users)[..., None]
    pairs = sizes * (sizes - 1) // 2
    answers = pairs * (users // (items * (items - 1) // 2)) - (sizes > 2)
    answers = jnp.where(sizes == items, users, jnp.maximum(answers, 0))
    return 1 / (4 * jnp.square(told) * answers)


def weights_of_leads(
    ahead: Int[ArrayLike, " pairs"],
    answers: Int[ArrayLike, " pairs"],
    chance: Numbers,
    *,
    num_items: int,
) -> PairMatrix:
    """ŵ from how many users told the first item of each pair ahead, and were asked; 1/2 without answers."""
    number, dtype = jnp.asarray(answers), jnp.result_type(float)
    share = jnp.asarray(ahead).astype(dtype) / jnp.maximum(number, 1).astype(dtype)
    mean = jnp.where(number > 0, 2 * share - 1, 0) / jnp.asarray(chance, dtype)
    return weights_of_mean(mean, num_items)


def _sets(key: Key, asked: Array, items: int, width: int) -> Array:
    """The items of each user: those of the pair, then others in a uniform order."""
    pair = jnp.stack([jnp.asarray(side)[asked] for side in np.triu_indices(items, 1)], axis=1)
    if width == 2:
        return pair
    words = jax.random.bits(key, (len(asked), items), jnp.uint32) | jnp.uint32(1 << 31)
    words = words.at[jnp.arange(len(asked))[:, None], pair].set(0)
    return jnp.argsort(places_of_words(words), axis=1)[:, :width]


# --- the record ------------------------------------------------------------------------------------


def read_orders(
    ranks: RankingsLike, *, size: int | None = None, missing: str = "last"
) -> tuple[Array, Facts]:
    """Rankings of users who tell the order of a few items, and what is public; with few users of all items."""
    given, facts = reports_on_ranks(ranks, missing=missing)
    users, items = given.shape
    if size is not None and not 2 <= size <= items:
        raise ValueError(f"size must be a number of items from 2 to {items}, got {size!r}.")
    if size is None and users < math.comb(items, 2):
        size = items
    return given, dataclasses.replace(facts, rules=(missing, size))


def _check_enough(facts: Facts) -> None:
    """Raise ``ValueError`` unless there is a user for each pair, or all items are ordered."""
    pairs, size = math.comb(facts.num_items, 2), facts.rules[1]
    if facts.num_users < pairs and size != facts.num_items:
        raise ValueError(
            f"{facts.num_users:,} users are too few for {pairs:,} pairs: each is asked about {size} items, so some "
            "pairs might get no answer. Use local_weights or ldp_borda, whose users report on all pairs."
        )


def _send(key: Key, contents: Any, tuned: Any, facts: Facts) -> tuple[Array, Array]:
    """The items of each user, those of the pair asked for first, and the scores told of them, high = ahead."""
    (ranks, asked), (missing, size) = contents, facts.rules
    set_key, order_key = jax.random.split(fused(key))
    held = _sets(set_key, asked, facts.num_items, size or facts.num_items)
    own = jnp.take_along_axis(ranks, held, axis=1)
    break_key, draw_key, told_key = jax.random.split(fused(order_key), 3)
    uniform = places_of_words(jax.random.bits(draw_key, own.shape, jnp.uint32))
    tells = jax.random.bernoulli(told_key, tuned[1], (len(own), 1))
    return held, jnp.where(tells, strict_scores(break_key, own, missing), uniform)


def _tally_leads(messages: Any, real: Array, tuned: Any, facts: Facts) -> Array:
    """For each pair, how many users tell its first item ahead, and how many were asked about it."""
    held, told = messages
    items = facts.num_items
    first, second = np.triu_indices(held.shape[1], 1)
    one, other = held[:, first], held[:, second]
    low, high = jnp.minimum(one, other), jnp.maximum(one, other)
    pair = low * (2 * items - low - 1) // 2 + high - low - 1
    answered = (real[:, None] & (second < tuned[0])).astype(jnp.int32)
    ahead = answered * ((told[:, first] > told[:, second]) == (one < other))
    empty = jnp.zeros((2, math.comb(items, 2)), jnp.int32)
    return empty.at[:, pair].add(jnp.stack([ahead, answered]))


def weights_told(counts: Any, tuned: Any, facts: Facts) -> tuple[Any, PairDiagnostics]:
    """ŵ from such counts."""
    (ahead, answers), (size, chance, *_) = counts, tuned
    of_leads = functools.partial(weights_of_leads, num_items=facts.num_items)
    return quickly(of_leads, ahead, answers, chance), PairDiagnostics(answers.min(), size)


def tuned_orders(epsilon: Any, facts: Facts) -> tuple[Any, Array]:
    """The size, and f."""
    size = facts.rules[1] or best_size(facts.num_items, facts.num_users, epsilon)
    return size, told_chance(size, epsilon)


def _exact(
    ranks: np.ndarray, attained: Privacy, facts: Facts
) -> tuple[tuple[int, float], np.ndarray]:
    from privrank_jax.exact import local_reports

    (missing, size), epsilon = facts.rules, attained.epsilon
    best = functools.partial(best_size, facts.num_items)
    size = size or int(quickly(best, facts.num_users, epsilon))
    counts = local_reports.leads(ranks, missing, epsilon, size)
    return (size, local_reports.told_chance(size, epsilon)), counts


def _deviation(epsilon: Any, facts: Facts) -> Array:
    _, size = facts.rules or ("last", None)
    sizes = np.array([size]) if size else np.arange(2, facts.num_items + 1)
    return jnp.sqrt(jnp.min(_variances(sizes, facts.num_items, facts.num_users, epsilon), axis=-1))


sub_ranking_weights = Local(
    "sub_ranking_weights",
    """Unbiased pairwise weights from the order of a few items by each user.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    :mod:`privrank_jax.aggregation.sub_rankings`.

    Of ranks ``(n, m)``, integers, 0 = best, ties allowed, negative = not ranked; m >= 2. ``size``: k, from 2 (one pair)
    to m; None for the one of least error, by m, n and ε. With fewer users than pairs only m, which None takes then.
    ``missing``: ``"last"``, or ``"unknown"``, where pairs of items not ranked are answered by a fair coin.

    ``value``: ``(m, m)`` weights, w_ij + w_ji = 1, which may lie outside [0, 1]. ``diagnostics``:
    :class:`~privrank_jax.aggregation.diagnostics.PairDiagnostics`. ``report(key, ranks, epsilon, size=k, asked=pair)``:
    items of one user, those of the pair of this number first, and the scores told of them, high = ahead. ``scale``: the
    root of a bound on the variance of a weight.

    >>> from privrank_jax.privacy import Privacy
    >>> ranks, privacy = jnp.tile(jnp.arange(3), (3000, 1)), Privacy(2.0, unit="user", adjacency="replace")
    >>> w = sub_ranking_weights(jax.random.key(0), ranks, privacy).value
    >>> np.allclose(w, np.triu(np.ones((3, 3)), 1), atol=0.1)
    True
    """,
    of_rankings,
    read_orders,
    _send,
    weights_told,
    _deviation,
    check=_check_enough,
    tune=tuned_orders,
    assign=lambda key, facts: (
        jax.random.permutation(key, facts.num_users) % math.comb(facts.num_items, 2)
    ),
    tally=_tally_leads,
    width=lambda facts: math.comb(facts.rules[1] or facts.num_items, 2),
    exact=_exact,
)

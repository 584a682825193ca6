r"""Pairwise weights from one answer per user: the order of a few assigned items, by randomized response at the full ε.

**What a user sends.** The N = m(m-1)/2 pairs are dealt to the users in turn, after a shuffle independent of the data,
so each pair is dealt to d = ⌊n/N⌋ users or one more. To the pair of a user k - 2 of the other items are added, any as
likely. The user tells the order of these k items, ties broken at random, with probability f = (e^ε - 1)/(e^ε + k! - 1),
and else a uniform one. Gaps that count as ``"unknown"`` come all first or all last, by a fair coin. For k = 2 this is
randomized response about one pair. The size k is the one of least error for m, n and ε, public facts: 2 below ε = 1.5
or so, all items at large ε.

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
that of users' answers, over different pairs at most ΣS_ij/n in sum. At small ε a Borda score then has mean squared
error (m-1)N/(4t²n) ~ m³/(8t²n), t = tanh(ε/2), against π m³/(24t²n) = 0.13 m³/(t²n) of Duchi's mechanism for vectors:
one exact bit is worth as much as m real numbers. At larger ε two sets of items
(:mod:`~privrank_jax.aggregation.subset_selection`) have less error of scores.

**What any mechanism needs.** As one report on all pairs, a vector z, ±C on the k(k-1)/2 pairs told, C = 2N/(fk(k-1)),
and 0 on others, a told order is unbiased for v, ±1 by who is ahead, and ‖z‖² = C²k(k-1)/2: means over all n users of
such reports have the variance (‖z‖²/N - 1)/(4n), which means over those asked fall below where users agree. Let z be
any unbiased and ε-local report and λ any map from rankings to N numbers that relabels as v does: λ_ij is h(rank of i,
rank of j), h antisymmetric. Then max E‖z‖² ≥ (⟨λ, v⟩/V)², V the largest mean of ⟨λ, u⟩ over all rankings, weighted by
e^ε where it reaches a threshold and by 1 elsewhere, over all thresholds and unit vectors u.
The proof is the one for Borda scores at the head of :mod:`~privrank_jax.aggregation.subset_selection`. The bound of the
best λ is attained by a mixture of such cuts, for which relabelled vectors u are reported. Errors ‖z‖² - N divided by
that of the best mixture, by enumeration (``tests/reference/local_pairs.py``), for orders of k items / PrivUnit
(:mod:`~privrank_jax.aggregation.weight_reports`):

    =  ===========  ===========  ===========  ===========  ===========  ===========
    m  ε=0.5        1            2            3            4            5
    =  ===========  ===========  ===========  ===========  ===========  ===========
    3  1.08 / 1.41  1.09 / 1.30  1.04 / 1.39  1.00 / 2.03  1.00 / 3.06  1.00 / 4.69
    4  1.15 / 1.61  1.15 / 1.47  1.15 / 1.50  1.19 / 1.76  1.15 / 2.06  1.00 / 3.37
    5  1.20 / 1.74  1.21 / 1.57  1.22 / 1.57  1.25 / 1.73  1.24 / 1.82  1.24 / 2.29
    6  1.25 / 1.83  1.25 / 1.66  1.27 / 1.64  1.29 / 1.74  1.29 / 1.78  1.31 / 2.07
    =  ===========  ===========  ===========  ===========  ===========  ===========

Up to 4 items this is the least error of any mechanism, with V the largest mean over all sets of rankings; at 5 and 6
items climbing finds V, and the least may be 0.5 % lower. In closed form PrivUnit has 1.06 (m = 3) to 1.15 (m >= 20)
times the error at ε = 1.5, where k changes from 2 to 3, 1.32 to 1.55 times at ε = 0.25, and at ε = 5 from 4.7 (m = 3)
over 1.4 (m = 8) to 1.3 (m = 50). That mixtures of cuts suffice under a transitive group: arXiv 2605.02319 (2026).
"""

from __future__ import annotations

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
from privrank_jax._validate import check_choice, check_epsilon, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import PairDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.subset_selection import places_of_words, strict_scores
from privrank_jax.aggregation.weights import MISSING, checked_ranks
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.local import Local
from privrank_jax.privacy.privacy import Privacy


def sub_ranking_variance(num_items: int, num_users: Count, epsilon: Numbers) -> Float[Array, "..."]:
    """Upper bound v on the variance of one weight, for the best size; ∞ if the size is m and no order of all is told.

    Proof at the head of this module.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0, may be traced; one value for all users.

    Returns:
        The bound, in squared shares of users; of the shape of ``num_users`` and ``epsilon``.

    Raises:
        ValueError: ε <= 0, no users.

    >>> round(float(sub_ranking_variance(2, 1000, jnp.inf)), 6)
    0.00025
    """
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    return jnp.min(_variances(sizes_of(num_items), num_items, num_users, epsilon), axis=-1)


def one_pair_variance(num_items: int, num_users: Count, epsilon: Numbers) -> Float[Array, "..."]:
    """The same for k = 2 with a factor n/(n-1), so that K times it bounds the variance of a sum of K weights.

    Arguments and errors: as of :func:`sub_ranking_variance`.

    Returns:
        The bound; ∞ with fewer users than pairs.

    >>> round(float(one_pair_variance(2, 1001, jnp.inf)), 6)
    0.00025
    """
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    found = _variances(np.array([2]), num_items, num_users, epsilon)[..., 0]
    users = jnp.asarray(num_users, found.dtype)
    return users / jnp.maximum(users - 1, 1) * found


def best_size(num_items: int, num_users: Count, epsilon: Numbers) -> Int[Array, "..."]:
    """The size k of least v, from public facts.

    Arguments and errors: as of :func:`sub_ranking_variance`.

    Returns:
        k, of the shape of ``num_users`` and ``epsilon``.

    >>> [int(best_size(10, 1000, epsilon)) for epsilon in (1.0, 3.0, 5.0, 20.0)]
    [2, 3, 4, 10]
    """
    sizes = sizes_of(num_items)
    found = jnp.argmin(_variances(sizes, num_items, num_users, epsilon), axis=-1)
    return jnp.asarray(sizes)[found]


def sizes_of(num_items: int) -> Int[np.ndarray, " sizes"]:
    """The sizes to choose from: 2 to m."""
    return np.arange(2, num_items + 1)


def told_chance(size: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """f, the chance to tell the order of k items."""
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    growth = -jnp.expm1(-epsilon)
    return growth / (growth + jnp.exp(gammaln(jnp.asarray(size, epsilon.dtype) + 1) - epsilon))


def _variances(sizes: np.ndarray, items: int, users: Count, epsilon: Numbers) -> Array:
    """v for each size, on a last axis."""
    told = told_chance(sizes, jnp.asarray(epsilon, jnp.result_type(float))[..., None])
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
    """ŵ from how many users were asked about each pair, ``(N,)``, and told its first item ahead; 1/2 without answers.

    Args:
        ahead: told ahead.
        answers: asked.
        chance: f.
        num_items: m.
    """
    number, dtype = jnp.asarray(answers), jnp.result_type(float)
    share = jnp.asarray(ahead).astype(dtype) / jnp.maximum(number, 1).astype(dtype)
    weights = 0.5 + jnp.where(number > 0, share - 0.5, 0) / jnp.asarray(chance, dtype)
    first, second = np.triu_indices(num_items, 1)
    upper = jnp.zeros((num_items, num_items), dtype).at[first, second].set(weights)
    return upper.at[second, first].set(1 - weights)


def _sets(key: Key, asked: Array, items: int, width: int) -> Array:
    """The items of each user, ``(n, width)``: those of the pair, then others in a uniform order."""
    pair = jnp.stack([jnp.asarray(side)[asked] for side in np.triu_indices(items, 1)], axis=1)
    if width == 2:
        return pair
    words = jax.random.bits(key, (len(asked), items), jnp.uint32) | jnp.uint32(1 << 31)
    words = words.at[jnp.arange(len(asked))[:, None], pair].set(0)
    return jnp.argsort(places_of_words(words), axis=1)[:, :width]


def _told(key: Key, ranks: Array, chance: Array, missing: str) -> Array:
    """Scores of the items of each ranking, high = told ahead: as ranked with this chance, else in a uniform order.

    The first items of a ranking alone are told alike, whatever the others are.
    """
    break_key, draw_key, told_key = jax.random.split(fused(key), 3)
    uniform = places_of_words(jax.random.bits(draw_key, ranks.shape, jnp.uint32))
    tells = jax.random.bernoulli(told_key, chance, (*ranks.shape[:-1], 1))
    return jnp.where(tells, strict_scores(break_key, ranks, missing), uniform)


# --- the record ------------------------------------------------------------------------------------


def read_orders(
    ranks: RankingsLike, *, size: int | None = None, missing: str = "last"
) -> tuple[Array, Facts]:
    """How mechanisms read rankings of which users tell the order of a few items; by the rule for gaps and the size.

    Args:
        ranks: ``(n, m)``, two items or more.
        size: k; None for the one of least error, or m where there are fewer users than pairs.
        missing: ``"last"`` or ``"unknown"``.
    """
    ranks = checked_ranks(ranks)
    check_choice("missing", missing, MISSING)
    if ranks.ndim != 2 or 0 in ranks.shape or ranks.shape[1] < 2:
        raise ValueError(
            f"ranks must have shape (users, items), two items or more, got {ranks.shape}."
        )
    users, items = ranks.shape
    if size is not None and not 2 <= size <= items:
        raise ValueError(f"size must be a number of items from 2 to {items}, got {size!r}.")
    if size is None and users < math.comb(items, 2):
        size = items
    return ranks, Facts(items, users, rules=(missing, size))


def _check_enough(facts: Facts) -> None:
    """Raise ``ValueError`` unless there is a user for each pair, or all items are ordered."""
    pairs, size = math.comb(facts.num_items, 2), facts.rules[1]
    if facts.num_users < pairs and size != facts.num_items:
        raise ValueError(
            f"{facts.num_users:,} users are too few for {pairs:,} pairs: each is asked about {size} items, so some "
            "pairs might get no answer. Use local_weights or ldp_borda, whose users report on all pairs."
        )


def _send_order(key: Key, contents: Any, tuned: Any, facts: Facts) -> tuple[Array, Array]:
    """The items of each user, those of the pair asked for first, and the scores told of them, high = ahead."""
    (ranks, asked), (missing, size) = contents, facts.rules
    set_key, told_key = jax.random.split(fused(key))
    held = _sets(set_key, asked, facts.num_items, size or facts.num_items)
    own = jnp.take_along_axis(ranks, held, axis=1)
    return held, _told(told_key, own, tuned[1], missing)


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
    """ŵ from such a tally."""
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
    if size is None:
        best = functools.partial(best_size, facts.num_items)
        size = int(quickly(best, facts.num_users, epsilon))
    counts = local_reports.leads(ranks, missing, epsilon, size)
    return (size, local_reports.told_chance(size, epsilon)), counts


def _width(facts: Facts) -> int:
    return math.comb(facts.rules[1] or facts.num_items, 2)


def _dealt(key: Key, facts: Facts) -> Array:
    return jax.random.permutation(key, facts.num_users) % math.comb(facts.num_items, 2)


def _deviation(epsilon: Any, facts: Facts) -> Array:
    _, size = facts.rules or ("last", None)
    sizes = np.array([size]) if size else sizes_of(facts.num_items)
    return jnp.sqrt(jnp.min(_variances(sizes, facts.num_items, facts.num_users, epsilon), axis=-1))


sub_ranking_weights = Local(
    "sub_ranking_weights",
    """Unbiased pairwise weights from the order of a few items by each user.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    :mod:`privrank_jax.aggregation.sub_rankings`.

    Of ranks ``(n, m)``, integers, 0 = best, ties allowed, -1 = not ranked; m >= 2. ``size``: k, from 2 (one pair) to m;
    None for the one of least error, by m, n and ε. With fewer users than pairs only m, which None takes then.
    ``missing``: ``"last"``, or ``"unknown"``, where pairs of items not ranked are answered by a fair coin.

    ``value``: ``(m, m)`` weights, w_ij + w_ji = 1, which may lie outside [0, 1]; for Borda scores sum its rows
    (:func:`~privrank_jax.aggregation.borda_scores`). ``diagnostics``:
    :class:`~privrank_jax.aggregation.diagnostics.PairDiagnostics`. ``report(key, ranks, epsilon, size=k, asked=pair)``:
    items of one user, those of the pair of this number first, and the scores told of them, high = ahead; ``scale``: the
    root of a bound on the variance of a weight.

    >>> from privrank_jax.privacy import Privacy
    >>> ranks, privacy = jnp.tile(jnp.arange(3), (3000, 1)), Privacy(2.0, unit="user", adjacency="replace")
    >>> w = sub_ranking_weights(jax.random.key(0), ranks, privacy).value
    >>> np.allclose(w, np.triu(np.ones((3, 3)), 1), atol=0.1)
    True
    """,
    of_rankings,
    read_orders,
    _send_order,
    weights_told,
    _deviation,
    check=_check_enough,
    tune=tuned_orders,
    assign=_dealt,
    tally=_tally_leads,
    width=_width,
    exact=_exact,
)

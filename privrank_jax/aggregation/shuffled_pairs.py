r"""Pairwise weights from one answer per user whose sender a shuffler hides: little noise without a trusted curator.

**What a user sends.** The user's device draws one of the N = m(m-1)/2 pairs uniformly, tells nobody, and sends the pair
with one bit by randomized response at ε₀: whether its first item is ahead of the second, a fair coin for ties. ε₀ is
the largest budget that the number n of users allows (:func:`~privrank_jax.privacy.shuffled_local_epsilon`).

**What the shuffler must do.** Receive the reports over channels that nobody else reads, wait until those of all n users
are there (n counts honest users: those who collude with the observer hide nobody), remove names, addresses, times and
whatever else a report came with, and pass on the reports in random order, or only the counts of pair and answer. It
sees each report with its sender: against the shuffler, and if it fails, only ε₀ holds.

**Theorem.** (ε, δ)-DP, unit user, adjacency replace, trust shuffled: proof at the head of
:mod:`privrank_jax.privacy.shuffling`, of questions drawn in secret. Pairs dealt to known users, as for
:mod:`~privrank_jax.aggregation.sub_rankings`, would hide each report among the n/N answers to its own pair only.

**Error.** With t = tanh(ε₀/2) and g the number of reports of pair (i, j), ŵ_ij = 1/2 + (mean of its g bits - 1/2)/t, or
1/2 where g = 0. Given g > 0, those who report the pair are any g of the n users, equally likely, so ŵ is unbiased for
w, and its variance at most 1/(4t²g): (1-t²)/4 of each bit is the response's, and t²S(1/g - 1/n) that of the choice of
users, S = w(1-w) n/(n-1) for strict answers. With g ~ Bin(n, 1/N), 1/g ≤ 1/(g+1) + 3/((g+1)(g+2)) for g >= 1 and
E 1/(g+1) ≤ N/(n+1), E 1/((g+1)(g+2)) ≤ N²/((n+1)(n+2)), so

.. math:: v = \frac{n}{n-1} \frac{N}{n+1} \Bigl(1 + \frac{3N}{n+2}\Bigr) \frac{1}{4t^2}
              + \frac{m-1}{4} \Bigl(1 - \frac{1}{N}\Bigr)^n

bounds the mean squared error of a weight, and kv that of a sum of k <= m-1 weights: as for sub-rankings, the covariance
-S_ij,kl/n of pairs with reports adds at most ΣS_ij/n, which the factor n/(n-1) covers, and pairs without reports are at
most 1/2 off each, whose square sums to k²(1 - 1/N)^n/4. With n = 10,000 users, m = 10, ε = 1 and δ = 10⁻⁶, ε₀ = 5.5 and
t = 0.992: the error is that of asking each user for one pair, without noise.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Count, Numbers
from privrank_jax._validate import check_epsilon, check_users, is_traced
from privrank_jax.aggregation.diagnostics import ShuffledDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.sub_rankings import (
    read_orders,
    sub_ranking_weights,
    tuned_orders,
    weights_told,
)
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon


def shuffled_pair_variance(
    num_items: int, num_users: Count, local_epsilon: Numbers
) -> Float[Array, "..."]:
    """Upper bound v on the mean squared error of one weight; (m-1)v bounds that of a Borda score."""
    local_epsilon = check_epsilon(local_epsilon)
    check_users(num_users)
    pairs = num_items * (num_items - 1) // 2
    strength = jnp.square(jnp.tanh(0.5 * jnp.asarray(local_epsilon, jnp.result_type(float))))
    users = jnp.asarray(num_users, strength.dtype)
    reports = pairs / (users + 1) * (1 + 3 * pairs / (users + 2))  # bounds E 1/g
    none = 0.25 * (num_items - 1) * (1 - 1 / pairs) ** users
    return users / jnp.maximum(users - 1, 1) * reports / (4 * strength) + none


def promise_of_shuffled(privacy: Privacy, by: str) -> Privacy:
    """What shuffled reports attain of a promise; ``by`` is the name of the mechanism."""
    attained = of_rankings(privacy, by)
    if not is_traced(privacy.delta) and not np.all(np.asarray(privacy.delta) > 0):
        raise ValueError(
            f"{by} needs delta > 0, such as 1/n**2 for n users: at delta = 0 shuffling adds no privacy. Or use "
            "sub_ranking_weights, which needs no shuffler."
        )
    return dataclasses.replace(attained, delta=privacy.delta)


def _local_epsilon(epsilon: Any, delta: Any, facts: Facts) -> Any:
    """ε₀, found on the host; that of arrays rounded down to the dtype of ε."""
    found = functools.partial(_local_epsilons, facts.num_users)
    if not is_traced(epsilon, delta):
        return found(np.asarray(epsilon) * 1.0, np.asarray(delta))
    shape = jax.ShapeDtypeStruct(jnp.shape(epsilon), epsilon.dtype)
    return jax.pure_callback(found, shape, epsilon, delta, vmap_method="broadcast_all")


def _local_epsilons(users: int, epsilons: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    """ε₀ of n users for each ε and δ, of any shapes that broadcast; rounded down to the dtype of ε."""
    exact = np.vectorize(functools.partial(_of_one, users), otypes=[float])(epsilons, deltas)
    near = exact.astype(epsilons.dtype)
    return np.where(near > exact, np.nextafter(near, np.zeros_like(near)), near)


@functools.lru_cache(maxsize=1024)
def _of_one(users: int, epsilon: float, delta: float) -> float:
    epsilon, delta = float(epsilon), float(delta)
    return math.inf if math.isinf(epsilon) else shuffled_local_epsilon(users, epsilon, delta)


def _finish(counts: Any, tuned: Any, facts: Facts) -> tuple[Any, ShuffledDiagnostics]:
    value, _ = weights_told(counts, tuned, facts)
    return value, ShuffledDiagnostics(tuned[2], facts.num_users / math.comb(facts.num_items, 2))


def _exact(
    ranks: np.ndarray, attained: Privacy, facts: Facts
) -> tuple[tuple[int, float, float], np.ndarray]:
    from privrank_jax.exact import local_reports

    local, counts = local_reports.shuffled_leads(ranks, attained, facts.rules[0])
    return (2, local_reports.told_chance(2, local), local), counts


def _deviation(local: Any, facts: Facts) -> Array:
    return jnp.sqrt(shuffled_pair_variance(facts.num_items, facts.num_users, local))


shuffled_pair_weights = dataclasses.replace(
    sub_ranking_weights,
    name="shuffled_pair_weights",
    doc="""Pairwise weights from shuffled reports of one pair per user; simulates users and shuffler at once.

    **Guarantee.** (ε, δ)-DP for those who see shuffled reports, unit user, adjacency replace, and whatever these cover;
    proof at the head of :mod:`privrank_jax.aggregation.shuffled_pairs`, which says what the shuffler must do.

    Data, rules and errors: as for :data:`~privrank_jax.aggregation.sub_ranking_weights` of size 2; the promise needs
    δ > 0, may be traced; ε₀ is found on the host, by a callback then.

    ``value``: weights as there; 1/2 for pairs without a report. Trust ``"shuffled"``. ``diagnostics``:
    :class:`~privrank_jax.aggregation.diagnostics.ShuffledDiagnostics`. ``scale``: the root of
    :func:`shuffled_pair_variance`.

    >>> ranks, privacy = jnp.tile(jnp.arange(3), (3000, 1)), Privacy(1.0, unit="user", adjacency="replace", delta=1e-6)
    >>> found = shuffled_pair_weights(jax.random.key(0), ranks, privacy)
    >>> np.allclose(found.value, np.triu(np.ones((3, 3)), 1), atol=0.1)
    True
    >>> float(found.diagnostics.local_epsilon) > 3
    True
    """,
    attain=promise_of_shuffled,
    read=lambda ranks, *, missing="last": read_orders(ranks, size=2, missing=missing),
    finish=_finish,
    spread=_deviation,
    tune=lambda local, facts: (*tuned_orders(local, facts), local),
    assign=lambda key, facts: jax.random.randint(
        key, (facts.num_users,), 0, math.comb(facts.num_items, 2)
    ),
    exact=_exact,
    own=_local_epsilon,
    trust="shuffled",
    note="Whoever sees a report with its sender, as the shuffler does, sees it at the local epsilon only.",
)

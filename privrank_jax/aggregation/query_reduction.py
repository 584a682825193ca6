r"""Any algorithm that asks for weights, made private: the reductions of Theorems 5 and 11.

An *algorithm* is a function of ``ask`` and m that returns the ranks of m items, and sees the votes through
``ask(i, j)`` alone, an answer w̃_ij with w̃_ij + w̃_ji = 1. It may choose its queries by earlier answers. A pair that is
asked again has the same answer, which costs nothing. It must not raise errors that depend on answers, which would be
published.

**Theorem.** At most q answers with the noise of :func:`~privrank_jax.aggregation.dp_kwiksort`, and, where the algorithm
would ask for more, its fallback in place of what it returns, are (ε₁ + ε₂)-DP, (ε₁ + ε₂, δ)-DP with Gaussian noise:
unit user, adjacency ``replace``. Answers by groups of users, each of at most τ queries, and the fallback of
:func:`~privrank_jax.aggregation.ldp_kwiksort`, are (τ ε₀ + ε₂)-local DP. The proofs there do not look at who asks.

**Error.** Let the algorithm have ratio α on every w̃ and ask for more than q pairs with probability at most ζ/m⁴. Then
its private version has E K ≤ (α + ζ) OPT + O(m² e + 1/(εn)), e the mean absolute error of an answer (Theorem 5). The
local version lacks the last term (Theorem 11).

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorems 5 and 11, with the scale and the counter corrected.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Key, PairMatrix, RankingsLike, RanksLike, Scalar
from privrank_jax._validate import check_shape, is_traced
from privrank_jax.aggregation import dp_sorting, ldp_sorting
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import LocalSortDiagnostics, SortDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import PairWeights
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import validate_ranks

Ask = Callable[[int, int], float]
Algorithm = Callable[[Ask, int], RanksLike]


class _BudgetSpent(BaseException):
    """One query more than may be answered."""


def private_by_queries(
    key: Key,
    weights: PairWeights,
    privacy: Privacy,
    algorithm: Algorithm,
    *,
    max_queries: int,
    noise: str = "laplace",
    split: Scalar = 0.5,
) -> Estimate:
    """A private consensus by any algorithm that asks for weights (Theorem 5); in Python, not for ``jit``.

    ``algorithm``: a function of ``ask`` and m that returns ranks, 0 = best; ``ask(i, j)`` is w̃_ij in [0, 1]. At most
    ``max_queries`` pairs are answered. Other arguments, results, guarantee and errors: as of
    :func:`~privrank_jax.aggregation.dp_kwiksort`; masked items and a result that is no ranking are refused.

    >>> def by_wins(ask, items):  # asks for all pairs
    ...     wins = [sum(ask(i, j) for j in range(items) if j != i) for i in range(items)]
    ...     return np.argsort(np.argsort(wins)[::-1])
    >>> weights = PairWeights.from_ranks(jnp.tile(jnp.array([2, 0, 1]), (5000, 1)))
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> private_by_queries(jax.random.key(0), weights, privacy, by_wins, max_queries=3).value.tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "private_by_queries", noise)
    if weights.mask is not None:
        raise ValueError("private_by_queries takes weights of all items: leave masked items out.")
    if is_traced(weights.matrix, attained.epsilon):
        raise TypeError("private_by_queries runs in Python: call it outside of jit.")
    w, facts = dp_sorting.facts_of(weights, "private_by_queries")
    plan, _ = dp_sorting.kwiksort_plan(
        privacy, facts, noise=noise, max_queries=max_queries, split=split
    )
    noise_key, left_key = jax.random.split(key)
    noisy = np.asarray(noisy_answers(noise_key, jnp.asarray(w), plan))

    def answer(i: int, j: int, number: int) -> float:
        if number >= int(plan.budget):
            raise _BudgetSpent
        return float(noisy[i, j])

    ranks, queries = _asked(algorithm, facts.num_items, answer)
    exceeded = ranks is None
    if ranks is None:
        rest = Privacy(plan.of_fallback, unit="user", adjacency="replace")
        ranks = dp_sorting.noise_all_ranks(left_key, weights, rest)
    told = SortDiagnostics(queries - exceeded, exceeded, plan.scale, plan.budget)
    return Estimate(jnp.asarray(ranks, jnp.int32), Guarantee(privacy, attained), told)


def noisy_answers(
    key: Key, w: PairMatrix, plan: dp_sorting.SortPlan
) -> Float[Array, "items items"]:
    """Answers to all pairs, of which at most ``plan.budget`` may be looked at."""
    drawn = (gaussian if plan.is_gaussian else laplace)(key, w.shape, plan.scale, w.dtype)
    return jnp.clip(w + drawn, 0, 1)


def local_by_queries(
    key: Key,
    ranks: RankingsLike,
    privacy: Privacy,
    algorithm: Algorithm,
    *,
    max_queries: int,
    num_groups: int | None = None,
    split: Scalar = 0.5,
    missing: str = "last",
) -> Estimate:
    """A consensus in the local model by any algorithm that asks for weights (Theorem 11); in Python, not for ``jit``.

    ``algorithm``: as for :func:`private_by_queries`; its answers are unbiased, and may lie outside of [0, 1]. The
    theorem wants ``max_queries`` of 15 m log(m/ζ) or more for m groups (10 is printed). Other arguments, results,
    guarantee and errors: as of :func:`~privrank_jax.aggregation.ldp_kwiksort`.

    >>> def first_by_votes(ask, items):  # asks whether one item leads each of the others
    ...     wins = np.array([-0.5, *(ask(item, 0) - 1 for item in range(1, items))])
    ...     return np.argsort(np.argsort(-wins))
    >>> ranks = np.tile(np.array([1, 0, 2]), (60_000, 1))
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> local_by_queries(jax.random.key(0), ranks, privacy, first_by_votes, max_queries=2).value.tolist()
    [1, 0, 2]
    """
    given, plan = ldp_sorting.planned(
        ranks, privacy, missing, max_queries=max_queries, num_groups=num_groups, split=split
    )
    users, items = given.shape
    group_key, response_key, left_key = jax.random.split(key, 3)
    shuffled = jax.random.permutation(group_key, users)
    members = np.asarray(ldp_sorting.balanced_groups(shuffled, plan.num_groups))
    flip = flip_threshold(jnp.asarray(plan.epsilon_per_query))
    truth = float(jnp.tanh(0.5 * jnp.asarray(plan.epsilon_per_query)))
    uses = np.zeros(plan.num_groups, int)

    def answer(i: int, j: int, number: int) -> float:
        choice, words = jax.random.split(jax.random.fold_in(response_key, number))
        group = int(jax.random.randint(choice, (), 0, plan.num_groups))
        uses[group] += 1
        if uses[group] > plan.max_uses:
            raise _BudgetSpent
        asked = members[group][members[group] >= 0]
        lead = order_lead(given[asked, i], given[asked, j], missing)
        said = ldp_sorting.respond(jax.random.bits(words, asked.shape, jnp.uint32), lead, flip)
        return 0.5 + float(jnp.mean(said) - 0.5) / truth

    found, queries = _asked(algorithm, items, answer)
    refused = found is None
    if found is None:
        rest = Privacy(plan.fallback_epsilon, unit="user", adjacency="replace")
        found = ldp_sorting.ranks_of_reports(left_key, given, rest, missing=missing)
    told = LocalSortDiagnostics(
        jnp.int32(queries - refused), jnp.bool_(refused), plan.epsilon_per_query, plan.max_uses
    )
    return Estimate(jnp.asarray(found, jnp.int32), plan.guarantee, told)


def _asked(
    algorithm: Algorithm, items: int, answer: Callable[[int, int, int], float]
) -> tuple[np.ndarray | None, int]:
    """The algorithm's ranks, None where it asked too much, and the number of pairs that it asked for."""
    answers: dict[tuple[int, int], float] = {}
    asked = 0

    def ask(i: int, j: int) -> float:
        nonlocal asked
        if i == j or not (0 <= i < items and 0 <= j < items):
            raise ValueError(f"ask(i, j) takes two different items of 0..{items - 1}: {i}, {j}.")
        pair = (min(i, j), max(i, j))
        if pair not in answers:
            asked += 1
            answers[pair] = answer(*pair, asked - 1)
        return answers[pair] if i < j else 1 - answers[pair]

    try:
        ranks = np.asarray(algorithm(ask, items))
    except _BudgetSpent:
        return None, asked
    check_shape("ranks by the algorithm", ranks, (items,))
    validate_ranks(ranks)
    return ranks, asked

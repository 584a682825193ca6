r"""Footrule costs from one report per user: a random cut of the ranking, and a set of items likely ahead of it.

**What a user sends.** Ties are broken at random: tied items are put into a uniform order; items not ranked come last,
tied; where they count as ``"unknown"``, a fair coin puts all of them first or last, in a uniform order. Of the strict
ranking that results, T_k is the set of the first k items. The user draws a cut k with probability π_k and a set A of
a_k items, those with at least t_k items in T_k e^ε times as likely as all others, and sends (k, A). Sizes, thresholds
and π are public (:mod:`~privrank_jax.aggregation.footrule_cuts`).

**Theorem (privacy).** ε-DP in the local model, unit user, adjacency replace. *Proof.* The cut does not depend on the
ranking. Given the cut, as many sets are e^ε times as likely for one T_k as for any other, so any two rankings give a
report probabilities whose ratio is 1, e^ε or e^-ε. ∎ ε is attained. Nothing else depends on the ballot: an empty one is
answered like any other, by a uniform ranking, and adds the same mean to the costs of all items.

**Theorem (no bias, error).** A user's costs are X_jp = \|π(j) - p\|, averaged over the ways to break ties. Only their
part X' less the means of rows and columns matters for an assignment. With x_k, s_k the indicators of items in T_k and
of places before k, X_jp = Σ_k (x_kj + s_kp - 2x_kj·s_kp). Let y = 1_A - a/m, and β_k the number such that E[y | T_k] =
β_k(x_k - k/m). So k/m + y/(π_k β_k), counted for cut k and k/m for others, is unbiased for x_k, and gives unbiased
costs. Its part Z' less means is -2y(s_k - k/m)ᵀ/(π_k β_k), of norm 2r_k N_k/π_k, r_k² = k(m-k)/m, N_k = ‖y‖/β_k.
With π_k = 2r_k N_k/B, B = Σ_k 2r_k N_k, every report has the norm B, the least E‖Z'‖² for these N_k (Cauchy and
Schwarz), and E‖Z' - X'‖² = B² - ‖X'‖² exactly, where ‖X'‖² = (m²-1)(2m²+7)/45 for a strict ranking.

Sets of one item, or of all but one, have N_k ≤ √(m(m-1))/(2 tanh(ε/2)), and Σ_k √(k(m-k)) ≤ πm²/8, so B ≤ (π/8)·m^2.5
/tanh(ε/2).

**Theorem (what any report needs).** If Z is unbiased for X', and ε-local, then E‖Z‖² ≥ (m-1)(m²-1)²/(9 sinh²(ε/2)) for
some ranking. *Proof.* Draw a ranking uniformly; let P be its permutation matrix less means, so PᵀP = J = I - 11ᵀ/m and
X' = PD, D the distances of places less means. So (m²-1)/3 = -tr(D) = -E⟨P, Z⟩ ≤ max ‖E[P | Z]‖·√E‖Z‖². Given Z, the
odds of two rankings differ by e^ε at most: their density h has mean 1 and max h ≤ e^ε min h, hence a variance of at
most sinh²(ε/2). ⟨P, U⟩ has mean 0 and variance at most ‖U‖²/(m-1), so E[⟨P, U⟩ | Z] ≤ sinh(ε/2)‖U‖/√(m-1). ∎

For 3 to 100 items B² is at most 1.13 times that for ε ≤ 1 and 1.5 times at ε = 2. The error here, divided by that of
one item and one cut, drawn at best odds and answered by randomized response, beside that of other reports that were
tried (one item and a uniform cut; one item and a set of positions; PrivUnit on X'·\|D\|^(-1/2), its best weights):

    =====  =====  =====  =====  =====  =========  =========  ========
        m  ε=0.5      1      2      4  cut, ε=1   set, ε=1   PrivUnit, ε=1, 4
    =====  =====  =====  =====  =====  =========  =========  ========
        5  0.760  0.673  0.476  0.174      1.010      1.259  1.076, 0.323
       10  0.734  0.636  0.447  0.199      1.031      2.259  1.022, 0.310
       20  0.723  0.620  0.437  0.203      1.049      4.460  0.994, 0.300
       50  0.719  0.614  0.433  0.206      1.065     11.20   0.980, 0.294
      100  0.718  0.613  0.433  0.207      1.072     22.51   0.976, 0.293
    =====  =====  =====  =====  =====  =========  =========  ========

(``python -m tests.benchmarks ldp_footrule``, which has more columns.) A report says nothing of other cuts: at ε = ∞ B
is (m²-1)/3 or more. But PrivUnit has less error only from ε = 5 on for 3 items, from 7 on for 5 items, and beyond ε =
10, if at all, for 10 items or more.

**Consensus.** Let Ĉ be the mean of n reports, C that of costs, σ̂ the assignment of least Ĉ, E the part of Ĉ - C less
means. The mean over ways to break ties of K and of the footrule F keeps F/2 ≤ K ≤ (1 - 1/(2m-2))F, which holds for
strict rankings (:mod:`~privrank_jax.aggregation.footrule`). And C(σ̂) - C(σ) ≤ ⟨E, P_σ - P_σ̂⟩ ≤ √(2m)‖E‖, with E‖E‖² ≤
B²/n. So for all σ

    E K(σ̂, w) ≤ (2 - 1/(m-1))·K(σ, w) + (1 - 1/(2m-2))·√(2m/n)·B,

an additive error of at most 0.56·m³/(tanh(ε/2)√n) pairs. As one report changes ‖E‖ by at most 2B/n, the same holds with
probability 1 - γ if B is multiplied by 1 + √(2 log(1/γ)) (McDiarmid). For many items a sum over all rankings is better
(:func:`ldp_footrule_excess`): it grows as m^2.5·√(log m). *Proof.* Let c be the difference of the indicators of T_k for
σ and another ranking σ', ‖c‖² ≤ 4r_k². A report adds w = ⟨Z', P_σ - P_σ'⟩, \|w\| = B\|⟨y, c⟩\|/(r_k‖y‖) ≤ 2B. A has at
most κ_k = e^ε/(1 + (e^ε-1)q_k) times the probability of a uniform set, under which E⟨y, c⟩² = ‖y‖²‖c‖²/(m-1). So E w² ≤
4κB²/(m-1), κ = Σ_k π_k κ_k, and Bernstein's inequality bounds the mean of n of them by B(√(8κλ/((m-1)n)) + 4λ/(3n))
but with probability e^-λ; take λ = log(m!/γ). ∎
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._backend import product
from privrank_jax._types import Count, Epsilon, Key, Mask, RankingsLike, RanksLike, Scalar
from privrank_jax._validate import check_choice, check_epsilon, check_level, check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule_cuts import CutDesign, binomials, check_items, cut_design
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.subset_selection import places_of_words, strict_scores
from privrank_jax.aggregation.weights import MISSING, checked_ranks, ranks_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def ldp_footrule(
    key: Key, ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Unbiased footrule costs from one report per user: local and non-interactive; simulates all users at once.

    :func:`~privrank_jax.aggregation.assignment` of the costs is a ranking within 2 - 1/(m-1) times the least
    Kemeny score and an additive error (:mod:`privrank_jax.aggregation.bounds`).

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace, and whatever these cover; proof at the head of
    this module, ``help(sys.modules[ldp_footrule.__module__])``.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best, ties allowed, negative = not ranked; 2 <= m <= 200.
        privacy: what is promised: unit user, adjacency replace. ε may be traced; at ∞ users still report on one cut.
        missing: ``"last"``: items not ranked come last, tied; ``"unknown"``: first or last, by a fair coin.

    Returns:
        ``value``: costs ``(m, m)`` of items at places, in positions, unbiased for users whose ties are broken at
        random. ``guarantee``. ``diagnostics``: :class:`~privrank_jax.aggregation.diagnostics.FootruleDiagnostics`, the
        deviation that it is if rankings are full.

    Raises:
        ValueError: a promise that this can't keep, no users, fewer than 2 items or more than 200, ranks that are not
            integers, an unknown rule.

    >>> from privrank_jax.aggregation.assignments import assignment
    >>> ranks = jnp.tile(jnp.array([2, 0, 1]), (4000, 1))
    >>> privacy = Privacy(2.0, unit="user", adjacency="replace")
    >>> assignment(ldp_footrule(jax.random.key(0), ranks, privacy).value).tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "ldp_footrule")
    given = ranks_of_users(ranks)
    users, items = given.shape
    cuts, chosen = ldp_footrule_report(key, given, attained.epsilon, missing=missing)
    value = ldp_footrule_aggregate(cuts, chosen, attained.epsilon)
    deviation = footrule_deviation(items, users, attained.epsilon)
    guarantee = Guarantee(privacy, attained, trust="local")
    return Estimate(value, guarantee, FootruleDiagnostics(deviation))


def ldp_footrule_report(
    key: Key, ranks: RanksLike | RankingsLike, epsilon: Epsilon, *, missing: str = "last"
) -> tuple[Int[Array, "*users"], Bool[Array, "*users items"]]:
    """What one user sends: a cut k of the ranking, and a set of items that are likely among the first k.

    ε-local DP by itself; the simulated draws are not fit to protect real users, see :mod:`privrank_jax.release`.

    Args:
        key: PRNG key.
        ranks: ``(m,)`` integers, as :func:`ldp_footrule`; users ``(n, m)`` draw independent reports.
        epsilon: ε > 0 of the report, may be traced.
        missing: as :func:`ldp_footrule`.

    Returns:
        k, ``()`` or ``(n,)`` integers from 1 to m - 1, and the set, ``(m,)`` or ``(n, m)`` bool.

    Raises:
        ValueError: ε <= 0, fewer than 2 items or more than 200, ranks that are not integers, an unknown rule.

    >>> cut, chosen = ldp_footrule_report(jax.random.key(0), [1, 0], jnp.inf)  # item 1 is ahead
    >>> int(cut), chosen.tolist()
    (1, [False, True])
    """
    given = checked_ranks(ranks)
    check_items(given.shape[-1])
    epsilon = check_epsilon(epsilon)
    check_choice("missing", missing, MISSING)
    return _report(key, given, jnp.asarray(epsilon, jnp.result_type(float)), missing)


def ldp_footrule_aggregate(
    cuts: Int[Array | np.ndarray, " users"],
    chosen: Bool[Array | np.ndarray, "users items"],
    epsilon: Epsilon,
) -> Float[Array, "items items"]:
    """Unbiased footrule costs from the reports of all users, with ties broken at random.

    Args:
        cuts: k of each user, n >= 1.
        chosen: the set of each user.
        epsilon: ε > 0 of the reports, may be traced.

    Returns:
        ``(m, m)``: costs of items at places, in positions.

    Raises:
        ValueError: ε <= 0, shapes that don't fit, fewer than 2 items or more than 200.

    >>> ldp_footrule_aggregate(np.array([1, 1]), np.array([[False, True]] * 2), jnp.inf).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    epsilon = check_epsilon(epsilon)
    if np.ndim(chosen) != 2 or np.shape(cuts) != np.shape(chosen)[:1] or 0 in np.shape(chosen):
        raise ValueError(
            f"cuts must have shape (n,) and sets (n, m), got {np.shape(cuts)} and {np.shape(chosen)}."
        )
    items = np.shape(chosen)[1]
    check_items(items)
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    return _aggregate(jnp.asarray(cuts), jnp.asarray(chosen), epsilon)


def costs_of_counts(
    counts: Int[Array | np.ndarray, "cuts items"],
    reports: Int[Array | np.ndarray, " cuts"],
    epsilon: Epsilon,
) -> Float[Array, "items items"]:
    """Costs from how many of the reports on each cut hold each item.

    Args:
        counts: of sets that hold an item, for each cut.
        reports: on each cut; their sum is n >= 1.
        epsilon: ε > 0 of the reports, may be traced.
    """
    items = counts.shape[1]
    design = cut_design(items, epsilon)
    number = np.arange(1, items)
    more = counts - (reports * design.size / items)[:, None]
    counted = more * (design.weight / jnp.sum(reports))[:, None]
    shares = jnp.asarray(number[:, None] / items, counted.dtype) + counted
    before = np.arange(items) < number[:, None]
    sides = jnp.asarray(np.where(before, -1, 1), counted.dtype)
    return product(shares.T, sides) + jnp.asarray(np.sum(before, axis=0), counted.dtype)


def ldp_footrule_norm(num_items: int, epsilon: Epsilon) -> Float[Array, ""]:
    """B, the norm of every report less the means of its rows and columns.

    Args:
        num_items: 2 <= m <= 200, static.
        epsilon: ε > 0, may be traced.

    Returns:
        B, a scalar, in positions.

    Raises:
        ValueError: ε <= 0, fewer than 2 items or more than 200.

    >>> round(float(ldp_footrule_norm(2, jnp.log(3.0))), 6)  # randomized response, B = 1/tanh(ε/2)
    2.0
    """
    epsilon = check_epsilon(epsilon)
    return jnp.asarray(jnp.sum(cut_design(num_items, epsilon).odds))


def ldp_footrule_excess(
    num_items: int, num_users: Count, epsilon: Epsilon, level: Scalar
) -> Float[Array, "..."]:
    """Footrule of the assignment of least reported cost, above the least one, with probability ``level``.

    The smaller one of two bounds, proved at the head of this module,
    ``help(sys.modules[ldp_footrule.__module__])``. The Kemeny score is within 2 - 1/(m-1) times the
    least one and 1 - 1/(2m-2) times this.

    Args:
        num_items: 2 <= m <= 200, static.
        num_users: n >= 1, may be traced.
        epsilon: ε > 0, may be traced.
        level: 1 - γ, in (0, 1), may be traced.

    Returns:
        The bound, in positions per user.

    Raises:
        ValueError: ε <= 0, a level not in (0, 1), no users, fewer than 2 items or more than 200.

    >>> round(float(ldp_footrule_excess(10, 100_000, 2.0, 0.95)), 2)
    2.16
    """
    epsilon = check_epsilon(epsilon)
    check_users(num_users)
    check_level(level)
    design = cut_design(num_items, epsilon)
    norm, dtype = jnp.sum(jnp.asarray(design.odds)), jnp.result_type(float)
    users, chance = jnp.asarray(num_users, dtype), 1 - jnp.asarray(level, dtype)
    whole = jnp.sqrt(2 * num_items / users) * (1 + jnp.sqrt(-2 * jnp.log(chance)))
    other = jnp.exp(-jnp.asarray(epsilon, dtype))
    tilt = jnp.sum(design.odds / (other + (1 - other) * design.share)) / norm
    depth = math.lgamma(num_items + 1) - jnp.log(chance)
    each = jnp.sqrt(8 * tilt * depth / ((num_items - 1) * users)) + 4 * depth / (3 * users)
    return norm * jnp.minimum(whole, each)


def footrule_deviation(num_items: int, num_users: Count, epsilon: Epsilon) -> Float[Array, "..."]:
    """√((B² - ‖X'‖²)/n)/m: root mean square of the error of a cost, less means of rows and columns, of full rankings.

    Args:
        num_items: m.
        num_users: n.
        epsilon: ε > 0, may be traced.

    >>> round(float(footrule_deviation(2, 100, jnp.log(3.0))), 4)
    0.0866
    """
    square = jnp.square(ldp_footrule_norm(num_items, epsilon)) - strict_square(num_items)
    return jnp.sqrt(square / num_users) / num_items


def strict_square(num_items: int) -> float:
    """(m²-1)(2m²+7)/45, the squared norm of the costs of a strict ranking less the means of rows and columns.

    >>> strict_square(2)
    1.0
    """
    return (num_items**2 - 1) * (2 * num_items**2 + 7) / 45


@functools.partial(jax.jit, static_argnames=("missing",))
def _report(key: Key, ranks: Array, epsilon: Array, missing: str) -> tuple[Array, Array]:
    shape = ranks.shape
    ranks = ranks.reshape(-1, shape[-1])
    users, items = ranks.shape
    design = cut_design(items, epsilon)
    order_key, cut_key, number_key, set_key = jax.random.split(fused(key), 4)
    upto = jnp.cumsum(design.odds)
    drawn = jax.random.uniform(cut_key, (users,), upto.dtype) * upto[-1]
    place = jnp.minimum(jnp.searchsorted(upto, drawn, side="right"), items - 2)
    cut, size = place[:, None] + 1, design.size[place][:, None]
    ahead = strict_scores(order_key, ranks, missing) >= items - cut
    law = jnp.cumsum(_held_law(design, items, epsilon), axis=1)[place]
    drawn = jax.random.uniform(number_key, (users, 1), law.dtype) * law[:, -1:]
    held = jnp.sum(law <= drawn, axis=1, keepdims=True)
    held = jnp.clip(held, jnp.maximum(size - items + cut, 0), jnp.minimum(size, cut))
    words = jax.random.bits(set_key, ranks.shape, jnp.uint32) >> 1
    place_in_order = places_of_words(words | jnp.where(ahead, jnp.uint32(0), jnp.uint32(1 << 31)))
    chosen = jnp.where(ahead, place_in_order < held, place_in_order - cut < size - held)
    return cut[:, 0].reshape(shape[:-1]), chosen.reshape(shape)


def _held_law(design: CutDesign, items: int, epsilon: Array) -> Array:
    """Odds of the number of items of A that are in T_k, ``(m - 1, m + 1)``."""
    with np.errstate(divide="ignore"):
        ways = jnp.asarray(np.log(binomials(items)), epsilon.dtype)
    cuts, held = np.arange(1, items)[:, None], np.arange(items + 1)
    size, threshold = (jnp.asarray(part)[:, None] for part in (design.size, design.threshold))
    rest = jnp.where(held <= size, size - held, items)  # more than any number of others
    uniform = ways[cuts, held] + ways[items - cuts, rest] - ways[items, size]
    return jnp.exp(uniform - jnp.where(held >= threshold, 0, epsilon))


@jax.jit
def _aggregate(cuts: Array, chosen: Array, epsilon: Array) -> Array:
    return costs_of_counts(*counts_of_reports(cuts, chosen), epsilon)


def counts_of_reports(
    cuts: Int[Array, " users"], chosen: Bool[Array, "users items"], users: Mask | None = None
) -> tuple[Int[Array, "cuts items"], Int[Array, " cuts"]]:
    """How many of the reports on each cut hold each item, and the number of reports on each cut.

    Args:
        cuts: k of each user.
        chosen: the set of each user.
        users: ``(n,)`` bool, False for rows that only pad the problem.
    """
    items = chosen.shape[1]
    one = jnp.ones(cuts.shape, jnp.int32) if users is None else users.astype(jnp.int32)
    counts = jnp.zeros((items - 1, items), jnp.int32)
    counts = counts.at[cuts - 1].add(jnp.where(chosen, one[:, None], 0))
    return counts, jnp.zeros(items - 1, jnp.int32).at[cuts - 1].add(one)

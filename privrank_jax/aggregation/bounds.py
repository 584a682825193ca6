r"""Worst-case bounds of every private consensus: Table 2, with constants, and the table of the methods they belong to.

An (α, β)-approximation returns σ with E K(σ, w) ≤ α OPT(w) + β, whatever the rankings. The paper states β up to
constants; here they are worked out for the noise that this library adds, N = m(m-1)/2 the number of pairs. With
``confidence`` = 1 - η the bound is on K(σ, w) itself and holds with that probability over the noise.
:func:`~privrank_jax.aggregation.proven_errors` evaluates all of :data:`ROWS`; sums of noise are in
:mod:`privrank_jax.aggregation.noise_totals`.

*Weights all noised* (Corollaries 3, 4), then solved to within 1 + ξ: a pair that is off by |e| costs at most |e|,
once in σ and (1 + ξ) times in the best ranking (Fact 2 over unordered pairs), and clipping into [0, 1] only shrinks
it, so β = (2 + ξ) Σ_{i<j} |e_ij|. E|e| is (N + 1)/(2nε) for K-norm noise, λ for Laplace noise, √(2/π) σ for Gaussian
noise.

*KwikSort* (Corollaries 6, 7) has ratio 5: its answers are those of one noisy, mirrored weight matrix, so as above
β = 6 N E|e| if all are clipped. With probability p the budget of queries runs out and the fallback takes over: noise on
all pairs at its share of ε, ordered no worse than by Borda and so of ratio 5. Together: (5 + 5p, 6 N E|e| + p
β_fallback). p is computed from the exact law of quicksort's comparisons, which presumes transitive answers, so the
bound holds for all votes only where p = 0. The ratio is one of means, over the pivots too; with a confidence both terms
are divided by η (Markov's inequality), for lack of a better proof. Hay, Elagina and Miklau's variant costs at most N
where its budget runs out: (5, 6 N E|e| + p N). Its default q is little above the mean number of comparisons, so p is
large.

*Borda*: (5, 2 ‖e‖₁), see :mod:`privrank_jax.aggregation.borda_theorem`. E‖e‖₁ is m·⌊m²/2⌋/(nε) with Laplace noise,
m√(2/π)σ with Gaussian noise, and Σ_i E|Z_i|/(nε) with K-norm noise, Z its law at scale 1
(:func:`~privrank_jax.privacy.noise_law.mean_absolute`): 0.67, 0.78 and 0.93 times that of Laplace noise for m = 3, 10
and 100.

*Footrule*: (2 - 1/(2m-1), (1 - 1/(4m-2)) Σ_j R_j), R_j the range of the noise on item j's costs, see
:mod:`privrank_jax.aggregation.private_footrule`.

*Weights in two parts*, e = w̃ - w their error before shrinkage, solved to within 1 + ξ: Σ_{i<j} |e_ij| is at most √N
times its root of Σ e_ij², whose mean is (m - 1)σ_g² + Mσ_c², M = (m-1)(m-2)/2. Shrinkage moves the cycle part by (1 -
s)‖c̃‖ = min(‖c̃‖, Mσ_c²/‖c̃‖) ≤ √M σ_c more. So β = (2 + ξ)√N(√((m - 1)σ_g² + Mσ_c²) + √M σ_c), without the last term
if nothing is shrunk. With φ = 1 it is Borda with its noise, with φ = 0 Σ|e| is that of noise on all weights. With a
confidence: Gaussian ‖e‖ exceeds its mean by at most σ_c √(2 log(1/η)). K-norm ‖e‖ ≤ (1 - κ)‖g₁‖ + ‖e₂‖, κ = σ_g²/σ_c²,
g₁ and e₂ the noise of the two releases: ‖g₁‖ is at most √((m² - 1)/3)/(nε₁) times a Gamma(m - 1), and ‖e₂‖² the square
of a Gamma(N), over (nε₂)², times 1 plus N - 1 squares of uniform numbers, which Hoeffding's inequality bounds.

*Added or removed users.* One user more or less moves sums of scores or of weights by half of what a replaced one does,
in every direction (heads of :mod:`~privrank_jax.aggregation.borda` and
:mod:`~privrank_jax.aggregation.split_weights`), so their noise, divided by n, is that of means of 2n users who may be
replaced, with φ = 0. The order of sums is that of means, and the bounds of Borda and of weights hold with 2n in the
place of n.

*Exponential mechanism*: (1, 2N log(m!)/(nε)), see :mod:`privrank_jax.aggregation.exponential`. With a confidence
log(m!) becomes log(m!/η): all rankings that cost t more than the optimum together have odds of at most m!
exp(-tnε/(2N)).

**Local and shuffled reports**, for full rankings. *Weights* (Corollary 9), then solved to within 1 + ξ: β = (2 + ξ)
Σ_{i<j} |e_ij|, and E|e| is at most the standard deviation of
:func:`~privrank_jax.aggregation.weight_reports.local_weight_variance`. *Borda scores*: (5, 2 ‖e‖₁), ‖e‖₁ ≤ √m ‖e‖₂ and
E‖e‖₂² = (B² - r²)/n, B the norm of a report and r that of the centered scores. Scores of weights from one pair per
user have errors of variance m - 1 times that of a weight. *KwikSort* (Corollary 12): as in the central model; a query
goes to a random group of n/m users at ε₀ = split·ε/τ, so E|e| ≤ 1/(2 tanh(ε₀/2) √⌊n/m⌋), and the fallback is Duchi's
mechanism.

*With a confidence*, L = log(1/η). Reports on all pairs or on scores, of norm at most B: e is their mean less its
own mean, and another report of one user moves it by at most 2B/n. So by McDiarmid's inequality ‖e‖₂ exceeds its mean by
at most B√(2L/n); weights are half of such reports. *One answer per user*, the order of k items, C = k(k-1)/2, g or more
for each pair, told with chance f (tanh(ε/2) for k = 2): another order told changes C weights by at most 1/(fg) each.
Draw first who answers what, given the numbers of answers, then the orders. Exchanging two users changes the mean of
Σ|e_ij| over the orders by at most 2C/g, since two orders have another law, each with probability f at most. Uncovering
the n users one by one and then their orders, the sum of |e_ij| is a martingale of steps within ranges of 2C/g and of
C/(fg), so (Hoeffding 1963, Azuma 1967) it exceeds its mean, at most N√(n/(n-1))/(2f√g), by at most
√(nL/2)·√(4 + 1/f²) C/g; errors of Borda scores, of which k = 2, change by twice that. Dealt pairs have g = ⌊n/N⌋, and
with k = m each pair has g = n. Shuffled users draw pairs: g is the number that Bin(n, 1/N) fails to reach with
probability η/(2N) at most, and L = log(2/η). With other k > 2 as well, g being ⌊n/N⌋ and as many others, of (N-1)⌊n/N⌋
users who have the pair by chance independently, C - 1 of N - 1 on average: up to their mean such a sum fails to reach a
number no more often than the binomial of that mean does (Hoeffding 1956). KwikSort's bounds are divided by η (Markov's
inequality).

Lower bounds for all algorithms are in :mod:`privrank_jax.aggregation.lower_bounds`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from privrank_jax._quickly import quickly
from privrank_jax._types import Epsilon, Scalar
from privrank_jax._validate import check_choice, check_level, check_nonnegative, check_users
from privrank_jax.aggregation import exponential, subset_designs
from privrank_jax.aggregation.borda import dp_borda
from privrank_jax.aggregation.dp_sorting import default_queries
from privrank_jax.aggregation.ldp_sorting import local_plan
from privrank_jax.aggregation.local_borda import ldp_borda, ldp_borda_privunit, score_radius
from privrank_jax.aggregation.noise_totals import absolute_sum, footrule_ranges, gamma_quantile
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.private_footrule import dp_footrule
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import MAX_ITEMS as MOST_SORTED
from privrank_jax.aggregation.query_budgets import (
    exceeding_probability,
    query_budget,
    refusal_bound,
)
from privrank_jax.aggregation.shuffled_pairs import promise_of_shuffled, shuffled_pair_variance
from privrank_jax.aggregation.split_weights import SHRINKAGES, private_weights
from privrank_jax.aggregation.sub_rankings import (
    best_size,
    one_pair_variance,
    sizes_of,
    sub_ranking_variance,
    told_chance,
)
from privrank_jax.aggregation.subset_selection import ldp_borda_subsets
from privrank_jax.aggregation.weight_reports import local_weight_variance
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon

SPLIT = 0.9
"""Share of ε for the comparisons of KwikSort; the rest is for its fallback, which is rarely used."""

ONE_ANSWER = {
    "one-pair": one_pair_variance,
    "shuffled-pair": shuffled_pair_variance,
    "sub-ranking": sub_ranking_variance,
}
"""Mechanisms by which a user answers for one pair or orders a few items, and the variance of a weight."""


REPORTS_ON_SCORES = {
    "duchi": ldp_borda,
    "privunit": ldp_borda_privunit,
    "subset-selection": ldp_borda_subsets,
}
"""Mechanisms by which a user reports on scores."""

SUMMED = ("borda", "weights")
"""Methods of a curator that publish sums where users may be added or removed."""


class Bound(NamedTuple):
    """E K(σ, w) ≤ ratio · OPT + additive; with a confidence K(σ, w) itself, with that probability.

    Attributes:
        ratio: α.
        additive: β, in pairs per user (out of m(m-1)/2); infinite for one answer per user with fewer users than pairs.
    """

    ratio: Scalar
    additive: Scalar


def bound(
    method: str,
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    noise: str | None = None,
    confidence: float | None = None,
    **settings: Any,
) -> Bound:
    """Bound of one method; the head of this module has formulas and proofs.

    Args:
        method: name, as of ``privrank aggregate --method``, or ``"hay-kwiksort"``.
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised: unit user, adjacency replace; with trust ``"central"`` add-remove too for
            :data:`SUMMED`; concrete.
        trust: ``"central"``, ``"shuffled"`` (needs δ > 0) or ``"local"``.
        noise: kind of the noise (``"gaussian"`` needs δ > 0), or mechanism of users' reports; None for the first one in
            :data:`ROWS`.
        confidence: None for a bound on the mean cost; else the probability with which it bounds the cost itself.
        settings: of the method: ``xi``, ξ >= 0, of a solver with a proven ratio 1 + ξ, by default 0; of KwikSort
            ``max_queries``, or of reports ``max_uses`` and the chance ``failure`` that some group is asked more often,
            and ``split``, by default as ``privrank aggregate`` runs it; ``focus`` and ``shrink`` of private weights.

    Returns:
        :class:`Bound`, of floats.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`, a setting that the method does not have.
        ValueError: an unknown method or noise, a promise that the method can't keep, fewer than 2 items or no users,
            settings out of range.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> bound("borda", 10, 1000, privacy, noise="laplace")
    Bound(ratio=5.0, additive=2.0)
    >>> [round(bound(method, 10, 1000, privacy).additive, 2) for method in ("noise-all", "exponential")]
    [4.14, 2.72]
    """
    check_choice("trust", trust, TRUSTS)
    check_sizes(num_items, num_users)
    check_nonnegative("xi", settings.get("xi", 0.0))
    if confidence is not None:
        check_level(confidence)
    known = {row.noise: row for row in ROWS if (row.method, row.trust) == (method, trust)}
    names = dict.fromkeys(row.method for row in ROWS if row.trust == trust)
    check_choice("method", method, tuple(names))
    noise = next(iter(known)) if noise is None else noise
    check_choice("noise", noise, tuple(known))
    of_noise = num_users
    if privacy.adjacency == "add-remove" and trust == "central" and method in SUMMED:
        # as the head of this module proves
        privacy, of_noise = dataclasses.replace(privacy, adjacency="replace"), 2 * num_users
        if method == "weights":
            settings.setdefault("focus", 0.0)
    own = _of_one_user(privacy, known[noise], num_users)
    settings |= {"noise": noise, "chance": None if confidence is None else 1 - confidence}
    formula = functools.partial(known[noise].formula, num_items, of_noise, **settings)
    found = formula(own) if trust == "central" else quickly(formula, float(own.epsilon))
    return Bound(*map(float, found))


class Row(NamedTuple):
    """A method with one trust and one kind of noise or report, and what is said of its bound.

    Attributes:
        method, function, trust, noise, order, source, remark: as of
            :class:`~privrank_jax.aggregation.error_proofs.ProvenError`.
        formula: of items, users, what one user is promised (of a report: ε), noise, η and settings.
        most_items: up to which the method runs, or its bound is computed.
        least_users: that it takes for so many items.
    """

    method: str
    function: str
    trust: str
    noise: str
    formula: Callable[..., Bound]
    order: str
    source: str
    remark: str
    most_items: float = math.inf
    least_users: Callable[[int], int] = lambda items: 1

    @property
    def solves(self) -> bool:
        """Whether it needs a solver, whose ratio 1 + ξ is a setting."""
        return self.remark.startswith(_SOLVED)


def _of_one_user(privacy: Privacy, row: Row, users: int) -> Privacy:
    """What a method attains; of shuffled reports what each of them keeps by itself."""
    if row.trust != "shuffled":
        noises = [one.noise for one in ROWS if (one.method, one.trust) == (row.method, row.trust)]
        return of_rankings(privacy, row.function, row.noise, noises)
    attained = promise_of_shuffled(privacy, row.function)
    local = shuffled_local_epsilon(users, attained.epsilon, attained.delta)
    return dataclasses.replace(attained, epsilon=local, delta=0.0)


def report_deviation(num_items: int, num_users: int, epsilon: float, mechanism: str) -> float:
    """Standard deviation of the error of a weight from users' reports of full rankings, at most.

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        epsilon: ε of each report.
        mechanism: of the reports.
    """
    variance = functools.partial(local_weight_variance, mechanism=mechanism)
    variance = functools.partial(ONE_ANSWER.get(mechanism, variance), num_items)
    return math.sqrt(float(quickly(variance, float(num_users), epsilon)))


def check_sizes(num_items: int, num_users: int) -> None:
    """Raise ``ValueError`` unless there are at least two items and a user."""
    check_users(num_users)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")


# --- formulas of the central model -----------------------------------------------------------------


def _pairs(items: int) -> int:
    return items * (items - 1) // 2


def _noise_all(
    items: int, users: int, own: Privacy, noise: str, chance: float | None, xi: float = 0.0
) -> Bound:
    scale = noise_all.scale(own, Facts(items, users), noise)
    return Bound(1 + xi, (2 + xi) * absolute_sum(noise, _pairs(items), chance) * float(scale))


def _kwiksort(
    items: int,
    users: int,
    own: Privacy,
    noise: str,
    chance: float | None,
    max_queries: int | None = None,
    split: float = SPLIT,
) -> Bound:
    pairs = _pairs(items)
    queries = min(query_budget(items) if max_queries is None else max_queries, pairs)
    failure = 0.0 if queries >= pairs else exceeding_probability(items, queries)
    asked = own if queries >= pairs else dataclasses.replace(own, epsilon=split * own.epsilon)
    scale = additive_scale(noise, asked, queries / users, queries**0.5 / users)
    additive = 6 * float(scale) * absolute_sum(noise, pairs)
    if queries < pairs:
        rest = dataclasses.replace(own, epsilon=(1 - split) * own.epsilon)
        fallback = _noise_all(items, users, rest, noise="k-norm", chance=None, xi=4.0)
        additive += failure * fallback.additive
    return _by_markov(5 + 5 * failure, additive, chance)


def _hay_kwiksort(
    items: int,
    users: int,
    own: Privacy,
    noise: str,
    chance: float | None,
    max_queries: int | None = None,
) -> Bound:
    pairs = _pairs(items)
    queries = min(default_queries(items) if max_queries is None else max_queries, pairs)
    failure = 0.0 if queries >= pairs else exceeding_probability(items, queries)
    additive = 6 * pairs * queries / (users * own.epsilon) + failure * pairs
    return _by_markov(5.0, additive, chance)


def _footrule(items: int, users: int, own: Privacy, noise: str, chance: float | None) -> Bound:
    unit = float(dp_footrule.scale(own, Facts(items, users), noise))
    ranges = footrule_ranges(items, noise, chance)
    return Bound(2 - 1 / (2 * items - 1), (1 - 1 / (4 * items - 2)) * ranges * unit)


def _borda(items: int, users: int, own: Privacy, noise: str, chance: float | None) -> Bound:
    if noise != "k-norm":
        total = absolute_sum(noise, items, chance)
    elif chance is None:
        total = float(noise_law.mean_absolute(Zonotope.of_all_pairs(items)).sum())
    else:
        total = items**2 // 2 * gamma_quantile(items - 1, chance)
    return Bound(5.0, 2 * total * float(dp_borda.scale(own, Facts(items, users), noise)))


def _weights(
    items: int,
    users: int,
    own: Privacy,
    noise: str,
    chance: float | None,
    focus: float | None = None,
    shrink: str = "james-stein",
    xi: float = 0.0,
) -> Bound:
    """In two parts; Borda's where φ = 1."""
    check_choice("shrink", shrink, SHRINKAGES)
    scales = private_weights.scale(own, Facts(items, users), noise, focus=focus)
    gradient, cycle = (float(scale) for scale in scales)
    if math.isinf(cycle):
        return _borda(items, users, own, noise=noise, chance=chance)
    root = math.sqrt(_pairs(items))
    if gradient == cycle:
        error = _noise_all(items, users, own, noise=noise, chance=chance).additive / 2
    else:
        error = root * _length(items, gradient, cycle, noise, focus, chance)
    if shrink == "james-stein":
        error += root * math.sqrt((items - 1) * (items - 2) / 2) * cycle
    return Bound(1 + xi, (2 + xi) * error)


def _length(
    items: int,
    gradient: float,
    cycle: float,
    noise: str,
    focus: float | None,
    chance: float | None,
) -> float:
    """Bound on the root of Σ e_ij² of private weights, see the head of this module."""
    pairs = _pairs(items)
    if chance is None or noise == "gaussian":
        mean = math.sqrt((items - 1) * gradient**2 + (pairs - items + 1) * cycle**2)
        return mean if chance is None else mean + cycle * math.sqrt(-2 * math.log(chance))
    assert focus is not None  # K-norm noise has a focus of 0 or 1 by default
    # σ_c is that of the pairs at ε₂, so it gives 1/(nε₂), and the shares of ε give 1/(nε₁).
    of_pairs = cycle / math.sqrt((pairs + 1) * (pairs + 2) / 3)
    of_scores = of_pairs * (1 - focus) / focus
    square = 1 + (pairs - 1) / 3 + math.sqrt(-(pairs - 1) * math.log(chance / 4) / 2)
    length = gamma_quantile(pairs, chance / 4) * math.sqrt(min(square, pairs)) * of_pairs
    scores = gamma_quantile(items - 1, chance / 2) * math.sqrt((items**2 - 1) / 3) * of_scores
    return (1 - (gradient / cycle) ** 2) * scores + length


def _exponential(items: int, users: int, own: Privacy, noise: str, chance: float | None) -> Bound:
    rankings = math.lgamma(items + 1) - (0 if chance is None else math.log(chance))
    return Bound(1.0, 2 * _pairs(items) * rankings / (users * own.epsilon))


def _by_markov(ratio: Scalar, additive: Scalar, chance: float | None) -> Bound:
    """The bound on the cost itself that a bound on its mean implies."""
    return Bound(ratio, additive) if chance is None else Bound(ratio / chance, additive / chance)


# --- formulas of users' reports --------------------------------------------------------------------


def _reported_weights(
    items: int, users: int, epsilon: Epsilon, noise: str, chance: float | None, xi: float = 0.0
) -> Bound:
    pairs = _pairs(items)
    if noise in ONE_ANSWER:
        deviation, beyond = _of_one_answer(noise, items, users, epsilon, chance)
        return Bound(1 + xi, (2 + xi) * (pairs * deviation + beyond))
    variance = local_weight_variance(items, users, epsilon, noise)
    total = pairs * jnp.sqrt(variance)
    if chance is not None:  # B² = N(4nv + 1), see local_weight_variance
        norm = jnp.sqrt(4 * users * variance + 1)
        total += pairs * norm * math.sqrt(-math.log(chance) / 2) / jnp.sqrt(users)
    return Bound(1 + xi, (2 + xi) * total)


def _reported_borda(
    items: int, users: int, epsilon: Epsilon, noise: str, chance: float | None
) -> Bound:
    if noise in ONE_ANSWER:
        deviation, beyond = _of_one_answer(noise, items, users, epsilon, chance)
        return Bound(5.0, 2 * (items * math.sqrt(items - 1) * deviation + 2 * beyond))
    norm = REPORTS_ON_SCORES[noise].spread(epsilon, Facts(items, users))
    square = jnp.maximum(jnp.square(norm) - score_radius(items) ** 2, 0)
    length = jnp.sqrt(square / users)
    if chance is not None:
        length += norm * math.sqrt(-2 * math.log(chance)) / jnp.sqrt(users)
    return Bound(5.0, 2 * math.sqrt(items) * length)


def _ldp_kwiksort(
    items: int,
    users: int,
    epsilon: Epsilon,
    noise: str,
    chance: float | None,
    max_uses: int | None = None,
    failure: float = 0.0,
    split: float = SPLIT,
) -> Bound:
    if max_uses is None:
        promise = Privacy(
            1.0, unit="user", adjacency="replace"
        )  # what is asked does not depend on ε
        plan = local_plan(items, promise, split=split)
        max_uses, split = plan.max_uses, split if plan.may_refuse else 1.0
        failure = refusal_bound(items, max_uses) if plan.may_refuse else 0.0
    response = jnp.tanh(0.5 * split * epsilon / max_uses)
    additive = 6 * _pairs(items) / (2 * response * jnp.sqrt(users // items))
    if failure:
        left = (1 - split) * epsilon
        fallback = _reported_weights(items, users, left, noise="duchi", chance=None, xi=4.0)
        additive += failure * fallback.additive
    return _by_markov(5 + 5 * failure, additive, chance)


def _of_one_answer(
    mechanism: str, items: int, users: int, epsilon: Epsilon, chance: float | None
) -> tuple[Float[Array, "..."], Scalar]:
    """Root mean square error of a weight, and how far the sum of all errors may exceed its mean."""
    if chance is None:
        return jnp.sqrt(ONE_ANSWER[mechanism](items, users, epsilon)), 0.0
    pairs, users = _pairs(items), int(users)
    sizes = sizes_of(items) if mechanism == "sub-ranking" else np.array([2])
    asked = sizes * (sizes - 1) // 2
    surely, either = -math.log(chance), math.log(2 / chance)
    least = np.where(sizes == items, users, users // pairs)
    log = np.where((sizes == items) | (sizes == 2), surely, either)
    if mechanism == "shuffled-pair":
        least, log = [_least_answers(users, 1 / pairs, chance / (2 * pairs))], [either]
    for place in np.flatnonzero((sizes > 2) & (sizes < items)):
        others, share = least[place] * (pairs - 1), (asked[place] - 1) / (pairs - 1)
        least[place] += _least_answers(others, share, chance / (2 * pairs))
    best = best_size(items, users, epsilon) - 2 if len(sizes) > 1 else 0
    size, asked, least, log = (jnp.asarray(part)[best] for part in (sizes, asked, least, log))
    strength = told_chance(size, epsilon)
    deviation = jnp.sqrt(users / max(users - 1, 1) / (4 * strength**2 * least))
    beyond = jnp.sqrt(users * log / 2 * (4 + 1 / strength**2)) * asked / least
    return deviation, beyond


def _least_answers(trials: int, share: float, chance: float) -> int:
    """The largest g, up to the mean, that Bin(trials, share) fails to reach with probability ``chance`` at most."""
    low, high = 0, int(trials * share) + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = special.bdtr(middle - 1, trials, share) <= chance
        low, high = (middle, high) if enough else (low, middle)
    return low


# --- the table -------------------------------------------------------------------------------------

_ALABI, _OURS = "Alabi et al. (2022)", "ours"
_SOLVED = "needs a solver that proves its ratio 1 + ξ on the noisy weights (kemeny)"
_SORTED = "presumes that majorities have no cycle, unless all pairs may be asked; a ratio of means over pivots"
_EXACT = "ratio and factor of the noise are the best possible"
_TWICE = "ratio of Diaconis and Graham's inequality; noise as if it moved all items"
_ROOT = "√log(1/δ)/(εn)"


def _rows(
    method: str, function: str, formula: Callable[..., Bound], remark: str, orders: dict[str, str],
    sources: Sequence[str] = (_OURS,) * 3, most: float = math.inf,
) -> Iterator[Row]:  # fmt: skip
    """A row of the central model for each noise, with the order of its β."""
    for (noise, order), source in zip(orders.items(), sources):
        yield Row(method, function, "central", noise, formula, order, source, remark, most)


_scores = functools.partial(
    Row, "borda", formula=_reported_borda, order="m^2.5/(ε√n)", source=_OURS,
    remark="the ratio is the best possible; not interactive; full rankings",
)  # fmt: skip
_votes = functools.partial(
    Row, "noise-all", formula=_reported_weights, order="m³/(ε√n)", source=_OURS,
    remark=f"{_SOLVED}; full rankings",
)  # fmt: skip
_SHUFFLED = ("shuffled_pair_weights", "shuffled", "shuffled-pair")

ROWS = (
    *_rows("borda", "dp_borda", _borda, _EXACT,
           {"k-norm": "m³/(εn)", "laplace": "m³/(εn)", "gaussian": f"m^2.5 {_ROOT}"}),
    *_rows("footrule", "dp_footrule", _footrule, _TWICE,
           {"k-norm": "m^3.5/(εn)", "laplace": "m^3.5/(εn)", "gaussian": f"m^2.5 {_ROOT}"}),
    *_rows("noise-all", "noise_all", _noise_all, _SOLVED,
           {"k-norm": "m⁴/(εn)", "laplace": "m⁴/(εn)", "gaussian": f"m³ {_ROOT}"},
           (f"{_ALABI}, 3", f"{_ALABI}, 3", f"{_ALABI}, 4")),
    *_rows("weights", "private_weights", _weights, _SOLVED,
           {"k-norm": "m⁴/(εn)", "gaussian": f"m³ {_ROOT}"}),
    *_rows("kwiksort", "dp_kwiksort", _kwiksort, _SORTED,
           {"laplace": "m³ log m/(εn)", "gaussian": "m^2.5 √(log m log(1/δ))/(εn)"},
           (f"{_ALABI}, 6", f"{_ALABI}, 7"), MOST_SORTED),
    *_rows("hay-kwiksort", "hay_kwiksort", _hay_kwiksort, _SORTED,
           {"laplace": "m² where the budget runs out"}, most=MOST_SORTED),
    *_rows("exponential", "exponential_kemeny", _exponential, "best possible ratio; time grows as 2^m",
           {"none": "m³ log m/(εn)"}, ("Hay et al. (2017); McSherry and Talwar (2007)",),
           exponential.MAX_ITEMS),
    _scores("ldp_borda", "local", "duchi"),
    _votes("local_weights", "local", "duchi", source=f"{_ALABI}, 9"),
    _scores("ldp_borda_privunit", "local", "privunit"),
    _votes("local_weights_privunit", "local", "privunit"),
    _scores("ldp_borda_subsets", "local", "subset-selection", most_items=subset_designs.MAX_ITEMS),
    _votes("local_weights_rr", "local", "randomized-response", order="m⁴/(ε√n)"),
    _scores("sub_ranking_weights", "local", "one-pair", least_users=_pairs),
    _votes("sub_ranking_weights", "local", "sub-ranking"),
    Row("kwiksort", "ldp_kwiksort", "local", "randomized-response", _ldp_kwiksort,
        "m^2.5 log m/(ε√n)", f"{_ALABI}, 12", _SORTED, MOST_SORTED, least_users=int),
    _scores(*_SHUFFLED, order="m^2.5/(ε√n), ε of a report", least_users=_pairs),
    _votes(*_SHUFFLED, order="m³/(ε√n), ε of a report", least_users=_pairs),
)  # fmt: skip
"""All methods with all trusts and noises, those of a method with the usual noise first."""

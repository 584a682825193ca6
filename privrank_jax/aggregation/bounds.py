r"""Worst-case bounds of every private consensus: Table 2, with constants, and the table of the methods they belong to.

An (α, β)-approximation returns σ with E K(σ, w) ≤ α OPT(w) + β, whatever the rankings. The paper states β up to
constants; here they are worked out for the noise that this library adds, N = m(m-1)/2 the number of pairs.
The exponential mechanism has its proof in :mod:`privrank_jax.aggregation.exponential`.

*Weights all noised* (Corollaries 3, 4), then solved to within 1 + ξ. A pair that is off by |e| costs at most |e|: once
in σ and (1 + ξ) times in the best ranking (Fact 2 over unordered pairs). Clipping into [0, 1] only shrinks |e|. So β =
(2 + ξ) Σ_{i<j} |e_ij|. E|e| is (N + 1)/(2nε) for K-norm, λ for Laplace, √(2/π) σ for Gaussian noise.

*KwikSort* (Corollaries 6, 7) has ratio 5: its answers are those of one noisy, mirrored weight matrix, so as above β = 6
N E|e| if all are clipped. With probability p the budget of queries runs out and the fallback takes over: noise on all
pairs at its share of ε, ordered no worse than by Borda. Together: (5 + 5p, 6 N E|e| + p β_fallback). p is that of the
exact law of quicksort's comparisons, which presumes transitive answers, so the bound holds for all votes only where p =
0. Hay, Elagina and Miklau's variant costs at most N where its budget runs out.

*Borda*: (5, 2 ‖e‖₁), see :mod:`privrank_jax.aggregation.borda`. E‖e‖₁ is m·⌊m²/2⌋/(nε) with Laplace noise, m√(2/π)σ
with Gaussian noise, and Σ_i E|Z_i|/(nε) with K-norm noise, Z its law at scale 1.

*Footrule*: (2 - 1/(2m-1), (1 - 1/(4m-2)) Σ_j R_j), R_j the range of the noise on item j's costs. With independent noise
N on prefix counts that noise is a random walk of m - 1 symmetric steps 2N. In a cube it is one too, given the radius r:
there N = rU with U uniform in [-1, 1]. By Spitzer's identity the largest one of 0 and all sums S_k of k steps has mean
Σ_k E S_k⁺/k, and R_j has twice that: E R_j = Σ_{k<m} E\|S_k\|/k. This is at most 2c·Σ_{k<m} k^(-1/2) if E\|S_k\| ≤
2c√k, with a c for each noise:

- Gaussian noise: c = √(2/π), exactly.
- Laplace noise: the sum of k numbers is the difference of two Gamma(k), with mean absolute value 2k·C(2k, k)/4^k ≤
  2√(k/π): c = 2/√π.
- Uniform numbers: U is below a normal Z with E\|Z\| = 1/2 in convex order, as their densities cross twice (Shaked and
  Shanthikumar 2007, theorem 3.A.44), and so are sums of each: c = 1/2. In the cube r has mean d + 1, d = m(m-1).

*Weights in two parts*, e = w̃ - w their error before shrinkage, solved to within 1 + ξ: Σ_{i<j} |e_ij| is at most √N
times its root of Σ e_ij², whose mean is (m - 1)σ_g² + Mσ_c², M = (m-1)(m-2)/2. Shrinkage moves the cycle part by (1 -
s)‖c̃‖ = min(‖c̃‖, Mσ_c²/‖c̃‖) ≤ √M σ_c more. So β = (2 + ξ)√N(√((m - 1)σ_g² + Mσ_c²) + √M σ_c). With φ = 1 it is Borda
with its noise, with φ = 0 Σ|e| is that of noise on all weights.

*Added or removed users.* One user more or less moves sums of scores or of weights by half of what a replaced one does,
in every direction. So their noise, divided by n, is that of means of 2n users who may be replaced, with φ = 0. The
bounds of Borda and of weights are those of such users.

**Local and shuffled reports**, for full rankings. *Weights* (Corollary 9): as above, and E|e| is at most the standard
deviation of e. *Borda scores*: (5, 2 ‖e‖₁), ‖e‖₁ ≤ √m ‖e‖₂ and E‖e‖₂² = (B² - r²)/n, B the norm of a report and r that
of the centered scores. Scores of weights from one pair per user have errors of variance m - 1 times that of a weight.
*KwikSort* (Corollary 12): a query goes to a random group of n/m users at ε₀ = split·ε/τ, so E|e| ≤ 1/(2 tanh(ε₀/2)
√⌊n/m⌋), and the fallback is Duchi's mechanism.

**How sharp.** Borda's ratio 5 and its factor 2 are attained by some crowds; means of sums and ranges of central noise
are exact, or bounded to within 13 %. But cost lies far below these bounds in most crowds, as :func:`~privrank_jax.plan`
simulates.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Epsilon, Scalar
from privrank_jax._validate import check_choice, check_nonnegative, check_users
from privrank_jax.aggregation import exponential, subset_designs
from privrank_jax.aggregation.borda import dp_borda
from privrank_jax.aggregation.dp_sorting import hay_plan, kwiksort_plan
from privrank_jax.aggregation.footrule import dp_footrule
from privrank_jax.aggregation.ldp_sorting import local_plan
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import MAX_ITEMS as MOST_SORTED
from privrank_jax.aggregation.query_budgets import exceeding_probability, refusal_bound
from privrank_jax.aggregation.shuffled_pairs import promise_of_shuffled, shuffled_pair_variance
from privrank_jax.aggregation.split_weights import private_weights
from privrank_jax.aggregation.sub_rankings import one_pair_variance, sub_ranking_variance
from privrank_jax.aggregation.subset_selection import ldp_borda_subsets
from privrank_jax.aggregation.vector_reports import (
    ldp_borda,
    ldp_borda_privunit,
    local_weight_variance,
    score_radius,
)
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import noise_law
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import TRUSTS
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon

SPLIT = 0.9
"""Share of ε for the comparisons of KwikSort; the rest is for its fallback, which is rarely used."""

SUMMED = ("borda", "weights")
"""Methods of a curator that publish sums where users may be added or removed."""

_ONE_ANSWER = {
    "one-pair": one_pair_variance,
    "shuffled-pair": shuffled_pair_variance,
    "sub-ranking": sub_ranking_variance,
}
REPORTS_ON_SCORES = {
    "duchi": ldp_borda,
    "privunit": ldp_borda_privunit,
    "subset-selection": ldp_borda_subsets,
}
"""Mechanisms by which a user reports on scores."""

_TOLD = ("method", "function", "noise", "trust", "order", "source", "remark")


class Bound(NamedTuple):
    """E K(σ, w) ≤ ratio · OPT + additive."""

    ratio: Scalar  #: α
    additive: Scalar  #: β, in pairs per user; infinite for one answer per user with fewer users than pairs


@dataclasses.dataclass(frozen=True)
class ProvenError:
    """The proven error of one method at given numbers of items and users."""

    method: str  #: name, as of ``privrank aggregate --method`` where it is offered there
    function: str  #: of :mod:`privrank_jax.aggregation`
    noise: str  #: kind of the noise, or mechanism of users' reports
    trust: str  #: ``"central"``, ``"shuffled"`` or ``"local"``
    pure: bool  #: whether it is ε-DP, else (ε, δ)-DP
    ratio: float  #: α
    additive: float  #: β, in pairs per user
    order: str  #: of β, in m, n, ε and δ
    source: str  #: who proved ratio and order; the constants are proven in this library
    pairs: int  #: N, the number of pairs
    remark: str  #: what the bound presumes, or how sharp it is

    def cost(self, optimum: float | None = None) -> float:
        """Proven Kemeny cost above the optimum, in pairs per user, where the optimum is at most ``optimum``.

        K - OPT ≤ (ratio - 1)·OPT + additive. Also K(σ, w) + K(reversed σ, w) = N, so that K ≤ N - OPT and OPT ≤ N/2. If
        OPT is at most o, K - OPT is thus at most the largest of min((ratio - 1)x + additive, N - 2x) over x ≤ o: the
        first grows with x and the second falls, so it is at x = o or where both are equal.

        Args:
            optimum: public upper estimate of OPT, in pairs per user; None for N/2. The OPT of private data is private.

        Raises:
            ValueError: a negative estimate.
        """
        highest = self.pairs / 2
        if optimum is not None:
            check_nonnegative("optimum", optimum)
            highest = min(optimum, highest)
        if self.additive >= self.pairs:
            return float(self.pairs)
        highest = min(highest, (self.pairs - self.additive) / (self.ratio + 1))
        return (self.ratio - 1) * highest + self.additive


def proven_errors(
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    xi: float = 0.0,
    method: str | None = None,
    noise: str | None = None,
) -> tuple[ProvenError, ...]:
    """The proven mean cost of every method that keeps a promise with this trust: one table.

    Args:
        num_items: m >= 2.
        num_users: n >= 1.
        privacy: what is promised: unit user, adjacency replace, or add-remove, kept by :data:`SUMMED`; concrete.
        trust: ``"central"``, ``"shuffled"`` (needs δ > 0) or ``"local"``.
        xi: ξ >= 0 of the solver of methods that need one, 0 if it finds the optimum.
        method, noise: one alone; None for all.

    Returns:
        A row for each method and noise that can take so many items and so few users.

    Raises:
        ValueError: a promise that the methods can't keep, fewer than 2 items or no users, ξ < 0, an unknown trust.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> row = proven_errors(10, 10_000, privacy)[1]
    >>> row.method, row.noise, row.ratio, row.additive
    ('borda', 'laplace', 5.0, 0.1)
    """
    check_choice("trust", trust, TRUSTS)
    check_sizes(num_items, num_users)
    found = []
    for row in ROWS:
        wanted = row.trust == trust and method in (None, row.method) and noise in (None, row.noise)
        fits = num_items <= row.most_items and num_users >= row.least_users(num_items)
        pure = row.noise != "gaussian"
        summed = privacy.adjacency != "add-remove" or trust != "central" or row.method in SUMMED
        if not (wanted and fits and summed and (pure or float(privacy.delta) > 0)):
            continue
        settings = {"xi": xi} if row.remark.startswith(_SOLVED) else {}
        proven = bound(
            row.method, num_items, num_users, privacy, trust=trust, noise=row.noise, **settings
        )
        told = {name: getattr(row, name) for name in _TOLD} | proven._asdict()
        private = pure and trust != "shuffled"
        found.append(ProvenError(pure=private, pairs=_pairs(num_items), **told))
    return tuple(found)


def bound(
    method: str,
    num_items: int,
    num_users: int,
    privacy: Privacy,
    *,
    trust: str = "central",
    noise: str | None = None,
    **settings: Any,
) -> Bound:
    """Bound of one method; the head of this module has formulas and proofs.

    Args:
        method: name, as of ``privrank aggregate --method``, or ``"hay-kwiksort"``.
        num_items, num_users, privacy, trust: as for :func:`proven_errors`.
        noise: kind of the noise, or mechanism of users' reports; None for the usual one.
        settings: of the method: ``xi`` of a solver, by default 0; ``split`` of KwikSort, by default as ``privrank
            aggregate`` runs it; ``focus`` of private weights.

    Returns:
        :class:`Bound`, of floats.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`, a setting that the method does not have.
        ValueError: as for :func:`proven_errors`; an unknown method or noise, settings out of range.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> bound("borda", 10, 1000, privacy, noise="laplace")
    Bound(ratio=5.0, additive=2.0)
    """
    check_choice("trust", trust, TRUSTS)
    check_sizes(num_items, num_users)
    check_nonnegative("xi", settings.get("xi", 0.0))
    known = {row.noise: row for row in ROWS if (row.method, row.trust) == (method, trust)}
    names = dict.fromkeys(row.method for row in ROWS if row.trust == trust)
    check_choice("method", method, tuple(names))
    noise = next(iter(known)) if noise is None else noise
    check_choice("noise", noise, tuple(known))
    row, of_noise = known[noise], num_users
    if privacy.adjacency == "add-remove" and trust == "central" and method in SUMMED:
        # as the head of this module proves
        privacy, of_noise = dataclasses.replace(privacy, adjacency="replace"), 2 * num_users
        if method == "weights":
            settings.setdefault("focus", 0.0)
    formula = functools.partial(row.formula, num_items, of_noise, noise=noise, **settings)
    if trust == "shuffled":
        attained = promise_of_shuffled(privacy, row.function)
        local = shuffled_local_epsilon(num_users, attained.epsilon, attained.delta)
        found = quickly(formula, float(local))
    else:
        attained = of_rankings(privacy, row.function, noise, list(known))
        central = trust == "central"
        found = formula(attained) if central else quickly(formula, float(attained.epsilon))
    return Bound(*map(float, found))


class _Row(NamedTuple):
    """A method with one trust and one kind of noise or report; fields as of :class:`ProvenError`."""

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


def report_deviation(num_items: int, num_users: int, epsilon: float, mechanism: str) -> float:
    """Standard deviation of the error of a weight from users' reports of full rankings, at most; ε of each report."""
    variance = functools.partial(_weight_variance, num_items, mechanism=mechanism)
    return math.sqrt(float(quickly(variance, float(num_users), epsilon)))


def _weight_variance(
    items: int, users: Count, epsilon: Epsilon, mechanism: str
) -> Float[Array, "..."]:
    if mechanism in _ONE_ANSWER:
        return _ONE_ANSWER[mechanism](items, users, epsilon)
    return local_weight_variance(items, users, epsilon, mechanism)


def check_sizes(num_items: int, num_users: int) -> None:
    """Raise ``ValueError`` unless there are at least two items and a user."""
    check_users(num_users)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")


# --- formulas of the central model -----------------------------------------------------------------


def _pairs(items: int) -> int:
    return items * (items - 1) // 2


def absolute_sum(noise: str, count: int) -> float:
    """Mean sum of the absolute values of d entries of noise at scale 1; K-norm noise is that of a cube."""
    return count * {"k-norm": (count + 1) / 2, "laplace": 1.0}.get(noise, math.sqrt(2 / math.pi))


def footrule_ranges(num_items: int, noise: str) -> float:
    """Bound on the mean of Σ_j R_j, the ranges of the noise on footrule costs, at scale 1 on each prefix count."""
    size = {"k-norm": (num_items * (num_items - 1) + 1) / 2, "laplace": 2 / math.sqrt(math.pi)}
    unit = size.get(noise, math.sqrt(2 / math.pi))
    return 2 * num_items * unit * math.fsum(k**-0.5 for k in range(1, num_items))


def _noise_all(items: int, users: int, own: Privacy, noise: str, xi: float = 0.0) -> Bound:
    scale = noise_all.scale(own, Facts(items, users), noise)
    return Bound(1 + xi, (2 + xi) * absolute_sum(noise, _pairs(items)) * float(scale))


def _kwiksort(items: int, users: int, own: Privacy, noise: str, split: float = SPLIT) -> Bound:
    plan, exceeds = kwiksort_plan(own, Facts(items, users), noise=noise, split=split)
    additive, failure = 6 * float(plan.scale) * absolute_sum(noise, _pairs(items)), 0.0
    if exceeds:
        failure = exceeding_probability(items, int(plan.budget))
        rest = dataclasses.replace(own, epsilon=plan.of_fallback)
        additive += failure * _noise_all(items, users, rest, noise="k-norm", xi=4.0).additive
    return Bound(5 + 5 * failure, additive)


def _hay_kwiksort(items: int, users: int, own: Privacy, noise: str) -> Bound:
    plan, pairs = hay_plan(own, Facts(items, users)), _pairs(items)
    failure = exceeding_probability(items, int(plan.budget)) if plan.budget < pairs else 0.0
    return Bound(5.0, 6 * pairs * float(plan.scale) + failure * pairs)


def _footrule(items: int, users: int, own: Privacy, noise: str) -> Bound:
    unit = float(dp_footrule.scale(own, Facts(items, users), noise))
    ratio = 2 - 1 / (2 * items - 1)
    return Bound(ratio, (1 - 1 / (4 * items - 2)) * footrule_ranges(items, noise) * unit)


def _borda(items: int, users: int, own: Privacy, noise: str) -> Bound:
    if noise == "k-norm":
        total = float(noise_law.mean_absolute(Zonotope.of_all_pairs(items)).sum())
    else:
        total = absolute_sum(noise, items)
    return Bound(5.0, 2 * total * float(dp_borda.scale(own, Facts(items, users), noise)))


def _weights(
    items: int, users: int, own: Privacy, noise: str, focus: float | None = None, xi: float = 0.0
) -> Bound:
    scales = private_weights.scale(own, Facts(items, users), noise, focus=focus)
    gradient, cycle = (float(scale) for scale in scales)
    if math.isinf(cycle):
        return _borda(items, users, own, noise=noise)
    root, beyond = math.sqrt(_pairs(items)), (items - 1) * (items - 2) / 2
    if gradient == cycle:
        error = _noise_all(items, users, own, noise=noise).additive / 2
    else:
        error = root * math.sqrt((items - 1) * gradient**2 + beyond * cycle**2)
    return Bound(1 + xi, (2 + xi) * (error + root * math.sqrt(beyond) * cycle))


def _exponential(items: int, users: int, own: Privacy, noise: str) -> Bound:
    return Bound(1.0, 2 * _pairs(items) * math.lgamma(items + 1) / (users * own.epsilon))


# --- formulas of users' reports --------------------------------------------------------------------


def _reported_weights(
    items: int, users: int, epsilon: Epsilon, noise: str, xi: float = 0.0
) -> Bound:
    deviation = jnp.sqrt(_weight_variance(items, users, epsilon, noise))
    return Bound(1 + xi, (2 + xi) * _pairs(items) * deviation)


def _reported_borda(items: int, users: int, epsilon: Epsilon, noise: str) -> Bound:
    if noise in _ONE_ANSWER:
        deviation = jnp.sqrt(_weight_variance(items, users, epsilon, noise))
        return Bound(5.0, 2 * items * math.sqrt(items - 1) * deviation)
    norm = REPORTS_ON_SCORES[noise].spread(epsilon, Facts(items, users))
    square = jnp.maximum(jnp.square(norm) - score_radius(items) ** 2, 0)
    return Bound(5.0, 2 * math.sqrt(items) * jnp.sqrt(square / users))


def _ldp_kwiksort(
    items: int, users: int, epsilon: Epsilon, noise: str, split: float = SPLIT
) -> Bound:
    # What is asked does not depend on ε.
    plan = local_plan(items, Privacy(1.0, unit="user", adjacency="replace"), split=split)
    asked = (split if plan.may_refuse else 1.0) * epsilon
    response = jnp.tanh(0.5 * asked / plan.max_uses)
    additive, failure = 6 * _pairs(items) / (2 * response * jnp.sqrt(users // items)), 0.0
    if plan.may_refuse:
        failure, left = refusal_bound(items, plan.max_uses), (1 - split) * epsilon
        fallback = _reported_weights(items, users, left, noise="duchi", xi=4.0)
        additive += failure * fallback.additive
    return Bound(5 + 5 * failure, additive)


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
) -> Iterator[_Row]:  # fmt: skip
    """A row of the central model for each noise, with the order of its β."""
    for (noise, order), source in zip(orders.items(), sources):
        yield _Row(method, function, "central", noise, formula, order, source, remark, most)


_scores = functools.partial(
    _Row, "borda", formula=_reported_borda, order="m^2.5/(ε√n)", source=_OURS,
    remark="the ratio is the best possible; not interactive; full rankings",
)  # fmt: skip
_votes = functools.partial(
    _Row, "noise-all", formula=_reported_weights, order="m³/(ε√n)", source=_OURS,
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
    _Row("kwiksort", "ldp_kwiksort", "local", "randomized-response", _ldp_kwiksort,
        "m^2.5 log m/(ε√n)", f"{_ALABI}, 12", _SORTED, MOST_SORTED, least_users=int),
    _scores(*_SHUFFLED, order="m^2.5/(ε√n), ε of a report", least_users=_pairs),
    _votes(*_SHUFFLED, order="m³/(ε√n), ε of a report", least_users=_pairs),
)  # fmt: skip
"""All methods with all trusts and noises, those of a method with the usual noise first."""

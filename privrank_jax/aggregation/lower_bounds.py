"""Lower bounds on the number of users for all private algorithms: Theorems 13 and 14, with constants.

Both theorems exclude an additive error of a constant times m², for n = o(m/ε) and for n = o(√m/ε) users. Theorem 14 is
printed for (1, o(1/n))-DP at every ε ≤ 1; its proof is for ε = 1 and goes to (ε, o(1/n))-DP by group privacy.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from privrank_jax._search import furthest
from privrank_jax._validate import check_choice, check_epsilon


def pure_lower_bound(
    num_items: int, epsilon: float, *, additive: float = 0.01, packing: str = "rankings"
) -> float:
    """Number of users below which no ε-DP algorithm is an (α, additive·m²)-approximation: Theorem 13 with a constant.

    The proof packs T rankings so that no ranking is within 2·additive·m² of two of them; n users who all hold one of
    them have OPT = 0, so by Markov's inequality the algorithm comes that close with probability 1/2; and n replacements
    turn one such data set into another. Hence 1 ≥ 1/2 + (T - 1)e^{-nε}/2, n ≥ log(T - 1)/ε, for every α.

    Args:
        num_items: m >= 3.
        epsilon: ε > 0.
        additive: β/m².
        packing: ``"codes"``: the paper's, π^x_{d,t} over a binary code of distance D with (t + 1)D > 4·additive·m²,
            2d + t = m, the best d, T by Gilbert and Varshamov: at 0.01, about 0.03m/ε. ``"rankings"`` (ours): in
            Kendall's metric, T ≥ m!/#{rankings with at most 4·additive·m² inversions}, several times larger.

    Returns:
        The bound, at least 0, not rounded.

    Raises:
        ValueError: ε <= 0, ``additive`` not positive, unknown ``packing``.

    >>> round(pure_lower_bound(10, 0.1), 1)
    86.3
    """
    check_choice("packing", packing, ("codes", "rankings"))
    epsilon = check_epsilon(epsilon)
    if not additive > 0:
        raise ValueError(f"additive must be positive, got {additive!r}.")
    radius = 4 * additive * num_items**2  # two packed rankings must be further apart than this
    if packing == "rankings":
        log_size = -_log_small_inversions(num_items, math.floor(radius))
    else:
        log_size = max(
            (_log_code_size(d, math.floor(radius / (num_items - 2 * d + 1)) + 1)
             for d in range(1, (num_items - 1) // 2 + 1)),
            default=0.0,
        )  # fmt: skip
    return max(_log_less_one(log_size), 0.0) / epsilon


class ApproximateLowerBound(NamedTuple):
    """No (1, delta_factor/n)-DP algorithm with 25 <= n < users is a (ratio, additive·m²)-approximation."""

    users: float
    additive: float
    delta_factor: float


def approximate_lower_bound(
    num_items: int, epsilon: float, *, ratio: float = 5.0
) -> ApproximateLowerBound:
    """Lower bound for approximate DP: Theorem 14 with its constants.

    Lemma 19 of the paper, ε = 1: with d = m/(40α + 2), t = 40αd, γ = 0.05 and β such that 1-way marginals of
    Beta(β, β) are extreme enough, n ≥ γβ√d. Amended, as the printed proof rests on Observation 16, whose t should
    be 2t (:mod:`privrank_jax.simulate.worlds.hard_rankings`): so α|2q - 1| enters twice, and β has to satisfy
    E|2q - 1| = 2·4^{-β}/(β·Beta(β, β)) ≥ 1 - 0.25/α instead of 1 - 0.5/α. The additive constant c must satisfy
    2cm²/t ≤ 0.1d, that is c ≤ 2α/(40α + 2)², which is taken; the paper's 0.00001α satisfies this for α ≤ 11 only.

    Args:
        num_items: m; treated as if 40α + 2 divided it.
        epsilon: ε in (0, 1]; below 1 by group privacy, with an accordingly smaller δ, as in the paper.
        ratio: α >= 1.

    Returns:
        :class:`ApproximateLowerBound`.

    Raises:
        ValueError: ε outside (0, 1], α < 1.

    >>> approximate_lower_bound(10**9, 1.0, ratio=1.0).users > 25
    True
    """
    epsilon = check_epsilon(epsilon)
    if not epsilon <= 1:
        raise ValueError(f"epsilon must be at most 1, got {epsilon!r}: the theorem holds up to 1.")
    if not ratio >= 1:
        raise ValueError(f"ratio must be at least 1, got {ratio!r}.")

    def large_mean(log_shape: float) -> bool:
        shape = math.exp(log_shape)
        log_mean = (1 - 2 * shape) * math.log(2) - log_shape - special.betaln(shape, shape)
        return math.exp(log_mean) >= 1 - 0.25 / ratio

    shape = math.exp(furthest(large_mean, -30.0, 30.0))  # the mean falls from 1 to 0 as β grows
    users = 0.05 * shape * math.sqrt(num_items / (40 * ratio + 2))
    return ApproximateLowerBound(users / epsilon, 2 * ratio / (40 * ratio + 2) ** 2, 0.05)


def _log_small_inversions(num_items: int, most: int) -> float:
    """log Pr[a random ranking has at most ``most`` inversions]: sums of uniforms on 0..i-1, i <= m."""
    law = np.zeros(max(min(most, num_items * (num_items - 1) // 2), 0) + 1)
    law[0] = 1.0
    scale = 0.0
    for choices in range(2, num_items + 1):
        total = np.cumsum(law)
        law = (total - np.concatenate([np.zeros(choices), total])[: len(total)]) / choices
        top = law.sum()
        law, scale = law / top, scale + math.log(top)
    return scale


def _log_code_size(length: int, distance: int) -> float:
    """log of Gilbert and Varshamov's 2^d/Σ_{i<D} C(d, i), a size that codes of distance D have at least."""
    if distance > length:
        return 0.0
    i = np.arange(distance)
    terms = special.gammaln(length + 1) - special.gammaln(i + 1) - special.gammaln(length - i + 1)
    return length * math.log(2) - float(special.logsumexp(terms))


def _log_less_one(log_size: float) -> float:
    """log(T - 1) for T at least e^log_size, a whole number."""
    if log_size > 40:
        return log_size
    size = math.ceil(math.exp(log_size) - 1e-9)
    return math.log(size - 1) if size > 1 else -math.inf

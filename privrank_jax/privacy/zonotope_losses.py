r"""What K-norm noise on Borda scores reveals: its privacy losses for the worst change, on the host.

**Setting.** The exact noise has P(x) ∝ a^{M(x)} on the integer vectors x of m numbers that sum to 0, with a = e^{-ε/c}
and M(x) the least whole r with x in rK (:mod:`privrank_jax.release.k_norm`). K is the zonotope of all pairs: x is in
rK if x(S), the sum of the x_i in S, is at most r h(S) = r k(m - k) for each set S of k items. Neighbors differ by a
vector d in cK, and shift the noise by it. Let E(r) be the number of x in rK, N_d(r, s) that in both rK and d + sK.

**Which change is the worst one.** The loss is a multiple of ε/c. Summing a^r over M(x) + i <= r < M(x - d) shows that

    δ_d(iε/c) = a^{-i} Σ_r a^r (E(r-i) - N_d(r-i, r)) / Σ_r a^r E(r),     i = 0, ..., c - 1.

Between these knots δ_d is linear in e^ε', and below 0 it follows from δ_d(-t) = 1 - e^{-t}(1 - δ_d(t)). So a change
dominates another one if its N_d is nowhere larger.

*Theorem.* d = c(m - 1, m - 3, ..., 1 - m), where a ranking is reversed, dominates all other changes. *Proof.* N_d(r, s)
counts the pairs of a y in rK and a z in sK with y + z = d. Points of rK are the integer points of a base polytope, an
M-convex set, so Σ x^y/y! over them, moved to positive numbers, is Lorentzian, and so is the normalized product of two
such sums, of which N_d is the coefficient. Hence N_d is log-concave in d along e_i - e_j, without gaps (Brändén and Huh
2020, Theorem 3.10, Corollary 3.8, Proposition 4.4). It is symmetric in the items, so it grows when 1 is moved from a
larger entry of d to one that stays no larger. All d in cK come from the vector above by such moves (Rado 1952;
Muirhead). ∎ For a cube, N_d is the product over the coordinates of the numbers of integers in two intervals, which
fall in \|d_i\|: there a change of all numbers by c dominates, and its loss is ±ε but for a share of less than ε/2.

**Bound.** Let x be in (r-i)K and x - d not in rK. From x to x - d one leaves rK on a facet, where y(S) = r h(S) for
some S with d(S) < 0. So x lies in that facet plus jd/\|d(S)\|, for j = r h(S) - x(S), a whole number with i h(S) <= j
< \|d(S)\|. The facet is a whole vector plus a product of the zonotopes rK of k and of m - k items. A zonotope of whole
vectors e_i - e_j, 2r long, is a disjoint union of half-open boxes, one for each forest F, which holds (2r)^\|F\| whole
points or, where it is moved so that its affine hull has none, no point (Stanley 1991). Therefore E(r) = Σ_F (2r)^\|F\|,
E_k for k items, and no translate holds more:

    E(r-i) - N_d(r-i, r) <= Σ_k E_k(r) E_{m-k}(r) Σ_{S of k items} (d(S) - i h(S))₊.

**Shares.** A pair of laws with losses jε/c and the symmetry above is a mixture: with probability w_j it is randomized
response with odds e^{jε/c}. Take w_c, w_{c-1}, ... in turn such that δ at each knot is the bound, until they add up to
1. *This dominates.* At the knots before that it is clear. Let w_j be the one that is cut off, and i < j. The δ of
randomized response with odds e^{lε/c}, at knot i and at knot j, are linear in 1/(1 + a^l) for l >= j, and that at i
grows with l. So for all l it is at most α + β times that at j, with α, β >= 0 and equality for l >= j. The mean of this
over l is the claim for knot i. Larger w_j dominate smaller ones.

Sources: Brändén and Huh, Lorentzian polynomials, Annals of Mathematics 192 (2020); Stanley, A zonotope associated with
graphical degree sequences (1991). Logarithms of positive numbers are added up in doubles, which errs by less than the
relative 10^-9 that is added.
"""

from __future__ import annotations

import functools
import math

import numpy as np

MOST_ITEMS = 100
_ABOVE = 1 + 1e-9


@functools.lru_cache(maxsize=64)
def zonotope_shares(num_items: int, change: int, rate: float) -> tuple[float, ...]:
    """w_1, ..., w_c: how often randomized response with odds e^{jε/c} dominates noise in the zonotope of all pairs.

    Args:
        num_items: m >= 2.
        change: c >= 1.
        rate: ε/c > 0.

    Returns:
        c numbers, never rounded down, at most 1 together; () for more than 100 items.

    >>> [round(share, 3) for share in zonotope_shares(10, 2, 0.05)]
    [0.459, 0.22]
    """
    if num_items > MOST_ITEMS:
        return ()
    knots = _knots(num_items, change, rate)
    shares, room = [0.0] * (change + 1), 1.0
    for j in range(change, 0, -1):
        # Of randomized response with odds e^{l·rate}, δ at knot j - 1.
        reached = math.fsum(
            -math.expm1((j - 1 - more) * rate) / (1 + math.exp(-more * rate)) * shares[more]
            for more in range(j + 1, change + 1)
        )
        missing = (knots[j - 1] - reached) / -math.expm1(-rate) * (1 + math.exp(-j * rate))
        shares[j] = min(max(missing, 0.0) * _ABOVE, room)
        room = max(room - shares[j], 0.0)
    return tuple(shares[1:])


def _knots(num_items: int, change: int, rate: float) -> list[float]:
    """The bounds of δ at the knots i = 0, ..., c - 1."""
    forests, powers = _log_forests(num_items), _log_powers(num_items, rate)
    whole = np.logaddexp.reduce(forests[num_items] + powers)
    facets = np.zeros(num_items + 1)
    for k in range(1, num_items):
        rest = num_items - k
        edges = np.add.outer(np.arange(k), np.arange(rest))
        logs = forests[k, :k, None] + forests[rest, None, :rest] + powers[edges]
        facets[k] = math.exp(np.logaddexp.reduce(logs, axis=None) - whole)
    return [
        math.exp(i * rate) * float(facets @ far) * _ABOVE
        for i, far in enumerate(_excesses(num_items, change))
    ]


@functools.lru_cache(maxsize=8)
def _log_forests(num_items: int) -> np.ndarray:
    """Logarithms of the numbers of forests of k items with i edges, ``(m + 1, m)``, by the tree of the first item."""
    found = np.full((num_items + 1, num_items), -np.inf)
    found[0, 0] = 0.0
    for k in range(1, num_items + 1):
        for size in range(1, k + 1):
            trees = _log_binomial(k - 1, size - 1) + (size - 2) * math.log(size)
            others = found[k - size, : num_items - size + 1]
            found[k, size - 1 :] = np.logaddexp(found[k, size - 1 :], trees + others)
    return found


def _log_powers(count: int, rate: float) -> np.ndarray:
    """The logarithms of Σ_r e^{-rate·r} (2r)^i, i < ``count``, each from those before by moving r by 1."""
    least = -math.log(-math.expm1(-rate))
    found = np.full(count, least)
    for i in range(1, count):
        ways = [_log_binomial(i, j) for j in range(i)]
        found[i] = least - rate + np.logaddexp.reduce(ways + found[:i])
    return found + math.log(2) * np.arange(count)


def _excesses(num_items: int, change: int) -> np.ndarray:
    """Σ over the sets S of k items of (d(S) - i h(S))₊, d the reversal of a ranking; ``(c, m + 1)``."""
    places = num_items * (num_items - 1) // 2
    sets = np.zeros((num_items + 1, places + 1))  # by their size and the sum of their places
    sets[0, 0] = 1
    for place in range(num_items):
        sets[1:, place:] += sets[:-1, : places + 1 - place].copy()
    k = np.arange(num_items + 1)[:, None]
    moved = change * (k * (num_items - 1) - 2 * np.arange(places + 1))
    return np.stack(
        [
            np.sum(sets * np.maximum(moved - i * k * (num_items - k), 0), axis=1)
            for i in range(change)
        ]
    )


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

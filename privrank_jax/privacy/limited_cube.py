r"""The cube cut by a limit, for K-norm noise on totals of ballots that name at most k of m items each; for simulation.

**Body.** K = {x in [-1, 1]^m : Σ max(x_i, 0) ≤ k, Σ max(-x_i, 0) ≤ k}, with the norm ‖x‖ = max(max_i \|x_i\|, Σ
max(x_i, 0)/k, Σ max(-x_i, 0)/k). A ballot that approves of at most k items lies in P = {y in [0, 1]^m : Σ y_i ≤ k}, so
replacing one by another changes the totals within P - P = K: the positive part of a difference y - y' is at most y, and
the negative part at most y'; conversely both parts of an x in K lie in P. All vertices of K are differences of two
ballots. For k ≥ m it is the cube, and for k = 1 the hull of all e_i - e_j and ±e_i. A limit of k names with at most c
points each changes them within cK. So noise of density ∝ e^{-ε‖z‖/c} is ε-DP, by the proof at the head of
:mod:`privrank_jax.privacy.geometry`, and at no smaller scale.

**A uniform point.** Let F_n(x) be the chance that n uniform numbers add up to at most x (Irwin and Hall): F_n(x) =
(x F_{n-1}(x) + (n - x) F_{n-1}(x - 1))/n, a sum of positive terms. The part of K with p given coordinates positive and
the others negative has the volume F_p(k) F_{m-p}(k), so p is drawn with odds C(m, p) F_p(k) F_{m-p}(k), then which
coordinates, and then a uniform point of {y in [0, 1]^n : Σ y_i ≤ k} for each of the two parts. The map y_i = x_i -
x_{i-1} modulo 1, x_0 = 0, keeps volume, and Σ y_i = x_n + the number of descents of x (Stanley 1977): so x is a uniform
point whose order has fewer than k descents. There are A(n, d) = (d + 1) A(n-1, d) + (n - d) A(n-1, d-1) orders with d
descents, since the largest number adds no descent at the end or within one of d descents, and adds one elsewhere. So d
is drawn, whether each insertion added a descent, from the last to the first, and then where it was made.

**Law** of Z = r·U, r ~ Gamma(m + 1), at scale 1. E Z_i² = (m + 1)(m + 2) E U_i², and E U_i² is a sum over p of
integrals of y² F_{p-1}(k - y). K ∩ [-h, h]^m is h times the body of the limit k/h, for h ≤ 1. So with Q(s) =
Σ_p C(m, p) F_p(s) F_{m-p}(s), which is the volume of K at s = k, P(max_i \|Z_i\| ≤ t) = P(r ≤ t) + ∫_t^∞ e^{-r} t^m
Q(rk/t) dr / (m! Q(k)). Q is a polynomial between whole numbers and 2^m beyond m. Both integrals are found by
Gauss-Legendre rules, to about 12 digits.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int

from privrank_jax._types import Key, Scalar, Scores

MOST_ITEMS = 100
"""Noise in this shape is for no more items: counting for an exact release takes a second there."""
_NODES = 64


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LimitedCube:
    """{x in [-1, 1]^m : the positive entries add up to at most k, and the negative ones to at least -k}.

    Attributes:
        num_items: m, from 1 to :data:`MOST_ITEMS`.
        limit: k >= 1.

    Raises:
        ValueError: numbers out of range.
    """

    num_items: int = dataclasses.field(metadata={"static": True})
    limit: int = dataclasses.field(metadata={"static": True})

    def __post_init__(self) -> None:
        if not 1 <= self.num_items <= MOST_ITEMS:
            raise ValueError(f"num_items must be 1 to {MOST_ITEMS}, got {self.num_items}.")
        if self.limit < 1:
            raise ValueError(f"limit must be at least 1, got {self.limit}.")

    @property
    def dimension(self) -> int:
        """m."""
        return self.num_items

    def gauge(self, point: Scores) -> Scalar:
        """‖x‖ of an ``(m,)`` point.

        >>> float(LimitedCube(3, 2).gauge(jnp.array([1.0, -3.0, -3.0])))
        3.0
        """
        up, down = jnp.sum(jnp.maximum(point, 0)), jnp.sum(jnp.maximum(-point, 0))
        return jnp.maximum(jnp.max(jnp.abs(point)), jnp.maximum(up, down) / self.limit)

    def uniform(self, key: Key, dtype: DTypeLike) -> Scores:
        """A uniform point, ``(m,)``."""
        m, law = self.num_items, _law(self)
        of_size, of_parts, of_order = jax.random.split(key, 3)
        bounds = jnp.asarray(law.chances_up, dtype)
        up = jnp.sum(jax.random.uniform(of_size, (), dtype) >= bounds[:-1])
        draw = functools.partial(_part, law=law, dtype=dtype)
        above, below = jax.vmap(draw)(jax.random.split(of_parts), jnp.stack([up, m - up]))
        point = jnp.where(jnp.arange(m) < up, above, -jnp.roll(below, up))
        return jax.random.permutation(of_order, point)


def variance(body: LimitedCube) -> float:
    """Var Z_i at scale 1.

    Args:
        body: K.

    >>> round(variance(LimitedCube(3, 3)), 9)  # the cube: (m + 1)(m + 2)/3
    6.666666667
    """
    return (body.num_items + 1) * (body.num_items + 2) * _law(body).square


def tail_of_largest(body: LimitedCube, threshold: float) -> float:
    """P(max_i \\|Z_i\\| > t) at scale 1.

    Args:
        body: K.
        threshold: t >= 0.

    >>> math.isclose(tail_of_largest(LimitedCube(1, 1), 2.0), math.exp(-2))
    True
    """
    from scipy import special

    m, k, t, law = body.num_items, body.limit, threshold, _law(body)
    if not t:
        return 1.0
    beyond = max(m, k)  # where Q is constant
    logs = np.append(
        law.logs - t * law.places / k, m * math.log(2) + math.log(k / t) - t * beyond / k
    )
    share = (m + 1) * math.log(t) - math.log(k) - special.gammaln(m + 1) - law.log_volume
    inside = math.exp(special.logsumexp(logs) + share)
    return max(float(special.gammaincc(m + 1, t)) - inside, 0.0)


# --- the law


@dataclasses.dataclass(frozen=True)
class _Law:
    """Of a uniform point: chances, cumulated, of p and of d by n; whether an insertion adds no descent; E U_i²; log Q.

    ``logs`` are those of weight times Q at ``places`` above k; ``log_volume`` is that of Q(k).
    """

    chances_up: np.ndarray
    chances_descents: np.ndarray
    stays: np.ndarray
    square: float
    places: np.ndarray
    logs: np.ndarray
    log_volume: float


@functools.lru_cache(maxsize=16)
def _law(body: LimitedCube) -> _Law:
    m, k = body.num_items, min(body.limit, body.num_items)
    at, weights = np.polynomial.legendre.leggauss(_NODES)
    at, weights = np.append(0.0, (at + 1) / 2), np.append(0.0, weights / 2)
    places = np.arange(m + 1)[:, None] + at
    sums = [np.ones_like(places)]  # F_n at places
    for n in range(1, m + 1):
        below = np.concatenate([0 * at[None], sums[-1][:-1]])
        sums.append(np.where(places < n, (places * sums[-1] + (n - places) * below) / n, 1.0))
    table = np.array(sums)
    ways = np.array([math.comb(m, p) for p in range(m + 1)], float)
    volumes = np.einsum("p,pxy,pxy->xy", ways, table, table[::-1])  # Q
    both = ways * table[:, k, 0] * table[::-1, k, 0]
    # ∫ y² F_{p-1}(k - y) dy, for p = 1, ..., m.
    squares = np.sum(table[:-1, k - 1] * weights * (1 - at) ** 2, axis=1)
    ways_up = np.array([math.comb(m - 1, p) for p in range(m)], float)
    square = 2 * np.sum(ways_up * squares * table[m - 1 :: -1, k, 0]) / volumes[k, 0]
    shares, stays = _descents(m, k)
    with np.errstate(divide="ignore"):
        logs = np.log(volumes * weights)[k:m].ravel()
    return _Law(
        _cumulated(both),
        _cumulated(shares),
        stays,
        float(square),
        places[k:m].ravel(),
        logs,
        math.log(volumes[k, 0]),
    )


def _descents(m: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """A(n, d)/n!, and the chance that the n-th insertion adds none where there are d after it; n <= m, d < k."""
    shares, stays = np.zeros((m + 1, k)), np.zeros((m + 1, k))
    shares[0, 0] = 1.0
    for n in range(1, m + 1):
        kept = np.arange(1, k + 1) * shares[n - 1] / n
        added = (n - np.arange(k)) * np.append(0.0, shares[n - 1, :-1]) / n
        shares[n] = np.where(np.arange(k) < n, kept + added, 0.0)
        stays[n] = np.divide(kept, shares[n], out=stays[n], where=shares[n] > 0)
    return shares, stays


def _cumulated(weights: np.ndarray) -> np.ndarray:
    sums = np.cumsum(weights, axis=-1)
    return sums / sums[..., -1:]


# --- draws


def _part(key: Key, size: Int[Array, ""], *, law: _Law, dtype: DTypeLike) -> Float[Array, "items"]:
    """A uniform point of {y in [0, 1]^size : Σ y_i <= k}, and zeros."""
    m = len(law.stays) - 1
    drawn = jax.random.uniform(key, (3 * m + 1,), dtype)
    index, steps = jnp.arange(m), jnp.arange(1, m + 1)
    stays = jnp.asarray(law.stays, dtype)
    bounds = jnp.asarray(law.chances_descents, dtype)[size]

    def removed(
        descents: Int[Array, ""], step: tuple[Array, Array]
    ) -> tuple[Int[Array, ""], Array]:
        number, chance = step
        kept = chance < stays[number, descents]
        return descents - ((number <= size) & ~kept), kept

    def inserted(order: Int[Array, "items"], step: tuple[Array, ...]) -> tuple[Array, None]:
        number, chance, kept = step
        # Slot s lies before the entry s; free entries are below all, and so the end is a descent.
        before = jnp.append(0, order[:-1])
        fit = ((before > order) == kept) & (index < number)
        place = jnp.floor(chance * jnp.sum(fit)).astype(order.dtype)
        slot = jnp.argmax(jnp.cumsum(fit) > jnp.minimum(place, jnp.sum(fit) - 1))
        new = jnp.where(index == slot, number.astype(order.dtype), before)
        return jnp.where((index < slot) | (number > size), order, new), None

    descents = jnp.sum(drawn[-1] >= bounds[:-1])
    _, kept = jax.lax.scan(removed, descents, (steps, drawn[:m]), reverse=True)
    order, _ = jax.lax.scan(inserted, jnp.full(m, -1), (steps, drawn[m : 2 * m], kept))
    numbers = jnp.sort(jnp.where(index < size, drawn[2 * m : 3 * m], 2))
    x = numbers[order - 1]
    before = jnp.append(jnp.zeros((), dtype), x[:-1])
    return jnp.where(index < size, x - before + (x < before), 0)

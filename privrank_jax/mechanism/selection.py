r"""The k best of m items by their scores, privately: one record each of four laws, which publish the items alone.

Notation: x are the scores of m items, x' = x + d those of a neighbor, and s ≥ ‖d‖_∞ is their sensitivity. T ≥ s bounds
the sum of the rises Σ d⁺ and the sum of the falls Σ d⁻ (∞ if no bound is known; L for win totals). Scores are
*monotone* if d ≥ 0 or d ≤ 0 (win totals, one unit added or removed). S are the selected items, and t = max d over the
items outside S.

**One-shot Laplace** (Laplace(λ) once on every score; the k largest are listed in order). Fix the noise of the items
outside S: all of S must exceed z = max_{j∉S} x_j + g_j, and z' ≤ z + t. The shift g_i → g_i + t - d_i moves every noisy
score of S by exactly t: the order within S stays and S still exceeds z'. Its cost is Σ_S |t - d_i|/λ ≤ 2ks/λ; if
monotone, t and d_i have one sign and it is ks/λ.

So λ = 2ks/ε is ε-DP for the *ordered* list (monotone: ks/ε). The list is also a post-processing of all noisy scores,
whose loss is at most ‖d‖₁/λ ≤ 2T/λ (monotone: T/λ). Together: λ = 2 min(ks, T)/ε, and half of that if monotone.

**Peeling** (k rounds of the exponential mechanism, odds exp(x_i/β) among the items left = Gumbel(β) once on every
score, the k largest in order; Durfee and Rogers 2019, Lemma 4.2). One round that picks i loses
-d_i/β + log Z'/Z with log Z'/Z ≤ max d/β over the items left. The sum over S is at most (Σ_S d⁻ + k max d⁺)/β ≤
(min(ks, T) + ks)/β; if monotone, at most ks/β. Both are approached as the score of one item outside S grows.

**Permute-and-flip** (McKenna and Sheldon 2020) in each of k rounds = the largest score plus Exponential(λ) noise (Ding,
Kifer, Steinke, Wang, Xiao and Zhang 2021), fresh in every round. Fix the noise of the others: i must exceed
z - x_i, where z - x_i grows by at most max_{j≠i} d_j - d_i, and P(g > c + a) ≥ e^{-a⁺/λ} P(g > c). So a round loses at
most (max_{j≠i} d_j - d_i)⁺/λ, and the sum is bounded as for peeling.

**Canonical selection** (Shekelyan and Loukides 2022) of a whole set o of k items, by utilities u_o of the scores: the
largest u_o plus Exponential(λ) noise, independent for all o. That is one round of permute-and-flip over all o, so
changes c_o of the utilities lose at most (max_p c_p - c_o)⁺/λ. The margin of a set is M_o = min_{i∈o} x_i - max_{j∉o}
x_j; u_o = M_o where it is at most 0 and θM_o where it is positive, as it is of the best set alone. The source has θ =
0.

Go from x to x' on a straight line, in pieces on which no two scores change their order: all u_o are linear there, and
the losses of the pieces add up. The rate of u_o ≤ 0 is d_b - d_a for the worst item b in o and the best item a outside,
which is not worse, x_a ≥ x_b. Of two sets o, p the rates differ by (d_{b_p} + d_{a_o}) - (d_{a_p} + d_{b_o}).

Both b_p = a_o and a_p = b_o only if these two items are equal on the piece, and then they move equally and the
difference is 0. So one of the two sums is about two items, hence at most min(2s, T) in size, and the other at most 2s:
B = 2s + min(2s, T). If monotone, one of them has the wrong sign, and B = 2s.

For k = 1 a is the best item for all o, and B = R, the most by which d_i - d_j can grow: 2s, if monotone s. The positive
utility of the best set has rate θ(d_i - d_j), so it differs from others by at most (1 + θ)R: θ = B/R - 1 costs nothing.
Together λ = B/ε is ε-DP. Where one item can rise and another fall by s, it attains ε as the margin of the best set
grows, so no smaller λ will do for it.

Sets fall into classes of equal utility, by the best item left out and the worst one taken: at most km classes of known
sizes N. The largest of N independent noises is drawn at once, and within the best class a set is uniform.

**On integers** (:mod:`privrank_jax.exact.selection`). The proof of one-shot noise shifts the noise of selected items by
t - d_i, twice which is an integer where scores are multiples of 1/2. A shift by c changes P(X = x) by at most
exp(\|c\|/s) on the integers too. Ties are broken by item index before and after. So it holds for discrete noise.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Int

from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Count, Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_positive, check_shape, check_whole
from privrank_jax._workarounds.threefry import fused
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import Record
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, gumbel, laplace
from privrank_jax.privacy.privacy import Privacy

_FEW = 30.0  # below e^-30 the first term of a series is all that doubles hold


@pytree
class Moves:
    """How far one unit moves scores: public bounds that hold for every data set.

    Attributes:
        most: s > 0, of any one score.
        one_way: T, of the sum of all rises, and of that of all falls.
        every: of ‖d‖₁, of scores less a number that may depend on the unit; None: what follows from T.
        together: whether all scores of a neighbor are at least, or all at most, those of the data.
    """

    most: Any
    one_way: Any = math.inf
    every: Any = None
    together: bool = static(default=False)

    @property
    def sides(self) -> int:
        """1 if scores move together, else 2."""
        return 1 if self.together else 2

    @property
    def reach(self) -> Any:
        """R: how far two scores can move apart."""
        return self.sides * self.most

    @property
    def total(self) -> Any:
        """The bound on ‖d‖₁."""
        return self.sides * self.one_way if self.every is None else self.every

    @property
    def rational(self) -> Moves:
        """The same in fractions, each exactly the double that was given."""
        bounds = self.most, self.one_way, self.total
        found = [Fraction(float(one)) if one < math.inf else one for one in bounds]
        return Moves(*found, together=self.together)

    def check(self) -> None:
        """Raise ``ValueError`` unless the bounds are positive, and s finite."""
        check_positive("most", self.most, infinite=False)
        check_positive("one_way", self.one_way)
        check_positive("every", self.total)


@pytree
class BoundedScores:
    """Scores ``(m,)``, high = preferred, how far one unit moves them, and ``(m,)`` bool, which items are real."""

    scores: ScoresLike
    moves: Moves
    mask: MaskLike | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Law:
    """How items are drawn; proofs at the head of this module.

    Attributes:
        change: (k, moves) -> λε.
        draw: (key, scores, mask, λ, k, moves) -> the items; jitted.
        exact: name of the sampler in :mod:`privrank_jax.exact.selection`.
    """

    change: Callable[[Any, Moves], Any]
    draw: Callable[[Key, Scores, Mask, Scalar, int, Moves], Int[Array, "k"]]
    exact: str


@dataclasses.dataclass(frozen=True, eq=False)
class Selection(Record):
    """The k best items by their scores.

    Called with ``(key, data, privacy, k)`` it simulates: pure, for ``jit`` and ``vmap``.

    Attributes:
        law: how items are drawn.
        promised: (privacy, name) -> what is attained of a promise.
        moves: what one unit moves of the scores of usual data, by the promise.
        read: (data, attained promise, whether exactly) -> scores, in the latter case twice them as whole numbers.
    """

    law: Law
    promised: Callable[[Privacy, str], Privacy]
    moves: Callable[[Privacy], Moves]
    read: Callable[[Any, Privacy, bool], BoundedScores]

    def __post_init__(self) -> None:
        self.read_in(self.read)

    def scale(self, privacy: Privacy, k: Count, moves: Moves | None = None) -> Any:
        """The scale λ of the noise for scores with these moves, by default those of usual data; k may be traced."""
        attained = self.promised(privacy, self.name)
        given = self.moves(attained) if moves is None else moves
        given.check()
        return self.law.change(k, given) / attained.epsilon

    def __call__(self, key: Key, data: Any, privacy: Privacy, k: int) -> Estimate:
        """Simulate.

        Args:
            key: PRNG key.
            data: as the record says, or :class:`BoundedScores`; may be traced.
            privacy: what is promised; ε and ``contributions`` may be traced. At ε = ∞ ties are broken at random.
            k: number of items, static, 1 <= k <= m.

        Returns:
            ``value``: item indices, ``(k,)`` int32, in the order that the record says; -1 in the last places, for which
            no real item is left. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ.

        Raises:
            TypeError, ValueError: other data, a promise that can't be kept, users without ``contributions``, k out of
                range, bounds that are not positive.
        """
        attained = dataclasses.replace(self.promised(privacy, self.name), delta=0.0)
        given = self.read(data, attained, False)
        scores = jnp.asarray(given.scores)
        scores = scores.astype(jnp.result_type(scores, float))
        check_shape("scores", scores, ("m",))
        check_whole("k", k, 1, scores.shape[0])
        mask = given.mask
        mask = jnp.ones(scores.shape, bool) if mask is None else jnp.asarray(mask, bool)
        scale = self.scale(privacy, k, given.moves)
        value = self.law.draw(key, scores, mask, scale, k, given.moves)
        return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))

    def release(self, data: Any, privacy: Privacy, k: int) -> Estimate:
        """The same drawn exactly, from the operating system's entropy.

        Args:
            data: as of a simulation, without padding; scores are multiples of 1/2, exact in their dtype.
            privacy: what is promised, ε finite.
            k: number of items.

        Returns:
            As of a simulation; items are an int64 NumPy array.

        Raises:
            TypeError, ValueError: as of a simulation, and as all exact releases do (:mod:`privrank_jax.release`);
                other scores; more than a million items times places of a set.
        """
        from privrank_jax.exact import selection
        from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

        attained = exact_promise(dataclasses.replace(self.promised(privacy, self.name), delta=0.0))
        given = self.read(data, attained, True)
        given.moves.check()
        check_whole("k", k, 1, np.size(given.scores))
        moves = given.moves.rational
        change = self.law.change(k, moves)
        sampler = getattr(selection, self.law.exact)
        value, scale = sampler(given.scores, k, attained.epsilon, change, moves.reach)
        return exact_estimate(value, privacy, attained, NoiseDiagnostics(scale))


# --- calibration -----------------------------------------------------------------------------------


def _one_shot(k: Any, moves: Moves) -> Any:
    return _minimum(moves.sides * k * moves.most, moves.total)


def _rounds(k: Any, moves: Moves) -> Any:
    return k * moves.most + (0 if moves.together else _minimum(k * moves.most, moves.one_way))


def _set(k: Any, moves: Moves) -> Any:
    if k == 1:
        return moves.reach
    return moves.reach + (moves.most if moves.together else _minimum(2 * moves.most, moves.one_way))


def _minimum(first: Scalar, second: Scalar) -> Any:
    """The minimum, which is a plain number if the arguments are."""
    if isinstance(first, numbers.Real) and isinstance(second, numbers.Real):
        return min(first, second)
    return jnp.minimum(first, second)


# --- draws -----------------------------------------------------------------------------------------


@functools.partial(jax.jit, static_argnames=("k", "noise"))
def select_once(
    key: Key,
    scores: Scores,
    mask: Mask,
    scale: Scalar,
    k: int,
    noise: str,
    fewer: Count | None = None,
) -> Int[Array, "k"]:
    """The k largest of scores + noise, best first; of ``fewer``, which may be traced, the last places hold -1."""
    shuffle, draw = jax.random.split(fused(key))
    sample = gumbel if noise == "gumbel" else laplace
    # Items are shuffled so that equal sums, frequent at scale 0, are not ranked by index.
    items = jax.random.permutation(shuffle, scores.shape[0])
    noisy = scores[items] + sample(draw, scores.shape, scale, scores.dtype)
    largest, places = jax.lax.top_k(jnp.where(mask[items], noisy, -jnp.inf), k)
    kept = largest > -jnp.inf
    if fewer is not None:
        kept &= jnp.arange(k) < fewer
    return jnp.where(kept, items[places], -1).astype(jnp.int32)


@functools.partial(jax.jit, static_argnames=("k",))
def _select_in_rounds(
    key: Key, scores: Scores, mask: Mask, scale: Scalar, k: int
) -> Int[Array, "k"]:
    """k times the argmax of scores + fresh exponential noise among the items left."""
    shuffle, draw = jax.random.split(fused(key))
    items = jax.random.permutation(shuffle, scores.shape[0])
    scores, scale = scores[items], jnp.asarray(scale, scores.dtype)

    def pick(left: Array, key: Array) -> tuple[Array, Array]:
        noisy = scores + scale * jax.random.exponential(key, scores.shape, scores.dtype)
        best = jnp.argmax(jnp.where(left, noisy, -jnp.inf))
        chosen = jnp.where(jnp.any(left), items[best], -1)
        return left.at[best].set(False), chosen.astype(jnp.int32)

    return jax.lax.scan(pick, mask[items], jax.random.split(draw, k))[1]


@functools.partial(jax.jit, static_argnames=("k",))
def _select_set(
    key: Key, scores: Scores, mask: Mask, scale: Scalar, k: int, lead: Scalar
) -> Int[Array, "k"]:
    """One draw of the canonical mechanism by item index, -1 last; ``lead`` is θ."""
    shuffle, draw, fill = jax.random.split(fused(key), 3)
    items, best, real = _sorted(shuffle, scores, mask)
    ranks, size = jnp.arange(scores.shape[0]), jnp.minimum(k, real)
    out, worst = jnp.arange(k)[:, None], ranks  # the best item left out, and the worst one taken
    margins = jnp.where(worst < real, best - best[:k, None], 0)
    others = (out < size) & (worst >= size) & (worst < real)
    logs = jnp.where(others, _log_binomial(worst - out - 1, size - out - 1), -jnp.inf)
    # The best set has the first cell, which no other set has.
    margin = best[jnp.maximum(size - 1, 0)] - best[jnp.minimum(size, ranks[-1])]
    margins = margins.at[0, 0].set(jnp.where(size < real, lead * margin, 0))
    logs = logs.at[0, 0].set(0)
    found = _best_class(draw, margins, logs.astype(best.dtype), scale)
    out, worst = jnp.divmod(found, scores.shape[0])
    out, worst = jnp.where(found == 0, size, out), jnp.where(found == 0, size - 1, worst)
    between = jnp.where((ranks > out) & (ranks < worst), jax.random.uniform(fill, ranks.shape), -1)
    first = jnp.where((ranks < out) | (ranks == worst), 2.0, between)
    taken = items[jax.lax.top_k(first, k)[1]]
    chosen = jnp.sort(jnp.where(jnp.arange(k) < size, taken, scores.shape[0]))
    return jnp.where(chosen < scores.shape[0], chosen, -1).astype(jnp.int32)


def _sorted(key: Key, scores: Scores, mask: Mask) -> tuple[Array, Scores, Array]:
    """Items best first, with equal ones at random, their scores, and how many are real; -inf for the others."""
    items = jax.random.permutation(key, scores.shape[0])
    real = jnp.where(mask, scores, -jnp.inf)[items]
    order = jnp.argsort(-real, stable=True)
    return items[order], real[order], jnp.sum(mask)


def _best_class(key: Key, utilities: Array, logs: Array, scale: Scalar) -> Array:
    """The number of the cell with the largest utility plus the largest of e^logs noises."""
    drawn = jax.random.exponential(key, logs.shape, logs.dtype)
    # -log(1 - U^(1/N)), and U^(1/N) = exp(-e^small)
    small = jnp.log(drawn) - jnp.where(logs > -jnp.inf, logs, 0)
    whole = -jnp.log(-jnp.expm1(-jnp.exp(jnp.maximum(small, -_FEW))))
    largest = jnp.where(small < -_FEW, -small, whole)
    noisy = utilities + jnp.asarray(scale, logs.dtype) * largest
    return jnp.argmax(jnp.where(logs > -jnp.inf, noisy, -jnp.inf))


def _log_binomial(of: Array, chosen: Array) -> Array:
    """log (of choose chosen), -inf where there is no such choice."""
    possible = (chosen >= 0) & (chosen <= of)
    of, chosen = jnp.where(possible, of, 0), jnp.where(possible, chosen, 0)
    log = gammaln(of + 1.0) - gammaln(chosen + 1.0) - gammaln(of - chosen + 1.0)
    return jnp.where(possible, log, -jnp.inf)


ONE_SHOT = Law(
    _one_shot,
    lambda key, scores, mask, scale, k, _: select_once(key, scores, mask, scale, k, "laplace"),
    "one_shot",
)
"""Laplace noise once on every score."""

PEELING = Law(
    _rounds,
    lambda key, scores, mask, scale, k, _: select_once(key, scores, mask, scale, k, "gumbel"),
    "peeling",
)
"""k rounds of the exponential mechanism."""

PERMUTE_AND_FLIP = Law(
    _rounds,
    lambda key, scores, mask, scale, k, _: _select_in_rounds(key, scores, mask, scale, k),
    "permute_and_flip",
)
"""k rounds of permute-and-flip."""

CANONICAL = Law(
    _set,
    lambda key, scores, mask, scale, k, moves: _select_set(
        key, scores, mask, scale, k, _set(k, moves) / moves.reach - 1
    ),
    "best_set",
)
"""Permute-and-flip over all sets."""

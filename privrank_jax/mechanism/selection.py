r"""The k best of m items by their scores, privately, with the proofs: one record each of four laws.

All publish the items alone, not the scores.

Notation: x scores of m items, x' = x + d those of a neighbor, s ≥ ‖d‖_∞ their sensitivity, T ≥ s a bound on the sum
of the rises Σ d⁺ and on the sum of the falls Σ d⁻ (∞ if none is known; L for win totals), *monotone* if d ≥ 0 or
d ≤ 0 (win totals, one unit added or removed). S the selected items, t = max d over the items outside S.

**One-shot Laplace** (Laplace(λ) once on every score; the k largest are listed in order). Fix the noise of the items
outside S: all of S must exceed z = max_{j∉S} x_j + g_j, and z' ≤ z + t. The shift g_i → g_i + t - d_i moves every
noisy score of S by exactly t: the order within S stays and S still exceeds z'. Its cost is
Σ_S |t - d_i|/λ ≤ 2ks/λ; if monotone, t and d_i have one sign and it is ks/λ.
So λ = 2ks/ε is ε-DP for the *ordered* list (monotone: ks/ε). The list is also a post-processing of all noisy scores,
whose loss is at most ‖d‖₁/λ ≤ 2T/λ (monotone: T/λ). Together: λ = 2 min(ks, T)/ε, and half of that if monotone.

With λ = 8s√(k ln(m/δ))/ε the *set* is (ε, δ)-DP for ε ≤ 0.2, δ ≤ 0.05 (Qiao, Su and Zhang 2021). It is below 2ks/ε only
for k > 16 ln(m/δ).

**Peeling** (k rounds of the exponential mechanism, odds exp(x_i/β) among the items left = Gumbel(β) once on every
score, the k largest in order; Durfee and Rogers 2019, Lemma 4.2). One round that picks i loses
-d_i/β + log Z'/Z with log Z'/Z ≤ max d/β over the items left. The sum over S is at most (Σ_S d⁻ + k max d⁺)/β ≤
(min(ks, T) + ks)/β; if monotone, at most ks/β. Both are approached as the score of one item outside S grows. For one
replaced comparison (s = T = 1) this is (k + 1)/β, not the generic 2k/β.

**Permute-and-flip** (McKenna and Sheldon 2020) in each of k rounds = the largest score plus Exponential(λ) noise (Ding,
Kifer, Steinke, Wang, Xiao and Zhang 2021), fresh in every round. Fix the noise of the others: i must exceed
z - x_i, where z - x_i grows by at most max_{j≠i} d_j - d_i, and P(g > c + a) ≥ e^{-a⁺/λ} P(g > c). So a round loses at
most (max_{j≠i} d_j - d_i)⁺/λ, and the sum is bounded as for peeling.

**(ε, δ) by composition.** With R = 2s (monotone: s), one round of peeling has a loss of range R/β, hence is
(R/β)²/8-zCDP (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021); one of permute-and-flip is (R/λ)-DP, hence
(R/λ)²/2-zCDP (Bun and Steinke 2016). k rounds of ρ/k give (ρ + 2√(ρ ln 1/δ), δ)-DP. The smaller of this scale and
of the pure one is taken.

**Canonical selection** (Shekelyan and Loukides 2022) of a whole set o of k items, by utilities u_o of the scores: the
largest u_o plus Exponential(λ) noise, independent for all o. That is one round of permute-and-flip over all o, so
changes c_o of the utilities lose at most (max_p c_p - c_o)⁺/λ. The margin of a set is M_o = min_{i∈o} x_i - max_{j∉o}
x_j; u_o = M_o where it is at most 0 and θM_o where it is positive, as it is of the best set alone. The source has θ =
0.

Go from x to x' on a straight line, in pieces on which no two scores change their order: all u_o are linear there, and
the losses of the pieces add up. The rate of u_o ≤ 0 is d_b - d_a for the worst item b in o and the best item a outside,
which is not worse, x_a ≥ x_b. Of two sets o, p the rates differ by (d_{b_p} + d_{a_o}) - (d_{a_p} + d_{b_o}). Both
b_p = a_o and a_p = b_o only if these two items are equal on the piece, and then they move equally and the difference is
0. So one of the two sums is about two items, hence at most min(2s, T) in size, and the other at most 2s: B = 2s +
min(2s, T). If
monotone, one of them has the wrong sign, and B = 2s. For k = 1 a is the best item for all o, and B = R, the most by
which d_i - d_j can grow: 2s, if monotone s. The positive utility of the best set has rate θ(d_i - d_j), so it differs
from others by at most (1 + θ)R: θ = B/R - 1 costs nothing. Together λ = B/ε is ε-DP. For win totals with s = T it is
3s/ε, not 4s/ε, the bound by the sensitivity R of the utility. Where one item can rise and another fall by s, it
attains ε as the margin of the best set grows, so no smaller λ will do for it.

All laws here depend on differences of scores alone. So what moves scores by s in one direction is like s/2 in both.

**Canonical selection at once.** Sets fall into classes of equal utility, by the best item left out and the worst one
taken: at most km classes of known sizes N. The largest of N independent noises is drawn at once, and within the best
class a set is uniform. So the noise does not grow with k as that of k rounds does; the number of sets enters by its
logarithm alone.

**On integers** (:mod:`privrank_jax.exact.selection`). The proof of one-shot noise shifts the noise of selected items by
t - d_i, twice which is an integer where scores are multiples of 1/2, and a shift by c changes P(X = x) by at most
exp(\|c\|/s) on the integers too; ties are broken by item index before and after. So it holds for discrete noise. Rounds
and the canonical law are drawn as they stand.
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
from jaxtyping import Array, Float, Int

from privrank_jax._types import Count, Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_positive, check_top
from privrank_jax._workarounds.threefry import fused
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import Mechanism
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, check_approximate, gumbel, laplace
from privrank_jax.privacy.privacy import Privacy

# The range in which the theorem of Qiao, Su and Zhang holds.
ONE_SHOT_MAX_EPSILON = 0.2
ONE_SHOT_MAX_DELTA = 0.05
_FEW = 30.0  # below e^-30 the first term of a series is all that doubles hold


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=("most", "one_way", "every"),
    meta_fields=("together",),
)
@dataclasses.dataclass(frozen=True)
class Moves:
    """How far one unit moves scores: public bounds that hold for every data set.

    Attributes:
        most: s > 0, of any one score.
        one_way: T, of the sum of all rises, and of that of all falls.
        every: of the sum of all changes, ‖d‖₁, of scores less a number that may depend on the unit; None: what follows
            from T.
        together: whether all scores of a neighbor are at least, or all at most, those of the data.
    """

    most: Any
    one_way: Any = math.inf
    every: Any = None
    together: bool = False

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


@functools.partial(
    jax.tree_util.register_dataclass, data_fields=("scores", "moves", "mask"), meta_fields=()
)
@dataclasses.dataclass(frozen=True)
class BoundedScores:
    """Scores of m items, high = preferred, and how far one unit moves them.

    Attributes:
        scores: ``(m,)``.
        moves: public, of the unit and adjacency that will be promised.
        mask: ``(m,)`` bool, real items; None: all are real.
    """

    scores: ScoresLike
    moves: Moves
    mask: MaskLike | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Law:
    """How items are drawn; proofs at the head of this module.

    Attributes:
        change: (k, moves) -> λε, without δ.
        draw: (key, scores, mask, λ, k, moves, approximate) -> the items; jitted.
        exact: name of the sampler in :mod:`privrank_jax.exact.selection`.
        approximate: (privacy, k, m, moves, λ without δ) -> λ by δ; None if δ saves nothing.
    """

    change: Callable[[Any, Moves], Any]
    draw: Callable[[Key, Scores, Mask, Scalar, int, Moves, bool], Int[Array, "k"]]
    exact: str
    approximate: Callable[[Privacy, Any, Any, Moves, Any], Any] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Selection(Mechanism):
    """The k best items by their scores.

    Called with ``(key, data, privacy, k)`` it simulates: pure, for ``jit`` and ``vmap``. :meth:`release` draws the same
    law exactly, on the host.

    Attributes:
        name: of the record in its module.
        doc: the theorem, and what is published.
        law: how items are drawn.
        promised: (privacy, name) -> what is attained of a promise.
        moves: what one unit moves of the scores of usual data, by the promise.
        read: (data, attained promise, whether exactly) -> scores, in the latter case twice them as whole numbers.
    """

    name: str
    doc: str
    law: Law
    promised: Callable[[Privacy, str], Privacy]
    moves: Callable[[Privacy], Moves]
    read: Callable[[Any, Privacy, bool], BoundedScores]

    def __post_init__(self) -> None:
        self.read_as(self.name, self.read.__module__, self.doc)

    def scale(
        self,
        privacy: Privacy,
        k: Count,
        moves: Moves | None = None,
        *,
        num_items: Count | None = None,
        approximate: bool = False,
    ) -> Any:
        """The scale λ of the noise.

        Args:
            privacy: what is promised; ε and δ may be traced. ε = ∞ gives 0.
            k: number of items; may be traced.
            moves: of the scores; None: those of win totals.
            num_items: m, real items; needed with ``approximate``.
            approximate: as of a simulation.

        Raises:
            TypeError, ValueError: as of a simulation.
        """
        attained = self.promised(privacy, self.name)
        given = self.moves(attained) if moves is None else moves
        return self._calibrated(attained, k, given, num_items, approximate)[0]

    def _calibrated(
        self, attained: Privacy, k: Any, moves: Moves, num_items: Any, approximate: bool
    ) -> tuple[Any, Privacy]:
        moves.check()
        scale = self.law.change(k, moves) / attained.epsilon
        if not approximate:
            return scale, dataclasses.replace(attained, delta=0.0)
        if self.law.approximate is None:
            raise ValueError(f"{self.name} gains nothing by delta: leave approximate out.")
        check_approximate(attained, "approximate=True", "approximate=False")
        return self.law.approximate(attained, k, num_items, moves, scale), attained

    def __call__(
        self, key: Key, data: Any, privacy: Privacy, k: int, *, approximate: bool = False
    ) -> Estimate:
        """Simulate.

        Args:
            key: PRNG key.
            data: as the record says, or :class:`BoundedScores`; may be traced.
            privacy: what is promised; ε, δ and ``contributions`` may be traced. ε = ∞ adds no noise, and breaks ties
                at random.
            k: number of items, static, 1 <= k <= m.
            approximate: rely on the δ of the promise, which must be positive, where the record says how; static.

        Returns:
            ``value``: item indices, ``(k,)`` int32, in the order that the record says; -1 in the last places, for which
            no real item is left. ``guarantee``: δ = 0 unless ``approximate``. ``diagnostics``:
            :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, public.

        Raises:
            TypeError: other data, or no promise.
            ValueError: a promise that can't be kept, users without ``contributions``, k out of range, ``approximate``
                without δ, bounds that are not positive.
        """
        attained = self.promised(privacy, self.name)
        given = self.read(data, attained, False)
        scores = jnp.asarray(given.scores)
        if not jnp.issubdtype(scores.dtype, jnp.floating):
            scores = scores.astype(jnp.result_type(float))
        if scores.ndim != 1:
            raise ValueError(f"scores must have shape (m,), got {scores.shape}: use jax.vmap.")
        check_top(k, scores.shape[0])
        full = given.mask is None
        mask = jnp.ones(scores.shape, bool) if full else jnp.asarray(given.mask, bool)
        items = scores.shape[0] if full else jnp.sum(mask)
        scale, attained = self._calibrated(attained, k, given.moves, items, approximate)
        value = self.law.draw(key, scores, mask, scale, k, given.moves, approximate)
        return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))

    def release(self, data: Any, privacy: Privacy, k: int) -> Estimate:
        """The same drawn exactly, from the operating system's entropy.

        Args:
            data: as of a simulation, without padding; scores are multiples of 1/2, exact in their dtype.
            privacy: what is promised, ε finite.
            k: number of items.

        Returns:
            As of a simulation without ``approximate``; items are an int64 NumPy array.

        Raises:
            TypeError, ValueError: as of a simulation, and as all exact releases do (:mod:`privrank_jax.release`);
                scores that are no multiples of 1/2, or too large; more than a million items times places of a set.
        """
        from privrank_jax.exact import selection
        from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

        attained = exact_promise(dataclasses.replace(self.promised(privacy, self.name), delta=0.0))
        given = self.read(data, attained, True)
        given.moves.check()
        check_top(k, np.size(given.scores))
        moves = given.moves.rational
        change = self.law.change(k, moves)
        sampler = getattr(selection, self.law.exact)
        value, scale = sampler(given.scores, k, attained.epsilon, change, moves.reach)
        return exact_estimate(value, privacy, attained, NoiseDiagnostics(scale))


# --- calibration -----------------------------------------------------------------------------------


def _one_shot(k: Any, moves: Moves) -> Any:
    return _minimum(moves.sides * k * moves.most, moves.total)


def _one_shot_set(privacy: Privacy, k: Any, num_items: Any, moves: Moves, pure: Any) -> Any:
    epsilon, delta = jnp.asarray(privacy.epsilon, float), jnp.asarray(privacy.delta, float)
    proven = (delta > 0) & (delta <= ONE_SHOT_MAX_DELTA) & (epsilon <= ONE_SHOT_MAX_EPSILON)
    scale = one_shot_set_scale(epsilon, delta, k, num_items, moves.most)
    return jnp.minimum(pure, jnp.where(proven | jnp.isinf(epsilon), scale, jnp.inf))


def one_shot_set_scale(
    epsilon: Any, delta: Any, k: Any, num_items: Any, most: Any
) -> Float[Array, "..."]:
    """8s√(k ln(m/δ))/ε, at which the set by one-shot noise is (ε, δ)-DP for ε <= 0.2 and δ <= 0.05.

    Args:
        epsilon, delta: ε, and δ, of which 0 counts as 1; may be traced.
        k: number of items.
        num_items: m.
        most: s.
    """
    delta = jnp.asarray(delta, float)
    inner = k * jnp.log(num_items / jnp.where(delta > 0, delta, 1.0))
    return 8.0 * most * jnp.sqrt(inner) / jnp.asarray(epsilon, float)


def _rounds(k: Any, moves: Moves) -> Any:
    return k * moves.most + (0 if moves.together else _minimum(k * moves.most, moves.one_way))


def _composed(
    privacy: Privacy, k: Any, num_items: Any, moves: Moves, pure: Any, *, divisor: float
) -> Any:
    """The smaller of the pure scale and that from zCDP; one round is (R/scale)²/divisor-zCDP."""
    epsilon = jnp.asarray(privacy.epsilon, float)
    finite = jnp.where(jnp.isinf(epsilon), 1.0, epsilon)
    # ∞ at δ = 0: the pure scale is then the smaller.
    log_delta = -jnp.log(jnp.asarray(privacy.delta, float))
    root_rho = finite / (jnp.sqrt(log_delta + finite) + jnp.sqrt(log_delta))
    composed = jnp.minimum(pure, moves.reach * math.sqrt(k / divisor) / root_rho)
    return jnp.where(jnp.isinf(epsilon), 0.0, composed)


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


@functools.partial(jax.jit, static_argnames=("k", "noise", "in_order"))
def select_once(
    key: Key,
    scores: Scores,
    mask: Mask,
    scale: Scalar,
    k: int,
    noise: str,
    in_order: bool,
    fewer: Count | None = None,
) -> Int[Array, "k"]:
    """The k largest of scores + noise, best first, or by item index if the order must not be revealed.

    With ``fewer``, which may be traced, only that many of the k are chosen; the last places then hold -1.
    """
    shuffle, draw = jax.random.split(fused(key))
    sample = gumbel if noise == "gumbel" else laplace
    # Items are shuffled so that equal sums, frequent at scale 0, are not ranked by index.
    items = jax.random.permutation(shuffle, scores.shape[0])
    noisy = scores[items] + sample(draw, scores.shape, scale, scores.dtype)
    largest, places = jax.lax.top_k(jnp.where(mask[items], noisy, -jnp.inf), k)
    kept = largest > -jnp.inf
    if fewer is not None:
        kept &= jnp.arange(k) < fewer
    chosen = jnp.where(kept, items[places], scores.shape[0])
    chosen = chosen if in_order else jnp.sort(chosen)
    return jnp.where(chosen < scores.shape[0], chosen, -1).astype(jnp.int32)


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
    lambda key, scores, mask, scale, k, moves, approximate: select_once(
        key, scores, mask, scale, k, "laplace", not approximate
    ),
    "one_shot",
    _one_shot_set,
)
"""Laplace noise once on every score; the order is proven without δ alone."""

PEELING = Law(
    _rounds,
    lambda key, scores, mask, scale, k, moves, approximate: select_once(
        key, scores, mask, scale, k, "gumbel", True
    ),
    "peeling",
    functools.partial(_composed, divisor=8.0),
)
"""k rounds of the exponential mechanism."""

PERMUTE_AND_FLIP = Law(
    _rounds,
    lambda key, scores, mask, scale, k, moves, approximate: _select_in_rounds(
        key, scores, mask, scale, k
    ),
    "permute_and_flip",
    functools.partial(_composed, divisor=2.0),
)
"""k rounds of permute-and-flip."""

CANONICAL = Law(
    _set,
    lambda key, scores, mask, scale, k, moves, approximate: _select_set(
        key, scores, mask, scale, k, _set(k, moves) / moves.reach - 1
    ),
    "best_set",
)
"""Permute-and-flip over all sets."""

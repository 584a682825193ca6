r"""Counts that are published after every step of a stream, under one promise for all steps: one kind of record.

The mechanism and its proof: :mod:`privrank_jax.privacy.prefix_sums`. One unit moves a single release, to which each
comparison adds a row of sum 1, as far as it moves win totals (:mod:`privrank_jax.pairwise.noisy_totals`).

**Parts.** A stream may hold several kinds of numbers. To part p one comparison adds nonnegative numbers of sum at most
d_p and sum of squares at most d_p. Let part p be divided by the scale of its noise: the stream is one of nonnegative
rows whose ℓ₁ norm is at most Σ_p d_p/s_p, and whose squared ℓ₂ norm is at most Σ_p d_p/σ_p², and the proof uses no more
than that. So with the share φ_p of the budget, Σ φ_p = 1:

- Laplace: s_p = d_p/φ_p times the scale of totals alone, whose rows have sum 1. The loss is Σ_p φ_p ε = ε.
- Gaussian: σ_p = √(d_p/φ_p) times that of totals alone: the squared ℓ₂ sensitivity is Σ_p φ_p μ² = μ².

All of it is one mechanism, so streams may depend on what was published before.

**Exact noise.** Twice the counts are integers, X, and C is replaced by an integer matrix: for the square root, the
coefficients 2^b f_k rounded to integers (b = 16, less where σ would exceed what can be drawn); the others are integer
as they are. A = (A C⁻¹) C holds for the rounded matrix, and the proof asks only that C is lower triangular and
nonnegative, and how long its longest column is, an exact integer here.

*Gaussian noise* is rounded to integers
(:mod:`privrank_jax.exact.rounded_gaussian`), a function of the Gaussian mechanism's output, as CX is an integer; σ_p is
rounded up to a rational. *Laplace noise* is one on integers (:mod:`privrank_jax.exact.integer_laplace`). Where rows of
the tree without a last step hold 2^-j, they hold 1 here and have 2^j times the scale of the noise: where the row moves
by δ, it loses at most 2^-j δ/s.

**Scores where it is private who compared what.** A fit to win totals needs the design M_ij, how often i and j were
compared, which is private under ``replace`` and ``add-remove``. So :data:`continual_score_sums` holds, for every step,
**wins and losses** (a tie is half of each for both), and **pair counts** M_ij, i < j, but only up to 100 items, as
beyond noise would hide them.

The fit (:func:`fit_score_sums`) is post-processing. With a = wins + losses, the product
design D_ij = u_i u_j has the row sums a; it is how often i and j would meet were opponents drawn at random. The pair
counts move it as far as they scatter about it beyond their noise (:func:`shrunk_design`). The score equations are (wins
- losses)/2 = Σ_j D_ij (F(θ_i - θ_j) - 1/2), so half of wins less losses plus half of the row sums of D are totals for
the fit to D.

Pair counts have a quarter of the budget. Measured with Gaussian noise at ε = 1, δ = 1e-6, exposure ∝ 1/rank (30 items,
20,000 users × 10): Kendall's distance at shares 0, .2, .4, .6 is .020, .022, .026, .032 with random opponents, and
.255, .077, .066, .061 with opponents near in strength (win totals: .33 and .46).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from privrank_jax._backend import product
from privrank_jax._pytrees import pytree
from privrank_jax._types import Key, Numbers, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative, check_shape, check_whole
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.program import Record
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.graph import check_counts
from privrank_jax.pairwise.noisy_totals import doubled_counts, of_comparisons, totals_change
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import draw
from privrank_jax.privacy.prefix_sums import (
    simulated,
    strategy_matrices,
    usual_strategy,
)
from privrank_jax.privacy.privacy import Privacy

if TYPE_CHECKING:
    from privrank_jax.exact.strategy_rows import ExactRows

MAX_STEPS = 10_000
MAX_PAIR_ITEMS = 100
PAIRS_SHARE = Fraction(1, 4)  # of the budget
_TIMES = 2  # counts are multiples of 1/2
_AROUND = 200  # turns that fit a product to its row sums
_FEWEST = 0.02  # appearances of an item, of the mean number
_LEAST = 0.05  # of the product design, what is left of a pair

Steps = Float[Array, "steps numbers"]


@pytree
class ContinualDiagnostics:
    """The noise of counts over time; public.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of the noise drawn at each step (without a last step: at the first),
            in wins.
        deviations: ``(T,)``, the standard deviation of the noise of one item's total at each step, likewise.
        pair_scale, pair_deviations: the same of pair counts; None where there are none.
    """

    noise_scale: Numbers
    deviations: Numbers
    pair_scale: Numbers | None = None
    pair_deviations: Numbers | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class PrefixSums(Record):
    """Sums of counts after each step of a stream, with noise; the simulation is pure, for ``jit``, ``vmap``, ``grad``.

    Attributes:
        parts: m -> how many numbers each part of a step has, and d/φ.
        floats: data -> what arrived in each step, ``(T, d)``, and m; checked.
        summed: matrices of win counts -> these numbers, in NumPy too.
        hidden: whether it holds for private pairs alone, as others need no such counts.
    """

    parts: Callable[[int], list[tuple[int, Fraction]]]
    floats: Callable[[Any], tuple[Any, int]]
    summed: Callable[[Any], Any]
    hidden: bool = False

    def __post_init__(self) -> None:
        self.read_in(self.parts)

    def whole(self, data: Any) -> Int[np.ndarray, "*steps numbers"]:
        """Twice the numbers on the host, of win counts or of the numbers themselves."""
        doubled = doubled_counts(data)
        return self.summed(doubled) if isinstance(data, WinCounts) else doubled

    def attained(self, privacy: Privacy, noise: str) -> Privacy:
        """What is attained of a promise; errors as of a simulation."""
        found = of_comparisons(privacy, self.name, noise)
        if self.hidden and found.adjacency == "flip":
            raise ValueError(
                "under adjacency='flip' it is public who compared what: publish win totals (continual_totals), and fit "
                "scores to those of a step by pairwise.fit."
            )
        return found

    def __call__(
        self,
        key: Key,
        data: Any,
        privacy: Privacy,
        *,
        noise: str = "gaussian",
        strategy: str | None = None,
    ) -> Estimate:
        """Simulate.

        Args:
            key: PRNG key.
            data: what arrived in each of T steps, not accumulated, as the record says.
            privacy: what is promised for all steps together: unit comparison or user, L in all steps. ε = ∞ adds no
                noise; ε, δ and ``contributions`` may be traced.
            noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
            strategy: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`, default the best; or, where the T
                steps are the first ones of any number, of :data:`~privrank_jax.privacy.prefix_sums.UNBOUNDED`.

        Returns:
            ``value``: sums after each step, ``(T, d)``, in wins. ``diagnostics``: :class:`ContinualDiagnostics`.

        Raises:
            TypeError, ValueError: a promise that can't be kept, an unknown noise or strategy, Gaussian noise without δ,
                users without ``contributions``, data without an axis of steps.
        """
        numbers, items = self.floats(data)
        return self.of_numbers(key, numbers, privacy, items, noise, strategy)

    def of_numbers(
        self,
        key: Key,
        numbers: Any,
        privacy: Privacy,
        items: int,
        noise: str,
        strategy: str | None,
    ) -> Estimate:
        """The same, from the numbers ``(T, d)`` that arrived in each step."""
        attained, steps = self.attained(privacy, noise), len(numbers)
        strategy = strategy or usual_strategy(steps, noise)
        decode, _ = strategy_matrices(strategy, steps)
        given = {"steps": steps, "num_items": items, "noise": noise, "strategy": strategy}
        scales = self.scale(privacy, **given)
        parts = zip(self.parts(items), scales, strict=True)
        each = jnp.concatenate([jnp.full(size, scale) for (size, _), scale in parts])
        value = _noisy_prefix_sums(key, numbers, jnp.asarray(decode, numbers.dtype), each, noise)
        rows = np.linalg.norm(decode, axis=1) * Noise.independent(noise, 1.0).deviation()
        told = [one for s in scales for one in (s, s * jnp.asarray(rows, numbers.dtype))]
        return Estimate(value, Guarantee(privacy, attained), ContinualDiagnostics(*told))

    def scale(
        self,
        privacy: Privacy,
        *,
        steps: int,
        num_items: int,
        noise: str = "gaussian",
        strategy: str | None = None,
    ) -> list[Any]:
        """Scale of the noise drawn at each step, of each part, in wins; arguments as of a simulation."""
        attained = self.attained(privacy, noise)
        strategy = strategy or usual_strategy(steps, noise)
        size = totals_change(attained, Facts(num_items), noise).size(noise)
        size = size / _TIMES * simulated(strategy, steps).length(noise)
        alone = additive_scale(noise, attained, size, size)
        factors = (float(factor) for _, factor in self.parts(num_items))
        return [alone * (one if noise == "laplace" else one**0.5) for one in factors]

    def release(
        self,
        data: Any,
        privacy: Privacy,
        *,
        noise: str = "gaussian",
        steps: int | None = None,
    ) -> Estimate:
        """The same with exact noise, all steps at once; where more are to come, ``release.Leaderboard`` goes on.

        Args:
            data, privacy, noise: as of a simulation, ε finite.
            steps: T, at least as many as the data hold; None: those of the data are the first ones of any number.

        Returns:
            As of a simulation, in NumPy and float64.

        Raises:
            TypeError, ValueError: as of a simulation, and as all exact releases do (:mod:`privrank_jax.release`); data
                that hold no exact counts, or more than T steps.
        """
        from privrank_jax.exact.entropy import SYSTEM
        from privrank_jax.exact.integer_noise import exact_estimate

        items, counts = self.floats(data)[1], self.whole(data)
        if steps is not None and len(counts) > steps:
            raise ValueError(f"the data hold {len(counts)} steps, more than steps = {steps}.")
        rows = self.rows(privacy, items, steps, noise)
        value = rows.decoded(rows.drawn(counts, 0, [SYSTEM] * len(counts)))
        return exact_estimate(
            value, privacy, rows.attained, ContinualDiagnostics(*rows.told(len(counts)))
        )

    def rows(
        self, privacy: Privacy, num_items: int, steps: int | None, noise: str = "gaussian"
    ) -> ExactRows:
        """Exact noise row by row, by the integer strategy of the least error; without a T there is no last step."""
        from privrank_jax.exact.integer_noise import exact_promise
        from privrank_jax.exact.strategy_rows import exact_rows

        attained = exact_promise(self.attained(privacy, noise))
        if steps is not None:
            check_whole("steps", steps)
            if steps > MAX_STEPS:
                raise ValueError(
                    f"steps must be at most {MAX_STEPS:,}, got {steps:,}: choose longer steps, such as weeks, or leave "
                    "steps out for a leaderboard without a last step."
                )
        entries = totals_change(attained, Facts(num_items), noise).entries
        moved = [math.ceil(one) for one in np.asarray(entries).tolist()]
        kind, parts = usual_strategy(steps, noise), self.parts(num_items)
        return exact_rows(kind, steps, attained, moved, parts, _TIMES)


@functools.partial(jax.jit, static_argnames=("noise",))
def _noisy_prefix_sums(
    key: Key, totals: Steps, decode: Float[Array, "steps steps"], scale: Numbers, noise: str
) -> Steps:
    """Prefix sums of ``(T, d)`` with B times noise of a scale for each of the d columns."""
    drawn = draw(key, noise, totals.shape, scale, totals.dtype)
    return jnp.cumsum(totals, axis=0) + product(decode, drawn)


# --- what a step holds


def parts_of(num_items: int) -> list[tuple[int, Fraction]]:
    """The number of wins and losses and, for few enough items, of pair counts; with d/φ, where d is 2 and 1."""
    if num_items > MAX_PAIR_ITEMS:
        return [(2 * num_items, Fraction(2))]
    pairs = num_items * (num_items - 1) // 2
    return [(2 * num_items, 2 / (1 - PAIRS_SHARE)), (pairs, 1 / PAIRS_SHARE)]


def score_sums(wins: WinCounts) -> Float[Array, "*steps numbers"]:
    """Wins, losses and, for few enough items, pair counts, one after the other.

    Args:
        wins: win counts ``(..., m, m)``.

    Returns:
        ``(..., 2m)``, or with pairs (0, 1), (0, 2), ..., (1, 2), ... ``(..., 2m + m(m-1)/2)``.

    >>> score_sums(WinCounts.from_matrix([[0, 3], [1, 0]])).tolist()
    [3.0, 1.0, 1.0, 3.0, 4.0]
    """
    return _score_sums(jnp.asarray(wins.matrix))


def _score_sums(matrix: Any) -> Any:
    """The same in NumPy or JAX."""
    found, items = [matrix.sum(-1), matrix.sum(-2)], matrix.shape[-1]
    if items <= MAX_PAIR_ITEMS:
        first, second = np.triu_indices(items, 1)
        found.append((matrix + matrix.swapaxes(-1, -2))[..., first, second])
    return (np if isinstance(matrix, np.ndarray) else jnp).concatenate(found, axis=-1)


def _totals(totals: Any) -> tuple[Steps, int]:
    totals = jnp.asarray(totals)
    if totals.ndim != 2 or not totals.shape[0]:
        raise ValueError(
            f"totals must have shape (T, m) with T >= 1, one row for each step, got {totals.shape}."
        )
    return totals, totals.shape[1]


def _sums(wins: WinCounts) -> tuple[Steps, int]:
    check_counts(wins)
    if wins.matrix.ndim != 3 or not wins.matrix.shape[0]:
        raise ValueError(
            f"wins must have an axis of steps, (T, m, m) with T >= 1, got {wins.matrix.shape}: stack the counts of the "
            "comparisons that arrived in each step."
        )
    return score_sums(wins), wins.num_items


continual_totals = PrefixSums(
    "continual_totals",
    """Noisy win totals after each of T steps, all of them together under one promise.

    ``data``: wins of each item among the comparisons that arrived in each step, ``(T, m)``. ``value``: ``(T, m)``, high
    = preferred. Where it is public who compared what (``flip``), :func:`~privrank_jax.pairwise.fit` fits scores to the
    totals of a step: post-processing. Elsewhere use :func:`continual_score_sums`.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that is published in all T
    steps, for the promised unit and adjacency, whichever steps the L comparisons of a user fall into, and even where
    comparisons depend on what was published before. T is public.

    Source: Fichtenberger, Henzinger and Upadhyay (2023); Chan, Shi and Song (2011) for the tree; users ours.

    >>> import jax
    >>> promise = Privacy(2.0, unit="comparison", adjacency="flip", delta=1e-6)
    >>> totals = continual_totals(jax.random.key(0), jnp.array([[9.0, 1.0], [90.0, 10.0]]), promise).value
    >>> totals.shape, bool(totals[1, 0] > totals[1, 1])
    ((2, 2), True)
    """,
    parts=lambda num_items: [(num_items, Fraction(1))],
    floats=_totals,
    summed=lambda matrices: matrices.sum(-1),
)

continual_score_sums = PrefixSums(
    "continual_score_sums",
    """Noisy wins, losses and pair counts after each of T steps, all of them together under one promise.

    ``data``: counts of the comparisons that arrived in each step, :class:`~privrank_jax.comparisons.WinCounts` ``(T, m,
    m)`` without a mask. ``value``: ``(T, d)`` in the order of :func:`score_sums`. :func:`fit_score_sums` fits scores to
    the sums of a step.

    **Guarantee.** As of :func:`continual_totals`, under ``replace`` or ``add-remove``.

    Source: ours; the strategies are those of :func:`continual_totals`.

    >>> wins = WinCounts(jnp.array([[[0, 900], [100, 0]], [[0, 90], [10, 0]]], float))
    >>> promise = Privacy(5.0, unit="comparison", adjacency="replace", delta=1e-6)
    >>> continual_score_sums(jax.random.key(0), wins, promise).value.shape
    (2, 5)
    """,
    parts=parts_of,
    floats=_sums,
    summed=_score_sums,
    hidden=True,
)


# --- scores of a step ---------------------------------------------------------------------------------


def fit_score_sums(
    sums: Real[Array, "numbers"] | Real[np.ndarray, "numbers"],
    num_items: int,
    deviation: Scalar,
    pair_deviation: Scalar = 0.0,
    gamma: Scalar | None = None,
) -> Scores:
    """Logistic scores fitted to noisy wins, losses and pair counts: post-processing.

    Args:
        sums: ``(d,)`` in the order of :func:`~privrank_jax.pairwise.continual.score_sums`.
        num_items: m, static.
        deviation: standard deviation of the noise of one win total, in wins; may be traced.
        pair_deviation: of that of a pair count, if there are any.
        gamma: ridge γ > 0; None takes that of the least first-order risk.

    Returns:
        ``(m,)``, mean 0.

    Raises:
        ValueError: sums of another number of items, negative deviations.

    >>> sums = jnp.array([900.0, 100.0, 100.0, 900.0, 1000.0])
    >>> scores = fit_score_sums(sums, 2, 1e-3, 1e-3)
    >>> round(float(scores[0] - scores[1]), 1)  # log 9, drawn together a little by the ridge
    2.2
    """
    expected = sum(size for size, _ in parts_of(num_items))
    check_shape("sums", sums, (expected,))
    check_nonnegative("deviation", deviation)
    check_nonnegative("pair_deviation", pair_deviation)
    return _fit_score_sums(jnp.asarray(sums), num_items, deviation, pair_deviation, gamma)


@functools.partial(jax.jit, static_argnums=1)
def _fit_score_sums(
    sums: Array, items: int, deviation: Scalar, pair_deviation: Scalar, gamma: Scalar | None
) -> Scores:
    sums = sums.astype(jnp.result_type(float, sums.dtype) if sums.dtype.kind != "f" else sums.dtype)
    won, lost = sums[:items], sums[items : 2 * items]
    fewest = jnp.maximum(_FEWEST * jnp.mean(won + lost), 1.0)
    design = product_design(jnp.maximum(won + lost, fewest))
    if items <= MAX_PAIR_ITEMS:
        first, second = np.triu_indices(items, 1)
        seen = jnp.zeros_like(design).at[first, second].set(sums[2 * items :])
        noise = jnp.square(jnp.asarray(pair_deviation, sums.dtype))
        design = shrunk_design(design, seen + seen.T, noise)
    variance = jnp.square(jnp.asarray(deviation, sums.dtype)) / 2  # of (wins - losses)/2
    usual = least_risk_gamma(jnp.sum(design) / items, variance)
    totals, ridge = (won - lost + design.sum(-1)) / 2, usual if gamma is None else gamma
    return fit(Counts(design), totals, ridge).value


def fit_all_sums(
    sums: np.ndarray, num_items: int, told: ContinualDiagnostics, gamma: Scalar | None = None
) -> Float[np.ndarray, "steps items"]:
    """Scores of each of t published steps, from sums ``(t, d)``, one step after the other; 64 bits where enabled."""
    spread = np.asarray(told.deviations)
    pairs = np.zeros_like(spread) if told.pair_deviations is None else told.pair_deviations
    found = [
        fit_score_sums(one, num_items, spread[step], np.asarray(pairs)[step], gamma)
        for step, one in enumerate(sums)
    ]
    return np.array(found, float).reshape(-1, num_items)


def product_design(appearances: Scores) -> PairMatrix:
    """D_ij = u_i u_j with these sums of rows, all above 0, and a zero diagonal."""
    apart = 1 - jnp.eye(appearances.size, dtype=appearances.dtype)

    def nearer(_: object, factors: Scores) -> Scores:
        return jnp.sqrt(factors * appearances / product(apart, factors))

    factors = jax.lax.fori_loop(0, _AROUND, nearer, jnp.sqrt(appearances))
    return apart * factors[:, None] * factors


def shrunk_design(usual: PairMatrix, seen: PairMatrix, noise: Scalar) -> PairMatrix:
    """A product design moved towards pair counts with noise of this variance, as far as these scatter beyond it.

    The posterior mean where the scatter of each pair is in proportion to ``usual``, but at least a twentieth of that.
    """
    scatter = jnp.sum((seen - usual) ** 2 - noise * (usual > 0) - usual) / jnp.sum(usual**2)
    apart = jnp.maximum(scatter, 0) * usual**2
    spread = jnp.where(usual > 0, apart + noise + usual, 1)
    return jnp.maximum(usual + apart / spread * (seen - usual), _LEAST * usual)

r"""Scores over time where it is private who compared what: noisy wins, losses and pair counts, and the fit to them.

Win totals follow how often items were compared, so they order no leaderboard where items are shown unequally often. The
fit to totals needs the design M_ij, how often i and j were compared, which is private under ``replace`` and
``add-remove``. So the stream holds, for every step, three kinds of counts, in two parts:

- **wins and losses**, 2m numbers: a win of i over j adds 1 to the wins of i and 1 to the losses of j, a tie 1/2 to
  all four;
- **pair counts**, m(m-1)/2 numbers: a comparison of i and j adds 1 to M_ij. Only up to :data:`MAX_PAIR_ITEMS` items:
  beyond, each pair is seen so seldom that noise would hide it, and all of the budget is for wins and losses.

**Sensitivity.** What one comparison adds to part p are nonnegative numbers of sum at most d_p and sum of squares at
most d_p, with d = 2 for wins and losses and d = 1 for pair counts. Let part p be divided by the scale of its noise: the
stream is one of nonnegative rows whose ℓ₁ norm is at most Σ_p d_p/s_p, and whose squared ℓ₂ norm is at most Σ_p
d_p/σ_p². The proof at the head of :mod:`privrank_jax.privacy.prefix_sums` uses no more than that rows are nonnegative
and of bounded norm. So k comparisons of a user, in whichever steps, move CX by at most that norm times k times the
longest column of C, and times 2 in ℓ₁ or √2 in ℓ₂ where they are replaced. With the share φ_p of the budget, Σ φ_p = 1:

- Laplace: s_p = d_p/φ_p times the scale of totals alone, whose rows have sum 1. The loss is Σ_p φ_p ε = ε.
- Gaussian: σ_p = √(d_p/φ_p) times that of totals alone: the squared ℓ₂ sensitivity is Σ_p φ_p μ² = μ².

All of it is one mechanism, so streams may depend on what was published before. In ℓ₁ it is attained by three items:
where 0 beat 1, 2 beats 0, and wins, losses and pair counts move by 2, 2 and 2. (With two items pair counts stay.)

**Fit** (:func:`fit_score_sums`; post-processing). With a = wins + losses, the product design D_ij = u_i u_j has the row
sums a; it is how often i and j would meet were opponents drawn at random. The pair counts move it as far as they
scatter about it beyond their noise (:func:`shrunk_design`). The score equations are (wins - losses)/2 = Σ_j D_ij
(F(θ_i - θ_j) - 1/2), so half of wins less losses plus half of the row sums of D are totals for the fit to D.

**Share of pair counts**: a quarter. Measured with Gaussian noise at ε = 1, δ = 1e-6, exposure ∝ 1/rank (30 items,
20,000 users × 10; means of 8 crowds): Kendall's distance at shares 0, .2, .4, .6 is .020, .022, .026, .032 with random
opponents, and .255, .077, .066, .061 with opponents near in strength (win totals: .33 and .46).
"""

from __future__ import annotations

import dataclasses
import functools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from privrank_jax._backend import product
from privrank_jax._types import Key, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_nonnegative
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.continual import totals_changes
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.graph import check_counts
from privrank_jax.pairwise.perturbed_fit import least_risk_gamma
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.continual import ContinualDiagnostics, StepsLike, noisy_stream
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

MAX_PAIR_ITEMS = 100
PAIRS_SHARE = Fraction(1, 4)
_AROUND = 200  # turns that fit a product to its row sums
_FEWEST = 0.02  # appearances of an item, of the mean number
_LEAST = 0.05  # of the product design, what is left of a pair


@dataclasses.dataclass(frozen=True)
class Part:
    """A part of what a stream holds for each step.

    Attributes:
        size: how many numbers.
        moved: d, the most that one comparison adds to them, in ℓ₁ and in squared ℓ₂.
        share: φ, its share of the budget.
    """

    size: int
    moved: int
    share: Fraction


def parts_of(num_items: int) -> tuple[Part, ...]:
    """The parts of the stream: wins and losses, and, for few enough items, pair counts.

    >>> [part.size for part in parts_of(4)], [part.size for part in parts_of(1000)]
    ([8, 6], [2000])
    """
    if num_items > MAX_PAIR_ITEMS:
        return (Part(2 * num_items, 2, Fraction(1)),)
    pairs = Part(num_items * (num_items - 1) // 2, 1, PAIRS_SHARE)
    return Part(2 * num_items, 2, 1 - PAIRS_SHARE), pairs


def check_private_design(privacy: Privacy) -> None:
    """Raise ``ValueError`` under ``flip``, where the design is public and totals are enough."""
    if privacy.adjacency == "flip":
        raise ValueError(
            "under adjacency='flip' it is public who compared what: publish win totals (continual_totals), and fit "
            "scores to those of a step by pairwise.fit."
        )


def score_sums(wins: WinCounts) -> Float[Array, "*steps numbers"]:
    """Wins, losses and, for few enough items, pair counts, one after the other.

    Args:
        wins: win counts ``(..., m, m)``.

    Returns:
        ``(..., 2m)``, or ``(..., 2m + m(m-1)/2)``; pairs (0, 1), (0, 2), ..., (1, 2), ....

    >>> score_sums(WinCounts.from_matrix([[0, 3], [1, 0]])).tolist()
    [3.0, 1.0, 1.0, 3.0, 4.0]
    """
    found = [wins.matrix.sum(-1), wins.matrix.sum(-2)]
    if wins.num_items <= MAX_PAIR_ITEMS:
        first, second = np.triu_indices(wins.num_items, 1)
        found.append(wins.comparisons[..., first, second])
    return jnp.concatenate(found, axis=-1)


def continual_score_sums(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """Noisy wins, losses and pair counts after each of T steps, all of them together under one promise.

    **Guarantee.** (ε, δ)-DP for Gaussian noise, ε-DP for Laplace noise, for everything that is published in all T
    steps, for the promised unit, comparison or user, under ``replace`` or ``add-remove``, whichever steps the
    comparisons of a user fall into, and even where comparisons depend on what was published before. Proof at the head
    of this module. T is public.

    Args:
        key: PRNG key.
        wins: counts of the comparisons that arrived in each step, ``(T, m, m)``, not accumulated, without a mask.
        privacy: what is promised for all steps together; L is the most comparisons of one user in all of them. ε = ∞
            adds no noise; ε, δ and ``contributions`` may be traced.
        noise: ``"gaussian"`` at the δ of the promise, or ``"laplace"``.
        strategy: as for :func:`~privrank_jax.pairwise.continual.continual_totals`.

    Returns:
        ``value``: ``(T, d)`` sums in the order of :func:`score_sums`; :func:`fit_score_sums` fits scores to those of
        a step. ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.continual.ContinualDiagnostics`, of wins
        and losses, and of pair counts.

    Raises:
        ValueError: a promise that can't be kept, adjacency ``flip``, Gaussian noise without δ, users without
            ``contributions``, counts without an axis of steps, unknown names.

    Source: ours; the strategies are those of :func:`~privrank_jax.pairwise.continual.continual_totals`.

    >>> wins = WinCounts(jnp.array([[[0, 900], [100, 0]], [[0, 90], [10, 0]]], float))
    >>> promise = Privacy(5.0, unit="comparison", adjacency="replace", delta=1e-6)
    >>> found = continual_score_sums(jax.random.key(0), wins, promise)
    >>> told = found.diagnostics
    >>> scores = fit_score_sums(found.value[1], 2, told.deviations[1], told.pair_deviations[1])
    >>> bool(scores[0] > scores[1])
    True
    """
    check_counts(wins)
    if wins.matrix.ndim != 3 or not wins.matrix.shape[0]:
        raise ValueError(
            f"wins must have an axis of steps, (T, m, m) with T >= 1, got {wins.matrix.shape}: stack the counts of the "
            "comparisons that arrived in each step."
        )
    return continual_sums(
        key, score_sums(wins), privacy, num_items=wins.num_items, noise=noise, strategy=strategy,
    )  # fmt: skip


def continual_sums(
    key: Key,
    sums: StepsLike,
    privacy: Privacy,
    *,
    num_items: int,
    noise: str = "gaussian",
    strategy: str | None = None,
) -> Estimate:
    """:func:`continual_score_sums` on the sums of each step, ``(T, d)`` as :func:`score_sums` gives them.

    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace", delta=1e-6)
    >>> continual_sums(jax.random.key(0), jnp.zeros((3, 5)), promise, num_items=2).value.shape
    (3, 5)
    """
    attained = of_comparisons(privacy, "continual_score_sums", noise)
    check_private_design(attained)
    sizes, factors = [part.size for part in parts_of(num_items)], noise_factors(num_items, noise)
    value, told = noisy_stream(
        key, jnp.asarray(sums), attained, totals_changes(attained), noise, strategy,
        sizes=sizes, factors=factors,
    )  # fmt: skip
    return Estimate(value, Guarantee(privacy, attained), told)


def noise_factors(num_items: int, noise: str) -> list[float]:
    """Scale of the noise of each part, in units of that of win totals alone.

    >>> [round(factor, 3) for factor in noise_factors(4, "gaussian")], noise_factors(4, "laplace")
    ([1.633, 2.0], [2.6666666666666665, 4.0])
    """
    factors = [float(part.moved / part.share) for part in parts_of(num_items)]
    return factors if noise == "laplace" else [factor**0.5 for factor in factors]


def fit_score_sums(
    sums: Real[Array, "numbers"] | Real[np.ndarray, "numbers"],
    num_items: int,
    deviation: Scalar,
    pair_deviation: Scalar = 0.0,
    gamma: Scalar | None = None,
) -> Scores:
    """Logistic scores fitted to noisy wins, losses and pair counts: post-processing, by the fit at the module's head.

    Args:
        sums: ``(d,)`` in the order of :func:`score_sums`.
        num_items: m, static.
        deviation: standard deviation of the noise of one win total, in wins; may be traced.
        pair_deviation: of that of a pair count, if there are any.
        gamma: ridge γ > 0; None takes that of the least first-order risk
            (:func:`~privrank_jax.pairwise.perturbed_fit.least_risk_gamma`).

    Returns:
        ``(m,)``, mean 0.

    Raises:
        ValueError: sums of another number of items, negative deviations.

    >>> sums = jnp.array([900.0, 100.0, 100.0, 900.0, 1000.0])
    >>> scores = fit_score_sums(sums, 2, 1e-3, 1e-3)
    >>> round(float(scores[0] - scores[1]), 1)  # log 9, drawn together a little by the ridge
    2.2
    """
    expected = sum(part.size for part in parts_of(num_items))
    if np.shape(sums) != (expected,):
        raise ValueError(
            f"sums of {num_items} items have shape ({expected},): wins, losses and pair counts, as score_sums gives "
            f"them; got {np.shape(sums)}."
        )
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
    """Scores of each of t published steps, from sums ``(t, d)``, one step after the other; 64 bits where enabled.

    >>> told = ContinualDiagnostics(1.0, np.ones(1), 1.0, np.ones(1))
    >>> fit_all_sums(np.array([[9.0, 1.0, 1.0, 9.0, 10.0]]), 2, told).shape
    (1, 2)
    """
    spread = np.asarray(told.deviations)
    pairs = np.zeros_like(spread) if told.pair_deviations is None else told.pair_deviations
    found = [
        fit_score_sums(one, num_items, spread[step], np.asarray(pairs)[step], gamma)
        for step, one in enumerate(sums)
    ]
    return np.array(found, float).reshape(-1, num_items)


def product_design(appearances: Scores) -> PairMatrix:
    """D_ij = u_i u_j with these sums of rows, ``(m, m)``, zero diagonal.

    Args:
        appearances: ``(m,)``, above 0.

    >>> product_design(jnp.array([2.0, 2.0, 2.0])).round(3).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    apart = 1 - jnp.eye(appearances.size, dtype=appearances.dtype)

    def nearer(_: object, factors: Scores) -> Scores:
        return jnp.sqrt(factors * appearances / product(apart, factors))

    factors = jax.lax.fori_loop(0, _AROUND, nearer, jnp.sqrt(appearances))
    return apart * factors[:, None] * factors


def shrunk_design(usual: PairMatrix, seen: PairMatrix, noise: Scalar) -> PairMatrix:
    """A design moved towards noisy pair counts, as far as these scatter about it beyond their noise.

    Args:
        usual: ``(m, m)`` product design, zero diagonal.
        seen: ``(m, m)`` noisy counts, symmetric, zero diagonal.
        noise: variance of their noise.

    Returns:
        ``(m, m)``, symmetric: the posterior mean where the scatter of each pair is in proportion to ``usual``, but at
        least a twentieth of that.

    >>> usual, seen = jnp.array([[0.0, 9.0], [9.0, 0.0]]), jnp.array([[0.0, 90.0], [90.0, 0.0]])
    >>> shrunk_design(usual, seen, 0.0)[0, 1] > 80, shrunk_design(usual, seen, 1e6)[0, 1] == 9
    (Array(True, dtype=bool), Array(True, dtype=bool))
    """
    scatter = jnp.sum((seen - usual) ** 2 - noise * (usual > 0) - usual) / jnp.sum(usual**2)
    apart = jnp.maximum(scatter, 0) * usual**2
    spread = jnp.where(usual > 0, apart + noise + usual, 1)
    return jnp.maximum(usual + apart / spread * (seen - usual), _LEAST * usual)

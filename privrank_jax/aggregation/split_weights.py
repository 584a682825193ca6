r"""Private weights of all pairs from two releases at once: Borda scores, and every pair.

**Two parts.** Write x_ij = w_ij - 1/2, so that x_ji = -x_ij, and ‖x‖² = Σ_{i<j} x_ij². Borda scores less their mean are
b_i = Σ_j x_ij. The *gradient part* g_ij = (b_i - b_j)/m has the same b, and the *cycle part* c = x - g has b = 0. They
are orthogonal, ⟨x, g⟩ = Σ_i b_i²/m = ‖g‖² = ‖b‖²/m, of dimensions m - 1 and C(m-1, 2). Borda's order depends on g.

**Sensitivity.** Replacing a user changes n·x by y = x_u - x_v, \|y_ij\| ≤ 1. So ‖y‖² ≤ m(m-1)/2, and ‖b(y)‖² ≤
m(m²-1)/3 (:mod:`privrank_jax.aggregation.borda`), ties and gaps included. A ranking and its reversal attain both.

**Gaussian noise** of standard deviation σ_g in each direction of g and σ_c ≥ σ_g in each direction of c, in units of
1/n. The sum of squares that determines its privacy (Balle and Wang) is

    ‖g(y)‖²/σ_g² + ‖c(y)‖²/σ_c² = (1/σ_g² - 1/σ_c²)·‖b(y)‖²/m + ‖y‖²/σ_c² ≤ A/σ_g² + C/σ_c²,

A = (m²-1)/3, C = m(m-1)/2 - A = (m-1)(m-2)/6: both terms have nonnegative factors, and the reversal maximizes both. So
the release has the privacy of one Gaussian query of sensitivity √(A/σ_g² + C/σ_c²) at σ = 1, exactly. With μ the
largest sensitivity at which such a query is (ε, δ)-DP, and φ = ``focus`` in [0, 1],

    1/σ_g² = μ²·(φ/A + (1 - φ)/(A + C)),        1/σ_c² = μ²·(1 - φ)/(A + C):

the law of two independent releases, combined by inverse variances: b with the share φ of μ², all pairs with the rest.

**K-norm noise.** b with K-norm noise of the complete zonotope at ε₁ = φε, and all pairs with that of the cube at ε₂ =
(1 - φ)ε (:mod:`privrank_jax.privacy.geometry`): (ε₁ + ε₂)-DP by composition, and no less, as a ranking and its reversal
differ by a vertex of both bodies.

The noise of pairs has variance v₂ = (d+1)(d+2)/(3ε₂²), d = m(m-1)/2, in every
direction of g and of c, that of b has variance v₁ in every direction, so v₁/m for g, and all are uncorrelated. So
generalized least squares is the mean of the two estimates of g by inverse variances, and c comes from the pairs:
1/σ_g² = m/v₁ + 1/v₂, σ_c² = v₂.

**Add or remove.** The number of users is private, and n·x is published. One user more or less changes it by x_u,
\|x_ij\| ≤ 1/2: half of what was said above in every direction, attained by any ranking. So all scales are halved.

**Shrinkage.** The cycle part that is published is s·c̃, s = max(0, 1 - C(m-1, 2)·σ_c²/‖c̃‖²), which is post-processing:
the factor of James and Stein. The expected cost is least for the posterior mean of the weights, which s·c̃ estimates.

**Exactly.** A user orders the pair i < j by σ_ij in {-1, 0, 1}. With p the sum of these over all users, and t_i = Σ_j
σ_ij summed likewise, both are integers, and move by 2n times what x and b do. K-norm noise: t at ε₁ = φε, rounded to a
double, p at the largest double ε₂ with ε₁ + ε₂ ≤ ε.

Gaussian noise, rounded to integers: N(0, σ_t²) on t and N(0, σ_p²)
on p are one Gaussian mechanism, on (t/σ_t, p/σ_p). Its ℓ₂ sensitivity squared is at most ‖Δt‖²/σ_t² + ‖Δp‖²/σ_p² ≤ φμ²
+ (1 - φ)μ² = μ², with σ_t and σ_p rounded up to rationals and μ the largest sensitivity that is proven (ε, δ)-DP:
neither two releases, nor the lattice, nor rounding costs privacy. The noise on the sum of t, which is 0, is projected
out.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._components import pairs_of
from privrank_jax._pytrees import pytree, static
from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Key, Mask, Number, Numbers, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_choice, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import materialized
from privrank_jax.aggregation.promise import ADDED, of_rankings, unit_of
from privrank_jax.aggregation.weights import PairWeights, shares_of_users, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.gaussian import concentrated_budget, gaussian_budget
from privrank_jax.privacy.geometry import Cube, Zonotope, k_norm
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise_law import mean_square
from privrank_jax.privacy.privacy import Privacy

WEIGHT_NOISES = ("k-norm", "gaussian")
_SHRINKAGES = ("james-stein", "none")
# With more noise than this on a weight of noise-all (standard deviation, a share of the users), φ, else 0.
_MUCH = {"k-norm": (0.25, 1.0), "gaussian": (0.5, 0.5)}


@pytree
class WeightsDiagnostics:
    """The noise of private weights, in shares of users; of their Borda scores it is √(m - 1)·σ_g."""

    gradient_scale: Numbers  #: σ_g; public
    cycle_scale: Numbers  #: σ_c, before shrinkage, ∞ if scores take all of the budget; public
    cycle_factor: Numbers  #: s, by which the cycle part was multiplied; a private value


@pytree
class _Budget:
    """How the noise is shared; all public."""

    unit: Any  #: scale of the noise on a query of sensitivity 1 at the whole budget, in the unit of the value
    focus: Any  #: φ
    of_scores: Any  #: 1/variance in a direction of g of the release of scores, at the whole budget and unit scale
    of_pairs: Any  #: that of the release of pairs
    #: of a share of the budget, with which a precision grows: 1 for Gaussian noise, 2 for K-norm noise
    power: int = static()

    @property
    def precisions(self) -> tuple[Any, Any]:
        """1/σ_g² and 1/σ_c² at unit scale."""
        cycle = (1 - self.focus) ** self.power * self.of_pairs
        return self.focus**self.power * self.of_scores + cycle, cycle


def _budget(
    noise: str,
    unit: Numbers,
    users: Count | None,
    focus: Scalar | None = None,
    *,
    items: Count,
    most: int,
) -> _Budget:
    """The shares of a release, of so many ``users``; None where their number is private, and sums are published."""
    unit = unit / (2 if users is None else users)
    of_scores, of_pairs = _precisions(items, most, noise)
    if focus is None:
        focus = 0.0
        if users is not None:
            limit, much = _MUCH[noise]
            noisy = unit**2 > limit**2 * of_pairs
            several = is_traced(noisy) or np.ndim(noisy)
            focus = jnp.where(noisy, much, 0.0) if several else much * bool(noisy)
    if not is_traced(focus) and not np.all((np.asarray(focus) >= 0) & (np.asarray(focus) <= 1)):
        raise ValueError(f"focus must be between 0 and 1, got {focus!r}.")
    return _Budget(unit, focus, of_scores, of_pairs, 1 if noise == "gaussian" else 2)


def _precisions(items: Count, most: int, noise: str) -> tuple[Numbers, Numbers]:
    """1/variance in a direction of g of the release of scores and of that of pairs, each at the whole budget."""
    items = jnp.maximum(items, 2) if is_traced(items) else max(int(items), 2)
    d = items * (items - 1) / 2
    if noise == "gaussian":
        return 3 / (items**2 - 1), 1 / d
    if is_traced(items):
        square = jnp.asarray([mean_square(number) for number in range(most + 1)])[items]
    else:
        square = mean_square(int(items))
    both = items * (items + 1) * square / (items - 1)  # v₁
    return items / both, 3 / ((d + 1) * (d + 2))


def _public(facts: Facts, privacy: Privacy, noise: str, focus: Scalar | None) -> _Budget:
    """The shares of a release where so much is public."""
    attained = of_rankings(privacy, "private_weights", noise, WEIGHT_NOISES)
    items = facts.num_items
    if items < 2:
        raise ValueError(f"num_items must be at least 2, got {items!r}.")
    of_facts = functools.partial(_budget, noise, items=items, most=items)
    given = (additive_scale(noise, attained, 1.0, 1.0), facts.num_users)
    return quickly(of_facts, *given) if focus is None else of_facts(*given, focus)


def _scale(
    privacy: Privacy, facts: Facts, noise: str = "k-norm", *, focus: Scalar | None = None
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """σ_g and σ_c, in shares of users; the latter is infinite at φ = 1."""

    def scales(budget: _Budget) -> tuple[Any, ...]:
        return tuple(budget.unit / jnp.sqrt(precision) for precision in budget.precisions)

    return jax.device_put(quickly(scales, _public(facts, privacy, noise, focus)))


def default_focus(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
) -> Float[Array, ""]:
    """φ of least worst regret over six kinds of crowds (measured at 48fdee4), from public facts only.

    It is 0, or where the noise on a weight of noise-all is large: 1 for K-norm noise of a standard deviation above 1/4,
    1/2 for Gaussian noise above 1/2.

    >>> float(default_focus(10, 1000, Privacy(0.1, unit="user", adjacency="replace")))
    1.0
    """
    return jax.device_put(_public(Facts(num_items, num_users), privacy, noise, None).focus)


def _release(
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: Number | None = None,
    shrink: str = "james-stein",
) -> Estimate:
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

    check_choice("shrink", shrink, _SHRINKAGES)
    attained = exact_promise(of_rankings(privacy, "private_weights", noise, WEIGHT_NOISES, ADDED))
    whole, users, items = whole_counts(weights), int(weights.num_users), weights.num_items
    summed = attained.adjacency == "add-remove"
    change, divisor = unit_of(attained, users)
    rho, unit = None, 1 / attained.epsilon
    if noise == "gaussian":
        most = gaussian_budget(attained.epsilon, attained.delta)
        rho, unit = concentrated_budget(most), float(1 / most)
    budget = _budget(noise, unit, None if summed else users, focus, items=items, most=items)
    counts = whole - users * (1 - np.eye(items, dtype=np.int64))
    above = np.triu_indices(items, 1)
    given = counts.sum(axis=1), counts[above], change, float(budget.focus), attained
    totals, pairs = _with_exact_noise(noise, *given)
    scores = totals / (2 * divisor)
    x = np.zeros((items, items))
    x[above] = pairs / (2 * divisor)
    combine = functools.partial(_combined, shrink=shrink)
    given = (scores - scores.mean(), x - x.T, np.ones(items, bool), np.float64(0.5 - summed / 2))
    with jax.enable_x64(True):
        value, about = quickly(combine, *given, jax.tree.map(np.float64, budget))
        value = np.asarray(value)
    return exact_estimate(value, privacy, attained, about, rho=rho)


def _with_exact_noise(
    noise: str, totals: np.ndarray, pairs: np.ndarray, change: int, share: float, attained: Privacy
) -> tuple[np.ndarray, np.ndarray]:
    """Noisy t and p, zeros for a release that has no share."""
    from privrank_jax.exact.k_norm import discrete_cube, discrete_zonotope
    from privrank_jax.exact.rounded_gaussian import gaussian_mechanism
    from privrank_jax.exact.spanning_trees import Graph

    noisy, above = np.zeros(totals.size), np.zeros(pairs.size)
    if noise == "gaussian":
        budget = gaussian_budget(attained.epsilon, attained.delta)
        scales = deviations(totals.size, change, Fraction(share), budget)
        parts = [(part, s) for part, s in zip((totals, pairs), scales) if s is not None]
        sizes = tuple((part.size, scale) for part, scale in parts)
        values = np.concatenate([part for part, _ in parts])
        released = gaussian_mechanism(values, sizes, attained.epsilon, budget)
        first = totals.size if scales[0] else 0
        return released[:first] if first else noisy, released[first:] if scales[1] else above
    for_scores, for_pairs = split_epsilon(attained.epsilon, share)
    if for_scores:
        noisy = discrete_zonotope(Graph.of_all_pairs(totals.size), change, for_scores)[0](totals)
    if for_pairs:
        above = discrete_cube(pairs.size, change, for_pairs)[0](pairs)
    return noisy, above


def split_epsilon(epsilon: float, share: float) -> tuple[float, float]:
    """ε₁ = φε, rounded to a double, and the largest double ε₂ with ε₁ + ε₂ ≤ ε; ``share`` is φ.

    >>> split_epsilon(1.0, 0.25)
    (0.25, 0.75)
    """
    from privrank_jax.exact.integer_noise import largest_below

    first = share * epsilon
    return first, max(largest_below(Fraction(epsilon) - Fraction(first)), 0.0)


def deviations(
    num_items: int, change: int, share: Fraction, budget: Fraction
) -> tuple[Fraction | None, Fraction | None]:
    """σ_t and σ_p at φ = ``share`` and μ = ``budget``; None for a release that has no share."""
    from privrank_jax.exact.rounded_gaussian import root_above

    m, square = num_items, change**2
    moved = Fraction(square * m * (m * m - 1), 3), Fraction(square * m * (m - 1), 2)
    first, second = (
        root_above(size / (part * budget**2)) if part else None
        for size, part in zip(moved, (share, 1 - share))
    )
    return first, second


@mechanism(release=_release, scale=_scale)
def private_weights(
    key: Key,
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: Scalar | None = None,
    shrink: str = "james-stein",
) -> Estimate:
    """Private pairwise weights whose Borda scores may be sharper than their cycles, for any solver.

    **Guarantee.** ε-DP with K-norm noise, (ε, δ)-DP with Gaussian noise; unit user, adjacency replace or add-remove,
    and whatever these cover; sensitivities and their proof are at the head of this module.

    Args:
        key, weights, privacy: as for :func:`~privrank_jax.aggregation.noise_all`; adjacency add-remove as well.
        noise: ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        focus: φ in [0, 1], share of the budget for Borda scores alone: 0 is noise-all, 1 Borda; None for the usual one.
        shrink: ``"james-stein"`` multiplies the cycle part by s, found from the release itself; ``"none"`` keeps it.

    Returns:
        ``value``: ``(m, m)``, dtype of the weights, not clipped: w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and
        columns of masked items. Under add-remove it is antisymmetric: half of how many more users have i ahead of j
        than j ahead of i. ``diagnostics``: :class:`WeightsDiagnostics`, in the unit of the value.

    Raises:
        TypeError, ValueError: as for :func:`~privrank_jax.aggregation.noise_all`; a focus out of range, unknown names.

    >>> weights = PairWeights(jnp.array([[0.0, 0.75], [0.25, 0.0]]), 1000)
    >>> privacy = Privacy(jnp.inf, unit="user", adjacency="replace")
    >>> private_weights(jax.random.key(0), weights, privacy, focus=0.5).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    check_choice("shrink", shrink, _SHRINKAGES)
    attained = of_rankings(privacy, "private_weights", noise, WEIGHT_NOISES, ADDED)
    w, users, mask = shares_of_users(weights, "private_weights")
    items = w.shape[0] if mask is None else jnp.sum(mask)
    summed = attained.adjacency == "add-remove"
    unit = additive_scale(noise, attained, 1.0, 1.0)
    budget = _budget(noise, unit, None if summed else users, focus, items=items, most=w.shape[0])
    budget = jax.tree.map(lambda share: jnp.asarray(share, w.dtype), budget)
    value, diagnostics = _simulated(key, w, mask, users if summed else None, budget, noise, shrink)
    return Estimate(value, Guarantee(privacy, attained), diagnostics)


@functools.partial(jax.jit, static_argnames=("noise", "shrink"))
def _simulated(
    key: Key,
    w: PairMatrix,
    mask: Mask | None,
    summed: Count | None,
    budget: _Budget,
    noise: str,
    shrink: str,
) -> tuple[PairMatrix, WeightsDiagnostics]:
    """Shares of users, or what lies above half of them, ``summed`` over so many, with noise."""
    items, dtype = w.shape[0], w.dtype
    keep = jnp.ones(items, bool) if mask is None else mask
    real = pairs_of(keep)
    of_score, of_pair = jax.random.split(fused(key))
    if noise == "gaussian":
        # With the draws in sight of their sum, and that of what reads it, XLA searches for minutes for how a GPU may
        # take all at once.
        drawn = jax.lax.optimization_barrier(jax.random.normal(of_score, (items,), dtype))
        drawn = jnp.where(keep, drawn, 0)
        count = jnp.maximum(jnp.sum(keep), 1)
        drawn = jnp.where(keep, drawn - jnp.sum(drawn) / count, 0) * jnp.sqrt(
            count / budget.of_scores
        )
        drawn = jax.lax.optimization_barrier(drawn)
        upper = materialized(jax.random.normal(of_pair, real.shape, dtype)) / jnp.sqrt(
            budget.of_pairs
        )
    else:
        drawn = k_norm(of_score, Zonotope.of_all_pairs(items, mask), 1.0, dtype)
        upper = k_norm(of_pair, Cube.of_pairs(items, mask), 1.0, dtype)
    # A share of 0 pays for nothing, and what it would buy is not used.
    shares = (budget.focus, 1 - budget.focus)
    for_scores, for_pairs = (
        budget.unit / jnp.where(part > 0, part, 1) ** (budget.power / 2) for part in shares
    )
    x = _antisymmetric(jnp.where(real, w - 0.5, 0))
    if summed is not None:
        x *= jnp.asarray(summed, dtype)
    pairs = x + for_pairs * _antisymmetric(jnp.where(real, upper, 0))
    scores = jnp.sum(x, axis=1) + for_scores * drawn
    return _combined(scores, pairs, keep, 0.5 if summed is None else 0.0, budget, shrink)


def _antisymmetric(x: PairMatrix) -> PairMatrix:
    """The matrix x_ij for i < j, and -x_ji below the diagonal."""
    upper = jnp.triu(x, 1)
    return upper - upper.T


def _combined(
    scores: Scores, pairs: PairMatrix, keep: Mask, middle: Numbers, budget: _Budget, shrink: str
) -> tuple[PairMatrix, WeightsDiagnostics]:
    """Weights from noisy scores, which sum to 0, and noisy w - 1/2; ``middle`` is what a tied pair has, 1/2 or 0."""
    gradient, cycle = budget.precisions
    real, count, own, _, cycles = _parts(pairs, keep)
    scores = ((gradient - cycle) * scores + cycle * own) / gradient
    none = cycle == 0  # of the budget is spent on cycles
    cycle_scale = budget.unit / jnp.sqrt(jnp.where(none, 1, cycle))
    factor = jnp.ones((), pairs.dtype)
    if shrink == "james-stein":
        factor = _shrink_factor(cycles, count, cycle_scale)
    factor, cycle_scale = jnp.where(none, 0, factor), jnp.where(none, jnp.inf, cycle_scale)
    slope = (scores[:, None] - scores) / count
    value = jnp.where(real, middle + slope + factor * cycles, 0)
    return value, WeightsDiagnostics(budget.unit / jnp.sqrt(gradient), cycle_scale, factor)


@jax.jit
def shrunk_weights(
    weights: PairMatrix, cycle_scale: Numbers
) -> tuple[PairMatrix, Float[Array, ""]]:
    """What :func:`private_weights` returns with ``shrink="james-stein"``, of what it returns without, and s."""
    keep = jnp.ones(weights.shape[0], bool)
    real, count, _, slope, cycles = _parts(jnp.where(pairs_of(keep), weights - 0.5, 0), keep)
    factor = _shrink_factor(cycles, count, cycle_scale)
    return jnp.where(real, 0.5 + slope + factor * cycles, 0), factor


def _parts(pairs: PairMatrix, keep: Mask) -> tuple[Array, ...]:
    """Real pairs, m, and of antisymmetric pairs: b, and the gradient and cycle parts."""
    real, count = pairs_of(keep), jnp.maximum(jnp.sum(keep), 1).astype(pairs.dtype)
    own = jnp.sum(pairs, axis=1)
    slope = (own[:, None] - own) / count
    return real, count, own, slope, jnp.where(real, pairs - slope, 0)


def _shrink_factor(cycles: PairMatrix, count: Array, cycle_scale: Numbers) -> Float[Array, ""]:
    """s = max(0, 1 - C(m-1, 2)·σ_c²/‖c̃‖²)."""
    size = jnp.sum(jnp.triu(cycles) ** 2)
    of_noise = 0.5 * (count - 1) * (count - 2) * cycle_scale**2
    return jnp.where(size > of_noise, 1 - of_noise / jnp.where(size > 0, size, 1), 0)

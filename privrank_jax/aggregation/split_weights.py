r"""Private weights of all pairs from two releases at once: Borda scores, and every pair.

**Two parts.** Write x_ij = w_ij - 1/2, so that x_ji = -x_ij, and ‖x‖² = Σ_{i<j} x_ij². Borda scores less their mean are
b_i = Σ_j x_ij. The *gradient part* g_ij = (b_i - b_j)/m has the same b, and the *cycle part* c = x - g has b = 0. They
are orthogonal, ⟨x, g⟩ = Σ_i b_i²/m = ‖g‖² = ‖b‖²/m, of dimensions m - 1 and C(m-1, 2). The Borda order depends on g
alone; a crowd that no scores describe has a large c.

**Sensitivity.** Replacing a user changes n·x by y = x_u - x_v, \|y_ij\| ≤ 1. So ‖y‖² ≤ m(m-1)/2, and ‖b(y)‖² ≤
m(m²-1)/3 (:mod:`privrank_jax.aggregation.borda`), ties and gaps included. A ranking and its reversal attain both.

**Gaussian noise** of standard deviation σ_g in each direction of g and σ_c ≥ σ_g in each direction of c, in units of
1/n. The sum of squares that determines its privacy (Balle and Wang) is

    ‖g(y)‖²/σ_g² + ‖c(y)‖²/σ_c² = (1/σ_g² - 1/σ_c²)·‖b(y)‖²/m + ‖y‖²/σ_c² ≤ A/σ_g² + C/σ_c²,

A = (m²-1)/3, C = m(m-1)/2 - A = (m-1)(m-2)/6: both terms have nonnegative factors, and the reversal maximizes both. So
the release has the privacy of one Gaussian query of sensitivity √(A/σ_g² + C/σ_c²) at σ = 1, exactly. With μ the
largest sensitivity at which such a query is (ε, δ)-DP, and φ = ``focus`` in [0, 1],

    1/σ_g² = μ²·(φ/A + (1 - φ)/(A + C)),        1/σ_c² = μ²·(1 - φ)/(A + C).

It is the law of two independent releases, combined by inverse variances: b with the share φ of μ², and all pairs with
the rest (``release.exact_weights`` draws them). φ = 0 is noise-all, φ = 1 Borda.

**K-norm noise.** b with K-norm noise of the complete zonotope at ε₁ = φε, and all pairs with that of the cube at ε₂ =
(1 - φ)ε (:mod:`privrank_jax.privacy.geometry`): (ε₁ + ε₂)-DP by composition, and no less, as a ranking and its reversal
differ by a vertex of both bodies. The noise of pairs has variance v₂ = (d+1)(d+2)/(3ε₂²), d = m(m-1)/2, in every
direction of g and of c, that of b has variance v₁ in every direction (:mod:`privrank_jax.privacy.noise_law`), so v₁/m
for g, and all are uncorrelated. So generalized least squares is the mean of the two estimates of g by inverse
variances, and c comes from the pairs: 1/σ_g² = m/v₁ + 1/v₂, σ_c² = v₂.

**Add or remove.** The number of users is private, and n·x is published in the place of 1/2 + x. One user more or less
changes it by x_u, \|x_ij\| ≤ 1/2: half of what was said above in every direction, again attained by any ranking. So all
scales are halved. What φ is best depends on n, so φ is 0 there unless it is given.

**Shrinkage.** The cycle part that is published is s·c̃, s = max(0, 1 - C(m-1, 2)·σ_c²/‖c̃‖²), which is post-processing:
the factor of James and Stein, so the estimated posterior mean of c where its directions are independent, normal and
alike. A solver minimizes a cost that is linear in the weights, and the expected cost is least for the posterior mean.
"""

from __future__ import annotations

import dataclasses
import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Key, Mask, Numbers, PairMatrix, Scalar, Scores
from privrank_jax._validate import check_choice, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import materialized
from privrank_jax.aggregation.promise import ADDED, of_rankings
from privrank_jax.aggregation.weights import PairWeights, shares_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Cube, Zonotope, k_norm
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise_law import mean_square
from privrank_jax.privacy.privacy import Privacy

WEIGHT_NOISES = ("k-norm", "gaussian")
SHRINKAGES = ("james-stein", "none")
# With more noise than this on a weight of noise-all (standard deviation, a share of the users), φ, else 0.
_MUCH = {"k-norm": (0.25, 1.0), "gaussian": (0.5, 0.5)}


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class WeightsDiagnostics:
    """The noise of private weights.

    Attributes:
        gradient_scale: σ_g, standard deviation of the noise of the gradient part in each direction, in shares of users;
            public. Borda scores of the weights have noise of standard deviation √(m - 1)·σ_g.
        cycle_scale: σ_c of the cycle part, before shrinkage; public. ∞ where all of the budget is spent on scores.
        cycle_factor: s, by which the cycle part was multiplied; a private value, as the weights are.
    """

    gradient_scale: Numbers
    cycle_scale: Numbers
    cycle_factor: Numbers


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
    and whatever these cover; sensitivities and their proof are at the head of this module:
    ``help(sys.modules[private_weights.__module__])``.

    Args:
        key, weights, privacy: as for :func:`~privrank_jax.aggregation.noise_all`; adjacency add-remove as well.
        noise: ``"k-norm"``, or ``"gaussian"`` for a promise with δ > 0.
        focus: φ in [0, 1], the share of the budget for the Borda scores alone, may be traced: 0 is noise-all, 1 Borda;
            None takes :func:`default_focus`, from public facts only, and 0 under add-remove.
        shrink: ``"james-stein"`` multiplies the cycle part by s, found from the release itself; ``"none"`` keeps it.

    Returns:
        ``value``: ``(m, m)``, dtype of the weights, not clipped: w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and
        columns of masked items. Under add-remove it is antisymmetric: half of how many more users have i ahead of j
        than j ahead of i. ``guarantee``. ``diagnostics``: :class:`WeightsDiagnostics`, in the unit of the value.

    Raises:
        TypeError, ValueError: as for :func:`~privrank_jax.aggregation.noise_all`; a focus out of range, unknown names.

    >>> weights = PairWeights(jnp.array([[0.0, 0.75], [0.25, 0.0]]), 1000)
    >>> privacy = Privacy(jnp.inf, unit="user", adjacency="replace")
    >>> private_weights(jax.random.key(0), weights, privacy, focus=0.5).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    check_choice("shrink", shrink, SHRINKAGES)
    attained = of_rankings(privacy, "private_weights", noise, WEIGHT_NOISES, ADDED)
    w, users, mask = shares_of_users(weights, "private_weights")
    items = w.shape[0] if mask is None else jnp.sum(mask)
    summed = attained.adjacency == "add-remove"
    unit = jnp.asarray(unit_scale(attained, noise) / (2 if summed else users), w.dtype)
    of_scores, of_pairs = precisions(items, w.shape[0], noise)
    if focus is None:
        focus = 0.0 if summed else _default_focus(unit, of_pairs, noise)
    check_focus(focus)
    shares = (jnp.asarray(share, w.dtype) for share in (unit, focus, of_scores, of_pairs))
    value, diagnostics = _release(key, w, mask, users if summed else None, *shares, noise, shrink)
    return Estimate(value, Guarantee(privacy, attained), diagnostics)


def default_focus(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
) -> Float[Array, ""]:
    """φ of least worst regret over six kinds of crowds (measured at 48fdee4), from public facts only.

    It is 0, or where the noise on a weight of noise-all is large: 1 for K-norm noise of a standard deviation above 1/4,
    1/2 for Gaussian noise above 1/2. With less noise, cycles can be told from it, and losing them may cost far more
    than the larger noise of the gradient. A φ in between loses on both sides under pure ε: standard deviations of
    K-norm noise grow as 1/φ and 1/(1 - φ), those of Gaussian noise only as their roots.

    Args:
        num_items: m >= 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for :func:`private_weights`.
        noise: ``"k-norm"`` or ``"gaussian"``.

    Returns:
        Scalar, φ.

    Raises:
        ValueError: a promise that this can't keep, Gaussian noise without δ, fewer than 2 items.

    >>> [
    ...     float(default_focus(10, 1000, Privacy(epsilon, unit="user", adjacency="replace")))
    ...     for epsilon in (1.0, 0.1)
    ... ]
    [0.0, 1.0]
    """
    unit, _, of_pairs = _facts(num_items, num_users, privacy, "default_focus", noise)
    focus = functools.partial(_default_focus, of_pairs=of_pairs, noise=noise)
    return jax.device_put(quickly(focus, unit))


def private_weights_scales(
    num_items: int,
    num_users: Count,
    privacy: Privacy,
    *,
    noise: str = "k-norm",
    focus: Scalar | None = None,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """σ_g and σ_c of :func:`private_weights`, in shares of users.

    Arguments and errors: as for :func:`default_focus` and :func:`private_weights`.

    Returns:
        (σ_g, σ_c); σ_c is infinite at φ = 1.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> [round(float(scale), 3) for scale in private_weights_scales(3, 100, privacy, focus=0)]
    [0.052, 0.052]
    """
    unit, of_scores, of_pairs = _facts(
        num_items, num_users, privacy, "private_weights_scales", noise
    )
    if focus is None:
        focus = quickly(functools.partial(_default_focus, of_pairs=of_pairs, noise=noise), unit)
    check_focus(focus)

    def scales(unit: Numbers, focus: Numbers) -> tuple[Float[Array, ""], Float[Array, ""]]:
        unit = jnp.asarray(unit)
        gradient, cycle = _spent(jnp.asarray(focus, unit.dtype), of_scores, of_pairs, noise)
        return unit / jnp.sqrt(gradient), unit / jnp.sqrt(cycle)

    return jax.device_put(quickly(scales, unit, focus))


def _default_focus(unit: Numbers, of_pairs: Numbers, noise: str) -> Float[Array, ""]:
    limit, much = _MUCH[noise]
    return jnp.where(unit**2 > limit**2 * of_pairs, much, 0.0)


def _facts(
    num_items: int, num_users: Count, privacy: Privacy, by: str, noise: str
) -> tuple[Numbers, Numbers, Numbers]:
    """The unit of the noise in shares of users, and both precisions."""
    attained = of_rankings(privacy, by, noise, WEIGHT_NOISES)
    if num_items < 2:
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    unit = quickly(operator.truediv, unit_scale(attained, noise), num_users)
    return unit, *precisions(num_items, num_items, noise)


def check_focus(focus: Numbers) -> None:
    """Raise ``ValueError`` unless φ is traced or between 0 and 1."""
    if not is_traced(focus) and not np.all((np.asarray(focus) >= 0) & (np.asarray(focus) <= 1)):
        raise ValueError(f"focus must be between 0 and 1, got {focus!r}.")


def unit_scale(attained: Privacy, noise: str) -> Numbers:
    """1/ε, or 1/μ: the scale of the noise on a query of sensitivity 1.

    Args:
        attained: with ε and δ.
        noise: ``"k-norm"`` or ``"gaussian"``.
    """
    return additive_scale(noise, attained, 1.0, 1.0)


def precisions(items: Count, most: int, noise: str) -> tuple[Numbers, Numbers]:
    """1/variance in a direction of g of the release of scores and of that of pairs, each at the whole budget.

    Args:
        items: m, may be traced.
        most: m at most.
        noise: ``"k-norm"`` or ``"gaussian"``.
    """
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


def _spent(
    focus: Float[Array, ""], of_scores: Numbers, of_pairs: Numbers, noise: str
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """1/σ_g² and 1/σ_c² at unit scale: a precision grows with the budget, or with its square."""
    power = 1 if noise == "gaussian" else 2
    cycle = (1 - focus) ** power * of_pairs
    return focus**power * of_scores + cycle, cycle


@functools.partial(jax.jit, static_argnames=("noise", "shrink"))
def _release(
    key: Key,
    w: PairMatrix,
    mask: Mask | None,
    summed: Count | None,
    scale: Array,
    focus: Array,
    of_scores: Array,
    of_pairs: Array,
    noise: str,
    shrink: str,
) -> tuple[PairMatrix, WeightsDiagnostics]:
    """Shares of users, or what lies above half of them, ``summed`` over so many, with noise."""
    items, dtype = w.shape[0], w.dtype
    keep = jnp.ones(items, bool) if mask is None else mask
    real = keep[:, None] & keep & ~jnp.eye(items, dtype=bool)
    of_score, of_pair = jax.random.split(fused(key))
    if noise == "gaussian":
        # With the draws in sight of their sum, and that of what reads it, XLA searches for minutes for how a GPU may
        # take all at once.
        drawn = jax.lax.optimization_barrier(jax.random.normal(of_score, (items,), dtype))
        drawn = jnp.where(keep, drawn, 0)
        count = jnp.maximum(jnp.sum(keep), 1)
        drawn = jnp.where(keep, drawn - jnp.sum(drawn) / count, 0) * jnp.sqrt(count / of_scores)
        drawn = jax.lax.optimization_barrier(drawn)
        upper = materialized(jax.random.normal(of_pair, real.shape, dtype)) / jnp.sqrt(of_pairs)
    else:
        drawn = k_norm(of_score, Zonotope.of_all_pairs(items, mask), 1.0, dtype)
        upper = k_norm(of_pair, Cube.of_pairs(items, mask), 1.0, dtype)
    # A share of 0 pays for nothing, and what it would buy is not used.
    root = 0.5 if noise == "gaussian" else 1.0
    for_scores, for_pairs = (jnp.where(part > 0, part, 1) ** root for part in (focus, 1 - focus))
    x = antisymmetric(jnp.where(real, w - 0.5, 0))
    if summed is not None:
        x *= jnp.asarray(summed, dtype)
    pairs = x + scale / for_pairs * antisymmetric(jnp.where(real, upper, 0))
    scores = jnp.sum(x, axis=1) + scale / for_scores * drawn
    middle = 0.5 if summed is None else 0.0
    return combined(scores, pairs, keep, middle, scale, focus, of_scores, of_pairs, noise, shrink)


def antisymmetric(x: PairMatrix) -> PairMatrix:
    """The matrix x_ij for i < j, and -x_ji below the diagonal."""
    upper = jnp.triu(x, 1)
    return upper - upper.T


@functools.partial(jax.jit, static_argnames=("noise", "shrink"))
def combined(
    scores: Scores,
    pairs: PairMatrix,
    keep: Mask,
    middle: Numbers,
    scale: Array,
    focus: Array,
    of_scores: Array,
    of_pairs: Array,
    noise: str,
    shrink: str,
) -> tuple[PairMatrix, WeightsDiagnostics]:
    """Weights from a release of scores and one of pairs, and their diagnostics: post-processing.

    Args:
        scores: ``(m,)`` noisy b, summing to 0.
        pairs: ``(m, m)`` noisy w - 1/2, antisymmetric.
        keep: ``(m,)`` bool, real items; the entries of others are 0.
        middle: 1/2, or 0 for sums over users; what a tied pair has.
        scale: that of :func:`unit_scale` over n, or half of it.
        focus: φ.
        of_scores: precision of the scores, of :func:`precisions`.
        of_pairs: precision of the pairs.
        noise: ``"k-norm"`` or ``"gaussian"``.
        shrink: ``"james-stein"`` or ``"none"``.
    """
    gradient, cycle = _spent(focus, of_scores, of_pairs, noise)
    count = jnp.maximum(jnp.sum(keep), 1).astype(pairs.dtype)
    real = keep[:, None] & keep & ~jnp.eye(keep.shape[0], dtype=bool)
    own = jnp.sum(pairs, axis=1)
    scores = ((gradient - cycle) * scores + cycle * own) / gradient
    cycles = jnp.where(real, pairs - (own[:, None] - own) / count, 0)
    none = cycle == 0  # of the budget is spent on cycles
    cycle_scale = scale / jnp.sqrt(jnp.where(none, 1, cycle))
    factor = jnp.ones((), pairs.dtype)
    if shrink == "james-stein":
        factor = _shrink_factor(cycles, count, cycle_scale)
    factor, cycle_scale = jnp.where(none, 0, factor), jnp.where(none, jnp.inf, cycle_scale)
    slope = (scores[:, None] - scores) / count
    value = jnp.where(real, middle + slope + factor * cycles, 0)
    return value, WeightsDiagnostics(scale / jnp.sqrt(gradient), cycle_scale, factor)


@jax.jit
def shrunk_weights(
    weights: PairMatrix, cycle_scale: Numbers, mask: Mask | None = None
) -> tuple[PairMatrix, Float[Array, ""]]:
    """What :func:`private_weights` returns with ``shrink="james-stein"``, from what it returns without: no new noise.

    Args:
        weights: ``(m, m)``, unshrunk.
        cycle_scale: σ_c, of their diagnostics.
        mask: ``(m,)`` bool, real items; the entries of others are 0.

    Returns:
        The weights, and s.
    """
    items = weights.shape[0]
    keep = jnp.ones(items, bool) if mask is None else mask
    count = jnp.maximum(jnp.sum(keep), 1).astype(weights.dtype)
    real = keep[:, None] & keep & ~jnp.eye(items, dtype=bool)
    pairs = jnp.where(real, weights - 0.5, 0)
    own = jnp.sum(pairs, axis=1)
    slope = (own[:, None] - own) / count
    cycles = jnp.where(real, pairs - slope, 0)
    factor = _shrink_factor(cycles, count, cycle_scale)
    return jnp.where(real, 0.5 + slope + factor * cycles, 0), factor


def _shrink_factor(cycles: PairMatrix, count: Array, cycle_scale: Numbers) -> Float[Array, ""]:
    """s = max(0, 1 - C(m-1, 2)·σ_c²/‖c̃‖²)."""
    size = jnp.sum(jnp.triu(cycles) ** 2)
    of_noise = 0.5 * (count - 1) * (count - 2) * cycle_scale**2
    return jnp.where(size > of_noise, 1 - of_noise / jnp.where(size > 0, size, 1), 0)

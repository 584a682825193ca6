r"""How often each pair was compared, from private counts, for intervals where the comparison graph is private.

Standard errors of scores need the design M_ij, how often items i and j were compared. Under ``replace`` and
``add-remove`` it is private. A share of ε buys noisy counts of it: appearances a_i = Σ_j M_ij, and pairs M_ij, i < j.

**Sensitivity.** A comparison of i and j adds 1 to a_i, a_j and M_ij: it moves appearances by 2 in ℓ₁, and pairs by 1.
Replacing it removes one and adds another: 4 and 2. L comparisons of a user move L times as much. With a share s of ε
for appearances, Laplace noise of scales 4L/(sε) and 2L/((1-s)ε) under replacement (half of that where a unit is added
or removed) spends sε + (1-s)ε = ε. It is attained: replace {0, 1} by {2, 3}.

**A cautious design** (:func:`cautious_design`; post-processing). Intervals are too short where the design is thought
to be richer than it is, so what is estimated is a lower end:

1. appearances: a_i and Σ_j M_ij, both noisy, averaged by their variances; at least a fiftieth of the mean.
2. b_ij = a_i a_j/Σa is how often i and j would meet at random. Opponents may be chosen near in strength, so pairs fall
   into eight bins by \|θ̃_i - θ̃_j\|, of equal Σ b; in each, d_ij = f b_ij with f fitted to the noisy pairs.
3. what the pairs of a bin scatter beyond their noise, in units of d², is τ². The posterior mean d + k(M - d), with
   k = τ²d²/(τ²d² + noise + d), less 1.28 of its standard deviations, is the design, or 0.

**Errors** (:func:`errors_under_private_design`). With H = I + γ, I the Fisher information of the cautious design at θ̃,
the score t is off by H⁻¹(S - w) - γH⁻¹θ to first order. So c = t + γH⁻¹t is off by (1 + γH⁻¹)H⁻¹(S - w) - γ²H⁻²θ.
Intervals are centered at c; the last term, at c, is added to the covariance as if it were random.

**Coverage** is an average over items. By the study ``cai-intervals`` 95 % intervals hold 94 to 99 % of true scores with
random opponents and opponents near in strength, exposure ∝ 1/rank, 10 to 100 items.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Key, Numbers, PairMatrix, Scalar, Scores, ScoresLike
from privrank_jax._validate import as_array, check_nonnegative
from privrank_jax._workarounds.threefry import fused
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import get_link
from privrank_jax.mechanism.program import mechanism
from privrank_jax.pairwise.fits import information
from privrank_jax.pairwise.graph import check_one_problem
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.noisy_totals import doubled_counts, of_comparisons
from privrank_jax.pairwise.uncertainty import Uncertainty, noise_on, project_inverse
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import laplace_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy

DESIGN_SHARE = 0.1
"""The usual share of ε for the design, where the rest is for scores."""
APPEARANCES_SHARE = 0.3
_BINS = 8
_REACH = 1.2816  # standard deviations: the lower end of a one-sided interval of 90 %
_LEAST = 0.02  # of the mean number of appearances


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class NoisyDesign:
    """How often each item and each pair was compared, ``(m,)`` and ``(m, m)``, and scales of the Laplace noise."""

    appearances: Float[Array, "*batch items"]
    pairs: Float[Array, "*batch items items"]
    appearances_scale: Numbers
    pairs_scale: Numbers


def _moved(privacy: Privacy) -> Any:
    """By how much one unit moves all pairs; appearances move twice as far."""
    if privacy.adjacency == "flip":
        raise ValueError(
            "under adjacency='flip' it is public who compared what: take wins.comparisons as it is."
        )
    return (2 if privacy.adjacency == "replace" else 1) * privacy.comparisons_per_unit


def design_scales(privacy: Privacy) -> tuple[Any, Any]:
    """Scales of the noise on appearances and on pairs; ε and L may be traced."""
    moved = _moved(privacy)
    shares = APPEARANCES_SHARE, 1 - APPEARANCES_SHARE
    first, second = (laplace_scale(1.0, privacy.epsilon * share) for share in shares)
    return 2 * moved * first, moved * second


def _release(wins: WinCounts, privacy: Privacy) -> Estimate:
    """Twice the counts are whole, and their noise has scales that are rationals."""
    from privrank_jax.exact.entropy import SYSTEM
    from privrank_jax.exact.integer_laplace import laplace_mechanism
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

    attained = exact_promise(of_comparisons(privacy, "noisy_design", "laplace"))
    moved = _moved(attained)
    doubled = doubled_counts(wins)
    met = doubled + doubled.T
    share, epsilon = Fraction(str(APPEARANCES_SHARE)), Fraction(attained.epsilon)
    of_items, of_pairs = 2 * moved / (share * epsilon), moved / ((1 - share) * epsilon)
    above = np.triu_indices(len(met), 1)
    appearances = laplace_mechanism(met.sum(1)[None], 2 * of_items, [SYSTEM])[0] / 2
    pairs: Any = np.zeros(met.shape)
    pairs[above] = laplace_mechanism(met[above][None], 2 * of_pairs, [SYSTEM])[0] / 2
    value = NoisyDesign(appearances, pairs + pairs.T, float(of_items), float(of_pairs))
    return exact_estimate(value, privacy, attained, NoiseDiagnostics(float(of_pairs)))


@mechanism(release=_release, scale=design_scales)
def noisy_design(key: Key, wins: WinCounts, privacy: Privacy) -> Estimate:
    """Noisy numbers of comparisons of each item and each pair, for :func:`errors_under_private_design`.

    **Guarantee.** ε-DP for the promised unit, comparison or user, under ``replace`` or ``add-remove``; theorem and
    proof at the head of :mod:`privrank_jax.pairwise.private_design`.

    Args:
        key: PRNG key.
        wins: win counts of m items, without a mask; in a release multiples of 1/2.
        privacy: what is promised; users need ``contributions``. ε may be traced.

    Returns:
        ``value``: :class:`NoisyDesign`. ``diagnostics``: of the noise on pairs.

    Raises:
        ValueError: a promise that can't be kept, adjacency ``flip``, users without ``contributions``.

    >>> wins = WinCounts.from_matrix([[0, 900], [100, 0]])
    >>> promise = Privacy(50.0, unit="comparison", adjacency="replace")
    >>> estimate = noisy_design(jax.random.key(0), wins, promise)
    >>> round(float(estimate.value.pairs[0, 1]), -1)
    1000.0
    """
    check_one_problem(wins)
    attained = of_comparisons(privacy, "noisy_design", "laplace")
    scales = design_scales(attained)
    value = _noisy(key, wins.comparisons, *scales)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scales[1]))


@jax.jit
def _noisy(key: Key, met: PairMatrix, of_items: Scalar, of_pairs: Scalar) -> NoisyDesign:
    first, second = jax.random.split(fused(key))
    items = met.shape[0]
    appearances = met.sum(-1) + of_items * jax.random.laplace(first, (items,), met.dtype)
    noisy = met + of_pairs * jax.random.laplace(second, met.shape, met.dtype)
    pairs = materialized(jnp.triu(noisy, 1))  # computed once, so that both halves are equal
    return NoisyDesign(appearances, pairs + pairs.T, of_items, of_pairs)


def cautious_design(scores: ScoresLike, design: NoisyDesign) -> PairMatrix:
    """A lower end of how often each pair was compared, ``(m, m)``, by the method at the head of this module."""
    pairs = as_array("pairs", design.pairs)
    theta = jnp.asarray(scores, pairs.dtype)
    appearances = jnp.asarray(design.appearances, pairs.dtype)
    return _cautious(theta, appearances, pairs, design.appearances_scale, design.pairs_scale)


@jax.jit
def _cautious(
    theta: Scores, appearances: Scores, pairs: PairMatrix, of_items: Scalar, of_pairs: Scalar
) -> PairMatrix:
    items, dtype = theta.shape[0], pairs.dtype
    noise = 2 * jnp.asarray(of_pairs, dtype) ** 2
    of_appearances = 2 * jnp.asarray(of_items, dtype) ** 2
    weights = 1 / jnp.stack([of_appearances, jnp.maximum(items - 1, 1) * noise])
    seen = jnp.stack([appearances, pairs.sum(-1)])
    counted = product(weights / weights.sum(), seen)
    counted = jnp.maximum(counted, _LEAST * jnp.maximum(counted.mean(), 1.0))
    first, second = jnp.triu_indices(items, 1)
    met, chance = pairs[first, second], counted[first] * counted[second] / counted.sum()
    order = jnp.argsort(jnp.abs(theta[first] - theta[second]))
    passed = jnp.cumsum(chance[order]) / jnp.maximum(chance.sum(), 1e-30)
    share = jnp.minimum((passed * _BINS).astype(int), _BINS - 1)
    bins = jnp.zeros(order.shape, int).at[order].set(share)

    def sums(values: Array) -> Array:
        return jnp.zeros(_BINS, dtype).at[bins].add(values)

    squares = jnp.maximum(sums(chance**2), 1e-30)
    usual = (jnp.maximum(sums(met * chance) / squares, 0))[bins] * chance
    scatter = sums((met - usual) ** 2 - noise - usual) / jnp.maximum(sums(usual**2), 1e-30)
    apart = jnp.maximum(scatter, 0)[bins] * usual**2
    trust = apart / (apart + noise + usual)
    doubt = trust * noise + ((1 - trust) * chance) ** 2 * (noise / squares)[bins]
    least = jnp.maximum(usual + trust * (met - usual) - _REACH * jnp.sqrt(doubt), 0)
    found = jnp.zeros_like(pairs).at[first, second].set(least)
    return found + found.T


def errors_under_private_design(
    scores: ScoresLike, design: NoisyDesign, *, noise: Noise | Scalar, gamma: Scalar
) -> Uncertainty:
    """Standard errors of scores of :func:`perturbed_mle` (logistic link), where the design is known by noisy counts.

    Post-processing: it spends no privacy. Pass the result to :func:`~privrank_jax.pairwise.confidence_intervals`.

    Args:
        scores: ``(m,)`` released scores.
        design: noisy counts of :func:`noisy_design`.
        noise: of the scores; a number is the λ of Laplace noise.
        gamma: their ridge, above 0.

    Returns:
        Errors about the true centered scores.

    Raises:
        ValueError: negative scale or ridge.

    >>> pairs = jnp.array([[0.0, 1000.0], [1000.0, 0.0]])
    >>> design = NoisyDesign(pairs.sum(1), pairs, 10.0, 10.0)
    >>> errors = errors_under_private_design([1.0, -1.0], design, noise=4.0, gamma=4.0)
    >>> bool(errors.center[0] > 1.0)  # the ridge drew the scores together
    True
    """
    check_nonnegative("gamma", gamma)
    least = cautious_design(scores, design)
    added = noise_on(noise, len(least))
    return _errors(jnp.asarray(scores, least.dtype), least, gamma, added)


@jax.jit
def _errors(theta: Scores, least: PairMatrix, gamma: Scalar, noise: Noise) -> Uncertainty:
    items, dtype = theta.shape[0], theta.dtype
    gamma = jnp.asarray(gamma, dtype)
    mask = jnp.ones(items, bool)
    theta = center(theta, mask)
    project = jnp.eye(items, dtype=dtype) - 1 / items
    fisher = information(theta, least, get_link("logistic"))
    inverse = project_inverse(fisher + gamma * project, project)
    middle = theta + gamma * product(inverse, theta)
    left = gamma**2 * product(inverse, product(inverse, middle))
    influence = inverse + gamma * product(inverse, inverse)
    spread = fisher + noise.covariance(project)
    covariance = product(product(influence, spread), influence.T) + jnp.outer(left, left)
    linked, near = jnp.ones((items, items), bool), jnp.asarray(True)
    return Uncertainty(theta, middle, covariance, influence, linked, mask, noise, near)

r"""A noisy design, and intervals of scores that fit it, where it is private who compared what.

Standard errors of scores need the Fisher information, and so how often each pair met. Under ``replace`` and
``add-remove`` this is private. A share of ε buys m + 1 numbers about it, once scores t are published and so public.

**Numbers.** With g = t_i - t_j and h(g) = p(1-p), p the logistic function of g: the information about each item,
d_i = Σ_j M_ij h(g_ij), M_ij how often i and j met, and that along the scores, q = tᵀIt = Σ_{i<j} M_ij h(g_ij) g_ij².

**Sensitivity.** A comparison of i and j adds h to d_i and d_j, and h g² to q: u = h(g)(2 + g²) <= 0.639 in ℓ₁, which is
what adding or removing it moves. Replacing one of (a, a, b) by one of (a', a', b') moves 2a + 2a' + \|b - b'\| at most,
and that is at most max u + max v <= 1.139, v = h(g)(2 - g²); two disjoint pairs attain it.

L comparisons of a user move
L times as much. Laplace noise of so much over ε is ε-DP for any t, and together with a release of t at ε' it is
(ε + ε')-DP (adaptive composition). h and h g² are rounded down to multiples of 2^-10, in the release and in the
simulation, so that the noise is drawn on integers; u and v are those of the rounded numbers.

**Designs that the noise allows** (post-processing, as all that follows). d has a lognormal prior with mean and variance
of the noisy d_i, less that of the noise. Eight quantiles of each posterior (two for more than 200 items), in a fixed
random order, make as many designs; q has a flat prior above 0. A design is J = diag(d) - [x_i x_j h(g_ij)], with x such
that J1 = 0: opponents at random, as often as their items were seen.

Opponents near in strength tell less of strength.
By how much, ρ, is the ratio of q to tᵀJt less what the noise of t adds to both, tr(JV), within [0.02, min(1, q/tᵀJt)].

**Errors.** Let H(r) = rJ + γ. To first order t is off by H⁻¹(S - w) - γH⁻¹θ (:mod:`privrank_jax.pairwise.uncertainty`).
The first part has the covariance V = H⁻¹(J + Cov w)H⁻¹ at r = 1. The second is the bias of the ridge. With û = t/\|t\|:

1. along the scores it draws all of them toward 0, by at most τ√m γH(ρ^1.2)⁻¹û. This is the ``pull`` of the errors.
2. elsewhere it counts as if θ were random: τ²γ²(½ H(ρ^a)⁻² + 2(1 - c) H(ρ)⁻²), a = ½ + 18/m, c = 1 - tr V/\|t\|² the
   part of \|t\|² that is not noise. The second term is for the part of θ that is not along t since t is noisy.
3. τ² is c\|t\|²/m times (1 + γ\|t\|²/q)², which undoes what the ridge takes along t. It is at least 1 + 1.28 √(2/m),
   the 90 % quantile of the mean square of m numbers drawn from N(0, 1), the prior of the usual ridge.

Averages over the designs are the errors, centered at the scores. So the bias has a second moment, in place of the bound
of each item (Armstrong and Kolesár, *Quantitative Economics* 11, 2020): that serves differences and ranks as well, and
covers on average over items (Armstrong, Kolesár and Plagborg-Møller, *Econometrica* 90, 2022). Powers of ρ and weights
are chosen by simulation: opponents near in strength tell less in all smooth directions, not along t alone, and of few
items more directions are smooth.

**Coverage**, an average over items, is measured by the study ``cai-intervals``. It is too low where opponents are near
in strength *and* scores spread much more than N(0, 1), or nearly all comparisons are about one item: then no published
number tells how far apart the ends are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._pytrees import pytree
from privrank_jax._types import Key, Numbers, PairMatrix, Scalar, Scores, ScoresLike
from privrank_jax._validate import as_array, check_nonnegative, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import logistic
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
_PARTS = 1024  # of which h and h g² are multiples of one
_DESIGNS, _MANY = 8, 200  # designs; 2 for more items than these
_CANDIDATES = 64  # from which information about an item is chosen
_LEAST_SHARE, _MOST_SPREAD = 0.02, 25.0  # of ρ, and of τ²
_ALONG = 1.2  # power of ρ for the bias along the scores
# Weights of the bias elsewhere, and of what is not along the scores due to noise.
_ELSEWHERE, _ASTRAY = 0.5, 2.0
_STEPS = 60  # of the search for x


@pytree
class NoisyDesign:
    """Noisy information about each item, ``(m,)``, and along the scores, ``()``, and the scale of the Laplace noise."""

    items: Float[Array, "*batch items"]
    along: Float[Array, "*batch"]
    scale: Numbers


def _weights(scores: Any, adjacency: str, xp: Any) -> tuple[Any, Any, Any]:
    """Times 2^10: the share of a comparison of each pair in both items and along the scores, and the most of any."""
    gap = scores[:, None] - scores[None, :]
    chance = 1 / (1 + xp.exp(-xp.abs(gap)))
    slope = _PARTS * chance * (1 - chance) * (1 - xp.eye(len(scores), dtype=scores.dtype))
    of_items, along = xp.floor(slope), xp.floor(slope * gap * gap)
    most = (2 * of_items + along).max()
    if adjacency == "replace":
        most += (2 * of_items - along).max()
    return of_items, along, most


def _check_private(privacy: Privacy) -> None:
    if privacy.adjacency == "flip":
        raise ValueError(
            "under adjacency='flip' it is public who compared what: take wins.comparisons as it is."
        )


def design_scale(privacy: Privacy, published: ScoresLike | None = None) -> Any:
    """Scale of the noise at published scores, ``(m,)``, or a bound for any; ε and L may be traced."""
    _check_private(privacy)
    if published is None:
        most = 1.139 if privacy.adjacency == "replace" else 0.639
    else:
        xp = jnp if is_traced(published) else np  # NumPy compiles nothing
        most = _weights(xp.asarray(published), privacy.adjacency, xp)[2] / _PARTS
    return privacy.comparisons_per_unit * most * laplace_scale(1.0, privacy.epsilon)


def _release(wins: WinCounts, privacy: Privacy, published: ScoresLike) -> Estimate:
    """Twice the counts are whole, and so are 2^11 times the numbers."""
    from privrank_jax.exact.entropy import SYSTEM
    from privrank_jax.exact.integer_laplace import laplace_mechanism
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

    attained = exact_promise(of_comparisons(privacy, "noisy_design", "laplace"))
    _check_private(attained)
    doubled = doubled_counts(wins)
    met = doubled + doubled.T
    if met.sum(dtype=float) > 2**52:  # times 2^10 they must be whole numbers of 64 bits
        raise ValueError("more than 10^15 comparisons are too many for exact noise.")
    theta = np.asarray(_checked(published, len(met)), np.float64)
    of_items, along, most = _weights(theta, privacy.adjacency, np)
    scale = attained.comparisons_per_unit * int(most) / Fraction(attained.epsilon)  # over 2^10
    numbers = np.append((met * of_items.astype(int)).sum(1), np.triu(met * along.astype(int)).sum())
    noisy = laplace_mechanism(numbers[None], 2 * scale, [SYSTEM])[0] / (2 * _PARTS)
    value = NoisyDesign(noisy[:-1], noisy[-1], float(scale / _PARTS))
    return exact_estimate(value, privacy, attained, NoiseDiagnostics(value.scale))


def _checked(scores: ScoresLike, items: int) -> ScoresLike:
    known = not is_traced(scores)
    if np.shape(scores) != (items,) or (known and not np.all(np.isfinite(np.asarray(scores)))):
        raise ValueError(f"scores must be {items} finite numbers that were published before.")
    return scores


@mechanism(release=_release, scale=design_scale)
def noisy_design(key: Key, wins: WinCounts, privacy: Privacy, published: ScoresLike) -> Estimate:
    """Noisy information about each item and along published scores, for :func:`errors_under_private_design`.

    **Guarantee.** ε-DP for the promised unit, comparison or user, under ``replace`` or ``add-remove``; theorem and
    proof at the head of :mod:`privrank_jax.pairwise.private_design`.

    Args:
        key: PRNG key.
        wins: win counts of m items, without a mask; in a release multiples of 1/2.
        privacy: what is promised, beyond what the scores took; users need ``contributions``. ε may be traced.
        published: ``(m,)`` scores that were published before.

    Returns:
        ``value``: :class:`NoisyDesign`. ``diagnostics``: of the noise.

    Raises:
        ValueError: a promise that can't be kept, adjacency ``flip``, users without ``contributions``.

    >>> wins = WinCounts.from_matrix([[0, 900], [100, 0]])
    >>> promise = Privacy(50.0, unit="comparison", adjacency="replace")
    >>> estimate = noisy_design(jax.random.key(0), wins, promise, [1.1, -1.1])
    >>> round(float(estimate.value.items[0]), -1)  # 1000 p(1-p)
    90.0
    """
    check_one_problem(wins)
    attained = of_comparisons(privacy, "noisy_design", "laplace")
    theta = jnp.asarray(_checked(published, wins.matrix.shape[-1]), wins.matrix.dtype)
    value = _noisy(key, wins.comparisons, theta, attained)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(value.scale))


@jax.jit
def _noisy(key: Key, met: PairMatrix, theta: Scores, privacy: Privacy) -> NoisyDesign:
    of_items, along, _ = _weights(theta, privacy.adjacency, jnp)
    scale = jnp.asarray(design_scale(privacy, theta), met.dtype)
    numbers = jnp.append((met * of_items).sum(-1), 0.5 * (met * along).sum()) / _PARTS
    noisy = numbers + scale * jax.random.laplace(fused(key), numbers.shape, met.dtype)
    return NoisyDesign(noisy[:-1], noisy[-1], scale)


def errors_under_private_design(
    scores: ScoresLike, design: NoisyDesign, *, noise: Noise | Scalar, gamma: Scalar
) -> tuple[Uncertainty, Scalar]:
    """Errors of scores of :func:`perturbed_mle` (logistic link) about the true ones, the bias of the ridge included.

    Post-processing: it spends no privacy. Pass the errors to :func:`~privrank_jax.pairwise.confidence_intervals`.

    Args:
        scores: ``(m,)`` released scores.
        design: of :func:`noisy_design`, at these scores.
        noise: of the scores; a number is the λ of Laplace noise.
        gamma: their ridge, above 0.

    Returns:
        Errors about the true centered scores, centered at the scores; and τ > 1, the root mean square of the true
        scores that they allow for.

    Raises:
        ValueError: negative scale or ridge.

    >>> design = NoisyDesign(jnp.array([150.0, 150.0]), jnp.array(300.0), 10.0)
    >>> errors, spread = errors_under_private_design([0.7, -0.7], design, noise=4.0, gamma=4.0)
    >>> round(float(errors.pull[0]), 2), round(float(spread), 2)  # most that the ridge took off the score, and τ
    (0.02, 1.51)
    """
    check_nonnegative("gamma", gamma)
    items = as_array("items", design.items)
    added = noise_on(noise, len(items))
    return _errors(jnp.asarray(scores, items.dtype), design, gamma, added)


def likely_designs(design: NoisyDesign) -> tuple[Float[Array, "k items"], Float[Array, "k"]]:
    """Information about items and along the scores that the noise allows, by the method at the head of this module."""
    seen, scale = jnp.asarray(design.items), jnp.asarray(design.scale, design.items.dtype)
    mean = jnp.maximum(seen.mean(), 0.01 * scale)
    variance = jnp.maximum(jnp.var(seen, ddof=1) - 2 * scale**2, 1e-4 * mean**2)
    width = jnp.log1p(variance / mean**2)
    values = _above_zero(seen, scale, _CANDIDATES)
    apart = jnp.log(values / mean) + 0.5 * width
    weights = jax.nn.softmax(-jnp.log(values) - 0.5 * apart**2 / width, axis=0)
    count = _DESIGNS if seen.size <= _MANY else 2
    order = np.tile(np.arange(count)[:, None], (1, seen.size))
    order = np.random.default_rng(0).permuted(order, axis=0)
    # The candidate at which the cumulative weight passes each level.
    levels = (order + 0.5) / count
    place = jnp.sum(jnp.cumsum(weights, 0)[None] < levels[:, None], axis=1)
    items = jnp.take_along_axis(values, jnp.minimum(place, _CANDIDATES - 1), axis=0)
    return items, _above_zero(jnp.asarray(design.along)[None], scale, count)[:, 0]


def _above_zero(seen: Scores, scale: Scalar, count: int) -> Float[Array, "count items"]:
    """Quantiles of numbers above 0 that were seen with Laplace noise, largest first."""
    tail = 0.5 * jnp.exp(-jnp.abs(seen) / scale)
    shares = (jnp.arange(count, dtype=seen.dtype) + 0.5) / count
    above = shares[:, None] * jnp.where(seen > 0, 1 - tail, tail)
    high = seen - scale * jnp.log(2 * above)
    low = seen + scale * jnp.log(2 * (1 - jnp.maximum(above, 0.5)))
    found = jnp.where(above < 0.5, high, low)
    return jnp.maximum(found, 1e-6 * scale)


@jax.jit
def _errors(
    theta: Scores, design: NoisyDesign, gamma: Scalar, noise: Noise
) -> tuple[Uncertainty, Scalar]:
    items, dtype = theta.shape[0], theta.dtype
    gamma, mask = jnp.asarray(gamma, dtype), jnp.ones(items, bool)
    theta = center(theta, mask)
    project = jnp.eye(items, dtype=dtype) - 1 / items
    of_noise, square = noise.covariance(project), jnp.maximum(jnp.sum(theta**2), 1e-30)

    def influence(fisher: PairMatrix) -> PairMatrix:
        return project_inverse(fisher + gamma * project, project)

    def under(likely: tuple[Scores, Scalar]) -> tuple[PairMatrix, PairMatrix, Scores, Scalar]:
        fisher, known = _at_random(likely[0], theta), likely[1]
        by = influence(fisher)
        spent = product(product(by, fisher + of_noise), by)
        whole, noisy = jnp.sum(theta * product(fisher, theta)), jnp.sum(fisher * spent)
        share = (known - noisy) / jnp.maximum(whole - noisy, 0.1 * whole + 1e-30)
        share = jnp.maximum(jnp.minimum(share, known / (whole + 1e-30)), _LEAST_SHARE)
        share = jnp.minimum(share, 1.0)
        true = jnp.maximum(1 - jnp.trace(spent) / square, 0.0)
        spread = true * square / items * (1 + gamma * square / known) ** 2
        spread = jnp.clip(spread, 1 + 1.28 * (2 / items) ** 0.5, _MOST_SPREAD)
        powers = _ALONG, 0.5 + 18 / items, 1.0
        along, elsewhere, astray = (gamma * influence(share**power * fisher) for power in powers)
        pull = jnp.sqrt(spread * items / square) * product(along, theta)
        bias = _ELSEWHERE * product(elsewhere, elsewhere)
        bias += _ASTRAY * (1 - true) * product(astray, astray)
        return spent + spread * bias, by, pull, spread

    found = jax.lax.map(under, likely_designs(design))
    covariance, by, pull, spread = (each.mean(0) for each in found)
    linked, near = jnp.ones((items, items), bool), jnp.asarray(True)
    errors = Uncertainty(theta, theta, covariance, by, linked, mask, noise, near, pull=pull)
    return errors, jnp.sqrt(spread)


def _at_random(seen: Scores, theta: Scores) -> PairMatrix:
    """The Fisher information of opponents at random, where ``seen`` is that about each item."""
    apart = 1 - jnp.eye(theta.shape[0], dtype=theta.dtype)
    slope = apart * logistic.curvature(theta[:, None] - theta[None, :])

    def step(_: int, x: Scores) -> Scores:
        return jnp.sqrt(x * seen / jnp.maximum(product(slope, x), 1e-30))

    x = jax.lax.fori_loop(0, _STEPS, step, jnp.sqrt(seen / jnp.sqrt(seen.sum())))
    return information(theta, x[:, None] * x[None, :] * apart, logistic)

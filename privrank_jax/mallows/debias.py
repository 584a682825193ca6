"""Unbiased estimates of a population's preferences from synthetic rankings: pairwise shares and Borda scores.

To each pair a user's synthetic ranking contributes (1 + k)/2, where k is the user's own kernel
(:mod:`privrank_jax.mallows.kernel`) at the two synthetic ranks; its mean is 1 where the user ranks the first item ahead
and 0 where behind, **whatever the users' rankings are**.

Sums over pairs have far less variance. At ε = 1 the Borda score of an item, a sum over m - 1 pairs, has variance 32 per
user at m = 5 and 1,021 at m = 20. A single pair's share has 43 and 3·10¹⁰. So Borda scores come from
:func:`~privrank_jax.mallows.unbiased_ranks`, at every ε and m. All of this is post-processing, as private as the
synthetic rankings.

**Weights of users.** Any weights that don't depend on the data keep the estimates unbiased. ``"variance"`` weights a
user by 1/(mean square of the contribution), close to the inverse of its variance, so that one user with a small ε can't
drown out the rest; the estimand is then the weighted share of users, which equals the plain share if budgets are
unrelated to preferences. ``"equal"`` always estimates the plain share.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from privrank_jax._backend import at_once
from privrank_jax._components import pairs_of
from privrank_jax._pytrees import pytree
from privrank_jax._roots import square_root
from privrank_jax._types import Numbers, PairMatrix, RankingsLike, Scores
from privrank_jax._validate import check_choice, check_epsilon, check_shape
from privrank_jax.estimate import Estimate
from privrank_jax.mallows.distribution import (
    MISSING,
    as_float,
    check_ranks,
    signed_ranks,
    synthetic_guarantee,
)
from privrank_jax.mallows.kernel import as_levels, kernel_of, mean_square, refuse_lost, rounding
from privrank_jax.mallows.rank_debiasing import unbiased_ranks_of


@pytree
class DebiasedDiagnostics:
    """Precision of a debiased estimate.

    Attributes:
        standard_errors: of each entry, from the spread over users: 0 on the diagonal for pairs, infinite where fewer
            than two users contribute or one outweighs the rest.
        total: for pairs ``(m, m)``: Σ of the weights of the users who ranked both, scaled so that a pair's own weights
            sum to the number of equally weighted users that would give the same precision; for Borda scores that
            number.
        variance: of each user's contribution: of k, averaged over pairs, or of the corrected ranks, averaged over the
            items ranked.
        rounding: how far floating-point rounding may move the mean of k from its true value of 1, at most; 0 for Borda
            scores, which need no kernel.
    """

    standard_errors: Float[Array, "*entries"]
    total: Float[Array, "*entries"]
    variance: Float[Array, "users"]
    rounding: Float[Array, ""] | float = 0.0


WEIGHTS = ("variance", "equal")
MISSING_RULES = ("last", "unknown")
_BLOCK = 1 << 20  # entries (user, i, j) at a time on a CPU


def debiased_pairs(
    synthetic_ranks: RankingsLike, epsilon: Numbers, *, weights: str = "variance"
) -> Estimate:
    """The share of users who rank i before j, from synthetic rankings, with standard errors.

    Feeds every consensus of :mod:`privrank_jax.aggregation` (``kemeny`` asks for ``w - w.min()``, which has the same
    best rankings), and the fits of :mod:`privrank_jax.pairwise` through ``DebiasedSums(total * (w - 1/2), total)``,
    ``total`` and w as below, the diagonal 0.

    Args:
        synthetic_ranks: ``(n, m)`` integers, one draw of :func:`~privrank_jax.mallows.sample` for each user, 0 = best,
            negative for items that the user didn't rank.
        epsilon: ε > 0 of the draws, one number or ``(n,)``; may be traced (then every user has a kernel of their own).
        weights: of users, ``"variance"`` or ``"equal"``, see the head of this module.

    Returns:
        Estimate of w ``(m, m)``, w_ij + w_ji = 1, diagonal 0, entries outside [0, 1] where noise is large, 1/2 for a
        pair that no user ranked; the guarantee of the rankings; :class:`DebiasedDiagnostics`.

    Raises:
        ValueError: ε <= 0 or NaN; shapes that don't fit; ranks that are not a ranking of the ranked items; an ε
            so small that single pairs are lost to rounding (:func:`~privrank_jax.mallows.debiasing_kernel`).

    >>> found = debiased_pairs([[0, 1], [0, 1], [1, 0]], jnp.log(3.0))
    >>> round(float(found.value[0, 1]), 3)  # 1/2 + (2/3 - 1/2)/tanh(ε/2)
    0.833
    """
    ranks, epsilon = _checked(synthetic_ranks, epsilon, weights)
    counts = jnp.sum(ranks >= 0, axis=1)
    levels, sizes, which = as_levels(epsilon, counts)
    kernels = _kernels(levels, sizes, ranks.shape[1])
    refuse_lost(kernels, levels, sizes)
    value, diagnostics = _pairs(ranks, kernels, sizes, which, weights == "equal")
    largest = jnp.max(jax.vmap(rounding)(kernels, sizes))
    diagnostics = dataclasses.replace(diagnostics, rounding=largest)
    return Estimate(value, synthetic_guarantee(jnp.maximum(counts, 1), epsilon), diagnostics)


def debiased_borda(
    synthetic_ranks: RankingsLike,
    epsilon: Numbers,
    *,
    weights: str = "variance",
    missing: str = "last",
) -> Estimate:
    """Unbiased Borda scores of the users' own rankings: how many items the average user ranks behind each.

    Args:
        synthetic_ranks: as :func:`debiased_pairs`.
        epsilon: as :func:`debiased_pairs`; no ε > 0 is too small.
        weights: as :func:`debiased_pairs`.
        missing: items not ranked come ``"last"``, tied, or give and get half a point in each of their pairs
            (``"unknown"``), the rule of :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.

    Returns:
        Estimate of the scores ``(m,)``, as :func:`~privrank_jax.aggregation.borda_scores` of the users' own weights,
        and outside [0, m-1] where noise is large; the guarantee of the rankings; :class:`DebiasedDiagnostics`.

    Raises:
        ValueError: as :func:`debiased_pairs`, except for small ε.

    >>> scores = debiased_borda([[0, 1], [0, 1], [1, 0]], jnp.log(3.0)).value
    >>> [round(score, 3) for score in scores.tolist()]
    [0.833, 0.167]
    """
    check_choice("missing", missing, MISSING_RULES)
    ranks, epsilon = _checked(synthetic_ranks, epsilon, weights)
    value, diagnostics = _borda(ranks, epsilon, missing == "last", weights == "equal")
    counts = jnp.maximum(jnp.sum(ranks >= 0, axis=1), 1)
    return Estimate(value, synthetic_guarantee(counts, epsilon), diagnostics)


@functools.partial(jax.jit, static_argnames=("last", "equal"))
def _borda(
    ranks: Array, epsilon: Array, last: bool, equal: bool
) -> tuple[Scores, DebiasedDiagnostics]:
    items = ranks.shape[1]
    known = ranks >= 0
    count = jnp.sum(known, axis=1, keepdims=True)
    own = jax.vmap(unbiased_ranks_of)(ranks, epsilon)
    ahead = jnp.where(last, items - count, 0.5 * (items - count))  # of the items not ranked
    behind = jnp.where(last, 0.5 * (items - count - 1), 0.5 * (items - 1))
    scores = jnp.where(known, count - 1 - own + ahead, behind)
    # A user's scores are the same set of numbers in every draw, so weights based on them don't depend on the data.
    square = jnp.mean(jnp.square(scores - 0.5 * (items - 1)), axis=1, keepdims=True)
    most = jnp.min(jnp.where(square == 0, jnp.inf, square))  # relative to it nothing underflows
    weight = jnp.where(square == 0, 0, most / jnp.where(square == 0, 1, square))
    weight = jnp.ones_like(weight) if equal else weight
    total = jnp.sum(weight)
    safe = jnp.where(total == 0, 1, total)
    mean = jnp.where(total == 0, 0.5 * (items - 1), jnp.sum(weight * scores, axis=0) / safe)
    squares = jnp.sum(jnp.square(weight * (scores - mean)), axis=0)
    like = jnp.square(total) / jnp.maximum(jnp.sum(jnp.square(weight)), 1e-30)
    moved = jnp.where(known, own, 0)
    spread = jnp.sum(jnp.square(moved) - jnp.square(jnp.maximum(ranks, 0)), axis=1)
    variance = jnp.maximum(spread, 0) / jnp.maximum(count[:, 0], 1)
    return mean, DebiasedDiagnostics(_errors(squares, like, safe), like, variance)


@functools.partial(jax.jit, static_argnames=("items",))
def _kernels(epsilon: Array, counts: Array, items: int) -> Array:
    entries = (items + 1) ** 2
    size = at_once(_BLOCK // entries, entries * epsilon.dtype.itemsize)
    return jax.lax.map(lambda level: kernel_of(items, *level), (epsilon, counts), batch_size=size)


@functools.partial(jax.jit, static_argnames=("equal",))
def _pairs(
    ranks: Array, kernels: Array, sizes: Array, which: Array, equal: bool
) -> tuple[PairMatrix, DebiasedDiagnostics]:
    items = ranks.shape[1]
    square = jax.vmap(mean_square)(kernels, sizes)  # 0 for users of one item: they add nothing
    weight = jnp.where(square == 0, 0, 1 / jnp.where(square == 0, 1, square))
    weight = jnp.where(sizes > 1, 1.0, 0.0).astype(kernels.dtype) if equal else weight

    def user(one: tuple[Array, Array]) -> Array:
        row, level = one
        place = jnp.maximum(row, 0)
        known = pairs_of(row >= 0)
        sign = jnp.where(known, kernels[level][place[:, None], place[None, :]], 0)
        own = weight[level]
        kept = own * known
        parts = [kept, kept * sign, own * kept, own * kept * sign, own * kept * sign**2]
        return jnp.stack([part.astype(kernels.dtype) for part in parts])

    total, lean, twice, cross, spread = _summed(user, ranks, which)
    safe = jnp.where(total == 0, 1, total)
    mean = lean / safe  # of k, antisymmetric
    off = ~jnp.eye(items, dtype=bool)
    value = jnp.where(off, 0.5 * (1 + mean), 0)
    squares = jnp.maximum(spread - 2 * mean * cross + mean**2 * twice, 0)
    like = jnp.where(twice == 0, 0, jnp.square(total) / jnp.where(twice == 0, 1, twice))
    errors = 0.5 * _errors(squares, like, safe)
    variance = jnp.maximum(square - 1, 0)[which]
    return value, DebiasedDiagnostics(jnp.where(off, errors, 0), like, variance)


def _errors(squares: Array, like: Array, total: Array) -> Array:
    """Standard errors from ``squares`` = Σ ω² (x - mean)² and ``total`` = Σ ω, for as many as ``like`` equal users.

    The factor is n/(n-1) of a sample variance, n = ``like``: where few users outweigh the rest, they pull the mean
    toward themselves. Infinite where that is a single user.
    """
    beyond = like - 1
    alone = beyond <= 1e-6
    spread = square_root(squares * like / jnp.where(alone, 1, beyond))
    return jnp.where(alone, jnp.inf, spread / total)


def _summed(
    user: Callable[[tuple[Array, Array]], Array], ranks: Int[Array, "users items"], which: Array
) -> Float[Array, "5 items items"]:
    """Σ over users of ``user((ranks, level))``, a block of users at a time."""
    users, items = ranks.shape
    entries = 5 * items * items
    block = min(users, at_once(_BLOCK // entries, entries * jnp.result_type(float).itemsize))
    fill = -users % block
    ranks = jnp.pad(ranks, ((0, fill), (0, 0)), constant_values=MISSING)  # who ranked nothing
    which = jnp.pad(which, (0, fill))
    blocks = ranks.reshape(-1, block, items), which.reshape(-1, block)
    return jnp.sum(jax.lax.map(lambda one: jnp.sum(jax.vmap(user)(one), axis=0), blocks), axis=0)


def _checked(
    ranks: RankingsLike, epsilon: Numbers, weights: str
) -> tuple[Int[Array, "users items"], Float[Array, "users"]]:
    """Synthetic ranks ``(n, m)`` and ε ``(n,)``; ``ValueError`` for anything else."""
    check_choice("weights", weights, WEIGHTS)
    epsilon = check_epsilon(epsilon)
    ranks = signed_ranks(check_ranks(ranks, "synthetic_ranks", "users", "items"))
    check_shape("epsilon", epsilon, (), ranks.shape[:1])
    return ranks, jnp.broadcast_to(as_float(epsilon), ranks.shape[:1])

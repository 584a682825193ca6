"""Worlds of randomized reports (Xu, Sun and Cheng): one uniform per report, summed as the reports are drawn.

Observation, answer and flip share one uniform. Users are drawn in blocks and only sums over users are kept. With JAX's
default generator the first users are the same for any total number, and the same key draws the same uniforms for all
scores, links and ε: under ``vmap`` over those with one key, all variants share one set of draws.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import ArrayLike, DTypeLike, Float, Real

from privrank_jax._backend import sum_of_parts
from privrank_jax._types import Count, Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_epsilon, check_shape, is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.debiased_fit import DebiasedSums, num_items, total
from privrank_jax.simulate.worlds.comparisons import padded_size

_EpsilonsLike: TypeAlias = Real[ArrayLike, "users"] | Sequence[float]

BLOCK = 64  # users of one key: another number draws other reports
_BYTES = 8  # numbers of the working set, for each user and pair


def uniform_scores(
    key: Key, num_items: Count, max_items: int | None = None, dtype: DTypeLike | None = None
) -> tuple[Scores, Mask]:
    """Draw true scores θ_i ~ Unif(-1, 1), then center them.

    Arguments, results and errors as of :func:`cai_scores`.

    Source: Xu, Sun and Cheng, section 5.1.

    >>> scores, mask = uniform_scores(jax.random.key(0), 5)
    >>> bool(abs(scores.sum()) < 1e-5), mask.tolist()
    (True, [True, True, True, True, True])
    """
    max_items = padded_size("num_items", num_items, "max_items", max_items)
    dtype = jnp.result_type(float) if dtype is None else jnp.dtype(dtype)
    mask = jnp.arange(max_items) < num_items
    theta = jnp.where(mask, jax.random.uniform(fused(key), (max_items,), dtype, -1, 1), 0)
    return jnp.where(mask, theta - theta.sum() / jnp.asarray(num_items, dtype), 0), mask


def pair_chances(scores: ScoresLike, link: str | Link = "logistic") -> Float[Array, "pairs"]:
    """F(θ_i - θ_j) of the pairs i < j.

    Args:
        scores: ``(m,)`` θ.
        link: F.

    Returns:
        ``(m(m-1)/2,)`` in the order of ``np.triu_indices(m, 1)``, in the dtype of the scores.

    >>> pair_chances([0.0, 0.0, 0.0]).tolist()
    [0.5, 0.5, 0.5]
    """
    scores = jnp.asarray(scores)
    first, second = np.triu_indices(scores.shape[0], 1)
    return get_link(link).cdf(scores[first] - scores[second])


def draw_report_sums(
    key: Key,
    chances: Real[ArrayLike, "pairs"],
    epsilon: _EpsilonsLike,
    num_users: Count | None = None,
    probability: Scalar = 1.0,
    mask: MaskLike | None = None,
) -> DebiasedSums:
    """Draw the adaptive, debiased sums of users who randomize their answers at their own ε.

    Each answer, 1 with the given chance, is asked for with probability p, by randomized response: one uniform per
    report is below p q where it says 1, q = 1/2 + (F - 1/2) tanh(ε/2), between p q and p where it says 0, else above.

    Args:
        key: PRNG key.
        chances: F of each pair, ``(m(m-1)/2,)``, see :func:`pair_chances`.
        epsilon: ε_l > 0, ``(L,)``.
        num_users: how many of the first users count, may be traced; None for all.
        probability: p in [0, 1], may be traced.
        mask: ``(m,)`` bool, real items; None for all.

    Returns:
        The sums in the dtype of the chances.

    Raises:
        ValueError: ε <= 0 or NaN, p outside [0, 1], shapes that don't fit.

    >>> sums = draw_report_sums(jax.random.key(0), jnp.array([1.0]), jnp.full(10, jnp.inf))  # all prefer item 0
    >>> sums.margins.tolist(), sums.weights.tolist()
    ([[0.0, 5.0], [-5.0, 0.0]], [[0.0, 10.0], [10.0, 0.0]])
    """
    chances, epsilon = _checked(chances, epsilon, probability, mask)
    num_users = epsilon.shape[0] if num_users is None else num_users
    margins, weights = _summed(_reports, key, chances, epsilon, num_users, probability)
    return DebiasedSums.from_pairs(margins, weights, mask)


class MechanismSums(NamedTuple):
    """Sums of the methods of Scenario V on the same answers."""

    adaptive: DebiasedSums  # reports by randomized response, debiased and weighted
    plain: DebiasedSums  # the same reports without debiasing, each of weight 1
    laplace: DebiasedSums  # answers plus Laplace(1/ε_l) noise, each of weight 1
    wins: WinCounts  # the true answers, as a trusted curator would hold them


def mechanism_sums(
    key: Key,
    chances: Real[ArrayLike, "pairs"],
    epsilon: _EpsilonsLike,
    num_users: Count | None = None,
    probability: Scalar = 1.0,
    mask: MaskLike | None = None,
) -> MechanismSums:
    """Draw sums of several mechanisms on the same answers; arguments and errors as of :func:`draw_report_sums`.

    The uniform u of a report is below p F where the answer is 1. Given the answer, its position within its interval is
    again uniform: it decides whether the report is flipped, and is the quantile of the Laplace noise. So the noises of
    the mechanisms are coupled, but each has the right distribution.

    Returns:
        Sums for each.

    >>> sums = mechanism_sums(jax.random.key(0), jnp.array([1.0]), jnp.full(10, 5.0))
    >>> float(sums.plain.weights[0, 1]), float(sums.wins.matrix.sum())
    (10.0, 10.0)
    """
    chances, epsilon = _checked(chances, epsilon, probability, mask)
    num_users = epsilon.shape[0] if num_users is None else num_users
    every = _summed(_mechanisms, key, chances, epsilon, num_users, probability)
    lean, weight, code, asked, noisy, truth = every
    wins = DebiasedSums.from_pairs(truth, asked, mask)
    return MechanismSums(
        DebiasedSums.from_pairs(lean, weight, mask),
        DebiasedSums.from_pairs(code, asked, mask),
        DebiasedSums.from_pairs(noisy, asked, mask),
        WinCounts(wins.wins, wins.mask),
    )


@functools.partial(jax.jit, static_argnums=0)
def _summed(
    sums: Callable[..., tuple[Array, ...]],
    key: Key,
    chances: Float[Array, "pairs"],
    epsilon: Float[Array, "users"],
    num_users: Count,
    probability: Scalar,
) -> tuple[Array, ...]:
    """The sums of a block of uniforms, tanh(ε/2) and who counts, added up over blocks of users."""
    key = fused(key)
    count = -(-epsilon.shape[0] // BLOCK)
    tanh = jnp.pad(jnp.tanh(0.5 * epsilon), (0, count * BLOCK - epsilon.shape[0]))
    user = jnp.arange(count * BLOCK)
    counts = (user < num_users) & (user < epsilon.shape[0])

    def of_block(block: tuple[Array, ...]) -> tuple[Array, ...]:
        index, *rest = block
        shape = (BLOCK, len(chances))
        uniform = jax.random.uniform(jax.random.fold_in(key, index), shape, tanh.dtype)
        return sums(uniform, *rest, chances, probability)

    blocks = jnp.arange(count), tanh.reshape(count, BLOCK), counts.reshape(count, BLOCK)
    return sum_of_parts(of_block, blocks, _BYTES * BLOCK * chances.nbytes)


def _reports(
    uniform: Array, tanh: Array, counts: Array, chances: Array, probability: Scalar
) -> tuple[Array, ...]:
    asked = uniform < probability
    says = uniform < probability * (0.5 + tanh[:, None] * (chances - 0.5))
    code = jnp.where(says, 0.5, jnp.where(asked, -0.5, 0.0)).astype(tanh.dtype)
    tanh = jnp.where(counts, tanh, 0)
    return total(tanh, code), total(tanh * tanh, asked.astype(tanh.dtype))


def _mechanisms(
    uniform: Array, tanh: Array, counts: Array, chances: Array, probability: Scalar
) -> tuple[Array, ...]:
    dtype = tanh.dtype
    asked = (uniform < probability) & counts[:, None]
    answer = uniform < probability * chances
    low = jnp.where(answer, 0, probability * chances)
    width = probability * jnp.where(answer, chances, 1 - chances)
    tiny = jnp.finfo(dtype).eps
    place = jnp.clip((uniform - low) / width, tiny, 1 - tiny)
    says = answer ^ (place < 0.5 - 0.5 * tanh[:, None])
    # ε = 2 artanh t; the clip above truncates Laplace noise at 15/ε in float32.
    scale = 0.5 / jnp.arctanh(tanh[:, None])
    noise = -scale * jnp.sign(place - 0.5) * jnp.log1p(-2 * jnp.abs(place - 0.5))
    code = jnp.where(asked, says - 0.5, 0).astype(dtype)
    truth = jnp.where(asked, answer - 0.5, 0).astype(dtype)
    noisy = jnp.where(asked, truth + noise, 0)  # padding has ε = 0: its noise is not finite
    weight, one = asked.astype(dtype), jnp.ones_like(tanh)
    first = total(tanh, code), total(tanh * tanh, weight)
    return *first, *(total(one, values) for values in (code, weight, noisy, truth))


def _checked(
    chances: Real[ArrayLike, "pairs"],
    epsilon: _EpsilonsLike,
    probability: Scalar,
    mask: MaskLike | None,
) -> tuple[Float[Array, "pairs"], Float[Array, "users"]]:
    epsilon = check_epsilon(epsilon)
    chances = jnp.asarray(chances)
    items = num_items(chances.shape[0]) if chances.ndim == 1 else 0
    masked = (items,) if mask is None else np.shape(mask)
    if items < 2 or masked != (items,):
        raise ValueError(
            f"chances must hold m(m-1)/2 pairs and mask m items, got {chances.shape} and {masked}"
        )
    check_shape("epsilon", epsilon, ("users",))
    if not is_traced(probability) and not 0 <= probability <= 1:
        raise ValueError(f"probability must lie in [0, 1], got {probability}")
    return chances, jnp.asarray(epsilon, chances.dtype)

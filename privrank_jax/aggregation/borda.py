r"""Borda: the order of the items by how many others each beats; private in the central and in the local model.

**Sensitivity.** s_i = Σ_j w_ij is the mean over the n users of the scores x_i that each gives: of every pair, 1 to the
item ranked first, or 1/2 to each where it is tied or not known. So x belongs to a fractional tournament: it sums to
m(m-1)/2, and over any k items to at least k(k-1)/2 (the pairs among them alone). These inequalities describe the
permutohedron, the convex hull of the permutations of (0, 1, ..., m-1) (Rado 1952). A norm of x - y is convex in (x, y),
so over the permutohedron it is largest where both are permutations; there ‖x - y‖₂² = 2‖x‖² - 2xᵀy is largest where
one reverses the other, and so is ‖x - y‖₁ (exchanging two places in like order in x and y never decreases it). Hence
replacing one user moves the score vector by at most

    ℓ₁: Σ_i |m-1-2i|/n = ⌊m²/2⌋/n,        ℓ₂: √(Σ_i (m-1-2i)²)/n = √(m(m²-1)/3)/n,

attained by a ranking and its reversal, ties and gaps or not. For the same reason the centered scores x - (m-1)/2 of one
user lie in the ball of radius √(m(m²-1)/12), on whose surface full rankings lie, and sum to 0.

How good the ranking by such scores is: :mod:`privrank_jax.aggregation.borda_theorem`, K ≤ 5·OPT + 2‖e‖₁.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import (
    check_choice,
    check_delta,
    check_epsilon,
    check_square,
    check_users,
    is_traced,
)
from privrank_jax.aggregation.weights import MISSING, gaps_last
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import is_pure, noise_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.vectors import VECTOR_MECHANISMS, report_norm, report_vectors

Array = jax.Array


def borda_scores(w: Any, mask: Any = None) -> Array:
    """s_i = Σ_j w_ij: how many other items the users, on average, rank behind item i.

    Args:
        w: ``(m, m)`` weights, see :func:`~privrank_jax.aggregation.pairwise_weights`, noisy ones too.
        mask: ``(m,)`` bool, real items; pairs with others don't count.

    Returns:
        ``(m,)``, dtype of w, high = preferred; sort them with ``rankings.ranks_from_scores(scores, mask)``.

    Raises:
        ValueError: w not square, a mask of another shape.

    >>> borda_scores([[0.0, 1.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]]).tolist()
    [2.0, 0.5, 0.5]
    """
    w, mask = checked_weights(w, mask)
    return _borda_scores(w, mask)


def user_scores(ranks: Any, *, missing: str = "last") -> Array:
    """The Borda scores that each user gives: items ranked behind, ties and unknown pairs half.

    Args:
        ranks: ``(..., m)`` integers, 0 = best, equal ranks ties, negative ones items not ranked.
        missing: ``"last"`` or ``"unknown"``, as for :func:`~privrank_jax.aggregation.pairwise_weights`.

    Returns:
        ``(..., m)``, JAX's default float; the mean over users is ``borda_scores(pairwise_weights(ranks))``.

    Raises:
        ValueError: no items, ranks that are no integers, an unknown rule.

    >>> user_scores([[0, 1, 2], [0, -1, -1]]).tolist()
    [[2.0, 1.0, 0.0], [2.0, 0.5, 0.5]]
    """
    check_choice("missing", missing, MISSING)
    return _user_scores(checked_ranks(ranks), missing)


def borda_sensitivity(num_items: Any, order: int = 1) -> Any:
    """How far replacing one user moves n times the Borda scores, in ℓ₁ or ℓ₂; the proof heads this module.

    Args:
        num_items: m, may be traced.
        order: 1 or 2.

    >>> borda_sensitivity(5), borda_sensitivity(2, 2) ** 2
    (12.0, 2.0000000000000004)
    """
    xp = jnp if is_traced(num_items) else np
    largest = (
        xp.floor(num_items**2 / 2) if order == 1 else xp.sqrt(num_items * (num_items**2 - 1) / 3)
    )
    return largest if is_traced(num_items) else largest.item()


def dp_borda(
    key: Array,
    w: Any,
    *,
    num_users: Any,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    mask: Any = None,
) -> Estimate:
    """Borda scores plus noise.

    **Guarantee.** ε-DP (Laplace) at ``delta=0``, else (ε, δ)-DP (Gaussian, analytic calibration); unit user, adjacency
    replace; sensitivities and their proof head this module.

    Args:
        key: PRNG key.
        w: ``(m, m)`` weights of n users, see :func:`~privrank_jax.aggregation.pairwise_weights`.
        num_users: n >= 1, public, may be traced.
        epsilon: ε > 0, may be traced; ∞ adds no noise.
        delta: 0 for Laplace noise, δ in (0, 1) for Gaussian noise; a traced δ must be positive.
        mask: ``(m,)`` bool, real items, public; their number sets the sensitivity.

    Returns:
        ``value``: noisy scores ``(m,)``, dtype of w, in items beaten, high = preferred; 0 for masked items;
        ``rankings.ranks_from_scores(value, mask)`` sorts them. ``guarantee``. ``diagnostics``:
        ``{"noise_scale": λ or σ}``, public.

    Raises:
        ValueError: ε <= 0, δ out of range, n < 1, w not square.

    >>> w = jnp.array([[0.0, 0.9, 0.9], [0.1, 0.0, 0.8], [0.1, 0.2, 0.0]])
    >>> scores = dp_borda(jax.random.key(0), w, num_users=1000, epsilon=1.0).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """
    w, mask = checked_weights(w, mask)
    check_epsilon(epsilon)
    check_delta(delta)
    check_users(num_users)
    items = w.shape[0] if mask is None else jnp.sum(mask)
    scale = dp_borda_scale(items, num_users, epsilon, delta)
    noise = "laplace" if is_pure(delta) else "gaussian"
    value = _noisy_scores(key, w, mask, scale, noise)
    return Estimate(
        value,
        Guarantee(Privacy(epsilon, unit="user", adjacency="replace", delta=delta)),
        {"noise_scale": scale},
    )


def dp_borda_scale(num_items: Any, num_users: Any, epsilon: Any = 1.0, delta: Any = 0.0) -> Any:
    """Laplace scale (``delta=0``) or standard deviation of the noise on each score, in items beaten.

    Args: as :func:`dp_borda`; ``num_items`` may be traced; one item, without any pair, counts as two.

    >>> dp_borda_scale(10, 1000, epsilon=0.5)
    0.1
    """
    traced = is_traced(num_items)
    num_items = jnp.maximum(num_items, 2) if traced else max(np.asarray(num_items).item(), 2)
    first, second = borda_sensitivity(num_items), borda_sensitivity(num_items, 2)
    return noise_scale(first / num_users, second / num_users, epsilon, delta)


def ldp_borda(
    key: Array,
    ranks: Any,
    epsilon: Any = 1.0,
    mechanism: str = "duchi",
    *,
    missing: str = "last",
) -> Estimate:
    """Borda scores from one report per user, with nothing sent back: local and non-interactive.

    Simulates all users at once: :func:`ldp_borda_report` for each, then :func:`ldp_borda_aggregate`.

    **Guarantee.** ε-DP in the local model, unit user, adjacency replace: each user reports the centered scores, m
    numbers that sum to 0, once by an ε-local mechanism for vectors (:mod:`privrank_jax.privacy.vectors`); the number
    of dimensions paid for is m - 1.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best, m >= 2; ties and items not ranked as for :func:`user_scores`.
        epsilon: ε > 0, may be traced; ∞ reports the scores themselves.
        mechanism: ``"duchi"`` or ``"privunit"`` (less error, the more so the larger ε).
        missing: rule for items not ranked.

    Returns:
        ``value``: unbiased scores ``(m,)``, in items beaten, high = preferred. ``guarantee``. ``diagnostics``:
        ``{"report_norm": B}``, public.

    Raises:
        ValueError: ε <= 0, fewer than 2 items, ranks that are no integers, unknown names.

    >>> ranks = jnp.tile(jnp.arange(3), (4000, 1))
    >>> scores = ldp_borda(jax.random.key(0), ranks, epsilon=1.0).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """
    ranks = checked_ranks(ranks)
    if ranks.ndim != 2 or 0 in ranks.shape:
        raise ValueError(f"ranks must have shape (users, items), got {ranks.shape}.")
    reports = ldp_borda_report(key, ranks, epsilon, mechanism, missing=missing)
    norm = report_norm(mechanism, ranks.shape[1] - 1, epsilon, score_radius(ranks.shape[1]))
    guarantee = Guarantee(Privacy(epsilon, unit="user", adjacency="replace"), trust="local")
    return Estimate(ldp_borda_aggregate(reports), guarantee, {"report_norm": norm})


def ldp_borda_report(
    key: Array,
    ranks: Any,
    epsilon: Any = 1.0,
    mechanism: str = "duchi",
    *,
    missing: str = "last",
) -> Array:
    """What one user sends: the centered Borda scores, randomized; ``(m,)`` for ranks ``(m,)``.

    ε-local DP by itself; the numbers drawn for simulation are not fit to protect real users, see
    :mod:`privrank_jax.release`. Args as :func:`ldp_borda`; users ``(n, m)`` draw independent reports.
    """
    ranks = checked_ranks(ranks)
    check_choice("mechanism", mechanism, VECTOR_MECHANISMS)
    items = ranks.shape[-1]
    if items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to report.")
    centered = user_scores(ranks, missing=missing) - (items - 1) / 2
    radius = score_radius(items)
    return report_vectors(key, centered, epsilon, radius, mechanism=mechanism, zero_sum=True)


@jax.jit
def ldp_borda_aggregate(reports: Array) -> Array:
    """What the server makes of the reports ``(n, m)``: unbiased scores ``(m,)``, in items beaten."""
    return jnp.mean(reports, axis=0) + (reports.shape[-1] - 1) / 2


def score_radius(num_items: int) -> float:
    """√(m(m²-1)/12), the norm of the centered scores of a full ranking; no user's are longer.

    >>> score_radius(3) ** 2
    2.0000000000000004
    """
    return math.sqrt(num_items * (num_items**2 - 1) / 12)


@jax.jit
def _borda_scores(w: Array, mask: Array | None) -> Array:
    keep = ~jnp.eye(w.shape[0], dtype=bool)
    if mask is not None:
        keep &= mask[:, None] & mask
    return jnp.sum(jnp.where(keep, w, 0), axis=1)


@functools.partial(jax.jit, static_argnames=("missing",))
def _user_scores(ranks: Array, missing: str) -> Array:
    items = ranks.shape[-1]
    known, ranks = gaps_last(ranks)

    @functools.partial(jnp.vectorize, signature="(m)->(m)")
    def twice_at_or_ahead(ranks: Array) -> Array:
        ordered = jnp.sort(ranks)
        ahead = jnp.searchsorted(ordered, ranks, side="left")
        return ahead + jnp.searchsorted(ordered, ranks, side="right")

    scores = items - 0.5 * (twice_at_or_ahead(ranks) + 1).astype(jnp.result_type(float))
    if missing == "unknown":
        number = jnp.sum(known, axis=-1, keepdims=True)
        scores += 0.5 * jnp.where(known, number - items, number)
    return scores


@functools.partial(jax.jit, static_argnames=("noise",))
def _noisy_scores(key: Array, w: Array, mask: Array | None, scale: Any, noise: str) -> Array:
    draw = laplace if noise == "laplace" else gaussian
    noisy = _borda_scores(w, mask) + draw(key, w.shape[:1], scale, w.dtype)
    return noisy if mask is None else jnp.where(mask, noisy, 0)


def checked_ranks(ranks: Any) -> Array:
    """Ranks as an integer array ``(..., m)``; ``ValueError`` for anything else."""
    ranks = jnp.asarray(ranks)
    if not jnp.issubdtype(ranks.dtype, jnp.integer):
        raise ValueError(f"ranks must be integers, got {ranks.dtype}.")
    if ranks.ndim < 1 or ranks.shape[-1] < 1:
        raise ValueError(f"ranks must have shape (..., items), at least one, got {ranks.shape}.")
    return ranks


def checked_weights(w: Any, mask: Any = None) -> tuple[Array, Array | None]:
    """Weights as a float array, and the mask as booleans; ``ValueError`` where shapes don't fit, or w isn't finite."""
    check_square("w", w)
    w = jnp.asarray(w)
    if w.ndim != 2:
        raise ValueError(f"w must have shape (m, m), got {w.shape}: use jax.vmap for a batch.")
    if not jnp.issubdtype(w.dtype, jnp.floating):
        w = w.astype(jnp.result_type(float))
    # Half precision can't hold sums of weights.
    w = w.astype(jnp.promote_types(w.dtype, jnp.float32))
    mask = None if mask is None else jnp.asarray(mask, bool)
    if mask is not None and mask.shape != w.shape[:1]:
        raise ValueError(
            f"mask must have shape {w.shape[:1]}, one entry per item, got {mask.shape}."
        )
    if not is_traced(w, mask):
        keep = slice(None) if mask is None else np.asarray(mask)
        if not np.all(np.isfinite(np.asarray(w)[keep][:, keep])):
            raise ValueError("w must be finite: count the rankings again, see pairwise_weights.")
    return w, mask

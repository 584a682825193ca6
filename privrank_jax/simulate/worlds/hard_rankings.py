r"""Rankings that hide a vector of signs: the instances behind the lower bounds (Theorems 13 and 14).

π^x_{d,t} ranks m = 2d + t items: d on the left, t in the middle, d on the right. It starts from the identity and
exchanges item j with item j + d + t where x_j = +1, so a sign is visible in which side of the middle an item is on. ρ
reads the signs back from any ranking: ρ_j = -1 where j stands before j + d + t, +1 otherwise; ρ(π^x) = x.

**The sign convention.** The paper's formula exchanges where x_j = -1, its text where x_j = +1, and with its ρ only
the text has ρ(π^x) = x, which Observation 15 needs. We follow the text.

**Observation 15.** K(σ, {π^{x¹}, ..., π^{xⁿ}}) ≥ t(d - ⟨ρ(σ), x̄⟩)/2, x̄ the mean of the xⁱ: a sign that σ gets wrong
costs at least one inversion with each of the middle items, wherever they are. The two items are also inverted with each
other, so the bound holds with t + 1.

**Observation 16**, as printed, K(π^y, {π^{xⁱ}}) ≤ t(d - ⟨y, x̄⟩)/2 + 2d², is wrong: j *and* j + d + t both cross the
middle, so a differing sign costs 2t there. For d = 1, y ≠ x: K = 2t + 1 > t + 2 once t ≥ 2. What holds is

    K(π^y, {π^{xⁱ}}) ≤ t(d - ⟨y, x̄⟩) + d(2d - 1),

where the last term is the number of pairs of outer items. Theorem 14 survives with α replaced by 2α in the choice of
its constants, see :func:`privrank_jax.aggregation.lower_bounds.approximate_lower_bound`; Theorem 13 uses Observation 15
alone.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), section 5 and supplement B.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Integer, Real

from privrank_jax._validate import as_ranks, is_traced


def hard_ranking(
    signs: Real[ArrayLike, "*batch d"] | Sequence[int], num_middle: int
) -> Int[Array, "*batch items"]:
    """π^x_{d,t}: ranks of 2d + t items, from d signs.

    Args:
        signs: x, ``(..., d)``, entries +1 and -1.
        num_middle: t >= 0, static.

    Returns:
        ``(..., 2d + t)`` int32, 0 = best.

    Raises:
        ValueError: entries other than ±1, t < 0.

    >>> hard_ranking([1, -1], 1).tolist()
    [3, 1, 2, 0, 4]
    """
    given = jnp.asarray(signs)
    if given.ndim < 1 or num_middle < 0:
        raise ValueError(f"signs must have shape (..., d) and t be at least 0, got {given.shape}.")
    if not is_traced(given) and not np.all(np.abs(np.asarray(given)) == 1):
        raise ValueError("signs must be +1 or -1.")
    half = given.shape[-1]
    shift = half + num_middle
    left = jnp.arange(half, dtype=jnp.int32)
    middle = jnp.arange(half, shift, dtype=jnp.int32)
    middle = jnp.broadcast_to(middle, (*given.shape[:-1], num_middle))
    kept, moved = jnp.where(given > 0, left + shift, left), jnp.where(given > 0, left, left + shift)
    return jnp.concatenate([kept, middle, moved], axis=-1)


def hidden_signs(
    ranks: Integer[ArrayLike, "*batch items"] | Sequence[int], num_signs: int
) -> Int[Array, "*batch d"]:
    """ρ_{d,t}: the signs that a ranking of 2d + t items encodes.

    Args:
        ranks: ``(..., 2d + t)``, 0 = best.
        num_signs: d, static.

    Returns:
        ``(..., d)`` ±1 int32.

    Raises:
        ValueError: fewer than one sign, or fewer than two items for each.

    >>> hidden_signs([3, 1, 2, 0, 4], 2).tolist()
    [1, -1]
    """
    given = as_ranks(ranks)
    size = given.shape[-1]
    if not 1 <= 2 * num_signs <= size:
        raise ValueError(f"{size} items can't hide {num_signs!r} signs: two each needed.")
    left, right = given[..., :num_signs], given[..., -num_signs:]
    return jnp.where(left < right, -1, 1).astype(jnp.int32)


def hidden_cost_bounds(
    signs: Real[ArrayLike, "*batch d"] | Sequence[int],
    mean_signs: Real[ArrayLike, "*means d"] | Sequence[float],
    num_middle: int,
    *,
    published: bool = False,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The smallest and largest Kemeny scores that Observations 15 and 16 allow.

    Args:
        signs: ρ(σ) for the lower bound, y for the upper bound, which is that of π^y; ``(..., d)``.
        mean_signs: x̄, ``(..., d)``.
        num_middle: t.
        published: the bounds as printed; the upper one does not hold.

    Returns:
        t(d - ⟨ρ, x̄⟩)/2 (with t + 1 in place of t unless published), t(d - ⟨y, x̄⟩) + d(2d - 1), each ``(...)``.

    >>> low, high = hidden_cost_bounds([1, -1], [0.5, -1.0], 4)
    >>> float(low), float(high)  # (t + 1)/4 and t/2 + 6
    (1.25, 8.0)
    """
    given = jnp.asarray(signs)
    half = given.shape[-1]
    wrong = 0.5 * (half - jnp.sum(given * jnp.asarray(mean_signs), axis=-1))
    if published:
        return num_middle * wrong, num_middle * wrong + 2 * half**2
    return (num_middle + 1) * wrong, 2 * num_middle * wrong + half * (2 * half - 1)

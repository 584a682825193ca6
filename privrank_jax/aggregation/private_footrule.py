r"""Private footrule costs: noise on counts of positions, and any assignment of least noisy cost.

The costs C_jp = Σ_q h_jq·\|q - p\| are linear in the position histograms (:mod:`privrank_jax.aggregation.footrule`),
and only their differences within a row matter. These are prefix counts: C_j,p+1 - C_jp = 2F_jp - 1, with F_jp the share
of users who have item j at place p or before. A user with ties or unknown items is a mean over positions in each row.
C_j0 = Σ_p (1 - F_jp), so the costs of a row are a function of its m - 1 prefix counts; what is published is that
function of noisy counts, the mean of a row included, since it depends on the data as well.

**What one user changes.** In a row, n·F changes by a vector y_j with entries in [-1, 1]. For full rankings Σ_p \|y_jp\|
is \|π(j) - π'(j)\|, and Σ_j of it at most ⌊m²/2⌋, for a ranking and its reversal. The same holds with ties: as entries
of a row change from 0 to 1 at the user's position (by halves around q + 1/2), Σ_p \|y_jp\| is the distance of the two
positions; positions are points of the permutohedron, and Σ_j of the distances is convex, so largest at vertices, which
are full rankings (:mod:`privrank_jax.aggregation.borda`). With unknown items y is a mean of two such vectors.

**Gaussian noise** (``noise="gaussian"``). \|y\| ≤ 1 gives y² ≤ \|y\|, so ‖y‖₂² ≤ ⌊m²/2⌋, attained by the reversal. So
independent noise of σ = √⌊m²/2⌋/(μn) on all F, with μ the largest sensitivity that is (ε, δ)-DP at σ = 1, is (ε, δ)-DP,
and no smaller σ is. This is the square-root factorization of the distances: F is the embedding x of places with
‖x_p - x_q‖² = \|p - q\|. It is near the best of all: for a linear map A of rows, ‖A(e_π(j) - e_π'(j))‖², summed over j
and averaged over all π', is 2tr(M), M = PAᵀAP, P = I - 11ᵀ/m. So the product of the sensitivity squared and the squared
error is at least 2tr(M)·tr(D'M⁺D') ≥ 2(tr\|D'\|)² = 2(m²-1)²/9, by Cauchy and Schwarz, with D' the distances projected
by P. Ours is 2(m²-1)/3·⌊m²/2⌋, at most 3/2·m²/(m²-1) times that.

**Pure ε**. ``"k-norm"`` has the shape of the cube [-1, 1]^d, d = m(m-1), in which n·F changes; ``"tree"`` counts
positions in groups first, each level with noise in its shape (:mod:`privrank_jax.aggregation.footrule_levels`). Its
squared error is the same for m ≤ 5, and 0.74, 0.54, 0.31, 0.19 of that of the cube at m = 10, 20, 50, 100.

**Error.** Let E be the noise on the costs, and σ̃ of least noisy cost. Then C(σ̃) ≤ C(σ) + Σ_j R_j for all σ, R_j the
range of E_jp over p, and K ≤ C ≤ 2K give

    K(σ̃, w) ≤ (2 - 1/(2m-1))·OPT + (1 - 1/(4m-2))·Σ_j R_j.

Independent symmetric steps, S_N = their sum: by Lévy's inequality P(max S_p ≥ t) ≤ 2P(S_N ≥ t), so the range of S has
mean at most 2E\|S_N\|. With Gaussian noise E_j has m - 1 steps 2Z: E Σ_j R_j ≤ 4m√(2(m-1)/π)·σ ≤ (4/√π)·m²√(m-1)/(μn),
2.26·m^2.5/(μn), where Borda's order has ratio 5. In the cube, given the radius r, steps are 2r times uniform numbers:
E Σ_j R_j ≤ 4m√((m-1)/3)·(d + 1)/(εn), 2.31·m^3.5/(εn).

*No logarithm.* In a binary tree of m = 2^k places, level l has N = 2^l nodes of m/N places. A count z moves the costs
monotonically by m/N·z within its node, and by nothing beyond; its variance is at most 2m²/(a ε n)²; signs of counts are
independent. So the level adds at most 2m/N·√N·√2·m/(aεn) to E R_j, and with a_l ∝ 2^(-l/4) all levels add 2√2·(1 -
2^(-1/4))^-2·m²/(εn): E Σ_j R_j ≤ 112·m³/(εn). Where n is of order m/ε this is m², and below that no ε-DP method has
an additive error of 0.01 m² (Alabi, Ghazi, Kumar and Manurangsi 2022, Theorem 13; it says nothing of more users). The
trees of ``"tree"`` have the least squared error instead, which is smaller at every m.

**Padded items**, whose number r of real ones may be traced. The tree of places depends on r, so the trees of all r up
to m are prepared as tables with a row for each. A tree of r places has r - 1 cuts on all of its levels together: they
lie along one axis, each with its level and its node. The law is that of :func:`level_noises` for r items.

Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath (2026) first used the footrule for private aggregation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int, Shaped

from privrank_jax._backend import product
from privrank_jax._promise import FOOTRULE_NOISES
from privrank_jax._types import Count, Key, Mask, Numbers
from privrank_jax._validate import check_users
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule import (
    PositionHistograms,
    check_histograms,
    footrule_costs,
    set_aside,
)
from privrank_jax.aggregation.footrule_levels import Level, footrule_levels, mean_square_error
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def dp_footrule(
    key: Key, histograms: PositionHistograms, privacy: Privacy, *, noise: str = "tree"
) -> Estimate:
    """Footrule costs with noise, of which :func:`~privrank_jax.aggregation.assignment` makes a ranking.

    **Guarantee.** ε-DP with noise in a tree or in the shape of a cube, (ε, δ)-DP with Gaussian noise (analytic
    calibration); unit user, adjacency replace, and whatever these cover; proofs at the head of this module.

    Args:
        key: PRNG key.
        histograms: of n users; the number of items that are not padded may be traced.
        privacy: what is promised: unit user, adjacency replace. ε and δ may be traced; ε = ∞ adds no noise.
        noise: ``"tree"``, of least error under pure ε; ``"k-norm"``, on all prefix counts at once; or ``"gaussian"``
            for a promise with δ > 0.

    Returns:
        ``value``: noisy costs ``(m, m)``, unbiased, in positions: ``assignment(value)`` is the ranking, padded items
        last. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.aggregation.diagnostics.FootruleDiagnostics`.

    Raises:
        TypeError: anything but :class:`~privrank_jax.aggregation.PositionHistograms`.
        ValueError: a promise that this can't keep, Gaussian noise without δ, histograms that are not those of n users.

    >>> from privrank_jax.aggregation.assignments import assignment
    >>> histograms = PositionHistograms.from_ranks([[2, 0, 1]] * 500)
    >>> costs = dp_footrule(
    ...     jax.random.key(0), histograms, Privacy(1.0, unit="user", adjacency="replace")
    ... )
    >>> assignment(costs.value).tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "dp_footrule", noise, FOOTRULE_NOISES)
    if not isinstance(histograms, PositionHistograms):
        raise TypeError(
            f"dp_footrule takes PositionHistograms, got {type(histograms).__name__}: its noise is scaled to the number "
            "of users. PositionHistograms.from_ranks(ranks) counts both."
        )
    check_histograms(histograms)
    if histograms.mask is not None:
        return _padded(key, histograms, privacy, attained, noise)
    costs, items = footrule_costs(histograms), histograms.num_items
    unit = footrule_unit(items, attained, noise) / histograms.num_users
    value = costs + _noise(key, items, jnp.asarray(unit, costs.dtype), noise)
    deviation = unit * math.sqrt(_square(items, noise))
    return Estimate(value, Guarantee(privacy, attained), FootruleDiagnostics(deviation))


def _padded(
    key: Key, histograms: PositionHistograms, privacy: Privacy, attained: Privacy, noise: str
) -> Estimate:
    """The same for padded items; the number of real ones may be traced."""
    mask = jnp.asarray(histograms.mask, bool)
    costs = footrule_costs(histograms)
    change = jnp.sqrt(jnp.maximum(jnp.sum(mask), 2) ** 2 // 2)
    unit = additive_scale(noise, attained, 1.0, change)
    unit = jnp.asarray(unit / histograms.num_users, costs.dtype)
    drawn, square = padded_noise(key, mask, unit, noise)
    value = set_aside(
        costs + drawn, mask
    )  # replaces all that involves padding, so that it depends on noisy costs
    deviation = unit * jnp.sqrt(square)
    return Estimate(value, Guarantee(privacy, attained), FootruleDiagnostics(deviation))


def dp_footrule_deviation(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "tree"
) -> Numbers:
    """Root mean square of the noise on an item's costs, less its mean over places, in positions.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.borda.dp_borda_scale` and
    :func:`dp_footrule`; m is not traced, and m < 1 or n < 1 is refused.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> [round(float(dp_footrule_deviation(20, 1000, privacy, noise=n)), 3) for n in ("tree", "k-norm")]
    [0.593, 0.803]
    """
    attained = of_rankings(privacy, "dp_footrule_deviation", noise, FOOTRULE_NOISES)
    check_users(num_users)
    if num_items < 1:
        raise ValueError(f"num_items must be at least 1, got {num_items!r}.")
    unit = footrule_unit(num_items, attained, noise) / num_users
    return unit * math.sqrt(_square(num_items, noise))


def footrule_unit(items: int, attained: Privacy, noise: str) -> Numbers:
    """Scale of the noise on n times the counts: 1/ε; or σ of n times a prefix count.

    Args:
        items: m.
        attained: with ε and δ.
        noise: ``"tree"``, ``"k-norm"`` or ``"gaussian"``.
    """
    return additive_scale(noise, attained, 1.0, math.sqrt(max(items, 2) ** 2 // 2))


def _square(items: int, noise: str) -> float:
    """Mean squared error of a cost, less the mean error of its row, in squared units."""
    if noise == "gaussian":
        return 2 * (items**2 - 1) / (3 * items)
    return mean_square_error(footrule_levels(items, noise))


@functools.partial(jax.jit, static_argnames=("items", "noise"))
def _noise(
    key: Key, items: int, scale: Float[Array, ""], noise: str
) -> Float[Array, "items items"]:
    levels = footrule_levels(items, noise)
    keys = jax.vmap(jax.random.fold_in, (None, 0))(fused(key), jnp.arange(len(levels)))
    drawn = jnp.zeros((items, items), scale.dtype)
    if noise == "gaussian":
        counts = [
            scale * jax.random.normal(one, (items, len(level.codes)), scale.dtype)
            for one, level in zip(keys, levels)
        ]
    else:
        noises = level_noises(keys, items, levels, scale.dtype)
        counts = [scale / level.share * one for one, level in zip(noises, levels)]
    for one, level in zip(counts, levels):
        drawn += product(one, jnp.asarray(level.response.T, scale.dtype))
    return jnp.where(scale == 0, 0, drawn)


def level_noises(
    keys: Shaped[Array, "levels *words"], items: int, levels: Sequence[Level], dtype: DTypeLike
) -> list[Float[Array, "items cuts"]]:
    """K-norm noise of scale 1 in the shape of each level: a uniform point of K times Gamma(d + 1).

    Args:
        keys: PRNG keys, one for each level.
        items: m, the rows.
        levels: of :func:`~privrank_jax.aggregation.footrule_levels.footrule_levels`.
        dtype: of the noise.
    """
    parts = jax.vmap(lambda key: jax.random.split(key, 3))(keys)
    sizes = np.array([items * len(level.codes) + 1 for level in levels])
    # One call for the radii of all levels: the sampler takes longer to compile than all else here.
    draw = jax.vmap(lambda key, size: jax.random.gamma(key, size, dtype=dtype))
    radii = draw(parts[:, 2], jnp.asarray(sizes, dtype))
    places = (_place(part, items, level, dtype) for part, level in zip(parts[:, :2], levels))
    return [radius * place.T for radius, place in zip(radii, places)]


def _place(
    keys: Shaped[Array, "parts *words"], items: int, level: Level, dtype: DTypeLike
) -> Float[Array, "cuts items"]:
    """A uniform point of the body of a level."""
    cuts, nodes = len(level.codes), level.nodes
    parts = jax.random.exponential(keys[0], (cuts + 1, items), dtype)
    number = int(np.max(nodes)) + 1
    norms = jax.ops.segment_sum(parts[:-1], nodes, number) / jnp.sum(parts, axis=0)
    places = jax.random.uniform(keys[1], (cuts, items), dtype, -1, 1)
    largest = jax.ops.segment_max(jnp.abs(places), nodes, number)
    return places * (norms / jnp.where(largest > 0, largest, 1))[nodes]


class Trees(NamedTuple):
    """The trees of 0, 1, ..., m places.

    Attributes:
        levels: level of each cut; those that a tree lacks have the last number, which no level has.
        nodes: node of each cut, numbered through all levels, likewise.
        response: how an item's costs change with the count of each cut; 0 for cuts and places that a tree lacks.
        shares: a, of the level of each cut; 1 for cuts that a tree lacks.
        squares: mean squared error of a cost, less the mean error of its row, in multiples of 1/(εn)².
    """

    levels: Int[np.ndarray, "trees cuts"]
    nodes: Int[np.ndarray, "trees cuts"]
    response: Float[np.ndarray, "trees places cuts"]
    shares: Float[np.ndarray, "trees cuts"]
    squares: Float[np.ndarray, "trees"]


@functools.lru_cache(maxsize=8)
def trees(num_items: int, noise: str) -> Trees:
    """The trees of up to m places.

    Args:
        num_items: m >= 1, padding included.
        noise: ``"tree"`` or ``"k-norm"``.

    >>> trees(7, "tree").levels[7].tolist()
    [0, 1, 1, 1, 1, 1]
    """
    cuts = num_items - 1
    found = Trees(
        np.full((num_items + 1, cuts), cuts, np.int32),
        np.full((num_items + 1, cuts), cuts, np.int32),
        np.zeros((num_items + 1, num_items, cuts)),
        np.ones((num_items + 1, cuts)),
        np.zeros(num_items + 1),
    )
    for real in range(2, num_items + 1):
        first = node = 0
        parts = footrule_levels(real, noise)
        for number, level in enumerate(parts):
            own = slice(first, first + len(level.nodes))
            found.levels[real, own] = number
            found.nodes[real, own] = node + level.nodes
            found.response[real, :real, own] = level.response
            found.shares[real, own] = level.share
            first, node = own.stop, node + int(level.nodes.max()) + 1
        found.squares[real] = mean_square_error(parts)
    return found


@functools.partial(jax.jit, static_argnames=("noise",))
def padded_noise(
    key: Key, mask: Mask, scale: Float[Array, ""], noise: str
) -> tuple[Float[Array, "items items"], Float[Array, ""]]:
    """Noise on costs of real items at the places of real items, 0 elsewhere; and its mean square at scale 1.

    Args:
        key: PRNG key.
        mask: ``(m,)``, True for real items.
        scale: of n times the counts, over n: 1/(εn), or σ/n.
        noise: ``"tree"``, ``"k-norm"`` or ``"gaussian"``.
    """
    items = mask.shape[0]
    real = jnp.sum(mask)
    if items == 1:
        return jnp.zeros((1, 1), scale.dtype), jnp.zeros((), scale.dtype)
    table = trees(items, noise)
    levels, nodes = (jnp.asarray(one)[real] for one in (table.levels, table.nodes))
    response, shares, square = (
        jnp.asarray(one, scale.dtype)[real] for one in (table.response, table.shares, table.squares)
    )
    if noise == "gaussian":
        counts = jax.random.normal(fused(key), (items - 1, items), scale.dtype)
        square = 2 * (jnp.square(real).astype(scale.dtype) - 1) / (3 * real)
    else:
        counts = _counts(key, real, levels, nodes, items, scale) / shares[:, None]
    drawn = product((scale * jnp.where(mask, counts, 0)).T, response.T)
    return jnp.where(scale == 0, 0, drawn), square


def _counts(
    key: Key, real: Array, levels: Array, nodes: Array, items: int, scale: Float[Array, ""]
) -> Float[Array, "cuts items"]:
    """For each level a uniform point of its body times Gamma(d + 1)."""
    of_norms, of_slack, of_places, of_radius = jax.random.split(fused(key), 4)
    dtype, cuts = scale.dtype, items - 1
    parts = jax.random.exponential(of_norms, (cuts, items), dtype)
    sums = jax.random.exponential(of_slack, (items, items), dtype)
    sums += jax.ops.segment_sum(parts, levels, items)
    norms = jax.ops.segment_sum(parts, nodes, items)[nodes] / sums[levels]
    places = jax.random.uniform(of_places, (cuts, items), dtype, -1, 1)
    largest = jax.ops.segment_max(jnp.abs(places), nodes, items)[nodes]
    sizes = jnp.sum(levels[:, None] == levels, axis=1).astype(dtype)
    # One radius for each level, looked up by its cuts.
    first = jnp.argmax(levels[:, None] == levels, axis=1)
    radius = jax.random.gamma(of_radius, real * sizes + 1, dtype=dtype)[first]
    return radius[:, None] * places * norms / jnp.where(largest > 0, largest, 1)

r"""Private footrule costs: noise on counts of positions, and any assignment of least noisy cost.

The costs C_jp = Σ_q h_jq·\|q - p\| are linear in the position histograms (:mod:`privrank_jax.aggregation.footrule`),
and only their differences within a row matter. These are prefix counts: C_j,p+1 - C_jp = 2F_jp - 1, with F_jp the share
of users who have item j at place p or before. A user with ties or unknown items is a mean over positions in each row.
C_j0 = Σ_p (1 - F_jp), so the costs of a row are a function of its m - 1 prefix counts; what is published is that
function of noisy counts, the mean of a row included, since it depends on the data as well.

**What one user changes** (unit user, adjacency replace). In a row, n·F changes by a vector y_j with entries in [-1, 1].
For full rankings Σ_p \|y_jp\| is \|π(j) - π'(j)\|, and Σ_j of it at most ⌊m²/2⌋, for a ranking and its reversal. The
same holds with ties: as entries of a row change from 0 to 1 at the user's position (by halves around q + 1/2), Σ_p
\|y_jp\| is the distance of the two positions; positions are points of the permutohedron, and Σ_j of the distances is
convex, so largest at vertices, which are full rankings (:mod:`privrank_jax.aggregation.borda`). With unknown items y is
a mean of two such vectors. \|y\| ≤ 1 gives y² ≤ \|y\|. So n·F changes by at most ⌊m²/2⌋ in ℓ₁, √⌊m²/2⌋ in ℓ₂ and 1 in
ℓ_∞, and the reversal attains all three. Hence on all F

- ``"k-norm"`` noise in the shape of the cube [-1, 1]^d, d = m(m-1), of scale 1/(nε), is ε-DP;
- ``"laplace"`` noise of scale ⌊m²/2⌋/(nε) is ε-DP;
- ``"gaussian"`` noise of σ = √⌊m²/2⌋/(μn) is (ε, δ)-DP, μ the largest sensitivity that is (ε, δ)-DP at σ = 1;

and at no smaller scale. The variance of Laplace noise is 3/2 times that of the cube with many items, and more with few.
Laplace noise on the counts of positions themselves, which a user changes by 2m in ℓ₁, makes it at least 1.2 times more.

*Gaussian noise* is near the best of all. This is the square-root factorization of the distances: F is the embedding x
of places with ‖x_p - x_q‖² = \|p - q\|. For a linear map A of rows, ‖A(e_π(j) - e_π'(j))‖², summed over j and averaged
over all π', is 2tr(M), M = PAᵀAP, P = I - 11ᵀ/m. So the product of the sensitivity squared and the squared error is at
least 2tr(M)·tr(D'M⁺D') ≥ 2(tr\|D'\|)² = 2(m²-1)²/9, by Cauchy and Schwarz, with D' the distances projected by P. Ours
is 2(m²-1)/3·⌊m²/2⌋, at most 3/2·m²/(m²-1) times that.

*Integers.* Four times n times F are whole numbers (:mod:`privrank_jax.aggregation.footrule`), of which one user
changes each by at most 4. Any k of them change by at most 4k, and all by 4⌊m²/2⌋: so Laplace noise composes as on
⌊m²/2⌋ numbers that change by 4.

**Error.** Let E be the noise on the costs, and σ̃ of least noisy cost. Then C(σ̃) ≤ C(σ) + Σ_j R_j for all σ, R_j the
range of E_jp over p, and K ≤ C ≤ 2K give

    K(σ̃, w) ≤ (2 - 1/(2m-1))·OPT + (1 - 1/(4m-2))·Σ_j R_j.

:mod:`privrank_jax.aggregation.bounds` bounds Σ_j R_j: with Gaussian noise its mean is at most (4/√π)·m²√(m-1)/
(μn), 2.26·m^2.5/(μn), where Borda's order has ratio 5; in the cube at most 2·m^3.5/(εn).

Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath (2026) first used the footrule for private aggregation.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Count, Numbers
from privrank_jax._validate import is_traced
from privrank_jax.aggregation.footrule import HISTOGRAMS, set_aside
from privrank_jax.aggregation.promise import REPLACED
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.privacy import Privacy


def cost_deviation(num_items: Count, scale: Numbers, noise: str) -> Numbers:
    """Root mean square of the noise on an item's costs, less its mean over places, in positions.

    Args:
        num_items: m >= 1, may be traced.
        scale: of the noise on one prefix count, in shares of users.
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.

    Returns:
        That of a walk of m - 1 steps, of the type of ``scale``.

    >>> round(cost_deviation(20, 0.001, "k-norm"), 3), round(cost_deviation(20, 0.2, "laplace"), 3)
    (0.803, 1.032)
    """
    items = 1.0 * num_items
    dimension = items * (items - 1)
    cube = (dimension + 1) * (dimension + 2) / 3
    of_count = {"k-norm": cube, "laplace": 2.0, "gaussian": 1.0}[noise]
    return scale * (of_count * 2 * (items * items - 1) / (3 * items)) ** 0.5


def _behind(histograms: Any, facts: Facts) -> Any:
    """1 - F: the share of users who have an item behind a place, of each place but the last and each item."""
    return histograms.T[::-1].cumsum(0)[:-1][::-1]


def _counted(facts: Facts) -> Any:
    """The prefix counts of real items before real places."""
    if facts.mask is None:
        return np.ones((facts.num_items - 1, facts.num_items), bool)
    return (jnp.arange(1, facts.num_items) < jnp.sum(facts.mask))[:, None] & facts.mask


def _moved(attained: Privacy, facts: Facts, noise: str) -> Change:
    def moved(items: Any) -> Any:
        return (jnp if is_traced(items) else np).maximum(items, 2) ** 2 // 2

    most = int(moved(facts.num_items))
    largest: Any = np.full(most, 4)
    if facts.mask is not None:
        largest = 4 * (jnp.arange(most) < moved(jnp.sum(facts.mask)))
    counted = _counted(facts)
    return Change(largest, lambda: Cube(jnp.asarray(counted)), 4)


def _noisy_costs(noisy: Any, facts: Facts) -> Any:
    """C_jp = Σ_{q<p} F_jq + Σ_{q>=p} (1 - F_jq), of 1 - F."""
    xp: Any = np if isinstance(noisy, np.ndarray) else jnp
    if facts.mask is not None:
        noisy = xp.where(_counted(facts), noisy, 0)
    first = xp.sum(noisy, axis=0, keepdims=True)
    costs = xp.concatenate([first, first + xp.cumsum(1 - 2 * noisy, axis=0)]).T
    return costs if facts.mask is None else set_aside(costs, facts.mask)


dp_footrule = Additive(
    "dp_footrule",
    """Footrule costs with noise, of which ``assignment`` makes a ranking; of
    :class:`~privrank_jax.aggregation.PositionHistograms`.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user,
    adjacency replace, and whatever these cover; proofs at the head of :mod:`privrank_jax.aggregation.private_footrule`.
    K-norm noise has the least error under pure ε.

    ``value``: noisy costs ``(m, m)``, unbiased, in positions: ``assignment(value)`` is the ranking, padded items last.
    The diagnostics hold the scale of the noise on a prefix count, in shares of users; :func:`cost_deviation` makes that
    of costs of it.

    >>> import jax
    >>> from privrank_jax.aggregation import PositionHistograms, assignment
    >>> histograms = PositionHistograms.from_ranks([[2, 0, 1]] * 500)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> assignment(dp_footrule(jax.random.key(0), histograms, privacy).value).tolist()
    [2, 0, 1]
    """,
    data=HISTOGRAMS,
    kinds=REPLACED,
    statistic=_behind,
    change=_moved,
    finish=_noisy_costs,
    shape=lambda facts: (facts.num_items - 1, facts.num_items),
    real=_counted,
)

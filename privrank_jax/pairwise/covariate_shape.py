r"""What one user's outcomes can change in the sums of comparisons with covariates, where users share questions.

The sums are S = Σ_r y_r z_r with z_r = (e_i - e_j, x_r) (:mod:`privrank_jax.pairwise.covariates`). Let R_u be the
comparisons of user u; G the graph on the items that has, for each pair, as many edges as the user who meets it most
often has comparisons of it; b_k = max_u Σ_{r in R_u} \|x_rk\|; and E the largest \|R_u\|. These are functions of the
design, which is public and which neighbors share. If outcomes of one user change, the items' sums move within the
zonotope Z(G) = Σ_e [-1, 1](e_i - e_j), feature k by at most b_k, and the number T of ties by at most E: S moves by
Σ_{r in R_u} δ_r z_r with \|δ_r\| ≤ 1, and the pairs of u are some of the edges of G.

**Theorem (norms).** *With F the largest ℓ₂ norm in Z(G), S moves by at most 2·maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in
ℓ₁ and √(F² + Σ_k b_k²) in ℓ₂; (S, T) by at most E + maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in ℓ₁.*

Proof. The items' sums alone move by at most 2·maxcut and F (:mod:`privrank_jax.pairwise.questionnaire`), and with T by
at most \|R_u\| + maxcut (:mod:`privrank_jax.pairwise.tie_noise`), those of the pairs of u; none of these is less for
more edges. ∎ For users with many comparisons this is far below Σ ‖z_r‖, as if the moves of all pairs added up. Where
users meet few of the pairs of G, or one of them far more than others, Σ ‖z_r‖ is less.
"""

from __future__ import annotations

import math

import numpy as np

from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.questionnaire import counts_sensitivity
from privrank_jax.privacy.privacy import Privacy

_MOST_UNASKED = 4  # times as many edges of G as comparisons of a user: up to then its shape counts
_UP = 1 + 2**-40  # above what rounding may have lost


def shaped_sensitivity(design: CovariateDesign, norm: str, *, ties: bool = False) -> float:
    """Sensitivity of the sums to one user by the theorem on norms; ∞ where that is not worth computing, or unknown.

    Args:
        design: the comparisons, not traced.
        norm: ``"l1"`` or ``"l2"``.
        ties: whether the number of ties is released too; in ℓ₂ nothing is known of it.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> pairs, who = np.array([(0, 1), (0, 2), (1, 2)] * 2).T, [0, 0, 0, 1, 1, 1]
    >>> table = covariate_table(*pairs, [1] * 6, {"x": [1.0, 1.0, 1.0, -1.0, 0.0, 1.0]}, num_items=3, users=who)
    >>> shaped_sensitivity(table.design, "l1"), shaped_sensitivity(table.design, "l1", ties=True)
    (7.0, 8.0)
    """
    real = np.ones(len(design.first), bool) if design.mask is None else np.asarray(design.mask)
    first, second, users = (
        np.asarray(part)[real].astype(np.int64)
        for part in (design.first, design.second, design.users)
    )
    m, answers = design.num_items, int(np.bincount(users, minlength=1).max())
    pair = np.minimum(first, second) * m + np.maximum(first, second)
    met, often = np.unique(users * m**2 + pair, return_counts=True)
    edges, place = np.unique(met % m**2, return_inverse=True)
    times = np.zeros(edges.size, np.int64)
    np.maximum.at(times, place, often)
    if not 0 < times.sum() <= _MOST_UNASKED * answers or (ties and norm == "l2"):
        return math.inf
    questions = np.zeros((m, m), np.int64)
    questions[edges // m, edges % m] = times
    user = Privacy(1.0, unit="user", adjacency="flip")
    of_items = counts_sensitivity(questions + questions.T, user, norm)
    together = np.zeros((len(real), design.size - m))
    np.add.at(together, users, np.abs(np.asarray(design.features, np.float64)[real]))
    if norm == "l2":
        return math.hypot(of_items, *together.max(axis=0)) * _UP
    most = float(together.sum(axis=1).max())
    return (answers + of_items / 2 if ties else of_items) + most

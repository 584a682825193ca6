r"""Noise on win totals and on the number of ties: the parameter of ties costs no privacy.

**Statistic and adjacency.** The fit sees the outcomes only through the win totals N (ties half) and the number T of
ties (:mod:`privrank_jax.pairwise.davidson`), next to the numbers M_ij of meetings. Under ``flip`` these are public, so
a fit to noisy (N, T) is post-processing: privacy depends on neither the ridges, nor the solver, nor floating point
beyond that of the noise. Under ``replace`` and ``add-remove`` M is private, and no fit is offered.

**Sensitivity, one comparison.** Its outcome adds (e_i, 0), (e_j, 0) or ((e_i + e_j)/2, 1) to (N, T). Another outcome
changes (N, cT), c > 0, by

===================  =================================  =========  ============
change               of (N, cT)                         in ℓ₁      in ℓ₂
===================  =================================  =========  ============
win to loss          (e_j - e_i, 0)                     2          √2
win or loss to tie   (±(e_i - e_j)/2, c)                1 + c      √(1/2 + c²)
===================  =================================  =========  ============

So up to c = 1 in ℓ₁ and c = √(3/2) in ℓ₂ the sensitivity is that of the totals alone, 2 and √2, and the largest such c
puts the least noise on T: λ/c or σ/c. Hence Laplace noise of scale 2/ε on N and on T; Gaussian noise of deviation σ on
N and σ/c on T, with c = 11/9, since 1/2 + 121/81 < 2 and whole numbers serve an exact release. A unit of L
comparisons changes (N, cT) by L times that at most, by the triangle inequality, which is attained.

**Questionnaire.** Each user is asked the pairs E, the edges of a graph G. With Laplace noise (c = 1) the ℓ₁ norm of a
change is the largest Σ_e (σᵀΔN_e + τΔT_e) over signs σ of the items and τ; an edge cut by σ adds at most 2 (above),
another one at most 1, as σᵀΔN_e = 0. So the sensitivity is **\|E\| + maxcut(G)**, attained where cut edges turn from
win to loss and the others from win to tie.

*Integers.* Doubled, (N, T) is whole for Laplace noise, and (9N, 11T) for Gaussian noise. By Laplace noise for L
comparisons gains and losses of the totals are equal, so none changes by more than half of the change of all, and
neither does T, by 2L at most of 4L.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise.graph import check_tied_counts
from privrank_jax.pairwise.noisy_totals import WIN_COUNTS, doubled_counts, spread_of, told_of
from privrank_jax.pairwise.questionnaire import change_of_totals, read_questionnaire
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import Kind, Privacy

FLIPS: tuple[Kind, ...] = (("comparison", "flip"), ("user", "flip"))
"""Units and adjacencies of mechanisms whose fits need a public design."""
GAUSSIAN_TIE_WEIGHT = (11, 9)
"""c for Gaussian noise, as a ratio of whole numbers."""


def tie_weight(noise: str) -> float:
    """c, so that T has noise of scale λ/c or σ/c."""
    return GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1] if noise == "gaussian" else 1.0


def tie_parts(noise: str, others: int, times: int = 1) -> Any:
    """By what so many other numbers and T are multiplied before they get noise: 1 and c, as whole numbers."""
    if noise != "gaussian":
        return times
    on_ties, on_others = GAUSSIAN_TIE_WEIGHT
    return times * np.array([on_others] * others + [on_ties])


def noise_on_ties(kind: str, scale: Any, num_items: int) -> Noise:
    """Noise of this kind and scale on (N, T)."""
    return Noise.independent(kind, scale, num_items + 1, (tie_weight(kind),))


def _change(attained: Privacy, facts: Facts, noise: str) -> Change:
    asked = facts.told.get("questionnaire")
    counts = read_questionnaire(asked, attained, facts.num_items, noise, None)
    if counts is not None and noise == "gaussian":
        raise ValueError(
            "noisy_ties has no Gaussian noise for a questionnaire: leave the questionnaire out and give contributions, "
            "or choose noise='laplace'."
        )

    def largest() -> list[Any]:
        every = 2 * change_of_totals("laplace", attained, counts, ties=True)
        return spread_of(attained, every) if counts is None else [every]

    def second() -> Any:
        return 2 * GAUSSIAN_TIE_WEIGHT[1] * math.sqrt(2) * attained.comparisons_per_unit

    return Change(largest, parts=tie_parts(noise, facts.num_items), second=second)


def _floats(wins: WinCounts, **public: Any) -> tuple[WinCounts, Facts]:
    check_tied_counts(wins)
    return wins, told_of(wins, **public)


def whole_ties(wins: WinCounts) -> int:
    """The number of ties."""
    ties = int(doubled_counts(np.asarray(wins.ties)[None])[0])
    if ties % 2:
        raise ValueError(f"the number of ties must be whole, got {ties / 2}.")
    return ties // 2


def _whole(wins: WinCounts, **public: Any) -> tuple[Any, Facts]:
    check_tied_counts(wins)
    doubled = np.append(doubled_counts(wins).sum(-1), 2 * whole_ties(wins))
    return doubled, told_of(wins, **public)


noisy_ties = Additive(
    "noisy_ties",
    """Win totals and the number of ties with noise, of WinCounts that know their ties.

    :func:`~privrank_jax.pairwise.fit` fits Davidson's model to the value, which is post-processing.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, adjacency flip;
    theorem at the head of :mod:`privrank_jax.pairwise.tie_noise`. Users need ``contributions``, or for Laplace noise a
    ``questionnaire`` as for :data:`~privrank_jax.pairwise.noisy_counts`, not traced.

    ``value``: ``(m + 1,)``, noisy totals in wins, ties half, and last the noisy number of ties.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 60], [40, 0]], ties=20)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip")
    >>> noisy_ties(jax.random.key(0), wins, free).value.tolist()
    [60.0, 40.0, 20.0]
    """,
    data=dataclasses.replace(WIN_COUNTS, floats=_floats, whole=_whole),
    kinds=FLIPS,
    statistic=lambda wins, facts: (
        wins
        if isinstance(wins, np.ndarray)
        else jnp.append(wins.totals, jnp.asarray(wins.ties, wins.matrix.dtype))
    ),
    change=_change,
    shape=lambda facts: (facts.num_items + 1,),
    noises=NOISES,
)

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
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privrank_jax._types import PairMatrixLike
from privrank_jax._validate import is_traced
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.questionnaire_noise import read_questionnaire
from privrank_jax.pairwise.totals_noise import scale_on_totals
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.privacy import Privacy

GAUSSIAN_TIE_WEIGHT = (11, 9)
"""c for Gaussian noise, as a ratio of whole numbers."""


def tie_weight(noise: str) -> float:
    """c, so that T has noise of scale λ/c or σ/c.

    Args:
        noise: its kind.
    """
    return GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1] if noise == "gaussian" else 1.0


def tie_noise(
    privacy: Privacy,
    by: str,
    num_items: int,
    noise: str | None,
    questionnaire: PairMatrixLike | None,
) -> tuple[Privacy, Noise]:
    """What a mechanism on win totals and ties attains, and its noise; as :func:`check_tie_promise`."""
    noise, attained, asked = check_tie_promise(privacy, by, num_items, noise, questionnaire)
    scale = scale_on_totals(noise, attained, asked, ties=True)
    return attained, noise_on_ties(noise, scale, num_items)


def noise_on_ties(kind: str, scale: Any, num_items: int) -> Noise:
    """Noise of this kind and scale on (N, T).

    Args:
        kind: ``"laplace"`` or ``"gaussian"``.
        scale: λ or σ.
        num_items: m.
    """
    return Noise.independent(kind, scale, num_items + 1, (tie_weight(kind),))


def check_tie_promise(
    privacy: Privacy,
    by: str,
    num_items: int,
    noise: str | None,
    questionnaire: PairMatrixLike | None,
) -> tuple[str, Privacy, np.ndarray | None]:
    """The noise of a mechanism on win totals and ties, what it attains, and the questionnaire as an array.

    Args:
        privacy: what is asked for.
        by: name of the mechanism.
        num_items: m.
        noise: what was asked for.
        questionnaire: as for :func:`~privrank_jax.pairwise.noisy_counts`.

    Raises:
        ValueError: as :func:`~privrank_jax.pairwise.noisy_counts`.
    """
    noise = noise or "laplace"
    attained = of_comparisons(privacy, by, noise)
    if attained.adjacency != "flip":
        raise ValueError(
            f"{by} needs adjacency='flip', not {attained.adjacency!r}: the model of ties needs the number of meetings "
            "of each pair, which is public under flip alone. Or take half wins: noisy_counts, perturbed_mle."
        )
    counts = read_questionnaire(questionnaire, attained, num_items, noise, None)
    if counts is None:
        return noise, attained, None
    if noise == "gaussian" or is_traced(counts):
        raise ValueError(
            f"{by} has no Gaussian noise for a questionnaire, and none for a traced one: leave the questionnaire out "
            "and give contributions, or choose noise='laplace'."
        )
    return noise, attained, np.asarray(counts, np.int64)

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

**Questionnaire.** Each user is asked the pairs E, the edges of a graph G.

*Laplace* (c = 1): the ℓ₁ norm of a change is the largest Σ_e (σᵀΔN_e + τΔT_e) over signs σ of the items and τ; an edge
cut by σ adds at most 2 (above), another one at most 1, as σᵀΔN_e = 0. So the sensitivity is **\|E\| + maxcut(G)**,
attained where cut edges turn from win to loss and the others from win to tie.

*K-norm*: N changes within the zonotope Z(G) and T within [-\|E\|, \|E\|], so (N, T, -T) changes within Z(G⁺), where G⁺
has two more vertices, joined by \|E\| edges; the gauge of a body of two components is the larger of theirs. So K-norm
noise for G⁺ (:mod:`privrank_jax.pairwise.questionnaire_noise`) serves, with one dimension more than for the totals
alone. Doubled values lie on its lattice. (Z(G⁺) is not the hull of the changes: a user who ties everything moves N by
half at most.)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Key, PairMatrixLike, Scores
from privrank_jax._validate import is_traced
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.graph import check_tied_counts
from privrank_jax.pairwise.noisy_counts import scale_on_totals
from privrank_jax.pairwise.questionnaire_noise import (
    kept_on_totals,
    noise_on_totals,
    read_questionnaire,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy

GAUSSIAN_TIE_WEIGHT = (11, 9)
"""c for Gaussian noise, as a ratio of whole numbers."""


def tie_weight(noise: str) -> float:
    """c, so that T has noise of scale λ/c or σ/c.

    Args:
        noise: its kind.
    """
    return GAUSSIAN_TIE_WEIGHT[0] / GAUSSIAN_TIE_WEIGHT[1] if noise == "gaussian" else 1.0


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TieCounts:
    """What Davidson's model knows of the outcomes, here with noise.

    Attributes:
        totals: ``(m,)`` win totals, ties counted half.
        ties: number of ties, shape ``()``.
    """

    totals: Scores | Float[np.ndarray, "*batch items"]
    ties: Float[Array | np.ndarray, "*batch"]


def noisy_tie_counts(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """Win totals and number of ties plus noise: all that Davidson's model needs of the outcomes.

    **Guarantee.** ε-DP (Laplace, K-norm) or (ε, δ)-DP (Gaussian) under ``flip``, for one comparison or one user, with
    no more noise on the totals than without the ties but for K-norm noise; theorem and proof in the module docstring.

    Args:
        key: PRNG key.
        wins: win counts of m items that know their ``ties``.
        privacy: as for :func:`~privrank_jax.pairwise.noisy_counts`, adjacency ``flip``: who compared what is public.
        noise: as there.
        questionnaire: as there; not for Gaussian noise; not traced.

    Returns:
        ``value``: :class:`TieCounts`. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ or σ on each total, or 1/ε; public.

    Raises:
        ValueError: as there; another adjacency, counts that don't know their ties, Gaussian noise with a questionnaire.

    >>> wins = WinCounts.from_matrix([[0, 60], [40, 0]], ties=20)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> found = noisy_tie_counts(jax.random.key(0), wins, promise)
    >>> bool(abs(found.value.ties - 20) < 20), found.diagnostics.noise_scale
    (True, 2.0)
    """
    check_tied_counts(wins)
    attained, law = tie_noise(privacy, "noisy_tie_counts", wins.num_items, noise, questionnaire)
    value = add_tie_noise(key, wins, law)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(law.scale))


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
    return attained, noise_on_ties(noise, scale, num_items, asked)


def noise_on_ties(kind: str, scale: Any, num_items: int, counts: np.ndarray | None = None) -> Noise:
    """Noise of this kind and scale on (N, T); arguments as for ``noise_on_totals``.

    K-norm noise has the shape for (N, T, -T), where ``counts`` say how often each user is asked each pair.
    """
    asked = None if counts is None else with_ties(counts)
    return noise_on_totals(kind, scale, num_items + 1, asked, "flip", (tie_weight(kind),))


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
        questionnaire: as for :func:`noisy_tie_counts`.

    Raises:
        ValueError: as :func:`noisy_tie_counts`.
    """
    noise, attained = kept_on_totals(privacy, by, noise, questionnaire)
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
            "and give contributions, or choose noise='k-norm' or 'laplace'."
        )
    return noise, attained, np.asarray(counts, np.int64)


def with_ties(counts: np.ndarray) -> np.ndarray:
    """The graph G⁺ of changes of (N, T, -T), ``(m + 2, m + 2)``, from the questionnaire ``(m, m)``.

    >>> with_ties(np.array([[0, 2], [2, 0]])).tolist()
    [[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]]
    """
    number = int(counts.sum()) // 2
    ties = np.array([[0, number], [number, 0]], np.int64)
    nothing = np.zeros((len(counts), 2), np.int64)
    return np.block([[np.asarray(counts, np.int64), nothing], [nothing.T, ties]])


@jax.jit
def add_tie_noise(key: Key, wins: WinCounts, added: Noise) -> TieCounts:
    """Win totals and ties with that noise.

    Args:
        key: PRNG key.
        wins: win counts that know their ``ties``.
        added: from :func:`tie_noise`.
    """
    assert wins.ties is not None
    drawn = added.draw(key, wins.totals.dtype)
    return TieCounts(wins.totals + drawn[:-1], wins.ties + drawn[-1])

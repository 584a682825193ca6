r"""Win totals, and the number of ties, plus noise; and how mechanisms read win counts.

*Sensitivities and proofs*: :mod:`privrank_jax.pairwise.questionnaire`. Totals are multiples of 1/2 (a tie is half a win
for both), so twice the totals are whole, and change by twice as much.

*How a change spreads* (:class:`~privrank_jax.mechanism.Change`). Let Δ bound the change of doubled totals in ℓ₁. Under
``flip`` gains and losses are equal, so no total changes by more than Δ/2. Under ``replace`` no total changes by more
than the 2L points that a user gives. Hence c = (Δ/2, Δ/2) and (2L, Δ - 2L), and (Δ) under ``add-remove``.

**Ties** cost no privacy. The fit sees the outcomes only through the win totals N (ties half) and the number T of
ties (:mod:`privrank_jax.pairwise.designs`), next to the numbers M_ij of meetings. Under ``flip`` these are public, so
a fit to noisy (N, T) is post-processing. Under ``replace`` and ``add-remove`` M is private, and no fit is offered.

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

*Integers.* Doubled, (N, T) is whole for Laplace noise, and (9N, 11T) for Gaussian noise. For L comparisons neither a
total nor T changes by more than half of the 4L that all change.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from privrank_jax._neighbors import SHAPED_ADJACENCIES
from privrank_jax._types import ScoresLike
from privrank_jax._validate import check_no_padding, check_positive, is_traced
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import UNPADDED, Data, Facts
from privrank_jax.pairwise.graph import check_one_problem, check_tied_counts
from privrank_jax.pairwise.questionnaire import change_of_totals, noise_shape, read_questionnaire
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import NOISES, kept_by_noise
from privrank_jax.privacy.privacy import COMPARISON_KINDS, Kind, Privacy, check_privacy, kept

_LARGEST = 2**52  # doubled totals beyond this are not exact in float64
_NO_HALVES = (
    "exact noise needs win totals that are multiples of 1/2 (whole wins, half wins for ties); "
    "weighted comparisons have no such totals: use pairwise.noisy_counts for a simulation."
)


def of_comparisons(privacy: Privacy, by: str, noise: str | None = None) -> Privacy:
    """What ``by``, a mechanism on comparisons, attains of a promise; without ``noise``, but for its δ."""
    check_privacy(privacy)
    if privacy.unit == "rank":
        raise ValueError(
            f"{by} works on comparisons, which have no ranks to protect: promise unit='comparison' or unit='user'; "
            "unit='rank' is for mechanisms on rankings, such as mallows.sample."
        )
    if noise is None:
        return kept(privacy, by, *COMPARISON_KINDS)
    return kept_by_noise(noise, privacy, by, *COMPARISON_KINDS, noises=NOISES)


# --- whole numbers of wins ------------------------------------------------------------------------------


def doubled_totals(wins: WinCounts | ScoresLike) -> Int[np.ndarray, "items"]:
    """Twice the totals, of win counts or totals."""
    doubled = doubled_counts(wins)
    if isinstance(wins, WinCounts):
        doubled = doubled.sum(-1)
    if doubled.ndim != 1 or not doubled.size:
        raise ValueError(f"win totals must have shape (m,), got {doubled.shape}.")
    return doubled


def doubled_counts(
    wins: WinCounts | ScoresLike, parts: int = 2, otherwise: str = _NO_HALVES
) -> Int[np.ndarray, "..."]:
    """Twice the counts, or so many times, a power of 2; what to say of numbers that are not whole then."""
    check_no_padding(wins, UNPADDED)
    given = np.asarray(wins.matrix if isinstance(wins, WinCounts) else wins)
    multiples = parts * given.astype(np.float64)
    # Beyond this a floating-point count may have been rounded, so that one more win adds 2, or nothing.
    largest = _LARGEST
    if jnp.issubdtype(given.dtype, jnp.floating):
        largest = min(largest, 2 ** (jnp.finfo(given.dtype).nmant + 1))
    if np.any(np.abs(multiples) > largest):
        raise ValueError(
            f"exact noise needs exact counts, and {given.dtype} holds none beyond {largest // parts:,}: count in "
            "float64, or in integers."
        )
    sums = multiples.sum(-1) if isinstance(wins, WinCounts) else multiples
    whole = np.all(np.isfinite(multiples) & (multiples == np.round(multiples)))
    if not (whole and np.all(np.abs(sums) <= _LARGEST)):
        raise ValueError(otherwise)
    return multiples.astype(np.int64)


# --- the record -----------------------------------------------------------------------------------------


def totals_change(attained: Privacy, facts: Facts, noise: str) -> Change:
    """The change of doubled totals by one unit, by a ``questionnaire`` or a ``sensitivity`` where one is told."""
    given = facts.told.get("sensitivity")
    counts = read_questionnaire(
        facts.told.get("questionnaire"), attained, facts.num_items, noise, given
    )
    if given is not None:
        check_positive("sensitivity", given, infinite=False)

    def size(kind: str) -> Any:
        return 2 * change_of_totals(kind, attained, counts, given)

    return Change(
        lambda: spread_of(attained, size("laplace")),
        None if counts is None else lambda: noise_shape(counts, attained.adjacency),
        2,
        second=lambda: size("gaussian"),
    )


def spread_of(attained: Privacy, every: Any) -> list[Any]:
    """c where doubled totals change by ``every`` in all; proof at the head of this module."""
    most = attained.contributions if attained.unit == "user" else 1
    if attained.adjacency == "flip":
        first = -(-every // 2)
    elif attained.adjacency == "replace" and most is not None:
        first = (jnp if is_traced(every, most) else np).minimum(every, 2 * most)
    else:
        return [every]
    return [first, every - first]


def _default(privacy: Privacy, public: Mapping[str, Any]) -> str:
    shaped = public.get("questionnaire") is not None and privacy.adjacency in SHAPED_ADJACENCIES
    return "k-norm" if shaped else "laplace"


def told_of(wins: WinCounts, **public: Any) -> Facts:
    """What is public of win counts; None was left out."""
    return Facts(wins.num_items, told={k: one for k, one in public.items() if one is not None})


def _floats(wins: WinCounts, **public: Any) -> tuple[WinCounts, Facts]:
    check_one_problem(wins)
    return wins, told_of(wins, **public)


WIN_COUNTS = Data(
    WinCounts,
    "count comparisons by WinCounts.from_comparisons, or wrap a matrix with WinCounts.from_matrix.",
    floats=_floats,
    whole=lambda wins, **public: (doubled_counts(wins), told_of(wins, **public)),
    times=2,
)
"""Win counts as mechanisms read them."""

noisy_counts = Additive(
    "noisy_counts",
    """Win totals with noise, of :class:`~privrank_jax.comparisons.WinCounts`, a tie half a win for both.

    :func:`~privrank_jax.pairwise.fit` fits a model to the value: post-processing where the design is public, that is
    under ``flip``.

    **Guarantee.** ε-DP with Laplace or K-norm noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, under
    any adjacency. Users need ``contributions``, which must hold in the data, unless one of these is given, which must
    hold too:

    - ``questionnaire``: ``(m, m)``, how often each user is asked each pair, at most
      (:func:`~privrank_jax.pairwise.questionnaire_counts`). The promise is to users, with public ``"questionnaire"``
      unless the adjacency is ``flip``. Under ``flip`` and ``replace`` it makes K-norm noise the default, of half the
      variance of Laplace noise, for which it may be traced.
    - ``sensitivity``: a smaller public sensitivity, in ℓ₁ for Laplace and in ℓ₂ for Gaussian noise.

    ``value``: noisy totals, ``(m,)``, in wins, high = preferred; masked items: noise only.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3, with the sensitivity corrected; K-norm noise: Hardt
    and Talwar (2010), for these shapes ours.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> totals = noisy_counts(jax.random.key(0), wins, promise).value
    >>> bool(totals[0] > totals[1])
    True
    """,
    data=WIN_COUNTS,
    kinds=COMPARISON_KINDS,
    statistic=lambda wins, facts: wins.totals if isinstance(wins, WinCounts) else wins.sum(-1),
    change=totals_change,
    default=_default,
)

# --- ties ---------------------------------------------------------------------------------------------

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


def noise_on_counted(kind: str, scale: Any, numbers: int, *, ties: bool) -> Noise:
    """Noise of this kind and scale on so many totals or sums and, with ``ties``, on T."""
    return Noise.independent(kind, scale, numbers + ties, (tie_weight(kind),) * ties)


def _change_with_ties(attained: Privacy, facts: Facts, noise: str) -> Change:
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


def _floats_with_ties(wins: WinCounts, **public: Any) -> tuple[WinCounts, Facts]:
    check_tied_counts(wins)
    return wins, told_of(wins, **public)


def whole_ties(wins: WinCounts) -> int:
    """The number of ties."""
    ties = int(doubled_counts(np.asarray(wins.ties)[None])[0])
    if ties % 2 or ties < 0:
        raise ValueError(f"the number of ties must be whole and at least 0, got {ties / 2}.")
    return ties // 2


def _whole_with_ties(wins: WinCounts, **public: Any) -> tuple[Any, Facts]:
    check_tied_counts(wins)
    doubled = np.append(doubled_counts(wins).sum(-1), 2 * whole_ties(wins))
    return doubled, told_of(wins, **public)


noisy_ties = Additive(
    "noisy_ties",
    """Win totals and the number of ties with noise, of WinCounts that know their ties.

    :func:`~privrank_jax.pairwise.fit` fits Davidson's model to the value, which is post-processing.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, adjacency flip;
    theorem at the head of :mod:`privrank_jax.pairwise.noisy_totals`. Users need ``contributions``, or for Laplace noise
    a ``questionnaire`` as for :data:`~privrank_jax.pairwise.noisy_counts`, not traced.

    ``value``: ``(m + 1,)``, noisy totals in wins, ties half, and last the noisy number of ties.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 60], [40, 0]], ties=20)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip")
    >>> noisy_ties(jax.random.key(0), wins, free).value.tolist()
    [60.0, 40.0, 20.0]
    """,
    data=dataclasses.replace(WIN_COUNTS, floats=_floats_with_ties, whole=_whole_with_ties),
    kinds=FLIPS,
    statistic=lambda wins, facts: (
        wins
        if isinstance(wins, np.ndarray)
        else jnp.append(wins.totals, jnp.asarray(wins.ties, wins.matrix.dtype))
    ),
    change=_change_with_ties,
    shape=lambda facts: (facts.num_items + 1,),
    noises=NOISES,
)

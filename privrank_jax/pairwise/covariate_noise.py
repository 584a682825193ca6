r"""Noise on the sums of comparisons with public covariates, and on the number of ties.

*What it protects*: outcomes alone, adjacency flip. Who compared what and the covariates enter a fit without noise, so
the promise must take them as public. The statistic is S = Σ_r y_r z_r (:mod:`privrank_jax.pairwise.covariates`) and,
where ties are outcomes of their own, their number T: Davidson's model sees outcomes through these alone.

**Theorem (norms; ties cost nothing).** *Let c = 0 or 1 for the ℓ₁ norm and 0 ≤ c ≤ √(3/2) for the ℓ₂ norm. Between
neighbors that differ in the outcome of comparison r, (S, cT) moves by at most ‖z_r‖, and this is attained; if they
differ in outcomes of user u, by at most Σ_{r of u} ‖z_r‖. In ℓ₁ ‖z_r‖ = 2 + ‖x_r‖₁, in ℓ₂ √(2 + ‖x_r‖₂²).*

Proof. Another outcome of comparison r changes (S, cT) by

===================  ===============  ============  ====================
change               of (S, cT)       in ℓ₁         in ℓ₂
===================  ===============  ============  ====================
win to loss          (∓z_r, 0)        ‖z_r‖₁        ‖z_r‖₂
win or loss to tie   (∓z_r/2, ±c)     ‖z_r‖₁/2 + c  √(‖z_r‖₂²/4 + c²)
===================  ===============  ============  ====================

The lower line is at most the upper one in ℓ₁ iff c ≤ ‖z_r‖₁/2, and in ℓ₂ iff c² ≤ 3‖z_r‖₂²/4. Two entries of z_r are
1 and -1, so ‖z_r‖₁ ≥ 2 and ‖z_r‖₂² ≥ 2 whatever the features, and c² ≤ 1 or c² ≤ 3/2 suffices. A user's comparisons
change one after the other: the change is a sum of such changes, of norm at most Σ_{r of u} ‖z_r‖ by the triangle
inequality. ∎ Hence the noise of the sums alone, of scale λ or σ, serves for S, and λ or σ/c for T, with c = 11/9 for
Gaussian noise as in :mod:`privrank_jax.pairwise.noisy_totals`.

The largest norm of one comparison, or of those of one user, is a function of the design, which neighbors share. So the
scale of the noise may be published. Where only some comparisons of a user are kept, the choice must not depend on
outcomes either (:func:`~privrank_jax.comparisons.bound_contributions`).

**Common questions.** Let R_u be the comparisons of user u; G the graph on the items that has, for each pair, as many
edges as the user who meets it most often has comparisons of it; b_k = max_u Σ_{r in R_u} \|x_rk\|; and E the largest
\|R_u\|. If outcomes of one user change, S moves by Σ_{r in R_u} δ_r z_r with \|δ_r\| ≤ 1, and the pairs of u are among
the edges of G. So the items' sums move within the zonotope Z(G) = Σ_e [-1, 1](e_i - e_j), feature k by at most b_k, and
T by at most E.

**Theorem (shape).** *With F the largest ℓ₂ norm in Z(G), S moves by at most 2·maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in
ℓ₁ and √(F² + Σ_k b_k²) in ℓ₂; (S, T) by at most E + maxcut(G) + max_u Σ_{r in R_u} ‖x_r‖₁ in ℓ₁.*

Proof. The items' sums alone move by at most 2·maxcut and F (:mod:`privrank_jax.pairwise.questionnaire`), and with T by
at most \|R_u\| + maxcut (:mod:`privrank_jax.pairwise.noisy_totals`), those of the pairs of u; none of these is less for
more edges. ∎ The smaller of the two bounds is taken. In ℓ₂ only the first one is known of (S, T).

*Integers.* Where features are multiples of 2^{-b}, b public, 2^{b+1}S is a vector of whole numbers; with T it is
2^{b+1}(S, T) for Laplace noise and 2^{b+1}(9S, 11T) for Gaussian noise. The sensitivity is 2^{b+1} or 9·2^{b+1} times
that of S or (S, T): in ℓ₁ a whole number, computed in integers or, below 2^53, exactly in doubles.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import is_traced
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable, resolution
from privrank_jax.pairwise.noisy_totals import FLIPS, tie_parts
from privrank_jax.pairwise.questionnaire import questionnaire_sensitivity
from privrank_jax.privacy.noise import NOISES, norm_of
from privrank_jax.privacy.privacy import Privacy

_MOST_UNASKED = 4  # times as many edges of G as comparisons of a user: up to then its shape counts
_UP = 1 + 2**-40  # above what rounding may have lost
_LARGEST = 2**52  # integers below it are exact in float64
_TOO_LARGE = (
    "these sums are too large for exact noise: give covariates fewer bits, or leave some out."
)


def covariate_sensitivity(
    design: CovariateDesign, privacy: Privacy, norm: str, *, ties: bool = False
) -> Any:
    """Sensitivity of the sums, with ``ties`` of them and the number of ties, by the better of the two theorems."""
    generic = design.sensitivity(privacy, norm)
    if privacy.unit != "user":
        return generic
    if is_traced(design):
        raise ValueError(
            "what a user changes depends on the shape of the design, which must not be traced: keep the table's design "
            "out of jax.jit and jax.vmap (its outcomes may be traced)."
        )
    return jnp.minimum(generic, shaped_sensitivity(design, norm, ties=ties))


def shaped_sensitivity(design: CovariateDesign, norm: str, *, ties: bool = False) -> float:
    """That for one user by the theorem on the shape, on the host; ∞ where it is not worth computing, or unknown."""
    real = _real(design)
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
    of_items = questionnaire_sensitivity(questions + questions.T, user, norm)
    together = np.zeros((len(real), design.size - m))
    np.add.at(together, users, np.abs(np.asarray(design.features, np.float64)[real]))
    if norm == "l2":
        return math.hypot(of_items, *together.max(axis=0)) * _UP
    most = float(together.sum(axis=1).max())
    return (answers + of_items / 2 if ties else of_items) + most


# --- exactly, on the host -------------------------------------------------------------------------------


def _real(design: CovariateDesign) -> np.ndarray:
    """Which rows are no padding."""
    return np.ones(len(design.first), bool) if design.mask is None else np.asarray(design.mask)


def _rows(
    design: CovariateDesign, bits: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """First and second items, 2^b times the features as int64, of the rows that are no padding; and which these are."""
    real = _real(design)
    first, second = (np.asarray(items)[real] for items in (design.first, design.second))
    whole = np.ldexp(np.asarray(design.features, np.float64)[real], bits)
    if np.any(np.abs(whole) > _LARGEST):
        raise ValueError(_TOO_LARGE)
    return first, second, whole.astype(np.int64), real


def _whole(table: CovariateTable, *, ties: bool) -> tuple[Any, Facts]:
    """Twice the sums, and the number of ties, exactly in float64."""
    bits = resolution(np.asarray(table.design.features))
    first, second, features, real = _rows(table.design, bits)
    doubled = 2 * np.asarray(table.outcomes, np.float64)[real]
    if not np.all(np.isin(doubled, (0.0, 1.0, 2.0))):
        raise ValueError("exact noise needs outcomes that are 0, 1/2 or 1.")
    if 2 * len(first) * max(int(np.abs(features).max(initial=0)), 1 << bits) > _LARGEST:
        raise ValueError(_TOO_LARGE)
    twice = doubled.astype(np.int64)
    items = np.zeros(table.design.num_items, np.int64)
    np.add.at(items, first, twice << bits)
    np.subtract.at(items, second, twice << bits)
    whole = np.concatenate([items, (twice[:, None] * features).sum(0)])
    sums, tied = np.ldexp(whole.astype(float), -bits), 2.0 * int(np.sum(twice == 1))
    told = {"design": table.design, "bits": bits}
    return np.append(sums, tied) if ties else sums, Facts(table.design.num_items, told=told)


def _exact_change(
    design: CovariateDesign, privacy: Privacy, noise: str, bits: int, ties: bool = False
) -> float:
    """:func:`covariate_sensitivity`, exact in ℓ₁, and rounded up in ℓ₂."""
    first, _, features, real = _rows(design, bits)
    if noise == "laplace":
        each = (2 << bits) + np.abs(features).sum(1)
    else:
        # 32 roundings upward; pairwise sums of up to 2^20 squares, and the root, make at most 18
        each = np.sqrt(2 + np.square(np.ldexp(features, -bits)).sum(1)) * (1 + 2**-48)
    if privacy.unit == "user":
        together = np.zeros(len(real), each.dtype)
        np.add.at(together, np.asarray(design.users)[real], each)
        each = together
    most = each.max()
    if noise == "laplace":
        found = math.ldexp(int(most), -bits)
    else:
        found = float(most) * (1 + len(first) * 2**-52)
    if privacy.unit != "user":
        return found
    return min(found, shaped_sensitivity(design, norm_of(noise), ties=ties))


# --- the records ----------------------------------------------------------------------------------------


def _changed(attained: Privacy, facts: Facts, noise: str, ties: bool) -> Change:
    if "covariates" not in attained.neighbors.shared:
        raise ValueError(
            "the covariates of each comparison, and which item was first, enter the fit without noise, so the promise "
            "must say that they are public: Privacy(..., public=('covariates',))."
        )
    design, bits = facts.told["design"], facts.told.get("bits")
    unit = 1 if bits is None else 1 << bits
    parts: Any = tie_parts(noise, design.size, unit) if ties else unit

    def size() -> Any:
        if bits is None:
            given = covariate_sensitivity(design, attained, norm_of(noise), ties=ties)
        else:
            given = _exact_change(design, attained, noise, bits, ties)
        return 2 * (parts if np.ndim(parts) == 0 else parts[0]) * given

    return Change(lambda: [size()], parts=parts)


def _sums(table: Any, facts: Facts, ties: bool) -> Any:
    if isinstance(table, np.ndarray):
        return table
    return jnp.append(table.sums, table.ties) if ties else table.sums


TABLES = Data(
    CovariateTable,
    "make a table by covariate_table.",
    floats=lambda table: (table, Facts(table.design.num_items, told={"design": table.design})),
    whole=functools.partial(_whole, ties=False),
    times=2,
)
"""Tables as mechanisms read them."""


def _record(name: str, also: str, published: str, example: str, *, ties: bool) -> Additive:
    return Additive(
        name,
        f"""Sums of comparisons with features, a tie half a win{also}, with noise; of a table by ``covariate_table``.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one comparison or a user, adjacency flip,
    public ``"covariates"``; theorems at the head of :mod:`privrank_jax.pairwise.covariate_noise`. Users need no
    ``contributions``, but a design that is not traced. :func:`~privrank_jax.pairwise.fit` fits a model to the value,
    which is post-processing. A release needs features that are multiples of a power of 1/2.

    ``value``: sums of the items, then of the features{published}.

    >>> import jax
    >>> from privrank_jax.pairwise import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0.5], {{"first": [1.0, 1.0]}}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> {name}(jax.random.key(0), table, free).value.tolist()
    {example}
    """,
        data=dataclasses.replace(TABLES, whole=functools.partial(_whole, ties=ties)),
        kinds=FLIPS,
        statistic=functools.partial(_sums, ties=ties),
        change=functools.partial(_changed, ties=ties),
        shape=lambda facts: (facts.told["design"].size + ties,),
        noises=NOISES,
    )


noisy_sums = _record("noisy_sums", "", ": ``(m + p,)``", "[0.5, -0.5, 1.5]", ties=False)

noisy_sums_and_ties = _record(
    "noisy_sums_and_ties",
    ", and the number of ties",
    ", and last the number of outcomes 1/2: ``(m + p + 1,)``",
    "[0.5, -0.5, 1.5, 1.0]",
    ties=True,
)

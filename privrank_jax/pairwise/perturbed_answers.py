r"""Objective perturbation where an answer is one of several alternatives: covariates, ties, and choices from sets.

**Models.** Of the alternatives of an answer, k is given with probability p_k ∝ e^{⟨x_k, β⟩}: a conditional logit.
Between two items x is z/2 or -z/2 with z = (e_i - e_j, features); with Davidson's ties there is one more number τ, with
log ν = τ/2, which a tie alone has, so that its x = (0, 1/2); of a set, item k has x_k = e_k. An answer y adds -log p_y
to the objective: with x̄ = Σ p_k x_k its gradient is x̄ - x_y, and its curvature C = Σ p_k x_k x_kᵀ - x̄x̄ᵀ.

**Mechanism.** β̃ minimizes the sum over all answers plus γ‖β‖²/2 + wᵀβ, where w_k is Laplace noise of scale λ_k. Here
λ_k = λ for scores and 2λ for τ and for coefficients of features, of which each lies in [-1/2, 1/2]; and γ ≥ λ.

**Theorem.** *Let D = 2 + p/4 for two items that meet with p features, with ties as outcomes of their own or as half
wins; D = 2 for choices. Let V = (s - 2)/(s - 1) for choices from sets of at most s ≥ 2 items, and V = 0 otherwise. β̃ is
ε-DP for users of L answers (L = 1: one answer) with*

    ε = L(D/λ + V/γ)  where answers are added or removed,     ε = L(2D/λ + V/γ)  where they are replaced.

*Everything of an answer is protected: who met or what was offered, all features, and the outcome.*

Proof. The density of β̃ is p_w(-∇L(β) - γβ) det(∇²L(β) + γI), as at the head of
:mod:`privrank_jax.mechanism.objective`. With the norm ‖g‖ = Σ|g_k|/λ_k, an answer with gradient g moves log p_w by at
most ‖g‖. With H ⪰ γI the curvature without it, it moves the log-determinant up, by log det(I + H^{-1/2}CH^{-1/2}) ≤
tr(H^{-1}C) ≤ tr(C)/γ at most.

So one that is added, or removed, loses at most f = ‖g‖ + tr(C)/γ, and several lose the
sum. If answers A are replaced by B, the loss is at most Σ_A‖g‖ + Σ_B‖g‖ plus log det(H + C_A) - log det(H + C_B), at
most log det(H + C_A) - log det H: the sum of f over A and of ‖g‖ over B. It is left to show that f ≤ D/λ + V/γ and
‖g‖ ≤ D/λ whatever p is. Let Z = ‖z‖ and Q = ‖z‖₂²/γ. Scores have λ_k|z_k| = λ ≤ γ, features 2λ|z_k| ≤ λ ≤ γ; so
Q = Σ z_k²/γ ≤ Σ|z_k|/λ_k = Z, and 2/λ ≤ Z ≤ 2/λ + p(1/2)/(2λ) = D/λ.

*Two alternatives.* With q the probability of the other one, f = qZ + q(1 - q)Q ≤ qZ + (1 - q)Z = Z. A tie that counts
as half a win has the gradient (1/2 - q)z and f ≤ (\|1/2 - q\| + q(1 - q))Z ≤ Z/2.

*Davidson's ties.* Let A = (1/2)/(2λ) ≤ Z/8 be the size of τ's part of a tie, and B = (1/4)/γ ≤ Z/8 its square over γ.

Of a win, let t be the probability of a tie, s that of a loss plus t/2. The tie is at (-z/2, 1/2) and the loss at
(-z, 0) from x_y, so ‖g‖ = sZ + tA and tr(C)/γ = Q(s - s² - t/4) + Bt(1 - t). f rises in s, as Z + Q(1 - 2s) ≥ 0, and
s ≤ 1 - t/2; there f = Z - t(Z/2 - A) + (Q/4 + B)t(1 - t) ≤ Z - t(Z/2 - Z/8 - Z/4 - Z/8) = Z. The same for a loss.

Of a tie, let q be the probability of the others, and d that of a win less that of a loss, \|d\| ≤ q. Then
f = \|d\|Z/2 + qA + Q(q - d²)/4 + Bq(1 - q), which rises in \|d\|, and with \|d\| = q in q; so f ≤ Z/2 + A ≤ Z.
‖g‖ ≤ f throughout. *Ties cost nothing.*

*Choices.* With q = 1 - p_y, ‖g‖ = 2q/λ, and tr(C) = 1 - Σp_k² ≤ 1 - (1 - q)² - q²/(s - 1), least where the others are
equally likely. So f ≤ 2q/λ + (2q - q²s/(s - 1))/γ, with derivative at least 2/λ - 2/((s - 1)γ) ≥ 0: f is largest at
q = 1, 2/λ + (1 - 1/(s - 1))/γ. ∎

The bounds are attained: for two items in the limit q → 1, for choices up to log(1 + V/γ) in place of V/γ. Features in
[-1/2, 1/2] are the largest for which ties are free; each adds an eighth to the noise of scores.

**What must be public.** Which covariates there are, and bounds of each (``covariate_table(..., private=True)``); the
list of items.

The theorem is ours.
"""

from __future__ import annotations

import dataclasses
import functools
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from privrank_jax._validate import check_choice
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact.likelihoods import FEATURE_BITS, TIE_SHARE
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.objective import Objective, Ridge, Tilt
from privrank_jax.pairwise.choices import CHOICES, Choices, check_no_stages, whole_weights
from privrank_jax.pairwise.covariate_noise import TABLES
from privrank_jax.pairwise.covariates import LARGEST_FEATURE, CovariateTable
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.fits import fitted
from privrank_jax.pairwise.maximum_likelihood import TIES, check_answers, design_of
from privrank_jax.pairwise.noisy_totals import WIN_COUNTS, whole_ties
from privrank_jax.pairwise.perturbed_fit import whole_wins
from privrank_jax.privacy.privacy import COMPARISON_KINDS, Privacy

_FEATURE_NOISE = 2  # of the sum of a feature, and of τ, in units of that of a total of wins
_MOST_ANSWERS = 2**40


def _rules(facts: Facts) -> tuple[int, bool]:
    """The number of features, and whether ties are outcomes of their own."""
    return facts.rules or (0, False)


def _multiples(facts: Facts) -> tuple[int, ...]:
    return (1,) * facts.num_items + (_FEATURE_NOISE,) * sum(_rules(facts))


def _slope(attained: Privacy, facts: Facts) -> Change:
    """λ times the largest ‖g‖: D of an answer."""
    if attained.adjacency == "flip":
        raise ValueError(
            "noise in the objective is for adjacency='replace' or 'add-remove'; under 'flip' noise on what is counted "
            "is enough: pairwise.fit fits to what noisy_sums, noisy_ties or noisy_choices release."
        )
    each = (2 if attained.adjacency == "replace" else 1) * (2 + _rules(facts)[0] / 4)
    return Change(lambda: [each * attained.comparisons_per_unit])


def _ridge(attained: Privacy, facts: Facts, change: Change, *, sets: bool = False) -> Ridge:
    """γ ≥ λ, where log-determinants cost V/γ of an answer."""
    spread = 1 - 1 / max(facts.num_items - 1, 1) if sets else 0.0
    spent = spread * attained.comparisons_per_unit
    floor = (change.size("laplace") + spent) / attained.epsilon
    return Ridge(floor, spent=lambda gamma: spent / gamma, tied=True)


def _fit(numbers: Any, facts: Facts, tilt: Any, gamma: Any) -> tuple[Any, Any]:
    """β is fitted in log ν = τ/2."""
    counted, design = numbers
    of_ties = None
    if design.ties:
        tilt, of_ties = tilt.at[-1].multiply(1 / TIE_SHARE), gamma / TIE_SHARE**2
    ridges = design.all_ridges(jnp.broadcast_to(gamma, (design.size,)), of_ties)
    found = fitted(design, counted + tilt, ridges)
    return found.value, found.diagnostics


def _drawn(likelihood: Any, facts: Facts, tilt: Tilt) -> list[int]:
    from privrank_jax.exact.minimizer import drawn_minimizer

    return drawn_minimizer(likelihood, _multiples(facts), tilt.noise, tilt.scale, tilt.gamma)


def _floats_of(data: Any, davidson: bool) -> tuple[Any, Facts]:
    check_answers(data, davidson)
    design, counted = design_of(data, davidson)
    features = design.size - design.num_items
    told = {} if design.feature_units is None else {"units": design.feature_units}
    return (counted, design), Facts(design.num_items, rules=(features, davidson), told=told)


def _finish(found: np.ndarray, facts: Facts) -> Any:
    """Numbers of a release in the units of the data."""
    items, (features, davidson) = facts.num_items, _rules(facts)
    if "units" not in facts.told and not davidson:
        return found
    slopes: Any = None
    if "units" in facts.told:
        slopes = found[items : items + features] / np.asarray(facts.told["units"], np.float64)
    scores: Any = found[:items]
    return ModelScores(scores, slopes, TIE_SHARE * found[-1] if davidson else None)


def _whole_ties(wins: WinCounts) -> tuple[Int[np.ndarray, "numbers"], Facts]:
    facts = _floats_of(wins, True)[1]
    return np.append(whole_wins(wins), whole_ties(wins)), facts


def perturbed_ties(counts: Int[np.ndarray, "numbers"], facts: Facts, tilt: Tilt) -> list[int]:
    """Centered scores and τ in multiples of the grid, of twice the win counts, row by row, and the number of ties."""
    from privrank_jax.exact.likelihoods import of_wins

    wins = counts[:-1].reshape(facts.num_items, facts.num_items)
    return _drawn(of_wins(wins, ties=int(counts[-1])), facts, tilt)


_GUARANTEE = """

    **Guarantee.** ε-DP with Laplace noise, for one {0} or a user, adjacency replace or add-remove: all of an answer is
    protected; theorem and proof at the head of :mod:`privrank_jax.pairwise.perturbed_answers`, for real numbers
    (``numerics="idealized"``), which ``release`` keeps. {1}, and γ >= λ. Users need ``contributions``, which must hold
    in the data. ``gamma``: by default λ, or 1 if that is more. Under ``flip`` fit to what
    :data:`~privrank_jax.pairwise.{2}` releases.

    """
_record = functools.partial(
    Objective,
    kinds=COMPARISON_KINDS,
    slope=_slope,
    ridge=_ridge,
    fit=_fit,
    finish=_finish,
    multiples=_multiples,
)

perturbed_davidson = _record(
    "perturbed_davidson",
    """Private scores and ν of WinCounts that know their ties, by Davidson's model, in which a tie is an outcome of its
    own (:mod:`privrank_jax.pairwise.designs`); noise is in the objective of its likelihood."""
    + _GUARANTEE.format("comparison", "λ is 4L/ε or 2L/ε: ties cost nothing", "noisy_ties")
    + """``value``: :class:`~privrank_jax.pairwise.designs.ModelScores`.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 600], [400, 0]], ties=200)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> found = perturbed_davidson(jax.random.key(0), wins, promise).value
    >>> bool(found.scores[0] > found.scores[1]), bool(0.3 < found.tie < 0.7)  # without noise 0.51
    (True, True)
    """,
    data=dataclasses.replace(
        WIN_COUNTS, floats=functools.partial(_floats_of, davidson=True), whole=_whole_ties
    ),
    exact=lambda *given: perturbed_ties(*given),
)


def _floats_of_table(table: CovariateTable, ties: str = "half") -> tuple[Any, Facts]:
    check_choice("ties", ties, TIES)
    if not table.design.private:
        raise ValueError(
            "the scales of this table's features were read from its rows, which are private here: make it by "
            "covariate_table(..., bounds=..., private=True), or promise adjacency='flip', under which covariates are "
            "public."
        )
    return _floats_of(table, ties == "davidson")


def _rows_of_table(
    table: CovariateTable, ties: str = "half"
) -> tuple[Int[np.ndarray, "rows columns"], Facts]:
    """First item, second item, twice the outcome, features in multiples of 2^-11, user."""
    facts, design = _floats_of_table(table, ties)[1], table.design
    real = slice(None) if design.mask is None else np.asarray(design.mask)
    outcomes = 2 * np.asarray(table.outcomes, np.float64)[real]
    features = np.ldexp(np.asarray(design.features, np.float64)[real], FEATURE_BITS)
    largest = LARGEST_FEATURE * 2**FEATURE_BITS
    if not np.all(np.isin(outcomes, (0, 1, 2))):
        raise ValueError("outcomes must be 1 (the first item won), 0 (it lost) or 0.5 (a tie).")
    if not np.all((np.rint(features) == features) & (np.abs(features) <= largest)):
        raise ValueError(
            "features must be multiples of 2^-11 in [-1/2, 1/2]: make the table by covariate_table(..., private=True)."
        )
    columns = (np.asarray(one)[real] for one in (design.first, design.second, design.users))
    first, second, users = columns
    return np.column_stack([first, second, outcomes, features, users]).astype(np.int64), facts


def _exactly_of_table(rows: Int[np.ndarray, "rows columns"], facts: Facts, tilt: Tilt) -> list[int]:
    users, privacy = rows[:, -1], tilt.privacy
    most = int(np.unique(users, return_counts=True)[1].max(initial=0))
    if most > privacy.comparisons_per_unit and privacy.unit == "user":
        raise ValueError(
            f"a user has {most} comparisons, and the promise is for {privacy.contributions} at most: keep that many by "
            "release.exact_bound, or promise more contributions."
        )
    return perturbed_meetings(rows[:, :-1], facts, tilt)


def perturbed_meetings(
    rows: Int[np.ndarray, "rows columns"], facts: Facts, tilt: Tilt
) -> list[int]:
    """Centered scores, coefficients of features, and τ, in multiples of the grid.

    A row is the first item, the second one, twice the outcome, and features in multiples of 2^-11. Rows are counted,
    equal ones together, so that neither their order nor who gave them can matter.
    """
    from privrank_jax.exact.likelihoods import Meetings

    items, (features, davidson) = facts.num_items, _rules(facts)
    met, times = np.unique(np.delete(rows, 2, axis=1), axis=0, return_counts=True)
    excess = np.zeros(items + features, object)  # twice Σ (y - 1/2) z, in multiples of 2^-11
    lead = rows[:, 2] - 1
    np.add.at(excess, rows[:, 0], lead * 2**FEATURE_BITS)
    np.subtract.at(excess, rows[:, 1], lead * 2**FEATURE_BITS)
    excess[items:] = [int(one) for one in (lead[:, None] * rows[:, 3:]).sum(0)]
    known = [Fraction(int(one), 2 ** (FEATURE_BITS + 1)) for one in excess]
    tied = int(np.sum(rows[:, 2] == 1)) if davidson else None
    return _drawn(Meetings(items, met, times, known, tied), facts, tilt)


perturbed_covariates = _record(
    "perturbed_covariates",
    """Private scores of items that meet with all covariates equal, and what each covariate adds, of a table by
    ``covariate_table(..., private=True)``; noise is in the objective of the likelihood."""
    + _GUARANTEE.format(
        "comparison, covariates included,",
        "With p covariates λ is (4 + p/2)L/ε or (2 + p/4)L/ε",
        "noisy_sums",
    )
    + """Public, and a choice of yours: ``ties``: ``"half"``: half a win; ``"davidson"``: an outcome of its own.

    ``value``: :class:`~privrank_jax.pairwise.designs.ModelScores`.

    >>> import jax
    >>> from privrank_jax.pairwise import covariate_table
    >>> told = {"num_items": 2, "bounds": {"first": (0, 1)}, "private": True}
    >>> table = covariate_table([0, 1] * 200, [1, 0] * 200, [1] * 400, {"first": [1.0] * 400}, **told)
    >>> promise = Privacy(5.0, unit="comparison", adjacency="replace")
    >>> bool(perturbed_covariates(jax.random.key(0), table, promise).value.coefficients[0] > 0.5)  # who is first wins
    True
    """,
    data=dataclasses.replace(TABLES, floats=_floats_of_table, whole=_rows_of_table),
    exact=_exactly_of_table,
)


def _floats_of_choices(choices: Choices) -> tuple[Any, Facts]:
    check_no_stages(choices)
    return _floats_of(choices, False)


def _rows_of_choices(choices: Choices) -> tuple[Int[np.ndarray, "rows columns"], Facts]:
    facts = _floats_of_choices(choices)[1]
    weights = whole_weights(choices)
    if weights.sum() > _MOST_ANSWERS:
        raise ValueError("there are more than 2^40 choices.")
    offered = np.where(np.asarray(choices.offered), np.asarray(choices.sets), choices.num_items)
    offered = np.sort(offered, axis=1)
    offered[offered == choices.num_items] = -1
    found = np.column_stack([weights, np.asarray(choices.chosen), offered]).astype(np.int64)
    return found[weights > 0], facts


def perturbed_sets(rows: Int[np.ndarray, "rows columns"], facts: Facts, tilt: Tilt) -> list[int]:
    """Centered scores in multiples of the grid; equal rows are counted together.

    A row is how many choices, the chosen item, and the items offered in their order, -1 for none.
    """
    from privrank_jax.exact.likelihoods import Offers

    sets, place = np.unique(rows[:, 2:], axis=0, return_inverse=True)
    times, totals = np.zeros(len(sets), np.int64), np.zeros(facts.num_items, np.int64)
    np.add.at(times, place.ravel(), rows[:, 0])
    np.add.at(totals, rows[:, 1], rows[:, 0])
    return _drawn(Offers(sets, times, totals), facts, tilt)


perturbed_choices = _record(
    "perturbed_choices",
    """Private Plackett-Luce scores of :class:`~privrank_jax.pairwise.choices.Choices` from sets, not stages of
    rankings; noise is in the objective of the likelihood."""
    + _GUARANTEE.format(
        "choice, and what was offered,",
        "With V = (m - 2)/(m - 1) λ is (4 + V)L/ε or (2 + V)L/ε at γ = λ",
        "noisy_choices",
    )
    + """``value``: scores, ``(m,)``, mean 0, high = preferred.

    >>> import jax
    >>> choices = Choices.from_top1([(0, [1, 2])] * 600 + [(1, [0, 2])] * 20, num_items=3)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> int(perturbed_choices(jax.random.key(0), choices, promise).value.argmax())
    0
    """,
    data=dataclasses.replace(CHOICES, floats=_floats_of_choices, whole=_rows_of_choices),
    ridge=functools.partial(_ridge, sets=True),
    exact=lambda *given: perturbed_sets(*given),
)

"""Perturbed fits with covariates, with ties, and of choices from sets, released exactly.

Why they are private: the head of :mod:`privrank_jax.pairwise.objective_perturbation`. What is published, and how the
minimizer is found without error: :mod:`privrank_jax.release.minimizer`. Grid, allowance for rounding and ridge are
those of :mod:`privrank_jax.release.perturbed_mle`.

Rows are counted first, equal ones together, so that neither their order nor how users are named can matter.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariate_mle import check_private
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.graph import check_tied_counts
from privrank_jax.pairwise.mle import TIES
from privrank_jax.pairwise.noisy_choices import check_no_stages
from privrank_jax.pairwise.objective_perturbation import (
    FEATURE_BITS,
    FEATURE_NOISE,
    LARGEST_FEATURE,
    TIE_SHARE,
    choice_noise,
    kept_by_objective,
    meeting_noise,
)
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.balls import Laplace, load_flint
from privrank_jax.release.integer_noise import exact_promise
from privrank_jax.release.likelihoods import Meetings, Offers
from privrank_jax.release.minimizer import Likelihood, rounded_minimizer
from privrank_jax.release.noisy_totals import doubled_totals
from privrank_jax.release.perturbed_mle import (
    GRID,
    ROUNDING,
    exact_estimate,
    in_doubles,
    in_range,
    whole_wins,
)

_MOST_ANSWERS = 2**40


def exact_perturbed_covariate_mle(
    table: CovariateTable,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    ties: str = "half",
) -> Estimate:
    """Private scores and coefficients of private covariates, exactly; twin of ``pairwise.covariate_mle``.

    **Guarantee.** As for the twin, with ``numerics="exact"``. Runs on the host: no tracing, no key.

    Args:
        table: as for the twin.
        privacy: as for the twin, ε finite.
        gamma: as for the twin.
        ties: as for the twin.

    Returns:
        ``value``: as for the twin, of float64 NumPy arrays. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.release.perturbed_mle.ExactFit`, public.

    Raises:
        ValueError, TypeError: as for the twin; ε = ∞ or several ε; users with more than ``contributions`` comparisons;
            outcomes other than 0, 1/2, 1; features that are no multiples of 2^-11 in [-1/2, 1/2].
        ImportError: python-flint is not installed.

    >>> from privrank_jax.pairwise import covariate_table
    >>> home = {"home": [1.0] * 900}
    >>> told = {"num_items": 2, "bounds": {"home": (0, 1)}, "private": True}
    >>> table = covariate_table([0, 1] * 450, [1, 0] * 450, [1, 1] * 360 + [1, 0] * 90, home, **told)
    >>> found = exact_perturbed_covariate_mle(table, Privacy(2.0, unit="comparison", adjacency="replace"))
    >>> bool(found.value.coefficients[0] > 0), found.guarantee.numerics
    (True, 'exact')
    """
    load_flint()
    check_choice("ties", ties, TIES)
    attained = exact_promise(kept_by_objective(privacy, "exact_perturbed_covariate_mle"))
    check_private(table)
    design, items = table.design, table.design.num_items
    rows, features = _rows_of(table, attained), len(design.names)
    scale, ridge = _calibrated(meeting_noise, attained, features, gamma)
    numbers = perturbed_meetings(
        rows,
        num_items=items,
        ties=ties,
        noise_scale=Fraction(scale),
        gamma=Fraction(ridge),
    )
    found = in_doubles(numbers)
    slopes = found[items : items + features] / np.asarray(design.units, np.float64)
    log_tie = TIE_SHARE * found[-1] if ties == "davidson" else None
    value = ModelScores(found[:items], slopes, log_tie)
    return exact_estimate(value, privacy, attained, scale, ridge)


def exact_perturbed_davidson_mle(
    wins: WinCounts, privacy: Privacy, *, gamma: Scalar | None = None
) -> Estimate:
    """Private scores and tie parameter, exactly; twin of ``pairwise.perturbed_davidson_mle`` beyond ``flip``.

    **Guarantee.** As for the twin, with ``numerics="exact"``. Runs on the host: no tracing, no key.

    Args:
        wins: win counts that know their ``ties``, without a mask; multiples of 1/2.
        privacy: adjacency ``replace`` or ``add-remove``, ε finite; users need ``contributions``, which must hold.
        gamma: ridge γ of scores, at least λ; default λ, or 1 if that is more. That of log ν is 4γ.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.designs.ModelScores` of float64 NumPy arrays. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.release.perturbed_mle.ExactFit`, public.

    Raises:
        ValueError: a promise that can't be kept, ε = ∞ or several ε, adjacency flip, γ below its floor, masked items,
            counts that don't know their ties, are no multiples of 1/2, or too large.
        ImportError: python-flint is not installed.

    >>> wins = WinCounts.from_matrix([[0, 600], [400, 0]], ties=200)
    >>> found = exact_perturbed_davidson_mle(wins, Privacy(2.0, unit="comparison", adjacency="replace"))
    >>> bool(0.2 < found.value.tie < 1), found.guarantee.numerics
    (True, 'exact')
    """
    load_flint()
    check_tied_counts(wins)
    attained = exact_promise(kept_by_objective(privacy, "exact_perturbed_davidson_mle"))
    tied = int(doubled_totals(np.asarray(wins.ties)[None])[0])
    if tied % 2 or tied < 0:
        raise ValueError(f"the number of ties must be whole and at least 0, got {tied / 2}.")
    scale, ridge = _calibrated(meeting_noise, attained, 0, gamma)
    numbers = perturbed_ties(
        np.append(whole_wins(wins), tied // 2),
        num_items=wins.num_items,
        noise_scale=Fraction(scale),
        gamma=Fraction(ridge),
    )
    found = in_doubles(numbers)
    value = ModelScores(found[:-1], None, TIE_SHARE * found[-1])
    return exact_estimate(value, privacy, attained, scale, ridge)


def exact_perturbed_plackett_luce(
    choices: Choices, privacy: Privacy, *, gamma: Scalar | None = None
) -> Estimate:
    """Private scores from choices among private sets, exactly; twin of ``pairwise.perturbed_plackett_luce``.

    **Guarantee.** As for the twin, with ``numerics="exact"``. Runs on the host: no tracing, no key.

    Args:
        choices: choices, not stages of rankings; weights are whole numbers of choices.
        privacy: adjacency ``replace`` or ``add-remove``, ε finite; users need ``contributions``, which must hold.
        gamma: as for the twin.

    Returns:
        ``value``: scores, ``(m,)`` float64 NumPy array, multiples of 2^-40, mean 0 up to rounding. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.release.perturbed_mle.ExactFit`, public.

    Raises:
        ValueError: as for the twin; ε = ∞ or several ε, adjacency flip, weights that are not whole.
        ImportError: python-flint is not installed.

    >>> choices = Choices.from_top1([(0, [1, 2])] * 600 + [(1, [0, 2])] * 20, num_items=3)
    >>> found = exact_perturbed_plackett_luce(choices, Privacy(2.0, unit="comparison", adjacency="replace"))
    >>> int(found.value.argmax()), found.guarantee.numerics
    (0, 'exact')
    """
    load_flint()
    check_no_stages(choices)
    attained = exact_promise(kept_by_objective(privacy, "exact_perturbed_plackett_luce"))
    rows = _choice_rows(choices)
    scale, ridge = _calibrated(choice_noise, attained, choices.num_items, gamma)
    numbers = perturbed_choices(
        rows,
        num_items=choices.num_items,
        noise_scale=Fraction(scale),
        gamma=Fraction(ridge),
    )
    return exact_estimate(in_doubles(numbers), privacy, attained, scale, ridge)


# --- where answers meet noise ------------------------------------------------------------------------


def perturbed_meetings(
    rows: Int[np.ndarray, "rows columns"],
    *,
    num_items: int,
    ties: str,
    noise_scale: Fraction,
    gamma: Fraction,
    grid: Fraction = GRID,
) -> list[int]:
    """Centered scores, coefficients of features, and τ, in multiples of the grid.

    Args:
        rows: ``(N, 3 + p)``: first item, second item, twice the outcome, features in multiples of 2^-11.
        num_items: m.
        ties: ``"half"`` or ``"davidson"``.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
        grid: h.
    """
    met, times = np.unique(np.delete(rows, 2, axis=1), axis=0, return_counts=True)
    features, davidson = rows.shape[1] - 3, ties == "davidson"
    excess = np.zeros(num_items + features, object)  # twice Σ (y - 1/2) z, in multiples of 2^-11
    lead = rows[:, 2] - 1
    np.add.at(excess, rows[:, 0], lead * 2**FEATURE_BITS)
    np.subtract.at(excess, rows[:, 1], lead * 2**FEATURE_BITS)
    excess[num_items:] = [int(one) for one in (lead[:, None] * rows[:, 3:]).sum(0)]
    known = [Fraction(int(one), 2 ** (FEATURE_BITS + 1)) for one in excess]
    tied = int(np.sum(rows[:, 2] == 1)) if davidson else None
    likelihood = Meetings(num_items, met, times, known, tied)
    return _minimized(likelihood, num_items, features + davidson, noise_scale, gamma, grid)


def perturbed_ties(
    counts: Int[np.ndarray, "numbers"],
    *,
    num_items: int,
    noise_scale: Fraction,
    gamma: Fraction,
    grid: Fraction = GRID,
) -> list[int]:
    """Centered scores and τ in multiples of the grid.

    Args:
        counts: ``(m² + 1,)``, twice the win counts, row by row, and the number of ties.
        num_items: m.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
        grid: h.
    """
    doubled = counts[:-1].reshape(num_items, num_items)
    first, second = np.nonzero(np.triu(doubled + doubled.T))
    twice = (doubled + doubled.T)[first, second]
    known = [Fraction(int(one), 4) for one in (doubled - doubled.T).sum(1)]
    likelihood = Meetings(
        num_items, np.stack([first, second], axis=1), twice / 2, known, int(counts[-1])
    )
    return _minimized(likelihood, num_items, 1, noise_scale, gamma, grid)


def perturbed_choices(
    rows: Int[np.ndarray, "rows columns"],
    *,
    num_items: int,
    noise_scale: Fraction,
    gamma: Fraction,
    grid: Fraction = GRID,
) -> list[int]:
    """Centered scores in multiples of the grid.

    Args:
        rows: ``(K, 2 + s)``: how many choices, the chosen item, the items offered in their order, -1 for none.
        num_items: m.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
        grid: h.
    """
    sets, place = np.unique(rows[:, 2:], axis=0, return_inverse=True)
    times, totals = np.zeros(len(sets), np.int64), np.zeros(num_items, np.int64)
    np.add.at(times, place.ravel(), rows[:, 0])
    np.add.at(totals, rows[:, 1], rows[:, 0])
    return _minimized(Offers(sets, times, totals), num_items, 0, noise_scale, gamma, grid)


def _minimized(
    likelihood: Likelihood,
    num_items: int,
    others: int,
    noise_scale: Fraction,
    gamma: Fraction,
    grid: Fraction,
) -> list[int]:
    raised = noise_scale * (1 + ROUNDING)
    scales = [raised] * num_items + [FEATURE_NOISE * raised] * others
    noise = [Laplace(scale) for scale in scales]
    return rounded_minimizer(likelihood, max(gamma, raised), noise, grid, scores=num_items)


# --- checked data -------------------------------------------------------------------------------------


def _rows_of(table: CovariateTable, privacy: Privacy) -> np.ndarray:
    """``(N, 3 + p)`` as for :func:`perturbed_meetings`."""
    design = table.design
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
    users = np.asarray(design.users)[real]
    most = int(np.unique(users, return_counts=True)[1].max(initial=0))
    if most > privacy.comparisons_per_unit and privacy.unit == "user":
        raise ValueError(
            f"a user has {most} comparisons, and the promise is for {privacy.contributions} at most: keep that many by "
            "release.exact_bound, or promise more contributions."
        )
    columns = (design.first, design.second)
    pairs = [np.asarray(column)[real] for column in columns]
    return np.column_stack([*pairs, outcomes, features]).astype(np.int64)


def _choice_rows(choices: Choices) -> np.ndarray:
    """``(K, 2 + s)`` as for :func:`perturbed_choices`."""
    weights = np.asarray(choices.weights, np.float64)
    if not np.all((weights >= 0) & (np.rint(weights) == weights)) or weights.sum() > _MOST_ANSWERS:
        raise ValueError("weights must be whole numbers of choices, at least 0, below 2^40 in all.")
    offered = np.where(np.asarray(choices.offered), np.asarray(choices.sets), choices.num_items)
    offered = np.sort(offered, axis=1)
    offered[offered == choices.num_items] = -1
    found = np.column_stack([weights, np.asarray(choices.chosen), offered]).astype(np.int64)
    return found[weights > 0]


def _calibrated(
    law: Callable[..., tuple[Any, Any]], privacy: Privacy, number: int, gamma: Scalar | None
) -> tuple[float, float]:
    """λ and γ in doubles."""
    with jax.enable_x64(True):
        return in_range(*law(privacy, number, gamma))

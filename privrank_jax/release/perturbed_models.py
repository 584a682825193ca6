"""Where answers of perturbed fits meet exact noise: win counts, covariates, ties, and choices from sets.

Why they are private: the heads of :mod:`privrank_jax.privacy.calibration` and of
:mod:`privrank_jax.pairwise.objective_perturbation`. What is published, and how the minimizer is found without error:
:mod:`privrank_jax.release.minimizer`. The release is :func:`~privrank_jax.release.exact_perturbed_mle`.

Rows are counted first, equal ones together, so that neither their order nor how users are named can matter.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Int

from privrank_jax.comparisons import WinCounts
from privrank_jax.exact.balls import Laplace, Normal
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.objective_perturbation import (
    FEATURE_BITS,
    FEATURE_NOISE,
    LARGEST_FEATURE,
)
from privrank_jax.pairwise.weighted_comparisons import WEIGHT_STEPS
from privrank_jax.pairwise.whole_counts import counts_in_parts, doubled_counts, doubled_totals
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.likelihoods import LaplaceWins, Meetings, Offers
from privrank_jax.release.minimizer import Likelihood, rounded_minimizer

GRID = Fraction(1, 2**40)
ROUNDING = Fraction(1, 2**30)
_MOST_ANSWERS = 2**40


def perturbed_scores(
    counts: Int[np.ndarray, "m m"],
    privacy: Privacy,
    *,
    link: str,
    noise: str,
    noise_scale: Fraction,
    gamma: Fraction,
    parts: int = 2,
) -> list[int]:
    """Centered scores in multiples of the grid.

    Args:
        counts: ``parts`` times the win counts.
        privacy: what is promised; the noise has the scale that it needs.
        link: name of the link.
        noise: ``"laplace"`` or ``"gaussian"``.
        noise_scale: λ or σ, before the allowance for rounding.
        gamma: γ, raised to λ where that is its floor, by the allowance for rounding with Gaussian noise.
        parts: of a win, a power of 2.
    """
    raised = noise_scale * (1 + ROUNDING)
    if noise == "gaussian":
        gamma *= 1 + ROUNDING
    elif link == "logistic" and privacy.adjacency != "flip":
        gamma = max(gamma, raised)
    law = Laplace if noise == "laplace" else Normal
    drawn = [law(raised) for _ in range(len(counts))]
    return rounded_minimizer(likelihood_of(counts, link, parts), gamma, drawn, GRID)


def perturbed_meetings(
    rows: Int[np.ndarray, "rows columns"],
    *,
    num_items: int,
    ties: str,
    noise_scale: Fraction,
    gamma: Fraction,
) -> list[int]:
    """Centered scores, coefficients of features, and τ, in multiples of the grid.

    Args:
        rows: ``(N, 3 + p)``: first item, second item, twice the outcome, features in multiples of 2^-11.
        num_items: m.
        ties: ``"half"`` or ``"davidson"``.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
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
    return _minimized(likelihood, num_items, features + davidson, noise_scale, gamma)


def perturbed_ties(
    counts: Int[np.ndarray, "numbers"],
    *,
    num_items: int,
    noise_scale: Fraction,
    gamma: Fraction,
) -> list[int]:
    """Centered scores and τ in multiples of the grid.

    Args:
        counts: ``(m² + 1,)``, twice the win counts, row by row, and the number of ties.
        num_items: m.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
    """
    likelihood = likelihood_of(counts[:-1].reshape(num_items, num_items), ties=int(counts[-1]))
    return _minimized(likelihood, num_items, 1, noise_scale, gamma)


def perturbed_choices(
    rows: Int[np.ndarray, "rows columns"],
    *,
    num_items: int,
    noise_scale: Fraction,
    gamma: Fraction,
) -> list[int]:
    """Centered scores in multiples of the grid.

    Args:
        rows: ``(K, 2 + s)``: how many choices, the chosen item, the items offered in their order, -1 for none.
        num_items: m.
        noise_scale: λ, before the allowance for rounding.
        gamma: γ, raised to λ.
    """
    sets, place = np.unique(rows[:, 2:], axis=0, return_inverse=True)
    times, totals = np.zeros(len(sets), np.int64), np.zeros(num_items, np.int64)
    np.add.at(times, place.ravel(), rows[:, 0])
    np.add.at(totals, rows[:, 1], rows[:, 0])
    return _minimized(Offers(sets, times, totals), num_items, 0, noise_scale, gamma)


def _minimized(
    likelihood: Likelihood,
    num_items: int,
    others: int,
    noise_scale: Fraction,
    gamma: Fraction,
) -> list[int]:
    raised = noise_scale * (1 + ROUNDING)
    scales = [raised] * num_items + [FEATURE_NOISE * raised] * others
    noise = [Laplace(scale) for scale in scales]
    return rounded_minimizer(likelihood, max(gamma, raised), noise, GRID, scores=num_items)


def likelihood_of(
    counts: Int[np.ndarray, "m m"],
    link: str = "logistic",
    parts: int = 2,
    *,
    ties: int | None = None,
) -> Likelihood:
    """The likelihood of win counts.

    Args:
        counts: ``parts`` times the win counts.
        link: ``"logistic"`` or ``"laplace"``.
        parts: of a win, a power of 2.
        ties: how many there are, if they are outcomes of their own.
    """
    if link == "laplace":
        return LaplaceWins(counts, parts)
    met = counts + counts.T
    pairs = np.argwhere(np.triu(met))
    known = [Fraction(int(one), 2 * parts) for one in (counts - counts.T).sum(1)]
    return Meetings(len(counts), pairs, met[tuple(pairs.T)] / parts, known, ties)


# --- checked data -------------------------------------------------------------------------------------


def whole_wins(wins: WinCounts, parts: int = 2) -> np.ndarray:
    """``parts`` times the win counts as int64, ``(m, m)``."""
    if parts == 2:
        counts = doubled_counts(wins)
    else:
        counts = counts_in_parts(
            wins,
            parts,
            f"exact noise needs weights that are multiples of 1/{WEIGHT_STEPS}: bound and round them by "
            "pairwise.bounded_weights.",
        )
    if np.any(counts < 0) or np.any(np.diag(counts)):
        raise ValueError("win counts must be at least 0, and no item can meet itself.")
    return counts


def tied_counts(wins: WinCounts) -> np.ndarray:
    """``(m² + 1,)`` as for :func:`perturbed_ties`."""
    tied = int(doubled_totals(np.asarray(wins.ties)[None])[0])
    if tied % 2 or tied < 0:
        raise ValueError(f"the number of ties must be whole and at least 0, got {tied / 2}.")
    return np.append(whole_wins(wins), tied // 2)


def meeting_rows(table: CovariateTable, privacy: Privacy) -> np.ndarray:
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


def choice_rows(choices: Choices) -> np.ndarray:
    """``(K, 2 + s)`` as for :func:`perturbed_choices`."""
    weights = np.asarray(choices.weights, np.float64)
    if not np.all((weights >= 0) & (np.rint(weights) == weights)) or weights.sum() > _MOST_ANSWERS:
        raise ValueError("weights must be whole numbers of choices, at least 0, below 2^40 in all.")
    offered = np.where(np.asarray(choices.offered), np.asarray(choices.sets), choices.num_items)
    offered = np.sort(offered, axis=1)
    offered[offered == choices.num_items] = -1
    found = np.column_stack([weights, np.asarray(choices.chosen), offered]).astype(np.int64)
    return found[weights > 0]

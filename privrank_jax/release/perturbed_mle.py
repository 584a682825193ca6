"""The perturbed maximum likelihood estimate, released exactly: real noise, the true minimizer, rounded to a grid.

What is published, why it is private and how it is found without error: :mod:`privrank_jax.release.minimizer`.

**Grid.** h = 2^-40. Scores that differ by less than a few millionths are the same to any reader: the standard error of
the difference of two scores is at least 2/√N after N comparisons, at least 2^-26 for all counts that are accepted,
without any noise. So h is below 2^-10 of it, whatever the data are, and needs no public fact.

**Noise scale and ridge** come from :func:`~privrank_jax.privacy.calibration.calibrate_objective_perturbation`, in
doubles; the scale is raised by 2^-30 of itself, far more than the rounding of its few operations, and γ to at least its
floor at that scale.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax._types import Scalar
from privrank_jax._validate import check_choice
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.choice_noise import check_no_stages
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateTable, check_private
from privrank_jax.pairwise.designs import ModelScores
from privrank_jax.pairwise.maximum_likelihood import TIES, check_answers, design_of
from privrank_jax.pairwise.objective_perturbation import (
    TIE_SHARE,
    answer_noise,
    kept_by_objective,
)
from privrank_jax.pairwise.perturbed_fit import calibrated_fit
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.weighted_comparisons import WEIGHT_STEPS
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.perturbed_models import (
    GRID,
    choice_rows,
    meeting_rows,
    perturbed_choices,
    perturbed_meetings,
    perturbed_scores,
    perturbed_ties,
    tied_counts,
    whole_wins,
)

_BY = "exact_perturbed_mle"


@dataclasses.dataclass(frozen=True)
class ExactFit:
    """Public facts of an exact perturbed fit.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each score.
        gamma: the ridge γ of the scores.
        grid: h; scores are multiples of it.
    """

    noise_scale: float
    gamma: float
    grid: float


def exact_perturbed_mle(
    data: WinCounts | CovariateTable | Choices,
    privacy: Privacy,
    *,
    link: str | Link = "logistic",
    gamma: Scalar | None = None,
    ties: str = "half",
    noise: str | None = None,
    weighted: bool = False,
) -> Estimate:
    """Private scores with exact noise and the exact minimizer, for a real release; twin of ``pairwise.perturbed_mle``.

    **Guarantee.** ε-DP (Laplace noise), or (ε, δ)-DP (Gaussian), for the promised unit and adjacency. Theorems of
    objective perturbation head :mod:`privrank_jax.privacy.calibration` and
    :mod:`privrank_jax.pairwise.objective_perturbation`; why they hold for what this function returns, to the last
    digit, heads :mod:`privrank_jax.release.minimizer`. Runs on the host: no tracing, no key.

    Args:
        data: as for the twin: win counts of m items, without a mask, multiples of 1/2, of comparisons in all below
            2^52; comparisons with private covariates; or choices with whole weights.
        privacy: as for the twin, ε finite; users need ``contributions``, which must hold in the data. Adjacency
            ``flip`` is for win counts with half wins alone: of others, publish what is counted, and fit to it.
        link: as for the twin.
        gamma: ridge γ of the scores, at least its floor and above 0; ``None`` = the default of the twin.
        ties: as for the twin.
        noise: ``"laplace"`` (default), or of win counts with half wins ``"gaussian"`` at the δ of the promise.
        weighted: as for the twin; counts are then multiples of 2^-11, as
            :func:`~privrank_jax.pairwise.bounded_weights` and ties make them.

    Returns:
        ``value``: as for the twin, of float64 NumPy arrays; scores are multiples of 2^-40 (of larger powers of 2 for
        scores beyond 2^13), mean 0 up to rounding. ``guarantee`` with ``numerics="exact"``. ``diagnostics``:
        :class:`ExactFit`, public.

    Raises:
        ValueError: as for the twin; ε = ∞ or several ε; γ not above 0; options that other data have; masked items,
            negative counts, counts that are not multiples of 1/2, or of 2^-11 with weights, or too large; a number of
            ties or weights of choices that are not whole; users with more than ``contributions`` comparisons in a
            table, features that are no multiples of 2^-11 in [-1/2, 1/2].
        TypeError: as for the twin.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants, grid and certificate ours.

    >>> wins = WinCounts.from_matrix([[0, 900], [100, 0]], ties=100)
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> estimate = exact_perturbed_mle(wins, promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.numerics
    (True, 'exact')
    >>> bool(0 < exact_perturbed_mle(wins, promise, ties="davidson").value.tie < 1)
    True
    >>> choices = Choices.from_top1([(0, [1, 2])] * 600 + [(1, [0, 2])] * 20, num_items=3)
    >>> int(exact_perturbed_mle(choices, promise).value.argmax())
    0
    """
    link = get_link(link)
    check_choice("ties", ties, TIES)
    davidson = ties == "davidson"
    check_answers(data, davidson)
    if isinstance(data, WinCounts) and not davidson:
        return _of_counts(data, privacy, link, gamma, noise, weighted)
    if link.name != "logistic" or weighted or noise not in (None, "laplace"):
        raise ValueError(
            "link, weighted and other noise than Laplace noise are for win counts with ties='half': leave them out."
        )
    attained = exact_promise(kept_by_objective(privacy, _BY))
    design, _ = design_of(data, davidson)
    with jax.enable_x64(True):
        scale, ridge = _in_range(*answer_noise(attained, design, gamma))
    items = design.num_items
    told: Any = {"num_items": items, "noise_scale": Fraction(scale), "gamma": Fraction(ridge)}
    if isinstance(data, Choices):
        check_no_stages(data)
        value: Any = _in_doubles(perturbed_choices(choice_rows(data), **told))
        return _exact(value, privacy, attained, scale, ridge)
    slopes = None
    if isinstance(data, CovariateTable):
        check_private(data)
        rows = meeting_rows(data, attained)
        found = _in_doubles(perturbed_meetings(rows, ties=ties, **told))
        slopes = found[items : design.size] / np.asarray(data.design.units, np.float64)
    else:
        found = _in_doubles(perturbed_ties(tied_counts(data), **told))
    value = ModelScores(found[:items], slopes, TIE_SHARE * found[-1] if davidson else None)
    return _exact(value, privacy, attained, scale, ridge)


def _of_counts(
    wins: WinCounts,
    privacy: Privacy,
    link: Link,
    gamma: Scalar | None,
    noise: str | None,
    weighted: bool,
) -> Estimate:
    """That of win counts with half wins."""
    noise = noise or "laplace"
    attained = of_comparisons(privacy, _BY, noise)
    attained = exact_promise(attained)
    parts = 2 * WEIGHT_STEPS if weighted else 2
    counts = whole_wins(wins, parts)
    calibrate = functools.partial(
        calibrated_fit, privacy=attained, link=link, gamma=gamma, noise=noise, weighted=weighted
    )
    with jax.enable_x64(True):
        scale, ridge = quickly(calibrate, wins)
    if not float(ridge) > 0:
        raise ValueError("gamma must be above 0; leave it out for a good default.")
    scale, ridge = _in_range(scale, ridge)
    numbers = perturbed_scores(
        counts,
        attained,
        link=link.name,
        noise=noise,
        noise_scale=Fraction(scale),
        gamma=Fraction(ridge),
        parts=parts,
    )
    return _exact(_in_doubles(numbers), privacy, attained, scale, ridge)


def _in_range(scale: Scalar, ridge: Scalar) -> tuple[float, float]:
    """The scale of the noise and the ridge as numbers.

    Raises:
        ValueError: one of them is not finite, or there is no noise to draw.
    """
    found = float(scale), float(ridge)
    if not (all(map(math.isfinite, found)) and found[0] > 0):
        raise ValueError(
            "the noise or the ridge that this promise needs is beyond the range of floating point: choose a larger "
            "epsilon or delta."
        )
    return found


def _in_doubles(numbers: list[int]) -> Any:
    """Multiples of the grid as a float64 array."""
    return np.array([float(number * GRID) for number in numbers])


def _exact(value: Any, privacy: Privacy, attained: Privacy, scale: float, ridge: float) -> Estimate:
    """A fit that was drawn exactly: its value, guarantee and public facts."""
    return exact_estimate(value, privacy, attained, ExactFit(scale, ridge, float(GRID)))

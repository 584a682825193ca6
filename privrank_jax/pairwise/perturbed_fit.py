"""Private scores by perturbed maximum likelihood: noise on what is counted, or in the objective."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Set
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Key, Numbers, PairMatrixLike, Scalar, Scores
from privrank_jax._validate import check_choice, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.mechanism.additive import Additive
from privrank_jax.pairwise.choice_noise import check_no_stages, noisy_choices
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariate_noise import noisy_sums, noisy_sums_and_ties
from privrank_jax.pairwise.covariates import CovariateTable, check_private
from privrank_jax.pairwise.designs import Design, Meetings
from privrank_jax.pairwise.fits import FitDiagnostics, fit_counts, fitted
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.maximum_likelihood import TIES, check_answers, design_of
from privrank_jax.pairwise.noisy_totals import known_of, noisy_counts
from privrank_jax.pairwise.objective_perturbation import (
    TIE_SHARE,
    answer_noise,
    kept_by_objective,
    noise_in_objective,
)
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.tie_noise import noisy_ties
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import (
    calibrate_objective_perturbation,
    default_or_given,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NOISES, SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy, check_privacy

_BY = "perturbed_mle"


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PerturbedFit:
    """Noise scale, ridges and solver diagnostics of a private fit.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each noisy number, or 1/ε (K-norm); public.
        gamma: the ridge γ, with covariates ``(m + p,)`` of each score and feature; public where the docstring of the
            estimator says so.
        fit: :class:`~privrank_jax.pairwise.fits.FitDiagnostics` of the solver. With noise in the objective a function
            of the private objective's iterates: for simulation and debugging, not for publication.
        tie_gamma: the ridge of log ν, where ties are outcomes of their own; public as γ is.
    """

    noise_scale: Numbers
    gamma: Numbers
    fit: FitDiagnostics
    tie_gamma: Scalar | None = None


def perturbed_mle(
    key: Key,
    data: WinCounts | CovariateTable | Choices,
    privacy: Privacy,
    *,
    link: str | Link = "logistic",
    gamma: Scalar | None = None,
    ties: str = "half",
    tie_gamma: Scalar | None = None,
    noise: str | None = None,
    calibration: str = "tight",
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
    weighted: bool = False,
) -> Estimate:
    """Private scores: the minimizer of -(log-likelihood) + (γ/2)‖θ‖² + wᵀθ with random w, centered.

    The likelihood is that of :func:`~privrank_jax.pairwise.mle`, of the same data.

    **Guarantee.** (ε, δ)-DP, δ = 0 but for Gaussian noise, for the promised unit and adjacency. λ of Laplace noise on
    scores, for users of L answers (one answer: L = 1), with p covariates and V = (m - 2)/(m - 1):

    ====================  =======  ===============  ============
    data                  flip     replace          add-remove
    ====================  =======  ===============  ============
    win counts            2L/ε     4L/ε             2L/ε
    ... ``"davidson"``    2L/ε     4L/ε             2L/ε
    covariates            by them  (4 + p/2)L/ε     (2 + p/4)L/ε
    choices               2L/ε     (4 + V)L/ε       (2 + V)L/ε
    ====================  =======  ===============  ============

    *Under* ``flip`` who met with which covariates, or what was offered, is public. The outcomes enter the likelihood
    (logistic link) through what is counted of them: win totals, the number of ties, sums with covariates, how often
    items were chosen. The estimate is the ridge fit to these numbers with noise w, as
    :func:`~privrank_jax.pairwise.noisy_counts` publishes them, so it is post-processing: privacy depends neither on γ,
    nor on the solver, nor on floating point beyond that of the noise.

    *Under* ``replace`` *and* ``add-remove`` all of an answer is private and the noise is in the objective. Then γ >= λ,
    sums of features have noise of scale 2λ and the number of ties 4λ: ties cost nothing. Theorems and proofs are at
    the heads of :mod:`privrank_jax.privacy.calibration` (win counts, any link) and of
    :mod:`privrank_jax.pairwise.objective_perturbation`. They are for real numbers (``numerics="idealized"``): floating
    point breaks them, as the former says, and :func:`~privrank_jax.release.exact_perturbed_mle` keeps them.

    **Questionnaire.** Under ``flip``, the logistic link and half wins, w may be K-norm noise in the shape of what the
    answers to a public questionnaire can change, as for :func:`~privrank_jax.pairwise.noisy_counts`: ε-DP, with about
    half of the variance.

    **Default ridges.** Those with the least first-order risk for scores, effects of covariates at their largest size,
    and log ν that are N(0, 1), by :func:`default_ridges`: (h + noise variance)/h with h the usual information about
    each. Beyond ``flip`` γ is λ, or 1 if that is more, and for win counts with half wins the ridge of least risk,
    raised to its floor; where their number d per item is private (``add-remove``, and ``replace`` of a user, who may
    bring fewer comparisons), the floor or 1.

    Args:
        key: PRNG key.
        data: win counts of m items; comparisons with features, from :func:`~privrank_jax.pairwise.covariate_table`,
            beyond ``flip`` with ``private=True``; or choices from sets, not stages of rankings.
        privacy: what is promised: unit comparison (edge DP; an answer) or user (individual DP), any adjacency. ε = ∞
            adds no noise; ε, δ and ``contributions`` may be traced. Users need ``contributions``, which must hold in
            the data (see :func:`~privrank_jax.comparisons.bound_contributions`), unless ``sensitivity`` or
            ``questionnaire`` is given, or under ``flip`` a table, which says who gave what. With covariates ``flip``
            needs public ``"covariates"``.
        link: ``"logistic"`` or ``"laplace"``, the latter for win counts with half wins alone; ``"normal"`` is refused
            (κ₁ = ∞).
        gamma: ridge γ of the scores, may be traced (then raised to its floor); ``None`` = default. That of a feature is
            under ``flip`` γ times the square of its largest size, else γ. Above 0, but for win counts with half wins.
        ties: ``"half"``: a tie is half a win; ``"davidson"``: an outcome of its own, of win counts that know their
            ``ties`` or of a table.
        tie_gamma: ridge γ_T > 0 of log ν, may be traced; ``None`` = default. Under ``flip``; otherwise it is 4γ.
        noise: ``"laplace"``, ``"gaussian"`` at the δ of the promise, or ``"k-norm"``: of win counts with half wins and
            a questionnaire, where it is the default. Else Laplace noise is, which alone serves beyond ``flip`` but for
            win counts with half wins.
        calibration: ``"tight"``, or for win counts with half wins ``"published"`` (λ = 8κ₁L/ε with γ >= 4κ₂/ε, or
            8κ₂L/ε for users, for one comparison 2√(d log m) by default where d is public; Cai, Propositions 2.1, 3.1,
            and Theorem 2.1, which has c√(d log m) for a constant c; 2, and κ₂ = 1/4, are those of the published code).
        sensitivity: a smaller, public sensitivity of the win totals or the sums with covariates, in ℓ₁ for Laplace and
            ℓ₂ for Gaussian noise; only for ``flip``, the logistic link and half wins.
        questionnaire: of win counts, as for :func:`~privrank_jax.pairwise.noisy_counts`; only for ``flip`` with the
            logistic link. If it is traced, ``gamma`` must be given, and ties must be half wins.
        weighted: whether comparisons count less than once, by :func:`~privrank_jax.pairwise.bounded_weights`, of win
            counts with half wins: the sum of their weights is then private but under ``flip``, where weights are
            public. Theorem and proof are at the head of :mod:`privrank_jax.pairwise.weighted_comparisons`.

    Returns:
        ``value``: θ̃, ``(m,)``, mean 0 over real items, high = preferred; with covariates or ties as outcomes
        :class:`~privrank_jax.pairwise.designs.ModelScores`. ``guarantee``. ``diagnostics``: :class:`PerturbedFit`.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, K-norm noise without its shape, users
            without ``contributions``, a questionnaire that contradicts the promise, infinite κ₁, a ridge that is not
            positive or below its floor, unknown names, options that other data, ties or adjacencies have; weights
            beside a sensitivity, a questionnaire or the published calibration; counts that don't know their ties;
            beyond ``flip`` a table whose scales were read from its rows; stages of rankings.
        TypeError: ``data`` is none of the above, for instance an edge list.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants, other data and ties ours.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> estimate = perturbed_mle(jax.random.key(0), wins, promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.adjacency
    (True, 'flip')
    >>> wins = WinCounts.from_matrix([[0, 600], [400, 0]], ties=200)
    >>> found = perturbed_mle(jax.random.key(0), wins, promise, ties="davidson").value
    >>> bool(found.scores[0] > found.scores[1]), bool(0.3 < found.tie < 0.7)  # without noise 0.51
    (True, True)
    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 60, [1, 0] * 60, [1, 1] * 40 + [0.5, 0.5] * 10 + [1, 0] * 10
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 120}, num_items=2)  # who is first wins
    >>> known = Privacy(5.0, unit="comparison", adjacency="flip", public=("covariates",))
    >>> bool(perturbed_mle(jax.random.key(0), table, known).value.coefficients[0] > 0.5)
    True
    >>> choices = Choices.from_top1([(0, [1, 2])] * 60 + [(1, [0, 2])] * 20, num_items=3)
    >>> int(perturbed_mle(jax.random.key(0), choices, promise).value.argmax())
    0
    """
    link = get_link(link)
    check_choice("ties", ties, TIES)
    check_privacy(privacy)
    davidson = ties == "davidson"
    check_answers(data, davidson)
    given = {
        "link": link.name != "logistic",
        "calibration": calibration != "tight",
        "weighted": weighted,
        "sensitivity": sensitivity is not None,
        "questionnaire": questionnaire is not None,
        "tie_gamma": tie_gamma is not None,
    }
    known = _options_of(data, davidson)
    if isinstance(data, WinCounts) and not davidson:
        known |= {"link", "weighted"}
    elif privacy.adjacency != "flip":
        known = set()
    elif davidson:
        known |= {"tie_gamma"}
    _check_options(given, known)
    if isinstance(data, WinCounts) and not davidson:
        kind = noise, calibration, weighted
        attained, added, ridges = _noise_on_wins(
            data, privacy, link, gamma, *kind, sensitivity, questionnaire
        )
        # One program, whether γ is a number or an array.
        weight = jnp.asarray(ridges, data.matrix.dtype)
        value, fit = _solve(key, data, added, weight, link)
    else:
        for name, ridge in (("gamma", gamma), ("tie_gamma", tie_gamma)):
            if ridge is not None:
                check_positive(name, ridge, infinite=False)
        if isinstance(data, Choices):
            check_no_stages(data)
        design = design_of(data, davidson)[0]
        if privacy.adjacency == "flip":
            record = noisy_choices if isinstance(data, Choices) else noisy_ties
            if isinstance(data, CovariateTable):
                record = noisy_sums_and_ties if davidson else noisy_sums
            public = known_of(sensitivity=sensitivity, questionnaire=questionnaire)
            attained, added = _noise_on(record, data, privacy, noise, public)
            ridges, tie_gamma = default_ridges(design, added, gamma, tie_gamma)
        else:
            attained = kept_by_objective(privacy, _BY, noise or "laplace")
            if isinstance(data, CovariateTable):
                check_private(data)
            scale, ridges = answer_noise(attained, design, gamma)
            added = noise_in_objective(scale, design)
            tie_gamma = jnp.asarray(ridges, design.dtype) / TIE_SHARE**2 if davidson else None
            if design.feature_units is not None:
                ridges = jnp.full(design.size, ridges, design.dtype)
        noisy = with_noise(key, data, added, davidson)
        found = fitted(design, noisy, design.all_ridges(ridges, tie_gamma))
        value, fit = found.value, found.diagnostics
    of_counted = attained.adjacency == "flip" and link.name == "logistic"
    guarantee = Guarantee(privacy, attained, numerics="simulation" if of_counted else "idealized")
    return Estimate(value, guarantee, PerturbedFit(added.scale, ridges, fit, tie_gamma))


def _noise_on(
    record: Additive, data: Any, privacy: Privacy, noise: str | None, public: dict[str, Any]
) -> tuple[Privacy, Noise]:
    """What a record attains on these data, and its noise."""
    facts = record.data.floats(data, **public)[1]
    attained = record.attained(privacy, record.kind(noise, privacy, public))
    return attained, record.noise(privacy, facts, noise)


@functools.partial(jax.jit, static_argnames=("davidson",))
def with_noise(
    key: Key, data: WinCounts | CovariateTable | Choices, added: Noise, davidson: bool
) -> Float[Array, "parameters"]:
    """What is counted, with this noise."""
    _, counted = design_of(data, davidson)
    return counted + added.draw(key, counted.dtype)


def _options_of(data: object, davidson: bool) -> set[str]:
    """The options of noise on what is counted that these data, or these win totals, have a use for."""
    found = set() if davidson else {"sensitivity"}
    if isinstance(data, CovariateTable | Choices):
        return found
    return found | {"questionnaire"} if davidson else found | {"questionnaire", "calibration"}


def _check_options(given: Mapping[str, bool], known: Set[str]) -> None:
    """Raise ``ValueError`` for options that are given and have no use.

    Args:
        given: whether each is.
        known: those that have one.
    """
    others = sorted(name for name, told in given.items() if told and name not in known)
    if others:
        raise ValueError(
            f"{', '.join(others)}: leave them out. link, calibration and weighted are for win counts with ties='half'; "
            "tie_gamma is for ties='davidson'; a sensitivity is one of sums without ties, a questionnaire is one of "
            "win counts, and in a fit these three are for adjacency='flip'."
        )


# --- win counts, with ties as half wins, under any link -----------------------------------------------


def _noise_on_wins(
    wins: WinCounts,
    privacy: Privacy,
    link: Link,
    gamma: Scalar | None,
    noise: str | None,
    calibration: str,
    weighted: bool,
    sensitivity: Scalar | None,
    questionnaire: PairMatrixLike | None,
) -> tuple[Privacy, Noise, Any]:
    """What is attained, the noise, and γ, which may be 0 where the noise is on the totals."""
    public = known_of(sensitivity=sensitivity, questionnaire=questionnaire)
    noise = noisy_counts.kind(noise, privacy, public)
    shaped = questionnaire is not None or noise == "k-norm"
    attained = of_comparisons(privacy, _BY, noise, SHAPED_NOISES if shaped else NOISES)
    if weighted and not (sensitivity is None and questionnaire is None and calibration == "tight"):
        raise ValueError(
            "weighted comparisons have the tight calibration, without sensitivity and questionnaire: leave these out."
        )
    if sensitivity is None and questionnaire is None and noise != "k-norm":
        scale, ridge = calibrated_fit(wins, attained, link, gamma, noise, calibration, weighted)
        return attained, Noise.independent(noise, scale, wins.num_items), ridge
    if attained.adjacency != "flip" or link.name != "logistic" or calibration != "tight":
        raise ValueError(
            "sensitivity and questionnaire, which are about the win totals, calibrate the perturbed MLE only for "
            "adjacency='flip', link='logistic', calibration='tight'; leave them out, or use noisy_counts."
        )
    attained, added = _noise_on(noisy_counts, wins, privacy, noise, public)
    if gamma is not None:
        return attained, added, default_or_given(gamma, 0.0, 0.0)
    return attained, added, default_gamma(wins, attained, added.variance_per_dimension())


@functools.partial(jax.jit, static_argnames=("link",))
def _solve(
    key: Key, wins: WinCounts, added: Noise, gamma: Scalar, link: Link
) -> tuple[Scores, FitDiagnostics]:
    tilt = added.draw(key, wins.matrix.dtype)
    found = fit_counts(wins, link, gamma=gamma, tilt=tilt)
    return center(found.value, wins.mask), FitDiagnostics.of(found)


def calibrated_fit(
    wins: WinCounts,
    privacy: Privacy,
    link: Link,
    gamma: Scalar | None,
    noise: str,
    calibration: str = "tight",
    weighted: bool = False,
) -> tuple[Any, Any]:
    """Noise scale and γ of objective perturbation, from public quantities only."""
    calibrate = functools.partial(
        calibrate_objective_perturbation, link, privacy, noise=noise, calibration=calibration
    )
    if gamma is not None:
        return calibrate(gamma=gamma)
    variance = Noise.independent(noise, calibrate()[0]).variance_per_dimension()
    wanted = default_gamma(wins, privacy, variance, calibration=calibration, weighted=weighted)
    return calibrate(default_gamma=wanted)


# --- default ridges -------------------------------------------------------------------------------------


def default_ridges(
    design: Design, added: Noise, gamma: Scalar | None = None, tie_gamma: Scalar | None = None
) -> tuple[Any, Any]:
    """Ridges of a fit to noisy counts of a public design: as given, else those with the least first-order risk.

    γ_k = s_k²(h_k + v_k)/h_k, with v_k the variance of the noise of a number, s_k the largest size of a feature (1 for
    scores and log ν) and h_k the usual information, at scores N(0, 1) or about log ν at equal ones, ν = 1: 1/5 of
    ``design.evidence``, with ties as outcomes 1/7, and 2/9 of the number of meetings.

    Args:
        design: the public part of the data.
        added: the noise.
        gamma: γ of the scores, if it is not the default.
        tie_gamma: γ_T, if it is not the default.

    Returns:
        gamma: that of each score; with features ``(m + p,)``, of each score and feature.
        tie_gamma: that of log ν; as given where ties are no outcomes.

    >>> from privrank_jax.pairwise import Counts
    >>> met = Counts([[0.0, 50.0], [50.0, 0.0]])
    >>> [float(one) for one in default_ridges(met, Noise.independent("gaussian", 5.0**0.5))[:1]]
    [1.5]
    """
    unit = None if design.feature_units is None else design.ridges(1.0)
    if gamma is not None:
        ridge = gamma if unit is None else unit * gamma
    else:
        variance = added.variance_per_dimension()
        if unit is not None:
            of_items = jnp.broadcast_to(jnp.asarray(variance, unit.dtype), (design.num_items,))
            others = jnp.asarray(added.variances[design.num_items : design.size], unit.dtype)
            variance = jnp.concatenate([of_items, others])
        ridge = least_risk_gamma(design.evidence, variance, 7.0 if design.ties else 5.0)
        ridge = ridge if unit is None else unit * ridge
    if tie_gamma is None and design.ties:
        assert isinstance(design, Meetings)
        meetings = 0.5 * design.num_real * design.degree
        tie_gamma = least_risk_gamma(meetings, added.variances[-1], 4.5)
    return ridge, tie_gamma


def least_risk_gamma(degree: Numbers, variance: Numbers, share: float = 5.0) -> Any:
    """The ridge with the least first-order risk for scores θ ~ N(0, 1) fitted to noisy totals: γ = (h + variance)/h.

    Args:
        degree: mean number of comparisons of an item, d; h = d/5 is the usual information about a score.
        variance: of the noise of one total.
        share: d/h, if it is not 5.

    Returns:
        γ, of the shape that the arguments broadcast to.

    >>> float(least_risk_gamma(50.0, 5.0))
    1.5
    """
    information = jnp.maximum(degree, 1e-3) / share
    return (information + variance) / information


def default_gamma(
    wins: WinCounts,
    privacy: Privacy,
    variance: Numbers,
    *,
    calibration: str = "tight",
    weighted: bool = False,
) -> Numbers:
    """The γ chosen for utility at this noise variance per dimension, before its floor (see :func:`perturbed_mle`)."""
    users, adjacency = privacy.unit == "user", privacy.adjacency
    if calibration == "published" and (users or adjacency == "add-remove"):
        return 0.0  # the floor: the published choice for users, and where the number d is private
    items = jnp.maximum(jnp.sum(wins.item_mask), 2)
    degree = jnp.sum(wins.degrees) / items
    if calibration == "published":  # Theorem 2.1, with the constant of the published code
        return 2.0 * jnp.sqrt(jnp.maximum(degree, 1e-3) * jnp.log(items))
    if adjacency == "add-remove" or (adjacency == "replace" and (users or weighted)):
        return 1.0  # the number of comparisons, or the sum of their weights, is private
    return least_risk_gamma(degree, variance)

"""What is counted of answers, plus noise: to sort without a model, or to fit scores to."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Set

import jax
from jaxtyping import Array, Float

from privrank_jax._types import Key, PairMatrixLike, Scalar
from privrank_jax._validate import check_choice
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariate_noise import covariate_noise, kept_with_covariates
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.maximum_likelihood import TIES, check_answers, design_of
from privrank_jax.pairwise.noisy_choices import check_no_stages
from privrank_jax.pairwise.noisy_ties import tie_noise
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.questionnaire_noise import kept_on_totals
from privrank_jax.pairwise.totals_noise import totals_noise
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


def noisy_counts(
    key: Key,
    data: WinCounts | CovariateTable | Choices,
    privacy: Privacy,
    *,
    ties: str = "half",
    noise: str | None = None,
    calibration: str = "tight",
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """Win totals, or what else is counted of answers, plus noise: all that a fit needs of the outcomes.

    Win totals and totals of choices can be sorted (``rankings.ranks_from_scores``) for a full ranking or a top-k set.
    :func:`~privrank_jax.pairwise.fit` fits a model to the value: post-processing where the design is public, that is
    under ``flip``.

    **Guarantee.** ε-DP (Laplace, K-norm noise) or (ε, δ)-DP (Gaussian noise) for the promised unit and adjacency, which
    everything computed from the value inherits. Sensitivities and proofs:
    :func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity` for win totals, and the heads of
    :mod:`privrank_jax.pairwise.noisy_ties`, :mod:`privrank_jax.pairwise.covariates`,
    :mod:`privrank_jax.pairwise.covariate_ties` and :mod:`privrank_jax.pairwise.noisy_choices`. Ties as outcomes of
    their own add no noise to the totals, but where users share questions.

    **Questionnaire.** If it is public which pairs each user is asked, K-norm noise on win totals is ε-DP under ``flip``
    and ``replace``: its shape is that of what one user can change (:mod:`privrank_jax.pairwise.questionnaire_noise`),
    and its variance about half of that of Laplace noise calibrated to the same questionnaire, or less. A table with
    covariates says itself what its users were asked: that lessens Laplace and Gaussian noise
    (:mod:`privrank_jax.pairwise.covariate_shape`).

    ``calibration="published"`` reproduces Cai, Algorithms 2 and 3: 2/ε for one comparison, L/ε for a
    user. The latter is unsound under replacement (one user moves the totals by 2L), and the guarantee
    says so: it carries 2ε.

    Args:
        key: PRNG key.
        data: win counts of m items; comparisons with features, from :func:`~privrank_jax.pairwise.covariate_table`; or
            choices from sets, not stages of rankings. For users the design of a table must not be traced, unless
            ``sensitivity`` is given.
        privacy: what is promised: unit comparison or user, any adjacency; ``flip`` with ties as outcomes and with
            covariates, then with public ``"covariates"``. ε = ∞ adds no noise; ε, δ and ``contributions`` may be
            traced. Users need ``contributions`` (which must hold in the data) unless ``sensitivity`` or
            ``questionnaire`` is given, or a table, which says who gave what.
        ties: ``"half"``: a tie is half a win; ``"davidson"``: their number is counted too, of win counts that know
            their ``ties`` or of a table, where an outcome 1/2 is a tie.
        noise: ``"laplace"``, ``"gaussian"`` at the δ of the promise, or ``"k-norm"``: of win counts with half wins and
            a questionnaire, where it is the default; else Laplace noise is.
        calibration: ``"tight"``, or for win counts with half wins ``"published"``.
        sensitivity: with half wins, a smaller public sensitivity in the norm of Laplace (ℓ₁) or Gaussian noise (ℓ₂)
            instead of the theorem's.
        questionnaire: of win counts, ``(m, m)`` symmetric whole numbers, how often each user is asked each pair
            (:func:`~privrank_jax.pairwise.questionnaire_counts`); where users are asked different pairs, the largest
            number of each pair. It must hold in the data; the promise is to users, with public ``"questionnaire"``
            unless the adjacency is ``flip``. With half wins it may be traced for K-norm noise; for Laplace noise, and
            with half wins for Gaussian noise, it implies the sensitivity.

    Returns:
        ``value``: noisy totals, ``(m,)``, in wins or choices, high = preferred (masked items: noise only); with
        covariates ``(m + p,)``, sums of the items, then of the features; last the number of ties where it is counted.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ or σ of each total, or
        1/ε for K-norm noise; public.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, K-norm noise without a shape, users
            without ``contributions``, a questionnaire that contradicts the promise, unknown names, options that other
            data or ties have, counts that don't know their ties, stages of rankings.
        TypeError: ``data`` is none of the above, such as a plain matrix.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3, with the sensitivity corrected; K-norm noise: Hardt
    and Talwar (2010), for these shapes ours.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> totals = noisy_counts(jax.random.key(0), wins, promise).value
    >>> bool(totals[0] > totals[1])
    True
    >>> from privrank_jax.pairwise import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0.5], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> noisy_counts(jax.random.key(0), table, free, ties="davidson").value.tolist()
    [0.5, -0.5, 1.5, 1.0]
    """
    check_choice("ties", ties, TIES)
    check_choice("calibration", calibration, ("tight", "published"))
    davidson, note = ties == "davidson", ""
    check_answers(data, davidson)
    given = {
        "calibration": calibration != "tight",
        "sensitivity": sensitivity is not None,
        "questionnaire": questionnaire is not None,
    }
    check_options(given, options_of(data, davidson))
    if calibration == "published":
        assert isinstance(data, WinCounts)
        if noise not in (None, "laplace") or sensitivity is not None or questionnaire is not None:
            raise ValueError(
                "the published calibration has Laplace noise and its own sensitivity: leave out noise, "
                "sensitivity and questionnaire, or use calibration='tight'."
            )
        attained = of_comparisons(privacy, "noisy_counts", "laplace")
        users = attained.unit == "user"
        scale = (attained.comparisons_per_unit if users else 2.0) / attained.epsilon
        added = Noise.independent("laplace", scale, data.num_items)
        if users and attained.adjacency != "add-remove":
            attained = dataclasses.replace(attained, epsilon=2 * attained.epsilon)
            note = "published as epsilon, but proven only for twice that."
    else:
        about = "noisy_counts", noise, sensitivity, questionnaire
        attained, added = noise_on_counted(data, privacy, davidson, *about)
    value = with_noise(key, data, added, davidson)
    return Estimate(value, Guarantee(privacy, attained, note=note), NoiseDiagnostics(added.scale))


def noise_on_counted(
    data: WinCounts | CovariateTable | Choices,
    privacy: Privacy,
    davidson: bool,
    by: str,
    noise: str | None = None,
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> tuple[Privacy, Noise]:
    """What a mechanism attains, and its noise on what is counted; arguments and errors as for :func:`noisy_counts`.

    Args:
        data, privacy, noise, sensitivity, questionnaire: as there; checked by :func:`check_options`.
        davidson: whether ties are outcomes of their own.
        by: name of the mechanism.
    """
    if davidson and isinstance(data, WinCounts):
        return tie_noise(privacy, by, data.num_items, noise, questionnaire)
    noise, attained = kept_on_counted(data, privacy, by, noise, questionnaire)
    if isinstance(data, CovariateTable):
        return attained, covariate_noise(data.design, attained, noise, sensitivity, ties=davidson)
    if isinstance(data, Choices):
        check_no_stages(data)
    return attained, totals_noise(noise, attained, data.num_items, sensitivity, questionnaire)


def kept_on_counted(
    data: object,
    privacy: Privacy,
    by: str,
    noise: str | None,
    questionnaire: PairMatrixLike | None,
) -> tuple[str, Privacy]:
    """The noise on what is counted, and what a mechanism attains; of win counts those with ties as half wins.

    Args:
        data: answers, or win totals.
        privacy, noise, questionnaire: as for :func:`noisy_counts`.
        by: name of the mechanism.

    Raises:
        TypeError, ValueError: as :func:`noisy_counts`.
    """
    if not isinstance(data, CovariateTable | Choices):
        return kept_on_totals(privacy, by, noise, questionnaire)
    noise = noise or "laplace"
    kept = kept_with_covariates if isinstance(data, CovariateTable) else of_comparisons
    return noise, kept(privacy, by, noise)


@functools.partial(jax.jit, static_argnames=("davidson",))
def with_noise(
    key: Key, data: WinCounts | CovariateTable | Choices, added: Noise, davidson: bool
) -> Float[Array, "parameters"]:
    """What is counted, with this noise."""
    _, counted = design_of(data, davidson)
    return counted + added.draw(key, counted.dtype)


def options_of(data: object, davidson: bool) -> set[str]:
    """The options of noise on what is counted that these data, or these win totals, have a use for."""
    found = set() if davidson else {"sensitivity"}
    if isinstance(data, CovariateTable | Choices):
        return found
    return found | {"questionnaire"} if davidson else found | {"questionnaire", "calibration"}


def check_options(given: Mapping[str, bool], known: Set[str]) -> None:
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

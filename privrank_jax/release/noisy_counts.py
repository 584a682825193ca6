r"""Exact discrete noise on win totals, the number of ties, the totals of choices and sums with covariates.

Floating-point noise leaks: the low bits of ``total + noise`` distinguish totals (Mironov 2012). Win totals are
multiples of 1/2 (a tie is half a win for both), so twice the totals are integers whose sensitivity is twice that of the
totals, and integer noise on them (:mod:`privrank_jax.exact.integer_noise`) is drawn exactly, from the operating
system's entropy; halving the result is post-processing. Totals of choices change as win totals do
(:mod:`privrank_jax.pairwise.noisy_choices`).

*K-norm noise* for users who are asked a public questionnaire is drawn by :mod:`privrank_jax.exact.k_norm` on twice
the totals. The proof that these change within a multiple of a zonotope, on its lattice, is at the head of
:mod:`privrank_jax.pairwise.questionnaire_noise`. Under replacement the mechanism gets one more number, minus the sum of
all, for the item "no answer", and its noisy value is dropped.

*With the number of ties T*, for Davidson's model (theorem at the head of :mod:`privrank_jax.pairwise.noisy_ties`), the
same is done with these values, multiples of 1/2:

- *Laplace*: (N, T). Doubled, one comparison moves them by at most 4 in ℓ₁: win to loss 2·2 + 0, win to tie 1 + 1 + 2.
- *Gaussian*: (9N, 11T). One comparison moves them by at most 9√2 in ℓ₂: win to loss 9√2, win to tie √(81/2 + 121) <
  √162. Divided by 9 and 11 again, T has 9/11 of the deviation of N.

*Laplace noise composes* by how the change Δ of doubled values in ℓ₁ spreads
(:attr:`Guarantee.changes <privrank_jax.privacy.Guarantee>`). Under ``flip`` gains and losses of the totals are equal,
so no total changes by more than Δ/2; nor does T, by 2L at most, where Δ = 4L. Under ``replace`` no total changes by
more than the 2L points that a user gives. Hence c = (Δ/2, Δ/2) and (2L, Δ - 2L), and (Δ) under ``add-remove``.

*Top-k*: the proof of the one-shot mechanism (:mod:`privrank_jax.privacy.selection`) shifts the noise of each selected
item by t - d_i, twice which is an integer here, and a shift by c changes P(X = x) by at most exp(\|c\|/s) on the
integers too. Ties are broken by item index, both before and after the shift. So the proof holds for discrete noise
unchanged.
"""

from __future__ import annotations

import dataclasses
import math

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Numbers, PairMatrixLike, Scalar, ScoresLike
from privrank_jax._validate import check_choice, check_no_padding, check_positive, check_top
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import (
    concentrated,
    exact_estimate,
    exact_promise,
    integer_noise,
)
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.mechanism.data import UNPADDED
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.maximum_likelihood import TIES, check_answers
from privrank_jax.pairwise.noisy_choices import check_no_stages
from privrank_jax.pairwise.noisy_ties import (
    GAUSSIAN_TIE_WEIGHT,
    check_tie_promise,
)
from privrank_jax.pairwise.noisy_totals import check_options, kept_on_counted, options_of
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.questionnaire_noise import (
    edge_list,
    questionnaire_changes,
    read_questionnaire,
)
from privrank_jax.pairwise.totals_noise import change_of_totals, totals_sensitivity
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale
from privrank_jax.release.covariate_sums import noisy_sums

_BY = "exact_noisy_counts"
_LARGEST = 2**52  # doubled totals beyond this are not exact in float64


def exact_noisy_counts(
    data: WinCounts | ScoresLike | CovariateTable | Choices,
    privacy: Privacy,
    *,
    ties: str = "half",
    noise: str | None = None,
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """What is counted of answers plus exact discrete noise, for a real release to sort or fit.

    The twin of ``pairwise.noisy_counts``. :func:`~privrank_jax.pairwise.fit` fits a model to the value, which is
    post-processing.

    **Guarantee.** As for the twin; proof at the heads of this module, of :mod:`~privrank_jax.release.covariate_sums`,
    of :mod:`~privrank_jax.exact.discrete_noise` and of :mod:`~privrank_jax.exact.k_norm`.

    Arguments and errors: as for the twin, and as for all exact releases (:mod:`privrank_jax.release`). ``data`` may
    also be the ``(m,)`` win totals themselves. ``ValueError`` unless win totals are multiples of 1/2, weights of
    choices and numbers of ties whole, features multiples of a power of 1/2, and all of them exact in their dtype.

    Returns:
        ``value``: as for the twin, a float64 NumPy array: multiples of 1/2, or of a smaller power of 1/2 for K-norm
        noise at ε > 8 under flips, ε > 4 under replacement; with covariates of 2^{-b} multiples of 2^{-b-1}.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s or σ in wins, or 1/ε
        for K-norm noise; public.

    >>> promise = Privacy(1.0, unit="user", adjacency="flip", contributions=1)
    >>> estimate = exact_noisy_counts([90.0, 10.5], promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.numerics
    (True, 'exact')
    >>> wins = WinCounts.from_matrix([[0, 60], [40, 0]], ties=20)
    >>> found = exact_noisy_counts(wins, promise, ties="davidson").value
    >>> [float(2 * one).is_integer() for one in found]
    [True, True, True]
    """
    check_choice("ties", ties, TIES)
    davidson = ties == "davidson"
    if davidson:
        check_answers(data, davidson)
    given = {"sensitivity": sensitivity is not None, "questionnaire": questionnaire is not None}
    check_options(given, options_of(data, davidson))
    if davidson and isinstance(data, WinCounts):
        return _with_ties(data, privacy, noise, questionnaire)
    noise, attained = kept_on_counted(data, privacy, _BY, noise, questionnaire)
    attained = exact_promise(attained)
    if isinstance(data, CovariateTable):
        value, scale, rho = noisy_sums(data, attained, noise, sensitivity, ties=davidson)
        return exact_estimate(value, privacy, attained, NoiseDiagnostics(scale), rho=rho)
    doubled = _doubled_choices(data) if isinstance(data, Choices) else doubled_totals(data)
    counts = read_questionnaire(questionnaire, attained, doubled.size, noise, sensitivity)
    if counts is None or noise != "k-norm":
        change = change_of_totals(noise, attained, counts, sensitivity)
        value, scale = _noisy(doubled, attained, noise, change)
        changes = _changes(attained, change) if noise == "laplace" else ()
        rho = concentrated(noise, float(change), scale)
    else:
        value, scale = _shaped(doubled, attained, np.asarray(counts))
        changes, rho = (), None
    about = NoiseDiagnostics(scale)
    return exact_estimate(value, privacy, attained, about, changes=changes, rho=rho)


def _with_ties(
    wins: WinCounts, privacy: Privacy, noise: str | None, questionnaire: PairMatrixLike | None
) -> Estimate:
    """Win totals and the number of ties."""
    told = wins.num_items, noise, questionnaire
    noise, attained, counts = check_tie_promise(privacy, _BY, *told)
    attained = exact_promise(attained)
    totals, ties = doubled_totals(wins), doubled_totals(np.asarray(wins.ties)[None])
    if ties[0] % 2:
        raise ValueError(f"the number of ties must be whole, got {ties[0] / 2}.")
    on_ties, on_totals = GAUSSIAN_TIE_WEIGHT if noise == "gaussian" else (1, 1)
    values = doubled_totals(np.append(on_totals * totals, on_ties * ties) / 2)
    changes: tuple[int, ...] = ()
    change = change_of_totals(noise, attained, counts, ties=True)
    if noise == "gaussian":
        change = on_totals * math.sqrt(2) * float(attained.comparisons_per_unit)
    elif counts is None:
        changes = _changes(attained, change)
    drawn, scale = _noisy(values, attained, noise, change)
    rho = concentrated(noise, float(change), scale)
    items = wins.num_items
    value = np.append(drawn[:items] / on_totals, drawn[items] / on_ties)
    about = NoiseDiagnostics(scale / on_totals)
    return exact_estimate(value, privacy, attained, about, changes=changes, rho=rho)


def _doubled_choices(choices: Choices) -> np.ndarray:
    """Twice how often each item was chosen."""
    check_no_stages(choices)
    weights = np.asarray(choices.weights)
    if not np.all((weights >= 0) & (weights == np.round(weights))):
        raise ValueError("exact noise needs weights that are whole numbers of choices, at least 0.")
    return doubled_totals(np.bincount(np.asarray(choices.chosen), weights, choices.num_items))


def exact_top_k(
    wins: WinCounts | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    sensitivity: Scalar | None = None,
    total_sensitivity: Scalar | None = None,
) -> Estimate:
    """The k items with the most wins by the one-shot mechanism with exact noise; only their order is published.

    **Guarantee.** ε-DP for the ordered list and the promised unit and adjacency, at the noise of
    :func:`~privrank_jax.pairwise.one_shot_top_k` and never more than that of :func:`exact_noisy_counts`. Under
    add-remove all win totals move in one direction, and half the noise suffices.

    Args:
        wins, privacy: as for :func:`exact_noisy_counts`; users need ``contributions`` unless both sensitivities are
            given.
        k: length of the list, 1 <= k <= m.
        sensitivity: s, the most that one unit can change one total; ``None`` takes L. Of numbers that are not
            :class:`WinCounts` half of that serves where it moves all in one direction.
        total_sensitivity: ℓ₁ sensitivity of all totals; ``None`` takes
            :func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`.

    Returns:
        ``value``: item indices, ``(k,)`` int64 NumPy array, best first. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s in wins, public.

    Raises:
        ValueError: as :func:`exact_noisy_counts`; k out of range.

    >>> promise = Privacy(2.0, unit="comparison", adjacency="flip")
    >>> exact_top_k([90, 10, 80], promise, 2).value.tolist()
    [0, 2]
    """
    attained = exact_promise(of_comparisons(privacy, "exact_top_k", "laplace"))
    doubled = doubled_totals(wins)
    check_top(k, doubled.size)
    one = float(attained.comparisons_per_unit if sensitivity is None else sensitivity)
    every = totals_sensitivity(attained) if total_sensitivity is None else total_sensitivity
    monotone = isinstance(wins, WinCounts) and attained.adjacency == "add-remove"
    change, _ = one_shot_scale(
        dataclasses.replace(attained, epsilon=1.0),
        k,
        np.inf,
        sensitivity=one,
        total_change=float(every) / (1 if monotone else 2),
        monotone=monotone,
    )
    noisy, scale = _noisy(doubled, attained, "laplace", change)
    value = np.argsort(-noisy, kind="stable")[:k]
    return exact_estimate(value, privacy, attained, NoiseDiagnostics(scale))


def _noisy(
    doubled: np.ndarray, attained: Privacy, noise: str, sensitivity: Numbers
) -> tuple[np.ndarray, float]:
    """Noisy totals, and the scale of the noise in wins."""
    check_positive("sensitivity", sensitivity, infinite=False)
    add_noise, scale = integer_noise(noise, attained, 2 * float(sensitivity))
    return add_noise(doubled) / 2, scale / 2


def _changes(attained: Privacy, sensitivity: Numbers) -> tuple[int, ...]:
    """How Laplace noise on doubled totals composes; proof at the head of this module."""
    every = first = math.ceil(2 * float(sensitivity))
    most = attained.contributions if attained.unit == "user" else 1
    if attained.adjacency == "flip":
        first = -(-every // 2)
    elif attained.adjacency == "replace" and most is not None:
        first = min(every, math.ceil(2 * float(most)))
    return (first, every - first) if every > first else (every,)


def _shaped(doubled: np.ndarray, attained: Privacy, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """The same with K-norm noise; ``counts`` say how often each user is asked each pair."""
    edges, parts = questionnaire_changes(counts, attained.adjacency)
    graph = Graph(edge_list(np.asarray(edges)), len(edges))
    add_noise, _ = integer_noise("k-norm", attained, 2 // parts, graph)
    values = np.append(doubled, -doubled.sum())[: len(edges)]
    return add_noise(values)[: doubled.size] / 2, 1 / attained.epsilon


def doubled_totals(wins: WinCounts | ScoresLike) -> np.ndarray:
    """Twice the totals as int64, ``(m,)``.

    Args:
        wins: win counts or totals, multiples of 1/2.

    Raises:
        ValueError: as :func:`doubled_counts`; another shape.
    """
    doubled = doubled_counts(wins)
    if isinstance(wins, WinCounts):
        doubled = doubled.sum(-1)
    if doubled.ndim != 1 or not doubled.size:
        raise ValueError(f"win totals must have shape (m,), got {doubled.shape}.")
    return doubled


def doubled_counts(wins: WinCounts | ScoresLike) -> np.ndarray:
    """Twice the counts as int64, of their shape.

    Args:
        wins: win counts or totals, multiples of 1/2.

    Raises:
        ValueError: other numbers, or too large ones, or with too large sums, for exact counts in their dtype.
    """
    return counts_in_parts(
        wins,
        2,
        "exact noise needs win totals that are multiples of 1/2 (whole wins, half wins for ties); "
        "weighted comparisons have no such totals: use pairwise.noisy_counts for a simulation.",
    )


def counts_in_parts(wins: WinCounts | ScoresLike, parts: int, otherwise: str) -> np.ndarray:
    """So many times the counts as int64, of their shape.

    Args:
        wins: win counts or totals, multiples of 1/parts.
        parts: a power of 2.
        otherwise: what to say of other numbers.

    Raises:
        ValueError: padded items; other numbers, or too large ones, or with too large sums, for exact counts in their
            dtype.
    """
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

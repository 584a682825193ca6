r"""Exact discrete noise on win totals: by OpenDP, or in the shape of a public questionnaire.

Floating-point noise leaks: the low bits of ``total + noise`` distinguish totals (Mironov 2012). Win totals are
multiples of 1/2 (a tie is half a win for both), so twice the totals are integers whose sensitivity is twice that of the
totals, and integer noise on them (:mod:`privrank_jax.release.discrete_noise`) is drawn exactly, from the operating
system's entropy; halving the result is post-processing.

*K-norm noise* for users who are asked a public questionnaire is drawn by :mod:`privrank_jax.release.k_norm` on twice
the totals. The proof that these change within a multiple of a zonotope, on its lattice, is at the head of
:mod:`privrank_jax.pairwise.questionnaire_noise`. Under replacement the mechanism gets one more number, minus the sum of
all, for the item "no answer", and its noisy value is dropped.

*Top-k*: the proof of the one-shot mechanism (:mod:`privrank_jax.privacy.selection`) shifts the noise of each selected
item by t - d_i, twice which is an integer here, and a shift by c changes P(X = x) by at most exp(\|c\|/s) on the
integers too. Ties are broken by item index, both before and after the shift. So the proof holds for discrete noise
unchanged.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Numbers, PairMatrixLike, Scalar, ScoresLike
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.noisy_counts import change_of_totals, totals_sensitivity
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.questionnaire_noise import (
    edge_list,
    kept_on_totals,
    questionnaire_changes,
    read_questionnaire,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale
from privrank_jax.release.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.release.k_norm import discrete_zonotope
from privrank_jax.release.spanning_trees import Graph

_LARGEST = 2**52  # doubled totals beyond this are not exact in float64


def exact_noisy_totals(
    wins: WinCounts | ScoresLike,
    privacy: Privacy,
    *,
    noise: str | None = None,
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """Win totals plus exact discrete noise, for a real release to sort or fit; the twin of ``pairwise.noisy_counts``.

    **Guarantee.** ε-DP (K-norm, Laplace), or (ε, δ)-DP (Gaussian), for the promised unit and adjacency, whose data
    sets have totals that differ by at most ``sensitivity``, or by what the answers of one user to the ``questionnaire``
    can change; proof at the heads of this module, of :mod:`~privrank_jax.release.discrete_noise` and of
    :mod:`~privrank_jax.release.k_norm`. Runs on the host: no tracing, no key.

    Args:
        wins: win counts, or the ``(m,)`` win totals themselves; multiples of 1/2.
        privacy: what is promised: unit comparison or user, any adjacency, ε finite. Users need ``contributions``
            (which must hold in the data) unless ``sensitivity`` or ``questionnaire`` is given.
        noise: ``"k-norm"``, ``"laplace"``, or ``"gaussian"`` at the δ of the promise; default as for the twin.
        sensitivity: sensitivity of the totals, in wins: ℓ₁ for Laplace, ℓ₂ for Gaussian noise; ``None`` takes
            :func:`~privrank_jax.pairwise.noisy_counts.totals_sensitivity`.
        questionnaire: ``(m, m)``, as for the twin.

    Returns:
        ``value``: noisy totals, ``(m,)`` float64 NumPy array, multiples of 1/2, or of a smaller power of 1/2 for K-norm
        noise at ε > 8 under flips, ε > 4 under replacement. ``guarantee`` with ``numerics="exact"``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s or σ in wins, or 1/ε for K-norm noise; public.

    Raises:
        ValueError: a promise that can't be kept, ε = ∞ or several ε; totals that are not multiples of 1/2, or too large
            for exact counts in their dtype; δ or the sensitivity out of range; a questionnaire that contradicts the
            promise, or is missing for K-norm noise.
        ImportError: OpenDP is not installed, or unsound, for other noise than K-norm noise.

    >>> promise = Privacy(1.0, unit="user", adjacency="flip", contributions=1)
    >>> estimate = exact_noisy_totals([90.0, 10.5], promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.numerics
    (True, 'exact')
    """
    noise, attained = kept_on_totals(privacy, "exact_noisy_totals", noise, questionnaire)
    doubled = doubled_totals(wins)
    counts = read_questionnaire(questionnaire, attained, doubled.size, noise, sensitivity)
    if counts is None or noise != "k-norm":
        change = change_of_totals(noise, attained, sensitivity, counts)
        value, attained, scale = _noisy(doubled, attained, noise, change)
    else:
        value, attained, scale = _shaped(doubled, attained, np.asarray(counts))
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(value, guarantee, NoiseDiagnostics(scale))


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
    :func:`~privrank_jax.pairwise.one_shot_top_k` and never more than that of :func:`exact_noisy_totals`. Under
    add-remove all totals move in one direction, and half the noise suffices.

    Args:
        wins: as for :func:`exact_noisy_totals`.
        privacy: as for :func:`exact_noisy_totals`; users need ``contributions`` unless both sensitivities are given.
        k: length of the list, 1 <= k <= m.
        sensitivity: s, the most that one unit can change one total, in wins; ``None`` takes L.
        total_sensitivity: ℓ₁ sensitivity of all totals; ``None`` takes
            :func:`~privrank_jax.pairwise.noisy_counts.totals_sensitivity`.

    Returns:
        ``value``: item indices, ``(k,)`` int64 NumPy array, best first. ``guarantee`` with
        ``numerics="exact"``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s in wins, public.

    Raises:
        ValueError, ImportError: as :func:`exact_noisy_totals`; k out of range.

    >>> promise = Privacy(2.0, unit="comparison", adjacency="flip")
    >>> exact_top_k([90, 10, 80], promise, 2).value.tolist()
    [0, 2]
    """
    attained = of_comparisons(privacy, "exact_top_k", "laplace")
    one = float(attained.comparisons_per_unit if sensitivity is None else sensitivity)
    every = totals_sensitivity(attained) if total_sensitivity is None else total_sensitivity
    monotone = attained.adjacency == "add-remove"
    change, _ = one_shot_scale(
        dataclasses.replace(attained, epsilon=1.0),
        k,
        np.inf,
        sensitivity=one,
        total_change=float(every) / (1 if monotone else 2),
        monotone=monotone,
    )
    noisy, attained, scale = _noisy(doubled_totals(wins), attained, "laplace", change)
    if not 1 <= k <= noisy.size:
        raise ValueError(f"k must be an integer from 1 to m = {noisy.size}, got {k!r}.")
    value = np.argsort(-noisy, kind="stable")[:k]
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(value, guarantee, NoiseDiagnostics(scale))


def _noisy(
    doubled: np.ndarray, privacy: Privacy, noise: str, sensitivity: Numbers
) -> tuple[np.ndarray, Privacy, float]:
    """Noisy totals, the promise in plain floats, and the scale of the noise in wins."""
    privacy = in_floats(privacy)
    check_positive("sensitivity", sensitivity, infinite=False)
    mechanism, scale = (
        discrete_laplace(2 * float(sensitivity), privacy.epsilon)
        if noise == "laplace"
        else discrete_gaussian(2 * float(sensitivity), privacy.epsilon, privacy.delta)
    )
    value = np.asarray(mechanism(doubled.tolist()), np.float64) / 2
    return value, privacy, scale / 2


def _shaped(
    doubled: np.ndarray, privacy: Privacy, counts: np.ndarray
) -> tuple[np.ndarray, Privacy, float]:
    """The same with K-norm noise; ``counts`` say how often each user is asked each pair."""
    privacy = in_floats(privacy)
    edges, parts = questionnaire_changes(counts, privacy.adjacency)
    graph = Graph(edge_list(np.asarray(edges)), len(edges))
    add_noise, _ = discrete_zonotope(graph, 2 // parts, privacy.epsilon)
    values = np.append(doubled, -doubled.sum())[: len(edges)]
    return add_noise(values)[: doubled.size] / 2, privacy, 1 / privacy.epsilon


def in_floats(privacy: Privacy) -> Privacy:
    """The promise with one finite ε and δ in plain floats."""
    check_positive("epsilon", privacy.epsilon, infinite=False)
    if np.ndim(privacy.epsilon):
        raise ValueError(f"epsilon must be one number, got shape {np.shape(privacy.epsilon)}.")
    return dataclasses.replace(privacy, epsilon=float(privacy.epsilon), delta=float(privacy.delta))


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
        ValueError: other numbers, or too large ones, or with too large sums, for exact counts in their dtype.
    """
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

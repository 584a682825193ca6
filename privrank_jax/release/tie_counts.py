r"""Exact noise on win totals and the number of ties, for Davidson's model.

The theorem is at the head of :mod:`privrank_jax.pairwise.noisy_ties`; here its numbers are whole.
:func:`~privrank_jax.release.exact_noisy_totals` draws the noise, on these values, which are multiples of 1/2:

- *Laplace*: (N, T). Doubled, one comparison moves them by at most 4 in ℓ₁: win to loss 2·2 + 0, win to tie 1 + 1 + 2.
- *Gaussian*: (9N, 11T). One comparison moves them by at most 9√2 in ℓ₂: win to loss 9√2, win to tie √(81/2 + 121) <
  √162. Divided by 9 and 11 again, T has 9/11 of the deviation of N.
- *K-norm*: (N, T, -T), for the questionnaire with two more items, joined by one edge for each pair that is asked.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from privrank_jax._types import PairMatrixLike
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.davidson import check_tied_counts
from privrank_jax.pairwise.noisy_counts import totals_sensitivity
from privrank_jax.pairwise.noisy_ties import (
    GAUSSIAN_TIE_WEIGHT,
    TieCounts,
    check_tie_promise,
    tie_sensitivity,
    with_ties,
)
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.noisy_totals import doubled_totals, exact_noisy_totals


def exact_noisy_tie_counts(
    wins: WinCounts,
    privacy: Privacy,
    *,
    noise: str | None = None,
    questionnaire: PairMatrixLike | None = None,
) -> Estimate:
    """Win totals and number of ties plus exact discrete noise, the twin of ``pairwise.noisy_tie_counts``.

    **Guarantee.** As for the twin, with ``numerics="exact"``. Fit the model to the value by
    :func:`~privrank_jax.pairwise.fit`: post-processing. Runs on the host: no tracing, no key.

    Args:
        wins: win counts that know their ``ties``; whole comparisons, each tie half a win for both items.
        privacy: as for the twin, ε finite.
        noise: as for the twin.
        questionnaire: as for the twin.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.noisy_ties.TieCounts` of float64 NumPy arrays. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s or σ of each total in wins, or 1/ε for
        K-norm noise.

    Raises:
        ValueError, TypeError: as for the twin; ε = ∞ or several ε; counts that are not multiples of 1/2, ties that are
            not whole, or too many for exact counts in their dtype.
        ImportError: OpenDP is not installed, or unsound, for other noise than K-norm noise.

    >>> wins = WinCounts.from_matrix([[0, 60], [40, 0]], ties=20)
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> found = exact_noisy_tie_counts(wins, promise)
    >>> float(2 * found.value.ties).is_integer(), found.guarantee.numerics
    (True, 'exact')
    """
    check_tied_counts(wins)
    kind, attained, counts = check_tie_promise(
        privacy, "exact_noisy_tie_counts", wins.num_items, noise, questionnaire
    )
    totals, ties = doubled_totals(wins) / 2, doubled_totals(np.asarray(wins.ties)[None])[0] / 2
    if not float(ties).is_integer():
        raise ValueError(f"the number of ties must be whole, got {ties}.")
    if kind == "k-norm":
        assert counts is not None
        values = np.append(totals, [ties, -ties])
        drawn = exact_noisy_totals(values, privacy, questionnaire=with_ties(counts))
        return _split(drawn, wins.num_items)
    if kind == "laplace":
        generic = counts is None
        change: Any = totals_sensitivity(attained) if generic else tie_sensitivity(counts, attained)
        drawn = exact_noisy_totals(np.append(totals, ties), privacy, sensitivity=change)
        return _split(drawn, wins.num_items)
    on_ties, on_totals = GAUSSIAN_TIE_WEIGHT
    change = on_totals * math.sqrt(2) * float(attained.comparisons_per_unit)
    values = np.append(on_totals * totals, on_ties * ties)
    drawn = exact_noisy_totals(values, privacy, noise=kind, sensitivity=change)
    return _split(drawn, wins.num_items, on_totals, on_ties)


def _split(drawn: Estimate, num_items: int, on_totals: int = 1, on_ties: int = 1) -> Estimate:
    value = TieCounts(
        np.asarray(drawn.value)[:num_items] / on_totals,
        np.asarray(drawn.value[num_items] / on_ties),
    )
    scale = NoiseDiagnostics(drawn.diagnostics.noise_scale / on_totals)
    return dataclasses.replace(drawn, value=value, diagnostics=scale)

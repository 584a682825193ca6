r"""The items with the most wins by one-shot noise, drawn exactly.

The proof of the one-shot mechanism (:mod:`privrank_jax.privacy.selection`) shifts the noise of each selected item by
t - d_i, twice which is an integer here, and a shift by c changes P(X = x) by at most exp(\|c\|/s) on the integers too.
Ties are broken by item index, both before and after the shift. So the proof holds for discrete noise unchanged.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from privrank_jax._types import Scalar, ScoresLike
from privrank_jax._validate import check_positive, check_top
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise, integer_noise
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.pairwise.whole_counts import doubled_totals
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale


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
    :func:`~privrank_jax.pairwise.one_shot_top_k` and never more than that of ``noisy_counts.release``. Under
    add-remove all win totals move in one direction, and half the noise suffices.

    Args:
        wins: win counts, or their totals ``(m,)``, multiples of 1/2.
        privacy: what is promised, ε finite; users need ``contributions`` unless both sensitivities are given.
        k: length of the list, 1 <= k <= m.
        sensitivity: s, the most that one unit can change one total; ``None`` takes L. Of numbers that are not
            :class:`WinCounts` half of that serves where it moves all in one direction.
        total_sensitivity: ℓ₁ sensitivity of all totals; ``None`` takes
            :func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`.

    Returns:
        ``value``: item indices, ``(k,)`` int64 NumPy array, best first. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s in wins, public.

    Raises:
        ValueError: as all exact releases; k out of range.

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
    check_positive("sensitivity", change, infinite=False)
    add_noise, scale = integer_noise("laplace", attained, 2 * float(change))
    noisy, scale = add_noise(doubled), scale / 2
    value = np.argsort(-noisy, kind="stable")[:k]
    return exact_estimate(value, privacy, attained, NoiseDiagnostics(scale))

"""Exact discrete noise on how often each item was chosen from sets.

The theorem is at the head of :mod:`privrank_jax.pairwise.noisy_choices`: the totals of choices change as win totals do,
so :func:`~privrank_jax.release.exact_noisy_totals` draws their noise.
"""

from __future__ import annotations

import numpy as np

from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.noisy_choices import check_no_stages
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.noisy_totals import exact_noisy_totals


def exact_noisy_choices(choices: Choices, privacy: Privacy, *, noise: str = "laplace") -> Estimate:
    """How often each item was chosen, plus exact discrete noise, the twin of ``pairwise.noisy_choices``.

    **Guarantee.** As for the twin, with ``numerics="exact"``. Under ``flip``,
    :func:`~privrank_jax.pairwise.fit` fits scores to the value: post-processing. Runs on the
    host: no tracing, no key.

    Args:
        choices: choices, not stages of rankings, with whole weights.
        privacy: as for the twin, ε finite.
        noise: as for the twin.

    Returns:
        ``value``: noisy totals, ``(m,)`` float64 NumPy array. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, s or σ in choices; public.

    Raises:
        ValueError: as for the twin; ε = ∞ or several ε; weights that are not whole.
        ImportError: OpenDP is not installed, or unsound.

    >>> choices = Choices.from_top1([(0, [1, 2])] * 60 + [(1, [0, 2])] * 20, num_items=3)
    >>> promise = Privacy(1.0, unit="user", adjacency="flip", contributions=1)
    >>> found = exact_noisy_choices(choices, promise)
    >>> int(found.value.argmax()), found.guarantee.numerics
    (0, 'exact')
    """
    check_no_stages(choices)
    weights = np.asarray(choices.weights)
    if not np.all((weights >= 0) & (weights == np.round(weights))):
        raise ValueError("exact noise needs weights that are whole numbers of choices, at least 0.")
    totals = np.bincount(np.asarray(choices.chosen), weights, choices.num_items)
    return exact_noisy_totals(totals, privacy, noise=noise)

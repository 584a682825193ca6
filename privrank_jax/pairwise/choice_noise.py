r"""Private scores from choices among public sets: noise on how often each item was chosen, then a ridge fit.

**Statistic.** The likelihood of choices sees them through N alone, N_i how often i was chosen, next to the sets
(:mod:`privrank_jax.pairwise.choices`).

**Sensitivity.** A choice adds one unit vector e_i to N, as a comparison without ties adds e_i to the win totals, so the
sensitivities are those of win totals (:func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity`): another choice
moves N by e_j - e_i, by 2 in ℓ₁ and √2 in ℓ₂; one more moves it by 1; L choices of a user by L times that at most, by
the triangle inequality, which is attained.

**What is public.** Noisy totals alone protect choices under any adjacency. The fit also needs the sets, which are
public under ``flip`` alone, where neighbors differ in what was chosen and not in what was offered; then it is
post-processing of the totals, whatever its ridge, solver and rounding: the fit takes the sets from
``Choices.design``, in an order that does not depend on the choices. Under ``replace``
and ``add-remove`` the sets are private too, and the same noise, of a larger scale, is noise in the objective
(:mod:`privrank_jax.pairwise.perturbed_answers`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fits import STAGES
from privrank_jax.pairwise.noisy_totals import totals_change
from privrank_jax.pairwise.whole_counts import doubled_totals
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import COMPARISON_KINDS


def check_no_stages(choices: Choices) -> None:
    """Raise ``ValueError`` for stages of rankings, whose sets depend on answers."""
    if not choices.public_sets:
        raise ValueError(STAGES)


def _floats(choices: Choices) -> tuple[Choices, Facts]:
    check_no_stages(choices)
    return choices, Facts(choices.num_items)


def _whole(choices: Choices) -> tuple[Any, Facts]:
    check_no_stages(choices)
    weights = np.asarray(choices.weights)
    if not np.all((weights >= 0) & (weights == np.round(weights))):
        raise ValueError("exact noise needs weights that are whole numbers of choices, at least 0.")
    totals = np.bincount(np.asarray(choices.chosen), weights, choices.num_items)
    return doubled_totals(totals), Facts(choices.num_items)


CHOICES = Data(
    Choices, "make them by Choices.from_top1 or Choices.", floats=_floats, whole=_whole, times=2
)
"""Choices as mechanisms read them."""

noisy_choices = Additive(
    "noisy_choices",
    """How often each item was chosen, with noise, of :class:`~privrank_jax.pairwise.choices.Choices` from sets.

    Stages of rankings are refused: their sets depend on answers. :func:`~privrank_jax.pairwise.fit` fits a model to the
    value: post-processing where the sets are public, that is under ``flip``.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one choice or a user, under any
    adjacency; proof at the head of :mod:`privrank_jax.pairwise.choice_noise`. Users need ``contributions``.

    ``value``: noisy totals, ``(m,)``, in choices, high = preferred.

    >>> import jax
    >>> from privrank_jax.privacy import Privacy
    >>> choices = Choices.from_top1([(0, [1, 2])] * 6 + [(1, [0, 2]), (2, [0])], num_items=3)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip")
    >>> noisy_choices(jax.random.key(0), choices, free).value.tolist()
    [6.0, 1.0, 1.0]
    """,
    data=CHOICES,
    kinds=COMPARISON_KINDS,
    statistic=lambda choices, facts: choices.totals if isinstance(choices, Choices) else choices,
    change=totals_change,
    noises=NOISES,
)

"""The promises that mechanisms on comparisons keep, and the one that they refuse: a rank has no comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.noisy_totals import of_comparisons
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.privacy import COMPARISON_KINDS
from tests.promises import promise

WINS = WinCounts.from_matrix(3.0 * (np.ones((4, 4)) - np.eye(4)))
TIED = WinCounts.from_matrix(WINS.matrix, ties=4)
CHOICES = pairwise.Choices.from_top1([(0, [1, 2])], num_items=3)
MECHANISMS = {
    "noisy_choices": lambda key, asked, **_: pairwise.noisy_choices(key, CHOICES, asked),
    "perturbed_choices": lambda key, asked, **_: pairwise.perturbed_choices(key, CHOICES, asked),
    "noisy_counts": lambda key, asked, **known: pairwise.noisy_counts(key, WINS, asked, **known),
    "perturbed_mle": lambda key, asked, **_: pairwise.perturbed_mle(key, WINS, asked),
    "noisy_ties": lambda key, asked, **_: pairwise.noisy_ties(key, TIED, asked),
    "perturbed_davidson": lambda key, asked, **_: pairwise.perturbed_davidson(key, TIED, asked),
    "noisy_counts released": lambda key, asked, **known: pairwise.noisy_counts.release(
        WINS, asked, **known
    ),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_rank_is_refused_in_clear_words(name, key):
    """Also where the sensitivity is given: it would be that of a rank, and not of the user that was attained before."""
    asked = Privacy(1.0, unit="rank", adjacency="replace")
    for known in ({}, {"sensitivity": 2.0}):
        with pytest.raises(
            ValueError, match=f"^{name.split()[0]} works on comparisons.*unit='user'"
        ):
            MECHANISMS[name](key, asked, **known)


@pytest.mark.parametrize(("unit", "adjacency"), COMPARISON_KINDS)
def test_what_is_asked_for_is_attained(unit, adjacency):
    asked = promise(0.5, unit, adjacency, 3, delta=1e-6)
    assert of_comparisons(asked, "it") == of_comparisons(asked, "it", "gaussian") == asked
    assert of_comparisons(asked, "it", "laplace") == promise(0.5, unit, adjacency, 3)


def test_other_things_are_no_promise():
    with pytest.raises(TypeError, match="must be a Privacy"):
        of_comparisons(1.0, "it")
    with pytest.raises(ValueError, match="noise must be one of"):
        of_comparisons(promise(1.0), "it", "cauchy")

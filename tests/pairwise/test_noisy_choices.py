"""Private scores from choices: sensitivities by enumeration, fits to noisy totals, and what is refused."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.questionnaire import totals_sensitivity
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.pairwise.uncertainty import standard_errors
from privrank_jax.privacy.bodies import Noise
from tests.pairwise.flips import released
from tests.pairwise.problems import LISTS
from tests.promises import promise


def test_totals_move_by_two_per_choice():
    """By enumeration over two choices of one user from public sets: 2L in ℓ₁, √2 L in ℓ₂, attained."""
    sets = [(0, 1, 2), (0, 1)]
    totals = []
    for chosen in itertools.product(*sets):
        rows = [(one, [j for j in s if j != one]) for one, s in zip(chosen, sets)]
        totals.append(np.asarray(Choices.from_top1(rows, num_items=3).totals))
    moved = np.array(totals)[:, None] - np.array(totals)[None]
    asked = promise(1.0, "user", "flip", 2)
    for norm, name in ((1, "l1"), (2, "l2")):
        largest = np.linalg.norm(moved, norm, axis=-1).max()
        assert largest == pytest.approx(totals_sensitivity(asked, name))


def test_the_private_fit_is_that_of_noisy_totals(key):
    choices = Choices.from_top1([(one[0], one[1:]) for one in LISTS], num_items=5)
    for asked, scale in (
        (promise(0.5, adjacency="flip"), 4.0),
        (promise(0.5, "user", "flip", 3), 12.0),
    ):
        found = released(key, choices, asked)
        assert found.diagnostics.noise_scale == scale
        noisy = choices.totals + scale * jax.random.laplace(key, (5,), choices.totals.dtype)
        gamma, _ = default_ridges(choices.design, Noise.independent("laplace", scale))
        assert found.diagnostics.gamma == pytest.approx(float(gamma))
        again = fit(choices.design, noisy, gamma)
        np.testing.assert_allclose(found.value, again.value, atol=1e-10)
    free = released(key, choices, promise(np.inf, adjacency="flip"), gamma=1.0)
    np.testing.assert_allclose(free.value, mle(choices, gamma=1.0).value, atol=1e-9)


def test_the_default_ridge_counts_what_choices_tell():
    """50 choices from two items are 50 comparisons of each; one among three tells of them as 4/3 comparisons."""
    law = Noise.independent("gaussian", np.sqrt(5.0))
    for rows, comparisons in (([(0, [1])] * 50, 50.0), ([(0, [1, 2])] * 90, 80.0)):
        choices = Choices.from_top1(rows, num_items=len(rows[0][1]) + 1)
        gamma, none = default_ridges(choices.design, law)
        assert none is None
        assert float(gamma) == pytest.approx(1 + 5 / (comparisons / 5))


def test_nothing_but_the_totals_tells_who_was_chosen():
    """Bit for bit: with other choices from the same sets, the same totals give the same scores and standard errors.

    A sum over a set in another order, for instance the chosen item first, differs in its last digits.
    """
    rng, totals = np.random.default_rng(0), np.linspace(3.3, 19.1, 9)
    sets = [rng.choice(9, rng.integers(2, 8), replace=False).tolist() for _ in range(60)]
    seen = set()
    for _ in range(6):
        rows = [(one[0], one[1:]) for one in (rng.permutation(one).tolist() for one in sets)]
        choices = Choices.from_top1(rows, num_items=9)
        found = fit(choices.design, totals, 0.7)
        errors = standard_errors(found.value, choices.design, noise=2.0, gamma=0.7)
        seen.add(np.stack([found.value, errors.standard_errors]).tobytes())
    assert len(seen) == 1


def test_rankings_have_no_private_totals(key):
    """Two rankings with the same totals of choices have other later sets: the fit sees more than the totals."""
    asked = promise(1.0, adjacency="flip")
    stages = Choices.from_rankings(LISTS, num_items=5)
    with pytest.raises(ValueError, match="break_rankings"):
        pairwise.noisy_choices(key, stages, asked)
    with pytest.raises(ValueError, match="break_rankings"):
        pairwise.noisy_choices(key, stages, promise(1.0))
    with pytest.raises(ValueError, match="not public"):
        fit(stages.design, stages.totals, 1.0)
    with pytest.raises(ValueError, match="break_rankings"):
        pairwise.perturbed_choices(key, stages, promise(1.0))

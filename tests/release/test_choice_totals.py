"""Choices released exactly: noise on how often each item was chosen, then the fit to these totals."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise import noisy_choices
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.fits import fit
from tests.promises import promise
from tests.replays import replay
from tests.replays.doors import DOORS

SETS = [(0, [1, 2, 3]), (3, [0, 4]), (1, [4]), (4, [0, 1, 2]), (2, [1, 3]), (0, [2])]
OTHERS = [(2, [0, 1, 3]), *SETS[1:]]  # one choice differs, from the same set
GAMMA = 1.0


def released(choices, asked, noise="laplace"):
    made = Choices.from_top1(choices, num_items=5)
    noisy = noisy_choices.release(made, asked, noise=noise)
    return noisy, np.asarray(fit(made.design, noisy.value, GAMMA).value)


@pytest.mark.parametrize("asked", [promise(0.7, adjacency="flip"), promise(0.7, "user", "flip", 1)])
def test_another_choice_costs_epsilon_and_shows_in_nothing_else(asked):
    """Replayed: all of ε is lost where the noise is drawn, and the fit reads nothing but what it was drawn for."""

    def run(choices):
        return lambda: {"scores": released(choices, asked)[1].tolist()}

    found = replay.audit(run(SETS), run(OTHERS), DOORS)
    assert found.violations(0.7) == ()
    assert found.measured == pytest.approx(0.7)

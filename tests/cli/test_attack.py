"""``privrank demo --attack``: what it reads off exact data is true, and private guesses keep the bound."""

from __future__ import annotations

import math
import sys

import jax
import numpy as np
import pytest
from PIL import Image

from privrank_jax.cli import attack
from privrank_jax.privacy_audit import guess_bound
from privrank_jax.privacy_audit.empirical import clopper_pearson


@pytest.mark.parametrize("seed", range(5))
def test_the_battles_that_are_revealed_are_those_of_the_voter(seed):
    boards, explained = attack.made_up_arena(seed)
    target = attack.target_of(explained)
    (battles,), (before, after) = explained[target], boards[target : target + 2]
    for winner, loser in battles:
        before[winner, 0] += 1
        before[loser, 1] += 1
    np.testing.assert_array_equal(before, after)
    assert 0 < sum(len(sets) == 1 for sets in explained) < attack.VOTERS
    assert len(battles) == max(len(sets[0]) for sets in explained if len(sets) == 1)


@pytest.fixture(scope="module")
def guesses():
    keys = jax.random.split(jax.random.key(3), 3)
    explained = attack.made_up_arena(0)[1]
    votes, _ = attack.guess_votes(keys[0], explained[attack.target_of(explained)][0])
    ballot = attack.guess_ballot(keys[1], attack.made_up_ballots(0))
    return {one.question: one for one in (*votes, *ballot, *attack.guess_answer(keys[2]))}


def test_guesses_beat_chance_and_keep_the_bound(guesses):
    values = {"who won one of the battles": 2, "who won all 3 battles": 8, "which project came first": 4,
              "the whole ballot": 24, "an answer, randomized at home": 2}  # fmt: skip
    assert set(guesses) == set(values)
    for question, count in values.items():
        one = guesses[question]
        low, high = clopper_pearson(one.best * attack.DRAWS, attack.DRAWS, 1e-6)
        assert one.blind == pytest.approx(1 / count)
        assert one.bound == pytest.approx(guess_bound(1.0, [1 / count] * count))
        assert low <= one.bound
        assert low > one.blind  # something is learned, and more than by a blind guess
        assert one.exact == 1
    assert high >= guesses[question].bound  # randomized response attains it


def test_the_best_guess_of_one_battle_is_that_of_laplace_noise():
    """One battle alone: two totals of noise 2L each decide, and the attacker compares their difference with 0."""
    (found,), _ = attack.guess_votes(jax.random.key(1), ((0, 1),))
    # |x - 1| - |x| summed over two independent Laplace variables of scale 2L; right where it is positive.
    scale = 2 * attack.MOST / attack.EPSILON
    grid = np.linspace(-60, 60, 2401)
    weight = np.exp(-np.abs(grid) / scale)
    weight /= weight.sum()
    favor = np.abs(grid + 1) - np.abs(grid)  # of the true value, at the noise of one total
    total = favor[:, None] + favor[None, :]
    joint = weight[:, None] * weight[None, :]
    expected = joint[total > 1e-9].sum() + joint[np.abs(total) <= 1e-9].sum() / 2
    assert found.best == pytest.approx(expected, abs=4 * math.sqrt(0.25 / attack.DRAWS))


def test_the_demo_tells_and_draws_it(privrank, tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "DRAWS", 2_000)
    run = ("demo", "--attack", "--out", tmp_path / "new")
    result = privrank(*run)
    assert result.code == 0, result.err
    for words in ("Dahlia beat Cedar, Elm beat Dahlia", "23 of the 40 voters", "2,000 draws"):
        assert words in result.out
    for name in attack.PICTURES:
        picture = Image.open(tmp_path / "new" / name)
        assert picture.size[0] > 1000
        assert len(picture.convert("RGB").getcolors()) <= 64
    document = privrank(*run, "--json").json()
    assert document["ballot"][0] == "bike lane"
    assert document["battles"][0] == ["Dahlia", "Cedar"]
    assert [one["exact"] for one in document["guesses"]] == [1.0] * 5
    assert privrank(*run, "--seed", 1, "--json").json()["ballot"] != document["ballot"]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    bare = privrank("demo", "--attack", "--out", tmp_path / "none")
    assert "privrank-jax[plot]" in bare.out
    assert not (tmp_path / "none").exists()

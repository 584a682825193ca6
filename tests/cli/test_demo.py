"""``privrank demo``, its attack, and ``privrank audit``: words, numbers, pictures and exit codes."""

from __future__ import annotations

import shlex
import sys

import jax
import numpy as np
import pytest
from PIL import Image

import privrank_jax as pr
from privrank_jax.cli import attack, survey
from privrank_jax.privacy_audit import guess_bound
from privrank_jax.privacy_audit.empirical import clopper_pearson
from tests.quick import thorough


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


@pytest.mark.parametrize("all_of_them", [False, thorough(True)])
def test_guesses_beat_chance_and_keep_the_bound(all_of_them):
    keys = jax.random.split(jax.random.key(3), 3)
    found = attack.guess_answer(keys[2])
    if all_of_them:
        explained = attack.made_up_arena(0)[1]
        votes, _ = attack.guess_votes(keys[0], explained[attack.target_of(explained)][0])
        found = (*votes, *attack.guess_ballot(keys[1], attack.made_up_ballots(0)), *found)
    guesses = {one.question: one for one in found}
    values = {"who won one of the battles": 2, "who won all 3 battles": 8, "which project came first": 4,
              "the whole ballot": 24, "an answer, randomized at home": 2}  # fmt: skip
    assert set(guesses) == (set(values) if all_of_them else {"an answer, randomized at home"})
    for question, one in guesses.items():
        count = values[question]
        low, high = clopper_pearson(one.best * attack.DRAWS, attack.DRAWS, 1e-6)
        assert one.blind == pytest.approx(1 / count)
        assert one.bound == pytest.approx(guess_bound(1.0, [1 / count] * count))
        assert low <= one.bound
        assert low > one.blind  # something is learned, and more than by a blind guess
        assert one.exact == 1
    assert high >= guesses[question].bound  # randomized response attains it


@pytest.mark.slow
def test_the_demo_tells_and_draws_it(privrank, tmp_path, monkeypatch):
    monkeypatch.setattr(attack, "DRAWS", 2_000)
    run = ("demo", "--attack", "--out", tmp_path / "new")
    result = privrank(*run)
    assert result.code == 0, result.err
    for words in ("Dahlia beat Cedar, Elm beat Dahlia", "23 of the 40 voters", "2,000 draws"):
        assert words in result.out
    for name in attack.PICTURES:
        with Image.open(tmp_path / "new" / name) as picture:
            assert picture.size[0] > 1000
    document = privrank(*run, "--json").json()
    assert document["battles"][0] == ["Dahlia", "Cedar"]
    assert [one["exact"] for one in document["guesses"]] == [1.0] * 5
    assert privrank(*run, "--seed", 1, "--json").json()["ballot"] != document["ballot"]
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    bare = privrank("demo", "--attack", "--out", tmp_path / "none")
    assert "privrank-jax[plot]" in bare.out
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("fitted", [False, thorough(True)])
def test_demo(privrank, tmp_path, monkeypatch, fitted):
    if not fitted:  # counts twice, as the fit takes seconds to compile
        monkeypatch.setattr(survey.pairwise, "perturbed_mle", survey.pairwise.noisy_counts)
        monkeypatch.setattr(survey, "USERS", 100)
    monkeypatch.setattr(survey, "REPLICATES", 100)
    monkeypatch.setattr(survey, "REPEATS", 2000)
    document = privrank("demo", "--out", tmp_path / "new", "--json").json()
    voters = document["voters"]
    assert dict(zip(voters["items"], voters["wins"])) == {
        "Mountain View": 12.0, "San Francisco": 8.0, "New York": 8.0, "Cambridge": 8.0, "Accra": 4.0,
    }  # fmt: skip
    assert voters["sensitivity"] == 12
    assert 10 < voters["noise_deviation"] < 0.75 * 12 * 2**0.5  # Laplace noise has the latter
    kept = [row["winner_kept"] for row in voters["private"]]
    assert 0.2 < kept[0] < 0.4 < 0.8 < kept[1] < kept[2]
    assert (tmp_path / "new" / survey.PICTURE).stat().st_size > 10_000
    errors = {(r["method"], r["metric"], r["epsilon"]): r["mean"] for r in document["study"]}
    assert errors["counts", "kendall", 0.1] > 0.25  # noise drowns 400 users at ε = 0.1 ...
    if fitted:
        assert errors["mle", "kendall", 5.0] < 0.06  # ... and hardly shows at ε = 5
        assert errors["mle", "kendall", None] < errors["counts", "kendall", None]


# --- audits ---

FEW = ("--draws", 50_000)


def test_list(privrank):
    shown = privrank("audit", "--list").out
    for text in ("randomized-response", "dp-borda", "unsound", "rank, replace, local"):
        assert text in shown
    rows = privrank("audit", "--list", "--json").json()["mechanisms"]
    assert {row["name"]: row["sound"] for row in rows}["dp-kwiksort-published"] is False


def test_a_sound_mechanism_is_consistent(privrank):
    result = privrank("audit", "randomized-response", "--epsilon", 0.5, *FEW)
    assert (result.code, result.err) == (0, "")
    for text in ("claimed epsilon", "consistent", "Event tested", "50,000"):
        assert text in result.out


def test_an_unsound_one_is_violated_and_drawn(privrank, tmp_path):
    picture = tmp_path / "audit.png"
    run = ("audit", "noisy-counts-users-published", *FEW)
    result = privrank(*run, "--plot", picture, "--json")
    assert (result.code, result.err) == (1, "")
    found = result.json()
    assert (found["verdict"], found["epsilon"], found["picture"]) == ("violated", 1, str(picture))
    assert 1.6 < found["lower_bound"] < found["exact_epsilon"] == 2
    assert (found["draws"], found["confidence"], found["seed"]) == (50_000, 0.999, 0)
    assert picture.stat().st_size > 10_000
    words = privrank(*run)
    assert (words.code, "Violated" in words.out) == (1, True)


# --- privrank look


ROWS = "ann lee,Oslo,Rome|bo,Rome,n/a|ann lee,Oslo,Bonn|bo,Bonn,Rome|cy d,Oslo,$SKIP|cy d,Bonn,Oslo"


def test_the_next_command_names_columns_and_blanks_and_runs(privrank, tmp_path):
    path = tmp_path / "it's.csv"
    path.write_text("\n".join(["voter id,winner,loser", *ROWS.split("|")]) + "\n")
    (command,) = pr.look(path).commands
    assert "--user 'voter id' --blank '$SKIP,n/a'" in command
    assert f"  privrank {command}\n" in privrank("look", path).out
    words = shlex.split(command.replace(" L", " 2"))
    assert privrank(*words, items=None).code == 0

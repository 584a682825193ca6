"""Leaderboards as a function: the one state, rehearsals, and a ledger that pays."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from privrank_jax import Privacy, leaderboard
from privrank_jax.data import Comparisons
from privrank_jax.data.file import Origin
from privrank_jax.release.ledger import Ledger, create
from tests.jobs.released import read
from tests.quick import thorough

PROMISE = Privacy(1.0, unit="user", adjacency="replace", delta=1e-6, contributions=2)
COMMON = {"every": "day", "start": "2024-01-01", "steps": 5, "noise": "gaussian"}
DAYS = np.array(["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-04"], "datetime64[us]")


def votes(items="abc", public=("items",), times=DAYS, sha256=""):
    """Four comparisons of four users: a beats b, b beats c, a beats c twice."""
    place = {item: number for number, item in enumerate(items)}
    winners, losers = ([place[item] for item in side] for side in ("abaa", "bccc"))
    return Comparisons(
        range(4), winners, losers, [False] * 4, tuple(items), user_names=tuple("uvwx"), name="votes",
        public=public, times=times, origin=Origin(None, sha256),
    )  # fmt: skip


def published(state, until="2024-01-03", data=None, promise=PROMISE, **options):
    return leaderboard(data or votes(), promise, state=state, until=until, **{**COMMON, **options})


def test_steps_stay_as_they_were_and_each_is_a_ranking(tmp_path):
    first = published(tmp_path / "board")
    later = published(tmp_path / "board", "2024-01-05", votes("cba"))  # items in another order
    assert (len(first.steps), len(later.steps)) == (2, 4)
    for one, again in zip(first.steps, later.steps):
        assert (one.title, one.rows, one.items) == (again.title, again.rows, again.items)
    assert later.rows == later.steps[-1].rows
    assert [row["until"] for row in later.history] == [f"2024-01-0{k}" for k in (2, 3, 4, 5)]
    assert later.guarantee.attained.public == ("items",)


@pytest.mark.parametrize("adjacency", [thorough("flip"), "replace"])
def test_a_rehearsal_needs_no_state(adjacency):
    promise = Privacy(1e4, unit="comparison", adjacency=adjacency, delta=0.1)
    found = published(None, data=votes(public=()), promise=promise, key=jax.random.key(3))
    assert found.rehearsal
    assert found.facts["seed"] == 3
    assert found.guarantee.numerics == "simulation"
    assert list(found.names) == ["a", "b", "c"]


@pytest.mark.parametrize("noise", ["gaussian", thorough("laplace")])
def test_without_a_last_step_it_goes_on(tmp_path, noise):
    """40 days, over the first long interval of the tree: exact with little noise, a rehearsal, and the words."""
    days = np.datetime64("2024-01-01", "us") + np.arange(41) * np.timedelta64(1, "D")
    table = {"user": [f"u{day}" for day in range(41)], "winner": ["a", "b"] * 20 + ["a"]}
    table |= {"loser": ["b", "c"] * 20 + ["c"], "when": list(map(str, days))}
    data = read(table, time="when", name="votes")
    delta = 0.1 if noise == "gaussian" else 0.0
    promise = Privacy(1e3, unit="user", adjacency="flip", delta=delta, contributions=1)
    asked = {"data": data, "promise": promise, "steps": None, "noise": noise}
    first = published(tmp_path / "board", "2024-01-05", **asked)
    found = published(tmp_path / "board", "2024-02-10", **asked)
    assert (len(first.steps), len(found.steps)) == (4, 40)
    for one, again in zip(first.steps, found.steps):
        assert (one.title, one.rows) == (again.title, again.rows)
    rehearsal = published(None, "2024-02-10", **asked, key=jax.random.key(3))
    for board in (found, rehearsal):
        assert list(board.names) == ["a", "b", "c"]
        assert "all steps" in board.guarantee.note
        assert "num_steps" not in board.facts
    told = [board.facts["noise_deviation"] for board in (found, rehearsal)]
    if noise == "gaussian":  # little Laplace noise on integers is none
        assert told[0] == pytest.approx(told[1], rel=0.1)
    assert not any("rows are dated" in one for one in found.warnings)
    with pytest.raises(ValueError, match="without end"):
        published(tmp_path / "board", "2024-02-10", **{**asked, "steps": 365})


def many(users=220, items="abcde", spread=0.4):
    """Three comparisons of each user over four days, the first items the best."""
    drawn = np.random.default_rng(users)
    pairs = np.array([drawn.permutation(len(items))[:2] for _ in range(3 * users)])
    wins = drawn.random(3 * users) < 1 / (1 + np.exp(spread * (pairs[:, 0] - pairs[:, 1])))
    winners, losers = np.where(wins[:, None], pairs, pairs[:, ::-1]).T
    return Comparisons(
        np.repeat(np.arange(users), 3), winners, losers, [False] * 3 * users, tuple(items),
        user_names=tuple(f"u{k}" for k in range(users)), name="votes", times=DAYS[drawn.integers(0, 4, 3 * users)],
        public=("items",), origin=Origin(None, ""),
    )  # fmt: skip


@pytest.mark.parametrize("adjacency", ["replace", thorough("flip")])
def test_the_error_that_is_said_is_that_of_the_noise(adjacency):
    """Of 12 rehearsals, against the scores with hardly any noise: within a third."""
    data, asked = many(400, "abc"), {"until": "2024-01-05", "noise": "gaussian"}
    promise = Privacy(1.0, unit="user", adjacency=adjacency, delta=1e-6, contributions=3)
    exact = dataclasses.replace(promise, epsilon=1e4, delta=0.1)
    truth = published(None, data=data, promise=exact, key=jax.random.key(0), **asked).scores
    errors, said = [], []
    for seed in range(12):
        found = published(None, data=data, promise=promise, key=jax.random.key(seed), **asked)
        errors.append(found.scores - truth)
        (note,) = (one for one in found.notes if "the noise moves" in one)
        said.append(float(note.split()[6].rstrip(",")))
        assert bool(found.certainty.intervals) == (adjacency == "flip")
    assert np.median(said) == pytest.approx(np.std(errors), rel=1 / 3)


def test_a_ledger_pays_once(tmp_path):
    data, grown = votes(sha256="ab" * 32), votes(sha256="cd" * 32)
    budget = Privacy(1.5, unit="user", adjacency="replace", delta=1e-5, public=("items",))
    create(tmp_path / "ledger", budget, data="votes", sha256="ab" * 32)
    with Ledger(tmp_path / "ledger") as ledger:
        first = published(tmp_path / "board", data=data, ledger=ledger)
        later = published(tmp_path / "board", "2024-01-05", grown, ledger=ledger)
        (spend,) = ledger.spends()
        assert spend.method.endswith(f"leaderboard {first.facts['state']}")
        assert "earlier run has paid" in later.facts["ledger"]
        with pytest.raises(ValueError, match="has other content"):
            published(tmp_path / "other", data=grown, ledger=ledger)

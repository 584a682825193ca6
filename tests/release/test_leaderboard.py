"""The exact leaderboard over time: its errors, what it publishes, resumption, refusals."""

from __future__ import annotations

import dataclasses
import math
import shutil
import sqlite3
from typing import Any

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.score_stream import continual_score_sums
from privrank_jax.privacy import Guarantee
from privrank_jax.privacy.prefix_sums import prefix_sum_errors
from privrank_jax.release import Leaderboard, Ledger, leaderboard_file
from privrank_jax.release.exact_strategy import strategy_of
from privrank_jax.release.leaderboard_file import LeaderboardError
from privrank_jax.release.ledger import create
from tests.promises import promise
from tests.release.strategies import matrices

ASKED = promise(1.0, "user", "flip", 2, delta=1e-4)  # boards of win totals
STREAM = np.array(
    [[3.0, 1.0, 0.5], [0.0, 2.0, 7.5], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [5.0, 0.0, 2.0]]
)


def opened(path, asked=ASKED, steps=5, **others):
    return Leaderboard(path, asked, items=("a", "b", "c"), steps=steps, **others)


def test_errors_are_those_of_the_simulation(tmp_path, key):
    asked = promise(0.7, "user", "flip", 5, delta=1e-6)
    with Leaderboard(tmp_path / "board", asked, items=("a", "b"), steps=50) as board:
        told = board.diagnostics
    simulated = continual_totals(key, np.zeros((50, 2)), asked).diagnostics
    np.testing.assert_allclose(told.deviations, simulated.deviations, rtol=1e-4)
    assert told.noise_scale == pytest.approx(float(simulated.noise_scale), rel=1e-4)
    strategy = strategy_of(asked, 1000, "gaussian")
    ratio = strategy.deviations(1000) / prefix_sum_errors("square-root", 1000, "gaussian")
    assert np.ptp(ratio) < 0.02 * ratio[0]


def test_steps_are_published_once_and_shown_again(tmp_path):
    """Several at once or one at a time; noise is not drawn again, and earlier totals stay."""
    path = tmp_path / "board"
    with opened(path) as board:
        first = board.publish(STREAM[0], ["x"])
        assert first.value.shape == (3,)
        assert first.guarantee == Guarantee(ASKED, ASKED, numerics="exact")
    with opened(path) as board:
        assert board.notes == ["x"]
        more = board.publish(STREAM[1:4], after=1).value
        assert more.shape == (3, 3)
        np.testing.assert_array_equal(board.totals, [first.value, *more])
        board.publish(STREAM[4])
        assert board.published == 5
        with pytest.raises(
            LeaderboardError, match="was promised 5 steps, of which 5 are published"
        ):
            board.publish(STREAM[0])
    noise = board_noise(path)
    assert len(np.unique(noise)) == noise.size


def board_noise(path):
    with opened(path) as board:
        return board.totals - np.cumsum(STREAM, 0)


def test_little_noise_shows_the_prefix_sums(tmp_path):
    asked = promise(1000.0, "user", "flip", 1, delta=0.1)
    with opened(tmp_path / "board", asked) as board:
        found = board.publish(STREAM).value
    np.testing.assert_allclose(found, np.cumsum(STREAM, 0), atol=1.5)


def test_counts_may_be_matrices(tmp_path):
    matrix = np.array([[0, 3, 1], [2, 0, 0.5], [0, 0.5, 0]])
    asked = promise(1000.0, "user", "flip", 1, delta=0.1)
    with opened(tmp_path / "board", asked) as board:
        one = board.publish(WinCounts(jax.numpy.asarray(matrix))).value
        both = board.publish(WinCounts(jax.numpy.asarray([matrix, matrix]))).value
    np.testing.assert_allclose([one, *both], np.outer([1, 2, 3], matrix.sum(1)), atol=1.5)


def test_scores_are_fits_to_what_was_published(tmp_path):
    """Win counts, or their sums; a board of scores is no board of totals, and shows the same again."""
    matrix = np.array([[0, 300, 10], [200, 0, 5.0], [90, 45, 0]])
    asked = promise(20.0, "user", "replace", 1, delta=1e-3)
    path = tmp_path / "board"
    with opened(path, asked) as board:
        first = board.publish(WinCounts(jax.numpy.asarray(matrix))).value
        sums = np.array([310, 205, 135, 290, 345, 15, 500, 100, 50.0])
        more = board.publish(np.stack([sums, sums])).value
        found = board.scores()
        np.testing.assert_array_equal(found, [first, *more])
        assert np.all(np.diff(found, axis=0) != 0)
        for step, scores in enumerate(found):
            assert scores.argmax() == 2
            assert abs(scores.sum()) < 1e-9
            np.testing.assert_allclose(board.totals[step], (step + 1) * sums[:3], atol=9)
        told = board.diagnostics
        assert told.pair_deviations is not None
        with pytest.raises(ValueError, match="9 numbers as score_sums gives them"):
            board.publish(sums[:3])
    with opened(path, asked) as board:
        np.testing.assert_array_equal(board.scores(), found)
        assert np.any(board.scores(gamma=50.0) != found)
    flips = dataclasses.replace(asked, adjacency="flip")
    with pytest.raises(LeaderboardError, match=r"publishes: .*, not win totals"):
        opened(path, flips)
    with (
        opened(tmp_path / "flips", flips) as board,
        pytest.raises(ValueError, match="fit scores to a step of totals"),
    ):
        board.scores()


def test_errors_of_scores_are_those_of_the_simulation(tmp_path, key):
    asked = promise(0.7, "user", "replace", 5, delta=1e-6)
    with opened(tmp_path / "board", asked) as board:
        told = board.diagnostics
    stream = WinCounts(jax.numpy.zeros((5, 3, 3)))
    simulated = continual_score_sums(key, stream, asked).diagnostics
    for name in ("noise_scale", "deviations", "pair_scale", "pair_deviations"):
        np.testing.assert_allclose(getattr(told, name), getattr(simulated, name), rtol=1e-4)


def test_other_terms_are_refused(tmp_path):
    path = tmp_path / "board"
    with opened(path) as board:
        board.publish(STREAM[0])
    others: list[dict[str, Any]] = [
        {"asked": dataclasses.replace(ASKED, epsilon=2.0)},
        {"asked": dataclasses.replace(ASKED, contributions=3)},
        {"steps": 6},
        {"noise": "laplace"},
        {"schedule": "weeks"},
    ]
    for other in others:
        with pytest.raises(LeaderboardError, match="holds a leaderboard on other terms"):
            opened(path, **other)
    secret = dataclasses.replace(ASKED, adjacency="replace")
    with opened(tmp_path / "scores", secret) as board:
        board.publish(np.ones(9))
    with pytest.raises(LeaderboardError, match="public: "):
        opened(tmp_path / "scores", dataclasses.replace(secret, public=("items",)))
    with pytest.raises(LeaderboardError, match=r'items: \["a", "b", "c"\], not \["a", "b"\]'):
        Leaderboard(path, ASKED, items=("a", "b"), steps=5)
    opened(path).close()


def test_refusals(tmp_path):
    path = tmp_path / "board"
    with pytest.raises(ValueError, match="at most 10,000, got 20,000"):
        opened(path, steps=20_000)
    with pytest.raises(ValueError, match="needs items"):
        Leaderboard(path, ASKED, items=(), steps=5)
    with pytest.raises(ValueError, match="epsilon"):
        opened(path, dataclasses.replace(ASKED, epsilon=math.inf))
    with pytest.raises(ValueError, match="noise would be too large"):
        opened(path, promise(1e-9, "user", "flip", 10**6, delta=1e-12))
    with opened(path) as board:
        with pytest.raises(ValueError, match="multiples of 1/2"):
            board.publish(STREAM[0] + 0.25)
        with pytest.raises(ValueError, match="for 3 items, got 2"):
            board.publish(STREAM[0, :2])
        with pytest.raises(ValueError, match=r"got \(\)"):
            board.publish(np.array(3.0))
        with pytest.raises(ValueError, match="at most 8,796,093,022,208 wins"):
            board.publish(np.array([2.0**45, 0, 0]))
        with pytest.raises(LeaderboardError, match="0 published steps by now, not 2"):
            board.publish(STREAM[0], after=2)
        assert board.published == 0


LAPLACE: dict[str, Any] = {"asked": promise(1.0, "user", "flip", 2), "noise": "laplace"}
TERMS: dict[str, dict[str, Any]] = {"gaussian": {}, "laplace": LAPLACE}


def copied(path, to):
    """Copy a state and the file beside it."""
    for name in ("", ".published"):
        shutil.copy(f"{path}{name}", f"{to}{name}")


def published(path, steps, **terms):
    with opened(path, **terms) as board:
        return board.publish(steps).value


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_a_step_comes_out_once(tmp_path, terms):
    """From an older state, from a copy, one at a time or together; other data never get noise that was used."""
    path, older = tmp_path / "board", tmp_path / "older"
    first = published(path, STREAM[:1], **terms)
    copied(path, older)
    more = published(path, STREAM[1:4], **terms)
    again = [published(older, step, **terms) for step in STREAM[1:4]]
    np.testing.assert_array_equal(again, more)
    with opened(older, **terms) as board:
        np.testing.assert_array_equal(board.totals, [*first, *more])


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_other_data_have_other_noise_in_this_step_and_all_later_ones(tmp_path, terms, monkeypatch):
    """States of one key that nobody watches, of data that differ in one count: from there on they share no noise."""
    monkeypatch.setattr(leaderboard_file.secrets, "token_hex", lambda size: "ab" * size)
    path, other = tmp_path / "board", tmp_path / "other"
    same, changed = np.zeros((2, 3, 500))
    changed[1, 0] = 1

    def board(path):
        asked, noise = terms.get("asked", ASKED), terms.get("noise", "gaussian")
        items = [str(number) for number in range(500)]
        return Leaderboard(path, asked, items=items, steps=3, noise=noise)

    noise = []
    for one, data in ((path, same), (other, changed)):
        with board(one) as found:
            found.publish(data)
            encode = matrices(found._strategy, 3)[1]
            noise.append([step.noisy for step in found._file.steps()] - encode @ (2 * data))
    np.testing.assert_array_equal(noise[0][0], noise[1][0])
    for step in (1, 2):
        first, second = (one[step] for one in noise)
        assert abs(np.corrcoef(first, second)[0, 1]) < 6 / math.sqrt(500)


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
def test_an_older_state_goes_on_with_the_same_data_alone(tmp_path, terms):
    """The file beside the state remembers; where that was put back too, a ledger does."""
    path, older, book = tmp_path / "board", tmp_path / "older", tmp_path / "l"
    asked = terms.get("asked", ASKED)
    create(book, dataclasses.replace(asked, contributions=None), data="v", sha256="0" * 64)
    with Ledger(book) as ledger, opened(path, **terms) as board:
        board.remember_in(ledger)
        board.publish(STREAM[0])
        copied(path, older)
        more = board.publish(STREAM[1:4]).value
    for names in (("",), ("", ".published")):
        for name in names:
            shutil.copy(f"{older}{name}", f"{path}{name}")
        with Ledger(book) as ledger, opened(path, **terms) as board:
            board.remember_in(ledger)
            assert (board.published, board.remembered) == (1, 4)
            for wrong in (STREAM[1:4] + np.eye(3), STREAM[2:4], STREAM[1:4][:, ::-1]):
                with pytest.raises(LeaderboardError, match="was published before"):
                    board.publish(wrong)
            with pytest.raises(LeaderboardError, match="was published before"):
                board.publish(STREAM[1], ["other rows"])
            assert board.published == 1
            np.testing.assert_array_equal(board.publish(STREAM[1:3]).value, more[:2])
            np.testing.assert_array_equal(board.publish(STREAM[3]).value, more[2])
            assert board.remembered == 4


def test_an_altered_state_is_refused(tmp_path):
    path = tmp_path / "board"
    with opened(path) as board:
        board.publish(STREAM[:2])
    connection = sqlite3.connect(path)
    for change, words in (
        ("steps SET counts = '[0, 0, 0]' WHERE step = 1", "step 1 is not what was drawn"),
        (f"board SET key = '{'0' * 64}'", "step 1 is not what was drawn"),
        ("board SET key = 'none'", "its key is none"),
    ):
        connection.execute(f"UPDATE {change}")
        connection.commit()
        with opened(path) as board, pytest.raises(LeaderboardError, match=words):
            board.publish(STREAM[2])
    connection.close()


def test_noise_of_a_key_stays_as_it_is(tmp_path, monkeypatch):
    """Of these terms, counts and key. If this changes, states that exist draw anew: raise VERSION of their file."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "5a" * size)
    found = [
        published(tmp_path / f"board{number}", STREAM, **terms)
        for number, terms in enumerate(TERMS.values())
    ]
    known = (
        [
            [8.405128479003906, -10.214096069335938, 14.035171508789062],
            [-8.274190485477448, 19.213719248771667, 29.769815802574158],
        ],
        [[5.5, -1.5, 8.0], [-6.5, 6.5, 14.0]],
    )
    for one, other in zip(found, known):
        np.testing.assert_allclose(one[[0, -1]], other, rtol=0, atol=1e-9)

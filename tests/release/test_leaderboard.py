"""The exact leaderboard over time: what it publishes, that a step comes out once, crashes, older files, refusals."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import shutil
import sqlite3
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.privacy import Guarantee
from privrank_jax.release import Leaderboard, Ledger
from privrank_jax.release.leaderboard import stored_board
from privrank_jax.release.ledger import create
from privrank_jax.release.store import LeaderboardError, Store, StoreError
from tests.exact.strategies import matrices
from tests.promises import promise
from tests.quick import thorough

STREAM = np.array([[3.0, 1.0, 0.5], [0.0, 2.0, 7.5], [1.0, 1.0, 1.0], [0, 0, 0], [5.0, 0.0, 2.0]])
DELTA = {"gaussian": 1e-4, "laplace": 0.0}
NOISES = pytest.mark.parametrize("noise", DELTA)


def opened(path, noise="gaussian", epsilon=1.0, steps: int | None = 5, **others):
    delta = 0.1 if epsilon > 100 else DELTA[noise]
    asked = promise(epsilon, "user", "flip", 2, delta=delta if noise == "gaussian" else 0.0)
    asked = dataclasses.replace(asked, **others.pop("asked", {}))
    return Leaderboard(
        path, asked, **{"items": ("a", "b", "c"), "noise": noise, "steps": steps} | others
    )


def published(path, steps, **terms):
    with opened(path, **terms) as board:
        return board.publish(steps).value


def put(names, one, other):
    for name in names:  # a state, or what lies beside it
        shutil.copy(f"{one}{name}", f"{other}{name}")


BOTH = ("", ".published")


@NOISES
@pytest.mark.parametrize("steps", [40, None])
def test_it_goes_on_as_it_was(tmp_path, noise, steps):
    """A step at a time and several, over the first long interval of the tree; earlier totals stay, bit for bit."""
    path, stream = tmp_path / "board", np.random.default_rng(2).integers(0, 9, (40, 3)) / 2
    asked = promise(1.0, "user", "flip", 2, delta=DELTA[noise])
    with opened(path, noise, steps=steps) as board:
        first = board.publish(stream[0], ["x"])
        assert first.guarantee == Guarantee(asked, asked, numerics="exact")
        shown = [first.value, *board.publish(stream[1:31]).value]
    with opened(path, noise, steps=steps) as board:
        assert (board.notes, board.published) == (["x", *[""] * 30], 31)
        later = [board.publish(stream[31], after=31).value, *board.publish(stream[32:]).value]
        np.testing.assert_array_equal(board.sums, [*shown, *later])
        once = continual_totals.release(stream, asked, noise=noise, steps=steps).diagnostics
        np.testing.assert_array_equal(board.diagnostics.deviations, once.deviations)
        # 77 ± 8.5 for Laplace noise in halves; one noise for all steps would give 3.
        assert len(np.unique(board.sums - np.cumsum(stream, 0))) > 20
        if steps:
            with pytest.raises(LeaderboardError, match="promised 40"):
                board.publish(stream[0])


@NOISES
@pytest.mark.parametrize("steps", [70, None])
@pytest.mark.parametrize("adjacency", ["flip", "replace"])
def test_little_noise_shows_all_that_it_publishes(tmp_path, adjacency, noise, steps):
    """Totals of win counts under flips; else scores, of win counts or of their sums: few wins may be the best."""
    matrix, wins = np.array([[0, 30, 1], [20, 0, 0.5], [9, 4.5, 0]]), [31.0, 20.5, 13.5]
    asked, sums = {"adjacency": adjacency, "contributions": 1}, [*wins, 29, 34.5, 1.5, 50, 10, 5]
    with opened(tmp_path / "board", noise, 3000.0, steps, asked=asked) as board:
        one = board.publish(WinCounts(jnp.asarray(matrix))).value
        rest = [wins if adjacency == "flip" else sums] * 69
        found = np.stack([one, *board.publish(np.array(rest)).value])
        np.testing.assert_allclose(
            board.sums[:, :3], np.outer(np.arange(1, 71), wins), atol=1.5 if steps else 2.5
        )
        if adjacency == "flip":
            np.testing.assert_array_equal(found, board.sums)
        else:
            assert np.all(found.argsort(1) == [1, 0, 2])
            np.testing.assert_array_equal(board.scores(), found)
            assert np.any(board.scores(gamma=50.0) != found)
            np.testing.assert_allclose(found.sum(1), 0, atol=1e-9)
            assert board.diagnostics.pair_deviations.shape == (70,)


@NOISES
def test_other_data_have_other_noise_in_this_step_and_all_later_ones(tmp_path, noise, monkeypatch):
    """States of one key that nobody watches, of data that differ in one count: from there on they share no noise."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "ab" * size)
    same, changed = np.zeros((2, 3, 500))
    changed[1, 0] = 1
    found = []
    for name, data in (("board", same), ("other", changed)):
        items = [str(number) for number in range(500)]
        with opened(tmp_path / name, noise, steps=3, items=items) as board:
            board.publish(data)
            encode = matrices(board._rows.strategy, 3)[1]
            found.append([step["noisy"] for step in board._steps()] - encode @ (2 * data))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for first, second in zip(found[0][1:], found[1][1:]):
        assert abs(np.corrcoef(first, second)[0, 1]) < 6 / math.sqrt(500)


SUMS = [[3, 1, 0.5, 1, 2, 1.5, 2.5, 1, 1], [0, 2, 7.5, 4, 3.5, 2, 2, 2, 5.5]]
DRAWN = [
    ("flip", "gaussian", 5, [[1690400, -1719336, -446342], [-1629790, 86988, -1629852], [1578801, -208094, 1175095]]),
    ("flip", "laplace", 1000, [[91, 133, 100], [-44, 33, 247], [15, 230, -65]]),
    ("replace", "gaussian", 5, [
        [-2336348, 458788, 1641396, 3147479, -997685, 1158645, 554025, -817746, -504581],
        [-4012379, 3377853, -1748117, 3267914, 895395, 117199, 4021519, 3331119, 3997841],
    ]),
    ("replace", "laplace", None, [
        [33, 4, 43, -9, 106, -140, 11, -20, 5], [-45, -63, 27, -24, -65, -16, -107, 6, 32],
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("adjacency", "noise", "steps", "drawn"), DRAWN)
def test_noise_of_a_key_stays_as_it_is(tmp_path, monkeypatch, adjacency, noise, steps, drawn):
    """Of these terms, counts and key. If this changes, states that exist draw anew: raise VERSION of their file."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "ab" * size)
    counts = STREAM[:3] if adjacency == "flip" else SUMS
    asked = {"adjacency": adjacency}
    with opened(tmp_path / "board", noise, steps=steps, asked=asked) as board:
        board.publish(counts)
        assert [step["noisy"] for step in board._steps()] == drawn


def book(folder):
    budget = promise(2.0, "user", "flip", 2, delta=1e-3).for_any_user()
    create(folder / "ledger", budget, data="v", sha256="0" * 64)
    return folder / "ledger"


@pytest.mark.parametrize(
    ("names", "shared", "noise"),
    [(("",), False, "gaussian"), (("",), True, "laplace"), (BOTH, False, "laplace")],
)
def test_an_older_state_goes_on_with_the_same_data_alone(tmp_path, names, shared, noise):
    """The file beside the state remembers; where that was put back too, a ledger does, unless it is the state."""
    ledger, older = book(tmp_path), tmp_path / "older"
    path = ledger if shared else tmp_path / "board"

    @contextlib.contextmanager
    def board_of():
        with Ledger(ledger) as paid, opened(path, noise, ledger=paid) as board:
            yield board

    with board_of() as board:
        board.publish(STREAM[0])
    put(BOTH, path, older)
    with board_of() as board:
        more = board.publish(STREAM[1:4]).value
    put(names, older, path)
    with board_of() as board:
        assert (board.published, board.remembered) == (1, 4)
        changed = ([one] for one in (STREAM[1:4] + np.eye(3), STREAM[2:4], STREAM[1:4][:, ::-1]))
        for wrong in (*changed, (STREAM[1], ["other rows"])):
            with pytest.raises(LeaderboardError, match="published before"):
                board.publish(*wrong)
        assert board.published == 1
        np.testing.assert_array_equal(board.publish(STREAM[1:3]).value, more[:2])
        np.testing.assert_array_equal(board.publish(STREAM[3]).value, more[2])
        assert board.remembered == 4
    copied = [published(older, step, noise=noise) for step in STREAM[1:4]]
    np.testing.assert_array_equal(copied, more)


def test_two_copies_of_a_state_that_share_a_ledger_publish_a_step_once(tmp_path, monkeypatch):
    """Also where each looked into the ledger before the other one wrote there."""
    path, copy, ledger = tmp_path / "board", tmp_path / "copy", book(tmp_path)
    published(path, STREAM[0])
    put(BOTH, path, copy)
    remember = Store.remember
    with Ledger(ledger) as paid, opened(path, ledger=paid) as board:

        def between(*told):
            monkeypatch.setattr(Store, "remember", remember)
            board.publish(STREAM[1])
            remember(*told)

        with opened(copy, ledger=paid) as late:
            monkeypatch.setattr(Store, "remember", between)
            with pytest.raises(LeaderboardError, match="published before"):
                late.publish(STREAM[2])
        with pytest.raises(LeaderboardError, match="published before"):
            opened(copy, ledger=paid)


def test_the_file_beside_the_state_belongs_to_it(tmp_path):
    path, beside, other = tmp_path / "board", tmp_path / "board.published", tmp_path / "other"
    published(path, STREAM[0])
    published(other, STREAM[0])
    whole = beside.read_bytes()

    def refused():
        with pytest.raises(LeaderboardError, match="published, which"):
            opened(path)

    beside.unlink()
    refused()
    put([".published"], other, path)
    refused()
    beside.write_bytes(whole)
    (tmp_path / "link").symlink_to(path)
    published(tmp_path / "link", STREAM[1])
    with opened(path) as board:
        assert board.published == board.remembered == 2
    path.unlink()
    refused()


@pytest.mark.parametrize(
    ("change", "word"),
    [("steps SET counts = '[0, 0, 0]' WHERE step = 1", "was altered"),
     ("steps SET counts = '[' WHERE step = 1", "is damaged"),
     (f"boards SET key = '{'0' * 64}'", "was altered"), ("boards SET key = 'none'", "hexadecimal")],
)  # fmt: skip
def test_an_altered_state_is_refused(tmp_path, change, word):
    published(tmp_path / "board", STREAM[:2])
    with contextlib.closing(sqlite3.connect(tmp_path / "board")) as connection, connection:
        connection.execute(f"UPDATE {change}")
    with opened(tmp_path / "board") as board, pytest.raises(ValueError, match=word):
        board.publish(STREAM[2])


def test_there_is_no_state_before_the_first_step(tmp_path):
    """So what is refused fixes no terms; and a creation that was cut short, which leaves an empty file, is none."""
    path = tmp_path / "board"
    with opened(path) as board:
        with pytest.raises(ValueError, match="multiples"):
            board.publish(STREAM[0] + 0.25)
        assert board.published == board.remembered == 0
    assert list(tmp_path.iterdir()) == []
    path.touch()
    assert stored_board(path) is None
    with opened(path, steps=9) as board, opened(path, steps=9) as late:
        board.publish(STREAM[0])
        with pytest.raises(LeaderboardError, match="another process"):
            late.publish(STREAM[1])
        found = stored_board(path) or {}
        assert (found["identifier"], found["terms"]["steps"]) == (board.identifier, "9")
    for name in BOTH:
        assert (tmp_path / f"board{name}").stat().st_mode & 0o777 == 0o600


def test_of_two_processes_the_later_one_goes_on(tmp_path):
    published(tmp_path / "board", STREAM[0])
    with opened(tmp_path / "board") as board, opened(tmp_path / "board") as other:
        other.publish(STREAM[1])
        board.publish(STREAM[2])
        np.testing.assert_array_equal([step["counts"] for step in board._steps()], 2 * STREAM[:3])


class Killed(BaseException):
    pass


def killed_after(patch, statements):
    """End the process, as it were, after so many statements in any of the files."""
    left, run = itertools.count(statements, -1), Store.run

    def counted(store, query, *cells):
        if "PRAGMA" not in query and next(left) <= 0:
            raise Killed
        return run(store, query, *cells)

    patch.setattr(Store, "run", counted)


@pytest.mark.parametrize("shared", [thorough(False), True])
def test_a_crash_between_any_two_statements_loses_no_spend_and_draws_nothing_twice(
    tmp_path, shared, monkeypatch
):
    """Killed in the first step or in a later one: the run after it publishes what a run without a crash does."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "5a" * size)
    asked = promise(1.0, "user", "flip", 2, delta=1e-4).for_any_user()

    def run(folder, number):
        ledger = folder / "ledger"
        with Ledger(ledger) as paid:

            def spend():
                return paid.spends() or paid.spend(asked)

            with opened(ledger if shared else folder / "board", ledger=paid) as board:
                assert board.remembered == board.published
                if board.published < number:
                    board.publish(STREAM[board.published : number], pay=spend)
                assert board.remembered == board.published == number
                spend()
                return board.sums.tolist()

    def whole(folder, last):
        folder.mkdir()
        book(folder)
        return [run(folder, number) for number in range(1, last + 1)][-1]

    expected = whole(tmp_path / "whole", 2)
    for first in (0, 1):
        for statements in itertools.count(1):
            folder = tmp_path / f"{first} {statements}"
            whole(folder, first) if first else (folder.mkdir(), book(folder))
            with monkeypatch.context() as patch:
                killed_after(patch, statements)
                with contextlib.suppress(Killed):
                    run(folder, first + 1)
                    break
            with Ledger(folder / "ledger") as paid:
                steps = len(paid.store.witnesses("5a" * 8))
                assert not shared or len(paid.spends()) == (steps > 0)
            assert run(folder, 2) == expected
            with Ledger(folder / "ledger") as paid:
                assert len(paid.spends()) == 1
        assert statements > 20


@pytest.mark.parametrize(
    "terms",
    [{"epsilon": 2.0}, {"asked": {"contributions": 3}}, {"asked": {"adjacency": "replace"}},
     {"asked": {"users": "column 'u'"}}, {"steps": 6}, {"steps": None}, {"noise": "laplace"},
     {"schedule": "weeks"}, {"items": ("a", "b")}],
)  # fmt: skip
def test_other_terms_are_refused(tmp_path, terms):
    published(tmp_path / "board", STREAM[0])
    with pytest.raises(LeaderboardError, match=f"{next(iter(terms.get('asked', terms)))}: "):
        opened(tmp_path / "board", **terms)
    opened(tmp_path / "board").close()


def publishing(counts, after=None, **terms):
    return lambda path: opened(path, **terms).publish(np.asarray(counts), after=after)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda path: opened(path, steps=20_000), ValueError, "20,000"),
        (lambda path: opened(path, epsilon=math.inf), ValueError, "epsilon"),
        (lambda path: opened(path, "laplace", 9e-10, None), ValueError, "too large"),
        (lambda path: opened(path).scores(), ValueError, "fit scores"),
        (publishing(STREAM[0] + 0.25), ValueError, "multiples"),
        (publishing(STREAM[0, :2]), ValueError, r"\(2,\)"),
        (publishing(STREAM[0], asked={"adjacency": "replace"}), ValueError, "9 numbers"),
        (publishing(3.0), ValueError, r"\(\)"),
        (publishing(np.ones((1, 1, 3))), ValueError, r"\(1, 1, 3\)"),
        (publishing([2.0**45, 0, 0]), ValueError, "at most"),
        (publishing(STREAM[0], after=2), LeaderboardError, "not 2"),
        (publishing(np.ones((6, 3))), LeaderboardError, "promised 5"),
        (lambda path: publishing(STREAM[0])(path / "no" / "board"), StoreError, "be made"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, call: Any, error, word):
    with pytest.raises(error, match=word):
        call(tmp_path / "board")
    assert stored_board(tmp_path / "board") is None

"""Influential comparisons: few, verified by a fit, beside all sets of comparisons of small data."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.data import load
from privrank_jax.pairwise import mle
from privrank_jax.pairwise.influence import influential_comparisons

RIDGE = 0.3  # so that every subset of comparisons has finite scores


@functools.cache
def all_fits():
    """Scores of any batch of 3 x 3 win counts."""
    return jax.jit(jax.vmap(lambda matrix: mle(WinCounts(matrix), gamma=RIDGE).value))


def least(matrix, change, above, below):
    """The smallest number of changed wins after which ``above`` is behind ``below``: all sets are tried."""
    cells = [(i, j) for i in range(3) for j in range(3) if i != j]
    choices = np.array(list(itertools.product(*(range(int(matrix[c]) + 1) for c in cells))))
    changed = np.zeros((len(choices), 3, 3))
    for column, cell in enumerate(cells):
        changed[:, *cell] = choices[:, column]
    after = matrix - changed
    if change == "flip":
        after = after + changed.swapaxes(1, 2)
    padded = np.zeros((-(-len(after) // 4096) * 4096, 3, 3))  # one shape, one program
    padded[: len(after)] = after
    scores = np.concatenate([all_fits()(part) for part in padded.reshape(-1, 4096, 3, 3)])
    behind = scores[: len(after), above] - scores[: len(after), below] < -1e-9
    return int(choices.sum(1)[behind].min()) if behind.any() else None


@pytest.mark.parametrize("change", ["drop", "flip"])
def test_the_number_is_the_least_of_all_sets_or_one_more(change):
    rng = np.random.default_rng(7)
    exact = 0
    for _ in range(12):
        matrix = np.where(np.eye(3), 0, rng.integers(0, 4, (3, 3))).astype(float)
        wins = WinCounts.from_matrix(matrix)
        best = np.argsort(-np.asarray(mle(wins, gamma=RIDGE).value), kind="stable")
        pair = int(best[0]), int(best[2])
        found = influential_comparisons(wins, pair=pair, change=change, gamma=RIDGE)
        smallest = least(matrix, change, *pair)
        assert (found.count is None) == (smallest is None)
        if found.count is not None:
            assert smallest <= found.count <= smallest + 1
            exact += found.count == smallest
    assert exact >= 9


@pytest.mark.parametrize("change", ["drop", "flip"])
def test_what_is_found_is_verified_by_a_fit_and_one_fewer_does_not_do(change, data_folder):
    wins = load("cemspc", data_folder).arrays().win_counts()
    found = influential_comparisons(wins, change=change)
    rest = np.asarray(wins.matrix) - found.changed
    rest = rest + found.changed.T if change == "flip" else rest
    after = np.asarray(mle(WinCounts.from_matrix(rest)).value)
    before = np.asarray(mle(wins).value)
    assert before[found.above] == before.max()
    assert after[found.above] < after[found.below]
    np.testing.assert_allclose(after, found.scores_after, atol=1e-8)
    np.testing.assert_allclose(before, found.scores, atol=1e-8)
    assert found.changed.sum() == found.count
    assert np.all(found.changed <= np.asarray(wins.matrix))
    assert found.share == pytest.approx(found.count / np.asarray(wins.matrix).sum())
    cell = np.unravel_index(np.argmax(found.changed), found.changed.shape)
    fewer = found.changed.copy()
    fewer[cell] -= 1
    rest = np.asarray(wins.matrix) - fewer
    rest = rest + fewer.T if change == "flip" else rest
    almost = np.asarray(mle(WinCounts.from_matrix(rest)).value)
    assert almost[found.above] > almost[found.below] - 1e-9


def test_influence_is_what_a_fit_without_the_comparison_changes():
    """One-step predictions of dropped and of flipped wins, all within 3 % of the largest change."""
    from privrank_jax.pairwise.influence import _Search

    rng = np.random.default_rng(1)
    matrix = np.where(np.eye(4), 0, rng.integers(15, 40, (4, 4))).astype(float)
    wins = WinCounts.from_matrix(matrix)
    for change in ("drop", "flip"):
        search = _Search(matrix, wins, mle_link(), 0.0, change)
        scores = search.start()
        effect = search.effects(*search.influences(scores, matrix), 0, 1)
        exact = np.zeros((4, 4))
        for cell in itertools.permutations(range(4), 2):
            one = np.zeros((4, 4))
            one[cell] = 1
            after, _ = search.fit(search.after(one))
            exact[cell] = (after[0] - after[1]) - (scores[0] - scores[1])
        np.testing.assert_allclose(effect, exact, atol=0.03 * np.abs(exact).max())


def mle_link():
    from privrank_jax.links import logistic

    return logistic


def test_the_top_needs_no_more_than_any_of_its_pairs_and_padding_changes_nothing():
    rng = np.random.default_rng(3)
    matrix = np.where(np.eye(5), 0, rng.integers(2, 9, (5, 5))).astype(float)
    found = influential_comparisons(WinCounts.from_matrix(matrix), top=2, candidates=6)
    order = np.argsort(-found.scores)
    for above, below in itertools.product(order[:2], order[2:]):
        one = influential_comparisons(WinCounts.from_matrix(matrix), pair=(int(below), int(above)))
        assert (one.above, one.below) == (above, below)
        assert one.count is None or found.count <= one.count
    padded = np.pad(matrix, (0, 2))
    wins = WinCounts.from_matrix(padded, mask=np.arange(7) < 5)
    again = influential_comparisons(wins, top=2, candidates=6)
    assert (again.count, again.above, again.below) == (found.count, found.above, found.below)
    np.testing.assert_array_equal(again.changed[:5, :5], found.changed)


def test_ties_stay_and_what_cannot_be_turned_has_no_count():
    wins = WinCounts.from_matrix([[0, 0.5, 30], [0.5, 0, 1], [1, 2, 0]])
    found = influential_comparisons(wins, pair=(0, 2), gamma=0.1, change="drop")
    assert found.count is not None
    assert np.all(found.changed[0, 1] == 0)  # half a win: a tie
    alone = WinCounts.from_matrix([[0, 2.5], [1.5, 0]])
    kept = influential_comparisons(WinCounts.from_matrix([[0, 0.5], [0.5, 0]]), gamma=1.0)
    assert kept.count is None
    assert math.isnan(kept.share)
    assert kept.advantage(0.1) == 1.0
    assert influential_comparisons(alone, gamma=0.1).count == 2


def test_advantage_is_that_of_the_best_test_under_group_privacy():
    found = influential_comparisons(WinCounts.from_matrix([[0, 6], [4, 0]]))
    odds = math.exp(found.count * 0.2)
    assert found.advantage(0.2) == pytest.approx((odds - 1) / (odds + 1))
    with pytest.raises(ValueError, match="epsilon"):
        found.advantage(0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"top": 3}, "top must be a whole number from 1 to 2"),
        ({"pair": (0, 0)}, "pair must be two different items"),
        ({"pair": (0, 5)}, "pair must be two different items"),
        ({"change": "swap"}, "change must be"),
        ({"candidates": 0}, "candidates"),
        ({"gamma": -1.0}, "gamma"),
    ],
)
def test_refusals(arguments, said):
    wins = WinCounts.from_matrix(jnp.array([[0.0, 3, 2], [1, 0, 2], [1, 1, 0]]))
    with pytest.raises(ValueError, match=said):
        influential_comparisons(wins, **arguments)


def test_data_without_finite_scores_are_refused():
    with pytest.raises(ValueError, match="do not determine finite scores"):
        influential_comparisons(WinCounts.from_matrix([[0, 3], [0, 0]]))
    with pytest.raises(TypeError, match="WinCounts"):
        influential_comparisons([[0, 3], [1, 0]])  # pyright: ignore[reportArgumentType]

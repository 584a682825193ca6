"""Naive twins of data: how many contents there are, what they say, and which are neighbors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights, PositionHistograms
from privrank_jax.privacy_audit import contents, neighbors
from tests.reference import footrule, scores


def test_a_tie_marks_the_halves_of_its_own_pair():
    found = contents.with_ties(2).instances("flip")
    plain = contents.comparisons(2).instances("flip")
    assert len(found.pairs) == len(plain.pairs) == 3
    assert found.data[:, 1].sum((-2, -1)).tolist() == [0, 0, 1, 0]
    numbers = contents.with_ties(2).numbers(found.data)
    assert numbers.tolist() == [[0, 0, 0], [0, 1, 0], [0.5, 0.5, 1], [1, 0, 0]]


def test_users_of_a_questionnaire_answer_each_question_once_or_not():
    """Two questions, one of them twice; without ties (m + 1) (m + 2)/2 ways to answer m equal questions."""
    found = contents.answers(3, 3, [(0, 1), (1, 2), (0, 1)])
    met = found[:, 0] + found[:, 0].swapaxes(-1, -2)
    assert met[:, 0, 1].max() == 2
    assert met[:, 1, 2].max() == 1
    assert len(found) == 4 * (1 + 3 + 6)


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_rankings_are_read_as_data_are(missing):
    """By PairWeights and PositionHistograms, and by the naive twins of footrule; all contents are covered."""
    assert len(contents.weak_orders(3)) == 13
    assert len(contents.weak_orders(4)) == 75
    rankings = [r for r in itertools.product(range(-1, 3), repeat=3) if max(r) >= 0]
    weights, positions = contents.weights_of_rankings(), contents.positions_of_rankings()
    assert len(weights.contents) == 19
    known = [{one.tobytes() for one in units.contents} for units in (weights, positions)]
    for ranks in rankings:
        shares, counts = (
            f(ranks, missing) for f in (contents.pair_shares, contents.position_counts)
        )
        read = PairWeights.from_ranks([ranks], missing=missing).matrix
        np.testing.assert_allclose(shares - np.eye(3), read)
        read = PositionHistograms.from_ranks([ranks], missing=missing).counts
        np.testing.assert_array_equal(counts, read)
        np.testing.assert_array_equal(counts, footrule.histograms([ranks], missing))
        prefixes = footrule.prefixes(ranks, missing).ravel()
        np.testing.assert_allclose(positions.numbers(counts[None])[0], prefixes)
        assert shares.tobytes() in known[0]
        assert counts.tobytes() in known[1]


@pytest.mark.parametrize(("most", "limit"), [(1, None), (2, None), (1, 1), (2, 2)])
def test_ballots_move_by_as_much_as_all_neighbors_tried(most, limit):
    units = contents.ballots(most, limit)
    assert units.contents[:, :-1].tolist() == [list(one) for one in scores.ballots(3, most, limit)]
    for adjacency, noise in itertools.product(("replace", "add-remove"), ("laplace", "gaussian")):
        center = units.center_of(adjacency, noise)
        found = units.norm(noise, units.moved(adjacency, center)).max()
        assert found == pytest.approx(
            scores.largest_change(3, most, limit, adjacency, noise, center)
        )


def test_hard_neighbors_are_the_hardest():
    """They are neighbors, and none are farther apart in the norm of the noise."""
    for units, noise in (
        (contents.scores_of_rankings(), "k-norm"),
        (contents.with_ties(3, 2), "gaussian"),
        (contents.choices(2), "laplace"),
        (contents.covariates(((0, 1, (0.5,)), (1, 2, (1.0,))), (0, 0), ties=True), "laplace"),
    ):
        numbers = units.released("flip", noise)
        first, second = (numbers(one[None])[0] for one in units.hardest("flip", noise))
        every = units.instances("flip", 0 if units.count is None else 20 * units.contents[0])
        apart = numbers(every.data[every.pairs[:, 0]]) - numbers(every.data[every.pairs[:, 1]])
        assert units.norm(noise, first - second) == pytest.approx(units.norm(noise, apart).max())


def test_moved_ranks_agree_without_one_item():
    found = neighbors.moved_ranks(3)
    assert len(found.pairs) == 12
    orders = [np.argsort(ranks).tolist() for ranks in found.data]
    for i, j in itertools.combinations(range(6), 2):
        without = [
            [x for x in orders[i] if x != item] == [x for x in orders[j] if x != item]
            for item in range(3)
        ]
        assert ([i, j] in found.pairs.tolist()) == any(without)
    assert len(neighbors.moved_ranks(4).pairs) == 24 * 9 // 2

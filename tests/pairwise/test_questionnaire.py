"""What answers to a questionnaire can change: sensitivities, cuts, and the body of all changes."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax.pairwise.questionnaire import (
    _EXACT_ORDER_ITEMS,
    max_cut,
    noise_on_totals,
    questionnaire_counts,
    questionnaire_sensitivity,
    read_questionnaire,
)
from privrank_jax.privacy import Privacy
from tests import reference

ADJACENCIES = ("flip", "replace", "add-remove")
FOUR = list(itertools.combinations(range(4), 2))
# Every graph on four items up to 5 edges, the complete one, and a few with a pair asked twice.
QUESTIONNAIRES = [
    *(list(edges) for size in (1, 2, 3, 4, 5) for edges in itertools.combinations(FOUR, size)),
    FOUR,
    [(0, 1), (1, 0)],
    [(0, 1), (0, 1), (1, 2)],
    [(0, 1), (1, 2), (2, 0), (0, 2)],
]


def sensitivity(pairs, items, privacy, norm="l1"):
    return questionnaire_sensitivity(questionnaire_counts(pairs, items), privacy, norm)


def cut(pairs, items):
    return max_cut(questionnaire_counts(pairs, items))


def complete(items, repeats=1):
    return list(itertools.combinations(range(items), 2)) * repeats


def cycle(items):
    return [(i, (i + 1) % items) for i in range(items)]


def user(adjacency):
    return Privacy(1.0, unit="user", adjacency=adjacency)


def random_graph(rng, items, share):
    pairs = [pair for pair in complete(items) if rng.random() < share]
    extra = [pairs[i] for i in rng.integers(0, len(pairs), 2)] if pairs else []
    return pairs + extra


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_sensitivities_against_all_pairs_of_answer_patterns(adjacency):
    """Wins, ties and missing answers. ℓ₁ is attained everywhere, ℓ₂ under flips and on triangles, and else a bound."""
    for pairs in QUESTIONNAIRES:
        brute = reference.questionnaire_sensitivity(pairs, 4, adjacency, 1)
        assert sensitivity(pairs, 4, user(adjacency)) == pytest.approx(brute), pairs
        euclidean = reference.questionnaire_sensitivity(pairs, 4, adjacency, 2)
        ours = sensitivity(pairs, 4, user(adjacency), norm="l2")
        assert ours >= euclidean * (1 - 1e-12), pairs
        if adjacency == "flip" or pairs == [(0, 1), (0, 2), (1, 2)]:
            assert ours == pytest.approx(euclidean), pairs


def test_max_cut_against_enumeration():
    rng = np.random.default_rng(3)
    for items in (2, 4, 7, 10):
        for share in (0.2, 0.5, 0.9):
            pairs = random_graph(rng, items, share) or [(0, 1)]
            assert cut(pairs, items) == reference.max_cut(pairs, items), pairs


def test_max_cut_of_complete_and_bipartite_graphs_and_of_components():
    for items in (2, 3, 6, 25, 100):
        assert cut(complete(items), items) == items**2 // 4
        assert cut(complete(items, 3), items) == 3 * (items**2 // 4)
    bipartite = [(i, 10 + j) for i in range(10) for j in range(10)]
    assert cut(bipartite, 20) == 100
    assert cut(cycle(23), 23) == 22
    triangles = [(3 * c + i, 3 * c + j) for c in range(20) for i, j in complete(3)]
    assert cut(triangles, 60) == 40
    assert cut([(0, 1)], 50) == 1


def test_max_cut_bound_of_a_large_graph_is_above_every_cut_found():
    rng = np.random.default_rng(8)
    for share in (0.15, 0.5):
        pairs = random_graph(rng, 30, share)
        bound = cut(pairs, 30)
        edges = np.array(pairs)
        best = 0
        for _ in range(20):  # local search from random sides
            side = rng.integers(0, 2, 30)
            improved = True
            while improved:
                gains = [(1 if same else -1) for same in (side[edges[:, 0]] == side[edges[:, 1]])]
                change = np.bincount(edges.ravel(), np.repeat(gains, 2), 30)
                improved = change.max() > 0
                if improved:
                    side[np.argmax(change)] ^= 1
            best = max(best, int(np.sum(side[edges[:, 0]] != side[edges[:, 1]])))
        assert best <= bound <= len(pairs)
        assert bound <= 1.25 * best, "a bound that helps"


def test_spectral_bounds_of_three_sides():
    """Items in three groups of g, all pairs between groups asked: the Laplacian's largest eigenvalue is 3g. So at most
    (3g)²/4 pairs are cut, and the totals move by at most √(3g · 3g²), which is less than the degrees allow. Of the 12
    items of three groups of 4, 32 pairs can be cut, and 8 items move by 8 each."""
    for group, squares in ((4, 8 * 8**2), (8, 9 * 8**3)):
        sides = [range(side * group, (side + 1) * group) for side in range(3)]
        pairs = [
            pair
            for one, two in itertools.combinations(sides, 2)
            for pair in itertools.product(one, two)
        ]
        found = sensitivity(pairs, 3 * group, user("flip"), norm="l2")
        assert found == pytest.approx(math.sqrt(squares), rel=1e-8)
    assert cut(pairs, 24) == 144


def test_euclidean_bound_of_graphs_too_large_to_enumerate():
    """Above the best of many orders; exact where a component repeats a small graph."""
    rng = np.random.default_rng(2)
    items = _EXACT_ORDER_ITEMS + 6
    pairs = random_graph(rng, items, 0.5)
    bound = sensitivity(pairs, items, user("flip"), norm="l2")
    best = 0.0
    for _ in range(500):
        rank = rng.permutation(items)
        moves = np.zeros(items)
        for i, j in pairs:
            moves[i] += np.sign(rank[j] - rank[i])
            moves[j] -= np.sign(rank[j] - rank[i])
        best = max(best, float(np.linalg.norm(moves)))
    assert bound >= best
    for items in (3, 6, 40):  # where each pair is asked once
        steps = np.linalg.norm(np.arange(1 - items, items, 2))
        assert sensitivity(complete(items), items, user("flip"), norm="l2") == pytest.approx(steps)
    paths = [(4 * c + i, 4 * c + i + 1) for c in range(5) for i in range(3)]
    one = sensitivity([(0, 1), (1, 2), (2, 3)], 4, user("flip"), norm="l2")
    assert sensitivity(paths, 20, user("flip"), norm="l2") == pytest.approx(math.sqrt(5) * one)


def test_a_user_may_answer_less_than_asked_and_under_flips_the_questionnaire_is_public_anyway():
    counts = questionnaire_counts([(0, 1), (1, 2)], 3)
    asked = Privacy(1.0, unit="user", adjacency="flip", contributions=1)
    np.testing.assert_array_equal(read_questionnaire(counts, asked, 3, "k-norm", None), counts)


def test_variance_per_dimension():
    """One pair: Laplace noise of scale 1 along e_0 - e_1, of variance 2·‖(1, -1)‖²; also from inside a program."""
    noise = noise_on_totals("k-norm", 1.0, 3, questionnaire_counts([(0, 1)], 3), "flip")
    assert noise.variance_per_dimension() == pytest.approx(4.0)
    assert jax.jit(lambda: noise.variance_per_dimension() * 1.0)() == pytest.approx(4.0)

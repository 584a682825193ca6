"""Peeling and permute-and-flip: exact laws, exact privacy, constants that are attained."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise import peeling_top_k, permute_and_flip_top_k
from privrank_jax.pairwise.top_k import select_once
from privrank_jax.privacy.selection import peeling_scale
from tests import reference
from tests.promises import promise, split

MECHANISMS = {
    "peeling": (peeling_top_k, reference.peeling_probability),
    "permute-and-flip": (permute_and_flip_top_k, reference.permute_and_flip_probability),
}
both = pytest.mark.parametrize("name", list(MECHANISMS))


def lists(size, k):
    return list(itertools.permutations(range(size), k))


def law(twin, scores, k, scale):
    return np.array([twin(scores, order, scale) for order in lists(len(scores), k)])


def changes(size, adjacency, comparisons=1):
    """All changes of the totals when every comparison of the unit changes in the same way."""
    moves = [np.zeros(size)]
    for i, j in itertools.permutations(range(size), 2):
        move = np.zeros(size)
        move[i] = comparisons
        if adjacency != "add-remove":
            move[j] = -comparisons
        moves.append(move)
        moves.append(move / 2)  # from or to a tie
    return moves + [-move for move in moves]


def worst_loss(twin, scores, moves, k, scale):
    base = law(twin, scores, k, scale)
    worst = 0.0
    for move in moves:
        ratio = np.log(base) - np.log(law(twin, scores + move, k, scale))
        worst = max(worst, np.max(np.abs(ratio)))
    return worst


@both
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(
    ("unit", "adjacency", "comparisons"),
    [
        ("comparison", "flip", 1),
        ("comparison", "add-remove", 1),
        ("user", "replace", 3),
        ("user", "add-remove", 3),
    ],
)
def test_loss_on_totals_is_at_most_epsilon_and_reaches_it(name, k, unit, adjacency, comparisons):
    mechanism, twin = MECHANISMS[name]
    epsilon = 0.7
    wins = WinCounts.from_matrix(np.zeros((4, 4)))
    estimate = mechanism(jax.random.key(0), wins, promise(epsilon, unit, adjacency, comparisons), k)
    scale = float(estimate.diagnostics.noise_scale)
    moves = changes(4, adjacency, comparisons)
    generator = np.random.default_rng(3)
    worst = 0.0
    for scores in [*(generator.integers(0, 9, (2, 4)) * 1.0), np.array([30.0, 0, 0, 0]) * scale]:
        worst = max(worst, worst_loss(twin, scores, moves, k, scale))
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.99 * epsilon


@both
def test_public_bound_on_how_often_a_user_meets_an_item_saves_noise(name):
    mechanism, twin = MECHANISMS[name]
    epsilon, k = 0.9, 2
    wins = WinCounts.from_matrix(np.zeros((4, 4)))

    def scale_at(sensitivity):
        asked = promise(epsilon, "user", contributions=3)
        estimate = mechanism(jax.random.key(0), wins, asked, k, sensitivity=sensitivity)
        return float(estimate.diagnostics.noise_scale)

    assert scale_at(None) == pytest.approx(3 * (k + 1) / epsilon)
    scale = scale_at(2.0)  # ks + min(ks, L) = 4 + 3
    assert scale == pytest.approx(7 / epsilon)
    steps = [
        np.array(move, float)
        for move in itertools.product((-2, -1, 0, 1, 2), repeat=4)
        if sum(move) == 0 and np.abs(move).sum() <= 6
    ]
    worst = worst_loss(twin, np.array([30.0, 0, 0, 0]) * scale, steps, k, scale)
    assert 0.99 * epsilon <= worst <= epsilon * (1 + 1e-9)


def test_composition_takes_over_from_pure_noise_and_keeps_its_delta():
    epsilon, delta, k, sensitivity = 1.0, 0.05, 3, 1.0
    asked = promise(epsilon, delta=delta)
    scale = float(peeling_scale(asked, k, sensitivity=sensitivity, approximate=True)[0])
    assert scale < 0.8 * 2 * k * sensitivity / epsilon
    twin = reference.peeling_probability
    worst = 0.0
    for signs in itertools.product((-1.0, 1.0), repeat=5):
        for scores in (np.zeros(5), np.array([10.0, 0, 0, 0, 0]), np.array([2.0, 1, 0, 0, 0])):
            first = law(twin, scores, k, scale)
            second = law(twin, scores + np.array(signs), k, scale)
            worst = max(worst, np.maximum(first - math.exp(epsilon) * second, 0).sum())
    assert 0 < worst <= delta


@both
def test_without_noise_the_best_come_first_and_ties_are_broken_at_random(name, key):
    mechanism, _ = MECHANISMS[name]
    scores = jnp.array([1.0, 5.0, 3.0, 3.0])
    keys = jax.random.split(key, 64)
    chosen = jax.vmap(
        lambda one: mechanism(one, scores, promise(jnp.inf), 2, sensitivity=1.0).value
    )(keys)
    assert set(np.asarray(chosen[:, 0])) == {1}
    assert set(np.asarray(chosen[:, 1])) == {2, 3}  # one of them never: 2 * 2**-64


@both
def test_masked_items_are_never_selected_and_missing_ones_are_minus_one(name, key):
    mechanism, _ = MECHANISMS[name]
    wins = WinCounts.from_matrix(
        np.ones((4, 4)) - np.eye(4), mask=jnp.array([False, True, False, True])
    )
    keys = jax.random.split(key, 50)
    chosen = np.asarray(jax.vmap(lambda one: mechanism(one, wins, promise(0.1), 3).value)(keys))
    assert {tuple(row) for row in chosen} == {(1, 3, -1), (3, 1, -1)}
    assert chosen.dtype == np.int32


@both
def test_win_edges_scores_and_float32_give_the_same_list(name, key):
    mechanism, _ = MECHANISMS[name]
    winners, losers = np.array([0, 0, 1, 2, 0]), np.array([1, 2, 2, 1, 1])
    dense = WinCounts.from_comparisons(winners, losers, num_items=3)
    edges = WinEdges.from_comparisons(winners, losers, num_items=3)
    expected = mechanism(key, dense, promise(2.0), 3).value.tolist()
    assert mechanism(key, edges, promise(2.0), 3).value.tolist() == expected
    assert sorted(expected) == [0, 1, 2]
    single = mechanism(key, dense.totals.astype(jnp.float32), promise(1e6), 2, sensitivity=1.0)
    assert single.value.tolist()[0] == 0


@both
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 5}, "k must be"),
        ({"k": 1.5}, "k must be"),
        ({"unit": "user", "contributions": None}, "needs contributions=L"),
        ({"approximate": True}, "needs delta > 0.*or choose approximate=False"),
        ({"wins": np.zeros(4)}, "pass sensitivity=s"),
        ({"wins": np.zeros((4, 4)), "sensitivity": 1.0}, "use jax.vmap"),
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"mask": np.ones(4, bool)}, "leave it out"),
    ],
)
def test_refusals_explain_themselves(name, change, message):
    asked, options = split({"wins": WinCounts.from_matrix(np.zeros((4, 4))), "k": 2, **change})
    with pytest.raises(ValueError, match=message):
        MECHANISMS[name][0](jax.random.key(0), privacy=asked, **options)


@pytest.mark.parametrize("in_order", [True, False])
def test_fewer_of_the_places_hold_the_best_of_them(key, in_order):
    scores, mask = jnp.array([3.0, 9.0, 1.0, 5.0, 7.0, 2.0]), jnp.arange(6) != 1

    @functools.partial(jax.jit, static_argnums=0)
    def chosen(k, fewer):
        return select_once(key, scores, mask, 2.0, k, "laplace", in_order, fewer)

    for fewer in (1, 3, 5):
        alone = chosen(fewer, None)
        np.testing.assert_array_equal(chosen(6, fewer), [*alone, *[-1] * (6 - fewer)])

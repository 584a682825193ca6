from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from privrank_jax.simulate import worlds
from tests.quick import thorough_but
from tests.reference import borda as reference_borda

hard_ranking = jax.jit(worlds.hard_ranking, static_argnums=1)
hidden_signs = jax.jit(worlds.hidden_signs, static_argnums=1)
hidden_cost_bounds = jax.jit(worlds.hidden_cost_bounds, static_argnames="published")


def _distance(first, second):
    """Kendall's distance, batched over the leading axes."""
    i, j = np.triu_indices(first.shape[-1], 1)
    before = (first[..., i] < first[..., j]) != (second[..., i] < second[..., j])
    return before.sum(-1)


def _signs(half):
    return np.array(list(itertools.product((-1, 1), repeat=half)))


@pytest.mark.parametrize(
    ("half", "middle"), thorough_but([(1, 0), (1, 3), (2, 2), (3, 4)], (1, 3), (2, 2))
)
def test_signs_are_hidden_and_found(half, middle):
    signs, order = _signs(half), np.arange(2 * half + middle)
    ranks = np.asarray(hard_ranking(signs, middle))
    np.testing.assert_array_equal(np.sort(ranks), np.tile(order, (len(signs), 1)))
    np.testing.assert_array_equal(hidden_signs(ranks, half), signs)
    np.testing.assert_array_equal(ranks[0], order)  # all signs -1
    assert np.all(ranks[:, half : half + middle] == order[half : half + middle])


@pytest.mark.parametrize(
    ("half", "middle"), thorough_but([(1, 2), (1, 5), (2, 2), (2, 3), (3, 1)], (1, 2), (2, 3))
)
def test_observation_15_for_every_ranking(half, middle):
    """All σ, all x: the form with t + 1 holds; one wrong sign costs t + d at least, as the others stand between."""
    ranks = np.argsort(reference_borda.orders(2 * half + middle), axis=1)
    found = np.asarray(hidden_signs(ranks, half))
    least = np.inf
    for signs in _signs(half):
        cost = _distance(ranks, np.asarray(hard_ranking(signs, middle)))
        published, _ = hidden_cost_bounds(found, signs, middle, published=True)
        lower, _ = hidden_cost_bounds(found, signs, middle)
        assert np.all(np.asarray(published) <= np.asarray(lower))
        assert np.all(cost >= np.asarray(lower))
        least = min(least, cost[(found != signs).sum(1) == 1].min())
        assert cost.min() == 0
    assert least == middle + half


def test_observation_15_needs_the_convention_of_the_text():
    """With the exchange at x_j = -1, as the formula has it, and the printed ρ, the least cost is beaten by x itself."""
    signs = np.array([1, 1])
    formula = np.asarray(hard_ranking(-signs, 3))
    lower, _ = hidden_cost_bounds(hidden_signs(formula, 2), signs, 3, published=True)
    assert _distance(formula, formula) < float(lower)


@pytest.mark.parametrize(
    ("half", "middle"), thorough_but([(1, 0), (1, 4), (2, 3), (3, 5), (4, 2)], (1, 0), (2, 3))
)
def test_observation_16_with_twice_the_middle(half, middle):
    """All x, y: the amended bound holds; it counts the middle exactly, so what is left are outer pairs."""
    signs = _signs(half)
    ranks = np.asarray(hard_ranking(signs, middle))
    cost = _distance(ranks[:, None], ranks[None])
    _, upper = hidden_cost_bounds(signs[:, None], signs[None], middle)
    assert np.all(cost <= np.asarray(upper))
    wrong = (signs[:, None] != signs[None]).sum(-1)
    outer = cost - 2 * middle * wrong
    assert outer.min() == 0
    assert outer.max() <= half * (2 * half - 1)


def test_observation_16_fails_as_printed():
    first, second = (np.asarray(hard_ranking(x, 2)) for x in ([1], [-1]))
    cost = _distance(first, second)
    _, printed = hidden_cost_bounds(np.array([1]), np.array([-1]), 2, published=True)
    assert (cost, float(printed)) == (5, 4.0)


def test_observations_hold_for_means():
    """Averages over users: 100 random data sets of 5 users, random σ and y."""
    rng = np.random.default_rng(0)
    signs, other = rng.choice([-1, 1], (100, 5, 4)), rng.choice([-1, 1], (100, 4))
    users = np.asarray(hard_ranking(signs, 5))
    sigma = rng.permuted(np.tile(np.arange(13), (100, 1)), axis=1)
    lower, _ = hidden_cost_bounds(hidden_signs(sigma, 4), signs.mean(1), 5)
    assert np.all(_distance(sigma[:, None], users).mean(1) >= np.asarray(lower) - 1e-9)
    _, upper = hidden_cost_bounds(other, signs.mean(1), 5)
    hidden = np.asarray(hard_ranking(other, 5))
    assert np.all(_distance(hidden[:, None], users).mean(1) <= np.asarray(upper) + 1e-9)


def test_bad_arguments_are_refused():
    for call, told, word in (
        (worlds.hard_ranking, ([1, 0], 2), r"\+1"),
        (worlds.hard_ranking, ([1], -1), "at least 0"),
        (worlds.hidden_signs, ([0, 1, 2], 2), "hide"),
    ):
        with pytest.raises(ValueError, match=word):
            call(*told)

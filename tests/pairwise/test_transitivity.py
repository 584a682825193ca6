"""Circular triads and conflicts: against enumeration, against Kendall's formula, and on the car data."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.transitivity import intransitivity, wins_by_user
from tests.reference import transitivity as twin


def tournaments(seed, users, items, share=1.0, repeats=1):
    """Random win counts; with ``share`` < 1 some pairs are missing, with repeats some are split."""
    random = np.random.default_rng(seed)
    wins = np.zeros((users, items, items))
    for i, j in zip(*np.triu_indices(items, 1)):
        times = repeats * (random.uniform(size=users) < share)
        chosen = random.binomial(times, 0.5)
        wins[:, i, j], wins[:, j, i] = chosen, times - chosen
    return wins


@pytest.mark.parametrize(("items", "share", "repeats"), [(6, 1.0, 1), (7, 0.7, 2), (7, 0.35, 1)])
def test_it_is_what_enumeration_finds(items, share, repeats):
    wins = tournaments(items, 40, items, share, repeats)
    found = jax.vmap(intransitivity)(wins)
    each = [twin.intransitivity(user.tolist()) for user in wins]
    for name in each[0]:
        np.testing.assert_allclose(getattr(found, name), [one[name] for one in each], rtol=1e-6)
    triads, cycles = np.asarray(found.circular_triads), np.asarray(found.intransitive)
    assert 0 < np.sum(cycles) <= 40
    if share < 0.5:
        assert np.any(cycles & (triads == 0))  # longer cycles without a circular triad


@pytest.mark.parametrize("items", [3, 8, 9])
def test_kendalls_formula_from_the_counts_alone(items):
    wins = tournaments(1, 30, items)
    found = jax.vmap(intransitivity)(wins)
    counts = wins.sum(2)
    from_counts = items * (items - 1) * (items - 2) / 6 - (counts * (counts - 1) / 2).sum(1)
    np.testing.assert_array_equal(found.circular_triads, from_counts)
    assert np.all((np.asarray(found.consistence) >= 0) & (np.asarray(found.consistence) <= 1))
    np.testing.assert_array_equal(found.intransitive, found.tied_counts)


def test_extremes():
    order = np.triu(np.ones((6, 6)), 1)
    best = intransitivity(order)
    assert (float(best.consistence), bool(best.intransitive)) == (1.0, False)
    assert float(best.conflicts) == float(best.level) == 0
    # Each of five items on a circle beats the next two, which gives the largest possible number of circular triads.
    regular = np.array([[(j - i) % 5 in (1, 2) for j in range(5)] for i in range(5)])
    worst = intransitivity(regular)
    assert (int(worst.circular_triads), float(worst.consistence)) == (5, 0.0)
    assert (float(worst.conflicts), float(worst.level)) == (0, 10)


def test_masked_items_count_for_nothing():
    wins = tournaments(3, 1, 5)[0]
    padded = np.ones((7, 7))
    padded[:5, :5] = wins
    found = intransitivity(padded, np.arange(7) < 5)
    for name, value in twin.intransitivity(wins.tolist()).items():
        assert float(getattr(found, name)) == pytest.approx(float(value), rel=1e-6), name


def test_the_car_data(data_folder):
    """Printed: 42 of 60 users intransitive, 6.98% of the comparisons. Ties of the counts explain both."""
    from privrank_jax.data import load

    table = load("cars", data_folder)
    wins = wins_by_user(table.arrays(), table.num_users)
    assert float(wins.sum()) == len(table) == 2675
    each = jax.vmap(intransitivity)(wins)
    assert np.sum(each.comparisons > 0) == 60
    assert np.sum(each.tied_counts) == 42
    assert np.sum(each.intransitive) == 39
    lacking = np.isnan(each.consistence)
    assert np.all(lacking[np.asarray(each.tied_counts & ~each.intransitive)])
    conflicts, level = float(jnp.sum(each.conflicts)), float(jnp.sum(each.level))
    assert (conflicts, level) == (101, 149)
    assert conflicts < 0.0698 * 2675 < conflicts + level
    assert (conflicts + level / 2) / 2675 == pytest.approx(0.0656, abs=5e-5)
    assert 0.8 < np.nanmean(each.consistence) < 1


def test_ties_count_half():
    tie = intransitivity([[0, 0.5, 1], [0.5, 0, 1], [0, 0, 0]])
    assert (float(tie.level), float(tie.comparisons)) == (1, 3)
    with pytest.raises(ValueError, match="square"):
        intransitivity(np.ones((2, 3)))

"""Canonical selection: the law against every set, scales, and the choice between mechanisms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise import canonical_top_k
from privrank_jax.pairwise.top_k import MOST_CLASSES, NOISES, choose_top_k
from privrank_jax.privacy.selection import canonical_change
from tests.promises import promise, split
from tests.reference.best_sets import law

noises = pytest.mark.parametrize("noise", NOISES)
ALARM = 1e-6


@noises
@pytest.mark.parametrize(
    ("scores", "k"),
    [([3, 1, 2.5, 0], 2), ([3, 3, 1, 3, 0], 3), ([2, 2, 0], 1), ([1, 0, 5, 2], 3), ([1, 0, 2], 3)],
)
def test_draws_have_the_law_of_every_outcome_one_by_one(noise, scores, k, key):
    epsilon, draws = 1.5, 20_000
    asked = promise(epsilon)
    run = jax.jit(
        jax.vmap(
            lambda one: (
                canonical_top_k(
                    one,
                    jnp.array(scores, float),
                    asked,
                    k,
                    noise=noise,
                    sensitivity=1.0,
                    total_change=1.0,
                ).value
            )
        )
    )
    found = np.asarray(run(jax.random.split(key, draws)))
    outcomes, chances = law(scores, k, *canonical_change(k, 1.0, 1.0), epsilon, noise)
    seen = [int(np.sum(np.all(found == outcome, axis=1))) for outcome in outcomes]
    assert sum(seen) == draws
    if len(outcomes) > 1:
        assert stats.chisquare(seen, draws * chances).pvalue > ALARM
        less = law(scores, k, *canonical_change(k, 1.0, 1.0), 2 * epsilon, noise)[1]
        assert stats.chisquare(seen, draws * less).pvalue < ALARM


@pytest.mark.parametrize(
    ("unit", "adjacency", "k", "sensitivity", "scale"),
    [
        ("comparison", "replace", 2, None, 3.0),  # 2s + min(2s, L), with s = L = 1
        ("comparison", "flip", 1, None, 2.0),
        ("comparison", "add-remove", 2, None, 2.0),
        ("comparison", "add-remove", 1, None, 1.0),
        ("user", "replace", 2, None, 9.0),
        ("user", "replace", 2, 1.0, 4.0),  # L = 3 bounds nothing
        ("user", "flip", 3, 2.0, 7.0),
        ("user", "add-remove", 3, 2.0, 4.0),
    ],
)
def test_scale_on_win_totals(unit, adjacency, k, sensitivity, scale):
    wins = WinCounts.from_matrix(np.zeros((4, 4)))
    asked = promise(0.5, unit, adjacency, 3 if unit == "user" else None)
    estimate = canonical_top_k(jax.random.key(0), wins, asked, k, sensitivity=sensitivity)
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(scale / 0.5)
    assert (estimate.guarantee.adjacency, float(estimate.guarantee.delta)) == (adjacency, 0.0)


def test_other_scores_have_no_bound_on_all_changes_together():
    estimate = canonical_top_k(jax.random.key(0), np.zeros(5), promise(1.0), 2, sensitivity=3.0)
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(12.0)


def test_without_noise_the_best_are_chosen_and_ties_are_broken_at_random(key):
    scores, keys = jnp.array([1.0, 5.0, 3.0, 3.0, 3.0]), jax.random.split(key, 300)
    asked = promise(jnp.inf)
    found = jax.vmap(lambda one: canonical_top_k(one, scores, asked, 2, sensitivity=1.0).value)(
        keys
    )
    assert np.all(np.any(np.asarray(found) == 1, axis=1))
    others = np.asarray(found).sum(axis=1) - 1
    assert stats.chisquare(np.bincount(others, minlength=5)[2:]).pvalue > ALARM


def test_masked_items_are_never_selected_and_missing_ones_are_minus_one(key):
    mask = jnp.array([False, True, False, True])
    wins = WinCounts.from_matrix(np.ones((4, 4)) - np.eye(4), mask=mask)
    run = jax.vmap(lambda one: canonical_top_k(one, wins, promise(0.1), 3).value)
    found = np.asarray(run(jax.random.split(key, 50)))
    assert {tuple(row) for row in found} == {(1, 3, -1)}
    assert found.dtype == np.int32
    none = WinCounts.from_matrix(np.zeros((4, 4)), mask=jnp.zeros(4, bool))
    assert canonical_top_k(key, none, promise(0.1), 2).value.tolist() == [-1, -1]


def test_a_mask_leaves_the_law_of_the_real_items(key):
    scores, mask = (
        jnp.array([9.0, 3, 1, 9, 2.5, 0]),
        jnp.array([False, True, True, False, True, True]),
    )
    asked, draws = promise(1.0), 20_000
    run = jax.vmap(
        lambda one: canonical_top_k(one, scores, asked, 2, sensitivity=1.0, mask=mask).value
    )
    found = np.asarray(run(jax.random.split(key, draws)))
    outcomes, chances = law([3, 1, 2.5, 0], 2, *canonical_change(2, 1.0), 1.0, "exponential")
    real = np.array([1, 2, 4, 5])
    seen = [int(np.sum(np.all(found == real[list(one)], axis=1))) for one in outcomes]
    assert sum(seen) == draws
    assert stats.chisquare(seen, draws * chances).pvalue > ALARM


def test_win_edges_and_float32_scores(key):
    winners, losers = np.array([0, 0, 1, 2, 0]), np.array([1, 2, 2, 1, 1])
    dense = WinCounts.from_comparisons(winners, losers, num_items=3)
    edges = WinEdges.from_comparisons(winners, losers, num_items=3)
    expected = canonical_top_k(key, dense, promise(2.0), 2).value.tolist()
    assert canonical_top_k(key, edges, promise(2.0), 2).value.tolist() == expected
    single = canonical_top_k(
        key, dense.totals.astype(jnp.float32), promise(1e6), 1, sensitivity=1.0
    )
    assert single.value.tolist() == [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k must be"),
        ({"k": 5}, "k must be"),
        ({"noise": "laplace"}, "noise"),
        ({"unit": "user", "contributions": None}, "needs contributions=L"),
        ({"wins": np.zeros(4)}, "pass sensitivity=s"),
        ({"sensitivity": 0.0}, "sensitivity must be positive"),
        ({"total_change": -1.0}, "total_change must be positive"),
    ],
)
def test_refusals_explain_themselves(change, message):
    asked, options = split({"wins": WinCounts.from_matrix(np.zeros((4, 4))), "k": 2, **change})
    with pytest.raises(ValueError, match=message):
        canonical_top_k(jax.random.key(0), privacy=asked, **options)


@pytest.mark.parametrize(
    ("unit", "adjacency", "most", "k", "sensitivity", "name"),
    [
        ("comparison", "replace", None, 1, None, "canonical"),
        ("comparison", "flip", None, 2, None, "one-shot"),
        ("user", "replace", 10, 10, 1, "canonical"),
        ("user", "replace", 9, 10, 1, "one-shot"),
        ("user", "replace", 10, 5, 2.0, "canonical"),
        ("user", "add-remove", 10, 6, 2.0, "one-shot"),
        ("user", "replace", 10, 2, None, "one-shot"),
    ],
)
def test_the_choice_depends_on_how_many_totals_a_unit_can_change(
    unit, adjacency, most, k, sensitivity, name
):
    asked = promise(1.0, unit, adjacency, most)
    assert choose_top_k(100, k, asked, sensitivity=sensitivity) == name


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
def test_of_ballots_the_choice_depends_on_how_many_items_one_may_name(adjacency):
    asked = promise(1.0, "user", adjacency)
    for most, name in ((3, "canonical"), (2, "one-shot")):
        assert choose_top_k(100, 3, asked, sensitivity=1, total_change=most) == name


def test_too_many_outcomes_are_left_to_one_shot_noise():
    asked, items = promise(1.0, "user", contributions=100), MOST_CLASSES // 100
    assert choose_top_k(items, 100, asked, sensitivity=1) == "canonical"
    assert choose_top_k(items + 1, 100, asked, sensitivity=1) == "one-shot"


@pytest.mark.parametrize(
    ("change", "message"),
    [({"k": 0}, "k must be"), ({"k": 6}, "k must be"), ({"sensitivity": 0.0}, "must be positive")],
)
def test_what_no_choice_is_made_for(change, message):
    with pytest.raises(ValueError, match=message):
        choose_top_k(**{"num_items": 5, "k": 2, "privacy": promise(1.0), **change})

"""Solvers in a program against naive twins: all subsets, and local search."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import kemeny, kemeny_score, local_search
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from tests.quick import thorough_but
from tests.reference import aggregation as reference

solve_many = jax.jit(jax.vmap(exact_kemeny))
scores = jax.jit(jax.vmap(kemeny_score))


@pytest.mark.parametrize("items", thorough_but([1, 2, 3, 5, 7], 7))
def test_thousands_of_tournaments(items):
    """Every kind of weights; a batch takes another code path than a single problem."""
    layers = reference.subset_layers(items)
    batch = np.concatenate([reference.tournaments(kind, 200, items) for kind in reference.KINDS])
    ranks = np.asarray(solve_many(batch))
    np.testing.assert_array_equal(np.sort(ranks, axis=1), np.tile(np.arange(items), (1000, 1)))
    least = [reference.subset_program_by_layers(w, layers)[0] for w in batch]
    np.testing.assert_allclose(scores(ranks, batch), least, rtol=1e-12, atol=1e-12)
    for n in range(0, 1000, 97):
        np.testing.assert_array_equal(exact_kemeny(batch[n]), ranks[n])


@pytest.mark.parametrize("items", thorough_but([12, 17], 12))
def test_single_problems_of_more_items(items):
    """Against the integer program, and never above local search from any start."""
    for kind in ("uniform", "inconsistent"):
        w = reference.tournaments(kind, 1, items)[0]
        score = float(kemeny_score(exact_kemeny(w), w))
        assert score == pytest.approx(kemeny(w).cost, rel=1e-9)
        starts = np.argsort(np.random.default_rng(0).random((8, items)), axis=1)
        others = jax.vmap(lambda start, w=w: kemeny_score(local_search(w, start), w))(starts)
        assert np.all(others >= score - 1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_float32_loses_no_more_than_the_rounding_of_the_weights(scale):
    batch = (scale * reference.tournaments("uniform", 100, 7)).astype(np.float32)
    layers = reference.subset_layers(7)
    ranks = np.asarray(solve_many(batch))
    for w, row in zip(batch.astype(float) / scale, ranks):
        least = reference.subset_program_by_layers(w, layers)[0]
        assert reference.kemeny_score(row, w) == pytest.approx(least, abs=1e-5)


def test_masked_items_come_last_and_have_no_influence():
    mask = np.array([True, False, True, True, False, True, True])
    batch = reference.tournaments("uniform", 40, 7)
    within = solve_many(batch[:, mask][:, :, mask])
    batch[:, ~mask], batch[:, :, ~mask] = 50, 20
    ranks = np.asarray(jax.vmap(lambda w: exact_kemeny(w, mask=mask))(batch))
    np.testing.assert_array_equal(ranks[:, mask], within)
    np.testing.assert_array_equal(ranks[:, ~mask], np.tile([5, 6], (40, 1)))
    np.testing.assert_array_equal(exact_kemeny(batch[3], mask=mask), ranks[3])


@pytest.mark.parametrize("dtype", thorough_but([np.float32, np.float64], np.float64))
@pytest.mark.parametrize("kind", reference.KINDS)
def test_no_insertion_is_better_and_the_start_is_not_either(kind, dtype):
    slack = 1e-5 if dtype == np.float32 else 1e-12
    batch = reference.tournaments(kind, 40, 8).astype(dtype)
    start = np.argsort(np.random.default_rng(3).random((40, 8)), axis=1)
    found = np.asarray(jax.vmap(local_search)(batch, start))
    for w, before, ranks in zip(batch.astype(float), start, found):
        assert sorted(ranks) == list(range(8))
        score = reference.kemeny_score(ranks, w)
        assert score <= reference.kemeny_score(before, w) + slack
        neighbors = [reference.kemeny_score(r, w) for r in reference.insertion_neighbors(ranks)]
        assert score <= min(neighbors) + slack


def test_borda_is_the_default_start_at_any_scale_of_weights():
    for w in reference.tournaments("inconsistent", 5, 8):
        found = local_search(w, np.argsort(np.argsort(-w.sum(1), kind="stable")))
        for scale in (1e-30, 1.0, 1e30):
            np.testing.assert_array_equal(local_search(w * scale), found)


def test_ties_and_rounding_end():
    """Where all rankings are equal, up to rounding, nothing moves; the search ends on traced weights without a sum."""
    equal = np.full((8, 8), 1 / 3, np.float32)
    equal[::2] += np.float32(1e-8)
    assert local_search(equal, np.arange(8)).tolist() == list(range(8))
    search = jax.jit(local_search)
    for w in (np.full((3, 3), np.nan), np.array([[0, np.inf, 1], [1, 0, 0], [0, 1, 0]])):
        assert sorted(np.asarray(search(w))) == list(range(len(w)))
        with pytest.raises(ValueError, match="the weights must be finite"):
            local_search(w)


def test_masked_items_come_last_in_a_search():
    mask = np.array([True, True, False, True, False, True, True, True])
    for w in reference.tournaments("uniform", 10, 8):
        start = np.random.default_rng(1).permutation(8)
        within = np.argsort(np.argsort(start[mask]))
        alone = local_search(w[np.ix_(mask, mask)], within)
        w[~mask] = 100
        ranks = local_search(w, start, mask=mask)
        np.testing.assert_array_equal(ranks[mask], alone)
        assert ranks[~mask].tolist() == [6, 7]

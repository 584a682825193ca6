from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import local_search
from tests.reference import aggregation as reference


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
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


def test_each_step_is_the_best_one():
    """The scores on the way, found by descending naively, end where the search ends."""
    for w in reference.tournaments("uniform", 10, 7, seed=5):
        ranks = np.random.default_rng(0).permutation(7)
        found = local_search(w, ranks)
        while True:
            neighbors = reference.insertion_neighbors(ranks)
            best = min(neighbors, key=lambda r: reference.kemeny_score(r, w))
            if reference.kemeny_score(best, w) >= reference.kemeny_score(ranks, w) - 1e-12:
                break
            ranks = best
        np.testing.assert_array_equal(found, ranks)


def test_borda_is_the_default_start():
    for w in reference.tournaments("inconsistent", 5, 8):
        borda = np.argsort(np.argsort(-w.sum(1), kind="stable"))
        np.testing.assert_array_equal(local_search(w), local_search(w, borda))


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_the_scale_of_weights_does_not_matter(scale):
    w = reference.tournaments("uniform", 1, 8)[0]
    start = np.arange(8)[::-1]
    np.testing.assert_array_equal(local_search(w * scale, start), local_search(w, start))


def test_ties_and_rounding_end():
    """Where all rankings are equal, up to rounding, nothing moves; the search ends on traced weights without a sum."""
    equal = np.full((8, 8), 1 / 3, np.float32)
    equal[::2] += np.float32(1e-8)
    assert local_search(equal, np.arange(8)).tolist() == list(range(8))
    for w in (np.full((3, 3), np.nan), np.array([[0, np.inf], [1, 0]])):
        assert sorted(np.asarray(jax.jit(local_search)(w))) == list(range(len(w)))
        with pytest.raises(ValueError, match="the weights must be finite"):
            local_search(w)


def test_masked_items_come_last_and_have_no_influence():
    mask = np.array([True, True, False, True, False, True, True, True])
    for w in reference.tournaments("uniform", 10, 8):
        start = np.random.default_rng(1).permutation(8)
        within = np.argsort(np.argsort(start[mask]))
        alone = local_search(w[np.ix_(mask, mask)], within)
        w[~mask] = 100
        ranks = local_search(w, start, mask=mask)
        np.testing.assert_array_equal(ranks[mask], alone)
        assert ranks[~mask].tolist() == [6, 7]

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import kemeny, kemeny_score, local_search
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from tests.reference import aggregation as reference

solve_many = jax.jit(jax.vmap(exact_kemeny))
scores = jax.jit(jax.vmap(kemeny_score))


def test_the_twins_agree():
    layers = reference.subset_layers(5)
    for kind in reference.KINDS:
        for w in reference.tournaments(kind, 4, 5):
            least = reference.least_kemeny_score(w)
            for program in (
                reference.subset_program(w),
                reference.subset_program_by_layers(w, layers),
            ):
                assert program[0] == pytest.approx(least)
                assert reference.kemeny_score(np.argsort(program[1]), w) == pytest.approx(least)


@pytest.mark.parametrize("items", [1, 2, 3, 5, 7])
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


@pytest.mark.parametrize("items", [12, 17])
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

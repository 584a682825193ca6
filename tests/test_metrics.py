from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax import metrics
from tests import reference
from tests.quick import thorough

FEW = settings(max_examples=40)
permutations = st.permutations(list(range(7)))
ties = st.lists(st.integers(0, 3), min_size=7, max_size=7)
masks = st.lists(st.booleans(), min_size=7, max_size=7)


def as_ranks(*rankings):
    return [np.array(ranks, np.int32) for ranks in rankings]


@FEW
@given(permutations, permutations)
def test_kendall_distance_is_the_naive_count(a, b):
    a, b = as_ranks(a, b)
    count = metrics.kendall_distance(a, b)
    assert count.dtype == jnp.int32
    assert int(count) == reference.kendall_distance(a, b)
    share = float(metrics.kendall_distance(a, b, normalized=True))
    assert share == pytest.approx(int(count) / 21, rel=1e-12)
    tau = scipy.stats.kendalltau(a, b).statistic
    assert 1 - 2 * share == pytest.approx(float(tau), abs=1e-12)


@FEW
@given(permutations, permutations)
def test_footrule_and_mean_rank_difference(a, b):
    a, b = as_ranks(a, b)
    total = metrics.spearman_footrule(a, b)
    assert total.dtype == jnp.int32
    assert int(total) == reference.spearman_footrule(a, b)
    share = metrics.spearman_footrule(a, b, normalized=True)
    assert float(share) == pytest.approx(int(total) / 24, rel=1e-12)
    assert float(metrics.mean_rank_difference(a, b)) == pytest.approx(int(total) / 7, rel=1e-12)
    tau = int(metrics.kendall_distance(a, b))
    assert tau <= int(total) <= 2 * tau  # Diaconis and Graham (1977)


@pytest.mark.parametrize(("users", "m"), [thorough(64, 101), (70, 256), (3, 7), thorough(3, 120)])
def test_kendall_distances_of_batches(users, m):
    """Of few and many items, counted together from 64 rankings on: ties, masks, any integers, shared arguments, and
    batches in batches; with counts above 255 where there are more items than a byte numbers."""
    rng = np.random.default_rng(m)
    a, b = rng.integers(-m // 2, m // 2, (2, users, m)).astype(np.int32)
    a[0], b[0] = np.arange(m), np.arange(m)[::-1]
    a[1, 0] = np.iinfo(np.int32).max
    mask = rng.random((users, m)) < 0.7

    def naive(a, b, mask):
        behind = (a[:, None] < a) & (b[:, None] > b)
        return behind[mask][:, mask].sum()

    everyone = np.ones_like(mask)
    wanted = [naive(*row) for row in zip(a, b, everyone)]
    assert wanted[0] == m * (m - 1) // 2 == reference.kendall_distance(a[0], b[0])
    assert int(metrics.kendall_distance(a[2], b[2])) == wanted[2]
    found = jax.jit(jax.vmap(metrics.kendall_distance))(a, b)
    assert found.dtype == jnp.int32
    np.testing.assert_array_equal(found, wanted)
    masked = jax.vmap(lambda a, b, mask: metrics.kendall_distance(a, b, mask=mask))(a, b, mask)
    np.testing.assert_array_equal(masked, [naive(*row) for row in zip(a, b, mask)])
    shared = jax.vmap(metrics.kendall_distance, (0, None))(a, b[1])
    np.testing.assert_array_equal(shared, [naive(row, b[1], everyone[0]) for row in a])
    nested = jax.vmap(jax.vmap(metrics.kendall_distance))(
        a[None].repeat(2, 0), b[None].repeat(2, 0)
    )
    np.testing.assert_array_equal(nested, [wanted, wanted])
    share = jax.vmap(lambda a, b: metrics.kendall_distance(a, b, normalized=True))(a, b)
    np.testing.assert_allclose(share, np.array(wanted) / (m * (m - 1) / 2), rtol=1e-6)


@FEW
@given(permutations, permutations, masks)
def test_masked_items_do_not_count(a, b, mask):
    mask = np.array(mask)
    a = reference.ranks_from_scores(-np.array(a), mask)
    b = reference.ranks_from_scores(-np.array(b), mask)
    kept = int(mask.sum())
    expected = {
        metrics.kendall_distance: (reference.kendall_distance(a, b, mask), kept * (kept - 1) // 2),
        metrics.spearman_footrule: (reference.spearman_footrule(a, b, mask), kept * kept // 2),
    }
    for metric, (total, largest) in expected.items():
        assert int(metric(a, b, mask=mask)) == total
        share = float(metric(a, b, normalized=True, mask=mask))
        assert share == pytest.approx(total / max(largest, 1), rel=1e-12)
    mean = float(metrics.mean_rank_difference(a, b, mask=mask))
    total = reference.spearman_footrule(a, b, mask)
    assert mean == pytest.approx(total / max(kept, 1), rel=1e-12)
    for k in (1, 3, 7):
        error = 0.0 if kept == 0 else reference.top_k_error(a, b, k, mask)
        assert float(metrics.top_k_error(a, b, k, mask=mask)) == pytest.approx(error, abs=1e-12)


@FEW
@given(permutations, permutations, st.integers(1, 9))
def test_top_k_error(a, b, k):
    a, b = as_ranks(a, b)
    expected = reference.top_k_error(a, b, k)
    assert float(metrics.top_k_error(a, b, k)) == pytest.approx(expected, abs=1e-12)


def test_top_k_error_traces_k():
    a, b = as_ranks(range(5), [4, 0, 1, 2, 3])
    traces = []

    @jax.jit
    def error(k):
        traces.append(k)
        return metrics.top_k_error(a, b, k)

    values = [float(error(jnp.int32(k))) for k in (1, 2, 5)]
    assert values == pytest.approx([reference.top_k_error(a, b, k) for k in (1, 2, 5)])
    assert len(traces) == 1
    assert np.isnan(error(jnp.int32(0)))
    swept = jax.vmap(metrics.top_k_error, in_axes=(None, None, 0))(a, b, jnp.arange(1, 6))
    assert swept.tolist() == pytest.approx([reference.top_k_error(a, b, k) for k in range(1, 6)])


@pytest.mark.parametrize("order", [2, jnp.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_relative_error_is_the_ratio_of_norms_in_the_dtype_of_its_input(order, dtype):
    generator = np.random.default_rng(7)
    x, y = generator.normal(size=(2, 6)).astype(dtype)
    mask = np.array([True, True, False, True, True, True])
    value = metrics.relative_error(x, y, order=order)
    assert value.dtype == dtype
    expected = np.linalg.norm(x - y, ord=order) / np.linalg.norm(y, ord=order)
    assert float(value) == pytest.approx(float(expected), rel=10 * float(np.finfo(dtype).eps))
    expected = np.linalg.norm((x - y)[mask], ord=order) / np.linalg.norm(y[mask], ord=order)
    masked = metrics.relative_error(np.where(mask, x, np.nan), y, order=order, mask=mask)
    assert float(masked) == pytest.approx(float(expected), rel=10 * float(np.finfo(dtype).eps))


def test_one_item_divides_by_nothing():
    one = np.array([0])
    assert float(metrics.kendall_distance(one, one, normalized=True)) == 0.0
    assert float(metrics.spearman_footrule(one, one, normalized=True)) == 0.0
    assert float(metrics.mean_rank_difference(one, one)) == 0.0
    assert float(metrics.top_k_error(one, one, 1)) == 0.0
    assert float(metrics.relative_error([0.0], [0.0])) == 0.0
    assert float(metrics.relative_error([0.5], [0.0])) == np.inf
    nobody = np.array([False])
    assert float(metrics.top_k_error(one, one, 1, mask=nobody)) == 0.0
    assert float(metrics.mean_rank_difference(one, one, mask=nobody)) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.kendall_distance([0, 1], [0, 1, 2]), "one shape"),
        (lambda: metrics.spearman_footrule([[0, 1]], [[0, 1]]), "vmap"),
        (lambda: metrics.kendall_distance([0.2, 1.0], [0, 1]), "ranks_from_scores"),
        (lambda: metrics.top_k_error([0.2, 1.0], [0, 1], 1), "ranks_from_scores"),
        (lambda: metrics.mean_rank_difference([0, 1], [0, 1], mask=[True]), "mask"),
        (lambda: metrics.top_k_error([0, 1], [0, 1], 0), "at least"),
        (lambda: metrics.top_k_error([0, 1], [0, 1], 1.5), "whole"),
        (lambda: metrics.top_k_error([0, 1], [0, 1], np.array([1, 2])), "vmap"),
        (lambda: metrics.relative_error([0.0], [1.0], order=1), "order"),
        (lambda: metrics.relative_error([0.0], [1.0, 2.0]), "one shape"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_largest_footrule_that_fits_is_exact():
    ranks = np.arange(65_535)
    assert int(metrics.spearman_footrule(ranks, ranks[::-1])) == 65_535**2 // 2
    with pytest.raises(ValueError, match="normalized=True"):
        metrics.spearman_footrule(np.arange(65_536), np.arange(65_536))
    more = np.arange(100_000)
    assert float(metrics.spearman_footrule(more, more[::-1], normalized=True)) == 1.0

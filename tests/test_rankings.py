from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax import rankings
from tests import reference

FEW = settings(max_examples=40)
permutations = st.permutations(list(range(6)))


@FEW
@given(permutations)
def test_orders_and_ranks_are_inverse(order):
    ranks = rankings.order_to_ranks(np.array(order))
    assert ranks.dtype == jnp.int32
    assert [int(ranks[item]) for item in order] == list(range(6))
    assert rankings.ranks_to_order(ranks).tolist() == order
    np.testing.assert_array_equal(rankings.validate_ranks(np.asarray(ranks)), ranks)


@FEW
@given(st.lists(st.sampled_from([-2.0, -0.0, 0.0, 0.5, np.inf, -np.inf]), min_size=6, max_size=6))
def test_ranks_from_scores_match_sorting_and_break_ties_by_index(scores):
    expected = reference.ranks_from_scores(scores)
    assert rankings.ranks_from_scores(np.array(scores)).tolist() == expected.tolist()


@FEW
@given(
    st.lists(st.integers(-3, 3), min_size=6, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
)
def test_masked_items_get_the_last_ranks_in_index_order(scores, mask):
    expected = reference.ranks_from_scores(scores, mask)
    ranks = rankings.ranks_from_scores(np.array(scores, np.int32), np.array(mask))
    assert ranks.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (np.array([0, 255, 3], np.uint8), [2, 0, 1]),
        (np.array([np.iinfo(np.int32).min, 0, 5], np.int32), [2, 1, 0]),
        (np.array([False, True, False]), [1, 0, 2]),
        (np.array([np.nan, -np.inf, 1.0], np.float32), [2, 1, 0]),
        (np.array([7.0]), [0]),
    ],
)
def test_scores_of_every_dtype(scores, expected):
    assert rankings.ranks_from_scores(scores).tolist() == expected
    masked = rankings.ranks_from_scores([np.nan, np.nan, 1.0], mask=[False, True, True])
    assert masked.tolist() == [2, 1, 0]


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint8, bool])
@pytest.mark.parametrize("items", [rankings._COUNTED, rankings._COUNTED + 1])
def test_few_items_are_counted_and_many_sorted_alike(dtype, items):
    generator = np.random.default_rng(items)
    scores = generator.integers(0, 4, (3, items)).astype(dtype)
    mask = generator.random((3, items)) < 0.8
    if dtype is np.float32:  # the reference knows no NaN
        scores[:, ::5] = np.inf
        scores[:, 1::5] = -np.inf
    found = jax.vmap(rankings.ranks_from_scores)(scores, mask)
    for row in range(3):
        expected = reference.ranks_from_scores(scores[row].astype(float), mask[row])
        assert found[row].tolist() == expected.tolist()


def test_random_ties_are_uniform_and_leave_the_rest_alone(key):
    # Three tied items: 6 orders, 6000 draws. Chi-square with 5 degrees of freedom, threshold at a
    # false-alarm rate of 1e-4; breaking ties by index, or by one shared coin, gives thousands.
    draws = jax.vmap(
        lambda k: rankings.ranks_from_scores(jnp.array([1.0, 1.0, 5.0, 1.0, 0.0]), key=k)
    )(jax.random.split(key, 6000))
    draws = np.asarray(draws)
    assert (draws[:, 2] == 0).all()
    assert (draws[:, 4] == 4).all()
    _, counts = np.unique(draws[:, [0, 1, 3]], axis=0, return_counts=True)
    assert len(counts) == 6
    assert ((counts - 1000) ** 2 / 1000).sum() < 25.7


def test_random_ties_keep_masked_items_last(key):
    draws = jax.vmap(
        lambda k: rankings.ranks_from_scores(
            jnp.zeros(4), mask=jnp.array([True, False, True, False]), key=k
        )
    )(jax.random.split(key, 50))
    assert (np.asarray(draws)[:, [1, 3]] == [2, 3]).all()
    assert len(np.unique(np.asarray(draws)[:, 0])) == 2


def test_validate_ranks_returns_int32_and_lets_tracers_pass():
    checked = rankings.validate_ranks(np.array([[1, 0], [0, 1]], np.int64))
    assert checked.dtype == np.int32
    assert checked.tolist() == [[1, 0], [0, 1]]
    traced = jax.jit(rankings.validate_ranks)(jnp.array([5, 5]))
    assert traced.tolist() == [5, 5]


VALIDATE = [
    ([1, 2, 3], "subtract 1"),
    ([0, 1, 1], "items 1, 2"),
    ([0, 1, 3], "hold 3"),
    ([-1, 0, 1], "hold -1"),
    ([0.0, 1.0], "float64"),
    ([0.0, np.nan], "NaN"),
    (["a", "b"], "integers"),
    ([True, False], "bool"),
    ([[0, 1], [0]], "lengths"),
    ([], "m >= 1"),
    (3, "m >= 1"),
    ([[0, 1, 2], [2, 2, 0]], r"ranks\[1\]"),
    ([[[0, 1]], [[1, 2]]], r"ranks\[1, 0\]"),
]
CALLS = [
    (lambda: jax.jit(rankings.validate_ranks)(jnp.array([0.5, 1.0])), "ranks_from_scores"),
    (lambda: rankings.order_to_ranks([[0, 1]]), "order .*vmap"),
    (lambda: rankings.ranks_to_order([0.0, 1.0]), "integers"),
    (lambda: rankings.ranks_from_scores([[0.0, 1.0]]), "scores .*vmap"),
    (lambda: rankings.ranks_from_scores([1j, 0.0]), "real"),
    (lambda: rankings.ranks_from_scores([0.0, 1.0], mask=[True]), "mask"),
]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        *((lambda ranks=ranks: rankings.validate_ranks(ranks), word) for ranks, word in VALIDATE),
        *CALLS,
    ],
)
def test_refusals(call, word):
    with pytest.raises(ValueError, match=word):
        call()

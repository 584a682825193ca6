from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, kemeny_score
from tests.reference import aggregation as reference


def incomplete_rankings(users, items, seed=0):
    """Rankings with ties and gaps, some of users who ranked nothing or one item."""
    rng = np.random.default_rng(seed)
    ranks = rng.integers(0, items, (users, items))
    ranks[rng.random(ranks.shape) < rng.random((users, 1))] = -1
    ranks[0] = -1
    return ranks


@pytest.mark.parametrize("missing", ["last", "unknown"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint16])
def test_weights_are_the_naive_count(missing, dtype):
    ranks = incomplete_rankings(41, 6)
    ranks = (np.maximum(ranks, 0) if dtype == np.uint16 else ranks).astype(dtype)
    expected = reference.pairwise_weights(ranks.astype(int), missing)
    w = PairWeights.from_ranks(ranks, missing=missing).matrix
    assert w.dtype == jnp.result_type(float)
    np.testing.assert_allclose(w, expected, rtol=0, atol=1e-15)
    traced = jax.jit(lambda r: PairWeights.from_ranks(r, missing=missing))(ranks).matrix
    np.testing.assert_array_equal(traced, w)
    others = PairWeights.from_ranks(ranks[1:], missing=missing).matrix
    one_user_moves = np.abs(np.asarray(w) - others * 40 / 41)
    assert one_user_moves.max() <= 1 / 41 + 1e-12
    np.testing.assert_allclose(w + w.T, 1 - np.eye(6), atol=1e-15)


@pytest.mark.parametrize("largest", [126, 127, 128, 40_000])
def test_ranks_that_do_not_fit_a_byte(largest):
    """Items not ranked stay behind every rank."""
    ranks = np.array([[0, largest, -1], [largest, -1, 0], [-300, 1, largest - 1]])
    np.testing.assert_allclose(
        PairWeights.from_ranks(ranks).matrix, reference.pairwise_weights(ranks)
    )


def test_kemeny_score_is_the_naive_sum_and_the_mean_distance():
    rng = np.random.default_rng(0)
    ranks = np.argsort(rng.random((9, 6)), axis=1)
    w = PairWeights.from_ranks(ranks).matrix
    for candidate in ranks:
        score = float(kemeny_score(candidate, w))
        assert score == pytest.approx(reference.kemeny_score(candidate, np.asarray(w)))
        assert score == pytest.approx(np.mean([reference_kendall(candidate, row) for row in ranks]))
    tied = float(kemeny_score([0, 0, 0, 1, 1, 1], w))
    assert tied == pytest.approx(float(jnp.sum(w[3:, :3])))


def reference_kendall(a, b):
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i in range(len(a)) for j in range(i))


def test_batches_of_worlds_agree_and_trace_once():
    worlds = np.argsort(np.random.default_rng(1).random((3, 50, 5)), axis=2)
    traces = []

    @jax.jit
    def weights(ranks):
        traces.append(1)
        return jax.vmap(PairWeights.from_ranks)(ranks).matrix

    for shift in (0, 1):
        batch = weights((worlds + shift) % 5)
        for world, w in zip((worlds + shift) % 5, batch):
            np.testing.assert_array_equal(w, PairWeights.from_ranks(world).matrix)
    assert len(traces) == 1
    scores = jax.vmap(kemeny_score)(worlds[:, 0], batch)
    np.testing.assert_allclose(scores[2], kemeny_score(worlds[2, 0], batch[2]))


@pytest.mark.parametrize(
    ("ranks", "settings", "message"),
    [
        ([0, 1, 2], {}, "users, items"),
        (np.zeros((0, 3), int), {}, "at least one of each"),
        (np.zeros((3, 0), int), {}, "at least one of each"),
        ([[0.0, 1.0]], {}, "must be integers"),
        (np.array([[0, 1]], object), {}, "ranks must be an array of real numbers"),
        ([["0", "1"]], {}, "ranks must be an array of real numbers"),
        ([[0, 1], [0]], {}, "ranks must be an array of real numbers"),
        ([[0, 1]], {"missing": "first"}, "missing must be one of"),
    ],
)
def test_bad_rankings_are_refused(ranks, settings, message):
    with pytest.raises(ValueError, match=message):
        PairWeights.from_ranks(ranks, **settings)


@pytest.mark.parametrize("one", [np.int64, np.uint8, bool, np.float16])
def test_shares_in_whole_numbers_are_those_in_floats(one):
    """One user: shares of 0 and 1, whatever their type."""
    shares = np.triu(np.ones((3, 3)), 1)
    for given in (shares.astype(one), jnp.asarray(shares.astype(one)), shares.tolist()):
        weights = PairWeights(given, 1)
        np.testing.assert_array_equal(weights.twice, 2 * shares)
        assert kemeny_score([0, 1, 2], weights) == 0
        assert aggregation.kemeny(weights).ranks.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "bad",
    [np.ones((2, 2)) + 1j, np.ones((2, 2), object), np.array([["a", "b"]] * 2), [[1], [1, 2]]],
)
def test_weights_that_are_no_real_numbers_are_refused_in_words(bad):
    for function in (
        lambda bad: PairWeights(bad, 1),
        aggregation.kemeny,
        aggregation.borda_scores,
        aggregation.local_search,
    ):
        with pytest.raises(ValueError, match="weights must be an array of real numbers"):
            function(bad)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="must fit"):
        kemeny_score([0, 1, 2], np.zeros((2, 2)))


def test_the_largest_rank_of_a_type_is_ahead_of_a_gap():
    for dtype in (np.int8, np.int16, np.int32):
        largest = min(np.iinfo(dtype).max, 2**31 - 2)
        ranks = np.array([[largest, 0, -1]], np.int64)
        weights = PairWeights.from_ranks(ranks.astype(dtype))
        assert weights.matrix.tolist() == [[0, 0, 1], [1, 0, 1], [0, 0, 0]]
    with pytest.raises(ValueError, match="below"):
        PairWeights.from_ranks(np.array([[2**31 - 1, 0]], np.int32))


def test_ranks_of_64_bits_are_not_wrapped():
    """Their lower halves are 0. A gap may be any negative number."""
    with pytest.raises(ValueError, match="ranks must be below"):
        PairWeights.from_ranks(np.array([[2**32, 1]]))
    for low in (-(2**31), -(2**32), -(2**63)):
        assert PairWeights.from_ranks(np.array([[low, 1]])).matrix.tolist() == [[0, 0], [1, 0]]


def test_masked_arrays_are_refused():
    ranks = np.ma.masked_array([[0, 1, 99]], mask=[[False, False, True]])
    for given in (ranks, ranks.astype(np.int32)):
        with pytest.raises((TypeError, ValueError), match="masked"):
            PairWeights.from_ranks(given)


@pytest.mark.parametrize(("users", "items"), [(30_000, 30), (3000, 150)])
def test_an_array_may_change_after_the_call(users, items):
    """Of ranks too large for bytes, which a program may not have read by then."""
    ranks = np.argsort(np.random.default_rng(0).random((users, items)), axis=1).astype(np.int32)
    ranks[0, 0] = 1000
    want = np.asarray(PairWeights.from_ranks(ranks.copy()).matrix)
    for _ in range(3):
        given = ranks.copy()
        weights = PairWeights.from_ranks(given)
        given[:] = 0
        np.testing.assert_array_equal(weights.matrix, want)


@pytest.mark.parametrize("ranks", [[[0, 1], [0, 1]], [[0, 200], [200, 0]], [[*range(130)]]])
def test_known_ranks_are_counted_within_a_traced_function(ranks):
    """Of arrays of JAX and of NumPy: narrow ranks, wide ones, and more items than a byte numbers."""
    want = reference.pairwise_weights(np.array(ranks))
    for known in (jnp.asarray(ranks), np.asarray(ranks)):
        found = jax.jit(lambda x, known=known: PairWeights.from_ranks(known).matrix + x)(0.0)
        np.testing.assert_allclose(found, want, atol=1e-15)


@pytest.mark.parametrize("users", [49, 300])
def test_shares_stay_within_0_and_1(users):
    """Numbers of users whose reciprocals are rounded: a product with them and a sum, fused, ends beside 0."""
    matrix = np.asarray(PairWeights.from_ranks(np.tile(np.arange(3), (users, 1))).matrix)
    assert matrix.min() == 0
    assert matrix.max() <= 1
    np.testing.assert_allclose(matrix, np.triu(np.ones((3, 3)), 1), atol=1e-15)

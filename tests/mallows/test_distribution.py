"""The Mallows model against its enumeration, its moments in 60 digits, and the exact privacy loss of a draw."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from tests.reference import mallows as naive

CENTERS = [[2, 0, 1, 3], [1, -1, 0, 2], [-1, 0, -1, -1], [-1, -1, -1, -1]]


@pytest.mark.parametrize("epsilon", [1e-3, 2.0, 30.0])
def test_probabilities_are_those_of_the_enumeration(epsilon):
    for center in CENTERS:
        rankings, mass = naive.pmf(center, epsilon)
        log_p = jax.vmap(mallows.log_prob, (0, None, None))(rankings, jnp.array(center), epsilon)
        np.testing.assert_allclose(log_p, np.log(mass), atol=1e-12, rtol=1e-12)


def test_normalizer_has_its_limits_and_never_overflows():
    for items in (1, 2, 5):
        sums = [
            np.log(sum(np.exp(-epsilon / max(items - 1, 1) * naive.discordant(range(items), ranks))
                       for ranks in itertools.permutations(range(items))))
            for epsilon in (0.5, 5.0)
        ]  # fmt: skip
        ours = mallows.log_normalizer(items, jnp.array([0.5, 5.0, 1e-12, np.inf]))
        wanted = [*sums, math.log(math.factorial(items)), 0.0]
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)
    epsilons = np.array([1e-3, 1.0, 1e3], np.float32)
    single, double = (mallows.log_normalizer(1000, e) for e in (epsilons, epsilons.astype(float)))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, double, rtol=1e-5)


def test_guarantee_says_both_and_takes_users():
    promised = mallows.synthetic_guarantee(10, 2.0, numerics="exact")
    assert mallows.synthetic_guarantee([3, 10], 2.0).also[0].epsilon == 10
    assert (promised.unit, promised.adjacency, promised.trust) == ("rank", "replace", "local")
    assert (promised.epsilon, promised.also[0].epsilon) == (2.0, 10.0)
    assert promised.numerics == "exact"
    assert (promised.also[0].unit, promised.trust) == ("user", "local")
    assert "the rank of one item is replaced" in promised.in_words()
    assert "epsilon = 10, it changes" in promised.in_words()
    crowd = jax.jit(mallows.synthetic_guarantee)(jnp.array([3, 10]), jnp.array([4.0, 2.0]))
    assert (float(crowd.epsilon), float(crowd.also[0].epsilon)) == (4.0, 10.0)
    assert "largest" in crowd.note


SIZES = [(2, 2), (2, 5), (5, 5), (7, 20), (20, 20), (334, 1000), (1000, 1000)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_and_pairs_keep_their_digits(dtype):
    """Accurate to a few units in the last place at every ε, even where h(d+1) - h(d) loses all digits."""
    steps, items = np.array(SIZES).T
    unit = float(np.finfo(dtype).eps)
    for epsilon in (1e-3, 0.05, 1.0, 3.0, 12.0, 1e3):
        epsilon = dtype(epsilon)
        mean = mallows.insertion_mean(steps, items, epsilon)
        variance = mallows.insertion_variance(steps, items, epsilon)
        pairs = mallows.pair_order_probability(steps - 1, items, epsilon)
        assert {mean.dtype, variance.dtype, pairs.dtype} == {jnp.dtype(dtype)}
        exact = np.array([naive.kept_pairs(t, m, float(epsilon)) for t, m in SIZES])
        np.testing.assert_allclose(mean, exact[:, 0], rtol=4 * unit)
        np.testing.assert_allclose(variance, exact[:, 1], rtol=40 * unit, atol=1e-30)
        exact = [naive.pair_kept(t - 1, m, float(epsilon)) for t, m in SIZES]
        np.testing.assert_allclose(pairs, exact, rtol=4 * unit)


def test_pairs_and_concordance_are_those_of_the_enumeration():
    rankings, mass = naive.pmf(range(5), 2.0)
    i, j = np.indices((5, 5))
    ahead = np.einsum("r,rij->ij", mass, rankings[:, :, None] < rankings[:, None, :])
    ours = mallows.pair_order_probability(j - i, 5, 2.0)
    np.testing.assert_allclose(ours, ahead + 0.5 * np.eye(5), atol=1e-12)
    kept = sum(p * (10 - naive.discordant(range(5), ranks)) for ranks, p in zip(rankings, mass))
    concordance = mallows.expected_concordance(5, jnp.array([2.0, 1e-9, np.inf]))
    np.testing.assert_allclose(concordance, [kept, 5.0, 10.0], atol=1e-8)
    limits = mallows.pair_order_probability(3, 9, jnp.array([1e-12, np.inf]))
    np.testing.assert_allclose(limits, [0.5, 1.0], atol=1e-12)
    # Theorem 1(2) of the paper: the odds of a pair are at least those of neighbors
    gaps = np.arange(1, 9)
    assert np.all(np.diff(mallows.pair_order_probability(gaps, 9, 3.0)) > 0)
    np.testing.assert_allclose(
        mallows.pair_order_probability(1, 9, 3.0), 1 / (1 + np.exp(-3 / 8)), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("num_items", "k"), [(3, 1), (4, 1), (5, 1), (5, 2), (4, 2), (4, 0), (3, 3)]
)
def test_the_top_k_alone_loses_what_the_pairs_say(num_items, k):
    """Of all rankings that agree on the items in neither top K, by the definition: pairs, and the loss of a draw."""

    def rest(ranks, other):
        out = [i for i in range(num_items) if ranks[i] >= k and other[i] >= k]
        return sorted(out, key=lambda i: ranks[i])

    every = naive.all_rankings(range(num_items))
    pairs = [(a, b) for a in every for b in every if rest(a, b) == rest(b, a)]
    most = mallows.top_k_pairs(num_items, k)
    assert max(naive.discordant(a, b) for a, b in pairs) == most
    law = {tuple(a): naive.pmf(a, 2.0)[1] for a in every}
    loss = max(np.max(np.log(law[tuple(a)] / law[tuple(b)])) for a, b in pairs)
    assert loss == pytest.approx(most * 2.0 / (num_items - 1))

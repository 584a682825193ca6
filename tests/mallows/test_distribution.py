"""The Mallows model against its enumeration, its moments in 60 digits, losses of draws, and majorities."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from tests.mallows.crowd import CROWD
from tests.quick import thorough
from tests.reference import mallows as naive

CENTERS = [[2, 0, 1, 3], [1, -1, 0, 2], [-1, 0, -1, -1], [-1, -1, -1, -1]]
log_prob_of_each = jax.jit(jax.vmap(mallows.log_prob, (0, None, None)))


@pytest.mark.parametrize("epsilon", [1e-3, 2.0, 30.0])
def test_probabilities_are_those_of_the_enumeration(epsilon):
    for center in CENTERS:
        rankings, mass = naive.pmf(center, epsilon)
        log_p = log_prob_of_each(rankings, np.array(center), epsilon)
        np.testing.assert_allclose(log_p, np.log(mass), atol=1e-12, rtol=1e-12)


def test_other_items_than_those_of_the_center_have_no_probability():
    """And infinite ε leaves only the center."""
    for ranks, center, epsilon, expected in (
        ([0, 1, -1, 2], CENTERS[1], 1.0, -np.inf),
        ([0, 1, 2, 3], CENTERS[1], 1.0, -np.inf),
        ([2, 0, 1, 3], [2, 0, 1, 3], np.inf, 0.0),
        ([0, 1, 2, 3], [2, 0, 1, 3], np.inf, -np.inf),
    ):
        assert float(mallows.log_prob(ranks, center, epsilon)) == expected


def test_normalizer_has_its_limits_and_never_overflows():
    def log_z(items, epsilons):
        ranks = np.arange(items)
        return jax.jit(jax.vmap(lambda e: -mallows.log_prob(ranks, ranks, e)))(epsilons)

    for items in (1, 2, 5):
        sums = [
            np.log(sum(np.exp(-epsilon / max(items - 1, 1) * naive.discordant(range(items), ranks))
                       for ranks in itertools.permutations(range(items))))
            for epsilon in (0.5, 5.0)
        ]  # fmt: skip
        ours = log_z(items, np.array([0.5, 5.0, 1e-12, np.inf]))
        wanted = [*sums, math.log(math.factorial(items)), 0.0]
        np.testing.assert_allclose(ours, wanted, rtol=1e-12, atol=1e-12)
    epsilons = np.array([1e-3, 1.0, 1e3], np.float32)
    single, double = (log_z(1000, e) for e in (epsilons, epsilons.astype(float)))
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


@pytest.mark.parametrize("dtype", [thorough(np.float32), np.float64])
def test_moments_and_pairs_keep_their_digits(dtype):
    """Accurate to a few units in the last place at every ε, even where h(d+1) - h(d) loses all digits."""
    steps, items = np.array(SIZES).T
    unit = float(np.finfo(dtype).eps)
    for epsilon in (1e-3, 0.05, 1.0, 3.0, 12.0, 1e3):
        epsilon = dtype(epsilon)
        mean = mallows.distribution.insertion_mean(steps, items, epsilon)
        variance = mallows.distribution.insertion_variance(steps, items, epsilon)
        pairs = mallows.distribution.pair_order_probability(steps - 1, items, epsilon)
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
    ours = mallows.distribution.pair_order_probability(j - i, 5, 2.0)
    np.testing.assert_allclose(ours, ahead + 0.5 * np.eye(5), atol=1e-12)
    kept = sum(p * (10 - naive.discordant(range(5), ranks)) for ranks, p in zip(rankings, mass))
    concordance = mallows.distribution.expected_concordance(5, jnp.array([2.0, 1e-9, np.inf]))
    np.testing.assert_allclose(concordance, [kept, 5.0, 10.0], atol=1e-8)
    limits = mallows.distribution.pair_order_probability(3, 9, jnp.array([1e-12, np.inf]))
    np.testing.assert_allclose(limits, [0.5, 1.0], atol=1e-12)
    # Theorem 1(2) of the paper: the odds of a pair are at least those of neighbors
    gaps = np.arange(1, 9)
    assert np.all(np.diff(mallows.distribution.pair_order_probability(gaps, 9, 3.0)) > 0)
    np.testing.assert_allclose(
        mallows.distribution.pair_order_probability(1, 9, 3.0), 1 / (1 + np.exp(-3 / 8)), rtol=1e-14
    )


@pytest.mark.parametrize(
    ("num_items", "k"), [(3, 1), (4, 1), (5, 1), thorough(5, 2), (4, 2), (4, 0), (3, 3)]
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


def margins(centers, shares, epsilon: float) -> tuple[float, float]:
    """Margin of item 0 over item 1 in a crowd and in its synthetic rankings, by enumeration of all of them."""
    own = synthetic = 0.0
    for share, center in zip(shares, centers, strict=True):
        rankings, mass = naive.pmf(center, epsilon)
        own += share * np.sign(center[1] - center[0])
        synthetic += share * float(mass @ np.sign(rankings[:, 1] - rankings[:, 0]))
    return float(np.clip(own, -1, 1)), synthetic


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("num_items", [2, 3, thorough(5)])
def test_no_crowd_leaves_the_bounds(num_items: int, epsilon: float) -> None:
    rng = np.random.default_rng(num_items)
    for _ in range(40):
        centers = [rng.permutation(num_items) for _ in range(3)]
        own, synthetic = margins(centers, rng.dirichlet(np.full(3, 0.4)), epsilon)
        low, high = mallows.synthetic_margin_bounds(own, num_items, epsilon)
        assert low - 1e-6 <= synthetic <= high + 1e-6


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("num_items", [3, 5])
def test_the_crowd_of_the_theorem_attains_both_and_turns_at_the_sure_majority(num_items, epsilon):
    rest = list(range(2, num_items))
    near = np.argsort([0, 1, *rest])
    far = np.argsort([1, *rest, 0])  # item 1 first, item 0 last
    sure = float(mallows.sure_majority(num_items, epsilon))
    for share in (0.3, 0.51, sure):
        own, synthetic = margins([near, far], [share, 1 - share], epsilon)
        low, _ = mallows.synthetic_margin_bounds(own, num_items, epsilon)
        assert synthetic == pytest.approx(float(low), abs=1e-6)
        assert synthetic == pytest.approx(0, abs=1e-6) or share != sure
        reversed_own, reversed_synthetic = margins(
            [near[[1, 0, *rest]], far[[1, 0, *rest]]], [share, 1 - share], epsilon
        )
        _, high = mallows.synthetic_margin_bounds(reversed_own, num_items, epsilon)
        assert reversed_synthetic == pytest.approx(float(high), abs=1e-6)
    assert 0.5 < sure < (2 * num_items - 1) / (2 * num_items + 2)


def test_equal_gaps_keep_every_majority_within_sharper_bounds_than_the_printed_ones():
    """Neighbors in the center of a Mallows crowd: exchanging them turns one opinion into the other."""
    rankings, mass = naive.pmf(range(4), 3.0)
    for epsilon in (0.5, 4.0):
        own, synthetic = margins(rankings, mass, epsilon)
        low, high = mallows.synthetic_margin_bounds(own, 4, epsilon, crowd="equal-gaps")
        printed = mallows.synthetic_margin_bounds(own, 4, epsilon, crowd="published")
        assert low - 1e-6 <= synthetic <= high + 1e-6
        assert (float(printed[0]), True) == (pytest.approx(float(low)), bool(high < printed[1]))


def test_theorem_1_of_the_paper_is_false_in_both_parts():
    own, synthetic = margins(CROWD, [0.51, 0.49], 2.0)
    assert (own, synthetic) == (pytest.approx(0.02), pytest.approx(-0.18973, abs=1e-5))
    low, high = (float(x) for x in mallows.synthetic_margin_bounds(own, 5, 2.0, crowd="published"))
    assert (low / own, high / own) == (
        pytest.approx(0.2449, abs=1e-4),
        pytest.approx(0.9414, abs=1e-4),
    )
    assert abs(synthetic / own) == pytest.approx(9.49, abs=0.005)

"""One shuffled answer per user: unbiased where a pair has reports, within its error bound, at the largest budget."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import bounds
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_variance
from privrank_jax.privacy import shuffled_local_epsilon
from tests.promises import user
from tests.reference.shuffling import multiset_law, pair_report

RNG = np.random.default_rng(5)
RANKS = np.array([RNG.permutation(4) for _ in range(32)])
RANKS[:6, 2] = RANKS[:6, 1]  # ties
PAIRS = np.triu_indices(4, 1)
NOT_ASKED = (1 - 1 / 6) ** 32


def test_reports_follow_the_law_that_the_proof_assumes(key):
    """Two users of three items at ε = ∞: the weights are those of the multisets of two reports."""
    ranks = np.array([[0, 1, 2], [2, 1, 0], [0, 1, 2]])
    run = jax.jit(
        jax.vmap(lambda k: aggregation.shuffled_pair_weights(k, ranks, user(1e9, 1e-6)).value)
    )
    drawn = np.asarray(run(jax.random.split(key, 20_000)))[:, *np.triu_indices(3, 1)]
    chances = {}
    for reports, chance in multiset_law([pair_report(one, 50.0) for one in ranks]).items():
        bits = [[b for i, j, b in reports if (i, j) == pair] for pair in ((0, 1), (0, 2), (1, 2))]
        value = tuple(round(sum(b) / len(b) if b else 0.5, 6) for b in bits)
        chances[value] = chances.get(value, 0) + chance
    values, counts = np.unique(np.round(drawn, 6), axis=0, return_counts=True)
    seen = dict(zip(map(tuple, values.tolist()), (counts / 20_000).tolist()))
    assert set(seen) <= set(chances)
    for value, chance in chances.items():
        spread = (chance * (1 - chance) / 20_000) ** 0.5
        assert abs(seen.get(value, 0.0) - chance) < 5 * spread + 1e-3


def test_float32_budgets_are_rounded_down(key):
    with jax.enable_x64(False):
        found = aggregation.shuffled_pair_weights(key, RANKS, user(0.7, delta=1e-4))
    local = float(found.diagnostics.local_epsilon)
    exact = shuffled_local_epsilon(32, float(np.float32(0.7)), float(np.float32(1e-4)))
    assert exact * (1 - 1e-6) <= local <= exact


def test_guarantees():
    privacy = user(1.0, delta=1e-6)
    for found in (
        aggregation.shuffled_pair_weights(jax.random.key(0), RANKS, privacy),
        aggregation.shuffled_pair_weights.release(RANKS, privacy),
    ):
        assert (found.guarantee.unit, found.guarantee.trust) == ("user", "shuffled")
        assert (float(found.guarantee.epsilon), float(found.guarantee.delta)) == (1.0, 1e-6)
        assert "trusted shuffler" in found.guarantee.in_words()
        assert "local epsilon" in found.guarantee.note
        assert found.diagnostics.users_per_pair == pytest.approx(32 / 6)
    assert aggregation.shuffled_pair_weights.release(RANKS, privacy).guarantee.numerics == "exact"


def test_the_variance_bound_against_sums():
    """E[1/g; g > 0] by a sum over the binomial law: above it, and at most 2 % above with many reports."""
    from scipy import stats

    for items, users in ((2, 5), (4, 40), (10, 10_000)):
        pairs = items * (items - 1) // 2
        law = stats.binom(users, 1 / pairs)
        counts = np.arange(1, users + 1)
        inverse = np.sum(law.pmf(counts) / counts)
        none = (items - 1) / 4 * law.pmf(0)
        least = users / (users - 1) * inverse / 4 + none
        bound = float(shuffled_pair_variance(items, users, np.inf))
        assert least <= bound
        if users == 10_000:
            assert bound < 1.02 * least


@pytest.mark.parametrize(
    ("ranks", "privacy", "message"),
    [
        (RANKS[:5], user(1.0, delta=1e-6), "5 users are too few"),
        (RANKS, user(1.0), "needs delta > 0"),
        (RANKS[:, :1], user(1.0, delta=1e-6), "fewer than 2 items"),
        (RANKS * 0.5, user(1.0, delta=1e-6), "integers"),
    ],
)
def test_refusals(ranks, privacy, message, key):
    for call in (
        lambda: aggregation.shuffled_pair_weights(key, ranks, privacy),
        lambda: aggregation.shuffled_pair_weights.release(ranks, privacy),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_bounds_and_the_choice_of_a_method():
    local = shuffled_local_epsilon(5_000, 1.0, 1e-8)
    promise, told = user(1.0, 1e-8), {"trust": "shuffled"}
    borda = bounds.bound("borda", 10, 5_000, promise, **told)
    variance = float(shuffled_pair_variance(10, 5_000, local))
    assert float(borda.additive) == pytest.approx(20 * (9 * variance) ** 0.5)
    every = bounds.bound("noise-all", 10, 5_000, promise, **told)
    assert float(every.additive) == pytest.approx(90 * variance**0.5)
    for users, chosen in ((100_000, "noise-all"), (1_000, "borda")):
        found = aggregation.choose_method(10, users, user(1.0, delta=1e-8), trust="shuffled")
        assert found == chosen
    with pytest.raises(ValueError, match="needs delta > 0"):
        aggregation.choose_method(10, 1_000, user(1.0), trust="shuffled")

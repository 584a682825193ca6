"""The empirical audit: its bounds, violations that it must detect, its false alarms, and the rows of the registry.

At confidence 0.999 a sound row is called violated once in 1,000 keys; the keys are fixed.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import privacy_audit
from privrank_jax.aggregation.published import published_kwiksort
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import Audited, audit
from privrank_jax.privacy_audit.audited_rankings import QUERIES, number
from privrank_jax.privacy_audit.contents import pair_weights
from privrank_jax.privacy_audit.empirical import clopper_pearson, draw

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
QUICK = ("randomized-response", "noisy-counts-users", "noisy-counts-users-published")


def halved(row):
    """The same mechanism with half of its noise: run at 2ε, claimed at ε."""
    return dataclasses.replace(
        row, release=lambda key, data, privacy: row.release(key, data, row.at(2 * privacy.epsilon))
    )


def made_up(run, outcomes=("0", "1"), epsilon=1.0, delta=0.0):
    """A row of ``(key, bit, epsilon) -> outcome``."""
    data = (np.array(0), np.array(1))
    return Audited(
        name="made-up",
        title="made up",
        function="none",
        neighbors=data,
        release=lambda key, data, privacy: run(key, data, privacy.epsilon),
        promise=Privacy(epsilon, unit="comparison", adjacency="replace", delta=delta),
        sees="the outcome",
        outcomes=outcomes,
    )


# --- the bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [0.1, 0.002])
def test_clopper_pearson_errs_no_more_often_than_it_says(error):
    """Exactly, by the binomial law; and not far less often, or the bounds would be of no use."""
    trials = 60
    hits = np.arange(trials + 1)
    low, high = clopper_pearson(hits, trials, error)
    for chance in np.linspace(0.02, 0.98, 25):
        law = scipy.stats.binom.pmf(hits, trials, chance)
        assert law[low > chance].sum() <= error
        assert law[high < chance].sum() <= error
    chance = 0.5
    law = scipy.stats.binom.pmf(hits, trials, chance)
    assert law[low > chance].sum() > error / 4


def test_false_alarms_are_as_rare_as_stated(key):
    """A mechanism exactly at its claim, 100 audits at confidence 0.9, all the chances of selection included."""
    row = made_up(
        lambda key, bit, _: jax.random.bernoulli(key, 0.3 + 0.2 * bit).astype(int),
        epsilon=float(np.log(0.5 / 0.3)),
    )
    alarms = sum(
        audit(one, row, draws=1000, confidence=0.9).verdict == "violated"
        for one in jax.random.split(key, 100)
    )
    # At most 10 in the mean, not above 23 but once in 10,000; without the intervals about half of them.
    assert alarms <= 23


# --- what an audit finds ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", QUICK)
def test_sound_rows_pass_and_published_ones_are_caught(name, key):
    row = privacy_audit.get(name)
    found = audit(key, row, draws=100_000)
    assert found.verdict == ("consistent" if row.sound else "violated")
    assert found.exact is not None
    assert 0.8 * found.exact < found.lower <= found.exact
    assert found.estimate == pytest.approx(found.exact, abs=0.25)


@pytest.mark.parametrize("name", ["randomized-response", "noisy-counts-users"])
def test_half_of_the_noise_is_caught(name, key):
    assert audit(key, halved(privacy_audit.get(name)), draws=100_000).verdict == "violated"


def test_either_neighbor_may_be_the_likelier(key):
    """Outcome 0 comes once in 100 draws of the first, once in 10 of the second: the loss is there alone."""
    row = made_up(lambda key, bit, _: jax.random.bernoulli(key, 0.99 - 0.09 * bit).astype(int))
    found = audit(key, row, draws=50_000)
    assert found.swapped
    assert found.event == "the outcome is 0"
    assert 1.8 < found.lower < np.log(10)
    assert found.frequencies[0] > found.frequencies[1]


def test_unions_of_outcomes_are_tried(key):
    """Twenty outcomes, half of them e times as likely under the first: ten together reveal more than a single one."""

    def run(key, bit, _):
        part, place = jax.random.split(key)
        first = jax.random.bernoulli(part, jax.nn.sigmoid(1.0 - 2.0 * bit))
        return jax.random.randint(place, (), 0, 10) + jnp.where(first, 0, 10)

    found = audit(key, made_up(run, tuple(map(str, range(20)))), draws=60_000)
    assert found.frequencies[0] > 0.5
    assert "others" in found.event
    assert 0.9 < found.lower < 1.0


def test_delta_is_taken_off(key):
    """A mechanism that reveals the bit with probability 0.05 and nothing else: (0, 0.05)-DP, and no better."""

    def run(key, bit, _):
        return jnp.where(jax.random.bernoulli(key, 0.05), bit, 2)

    kept, broken = (made_up(run, ("0", "1", "nothing"), 1e-6, delta) for delta in (0.05, 0.04))
    assert audit(key, kept, draws=50_000).verdict == "consistent"
    caught = audit(key, broken, draws=50_000)
    assert caught.verdict == "violated"
    assert repr(caught).endswith("found, violated>")
    assert caught.lower > 2
    assert caught.as_dict()["estimate"] is None  # infinite: never seen under the other


def test_draws_are_independent_releases(key):
    """Both neighbors, all batches and the leftover: no two draws share a key."""
    row = made_up(lambda key, bit, _: jax.random.uniform(key), None)
    drawn = draw(key, row, 1.0, draws=1001, batch_size=100)
    assert drawn.shape == (2, 1001)
    assert len(np.unique(drawn)) > 2000  # float32 values may agree by chance, once or so


# --- the registry ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_transcript_is_that_of_the_sort(key):
    """With its key the audited transcript has the excess and, after it, the ranking of dp_kwiksort itself."""
    row = privacy_audit.get("dp-kwiksort-published")

    def both(key):
        weights = pair_weights(jnp.asarray(row.neighbors[0]))
        real = published_kwiksort(key, weights, row.promise, max_queries=QUERIES)
        seen = row.run(key, jnp.asarray(row.neighbors[0]), row.promise)
        return seen, real.diagnostics.exceeded, number(real.value)

    seen, exceeded, ranking = (
        np.asarray(x) for x in jax.jit(jax.vmap(both))(jax.random.split(key, 200))
    )
    np.testing.assert_array_equal(seen % 7 < 6, exceeded)
    np.testing.assert_array_equal(seen[exceeded] % 7, ranking[exceeded])
    assert 50 < exceeded.sum() < 150


# --- all rows --------------------------------------------------------------------------------------


# One number of several that are released: it loses what all of them lose in its tails only, which are rarely drawn.
SHOWN = {
    "perturbed_mle": 0.6,
    "published_mle": 0.6,
    "private_weights": 0.6,
    "perturbed_choices": 0.2,
    "perturbed_covariates": 0.03,
}


@pytest.mark.slow
@every_row
def test_every_row_at_a_million_draws(row, key):
    """The claim, the exact loss and, where draws show most of the claim, half of the noise missing."""
    found = audit(key, row)
    assert found.verdict == ("consistent" if row.sound else "violated")
    share = SHOWN.get(row.function, 0.75)
    assert share * found.exact < found.lower <= found.exact
    if row.sound and share > 0.5 and found.exact > 0.6 * found.promise.epsilon:
        assert audit(key, halved(row), draws=200_000).verdict == "violated"

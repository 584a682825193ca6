"""One-shot Laplace selection: exact law, exact privacy, the published formulas and their limits."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import noisy_counts, one_shot_top_k
from tests import reference
from tests.promises import promise

KEY = jax.random.key(4)


def law(scores, k, scale):
    orders = itertools.permutations(range(len(scores)), k)
    return np.array([reference.one_shot_probability(scores, order, scale) for order in orders])


def scale_of(wins, k, asked, **options):
    return float(one_shot_top_k(KEY, wins, asked, k, **options).diagnostics.noise_scale)


def no_wins(size):
    return WinCounts.from_matrix(np.zeros((size, size)))


def test_loss_of_the_ordered_list_is_at_most_epsilon_and_reaches_it():
    epsilon, sensitivity, k = 0.8, 1.5, 2
    scale = scale_of(np.zeros(5), k, promise(epsilon), sensitivity=sensitivity)
    assert scale == pytest.approx(2 * k * sensitivity / epsilon)
    # Three items are far ahead: the most likely way for the other two to win is to rise, not for three to fall.
    ahead = np.array([0.0, 0.0, 25.0, 25.0, 25.0]) * scale
    worst = 0.0
    for scores in (ahead, np.array([1.0, 0.0, 2.0, 3.0, 1.0])):
        base = law(scores, k, scale)
        for signs in itertools.product((-1.0, 1.0), repeat=5):
            other = law(scores + sensitivity * np.array(signs), k, scale)
            worst = max(worst, np.max(np.abs(np.log(base / other))))
    assert 0.99 * epsilon <= worst <= epsilon * (1 + 1e-8)


@pytest.mark.parametrize(("adjacency", "factor"), [("flip", 2), ("replace", 2), ("add-remove", 1)])
def test_tight_scale_on_totals_is_that_of_noisy_counts_and_is_attained(adjacency, factor):
    epsilon = 0.8
    for k in (1, 2):
        asked = promise(epsilon, "user", adjacency, 4)
        counts = float(noisy_counts(KEY, no_wins(3), asked).diagnostics.noise_scale)
        assert scale_of(no_wins(3), k, asked) == pytest.approx(counts)
    scale = scale_of(no_wins(2), 1, promise(epsilon, adjacency=adjacency))
    assert scale == pytest.approx(factor / epsilon)
    move = np.array([1.0, -1.0]) if factor == 2 else np.array([1.0, 0.0])
    # Report-noisy-max loses little less than its bound where the winner is clear: here at 400 scales.
    losses = []
    for gap in (0.0, 5.0, 400.0):
        scores = np.array([0.0, gap]) * scale
        log_ratio = np.log(law(scores + move, 1, scale)[0] / law(scores, 1, scale)[0])
        losses.append(log_ratio)
    assert max(losses) <= epsilon * (1 + 1e-8)
    assert losses[-1] >= 0.99 * epsilon


def test_published_formulas_stand_as_they_are():
    k, epsilon, delta, limit = 5, 0.2, 0.01, 3
    published = {"calibration": "published"}
    wins, asked = no_wins(20), promise(epsilon, "user", contributions=limit, delta=delta)
    pure = scale_of(wins, k, asked, **published)
    assert pure == pytest.approx(2 * k * limit / epsilon)
    approximate = scale_of(wins, k, asked, approximate=True, **published)
    wanted = 8 * limit * math.sqrt(k * math.log(20 / delta)) / epsilon
    assert approximate == pytest.approx(wanted, rel=1e-12)
    # Only real items count in ln(m/δ).
    masked = WinCounts(jnp.zeros((30, 30)), jnp.arange(30) < 20)
    padded = scale_of(masked, k, asked, approximate=True, **published)
    assert padded == pytest.approx(approximate, rel=1e-12)


def test_tight_calibration_takes_the_smallest_proven_scale():
    size, k, delta = 1000, 400, 0.05  # k > 16 ln(m/δ) = 158
    scores = np.zeros(size)
    options = {"approximate": True, "sensitivity": 1.0}
    inside = scale_of(scores, k, promise(0.2, delta=delta), **options)
    assert inside == pytest.approx(8 * math.sqrt(k * math.log(size / delta)) / 0.2, rel=1e-12)
    assert scale_of(scores, k, promise(0.21, delta=delta), **options) == pytest.approx(2 * k / 0.21)
    assert scale_of(scores, 3, promise(0.2, delta=delta), **options) == pytest.approx(6 / 0.2)


def test_published_delta_outside_the_theorem_is_refused_or_carries_what_is_proven():
    wins = no_wins(20)
    with pytest.raises(ValueError, match="guarantee of the one-shot"):
        one_shot_top_k(
            KEY, wins, promise(0.5, delta=0.01), 5, calibration="published", approximate=True
        )
    with pytest.raises(ValueError, match="and delta <= 0"):
        one_shot_top_k(
            KEY, wins, promise(0.1, delta=0.1), 5, calibration="published", approximate=True
        )

    def traced(epsilon, delta):
        return one_shot_top_k(
            KEY, wins, promise(epsilon, delta=delta), 5, calibration="published", approximate=True
        )

    budgets = jnp.array([0.1, 0.5, 0.5])
    estimate = jax.vmap(traced)(budgets, jnp.array([0.01, 0.01, 0.0]))
    scale = np.asarray(estimate.diagnostics.noise_scale)
    np.testing.assert_allclose(
        scale, [8 * math.sqrt(5 * math.log(2000)) / e for e in (0.1, 0.5)] + [20.0]
    )
    np.testing.assert_allclose(estimate.guarantee.epsilon, [0.1, 2 / scale[1], 2 / scale[2]])
    np.testing.assert_allclose(estimate.guarantee.delta, [0.01, 0.0, 0.0])


def test_the_set_of_the_published_scale_keeps_its_delta():
    epsilon, delta, k = 0.2, 0.05, 2
    scale = scale_of(
        np.zeros(4),
        k,
        promise(epsilon, delta=delta),
        approximate=True,
        sensitivity=1.0,
        calibration="published",
    )
    orders = list(itertools.permutations(range(4), k))

    def sets(scores):
        by_set = {}
        for order, probability in zip(orders, law(scores, k, scale)):
            by_set[frozenset(order)] = by_set.get(frozenset(order), 0.0) + probability
        return np.array([by_set[chosen] for chosen in sorted(by_set, key=sorted)])

    for scores in (np.zeros(4), np.array([0.0, 0.0, 1.0, 9.0]) * scale):
        base = sets(scores)
        for signs in itertools.product((-1.0, 1.0), repeat=4):
            excess = base - math.exp(epsilon) * sets(scores + np.array(signs))
            assert np.maximum(excess, 0).sum() <= delta


def test_with_delta_the_value_does_not_tell_the_order(key):
    scores = jnp.array([0.0, 30.0, 20.0, 10.0]) * 1e4
    plain = one_shot_top_k(key, scores, promise(0.2), 2, sensitivity=1.0)
    hidden = one_shot_top_k(
        key, scores[::-1], promise(0.2, delta=0.01), 2, sensitivity=1.0, approximate=True
    )
    assert plain.value.tolist() == [1, 2]
    assert hidden.value.tolist() == [1, 2]  # the best is item 2
    assert plain.value.dtype == jnp.int32


def test_masked_items_are_never_selected(key):
    mask = jnp.array([True, False, False, True])
    keys = jax.random.split(key, 50)
    scores = jnp.array([0.0, 9.0, 9.0, 0.0])
    asked, options = promise(0.2, delta=0.01), {"sensitivity": 1.0, "mask": mask}
    for approximate in (False, True):
        chosen = jax.vmap(
            lambda one, approximate=approximate: (
                one_shot_top_k(one, scores, asked, 3, approximate=approximate, **options).value
            )
        )(keys)
        rows = {tuple(row) for row in np.asarray(chosen)}
        assert rows == ({(0, 3, -1)} if approximate else {(0, 3, -1), (3, 0, -1)})


def test_no_noise_at_infinite_epsilon(key):
    scores = jnp.array([1.0, 5.0, 3.0])
    asked, options = promise(math.inf, delta=0.01), {"sensitivity": 1.0, "approximate": True}
    for calibration in ("tight", "published"):
        estimate = one_shot_top_k(key, scores, asked, 2, calibration=calibration, **options)
        assert estimate.value.tolist() == [1, 2]
        assert float(estimate.diagnostics.noise_scale) == 0.0


def test_unknown_calibration_is_refused():
    with pytest.raises(ValueError, match="calibration must be one of"):
        one_shot_top_k(KEY, no_wins(3), promise(1.0), 1, calibration="loose")


def test_delta_counts_only_where_it_is_asked_for(key):
    """A promise with δ does not change the noise by itself, and (ε, δ) without δ is refused."""
    scores = np.zeros(1000)
    with_delta = one_shot_top_k(key, scores, promise(0.2, delta=0.05), 400, sensitivity=1.0)
    without = one_shot_top_k(key, scores, promise(0.2), 400, sensitivity=1.0)
    assert with_delta.value.tolist() == without.value.tolist()
    assert float(with_delta.guarantee.delta) == 0.0
    with pytest.raises(ValueError, match=r"needs delta > 0.*or choose approximate=False"):
        one_shot_top_k(key, scores, promise(0.2), 400, sensitivity=1.0, approximate=True)

"""Integer strategies with exact noise: sensitivity of the rounded matrix and of parts, and the law of the noise."""

from __future__ import annotations

import itertools
import math
import secrets
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.exact.entropy import SYSTEM, SecretStream
from privrank_jax.pairwise.score_stream import Part, parts_of
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.prefix_sums import prefix_sum_errors
from privrank_jax.release import exact_strategy as module
from privrank_jax.release.exact_strategy import ExactStrategy, strategy_of
from tests.exact.laws import assert_mean, power
from tests.promises import promise
from tests.reference import continual as twin
from tests.release.strategies import matrices

ASKED = promise(1.0, "user", "replace", 2, delta=1e-4)


@pytest.mark.parametrize(("noise", "steps"), [("gaussian", 9), ("laplace", 9), ("laplace", 1000)])
def test_strategies_are_integer_and_give_prefix_sums(noise, steps):
    asked = ASKED if noise == "gaussian" else promise(1.0, "user", "replace", 2)
    strategy = strategy_of(asked, steps, noise)
    decode, encode = matrices(strategy, steps)
    np.testing.assert_array_equal(encode, np.rint(encode))
    assert np.all(encode >= 0)
    np.testing.assert_allclose(decode @ encode / strategy.unit, np.tri(steps), atol=1e-9)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_strategies_without_a_last_step_are_integer_too(noise):
    asked = ASKED if noise == "gaussian" else promise(1.0, "user", "replace", 2)
    strategy = strategy_of(asked, None, noise)
    before = strategy.deviations(2)
    decode, encode = matrices(strategy, 1100)
    assert np.all(encode >= 0)
    np.testing.assert_array_equal(encode, np.rint(encode))
    np.testing.assert_allclose(decode @ encode / strategy.unit, np.tri(1100), atol=1e-9)
    np.testing.assert_array_equal(matrices(strategy, 70)[0], decode[:70, :70])
    np.testing.assert_array_equal(strategy.deviations(1100)[:2], before)
    alike = prefix_sum_errors(f"unbounded-{'root' if noise == 'gaussian' else 'tree'}", 1100, noise)
    np.testing.assert_allclose(strategy.deviations(1100) / before[0], alike / alike[0], rtol=2e-2)


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_user_loses_more_than_promised_without_a_last_step(noise, adjacency):
    """Brute force over 33 steps, where two levels of the tree end, in units of the noise of each row."""
    asked = promise(1.0, "user", adjacency, 1, delta=1e-4 if noise == "gaussian" else 0.0)
    strategy = strategy_of(asked, None, noise)
    units = np.array([[float(strategy.scale) * strategy.growth(step)] for step in range(33)])
    encode = 2 * matrices(strategy, 33)[1] / units
    order, budget = (2, float(gaussian_budget(1.0, 1e-4))) if asked.delta else (1, 1.0)
    largest = twin.largest_change(encode, 2, 1, adjacency, order) / budget
    if noise == "laplace":
        assert largest == pytest.approx(3 / 4)  # of the levels, 1 and 1/2 of 1 + 1/2 + 1/4 + ...
    bound = strategy.unit if asked.delta else 2
    column = np.linalg.norm(encode * float(strategy.scale) / 2, order, axis=0).max()
    assert largest == pytest.approx(column / bound, rel=1e-6)


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_sensitivity_of_the_rounded_matrix(adjacency):
    """Brute force over all that a user of 2 comparisons can hold: the squared sensitivity is exact, as an integer."""
    asked = promise(1.0, "user", adjacency, 2, delta=1e-4)
    for steps, bits in itertools.product((1, 3), (1, 8)):
        strategy = ExactStrategy(asked, "square-root", steps, bits)
        encode = matrices(strategy, steps)[1]
        largest = twin.largest_change(2 * encode, 2, 2, adjacency, 2)
        assert strategy.squared_sensitivity == pytest.approx(largest**2, rel=1e-12)
        budget = gaussian_budget(1.0, 1e-4)
        assert Fraction(strategy.scale) ** 2 * budget**2 >= strategy.squared_sensitivity
        assert float(strategy.scale) <= math.sqrt(strategy.squared_sensitivity) / budget * (
            1 + 1e-9
        )


@pytest.mark.parametrize(("steps", "levels"), [(1000, 10), (3, 1)])
def test_scale_of_laplace_noise(steps, levels):
    """That of the totals of one release times the longest column: the tree is used where it has the smaller error."""
    asked = promise(0.5, "user", "replace", 3)
    strategy = strategy_of(asked, steps, "laplace")
    column = np.abs(matrices(strategy, steps)[1]).sum(0).max()
    assert column == levels
    expected = 2 * float(totals_sensitivity(asked)) * levels / 0.5
    assert strategy.scale == pytest.approx(expected)


@pytest.mark.parametrize(
    ("noise", "steps", "draws", "less"),
    [("gaussian", 3, 40_000, 0.95), ("laplace", 3, 15_000, 0.9), ("gaussian", None, 40_000, 0.95)],
)
def test_the_noise_has_the_stated_deviation(noise, steps, draws, less):
    """Mean square at the third step of many exact draws; false-alarm rate 10^-9, and less noise is found."""
    asked = ASKED if noise == "gaussian" else promise(1.0, "user", "replace", 2)
    strategy = strategy_of(asked, steps, noise)
    drawn = strategy.drawn(np.zeros((3, draws), np.int64), 0, [SYSTEM] * 3)
    last = strategy.decoded(drawn)[-1] / strategy.deviations(3)[-1]
    spread = math.sqrt(
        2 if noise == "gaussian" else 5
    )  # of squares, whose sums over steps have less
    assert_mean(last**2, 1, spread)
    assert power(draws, (1, spread), (less**2, less**2 * spread)) > 0.99


def test_longer_intervals_have_more_noise():
    """The sum of 32 steps has twice the noise of one step, and is drawn so where it is not the first row drawn."""
    strategy = strategy_of(promise(1.0, "user", "replace", 2), None, "laplace")
    counts, draws = np.zeros((33, 20_000), np.int64), 20_000
    every = strategy.drawn(counts, 30, [SYSTEM] * 3)
    for place, (row, levels) in enumerate(zip(every, (1, 2, 1))):
        assert levels == strategy.growth(30 + place)
        told = float(strategy.scale) * levels
        assert_mean((row / told) ** 2, 2, math.sqrt(20))
    assert power(draws, (2, math.sqrt(20)), (2 * 0.85**2, math.sqrt(20) * 0.85**2)) > 0.99


def test_counts_too_many_for_64_bits_are_refused():
    """In 8 steps they add up to 2^64, which is 0 in int64."""
    strategy = strategy_of(ASKED, 8, "gaussian")
    with pytest.raises(ValueError, match="at most 8,796,093,022,208 wins"):
        strategy.drawn(np.full((8, 3), 2**61), 0, [SYSTEM] * 8)


@pytest.mark.parametrize(("epsilon", "contributions"), [(1e-3, 700), (0.01, 10_000)])
def test_ten_thousand_steps_at_small_budgets(epsilon, contributions):
    """A deviation of nearly 2^40, at which numbers are exact, and the largest counts: noise has the stated law."""
    asked = promise(epsilon, "user", "replace", contributions, delta=1e-9)
    strategy = strategy_of(asked, 10_000, "gaussian")
    assert 2**39 < strategy.scale <= 2**40
    budget = gaussian_budget(epsilon, 1e-9)
    assert Fraction(strategy.scale) ** 2 * budget**2 >= strategy.squared_sensitivity
    counts = np.zeros((2, 5000), np.int64)
    counts[:, 0] = module._LARGEST_COUNT // 2
    drawn = strategy.drawn(counts, 0, [SYSTEM] * 2)
    center = np.array([[1.0], [1.5]]) * strategy.unit * counts[0].astype(float)
    assert_mean((drawn - center) ** 2 / float(strategy.scale) ** 2, 1, math.sqrt(2))


def test_fewer_bits_where_much_noise_is_due():
    asked = promise(1e-3, "user", "replace", 10**5, delta=1e-9)
    strategy = strategy_of(asked, 10, "gaussian")
    assert strategy.unit < 1 << module._DIGITS
    assert strategy.scale <= module._LARGEST


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_parts_share_the_budget_and_use_all_of_it(noise, adjacency):
    """Brute force over all that a user of 2 comparisons of 3 items can hold, in units of the noise of each part."""
    delta = 1e-4 if noise == "gaussian" else 0.0
    asked, parts = promise(1.0, "user", adjacency, 2, delta=delta), parts_of(3)
    for steps in (1, 3, None):
        strategy = strategy_of(asked, steps, noise, parts)
        encode = matrices(strategy, steps or 3)[1]
        units = [1 / float(scale) for scale in strategy.scales]
        order, budget = (2, float(gaussian_budget(1.0, 1e-4))) if delta else (1, 1.0)
        largest = twin.largest_change(2 * encode, 3, 2, adjacency, order, units)
        share = largest / budget
        if steps is None:  # what is left is for later steps: of the tree half
            assert 0.6 < share < 0.8 if delta else share == pytest.approx(0.5)
        else:
            assert 0.999 < share <= 1 + 1e-9


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_the_noise_of_each_part_has_its_deviation(noise):
    """Mean square at the last step of many exact draws, false-alarm rate 10^-9; parts are independent."""
    asked = ASKED if noise == "gaussian" else promise(1.0, "user", "replace", 2)
    parts = parts_of(60)
    strategy = strategy_of(asked, 3, noise, parts)
    sizes = [part.size for part in parts]
    sources = [SecretStream(secrets.token_bytes(32)) for _ in range(3)]
    drawn = strategy.drawn(np.zeros((3, sum(sizes)), np.int64), 0, sources)
    last = np.split(strategy.decoded(drawn)[-1], [sizes[0]])
    for number, noisy in enumerate(last):
        spread = math.sqrt(2 if noise == "gaussian" else 5)
        assert_mean((noisy / strategy.deviations(3, number)[-1]) ** 2, 1, spread)
    size = min(sizes)
    assert abs(np.corrcoef(last[0][:size], last[1][:size])[0, 1]) < 6 / math.sqrt(size)
    alike = strategy_of(asked, 3, noise, (Part(200, 1, Fraction(1, 2)),) * 2)
    halves = np.split(alike.drawn(np.zeros((3, 400), np.int64), 0, sources), 2, axis=1)
    assert abs(np.corrcoef(halves[0].ravel(), halves[1].ravel())[0, 1]) < 6 / math.sqrt(600)

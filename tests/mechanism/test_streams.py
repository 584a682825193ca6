"""What counts over time keep: their numbers after every step, the law of the noise, what whole streams lose, use."""

from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import MAX_PAIR_ITEMS, continual_score_sums, continual_totals
from privrank_jax.privacy.prefix_sums import STRATEGIES, strategy_matrices
from tests.exact.strategies import matrices
from tests.promises import promise
from tests.quick import soon
from tests.reference import continual as twin
from tests.reference.calibration import gaussian_scale

STEPS, ITEMS, DELTA = 4, 3, 1e-4
STREAM = np.random.default_rng(0).integers(0, 9, (STEPS, ITEMS, ITEMS)) * (1.0 - np.eye(ITEMS)) / 2
UNITS = {"gaussian": (math.sqrt(8 / 3), 2.0), "laplace": (8 / 3, 4.0)}  # shares 3/4 and 1/4


def by_loops(matrix):
    won = [sum(matrix[i][j] for j in range(ITEMS)) for i in range(ITEMS)]
    lost = [sum(matrix[j][i] for j in range(ITEMS)) for i in range(ITEMS)]
    met = [matrix[i][j] + matrix[j][i] for i, j in itertools.combinations(range(ITEMS), 2)]
    return [*won, *lost, *met]


@dataclasses.dataclass(frozen=True)
class Case:
    """A record, its data and what it adds noise to; ``sizes`` of the parts."""

    record: object
    data: object
    numbers: np.ndarray
    adjacencies: tuple
    sizes: tuple

    def of(self, steps):
        """Data of win matrices."""
        return steps.sum(-1) if len(self.sizes) == 1 else WinCounts(jnp.asarray(steps))

    def units(self, noise, scale):
        """Of each part, the inverse scale where that of the first is known; None: totals alone."""
        if len(self.sizes) == 1:
            return None
        first, second = UNITS[noise]
        return 1 / scale, first / second / scale


SUMS = np.array([by_loops(one) for one in STREAM])
TOTALS, STREAM_OF_WINS = SUMS[:, :ITEMS], WinCounts.from_matrix(STREAM)
CASES = {
    "totals": Case(continual_totals, TOTALS, TOTALS, ("flip", "replace", "add-remove"), (ITEMS,)),
    "sums": Case(continual_score_sums, STREAM_OF_WINS, SUMS, ("replace", "add-remove"), (6, 3)),
}
EACH = [pytest.param(one, noise, id=f"{n}-{noise}") for n, one in CASES.items() for noise in UNITS]
each = pytest.mark.parametrize(("case", "noise"), EACH)
ADJACENT = [
    pytest.param(case, adjacency, noise, id=f"{name}-{adjacency}-{noise}")
    for name, case in CASES.items()
    for adjacency in case.adjacencies
    for noise in UNITS
]


def asked(noise, adjacency="replace", epsilon=1.0, limit=2):
    return promise(epsilon, "user", adjacency, limit, delta=DELTA if noise == "gaussian" else 0.0)


def strategies_of(noise):
    return (*STRATEGIES, "unbounded-root" if noise == "gaussian" else "unbounded-tree")


def fits(drawn, law):
    """Whether numbers have a law and its variance, within 6 standard errors of a kurtosis of 6."""
    drawn = drawn.ravel()
    margin = 6 * math.sqrt(5 / drawn.size)
    ratio = (drawn**2).mean() / law.var()
    return bool(stats.kstest(drawn, law.cdf).pvalue > 1e-9 and abs(ratio - 1) < margin)


@each
def test_after_every_step_there_are_the_numbers_of_the_naive_twin(case, noise, key):
    """Without noise by every strategy; exactly, with noise far below one half."""
    right = np.cumsum(case.numbers, axis=0)
    for strategy in strategies_of(noise):
        free = asked(noise, epsilon=math.inf)
        found = case.record(key, case.data, free, noise=noise, strategy=strategy)
        np.testing.assert_allclose(found.value, right, rtol=1e-6)
    for steps in (None, STEPS, 1100):
        found = case.record.release(case.data, asked(noise, epsilon=1e6), noise=noise, steps=steps)
        np.testing.assert_allclose(found.value, right, atol=0.1)
        assert found.guarantee.numerics == "exact"


@pytest.mark.parametrize(("case", "noise"), soon(EACH, "sums-*", "*-laplace"))
def test_noise_goes_by_the_rows_of_the_strategy(case, noise, key):
    """All strategies draw the same noise at a key: told by that which adds nothing up, and its law by many draws."""
    alone = case.record(key, case.data, asked(noise), noise=noise, strategy="independent")
    scales = [alone.diagnostics.noise_scale, alone.diagnostics.pair_scale]
    each_scale = np.repeat([float(s) for s in scales if s is not None], case.sizes)
    drawn = (np.asarray(alone.value) - np.cumsum(case.numbers, 0)) / each_scale
    for strategy in strategies_of(noise):
        found = case.record(key, case.data, asked(noise), noise=noise, strategy=strategy)
        ratio = float(found.diagnostics.noise_scale / alone.diagnostics.noise_scale)
        decode = strategy_matrices(strategy, STEPS)[0]
        unit = math.sqrt(2 if noise == "laplace" else 1)
        wanted = twin.noisy_prefix_sums(case.numbers, decode, drawn * each_scale * ratio)
        np.testing.assert_allclose(found.value, wanted, rtol=1e-5, atol=1e-4)
        rows = unit * np.linalg.norm(decode, axis=1)
        for scale, told in zip(each_scale[[0, -1]], ("deviations", "pair_deviations")):
            if (found_rows := getattr(found.diagnostics, told)) is not None:
                np.testing.assert_allclose(found_rows, scale * ratio * rows, rtol=1e-5)
    keys = jax.random.split(key, 4000)
    told = {"noise": noise, "strategy": "independent"}
    run = jax.jit(jax.vmap(lambda one: case.record(one, case.data, asked(noise), **told).value))
    many = run(keys)
    law = stats.norm if noise == "gaussian" else stats.laplace
    drawn = (np.asarray(many, float) - np.cumsum(case.numbers, 0)) / each_scale
    for factor, agrees in ((1.0, True), (0.95, False)):
        assert fits(drawn / factor, law) == agrees
    between = np.corrcoef(drawn.reshape(4000, -1).T) - np.eye(drawn[0].size)
    assert np.abs(between).max() < 6 / math.sqrt(4000)


@pytest.mark.parametrize(("case", "adjacency", "noise"), soon(ADJACENT, "*flip*", "sums-rep*"))
def test_a_whole_stream_loses_what_is_promised_and_no_more(case, adjacency, noise, key):
    """Over all that a user of 2 comparisons holds at any steps: with 5 % less noise ε would be exceeded."""
    promised, order = asked(noise, adjacency), 1 if noise == "laplace" else 2

    def lost(encode, scale):
        units = case.units(noise, scale)
        moved = twin.largest_change(encode, ITEMS, 2, adjacency, order, units)
        moved = moved if units else moved / scale
        return moved if noise == "laplace" else moved * gaussian_scale(1.0, 1.0, DELTA)

    data = jax.tree.map(lambda leaf: leaf[:3], case.data)
    for strategy in strategies_of(noise):
        told = case.record(key, data, promised, noise=noise, strategy=strategy).diagnostics
        scale = float(told.noise_scale)
        public = {"steps": 3, "num_items": ITEMS, "noise": noise, "strategy": strategy}
        assert float(case.record.scale(promised, **public)[0]) == scale
        if told.pair_scale is not None:
            first, second = UNITS[noise]
            assert float(told.pair_scale) == pytest.approx(scale * second / first, rel=1e-6)
        share = lost(strategy_matrices(strategy, 3)[1], scale)
        if strategy.startswith("unbounded"):  # what is left is for later steps
            assert 0.4 < share < 1
        else:
            assert share <= 1 + 1e-4
            assert share / 0.95 > 1
    for steps in (1, 3, None):
        rows = case.record.rows(promised, ITEMS, steps, noise)
        scales = [float(scale) / rows.strategy.unit / 2 for scale in rows.scales]
        if len(scales) > 1:
            assert scales[1] / scales[0] == pytest.approx(UNITS[noise][1] / UNITS[noise][0])
        encode = matrices(rows.strategy, steps or 3)[1] / rows.strategy.unit
        share = lost(encode, scales[0])
        assert share <= 1 + 1e-7
        assert 0.4 < share < 0.8 if steps is None else share / 0.95 > 1


def test_the_scale_without_a_last_step_is_that_of_the_whole_column(key):
    """Of all rows to come: 2 for the tree, in ℓ₁, and 1 for the root, in units of a release of one step."""
    for noise, strategy, length in (
        ("laplace", "unbounded-tree", 2.0),
        ("gaussian", "unbounded-root", 1.0),
    ):
        told = {"num_items": 3, "noise": noise}
        once = continual_totals.scale(asked(noise), steps=1, strategy="increments", **told)
        found = continual_totals.scale(asked(noise), steps=7, strategy=strategy, **told)
        assert float(found[0]) == pytest.approx(length * float(once[0]), rel=1e-6)
        rows = continual_totals.rows(asked(noise), 3, None, noise)
        assert rows.told(1)[0] == pytest.approx(float(found[0]), rel=1e-4)


LAWS = [pytest.param(*one.values, n, id=f"{one.id}-{n}") for one in EACH for n in (3, None)]


@pytest.mark.parametrize(("case", "noise", "steps"), soon(LAWS, "t*-laplace-None", "t*-gaussian-3"))
def test_exact_noise_has_the_law_of_its_rows(case, noise, steps):
    """Sums less what was added by earlier rows: independent noise of the stated scale; 10 % less is seen."""
    data, little = case.of(np.zeros((3, ITEMS, ITEMS))), asked(noise, epsilon=0.02)
    found = [case.record.release(data, little, noise=noise, steps=steps) for _ in range(1200)]
    told = found[0].diagnostics
    rows = case.record.rows(little, ITEMS, steps, noise)
    encode = matrices(rows.strategy, 3)[1] / rows.strategy.unit
    values = np.array([one.value for one in found])
    drawn = np.einsum("st,rtd->rsd", encode, np.diff(values, axis=1, prepend=0))
    law = stats.norm if noise == "gaussian" else stats.laplace
    parts = np.split(drawn, np.cumsum(case.sizes)[:-1], axis=-1)
    for part, scale in zip(parts, (told.noise_scale, told.pair_scale)):
        for factor, agrees in ((1, True), (0.9, False)):
            assert fits(part / (factor * scale), law) == agrees
    between = np.corrcoef(drawn.reshape(1200, -1).T) - np.eye(drawn[0].size)
    assert np.abs(between).max() < 6 / math.sqrt(1200)
    spread = values.std((0, 2)) if len(case.sizes) == 1 else values[..., :6].std((0, 2))
    np.testing.assert_allclose(spread, told.deviations[:3], rtol=0.1)


@pytest.mark.parametrize(("case", "noise"), soon(EACH, "sums-laplace"))
def test_of_a_batch_values_are_those_of_single_calls(case, noise, key):
    """Over keys, ε and L."""

    def run(key, epsilon, limit):
        told = asked(noise, epsilon=epsilon, limit=limit)
        return case.record(key, case.data, told, noise=noise).value

    keys, budgets, limits = jax.random.split(key, 2), jnp.array([1.0, 2.0]), jnp.array([3, 5])
    both = jax.jit(jax.vmap(run))(keys, budgets, limits)
    for place in range(2):
        alone = run(keys[place], float(budgets[place]), int(limits[place]))
        np.testing.assert_allclose(both[place], alone, rtol=1e-4, atol=1e-3)


def test_many_items_have_no_pair_counts(key):
    items = MAX_PAIR_ITEMS + 1
    wins = WinCounts(jnp.zeros((2, items, items)))
    found = continual_score_sums(key, wins, asked("gaussian"))
    assert found.value.shape == (2, 2 * items)
    assert found.diagnostics.pair_deviations is None


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_fit_is_refused(case, key):
    good, one = asked("laplace"), case.data
    for data, promised, noise, word in [
        (one, promise(1.0, "rank"), "laplace", "comparisons"),
        (one, good, "gaussian", "delta"),
        (one, good, "k-norm", "noise"),
        (one, dataclasses.replace(good, contributions=None), "laplace", "contributions"),
        (SUMS[0, :3] if len(case.sizes) == 1 else WinCounts(STREAM[0]), good, "laplace", "steps|T"),
    ]:
        for call in (lambda *args, **more: case.record(key, *args, **more), case.record.release):
            with pytest.raises(ValueError, match=word):
                call(data, promised, noise=noise)
    with pytest.raises(ValueError, match="strategy"):
        case.record(key, one, good, noise="laplace", strategy="banded")
    for promised, steps, word in [
        (asked("laplace", epsilon=jnp.inf), STEPS, "epsilon"),
        (good, 3, "steps"),
        (good, 10_001, "10,000"),
        (good, 2.5, "steps"),
        (asked("laplace", epsilon=1e-15), STEPS, "no exact noise"),
    ]:
        with pytest.raises(ValueError, match=word):
            case.record.release(one, promised, noise="laplace", steps=steps)
    with pytest.raises(ValueError, match="multiples of 1/2"):
        case.record.release(case.of(np.full((2, 3, 3), 0.3)), good, noise="laplace")
    if case.record is continual_score_sums:
        with pytest.raises(ValueError, match="continual_totals"):
            case.record(key, one, asked("laplace", "flip"), noise="laplace")

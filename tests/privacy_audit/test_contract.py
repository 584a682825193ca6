"""The contract of every private function, tested for each row of the registry.

Exact losses are tested in ``test_enumeration.py``, audits by draws in ``test_empirical.py``.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Guarantee
from privrank_jax.privacy_audit import Audited, get, names

ROWS = [get(name) for name in names()]
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
# What additive records keep beyond that, tests/mechanism holds.
OTHERS = [row for row in ROWS if row.twin is None]
# Random pivots, pairs or sets are published, or a rest is shuffled: without noise the result is still random.
BY_CHANCE = (
    *("dp-kwiksort", "dp-kwiksort-published", "hay-kwiksort"),
    "shuffled-pair-weights",
)
BATCH = 64  # half of them on each of the two neighbors


@functools.cache
def _batched(row: Audited):
    """The row, batched over keys, data and ε, and the number of its traces."""
    traces = []

    def value(key, data, epsilon):
        traces.append(epsilon)
        return row.value(key, data, row.at(epsilon))

    return jax.jit(jax.vmap(value)), traces


def _inputs(row, key, epsilons):
    keys = jax.random.split(key, BATCH)
    data = np.stack(row.neighbors)[np.arange(BATCH) % 2]
    return keys, jnp.asarray(data), jnp.broadcast_to(jnp.asarray(epsilons, float), (BATCH,))


def _values(row, key, epsilons):
    """Values at given ε, a key each, ``(BATCH, ...)``: on the first neighbor at even places, else on the second."""
    return np.asarray(_batched(row)[0](*_inputs(row, key, epsilons)))


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row.name)
def test_contract(row: Audited, key: jax.Array) -> None:
    """vmap equals a loop and jit the eager run; equal keys give equal values, others don't; one compilation."""
    epsilons = np.geomspace(0.1, 5.0, BATCH)
    keys, data, _ = _inputs(row, key, epsilons)
    together = _values(row, key, epsilons)
    place = BATCH - 1
    alone = row.release(keys[place], data[place], row.at(float(epsilons[place])))
    value = alone.value if isinstance(alone, Estimate) else alone
    np.testing.assert_allclose(together[place], value, rtol=1e-8, atol=1e-8)
    if isinstance(alone, Estimate):
        assert isinstance(alone.guarantee, Guarantee)
        assert "Differentially private" in alone.guarantee.in_words()
        if row.calibration == "tight":
            assert float(alone.guarantee.epsilon) == epsilons[place]
    np.testing.assert_array_equal(together, _values(row, key, epsilons))
    others = _values(row, jax.random.fold_in(key, 1), 0.05)
    assert len(np.unique(others.reshape(BATCH, -1), axis=0)) > 1
    assert len(_batched(row)[1]) == 1, "a sweep over keys, data and ε compiles once"


@every_row
def test_guarantee_is_that_of_the_row(row: Audited) -> None:
    """Unit, adjacency, trust, δ and ε as registered; checked without running anything."""
    promised = _promised(row)
    if promised is None:  # a bare report of one user
        assert row.trust == "local"
        return
    assert (*promised.attained.kind, promised.trust) == (*row.promise.kind, row.trust)


def _promised(row: Audited) -> Guarantee | None:
    found = []

    def release(key, data, epsilon):
        released = row.release(key, data, row.at(epsilon))
        found.append(released.guarantee if isinstance(released, Estimate) else None)
        return 0

    jax.eval_shape(release, jax.random.key(0), jnp.asarray(row.neighbors[0]), jnp.asarray(1.0))
    return found[0]


@every_row
def test_dtype_follows_the_data(row: Audited) -> None:
    """float32 counts or weights give float32 values, float64 ones float64; orders are integers of 32 bits."""

    def dtype(data):
        key = jax.random.key(0)
        return jax.eval_shape(lambda d: row.value(key, d, row.at(1.0)), jnp.asarray(data)).dtype

    data = row.neighbors[0]
    if not np.issubdtype(data.dtype, np.floating):
        assert dtype(data) in (jnp.int32, data.dtype, jnp.result_type(float))
        return
    single, double = dtype(data.astype(np.float32)), dtype(data)
    if np.issubdtype(double, np.floating):
        assert (single, double) == (jnp.float32, jnp.float64)
    else:
        assert single == double == jnp.int32


@pytest.mark.parametrize("row", [row for row in ROWS if row.twin], ids=lambda row: row.name)
def test_without_noise_the_numbers_are_those_of_the_naive_twin(
    row: Audited, key: jax.Array
) -> None:
    """A center of another kind moves no loss, but the log ratio, which the change between neighbors tells exactly."""
    with jax.enable_x64(True):
        found = [float(row.run(key, jnp.asarray(one), row.at(np.inf))) for one in row.neighbors]
    assert found == [100, -100]


@pytest.mark.parametrize(
    "row", [row for row in OTHERS if row.name not in BY_CHANCE], ids=lambda row: row.name
)
def test_error_falls_with_epsilon(row: Audited, key: jax.Array) -> None:
    """How far values are from those without noise, where these don't depend on chance (ties broken at random do)."""

    def values(epsilon: float, number: int) -> np.ndarray:
        drawn = _values(row, jax.random.fold_in(key, number), epsilon).astype(float)
        return drawn.reshape(BATCH // 2, 2, *drawn.shape[1:])

    free = values(np.inf, 0)
    sure = np.all(np.abs(free - free[0]) < 1e-8, axis=0)
    errors = [
        np.abs(values(epsilon, 1 + number) - free[0])[:, sure].mean()
        for number, epsilon in enumerate((0.02, 1.0, 50.0, np.inf))
    ]
    assert errors[0] > errors[1] > errors[2] >= errors[3]
    assert errors[3] < 1e-8


@every_row
def test_bad_epsilon_is_refused(row: Audited, key: jax.Array) -> None:
    for epsilon in (0.0, -1.0, float("nan"), "one", True):
        with pytest.raises(ValueError, match="epsilon"):
            row.release(key, jnp.asarray(row.neighbors[0]), row.at(epsilon))

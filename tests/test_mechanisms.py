"""What every private function must do, over the registry of :mod:`privrank_jax.privacy_audit`: one row buys it all.

Exact losses are held in tests/privacy_audit/test_enumeration.py, audits by draws in test_empirical.py beside it.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import privacy_audit
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Guarantee
from privrank_jax.privacy_audit import Audited

ROWS = [privacy_audit.get(name) for name in privacy_audit.names()]
every_mechanism = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
BY_CHANCE = (
    "dp-kwiksort",
    "dp-kwiksort-published",
    "hay-kwiksort",
)  # pivots are told, or a rest is shuffled
BATCH = 8


@functools.cache
def _batched(row: Audited):
    """The row over keys, data and ε at once, and how often it was traced."""
    traces = []

    def value(key, data, epsilon):
        traces.append(epsilon)
        return row.value(key, data, epsilon)

    return jax.jit(jax.vmap(value)), traces


def _values(row, key, epsilons, batch=BATCH):
    """Values at given ε on the two neighbours in turn, a key each."""
    run, traces = _batched(row)
    keys = jax.random.split(key, batch)
    data = jnp.stack([jnp.asarray(row.neighbours[place % 2]) for place in range(batch)])
    epsilons = jnp.broadcast_to(jnp.asarray(epsilons, float), (batch,))
    return keys, data, np.asarray(run(keys, data, epsilons)), len(traces)


@every_mechanism
def test_contract(row: Audited, key: jax.Array) -> None:
    """vmap is the loop, jit the eager run; the same key the same value, another key another; one compilation."""
    epsilons = np.geomspace(0.1, 5.0, BATCH)
    keys, data, together, _ = _values(row, key, epsilons)
    for place in (0, BATCH - 1):
        alone = row.release(keys[place], data[place], float(epsilons[place]))
        value = alone.value if isinstance(alone, Estimate) else alone
        np.testing.assert_allclose(together[place], value, rtol=1e-8, atol=1e-8)
        if isinstance(alone, Estimate):
            assert isinstance(alone.guarantee, Guarantee)
            assert alone.guarantee.trust == row.trust
            assert "Differentially private" in alone.guarantee.in_words()
            if row.calibration == "tight":
                assert float(alone.guarantee.epsilon) == epsilons[place]
    _, _, again, _ = _values(row, key, epsilons)
    np.testing.assert_array_equal(together, again)
    others = [_values(row, jax.random.fold_in(key, n), 0.05) for n in range(3)]
    assert (
        len(np.unique(np.concatenate([v.reshape(BATCH, -1) for _, _, v, _ in others]), axis=0)) > 1
    )
    assert others[-1][3] == 1, "a sweep over keys, data and ε compiles once"


@every_mechanism
def test_guarantee_is_that_of_the_row(row: Audited) -> None:
    """Unit, adjacency, trust, δ and ε as registered; checked without running anything."""
    promised = _promised(row)
    if promised is None:  # a bare report of one user
        assert row.trust == "local"
        return
    assert (promised.unit, promised.adjacency, promised.trust) == (
        row.unit,
        row.adjacency,
        row.trust,
    )


def _promised(row: Audited) -> Guarantee | None:
    found = []

    def release(key, data, epsilon):
        released = row.release(key, data, epsilon)
        found.append(released.guarantee if isinstance(released, Estimate) else None)
        return 0

    jax.eval_shape(release, jax.random.key(0), jnp.asarray(row.neighbours[0]), jnp.asarray(1.0))
    return found[0]


@every_mechanism
def test_dtype_follows_the_data(row: Audited) -> None:
    """float32 counts or weights give float32 values, float64 ones float64; orders are integers of 32 bits."""

    def dtype(data):
        key = jax.random.key(0)
        return jax.eval_shape(lambda d: row.value(key, d, 1.0), jnp.asarray(data)).dtype

    data = row.neighbours[0]
    if not np.issubdtype(data.dtype, np.floating):
        assert dtype(data) in (jnp.int32, data.dtype, jnp.result_type(float))
        return
    single, double = dtype(data.astype(np.float32)), dtype(data)
    if np.issubdtype(double, np.floating):
        assert (single, double) == (jnp.float32, jnp.float64)
    else:
        assert single == double == jnp.int32


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.name not in BY_CHANCE], ids=lambda row: row.name
)
def test_error_falls_with_epsilon(row: Audited, key: jax.Array) -> None:
    """How far values are from those without noise, where these don't depend on chance (ties broken at random do)."""

    def values(epsilon: float, first: int, last: int) -> np.ndarray:
        keys = [jax.random.fold_in(key, number) for number in range(first, last)]
        return np.stack([_values(row, one, epsilon)[2] for one in keys]).astype(float)

    free = values(np.inf, 0, 12)
    sure = np.all(np.abs(free - free[0]) < 1e-8, axis=0)
    errors = [
        np.abs(values(epsilon, 12, 44) - free[0])[:, sure].mean()
        for epsilon in (0.02, 1.0, 50.0, np.inf)
    ]
    assert errors[0] > errors[1] > errors[2] >= errors[3]
    assert errors[3] < 1e-8


@every_mechanism
@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), "one", True])
def test_bad_epsilon_is_refused(row: Audited, key: jax.Array, epsilon: object) -> None:
    with pytest.raises(ValueError, match="epsilon must be positive"):
        row.release(key, jnp.asarray(row.neighbours[0]), epsilon)

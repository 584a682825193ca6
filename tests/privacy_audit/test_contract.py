"""The contract of every private function, tested for each row of the registry.

Exact losses are tested in ``test_enumeration.py``, audits by draws in ``test_empirical.py``.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.estimate import Estimate
from privrank_jax.privacy_audit import Audited, get, names
from tests.quick import thorough_but

ROWS = [get(name) for name in names()]
FIRST = {row.function: row for row in reversed(ROWS)}.values()
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
# Fits take long to trace, and tests/mechanism tells their guarantees too; so does noise by facets to compile.
LATE = {"perturbed-davidson", "perturbed-covariates", "perturbed-choices"}
SOON = [row for row in FIRST if row.name not in LATE]
first_rows = pytest.mark.parametrize("row", thorough_but(ROWS, *SOON), ids=lambda row: row.name)
TWINS = [row for row in ROWS if row.twin]
RUN = map(get, ("noisy-counts", "noisy-design", "dp-borda-laplace", "continual-totals"))


@first_rows
def test_guarantee_is_that_of_the_row(row: Audited) -> None:
    """Unit, adjacency, trust and ε as registered; the program computes nothing else."""
    found = []

    @jax.jit
    def spent(key, data, epsilon):
        released = row.release(key, data, row.at(epsilon))
        found.append(released.guarantee if isinstance(released, Estimate) else None)
        return epsilon if found[0] is None else found[0].epsilon

    epsilon = spent(jax.random.key(0), jnp.asarray(row.neighbors[0]), 0.7)
    if found[0] is None:  # a bare report of one user
        assert row.trust == "local"
        return
    assert (*found[0].attained.kind, found[0].trust) == (*row.promise.kind, row.trust)
    if row.calibration == "tight":
        assert float(epsilon) == 0.7


@first_rows
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


@pytest.mark.parametrize("row", thorough_but(TWINS, *RUN), ids=lambda row: row.name)
def test_without_noise_the_numbers_are_those_of_the_naive_twin(
    row: Audited, key: jax.Array
) -> None:
    """A center of another kind moves no loss, but the log ratio, which the change between neighbors tells exactly."""
    with jax.enable_x64(True):
        run = jax.jit(lambda one: row.run(key, one, row.at(np.inf)))
        found = [float(run(jnp.asarray(one))) for one in row.neighbors]
    assert found == [100, -100]


@every_row
def test_bad_epsilon_is_refused(row: Audited, key: jax.Array) -> None:
    for epsilon in (0.0, -1.0, float("nan"), "one", True):
        with pytest.raises(ValueError, match="epsilon"):
            row.release(key, jnp.asarray(row.neighbors[0]), row.at(epsilon))

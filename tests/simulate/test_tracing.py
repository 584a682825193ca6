"""A trial is traced once, and its program gives what the trial gives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax._workarounds.threefry import fused
from privrank_jax.simulate import Study, grid, run
from privrank_jax.simulate.tracing import pairs, trace, traced_columns


def _draws(key, parameters):
    return jax.random.normal(key, (parameters["size"],)) * parameters["scale"]


def _study(calls):
    def trial(key, parameters):
        calls.append(parameters)
        drawn = _draws(key, parameters)
        return {"mean": drawn.mean(), "most": drawn.max()}

    return Study("draws", trial, grid(scale=(1.0, 3.0), size=4), static=("size",))


@pytest.mark.parametrize("generator", [lambda key: key, fused])
def test_a_batch_holds_the_metrics_of_its_pairs(key, generator):
    calls = []
    study = _study(calls)
    columns = traced_columns(study, [0, 1])
    program, closed, shapes = trace(key, study, 1, columns, generator)
    found = jax.jit(program)(key, columns, *pairs(0, 6, 6, 3))
    assert len(calls) == 1
    assert list(shapes.labels) == [("mean",), ("most",)]
    assert [var.aval.shape for var in closed.jaxpr.outvars] == [(1,), (1,)]
    for place, (scale, replicate) in enumerate((s, r) for s in (1.0, 3.0) for r in range(3)):
        drawn = _draws(jax.random.fold_in(key, replicate), {"scale": scale, "size": 4})
        mean, most = (np.asarray(found.values[which])[place] for which in found.order)
        np.testing.assert_allclose([mean, most], [drawn.mean(), drawn.max()], rtol=1e-12)


def test_a_study_traces_its_trial_once_for_each_program(key):
    calls = []
    run(key, _study(calls), 5, batch_size=2)
    assert len(calls) == 1


def test_past_the_end_the_last_pair_repeats():
    cells, replicates = pairs(4, 4, 6, 3)
    assert cells.tolist() == [1, 1, 1, 1]
    assert replicates.tolist() == [1, 2, 2, 2]

"""A program that runs out of memory goes on with half of the batch, and changes no number."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax._workarounds import xla
from privrank_jax.simulate import Study, run
from privrank_jax.simulate.devices import Devices
from privrank_jax.simulate.program import Program
from tests.simulate import job
from tests.simulate.normal import normal
from tests.simulate.trials import NEWTON, SURVEY, normal_trial


def exhausted():
    return jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 7 bytes.")


def test_the_batch_is_halved_where_memory_runs_out(monkeypatch, expected):
    """Not at once, but when other work has taken the memory."""
    fetch, calls, told = Devices.fetch, [0], []

    def small_only(self, metrics):
        calls[0] += 1
        if calls[0] > 3 and metrics[0].shape[0] > 6:
            raise exhausted()
        return fetch(self, metrics)

    monkeypatch.setattr(Devices, "fetch", small_only)
    result = run(jax.random.key(job.KEY), SURVEY, 100, batch_size=25, notice=told.append)
    assert [program.batch_size for program in result.diagnostics.programs] == [6]
    assert result.diagnostics.compilations == 3
    assert told[-1] == "survey: out of memory with 12 replicates at once; now 6"
    sampled = [row for row in result.rows if row["metric"] != "root"]
    assert sampled == [row for row in expected if row["metric"] != "root"]
    for row, other in zip(result.rows, expected, strict=True):
        assert row["mean"] == pytest.approx(other["mean"], rel=0, abs=1e-12)


def test_compiling_may_run_out_of_memory_too(monkeypatch):
    expected = normal(None)[0].rows
    lowered = Program.lowered

    class Large:
        def compile(self):
            raise exhausted()

    monkeypatch.setattr(
        Program, "lowered", lambda self: lowered(self) if self.size < 15 else Large()
    )
    result, told = normal(None)
    assert result.rows == expected
    assert told == [
        "normal: out of memory with 40 replicates at once; now 20",
        "normal: out of memory with 20 replicates at once; now 10",
    ]


def test_one_replicate_without_memory_is_refused(monkeypatch):
    def never(self, metrics):
        raise exhausted()

    monkeypatch.setattr(Devices, "fetch", never)
    with pytest.raises(ValueError, match="no memory for one replicate of 'normal'") as caught:
        normal(None, batch_size=2)
    assert "RESOURCE_EXHAUSTED" in str(caught.value.__cause__)


def test_other_failures_are_not_taken_for_it(monkeypatch):
    def never(self, metrics):
        raise jax.errors.JaxRuntimeError("INTERNAL: no")

    monkeypatch.setattr(Devices, "fetch", never)
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        normal(None)


def test_a_study_may_do_without_optimization(monkeypatch):
    asked, compile_lowered = [], xla.compiled

    def listen(lowered, *, optimized):
        asked.append(optimized)
        return compile_lowered(lowered, optimized=optimized)

    monkeypatch.setattr("privrank_jax.simulate.program.compiled", listen)
    studies = [
        Study("s", normal_trial, ({"scale": 2.0},), optimized=optimized)
        for optimized in (True, "some", False)
    ]
    results = [run(jax.random.key(0), study, 20) for study in studies]
    assert asked == [True, "some", False]
    for row, *others in zip(*(result.rows for result in results), strict=True):
        for other in others:
            assert row["mean"] == pytest.approx(other["mean"], rel=1e-6)


def test_optimization_may_depend_on_the_static_parameters():
    study = Study(
        "s",
        lambda key, cell: {"value": jax.random.uniform(key, (cell["size"],)).sum()},
        ({"size": 2}, {"size": 3}),
        ("size",),
        optimized=lambda static: static["size"] > 2,
    )
    made = [
        Program(jax.random.key(0), study, cells, 5, Devices(), None, 1 << 20)
        for cells in study.groups()
    ]
    assert {each.static["size"]: each.optimized for each in made} == {2: False, 3: True}


@pytest.mark.slow
def test_solved_estimates_survive_a_halved_batch(monkeypatch):
    expected = run(jax.random.key(3), NEWTON, 40).rows
    fetch = Devices.fetch

    def small_only(self, metrics):
        if metrics[0].shape[0] > 9:
            raise exhausted()
        return fetch(self, metrics)

    monkeypatch.setattr(Devices, "fetch", small_only)
    rows = run(jax.random.key(3), NEWTON, 40).rows
    for column in ("mean", "standard_error"):
        values = [[row[column] for row in table] for table in (rows, expected)]
        np.testing.assert_allclose(*values, rtol=0, atol=1e-12)

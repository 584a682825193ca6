"""A program that runs out of memory goes on with half of the batch, and changes no number."""

from __future__ import annotations

import jax
import pytest

from privrank_jax._workarounds import xla
from privrank_jax.simulate import Study, run
from privrank_jax.simulate.devices import Devices
from privrank_jax.simulate.program import Program
from tests.simulate import job
from tests.simulate.normal import normal
from tests.simulate.trials import SURVEY, normal_trial


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


@pytest.mark.parametrize(
    ("failure", "error", "word"),
    [
        (exhausted(), ValueError, "no memory"),
        (jax.errors.JaxRuntimeError("INTERNAL: no"), jax.errors.JaxRuntimeError, "INTERNAL"),
    ],
)
def test_no_memory_for_one_replicate_and_other_failures_end_a_run(
    failure, error, word, monkeypatch
):
    def never(self, metrics):
        raise failure

    monkeypatch.setattr(Devices, "fetch", never)
    with pytest.raises(error, match=word):
        normal(None, batch_size=2)


def test_a_study_may_do_without_optimization(monkeypatch):
    asked, compile_lowered = [], xla.compiled

    def listen(lowered, *, optimized):
        asked.append(optimized)
        return compile_lowered(lowered, optimized=optimized)

    monkeypatch.setattr("privrank_jax.simulate.program.compiled", listen)
    cells = ({"scale": 2.0, "size": 2}, {"scale": 2.0, "size": 3})
    studies = [
        Study("s", normal_trial, cells, ("size",), optimized=optimized)
        for optimized in (True, "some", lambda static: static["size"] > 2)
    ]
    results = [run(jax.random.key(0), study, 20) for study in studies]
    assert asked == [True, True, "some", "some", False, True]
    for row, *others in zip(*(result.rows for result in results), strict=True):
        for other in others:
            assert row["mean"] == pytest.approx(other["mean"], rel=1e-6)

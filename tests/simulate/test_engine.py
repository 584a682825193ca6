from __future__ import annotations

import dataclasses
import io
import math
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import _backend
from privrank_jax._backend import on_cpu
from privrank_jax.simulate import Study, grid, program, run
from tests import reference
from tests.simulate.trials import COMPARISONS, comparison_trial, normal_trial

NORMAL = Study("normal", normal_trial, grid(scale=(1.0, 2.0)))


def test_table_is_what_a_loop_computes():
    key = jax.random.key(1)
    table = run(key, COMPARISONS, 40)
    assert table.diagnostics.programs[0].batch_size == 160
    trial = jax.jit(lambda key, n, p: comparison_trial(key, _cell(n, p)))
    for cell in COMPARISONS.cells:
        outcomes = [
            trial(jax.random.fold_in(key, r), cell["num_items"], cell["probability"])
            for r in range(40)
        ]
        for metric in ("wins_of_first", "strength", "upset"):
            row = table.row(metric, **cell)
            expected = reference.mean_and_error([float(o[metric]) for o in outcomes])
            np.testing.assert_allclose((row["mean"], row["standard_error"]), expected[:2], 1e-12)
            assert (row["replicates"], row["nonfinite"]) == (40, 0)


def _cell(num_items, probability):
    return {"num_items": num_items, "probability": probability, "max_items": 8}


def test_replicates_are_distinct_and_cells_share_them():
    """Two-sided 5 sigma (6e-7): mean 0, and a standard error that a wrong scale would miss; for every batch size."""
    first, second, *others = (
        run(jax.random.key(k), NORMAL, 2500, batch_size=b)
        for k, b in ((5, None), (6, None), (5, 64), (5, 999))
    )
    assert first.rows[0]["mean"] != second.rows[0]["mean"]
    assert all(other.rows == first.rows for other in others)
    for scale, row in zip((1.0, 2.0), first.rows, strict=True):
        assert abs(row["mean"]) < 5 * scale / math.sqrt(2500)
        assert abs(row["standard_error"] * 50 / scale - 1) < 5 / math.sqrt(2 * 2500)
        assert row["mean"] == scale * first.rows[0]["mean"]
    found = run(jax.random.key(0), NORMAL, 50, batch_size=30).diagnostics
    (facts,) = found.programs
    assert (facts.batch_size, facts.cells, facts.static) == (25, 2, {})
    assert (found.devices, found.compilations) == (jax.device_count(), 1)
    assert min(found.compile_seconds, found.run_seconds) > 0


def test_each_static_combination_is_traced_and_compiled_once():
    kinds = []

    def trial(key, parameters):
        kinds.append(parameters["kind"])
        draws = jnp.arange(parameters["size"])
        return {"mean": parameters["scale"] * draws.mean() + (parameters["kind"] == "shifted")}

    cells = grid(scale=(1, 2, 3), size=(2, 3), kind=("plain", "shifted"))
    result = run(jax.random.key(0), Study("s", trial, cells, ("size", "kind")), 20)
    assert result.diagnostics.compilations == len(kinds) == 4
    assert [row["scale"] for row in result.rows] == [cell["scale"] for cell in cells]
    shifted = result.row("mean", scale=2, size=3, kind="shifted")["mean"]
    plain = result.row("mean", scale=2, size=3, kind="plain")["mean"]
    assert shifted - plain == pytest.approx(1.0, abs=1e-12)
    run(
        jax.random.key(0),
        Study("s", trial, grid(scale=1, size=2, kind=(1, True, 1.0)), ("size", "kind")),
        2,
    )
    assert {type(kind) for kind in kinds} == {str, int, bool, float}


def test_traced_types_follow_the_whole_study():
    seen = {}

    def trial(key, parameters):
        seen.update({name: value.dtype for name, value in parameters.items() if name != "kind"})
        return {"value": parameters["count"] + parameters["epsilon"]}

    cells = (
        {"epsilon": math.inf, "count": 3, "kind": "a"},
        {"epsilon": 1, "count": 4, "kind": "b"},
    )
    result = run(jax.random.key(0), Study("s", trial, cells, ("kind",)), 2)
    assert seen == {"epsilon": jnp.float64, "count": jnp.int64}
    assert result.row("value", kind="b")["mean"] == 5
    assert result.row("value", epsilon=math.inf)["nonfinite"] == 2


def test_every_draw_of_jax_is_that_of_the_key():
    def trial(key, cell):
        return {"poisson": jax.random.poisson(key, cell["rate"]), "one": jax.random.normal(key)}

    rows = run(jax.random.key(5), Study("s", trial, ({"rate": 30.0},)), 4).rows
    keys = [jax.random.fold_in(jax.random.key(5), replicate) for replicate in range(4)]
    for row in rows:
        expected = np.mean([trial(key, {"rate": 30.0})[row["metric"]] for key in keys])
        assert row["mean"] == pytest.approx(expected, rel=1e-12)


def test_types_are_those_of_the_caller_though_another_thread_compiles():
    def trial(key, cell):
        drawn = jax.random.normal(key, (3, 3))
        assert drawn.dtype == jnp.float32
        return {"factor": jnp.linalg.cholesky(drawn @ drawn.T + jnp.eye(3))[2, 2]}

    with jax.enable_x64(False):
        (row,) = run(jax.random.key(0), Study("s", trial, ({},)), 1).rows
        expected = jax.jit(trial)(jax.random.fold_in(jax.random.key(0), 0), {})["factor"]
    assert row["mean"] == pytest.approx(float(expected), rel=1e-5)


def test_batches_respect_the_memory_limit_for_any_number_of_replicates():
    limit = 200_000
    peaks = []
    for replicates in (300, 3000):
        result = run(jax.random.key(0), COMPARISONS, replicates, memory_limit=limit)
        (facts,) = result.diagnostics.programs
        assert facts.compiled_peak_bytes <= limit
        assert 1 < facts.batch_size < 300
        peaks.append(facts.compiled_peak_bytes)
    assert abs(peaks[1] / peaks[0] - 1) < 0.2


def test_a_low_estimate_is_caught_by_the_compiled_program(monkeypatch):
    monkeypatch.setattr(program, "peak_bytes", lambda closed: 100)
    (free,) = run(jax.random.key(1), COMPARISONS, 40).diagnostics.programs
    limit = free.compiled_peak_bytes // 2  # which differs by XLA's release
    found = run(jax.random.key(1), COMPARISONS, 40, memory_limit=limit)
    (facts,) = found.diagnostics.programs
    assert facts.compilations > 1
    assert facts.compiled_peak_bytes <= limit


def test_by_default_the_limit_is_a_share_of_the_memory_of_the_device(monkeypatch):
    def limit():
        return run(jax.random.key(0), NORMAL, 2).diagnostics.memory_limit

    assert not on_cpu() or limit() == 1 << 30
    monkeypatch.setattr(_backend, "bytes_limit", lambda device: 100 << 20)
    assert limit() == 40 << 20


class Terminal(io.StringIO):
    """A terminal, as far as it is asked."""

    def isatty(self) -> bool:
        return True


def test_progress_bar_says_what_is_compiled_and_reaches_the_end(capsys, monkeypatch):
    run(jax.random.key(0), NORMAL, 7, progress=True)
    assert capsys.readouterr() == ("", "")  # nothing into a file
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    run(jax.random.key(0), NORMAL, 7, progress=True)
    assert capsys.readouterr().out == ""
    first, _, last = terminal.getvalue().partition("14/14")
    assert "normal: compiling…" in first
    assert "compiling" not in last


@pytest.mark.parametrize(
    "use",
    [
        lambda parameters: jnp.zeros(parameters["size"]).sum(),
        lambda parameters: jnp.arange(parameters["size"]).sum(),
        lambda parameters: jnp.ones(9)[: parameters["size"]].sum(),
        lambda parameters: sum(range(parameters["size"])),
        lambda parameters: 1.0 if parameters["size"] > 2 else 0.0,
        lambda parameters: float(np.ones(parameters["size"]).sum()),
    ],
)
def test_a_traced_shape_is_to_be_named_static(use):
    study = Study(
        "s", lambda key, cell: {"v": cell["scale"] * use(cell)}, grid(size=(3,), scale=2.0)
    )
    with pytest.raises(TypeError, match=r"'s' needs 'size' as a Python value .* `static`") as error:
        run(jax.random.key(0), study, 2)
    assert "static=('size',)" in str(error.value)
    assert run(jax.random.key(0), dataclasses.replace(study, static=("size",)), 2).rows


def test_static_names_all_parameters_that_shape():
    def trial(key, cell):
        return {"v": cell["scale"] * jnp.zeros((cell["rows"], cell["size"])).sum() + cell["kind"]}

    study = Study("s", trial, grid(rows=2, size=3, scale=1.0, kind=0), static="kind")
    with pytest.raises(TypeError, match=r"\('kind', 'rows', 'size'\)"):
        run(jax.random.key(0), study, 2)


def study_of(returned, **cell):
    return Study("s", lambda key, parameters: returned(key), grid(scale=2.0, **cell))


@pytest.mark.parametrize(
    ("study", "options", "word"),
    [
        (study_of(lambda key: jnp.ones(3)), {}, "a dict"),
        (study_of(lambda key: {}), {}, "a dict"),
        (study_of(lambda key: {"a": jax.random.normal(key, (3,))}), {}, r"float64\[3\]"),
        (study_of(lambda key: {"a": {"b": 1.0}}), {}, "2 levels"),
        (study_of(lambda key: {"a": jnp.complex64(1)}), {}, "real scalars"),
        (study_of(lambda key: {"a": key}), {}, "real scalars"),
        (NORMAL, {"replicates": 0}, "replicates"),
        (NORMAL, {"replicates": 2**32}, "replicates"),
        (NORMAL, {"batch_size": 0}, "batch_size"),
        (NORMAL, {"memory_limit": 0}, "memory_limit"),
        (NORMAL, {"key": 3}, "threefry"),
        (NORMAL, {"key": jax.random.key(0, impl="rbg")}, "threefry"),
        (NORMAL, {"key": jax.random.split(jax.random.key(0))}, "threefry"),
        (COMPARISONS, {"memory_limit": 100}, "one replicate"),
        ([], {}, "no study"),
    ],
)
def test_what_cannot_run_is_refused(study, options, word):
    told = {"key": jax.random.key(0), "replicates": 2, **options}
    with pytest.raises(ValueError, match=word):
        run(told.pop("key"), study, told.pop("replicates"), **told)
    large = Study("s", normal_trial, grid(scale=(2**40,)))
    with jax.enable_x64(False), pytest.raises(ValueError, match="int32"):
        run(jax.random.key(0), large, 2)


def test_an_error_of_the_trial_itself_stays_what_it_is():
    study = Study("s", lambda key, parameters: len(5), grid(size=(3,)))
    with pytest.raises(TypeError, match=r"object of type 'int' has no len") as error:
        run(jax.random.key(0), study, 2)
    assert "(key, parameters): a PRNG key, and a dict of size." in error.value.__notes__[-1]


def test_several_studies_make_one_table():
    def counted(key, cell):
        return {"mean": {"value": jnp.float64(cell["count"])}, "failed": 0}

    other = Study("other", counted, grid(count=(4,)), axes=("estimator", "metric"))
    key = jax.random.key(2)
    both, alone = run(key, [NORMAL, other], 20), run(key, NORMAL, 20)
    assert both.study == "normal, other"
    assert both.columns == [
        "study", "scale", "count", "estimator", "metric",
        "mean", "standard_error", "replicates", "nonfinite",
    ]  # fmt: skip
    assert [row["mean"] for row in both.select("value", study="normal")] == [
        row["mean"] for row in alone.rows
    ]
    assert both.row("failed")["estimator"] is None
    assert both.row("failed")["scale"] is None
    assert both.diagnostics.compilations == 2
    assert [program.study for program in both.diagnostics.programs] == ["normal", "other"]

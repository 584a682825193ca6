"""A study that was interrupted, or that ran out of memory, gives the table that it would have given."""

from __future__ import annotations

import io
import math
import os
import random
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.simulate import Study, checkpoint, grid
from privrank_jax.simulate.checkpoint import Checkpoints
from privrank_jax.simulate.devices import Devices
from privrank_jax.simulate.moments import Moments
from privrank_jax.simulate.program import Program
from tests.simulate import job
from tests.simulate.normal import normal
from tests.simulate.trials import normal_trial

TOTAL = 300


@pytest.fixture
def often(monkeypatch):
    """Write after every batch, as jobs do, for whichever sources."""
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", math.inf)
    monkeypatch.setattr(checkpoint, "_sources", lambda: "")


# --- kills -----------------------------------------------------------------------------------------


def killed(folder, place, passed):
    """Have a job killed, and say how many replicates its file has, if there is one."""
    process = job.start("killed", folder, place, passed)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    contents = [file.read_bytes()[checkpoint._DIGEST :] for file in folder.glob("*.state")]
    return [int(np.load(io.BytesIO(content))["position"][0]) for content in contents]


def resumed_at(told):
    return [int(text.split()[2]) for text in told]


def test_a_killed_run_resumes_bit_for_bit(tmp_path, often, expected):
    at = killed(tmp_path, "writing", 6)
    assert at == [33]  # a file is flushed, then its name: the fourth of them was half there
    assert len(list(tmp_path.iterdir())) == 2
    told = []
    assert job.resumed(tmp_path, told.append) == expected
    assert told == [f"survey: resumed 33 of {TOTAL} replicates"]


@pytest.mark.slow
def test_runs_killed_again_and_again_resume_bit_for_bit(tmp_path, often, expected):
    """At most 27 batches, in each place, as often as it takes."""
    draw = random.Random(20261121)
    reached = [0]
    while reached[-1] < 200:
        before = reached[-1]
        reached += killed(
            tmp_path, draw.choice(("writing", "replacing", "replaced")), draw.randrange(7)
        )
        assert reached[-1] >= before
    told = []
    assert job.resumed(tmp_path, told.append) == expected
    assert resumed_at(told) == reached[-1:]


# --- files -----------------------------------------------------------------------------------------


def test_a_finished_study_is_read_and_not_compiled(tmp_path):
    first, told = normal(tmp_path)
    again, retold = normal(tmp_path)
    assert told == []
    assert retold == ["normal: resumed 40 of 40 replicates"]
    assert again.rows == first.rows
    assert again.diagnostics.compilations == 0
    assert again.diagnostics.programs[0].compiled_peak_bytes is None
    fresh, told = normal(Checkpoints(tmp_path, fresh=True))
    assert (fresh.rows, told) == (first.rows, [])
    (file,) = tmp_path.iterdir()
    expected, told = normal(tmp_path, seed=1)
    assert told == []
    (other,) = set(tmp_path.iterdir()) - {file}
    other.write_bytes(file.read_bytes())  # which is not mixed in
    result, told = normal(tmp_path, seed=1)
    assert (result.rows, told) == (expected.rows, [])


def test_a_damaged_file_counts_for_nothing(tmp_path):
    path, moments = tmp_path / "x.state", Moments(3, 2, 100)
    moments.add(np.random.default_rng(2).normal(size=(2, 150)))
    state = moments.state()
    checkpoint.Checkpoint(path, "name").save(moments, now=True)
    content = path.read_bytes()
    found = checkpoint._read(path, "name", state)
    assert found is not None
    assert all(np.array_equal(found[name], state[name]) for name in state)
    assert checkpoint._read(path, "other name", state) is None
    assert checkpoint._read(path, "name", Moments(3, 1, 100).state()) is None
    assert checkpoint._read(tmp_path / "y.state", "name", state) is None
    for cut in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        assert checkpoint._read(path, "name", state) is None
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 255
        path.write_bytes(flipped)
        assert checkpoint._read(path, "name", state) is None


def test_a_short_study_is_written_once(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(checkpoint.os, "replace", lambda *paths: written.append(paths))
    monkeypatch.setattr(checkpoint, "SECONDS", 100.0)
    normal(tmp_path, batch_size=2)
    assert len(written) == 1


def test_clear_removes_what_was_used_and_nothing_else(tmp_path):
    folder = tmp_path / "unfinished"
    other = Checkpoints(folder)
    normal(other, seed=1)
    ours = Checkpoints(folder)
    normal(ours)
    (used,) = ours._used
    used.with_name(f".{used.name}.123.tmp").touch()
    ours.clear()
    assert [path.name for path in folder.iterdir()] == [other._used[0].name]
    other.clear()
    other.clear()
    assert not folder.exists()


def identity(key=0, replicates=5, devices=None, trial=normal_trial, name="s", static=(), **cells):
    study = Study(name, trial, grid(**{"scale": (1.0, 2.0), **cells}), static)
    arguments = (list(range(len(study.cells))), replicates, Devices(devices), None, 1 << 30)
    return checkpoint.identity(Program(jax.random.key(key), study, *arguments))


def closing(*constants):
    values = jnp.asarray(constants)

    def trial(key, parameters):
        return {"value": jax.random.normal(key) + values[1] * parameters["scale"]}

    return trial


def test_identity_holds_everything_that_decides_the_numbers(monkeypatch):
    assert identity() == identity()
    assert identity(trial=closing(1.0, 2.0)) == identity(trial=closing(1.0, 2.0))
    found = {
        identity(),
        identity(name="t"),
        identity(key=1),
        identity(replicates=6),
        identity(scale=(1.0, 3.0)),
        identity(scale=(2.0, 1.0)),
        identity(devices=jax.devices()[:1]),
        identity(trial=closing(1.0, 2.0)),
        identity(trial=closing(1.0, 3.0)),
        identity(kind="a", static=("kind",)),
        identity(kind="b", static=("kind",)),
    }
    with jax.enable_x64(False):
        found.add(identity())
    monkeypatch.setattr(checkpoint, "_sources", lambda: "another version")
    found.add(identity())
    assert len(found) == 13


def test_what_python_returns_is_never_taken_for_known():
    """The text of a program says nothing of the function that it calls; here within a loop."""

    def trial(key, parameters):
        def step(_, x):
            return jax.pure_callback(lambda x: x, x, x, vmap_method="sequential")

        return {"value": jax.lax.fori_loop(0, 3, step, parameters["scale"])}

    assert identity(trial=trial) != identity(trial=trial)


def test_files_are_on_the_disk_before_they_take_a_name(tmp_path, monkeypatch):
    order = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda *paths: (order.append("replace"), replace(*paths)))
    normal(tmp_path)
    assert order == ["sync", "replace", "sync"]

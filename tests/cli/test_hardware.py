"""Compiled programs that are kept, and processes that share a study."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from privrank_jax._backend import processors
from privrank_jax.cli import hardware

NAME = "cai-fig5"

# The command on a small grid; its last line on stderr counts what happened to the cache.
COMMAND = f"""
import json, sys, jax.monitoring
from privrank_jax.cli import app
from privrank_jax.experiments import study
counts = {{}}
def count(event, **_):
    counts[event] = counts.get(event, 0) + 1
jax.monitoring.register_event_listener(count)
small = study.get({NAME!r}).configured(items=(4, 8), users=(60,), epsilons=(1.0, 2.0))
study._HELD[{NAME!r}] = small
try:
    app(["reproduce", {NAME!r}, "--json", "--replicates", "8", *sys.argv[1:]])
finally:
    print(json.dumps(counts), file=sys.stderr)
"""


def start(cache, *arguments):
    environment = {name: os.environ[name] for name in os.environ if "JAX_" not in name}
    environment |= {"XDG_CACHE_HOME": str(cache), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def finish(process):
    """What is on stdout, and on the last line of stderr."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out, json.loads(err.splitlines()[-1])


COUNT = """
import jax
from privrank_jax.cli import hardware
jax.config.update("jax_num_cpu_devices", 3)
hardware.use_cores()
print(jax.config.values["jax_num_cpu_devices"])
jax.config.update("jax_num_cpu_devices", -1)
hardware.use_cores()
print(jax.device_count())
hardware.use_cores()
"""


def test_cores_are_devices_unless_told_otherwise():
    environment = {name: os.environ[name] for name in os.environ if "JAX_" not in name}
    environment |= {"JAX_PLATFORMS": "cpu"}
    environment.pop("XLA_FLAGS", None)
    command = [sys.executable, "-c", COUNT]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, check=True)
    assert done.stdout.split() == ["3", str(processors())]


def test_the_oldest_programs_go_first(tmp_path):
    (tmp_path / "folder").mkdir()
    for age in range(5):
        path = tmp_path / str(age)
        path.write_bytes(b"x" * 10)
        os.utime(path, (1000 - age, 1000 - age))
    for most, left in ((50, "01234"), (29, "01")):
        hardware.prune(tmp_path, most)
        assert {path.name for path in tmp_path.iterdir()} == {"folder", *left}


@pytest.mark.slow
def test_the_second_run_of_a_study_compiles_nothing(tmp_path):
    found = [finish(start(tmp_path / "cache", "--out", tmp_path / name)) for name in "ab"]
    event = "/jax/compilation_cache/{}".format
    first, second = (counts for _, counts in found)
    assert first[event("cache_misses")] > 0
    assert event("cache_misses") not in second
    assert second[event("cache_hits")] == second[event("compile_requests_use_cache")] > 0
    programs = tmp_path / "cache" / "privrank_jax" / "programs"
    assert programs.stat().st_mode & 0o777 == 0o700
    assert means(tmp_path / "a") == means(tmp_path / "b")


def means(folder):
    (table,) = (path for path in folder.glob(f"{NAME}*.csv") if "claims" not in path.name)
    with table.open(encoding="utf-8") as file:
        return [float(row["mean"]) for row in csv.DictReader(file)]


@pytest.mark.slow
def test_two_processes_share_a_study_and_the_first_reports(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    alone = json.loads(finish(start(tmp_path / "cache", "--out", tmp_path / "alone"))[0])
    together = ["--coordinator", address, "--processes", 2, "--process-id"]
    jobs = [
        start(tmp_path / "cache", *together, number, "--out", tmp_path / str(number))
        for number in range(2)
    ]
    try:
        outputs = [finish(process)[0] for process in jobs]
    finally:
        for process in jobs:
            process.kill()
    first = json.loads(outputs[0])  # collectives have not written into it
    assert first["replicates"] == alone["replicates"] == 8
    assert outputs[1] == ""
    assert not (tmp_path / "1").exists()
    np.testing.assert_allclose(
        means(tmp_path / "0"), means(tmp_path / "alone"), rtol=1e-3, atol=1e-5
    )

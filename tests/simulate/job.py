"""Studies in processes of their own: ``python -m tests.simulate.job ACTION ...`` prints JSON."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys

import jax

from privrank_jax.simulate import checkpoint, run
from tests.simulate import trials

KEY = 7
REPLICATES = 37


def start(*arguments, devices=1):
    """A job with so many CPU devices of its own."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    environment = os.environ | {
        "XLA_FLAGS": flags.strip(),
        "JAX_ENABLE_X64": "1",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, "-m", "tests.simulate.job", *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def finish(process):
    """What a job printed."""
    out, _ = process.communicate()
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


def on_devices(name, counts):
    """The tables of a study on the first so many devices."""
    tables = {}
    for count in map(int, counts.split(",")):
        devices = jax.devices()[:count]
        study = getattr(trials, name)
        result = run(jax.random.key(KEY), study, REPLICATES, devices=devices, batch_size=5)
        assert result.diagnostics.devices == len(devices) == count
        tables[count] = result.rows
    return tables


def in_processes(address, count, process, folder):
    """The table of a study that several processes share, twice: run, then read from its checkpoints."""
    jax.distributed.initialize(address, int(count), int(process))
    told = []
    results = [
        run(
            jax.random.key(KEY),
            trials.SURVEY,
            REPLICATES,
            batch_size=5,
            checkpoints=os.path.join(folder, process),
            notice=told.append,
        )
        for _ in range(2)
    ]
    facts = [result.diagnostics.devices for result in results]
    return {"tables": [result.rows for result in results], "devices": facts, "told": told}


def until_killed(folder, place, passed):
    """The study of resumption, written after every batch; ends itself when it passes a place once more than ``passed``.

    A place is ``writing`` (half of a file is there), ``replacing``, ``replaced``, or none of these.
    """
    left = [int(passed)]

    def die(where):
        if where == place:
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

    def syncing(handle):
        if place == "writing" and not left[0]:
            os.ftruncate(handle, os.fstat(handle).st_size // 2)
        die("writing")

    def replacing(*paths):
        die("replacing")
        replace(*paths)
        die("replaced")

    replace, os.replace, os.fsync = os.replace, replacing, syncing
    return resumed(folder)


def resumed(folder, notice=None):
    """The study of resumption, written after every batch."""
    checkpoint.SECONDS, checkpoint.SHARE, checkpoint._sources = 0.0, math.inf, lambda: ""
    key = jax.random.key(KEY)
    options = {"batch_size": 11, "checkpoints": folder, "notice": notice}
    return run(key, trials.SURVEY, 100, **options).rows


if __name__ == "__main__":
    actions = {"devices": on_devices, "processes": in_processes, "killed": until_killed}
    print(json.dumps(actions[sys.argv[1]](*sys.argv[2:])), flush=True)

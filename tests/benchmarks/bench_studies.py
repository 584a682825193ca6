"""All studies as the command line runs them, cold: wall and processor time, compile time apart, replicates per second.

``python -m tests.benchmarks.bench_studies [STUDY ...]``; all of them take half an hour on two cores. Each runs with
its own number of replicates in a process of its own, which compiles everything anew.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from privrank_jax import experiments
from tests.benchmarks.harness import print_table

COLUMNS = (
    "study",
    "replicates",
    "settings",
    "wall",
    "processor",
    "compile",
    "programs",
    "run",
    "per second",
)


def measure(
    name: str,
    *options: str,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> tuple[str, ...]:
    """One row of the table; a setting is a row of parameters and method in the study's results.

    Args:
        name: of the study.
        options: further ones of ``privrank reproduce``.
        environment: variables of its process beside those of this one.
        limit: seconds after which the study is ended.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "privrank_jax",
            "reproduce",
            name,
            "--out",
            folder,
            "--json",
            *options,
        ]
        cold = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"} | dict(environment or {})
        started, before = time.perf_counter(), _processor_seconds()
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=cold, timeout=limit)
        except subprocess.TimeoutExpired:
            return (name, f"not done after {limit:.0f} s", *[""] * 7)
        wall = time.perf_counter() - started
        processor = _processor_seconds() - before
        if not done.stdout:
            return (name, done.stderr.strip().splitlines()[-1][:60], *[""] * 7)
        document = json.loads(done.stdout)
        with Path(document["paths"]["csv"]).open(newline="") as table:
            rows = list(csv.DictReader(table))
    settings = list(rows[0])[: list(rows[0]).index("metric")]
    cells = len({tuple(row[column] for column in settings) for row in rows})
    facts, replicates = document["diagnostics"], document["replicates"]
    return (
        name,
        f"{replicates:,}",
        f"{cells:,}",
        f"{wall:.0f} s",
        f"{processor:.0f} s",
        f"{facts['compile_seconds']:.0f} s",
        str(facts["compilations"]),
        f"{facts['run_seconds']:.1f} s",
        f"{cells * replicates / max(facts['run_seconds'], 1e-9):,.0f}",
    )


def _processor_seconds() -> float:
    """Processor time of all studies so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Print the table, one line as soon as it is there."""
    found = []
    for name in sys.argv[1:] or experiments.names():
        found.append(measure(name))
        print(*found[-1], sep="  ", file=sys.stderr, flush=True)
    print_table("studies, cold, each in a process of its own", COLUMNS, found)


if __name__ == "__main__":
    main()

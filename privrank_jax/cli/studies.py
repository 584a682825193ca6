"""Several studies, some at once: each in a process of its own, which compiles while another computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from privrank_jax import _interrupt

_HEAD = "privrank: "  # of every line that a command writes to stderr
_MEMORY = ("XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION")  # the second is the old one
_FOR_ALL = 0.9  # share of an accelerator's memory for all studies together


class Finished(NamedTuple):
    """How a study ended: what ``--json`` prints of it, or None and why; a signal has a negative code."""

    name: str
    document: dict[str, Any] | None
    code: int
    reason: str


def run_all(
    names: Sequence[str], options: Sequence[str], jobs: int, notice: Callable[[str], None]
) -> Iterator[Finished]:
    """Run ``privrank reproduce`` for each study, ``jobs`` at a time; yield each as it ends, also one that fails.

    Those that run at once get equal parts of an accelerator's memory, of which the first would take three quarters,
    unless JAX's own setting says how much a process gets. ``notice`` is told what a study says while it runs.
    """
    environment, at_once = dict(os.environ), min(jobs, len(names))
    if at_once > 1 and not any(map(os.environ.get, _MEMORY)):
        environment[_MEMORY[0]] = f"{_FOR_ALL / at_once:.3f}"
    with ThreadPoolExecutor(jobs, "privrank-study") as executor:
        futures = [executor.submit(_run, name, options, environment, notice) for name in names]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


def _run(
    name: str, options: Sequence[str], environment: dict[str, str], notice: Callable[[str], None]
) -> Finished:
    command = [sys.executable, "-m", "privrank_jax", "reproduce", name, *options, "--json"]
    told: dict[str, Any] = {"encoding": "utf-8", "errors": "backslashreplace", "env": environment}
    told |= {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    last = "it ended without a word"
    # A file, as a full pipe would stop the study while its other output is read here.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        process = subprocess.Popen(command, stdout=printed, **told)
        with process, _interrupt.ending(process.terminate):
            for line in process.stderr or ():
                last = line.strip().removeprefix(_HEAD) or last
                if line.startswith(_HEAD):
                    notice(f"{name}: {last}")
        if process.returncode:
            return Finished(name, None, process.returncode, last)
        printed.seek(0)
        return Finished(name, json.load(printed), 0, "")

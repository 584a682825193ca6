"""Make each mutant in a copy of the sources, run its tests, and print whether they failed.

The tests must pass without a mutant. They run in a fork of a process that has loaded the libraries, so a mutant takes
little more time than they do. Tests that don't end in two minutes count as failed.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants import MUTANTS, Mutant
from tests.sources import PACKAGE, ROOT, TESTS

LIBRARIES = ("jax", "numpy", "scipy.stats", "scipy.optimize", "hypothesis", "pytest", "mpmath")
SECONDS = 120


def main(words: list[str]) -> int:
    """Print a line for each mutant, and the numbers of those killed, survived and stale."""
    for library in LIBRARIES:
        importlib.import_module(library)
    chosen = [one for one in MUTANTS if not words or any(word in str(one) for word in words)]
    counts = dict.fromkeys(("killed", "survived", "stale"), 0)
    passing: set[tuple[str, ...]] = set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for source in (PACKAGE, TESTS):
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, copy / source.name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for mutant in chosen:
            if mutant.tests not in passing and _tests_fail(mutant.tests, copy):
                raise RuntimeError(f"without a mutant these tests fail too: {mutant.tests}")
            passing.add(mutant.tests)
            began = time.perf_counter()
            outcome = "stale" if mutant.stale else _tried(mutant, copy)
            counts[outcome] += 1
            print(f"{outcome:8} {time.perf_counter() - began:5.1f} s  {mutant}", flush=True)
    print(", ".join(f"{number} {outcome}" for outcome, number in counts.items()))
    return int(counts["killed"] < len(chosen))


def _tried(mutant: Mutant, copy: Path) -> str:
    path = copy / PACKAGE.name / mutant.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return "killed" if _tests_fail(mutant.tests, copy) else "survived"
    finally:
        path.write_text(text, encoding="utf-8")


def _tests_fail(tests: tuple[str, ...], copy: Path) -> bool:
    child = os.fork()
    if not child:
        os._exit(_run(tests, copy))
    end = time.monotonic() + SECONDS
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return True
        time.sleep(0.05)
    log = (copy / "log").read_text(encoding="utf-8", errors="replace")
    if " failed" not in log and " error" not in log and " passed" not in log:
        raise RuntimeError(f"the tests {tests} did not run:\n{log}")
    return " passed" not in log or " failed" in log or " error" in log


def _run(tests: tuple[str, ...], copy: Path) -> int:
    """The tests in this process, which has not loaded the package, on the sources in ``copy``."""
    import pytest

    log = os.open(copy / "log", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)  # of processes that the tests start
    sys.path[:] = [str(copy), *(one for one in sys.path if one and Path(one).resolve() != ROOT)]
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    importlib.invalidate_caches()
    options = ["-x", "-q", "-o", "addopts=", "-p", "no:cacheprovider", "-p", "no:xdist"]
    found = pytest.main([*options, "-m", "not slow", *tests])
    sys.stdout.flush()
    return int(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One accelerator in one command, under ten minutes: its floors, our kernels beside them, and all studies.

``python -m tests.benchmarks gpu`` prints rows for the README as they are measured. It needs the package with its extra
``test`` and, for the accelerator, JAX's own extra (``jax[cuda12]``); without an accelerator it measures a CPU with
smaller problems. ``--quick`` takes the smallest; ``--seconds=N`` is the time for everything (540): what does not start
in time is named; ``--jobs=N`` runs as many studies at once; ``--studies=NAME,NAME`` runs these alone.

The kernels run in a process that has ended before the first study starts, and each of the studies that run at once gets
an equal part of the accelerator's memory. Studies compile everything anew.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from privrank_jax import experiments
from tests.benchmarks.bench_studies import COLUMNS, measure

SECONDS, FOR_KERNELS = (
    540.0,
    0.5,
)  # time for everything, and the share after which no section of kernels starts
MOST_JOBS = 8
MODULE = "tests.benchmarks.bench_gpu"


def measure_sections(quick: bool, seconds: float) -> int:
    """Print the rows of all sections that start in time; return 1 if one failed."""
    import jax

    from privrank_jax._backend import on_cpu
    from tests.benchmarks import gpu_sections as gpu

    jax.config.update("jax_enable_x64", True)
    sizes = gpu.SMALL if quick else gpu.MEDIUM if on_cpu() else gpu.LARGE
    deadline, failed = time.perf_counter() + seconds, 0
    for name, section in gpu.SECTIONS.items():
        if time.perf_counter() >= deadline:
            print_row((f"section {name}", "not started: time is up"))
            continue
        try:
            for row in section(sizes):
                print_row(row)
        except Exception as error:
            failed = 1
            print_row((f"section {name} FAILED", f"{type(error).__name__}: {error}"))
    return failed


def measure_studies(
    names: Sequence[str], options: Sequence[str], jobs: int, deadline: float
) -> Iterator[tuple[str, ...]]:
    """Rows of :data:`COLUMNS`, as studies end; none starts after the deadline, and what runs then is ended."""
    part = {"XLA_CLIENT_MEM_FRACTION": f"{0.9 / jobs:.3f}"}  # of an accelerator's memory
    os.environ.pop(
        "XLA_PYTHON_CLIENT_MEM_FRACTION", None
    )  # its old name, which must not say otherwise

    def one(name: str) -> tuple[str, ...]:
        left = deadline - time.perf_counter()
        if left <= 0:
            return (name, "not started: time is up", *[""] * (len(COLUMNS) - 2))
        return measure(name, *options, environment=part, limit=left)

    with ThreadPoolExecutor(jobs) as executor:
        for future in as_completed([executor.submit(one, name) for name in names]):
            yield future.result()


def print_row(row: Sequence[str]) -> None:
    """One row of a table in Markdown, at once."""
    words = (" ".join(word.split()).replace("|", "\\|") for word in row)
    print(f"| {' | '.join(words)} |", flush=True)


def print_head(*columns: str) -> None:
    """The head of a table."""
    print()
    print_row(columns)
    print_row(["---"] * len(columns))


def arguments() -> argparse.Namespace:
    """Those of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks gpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--studies", default=",".join(experiments.names()))
    parser.add_argument("--sections", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Print both tables; return 1 if a section failed."""
    given, started = arguments(), time.perf_counter()
    if given.sections:
        return measure_sections(given.quick, given.seconds)
    print_head("what", "measured")
    command = [sys.executable, "-m", MODULE, "--sections"]
    command += [f"--seconds={FOR_KERNELS * given.seconds}", *["--quick"] * given.quick]
    if "cpu" not in os.environ.get("JAX_PLATFORMS", "cpu"):
        os.environ["JAX_PLATFORMS"] += ",cpu"  # to compare with
    try:
        failed = subprocess.run(command, timeout=given.seconds).returncode
    except subprocess.TimeoutExpired:
        failed = 1
        print_row(("sections", f"ended after {given.seconds:.0f} s"))

    names = [name for name in given.studies.split(",") if name]
    jobs = given.jobs or max(1, min(MOST_JOBS, (os.cpu_count() or 1) // 2, len(names)))
    begun, done = time.perf_counter(), 0
    print_head(*COLUMNS)
    options = ["--replicates", "2"] if given.quick else []
    for row in measure_studies(names, options, jobs, started + given.seconds):
        print_row(row)
        done += bool(row[-1])
    print_head("what", "measured")
    took = time.perf_counter() - begun
    print_row((f"{done} of {len(names)} studies, cold, {jobs} at once", f"{took:.0f} s"))
    print_row(("everything", f"{time.perf_counter() - started:.0f} s"))
    return failed


if __name__ == "__main__":
    sys.exit(main())

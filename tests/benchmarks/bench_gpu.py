"""One accelerator in one command: its floors, and our kernels beside them.

``python -m tests.benchmarks gpu`` prints rows for the README as they are measured. It needs the package with its extra
``test`` and, for the accelerator, JAX's own extra (``jax[cuda12]``); without an accelerator it measures a CPU with
smaller problems. ``--quick`` takes the smallest; ``--seconds=N`` is the time for everything (300): what does not start
in time is named. All studies are timed by ``privrank reproduce --all --jobs 8``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

SECONDS = 300.0  # after which no section starts


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


def print_row(row: Sequence[str]) -> None:
    """One row of a table in Markdown, at once."""
    words = (" ".join(word.split()).replace("|", "\\|") for word in row)
    print(f"| {' | '.join(words)} |", flush=True)


def print_head(*columns: str) -> None:
    """The head of a table."""
    print()
    print_row(columns)
    print_row(["---"] * len(columns))


def main() -> int:
    """Print the table; return 1 if a section failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks gpu")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    if "cpu" not in os.environ.get("JAX_PLATFORMS", "cpu"):
        os.environ["JAX_PLATFORMS"] += ",cpu"  # to compare with
    print_head("what", "measured")
    return measure_sections(given.quick, given.seconds)


if __name__ == "__main__":
    sys.exit(main())

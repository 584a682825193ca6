"""All of cai-fig1 at 100 replicates, from a cold command: wall time, compile time, compilations."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time

from tests.benchmarks.harness import print_table


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "privrank_jax", "reproduce", "cai-fig1",
            "--replicates", "100", "--out", folder, "--json",
        ]  # fmt: skip
        cold = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"}
        started = time.perf_counter()
        output = subprocess.run(command, capture_output=True, text=True, check=True, env=cold)
        wall = time.perf_counter() - started
    facts = json.loads(output.stdout)["diagnostics"]
    row = (
        f"{wall:.1f} s",
        f"{facts['compile_seconds']:.1f} s",
        f"{facts['run_seconds']:.1f} s",
        str(facts["compilations"]),
    )
    print_table(
        "cai-fig1, 100 replicates, cold command", ("wall", "compile", "run", "programs"), [row]
    )


if __name__ == "__main__":
    main()

"""``python -m tests.benchmarks [SECTION ...] [--quick]``: each section in a process of its own.

So a section that fails does not stop the others, and studies have an accelerator's memory for themselves. Without a
name all sections run; ``gpu`` stands for those of an accelerator, which take larger problems there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.benchmarks.harness import head, show
from tests.benchmarks.sections import GPU, SECTIONS


def main(words: Sequence[str]) -> int:
    """Print a table; return 1 if a section failed."""
    options = [word for word in words if word.startswith("--")]
    named = [word for word in words if word not in options] or [*SECTIONS]
    chosen = [name for word in named for name in (GPU if word == "gpu" else (word,))]
    if unknown := {*chosen} - {*SECTIONS} | {*options} - {"--quick"}:
        known = ", ".join(("gpu", *SECTIONS, "--quick"))
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {known}")
    if "cpu" not in os.environ.get("JAX_PLATFORMS", "cpu"):
        os.environ["JAX_PLATFORMS"] += ",cpu"  # to compare with
    head()
    failed = 0
    for name in chosen:
        command = [sys.executable, "-m", "tests.benchmarks.sections", name, *options]
        if subprocess.run(command).returncode:
            show((f"section {name} FAILED", "", ""))
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

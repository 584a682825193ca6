"""``python -m tests.benchmarks [NAME ...]``: run the benchmarks, each in a process of its own.

What begins with ``--`` is passed on, as in ``python -m tests.benchmarks gpu --seconds=100``.
"""

from __future__ import annotations

import subprocess
import sys

NAMES = (
    "rankings",
    "kemeny",
    "fits",
    "counting",
    "sparse",
    "stream",
    "kwiksort",
    "mallows",
    "k_norm",
    "first_answers",
    "bounds",
    "local_borda",
    "private_functions",
    "rules",
    "user_labels",
    "sub_rankings",
    "winners",
)
LONG = ("big_table", "gpu", "gpu_programs")  # many minutes: by name only

if __name__ == "__main__":
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    chosen = [word for word in sys.argv[1:] if word not in options] or NAMES
    if unknown := set(chosen) - {*NAMES, *LONG}:
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join((*NAMES, *LONG))}")
    for name in chosen:
        subprocess.run(
            [sys.executable, "-m", f"tests.benchmarks.bench_{name}", *options], check=True
        )

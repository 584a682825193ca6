"""First answers of the command in fresh processes, without a cache, beside a bare start of JAX with one operation."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.harness import print_table

ROUNDS = 3
BARE = "import jax.numpy as jnp; (jnp.arange(3) + 1).block_until_ready()"
COMMANDS = (
    "--help",
    "rank --help",
    "rank cemspc --epsilon 1",
    "rank cemspc --epsilon 1 --adjacency flip --method mle",
    "rank cemspc --method none",
    "rank pairs.csv --epsilon 1 --max-per-user 3",
    "rank pairs.csv --epsilon 1 --max-per-user 3 --adjacency flip --method mle",
    "aggregate sushi --epsilon 1",
    "aggregate sushi --method none",
    "plan --items 10 --epsilon 1 --target 0.1",
    "demo",
)
# The command with a count of compiled programs on the last line of stderr.
COUNTED = """
import sys
from privrank_jax.__main__ import main
programs = []
def count(event, *_, **__):
    if event == "/jax/core/compile/backend_compile_duration":
        programs.append(event)
if sys.argv[-1] != "--help":
    import jax.monitoring
    jax.monitoring.register_event_duration_secs_listener(count)
try:
    main()
finally:
    print(len(programs), file=sys.stderr)
"""


def spent(code: str, words: list[str], folder: Path) -> tuple[float, float, int]:
    """Wall and processor seconds of a fresh process, and the number on the last line of its stderr."""
    environment = {name: os.environ[name] for name in os.environ if "JAX_COMPILATION" not in name}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=environment | {"XDG_CACHE_HOME": str(folder / "none")},
        capture_output=True,
        text=True,
        check=False,
    )
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr)
    last = done.stderr.strip().rpartition("\n")[2]
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, processor, int(last) if last.isdigit() else 0


def main() -> None:
    """Print seconds, and how many times as long as the bare start they are."""
    folder = Path(tempfile.mkdtemp())
    orders = ("abc", "bca", "cab", "abc", "cab")
    lines = [
        f"u{user},{order[i]},{order[j]}"
        for user, order in enumerate(orders)
        for i, j in ((0, 1), (1, 2), (0, 2))
    ]
    (folder / "pairs.csv").write_text("\n".join(["user,winner,loser", *lines]), encoding="utf-8")
    runs = {"bare start of JAX": (BARE, [])}
    runs |= {f"privrank {words}": (COUNTED, words.split()) for words in COMMANDS}
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in runs}
    for round_ in range(ROUNDS + 1):
        for name, (code, words) in runs.items():
            (folder / "private.csv").unlink(missing_ok=True)
            measured = spent(code, words, folder)
            if round_:  # the first fills the page cache
                found[name].append(measured)
    median = {
        name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()
    }
    bare = median["bare start of JAX"]
    rows = [
        (
            name,
            f"{wall:.2f} s",
            f"{wall / bare[0]:.1f}x",
            f"{processor:.2f} s",
            f"{processor / bare[1]:.1f}x",
            f"{programs:.0f}",
        )
        for name, (wall, processor, programs) in median.items()
    ]
    header = ("command", "wall", "to bare", "processor", "to bare", "programs")
    print_table(f"First answers, medians of {ROUNDS} interleaved rounds", header, rows)


if __name__ == "__main__":
    main()

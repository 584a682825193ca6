"""Peak memory of the engine against the number of replicates, at a stated cap."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.benchmarks.harness import print_table
from tests.promises import promise

CAP_MIB = 256
REPLICATES = (1_000, 10_000, 100_000)


def one_run(replicates: int) -> None:
    """Run one study in this process and print its memory (MiB): before, peak, compiled."""
    import jax

    from privrank_jax import metrics, pairwise, rankings
    from privrank_jax.simulate import Study, grid, run, worlds

    def trial(key: jax.Array, parameters: dict) -> dict:
        world, data, noise = jax.random.split(key, 3)
        scores, _ = worlds.cai_scores(world, 40, 40)
        wins = worlds.tournament(data, scores, 1.0)
        found = pairwise.perturbed_mle(
            noise, wins, promise(parameters["epsilon"], adjacency="flip")
        ).value
        ranks = rankings.ranks_from_scores
        return {"kendall": metrics.kendall_distance(ranks(found), ranks(scores), normalized=True)}

    study = Study("memory", trial, grid(epsilon=(1.0,)))
    run(jax.random.key(0), study, 10, memory_limit=CAP_MIB << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = run(jax.random.key(0), study, replicates, memory_limit=CAP_MIB << 20)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report = result.diagnostics.programs[0]
    print(before, peak, (report.compiled_peak_bytes or 0) / 2**20, report.batch_size)


def main() -> None:
    """Print the table; each run has a process of its own, so that peaks do not mix."""
    rows = []
    for replicates in REPLICATES:
        command = [sys.executable, "-m", "tests.benchmarks.bench_memory", str(replicates)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        before, peak, compiled, batch = (float(word) for word in output.split())
        rows.append(
            (f"{replicates:,}", f"{batch:,.0f}", f"{compiled:.1f} MiB", f"{peak - before:.1f} MiB")
        )
    header = (
        "replicates", "batch", "the program's buffers", "growth of the process over a 10-replicate run",
    )  # fmt: skip
    print_table(f"Perturbed MLE, m = 40, memory limit {CAP_MIB} MiB", header, rows)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        one_run(int(sys.argv[1]))
    else:
        main()

"""Exact Kemeny rankings: 1,000 instances of 10 items in one batch, and one of 20 items against HiGHS."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.sparse

import privrank_jax as pr
from tests.benchmarks.harness import print_table, ratios, side_by_side
from tests.reference import aggregation as reference

INSTANCES, ITEMS, MORE_ITEMS = 1_000, 10, 20
HEADER = ("method", "median time", "times ours")


def full_integer_program(w: np.ndarray) -> float:
    """All pairs and all triangles at once, as one writes it for SciPy."""
    items = len(w)
    first, second = np.triu_indices(items, 1)
    column = np.zeros((items, items), int)
    column[first, second] = np.arange(len(first))
    i, j, k = np.array([t for t in np.ndindex(items, items, items) if t[0] < t[1] < t[2]]).T
    rows = np.repeat(np.arange(len(i)), 3)
    columns = np.stack([column[i, j], column[j, k], column[i, k]], 1).ravel()
    matrix = scipy.sparse.csr_matrix((np.tile([1.0, 1.0, -1.0], len(i)), (rows, columns)))
    result = scipy.optimize.milp(
        (w.T - w)[first, second],
        constraints=scipy.optimize.LinearConstraint(matrix, 0, 1),
        bounds=(0, 1),
        integrality=np.ones(len(first)),
    )
    return float(result.fun + w[first, second].sum())


def batch() -> None:
    """Print the table of the small instances."""
    problems = reference.tournaments("uniform", INSTANCES, ITEMS)
    layers = reference.subset_layers(ITEMS)
    solve = jax.jit(jax.vmap(pr.aggregation.exact_kemeny))
    score = jax.jit(jax.vmap(pr.aggregation.kemeny_score))
    on_device = jnp.asarray(problems)

    def by_layers() -> list[float]:
        return [reference.subset_program_by_layers(w, layers)[0] for w in problems]

    runs = {
        "privrank_jax, one batch": lambda: solve(on_device),
        "loop over NumPy, all subsets of one size at once": by_layers,
    }
    least = np.array(by_layers())
    found = np.asarray(score(solve(on_device), on_device))
    assert np.abs(found / least - 1).max() < 1e-5
    seconds = side_by_side(runs, rounds=9)
    few = {"": lambda: [reference.subset_program(w) for w in problems[:20]]}
    textbook = side_by_side(few, rounds=1)[""] * INSTANCES / 20
    seconds["loop over NumPy, a subset at a time (from 20 instances)"] = textbook
    title = f"{INSTANCES:,} exact Kemeny rankings of {ITEMS} items"
    print_table(title, HEADER, ratios(seconds, "privrank_jax, one batch"))


def single() -> None:
    """Print a table for each kind of instance: votes are easy for HiGHS, tournaments without any order are not."""
    pr.aggregation.exact_kemeny(np.zeros((MORE_ITEMS, MORE_ITEMS))).block_until_ready()
    for kind in ("votes", "uniform", "majority"):
        problems = reference.tournaments(kind, 5, MORE_ITEMS)
        for w in problems:
            score = float(pr.aggregation.kemeny_score(pr.aggregation.exact_kemeny(w), w))
            assert abs(score / full_integer_program(w) - 1) < 1e-5
        runs = {
            "privrank_jax, subsets": lambda p=problems: [
                jax.block_until_ready(pr.aggregation.exact_kemeny(w)) for w in p
            ],
            "privrank_jax, HiGHS with triangles added when violated": lambda p=problems: [
                pr.aggregation.integer_program(w) for w in p
            ],
            "SciPy milp (HiGHS), all triangles": lambda p=problems: [
                full_integer_program(w) for w in p
            ],
        }
        seconds = {name: value / 5 for name, value in side_by_side(runs, rounds=5).items()}
        title = f"exact Kemeny ranking of {MORE_ITEMS} items, {kind}: mean of 5 instances"
        print_table(title, HEADER, ratios(seconds, "privrank_jax, subsets"))


if __name__ == "__main__":
    batch()
    single()

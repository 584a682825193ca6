"""Errors of local weights of all pairs from exact reports: one pair of each user, and the order of the best few."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

import privrank_jax as pr
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.sub_rankings import best_size
from privrank_jax.release import exact_sub_ranking_weights
from tests.benchmarks.harness import print_table

USERS, RUNS, EPSILONS = 5000, 100, (1.0, 3.0, 5.0)


def crowd(items: int, random: np.random.Generator) -> Int[np.ndarray, "users items"]:
    """Ranks of a Plackett-Luce crowd whose scores go from 1 to -1."""
    worth = np.linspace(1, -1, items) + random.gumbel(size=(USERS, items))
    return np.argsort(np.argsort(-worth, axis=1), axis=1)


def error(ranks: Int[np.ndarray, "users items"], epsilon: float, size: int | None) -> float:
    """Root mean square error of the weights of all pairs."""
    privacy = pr.Privacy(epsilon, unit="user", adjacency="replace")
    truth = np.asarray(PairWeights.from_ranks(ranks).matrix)
    pairs = np.triu_indices(ranks.shape[1], 1)
    drawn = (exact_sub_ranking_weights(ranks, privacy, size=size).value for _ in range(RUNS))
    return float(np.sqrt(np.mean([(weights - truth)[pairs] ** 2 for weights in drawn])))


def main() -> None:
    random = np.random.default_rng(0)
    crowds = {f"{items} items": crowd(items, random) for items in (3, 5, 8, 10)}
    try:
        crowds["sushi"] = np.asarray(pr.read("sushi").ranks)
    except ValueError as missing:
        print(f"without sushi: {missing}")
    rows = [
        (
            name,
            f"{epsilon:g}",
            str(int(best_size(ranks.shape[1], len(ranks), epsilon))),
            f"{error(ranks, epsilon, 2):.4f}",
            f"{error(ranks, epsilon, None):.4f}",
        )
        for name, ranks in crowds.items()
        for epsilon in EPSILONS
    ]
    print_table(
        f"RMS error of local weights, {RUNS} exact releases of {USERS:,} users",
        ("crowd", "epsilon", "best k", "one pair", "order of k"),
        rows,
    )


if __name__ == "__main__":
    main()

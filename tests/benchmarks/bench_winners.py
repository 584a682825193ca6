"""The K best items of an approval vote: how many of them each method finds, on real ballots.

``python -m tests.benchmarks winners [--draws=1000] [--ballots=FILE] [--limit=L] [--users=N]``: of ``aspen``, where the
three first items of a ballot are approved of (limit 3), or of approvals in a file, such as one of Pabulib; with
``--users`` of so many of its ballots, drawn at random. Noisy totals have the least noise by public facts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

import privrank_jax as pr
from privrank_jax import pairwise
from privrank_jax.aggregation import PointTotals, dp_scores
from privrank_jax.aggregation.scores import least_noise, selection_changes
from privrank_jax.data import named_rankings
from privrank_jax.privacy import Privacy
from tests.benchmarks.harness import print_table

BEST, EPSILONS = (1, 3, 10), (0.1, 0.3, 1.0)
METHODS = ("totals", "canonical", "one-shot")


def ballots(options: argparse.Namespace) -> tuple[np.ndarray, int | None]:
    """``(n, m)`` approvals, and the most of one ballot."""
    if options.ballots is None:
        ranks = named_rankings.load_rankings("aspen").ranks
        return ((ranks >= 0) & (ranks < 3)).astype(np.int32), 3
    found = np.nan_to_num(pr.read(options.ballots).ratings).astype(np.int32)
    return found, options.limit


def chosen(
    name: str, totals: PointTotals, k: int, draws: int
) -> Callable[[float], Int[np.ndarray, "draws places"]]:
    """The items that a method takes for the best, by ε."""
    items, rules = totals.num_items, {"most": totals.most, "limit": totals.limit}
    noise = least_noise(items, Privacy(1.0, unit="user", adjacency="replace"), **rules)

    def draw(key: jax.Array, epsilon: jax.Array) -> jax.Array:
        promise = Privacy(epsilon, unit="user", adjacency="replace")
        if name == "totals":
            return jax.lax.top_k(dp_scores(key, totals, promise, noise=noise).value, k)[1]
        changes = selection_changes(items, promise, **rules)
        del changes["total_change" if name == "one-shot" else "total_sensitivity"]
        function = {
            "one-shot": pairwise.one_shot_top_k,
            "canonical": pairwise.canonical_top_k,
        }[name]
        return function(key, jnp.asarray(totals.totals, float), promise, k, **changes).value

    run = jax.jit(jax.vmap(draw, (0, None)))
    keys = jax.random.split(jax.random.key(k), draws)
    return lambda epsilon: np.asarray(run(keys, epsilon))


def main() -> None:
    """Print one table: the share of the K best that each method finds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--ballots")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--users", type=int)
    options = parser.parse_args()
    points, limit = ballots(options)
    if options.users:
        kept = np.random.default_rng(0).choice(len(points), options.users, replace=False)
        points = points[kept]
    totals = PointTotals.from_points(points, limit=limit)
    best, rows = np.argsort(-np.asarray(totals.totals), kind="stable"), []
    for k in BEST:
        runs = [chosen(name, totals, k, options.draws) for name in METHODS]
        for epsilon in EPSILONS:
            shares = [f"{np.isin(run(epsilon), best[:k]).mean():.2f}" for run in runs]
            rows.append((str(k), str(epsilon), *shares))
    n, m = points.shape
    print_table(
        f"share of the K best found, {n:,} ballots, {m} items, limit {limit}",
        ("K", "ε", *METHODS),
        rows,
    )


if __name__ == "__main__":
    main()

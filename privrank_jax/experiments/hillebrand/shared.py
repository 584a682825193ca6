"""Shared parts of the studies of fixed crowds: solvers, the table of costs, and proven bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._types import Mask, PairMatrix
from privrank_jax.aggregation.assignment import assignment
from privrank_jax.aggregation.bounds import Bound
from privrank_jax.experiments import claims
from privrank_jax.experiments.alabi.common import EXCESS
from privrank_jax.experiments.claims import Verdict, minus
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import Labeled, labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row


def solved(
    scores: Mapping[str, Array],
    weights: Mapping[str, Array],
    costs: Mapping[str, Array],
    mask: Mask,
) -> dict[str, Array]:
    """The ranking of each method, with one copy of each solver in the program.

    Args:
        scores: to rank by, high = preferred.
        weights: noised ones, for local search from their Borda ranking.
        costs: of items at places, for the assignment of least cost.
        mask: ``(m,)``, real items.
    """
    solvers = (
        (scores, lambda values: ranks_from_scores(values, mask)),
        (weights, lambda matrix: aggregation.local_search(matrix, mask=mask)),
        (costs, assignment),
    )
    return {
        name: ranks
        for found, solve in solvers
        for name, ranks in zip(found, jax.vmap(solve)(jnp.stack([*found.values()])), strict=True)
    }


def judged(
    at: Callable[..., Mapping[str, Array]],
    epsilons: Sequence[float],
    weights: PairMatrix,
    least: Array,
    items: Array | int,
    pairs: Sequence[tuple[str, str]],
    plain: Mapping[str, Array],
    *more: np.ndarray,
) -> Labeled:
    """Excess cost of each method at each ε, as a share of pairs, and paired differences.

    Args:
        at: rankings by the name of their method, at one ε and what ``more`` holds for it.
        epsilons: all ε.
        weights: of the crowd.
        least: the least Kemeny score.
        items: number of real items.
        pairs: of methods whose difference is wanted; those of which one did not run are left out.
        plain: Kemeny scores of methods without noise.
        *more: further arguments of ``at``, a row for each ε.
    """

    def excess(*level: Array) -> dict[str, Array]:
        found = at(*level)
        score = jax.vmap(lambda ranks: aggregation.kemeny_score(ranks, weights))
        costs = score(jnp.stack([*found.values()]))
        every = jnp.append(costs, jnp.asarray([*plain.values()], costs.dtype))
        return dict(zip((*found, *plain), (every - least) / (items * (items - 1) / 2), strict=True))

    found = jax.vmap(excess)(jnp.asarray(epsilons, weights.dtype), *map(jnp.asarray, more))
    names, table = list(found), jnp.stack([*found.values()])
    pairs = [pair for pair in pairs if set(pair) <= set(names)]
    first, second = (np.array([names.index(pair[side]) for pair in pairs]) for side in (0, 1))
    table = jnp.concatenate([table, table[first] - table[second]])
    labels = (*names, *(minus(one, other) for one, other in pairs))
    return labeled(table[:, None], labels, (EXCESS,), tuple(epsilons))


def by_crowd(places: Sequence[tuple[str, int]], rows: list[Row]) -> list[Row]:
    """The rows with the name of their crowd as study, and its least cost as a share of pairs.

    Args:
        places: name and number of items of each crowd.
        rows: of the study; their ``crowd`` is a number in ``places``.
    """
    found = []
    for row in rows:
        name, items = places[row["crowd"]]
        rest = {column: value for column, value in row.items() if column != "crowd"}
        optimum = crowds.crowd(name, items).optimum / math.comb(items, 2)
        found.append(rest | {"study": name, "optimum": optimum})
    return found


def within(
    table: StudyResult, *, method: str, bound: Callable[[int, int, float], Bound]
) -> Verdict:
    """Is the method's mean cost within its proven ratio and additive error, in every cell?

    Args:
        table: tidy.
        method: the estimator.
        bound: on the mean cost, for m items, n users and ε.
    """
    rows = [row for row in table.rows if (row["estimator"], row["metric"]) == (method, EXCESS)]
    used, wrong = [], 0
    for row in rows:
        limit = allowed(bound(int(row["num_items"]), int(row["num_users"]), row["epsilon"]), row)
        wrong += row["mean"] - claims.SLACK * row["standard_error"] > limit
        used.append((row["mean"] / limit, row))
    if not used:
        return Verdict(None, "no such cells")
    share, row = max(used, key=lambda one: one[0])
    evidence = (
        f"{len(used) - wrong} of {len(used)} cells are within it; the largest share of what is allowed above the "
        f"optimum: {share:.3f} at {row['study']}, m = {row['num_items']}, n = {row['num_users']}, ε = "
        f"{row['epsilon']:g}"
    )
    return Verdict(not wrong, evidence)


def allowed(bound: Bound, row: Row) -> float:
    """The most that the mean cost may be above the optimum of a row's crowd, as a share of pairs."""
    return (bound.ratio - 1) * row["optimum"] + float(bound.additive) / math.comb(
        int(row["num_items"]), 2
    )

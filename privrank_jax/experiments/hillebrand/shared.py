"""Shared parts of the studies of fixed crowds: solvers, the table of costs, and proven bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.bounds import Bound
from privrank_jax.experiments import claims
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi.common import EXCESS, Answer
from privrank_jax.experiments.claims import Verdict
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.simulate.axes import Labeled, labeled
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row


def judged(
    at: Callable[..., Mapping[str, Answer]],
    epsilons: Sequence[float],
    weights: PairWeights,
    least: Array,
    pairs: Sequence[tuple[str, str]],
    plain: Mapping[str, Array],
    *more: np.ndarray,
) -> Labeled:
    """Excess cost of each method at each ε, as a share of pairs, and paired differences.

    Args:
        at: answers by the name of their method, at one ε and what ``more`` holds for it.
        epsilons: all ε.
        weights: of the crowd.
        least: the least Kemeny score.
        pairs: see :func:`~privrank_jax.experiments.alabi.common.with_differences`.
        plain: Kemeny scores of methods without noise.
        *more: further arguments of ``at``, a row for each ε.
    """
    matrix, mask = weights.matrix, weights.item_mask
    found = jax.vmap(at)(jnp.asarray(epsilons, matrix.dtype), *map(jnp.asarray, more))
    ranks, _ = common.solved(found, mask)
    score = jax.vmap(jax.vmap(lambda ranks: aggregation.kemeny_score(ranks, matrix)))
    costs = score(jnp.stack([*ranks.values()]))
    if plain:
        without = jnp.asarray([*plain.values()], costs.dtype)[:, None]
        costs = jnp.concatenate([costs, jnp.broadcast_to(without, (len(plain), len(epsilons)))])
    items = jnp.sum(mask)
    excess = (costs - least) / (items * (items - 1) / 2)
    labels, table = common.with_differences((*ranks, *plain), excess, pairs)
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

"""The k best items by their totals: which mechanism misses fewest, by k, L, ε and the shape of the totals.

A user changes at most L totals, each by at most 1 in either direction, as users do who compare L pairs of different
items. So one round or one noise per item needs min(k, L) times as much noise as one item alone, and one draw among
all sets does not. Mechanisms that publish a list are judged by its items alone, like those that publish a set.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax import pairwise
from privrank_jax._types import Key, Scores
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments import claims
from privrank_jax.experiments.cai import pictures
from privrank_jax.experiments.cai.common import PAPER, TOP
from privrank_jax.experiments.claims import minus, with_differences
from privrank_jax.experiments.experiment import Experiment
from privrank_jax.privacy import Privacy
from privrank_jax.simulate.axes import labeled
from privrank_jax.simulate.study import Metrics, Parameters, Study

ONE_SHOT, CANONICAL = "one-shot", "canonical"
_DRAWS = {
    ONE_SHOT: pairwise.one_shot_top_k,
    "peeling": pairwise.peeling_top_k,
    "permute-and-flip": pairwise.permute_and_flip_top_k,
    CANONICAL: pairwise.canonical_top_k,
}
FLAT, STEEP, CLIFF = "flat", "steep", "cliff"


@dataclass(frozen=True)
class TopListsConfig:
    """Grid of one study per shape of the totals.

    Attributes:
        items: m.
        lists: k and L.
        epsilons: ε.
    """

    items: tuple[int, ...] = (20, 100)
    lists: tuple[tuple[int, int], ...] = (
        *((1, 1), (3, 1), (3, 2), (3, 3)),
        *((10, 1), (10, 3), (10, 5), (10, 10)),
    )
    epsilons: tuple[float, ...] = (0.3, 1.0, 3.0)


def totals_of(shape: str, num_items: int, k: int) -> Scores:
    """Totals in decreasing order: equal gaps, falls that slow down, or a cliff behind the k-th item.

    Args:
        shape: ``"flat"``, ``"steep"`` or ``"cliff"``.
        num_items: m.
        k: items before the cliff.
    """
    rank = jnp.arange(num_items, dtype=float)
    if shape == FLAT:
        return 3.0 * (num_items - rank)
    if shape == STEEP:
        return jnp.round(300.0 / (rank + 1))
    return (num_items - rank) + 30.0 * (rank < k)


def trial(key: Key, cell: Parameters, *, shape: str) -> Metrics:
    """Share of the k best items that each mechanism misses."""
    size, k, most = cell["num_items"], cell["k"], cell["changes"]
    shuffle, *keys = jax.random.split(key, 1 + len(_DRAWS))
    items = jax.random.permutation(shuffle, size)
    totals = jnp.zeros(size).at[items].set(totals_of(shape, size, k))
    asked = Privacy(cell["epsilon"], unit="user", adjacency="replace", contributions=most)
    rank = jnp.arange(size)
    wins = WinCounts(jnp.zeros((size, size)).at[rank, (rank + 1) % size].set(totals))

    def missed(one: Key, name: str) -> jax.Array:
        chosen = _DRAWS[name](one, wins, asked, k, sensitivity=1.0).value
        return 1 - jnp.mean(jnp.isin(chosen, items[:k]))

    found = {name: missed(one, name) for one, name in zip(keys, _DRAWS, strict=True)}
    found = with_differences(found, ((CANONICAL, ONE_SHOT),))
    return {TOP: labeled(jnp.stack([*found.values()]), tuple(found))}


def build(config: TopListsConfig) -> tuple[Study, ...]:
    """Build one study per shape."""
    cells = tuple(
        {"num_items": items, "k": k, "changes": most, "epsilon": epsilon}
        for items, (k, most), epsilon in itertools.product(
            config.items, config.lists, config.epsilons
        )
    )
    return tuple(
        Study(
            shape,
            functools.partial(trial, shape=shape),
            cells,
            ("num_items", "k"),
            ("metric", "estimator"),
        )
        for shape in (FLAT, STEEP, CLIFF)
    )


_AHEAD: dict[str, Any] = {"metric": TOP, "estimator": minus(CANONICAL, ONE_SHOT)}

EXPERIMENTS = (
    Experiment(
        name="cai-top-lists",
        title="The k best items: one noise for each item, k rounds, or one draw among all sets",
        paper=f"{PAPER} (who select by one-shot noise alone)",
        config=TopListsConfig(),
        build=build,
        claims=(
            claims.between(
                "one item: the canonical mechanism, which is permute-and-flip then, never misses more than one-shot",
                k=1,
                most=0.0,
                **_AHEAD,
            ),
            claims.between(
                "L >= k: it misses fewer by 0.05 and more, where one-shot misses up to a third (flat, ε = 1, 3 items)",
                study=FLAT,
                epsilon=1.0,
                k=3,
                changes=3,
                most=-0.05,
                **_AHEAD,
            ),
            claims.between(
                "L >= k: likewise where the k-th item is followed by a cliff (ε = 1, 10 items)",
                study=CLIFF,
                epsilon=1.0,
                k=10,
                changes=10,
                most=-0.1,
                **_AHEAD,
            ),
            claims.between(
                "L = 1, more than one item: one-shot misses no more, but for 0.01",
                k=(3, 10),
                changes=1,
                least=-0.01,
                **_AHEAD,
            ),
            claims.between(
                "where noise hides them, one-shot misses fewer by 0.1 and more (a cliff, ε = 0.3, more than one item)",
                study=CLIFF,
                epsilon=0.3,
                k=(3, 10),
                least=0.1,
                **_AHEAD,
            ),
        ),
        draw=pictures.top_lists,
        outline=("epsilon", "estimator"),
        differences=(
            "no study of the papers: totals are fixed, in three shapes, and users change L of them by at most 1 each",
        ),
        replicates=200,
    ),
)

"""The comparison graph: is the maximum likelihood estimate unique and finite?"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise.chunks import chunked

Array = jax.Array


def component_labels(adjacent: Array) -> Array:
    """Smallest item index of each item's connected component: ``(m, m)`` symmetric bool to ``(m,)`` int32."""
    size = adjacent.shape[0]
    labels = jnp.arange(size, dtype=jnp.int32)

    def step(labels: Array) -> Array:
        reached = jnp.min(jnp.where(adjacent, labels[None, :], size), axis=1)
        return jnp.minimum(labels, reached).astype(jnp.int32)

    return _fixed_point(step, labels)


def connectivity(wins: WinCounts) -> tuple[Array, Array]:
    """Number of connected components of the comparison graph, and whether the wins separate it.

    The likelihood has a finite maximizer exactly if, within every component, every item is linked to every other by
    a chain of wins (Ford 1957; Zermelo 1929); "separated" means that this fails. The data do not determine
    the order of items in different components.

    Args:
        wins: win counts of m items.

    Returns:
        components: ``()`` int32, counted over real items.
        separated: ``()`` bool.
    """
    return chunked(jax.vmap(_connectivity))(jax.lax.stop_gradient(wins))


def _connectivity(wins: WinCounts) -> tuple[Array, Array]:
    mask = wins.item_mask
    beats = (wins.matrix > 0) & mask[:, None] & mask[None, :]
    labels = component_labels((wins.comparisons > 0) & mask[:, None] & mask[None, :])
    roots = (labels == jnp.arange(labels.shape[0])) & mask
    below = _fixed_point(lambda seen: seen | jnp.any(beats & seen[:, None], axis=0), roots)
    above = _fixed_point(lambda seen: seen | jnp.any(beats & seen[None, :], axis=1), roots)
    return jnp.sum(roots).astype(jnp.int32), jnp.any(mask & ~(below & above))


def edge_connectivity(edges: WinEdges) -> tuple[int, bool]:
    """:func:`connectivity` of an edge list, computed on the host by a graph search (not traceable)."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second = np.asarray(edges.first), np.asarray(edges.second)
    first_won, second_won = np.asarray(edges.first_wins) > 0, np.asarray(edges.second_wins) > 0
    above = np.concatenate([first[first_won], second[second_won]])
    below = np.concatenate([second[first_won], first[second_won]])
    shape = (edges.num_items, edges.num_items)
    beats = coo_matrix((np.ones(above.size, np.int8), (above, below)), shape).tocsr()
    components, _ = connected_components(beats, directed=False)
    strong, _ = connected_components(beats, directed=True, connection="strong")
    return int(components), bool(strong > components)


def _fixed_point(step: Callable[[Array], Array], start: Array) -> Array:
    """Apply ``step`` until nothing changes."""

    def advance(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        return pair[1], step(pair[1])

    return jax.lax.while_loop(lambda p: jnp.any(p[0] != p[1]), advance, (start, step(start)))[1]

"""The comparison graph: is the maximum likelihood estimate unique and finite?

Without ties the likelihood has a finite maximizer exactly if, within every component, every item is linked to every
other by a chain of wins (Ford 1957; Zermelo 1929). For Davidson's model see :func:`has_maximum`.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._chunks import chunked
from privrank_jax._components import components
from privrank_jax._validate import check_square
from privrank_jax.comparisons import WinCounts, WinEdges

Array = jax.Array

MOST_PAIRS = 2000


def check_counts(wins: object) -> None:
    """Raise ``TypeError`` unless ``wins`` are :class:`~privrank_jax.comparisons.WinCounts`."""
    if not isinstance(wins, WinCounts):
        raise TypeError(
            f"wins must be WinCounts, got {type(wins).__name__}: count comparisons with WinCounts.from_comparisons, or "
            "wrap a matrix with WinCounts.from_matrix."
        )


def check_one_problem(wins: WinCounts) -> None:
    """Raise as :func:`check_counts`, and ``ValueError`` unless the counts are one square matrix."""
    check_counts(wins)
    check_axes("matrix", wins.matrix, 2)
    check_square("matrix of the win counts", wins.matrix)


def check_tied_counts(wins: WinCounts) -> None:
    """Raise as :func:`check_one_problem`, and ``ValueError`` unless the counts know their ties."""
    check_one_problem(wins)
    if wins.ties is None:
        raise ValueError(
            "these win counts don't say how many comparisons are ties: count them by WinCounts.from_comparisons(..., "
            "tied=...), or give WinCounts.from_matrix(..., ties=T)."
        )


def check_axes(name: str, counts: Array, axes: int) -> None:
    """Raise ``ValueError`` unless this field of win counts has so many axes."""
    if jnp.ndim(counts) != axes:
        raise ValueError(
            f"{name} of the win counts must have {axes} axes, got shape {jnp.shape(counts)}; "
            "use jax.vmap for a batch of problems."
        )


@functools.partial(jax.jit, inline=True)
def connectivity(wins: WinCounts) -> tuple[Array, Array]:
    """Number of components of the graph over real items, int32, and whether chains of wins fail to link one of them."""
    return chunked(_connectivities)(jax.lax.stop_gradient(wins))


def _connectivities(wins: WinCounts) -> tuple[Array, Array]:
    """Of a batch, ``(batch, m, m)``. Mostly all items of each problem are linked, which is quick to find."""
    items = jnp.arange(wins.num_items)
    if wins.mask is None:
        mask, start = jnp.ones(wins.matrix.shape[:-1], bool), 0
    else:
        mask, start = wins.mask, jnp.argmax(wins.mask, -1)[:, None]
    real = mask[:, :, None] & mask[:, None, :]
    beats = (wins.matrix > 0) & real
    linked = _linked(beats, mask & (items == start), mask)

    def with_labels(_: Array) -> tuple[Array, Array]:
        roots = (jax.vmap(components)((wins.comparisons > 0) & real) == items) & mask
        separated = jnp.any(mask & ~_linked(beats, roots, mask), -1)
        return jnp.sum(roots, -1).astype(jnp.int32), separated

    def all_linked(mask: Array) -> tuple[Array, Array]:
        some = jnp.any(mask, -1)
        return some.astype(jnp.int32), jnp.zeros_like(some)

    return jax.lax.cond(jnp.all(linked == mask), all_linked, with_labels, mask)


def _linked(beats: Array, roots: Array, mask: Array) -> Array:
    """Which items have a chain of wins from a root and one to a root, ``(batch, m)``."""

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        below, above, _ = state
        more_below = below | jnp.any(beats & below[:, :, None], axis=1)
        more_above = above | jnp.any(beats & above[:, None, :], axis=2)
        grown = jnp.any((more_below != below) | (more_above != above))
        return more_below, more_above, grown & ~jnp.all(more_below & more_above == mask)

    start = (roots, roots, jnp.bool_(True))
    below, above, _ = jax.lax.while_loop(lambda state: state[2], step, start)
    return below & above


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
    groups, _ = connected_components(beats, directed=False)
    strong, _ = connected_components(beats, directed=True, connection="strong")
    return int(groups), bool(strong > groups)


def has_maximum(wins: WinCounts) -> bool | None:
    """Whether Davidson's likelihood of these counts has a finite maximum; ``None`` for more than ``MOST_PAIRS`` pairs.

    An exponential family has one exactly if the observed statistic is the mean of outcome probabilities that are all
    above 0 (Barndorff-Nielsen 1978, Theorem 9.13), here of (win, tie, loss) of each pair. A linear program decides: the
    largest t with all of them >= t. Chains of wins and ties don't suffice: without losses all ν > 0 want a larger gap.
    """
    from scipy import optimize, sparse

    met = np.triu(np.asarray(wins.comparisons, np.float64), 1)
    first, second = np.nonzero(met)
    pairs, items = first.size, wins.num_items
    if pairs > MOST_PAIRS:
        return None
    if not pairs:
        return False
    times, each = met[first, second], np.arange(pairs)
    # Unknown: by how much wins, ties and losses of each pair exceed t of its comparisons, then t.
    rows = np.concatenate(
        [first, first, second, second, np.full(pairs, items), *[items + 1 + each] * 3]
    )
    win, tie, loss = each, pairs + each, 2 * pairs + each
    columns = np.concatenate([win, tie, tie, loss, tie, win, tie, loss])
    entries = np.repeat([1, 0.5, 0.5, 1, 1, 1, 1, 1], pairs)
    sums = sparse.coo_matrix((entries, (rows, columns)), (items + 1 + pairs, 3 * pairs)).tocsr()
    of_all = np.concatenate([1.5 * (met + met.T).sum(1), [times.sum()], 3 * times])  # of t
    found = optimize.linprog(
        np.append(np.zeros(3 * pairs), -1.0),
        A_eq=sparse.hstack([sums, sparse.csr_matrix(of_all[:, None])]).tocsr(),
        b_eq=np.concatenate([np.asarray(wins.totals), [float(np.asarray(wins.ties))], times]),
        bounds=[(0, None)] * (3 * pairs) + [(None, 1)],
    )
    return bool(found.success and found.x[-1] > 1e-9)

"""Small graphs."""

from __future__ import annotations

import itertools

import jax.numpy as jnp
import numpy as np

from privrank_jax.privacy.geometry import Zonotope

COMPLETE = {m: list(itertools.combinations(range(m), 2)) for m in (2, 3, 4)}
GRAPHS = {
    "K2": (COMPLETE[2], 2),
    "K3": (COMPLETE[3], 3),
    "K4": (COMPLETE[4], 4),
    "cycle": ([(0, 1), (1, 2), (2, 3), (0, 3)], 4),
    "asked again": ([(0, 1), (0, 1), (1, 2), (0, 2)], 3),
    "path": ([(0, 1), (1, 2)], 3),
    "two components": ([(0, 1), (2, 3), (3, 4), (2, 4)], 5),
    "path or no answer": ([(0, 1), (1, 2), (0, 3), (1, 3), (1, 3), (2, 3)], 4),
    "an item alone": ([(0, 1), (0, 2), (1, 2)], 4),
}


def zonotope(pairs, num_items):
    """Of these pairs, each once for each time that it is listed."""
    lengths = np.zeros((num_items, num_items))
    np.add.at(lengths, tuple(np.asarray(pairs).T), 1.0)
    return Zonotope(jnp.asarray(lengths + lengths.T))


def edges_of(graph):
    return [tuple(edge) for edge in graph.edges.tolist()]

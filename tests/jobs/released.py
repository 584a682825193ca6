"""Rankings of files, as tests of jobs make them."""

from __future__ import annotations

import jax

import privrank_jax as pr


def released(
    source,
    *,
    epsilon=1.0,
    unit="user",
    adjacency="replace",
    delta=0.0,
    most=None,
    seed=None,
    **asked,
):
    """``pr.rank`` of a file or of data; with a seed a rehearsal.

    Args:
        source: what to read, or what was read.
        epsilon: None: without privacy.
        unit, adjacency, delta: of the promise.
        most: comparisons of one user.
        seed: of a rehearsal.
        asked: further arguments of ``pr.rank``; those in ``read`` are for ``pr.read``.
    """
    data = (
        pr.read(source, **asked.pop("read", {}))
        if not hasattr(source, "name") or hasattr(source, "suffix")
        else source
    )
    promise = epsilon and pr.Privacy(
        epsilon, unit=unit, adjacency=adjacency, delta=delta, contributions=most
    )
    key = None if seed is None else jax.random.key(seed)
    return pr.rank(data, promise or None, key=key, **asked)

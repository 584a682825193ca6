"""Rankings of files, as tests of jobs make them."""

from __future__ import annotations

import os

import jax

import privrank_jax as pr
from privrank_jax.data import Comparisons, Rankings


def read(source, **columns):
    """What a file or columns hold, all items of which are public; what is read already as it is."""
    if not isinstance(source, str | os.PathLike | dict):
        return source
    usual = columns.keys() <= {"kind", "user", "items", "ignore", "name"}
    kind = Rankings if "missing" in columns else Comparisons
    return (pr.read if usual else kind.read)(source, **{"items": "seen"} | columns)


def released(
    source, *, epsilon=1.0, unit="user", adjacency="replace", delta=0.0, most=None, seed=None, **asked
):  # fmt: skip
    """``pr.rank`` of a file or of data, without privacy at ``epsilon=None``, a rehearsal with a seed; ``read`` has
    arguments of :func:`read`, and ``most`` is what one user may give."""
    data = read(source, **asked.pop("read", {}))
    promise = None
    if epsilon is not None:
        limits = {"unit": unit, "adjacency": adjacency, "delta": delta, "contributions": most}
        promise = pr.Privacy(epsilon, **limits)
    key = None if seed is None else jax.random.key(seed)
    return pr.rank(data, promise, key=key, **asked)


def agreed(source, *, epsilon=1.0, delta=0.0, seed=None, **asked):
    """``pr.consensus`` of a file or of data; arguments as of :func:`released`."""
    data = read(source, **asked.pop("read", {}))
    promise = None
    if epsilon is not None:
        promise = pr.Privacy(epsilon, unit="user", adjacency="replace", delta=delta)
    key = None if seed is None else jax.random.key(seed)
    return pr.consensus(data, promise, key=key, **asked)

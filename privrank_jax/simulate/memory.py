"""Estimates of the memory that a traced program needs, from a liveness analysis of its jaxpr."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var


def peak_bytes(closed: ClosedJaxpr) -> int:
    """Estimate the peak memory of ``closed`` in bytes.

    The equations run in order; the result of each stays alive until its last use, arguments and closed-over constants
    throughout. While an equation runs, it needs its results and, of the programs inside it (loops, branches and calls),
    the largest. XLA usually needs less; it may also reorder equations and need more, so a hard limit must be checked
    against the compiled program. A ``vmap`` over one element gives the bytes of one replicate in a batch.
    """
    constants = sum(int(getattr(value, "nbytes", 0)) for value in closed.consts)
    return constants + sum(map(_size, closed.jaxpr.invars)) + _transient(closed.jaxpr)


def _transient(jaxpr: Jaxpr) -> int:
    """Peak of what ``jaxpr`` allocates beyond its arguments, results included."""
    uses = [*(equation.invars for equation in jaxpr.eqns), jaxpr.outvars]
    atoms = ((place, atom) for place, used in enumerate(uses) for atom in used)
    last = {atom: place for place, atom in atoms if type(atom) is not Literal}
    freed: Counter[int] = Counter()
    live = peak = 0
    for place, equation in enumerate(jaxpr.eqns):
        inside = max(map(_transient, bodies(equation.params)), default=0)
        peak = max(peak, live + sum(map(_size, equation.outvars)) + inside)
        for made in equation.outvars:
            if made in last:
                live += _size(made)
                freed[last[made]] += _size(made)
        live -= freed[place]
    return peak


def bodies(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The programs inside an equation: of loops, branches and calls."""
    for value in params.values():
        for entry in value if isinstance(value, tuple | list) else (value,):
            if isinstance(entry, ClosedJaxpr):
                yield entry.jaxpr
            elif isinstance(entry, Jaxpr):
                yield entry


def _size(atom: Var | Literal) -> int:
    shape = getattr(atom.aval, "shape", None)
    if shape is None:  # a token
        return 0
    aval: Any = atom.aval  # of an array
    return math.prod(shape) * aval.dtype.itemsize

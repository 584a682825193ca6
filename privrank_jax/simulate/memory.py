"""Estimates of the memory that a traced program needs, from a liveness analysis of its jaxpr."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

# Primitives whose lowering keeps several buffers of the size of the result: threefry carries both
# words of its state twice, a sort works on copies.
_WORKSPACE = {"random_bits": 4, "threefry2x32": 4, "random_gamma": 4, "sort": 2, "top_k": 2}
# These primitives run their inner program once. Any other primitive with one counts as a loop, which needs more.
_CALLS = {"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "cond", "shard_map"}
_CALLS |= {"custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "custom_linear_solve"}


def peak_bytes(closed: ClosedJaxpr) -> int:
    """Estimate the peak memory of ``closed`` in bytes, erring on the high side.

    The equations run in order; the result of each stays alive until its last use, arguments and
    closed-over constants throughout. A loop needs three copies of its carry (result, current and next) on top of the
    peak of its body, and so does any other equation whose inner program is not known to run only once; a conditional
    needs the larger of its branches, a scatter a copy of its input, a factorization with several results one more copy
    of them. XLA fuses element-wise chains and reuses buffers, so the compiled program usually needs less, sometimes
    several times less; it may also reorder equations and need more, so a hard limit must be checked against the
    compiled program.

    Args:
        closed: a traced program, as ``jax.make_jaxpr`` returns it. Trace a ``vmap`` over one
            element to get the bytes of one replicate, with the selects that batching a loop adds.

    Returns:
        Bytes: arguments, constants, intermediate values and results at the worst equation.
    """
    arguments = sum(_size(variable) for variable in closed.jaxpr.invars)
    return arguments + _constants(closed) + _transient(closed.jaxpr)


def _constants(closed: ClosedJaxpr) -> int:
    return sum(int(getattr(value, "nbytes", 0)) for value in closed.consts)


def _transient(jaxpr: Jaxpr) -> int:
    """Peak of what ``jaxpr`` allocates beyond its arguments, results included."""
    last_use: dict[Var, int] = {}
    for position, equation in enumerate(jaxpr.eqns):
        for atom in equation.invars:
            if not isinstance(atom, Literal):
                last_use[atom] = position
    kept = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    alive: dict[Var, int] = {}
    live = peak = 0
    for position, equation in enumerate(jaxpr.eqns):
        results = sum(_size(variable) for variable in equation.outvars)
        peak = max(peak, live + _while_running(equation, results))
        for variable in equation.outvars:
            if variable in last_use or variable in kept:
                alive[variable] = _size(variable)
                live += alive[variable]
        for atom in equation.invars:
            if isinstance(atom, Literal) or atom in kept or last_use[atom] != position:
                continue
            live -= alive.pop(atom, 0)
    return peak


def _while_running(equation: JaxprEqn, results: int) -> int:
    name = equation.primitive.name
    inside = list(bodies(equation.params))
    if name.startswith("scatter"):  # its combiner is a body too, of scalars
        return results + sum(_size(atom) for atom in equation.invars)
    if not inside:
        return results * (1 + _WORKSPACE.get(name, int(len(equation.outvars) > 1)))
    inner = max(_transient(body) for body in inside)
    if name in _CALLS:
        return max(results, inner)
    carried = results if name == "while" else max(_carried(equation, body) for body in inside)
    return results + 2 * carried + inner


def _carried(loop: JaxprEqn, body: Jaxpr) -> int:
    """The carry of one step of ``scan``, and the slices it reads of the arrays that it scans over.

    The shapes tell them apart: a carry has the same shape inside and outside, a slice a different one from its array.
    The parameters that count them are internal to JAX and were renamed in 0.11.
    """
    carry = sum(_size(x) for x, whole in zip(body.outvars, loop.outvars) if _same(x, whole))
    slices = sum(_size(x) for x, whole in zip(body.invars, loop.invars) if not _same(x, whole))
    return carry + slices


def _same(one: Var | Literal, other: Var | Literal) -> bool:
    return getattr(one.aval, "shape", None) == getattr(other.aval, "shape", None)


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
    size = aval.dtype.itemsize
    for extent in shape:
        size *= extent
    return int(size)

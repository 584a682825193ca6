"""Evaluate a function written in JAX by NumPy, one operation after another, without compiling anything.

The function is traced, so its formulas stand in one place, and it draws the same random bits from the same keys. It
takes microseconds for each operation and no seconds for a compiler: right for one small problem, wrong for many or
large ones. Results agree with those of a compiled program to rounding. Where an operation is not known here, as in a
later version of JAX, the function is compiled instead.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.extend
import numpy as np

from privrank_jax._host.arrays import ARRAYS
from privrank_jax._host.indexing import INDEXING
from privrank_jax._host.numbers import NUMBERS, of_function
from privrank_jax._host.random import RANDOM, is_known_key, keys_as_numbers, numbers_as_keys
from privrank_jax._validate import is_traced

Value = TypeVar("Value")
Values = list[np.ndarray]

_SMALL = 1 << 17  # numbers in all arguments
_SETTINGS = (bool, int, float, np.float64, str, type(None))  # of partial functions

_ONE_RESULT = {**NUMBERS, **ARRAYS, **INDEXING, **RANDOM}
# Primitives that call a function, with the names of the parameters that may hold it.
_CALLS = ("jaxpr", "call_jaxpr", "call", "fun_jaxpr")


class _Unknown(Exception):
    """An operation that this module does not know."""


def evaluate(function: Callable[..., Value], *arguments: Any) -> Value:
    """``function(*arguments)`` for concrete arguments, computed by NumPy.

    Args:
        function: a function that :func:`jax.jit` could take, with all arguments traced.
        arguments: pytrees of arrays and numbers; JAX's and NumPy's are both taken.

    Returns:
        The result, its arrays those of NumPy, but for keys.

    >>> import jax.numpy as jnp
    >>> evaluate(lambda x: jnp.cumsum(x)[::-1], np.arange(4)).tolist()
    [6, 3, 1, 0]
    """
    function = _same_for_equals(function)
    closed, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    tree = jax.tree.structure(shapes)
    try:
        program = (_program if _is_lasting(function) else _Program)(closed.jaxpr)
    except _Unknown:
        return jax.tree.map(_on_host, concretely(jax.jit(function), *arguments))
    with np.errstate(all="ignore"):
        inputs = [
            _as_numpy(leaf, var) for leaf, var in zip(jax.tree.leaves(arguments), closed.in_avals)
        ]
        consts = [_as_numpy(leaf, leaf) for leaf in closed.consts]
        found = program.run(consts, inputs)
    return jax.tree.unflatten(tree, map(_as_result, found, closed.out_avals))


def quickly(function: Callable[..., Value], *arguments: Any) -> Value:
    """The same for small arguments; larger ones, for which a compiled program pays, and traced ones go to the function.

    Args:
        function: as for :func:`evaluate`.
        arguments: as for :func:`evaluate`, or traced.

    >>> import jax.numpy as jnp
    >>> quickly(jnp.sum, np.arange(4)).item()
    6
    """
    if is_traced(arguments) or sum(map(np.size, jax.tree.leaves(arguments))) > _SMALL:
        return function(*arguments)
    return evaluate(function, *arguments)


def _is_lasting(function: Callable[..., Any]) -> bool:
    """Whether it is a function of a module, or a partial one that :func:`_same_for_equals` keeps: both hold no data."""
    if isinstance(function, functools.partial):
        settings = (*function.args, *function.keywords.values())
        known = all(type(one) in _SETTINGS and f"{one}" != "-0.0" for one in settings)  # == 0.0
        return known and _is_lasting(function.func)
    return "<" not in getattr(function, "__qualname__", "<")


def _same_for_equals(function: Callable[..., Value]) -> Callable[..., Value]:
    """The same object for partial functions with equal settings: JAX traces an object once for arguments of a kind."""
    if not isinstance(function, functools.partial) or not _is_lasting(function):
        return function
    return _partial(
        function.func, tuple(function.keywords), *function.args, *function.keywords.values()
    )


@functools.lru_cache(maxsize=512, typed=True)
def _partial(function: Callable[..., Value], names: tuple[str, ...], *settings: Any):
    unnamed = len(settings) - len(names)
    return functools.partial(function, *settings[:unnamed], **dict(zip(names, settings[unnamed:])))


def concretely(function: Callable[..., Value], *arguments: Any) -> Value:
    """``function(*arguments)`` for concrete arguments, with a concrete result also where the caller is traced.

    Args:
        function: compiled by :func:`jax.jit`.
        arguments: pytrees of arrays and numbers.
    """
    found = function(*arguments)
    if not is_traced(found):
        return found
    with jax.ensure_compile_time_eval():  # takes longer, so not everywhere
        return function(*arguments)


def _as_numpy(leaf: Any, like: Any) -> np.ndarray:
    """An argument as NumPy holds it; a key as one number."""
    if jax.dtypes.issubdtype(like.dtype, jax.dtypes.prng_key):
        return keys_as_numbers(leaf)
    return np.asarray(leaf, like.dtype)


def _as_result(array: np.ndarray, like: Any) -> Any:
    if jax.dtypes.issubdtype(like.dtype, jax.dtypes.prng_key):
        return numbers_as_keys(array)
    return np.asarray(array, like.dtype)


def _on_host(leaf: Any) -> Any:
    return leaf if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)


class _Program:
    """The operations of a jaxpr, looked up once; values live in numbered places."""

    def __init__(self, jaxpr: Any) -> None:
        self._places: dict[Any, int] = {}
        self._constants: list[tuple[int, np.ndarray]] = []
        self._inputs = [self._place(var) for var in (*jaxpr.constvars, *jaxpr.invars)]
        self._steps: list[Any] = []
        for eqn in _needed(jaxpr):
            operation, dtype = _operation(eqn)
            sources = [self._place(atom) for atom in eqn.invars]
            self._steps.append((operation, dtype, sources, [*map(self._place, eqn.outvars)]))
        self._outputs = [self._place(atom) for atom in jaxpr.outvars]
        self._add_last_uses()
        self._start: list[Any] = [None] * self._next()
        for place, constant in self._constants:
            self._start[place] = constant

    def _add_last_uses(self) -> None:
        """Note for each step which values no later one needs, so that memory does not fill with them."""
        needed = {*self._outputs, *(place for place, _ in self._constants)}
        steps = []
        for *step, sources, targets in reversed(self._steps):
            over = {*sources, *targets} - needed
            needed |= over
            steps.append((*step, sources, targets, tuple(over)))
        self._steps = steps[::-1]

    def _place(self, atom: Any) -> int:
        if isinstance(atom, jax.extend.core.Literal):
            self._constants.append(
                (place := self._next(), np.asarray(atom.val, atom.aval.dtype))  # type: ignore[attr-defined]
            )
            return place
        if atom not in self._places:
            if not is_known_key(atom.aval.dtype):
                raise _Unknown(str(atom.aval.dtype))
            self._places[atom] = self._next()
        return self._places[atom]

    def _next(self) -> int:
        return len(self._places) + len(self._constants)

    def run(self, consts: Sequence[np.ndarray], inputs: Sequence[np.ndarray]) -> Values:
        """The outputs for these inputs."""
        values, asarray = self._start.copy(), np.asarray
        for place, value in zip(self._inputs, (*consts, *inputs), strict=True):
            values[place] = value
        for operation, dtype, sources, targets, over in self._steps:
            if dtype is None:
                for target, value in zip(targets, operation([values[one] for one in sources])):
                    values[target] = value
            else:  # NumPy returns numbers for arrays without axes
                found = operation(*[values[source] for source in sources])
                values[targets[0]] = asarray(found, dtype)
            for place in over:
                values[place] = None
        return [values[place] for place in self._outputs]


def _needed(jaxpr: Any) -> list[Any]:
    """The equations on which its outputs depend."""
    needed, equations = set(map(id, jaxpr.outvars)), []
    for eqn in reversed(jaxpr.eqns):
        if not needed.isdisjoint(map(id, eqn.outvars)):
            needed.update(map(id, eqn.invars))
            equations.append(eqn)
    return equations[::-1]


def _operation(eqn: Any) -> tuple[Callable[..., Any], np.dtype | None]:
    """What an equation does: a function of arrays with one result, and its dtype; or one of lists, and None."""
    name, params = eqn.primitive.name, eqn.params
    if name in _CONTROL:
        try:
            return _CONTROL[name](params), None
        except (KeyError, AttributeError) as error:  # parameters of another version of JAX
            raise _Unknown(name) from error
    if name in _ONE_RESULT:
        rule = _ONE_RESULT[name]
        alone = isinstance(rule, of_function)
        function = rule.function if alone else functools.partial(rule, params)
        if eqn.primitive.multiple_results:
            return lambda values: function(*values), None
        dtype = eqn.outvars[0].aval.dtype
        if jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key):
            return lambda values: (np.asarray(function(*values)),), None
        return function, dtype
    for key in _CALLS:
        inner = params.get(key)
        if hasattr(inner, "eqns") or hasattr(inner, "jaxpr"):
            return _closed(inner), None
    if name == "call_hi_primitive":  # JAX 0.12: custom derivatives and some functions of jax.numpy
        return _closed(_expanded(eqn)), None
    raise _Unknown(name)


def _expanded(eqn: Any) -> Any:
    """The jaxpr of the operations for which a primitive of JAX 0.12 stands."""
    primitive = eqn.params.get("_prim")
    if not (hasattr(primitive, "expand") and hasattr(primitive, "in_tree")):  # of another version
        raise _Unknown(eqn.primitive.name)
    shapes = [jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype) for var in eqn.invars]
    return jax.make_jaxpr(lambda *flat: primitive.expand(*primitive.in_tree.unflatten(flat)))(
        *shapes
    )


def _closed(closed: Any) -> Callable[[Values], Values]:
    """A jaxpr, with its constants if it has any, as a function of a list."""
    jaxpr = getattr(closed, "jaxpr", closed)
    consts = [_as_numpy(one, one) for one in getattr(closed, "consts", ())]
    program = _program(jaxpr)
    return lambda values: program.run(consts, values)


@functools.lru_cache(maxsize=512)
def _program(jaxpr: Any) -> _Program:
    return _Program(jaxpr)


# --- control flow


def _while(params: dict[str, Any]) -> Callable[[Values], Values]:
    holds, body = _closed(params["cond_jaxpr"]), _closed(params["body_jaxpr"])
    for_holds, for_body = params["cond_nconsts"], params["body_nconsts"]

    def run(values: Values) -> Values:
        of_holds, of_body = values[:for_holds], values[for_holds : for_holds + for_body]
        state = values[for_holds + for_body :]
        while np.any(going := holds([*of_holds, *state])[0]):
            after = body([*of_body, *state])
            state = _kept(going, after, state) if going.ndim else after
        return state

    return run


def _kept(going: np.ndarray, after: Values, before: Values) -> Values:
    """Of a batch: what comes after a turn where the loop still goes on, else what was before."""
    shape = [(*going.shape, *[1] * (value.ndim - going.ndim)) for value in after]
    return [np.where(going.reshape(one), *pair) for one, pair in zip(shape, zip(after, before))]


def _cond(params: dict[str, Any]) -> Callable[[Values], Values]:
    branches = [_closed(branch) for branch in params["branches"]]
    return lambda values: branches[int(np.clip(values[0], 0, len(branches) - 1))](values[1:])


def _scan(params: dict[str, Any]) -> Callable[[Values], Values]:
    body, length = _closed(params["jaxpr"]), params["length"]
    if "ft_in" in params:  # JAX 0.12
        fixed, carried, _ = (len(list(part)) for part in params["ft_in"].unpack())
    else:
        fixed, carried = params["num_consts"], params["num_carry"]
    inner = getattr(params["jaxpr"], "jaxpr", params["jaxpr"])
    shapes = [(var.aval.shape, var.aval.dtype) for var in inner.outvars[carried:]]
    if any(not isinstance(kind, np.dtype) for _, kind in shapes):
        shapes = [(shape, np.dtype(np.uint64)) for shape, _ in shapes]

    def run(values: Values) -> Values:
        consts, state = values[:fixed], values[fixed : fixed + carried]
        rows = values[fixed + carried :]
        found = [np.empty((length, *shape), kind) for shape, kind in shapes]
        turns = range(length - 1, -1, -1) if params["reverse"] else range(length)
        for turn in turns:
            out = body([*consts, *state, *(row[turn, ...] for row in rows)])
            state = out[:carried]
            for place, value in zip(found, out[carried:]):
                place[turn] = value
        return [*state, *found]

    return run


def _linear_solve(params: dict[str, Any]) -> Callable[[Values], Values]:
    solve = _closed(params["jaxprs"].solve)
    lengths = tuple(
        params["const_lengths"]
    )  # of both products, the solver, and that of the transpose
    before, own = sum(lengths[:2]), lengths[2]
    return lambda values: solve([*values[before : before + own], *values[sum(lengths) :]])


_CONTROL: dict[str, Callable[[dict[str, Any]], Callable[[Values], Sequence[np.ndarray]]]] = {
    "while": _while,
    "cond": _cond,
    "scan": _scan,
    "custom_linear_solve": _linear_solve,
}

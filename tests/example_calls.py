"""Calls of public functions with arguments that fit: those that their own examples make."""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import inspect
import io
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from privrank_jax import aggregation, pairwise
from privrank_jax.mechanism import Mechanism
from privrank_jax.pairwise import published
from tests.house.docstrings import WITHOUT_EXAMPLE, described, exported_functions


def is_record(value: object) -> bool:
    """Whether it is a mechanism that wraps no function."""
    return isinstance(value, Mechanism) and not hasattr(value, "__wrapped__")


@functools.cache
def examples() -> dict[str, Callable[..., Any]]:
    """Exported functions whose docstring has an example, by module and name."""
    found = {}
    for module, name, _ in exported_functions():
        function = getattr(importlib.import_module(f"privrank_jax.{module.name}"), name)
        if name not in WITHOUT_EXAMPLE.get(module.name, ()) and not module.is_package:
            found[f"{module.name} {name}"] = function
    every = [one for module in (aggregation, pairwise, published) for one in vars(module).values()]
    for module, name in sorted(described()):
        if module.startswith(("aggregation.", "pairwise.")):
            every.append(getattr(importlib.import_module(f"privrank_jax.{module}"), name))
    for record in (one for one in every if is_record(one)):
        found[f"{record.__module__.removeprefix('privrank_jax.')} {record.name}"] = record
    return found


def with_key() -> list[str]:
    """Those that draw from a key."""
    return [name for name, function in examples().items() if "key" in _parameters(function)]


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


def call_of(name: str) -> inspect.BoundArguments:
    """The arguments of the first call that the function's own example makes."""
    plain = inspect.unwrap(examples()[name])
    module = importlib.import_module(f"privrank_jax.{name.split()[0]}")
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(plain) or "", dict(vars(module)), name, None, 0
    )
    for example in test.examples:
        code = compile(example.source, name, "single")
        with contextlib.suppress(Exception):  # an example of an error
            found = call_made(plain, lambda code=code: exec(code, test.globs))
            if found is not None:
                return found
    raise AssertionError(f"no example of {name} calls it")


def call_made(
    function: Callable[..., Any], run: Callable[[], Any]
) -> inspect.BoundArguments | None:
    """The arguments of the first call of ``function`` that ``run`` makes, which ends there."""
    plain = inspect.unwrap(function)
    code = type(plain).__call__.__code__ if is_record(plain) else plain.__code__

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is code and frame.f_locals.get("self", plain) is plain:
            raise _Called({one: frame.f_locals[one] for one in _parameters(plain)})

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            run()
    except _Called as call:
        return inspect.BoundArguments(inspect.signature(plain), call.args[0])
    finally:
        sys.setprofile(before)
    return None


class _Called(BaseException):
    """The call was made."""

"""What keeps the quick tier quick: programs compiled soon, not well, and cases left to the thorough tier."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Iterable
from typing import Any

import jax
import pytest

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
thorough = functools.partial(pytest.param, marks=pytest.mark.slow)


def thorough_but(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """All cases, of which the quick tier has those kept alone; a tuple holds several arguments."""
    return [
        one if one in kept else thorough(*(one if isinstance(one, tuple) else (one,)))
        for one in cases
    ]


def soon(cases: Iterable[Any], *patterns: str) -> list[Any]:
    """All cases, of which the quick tier has those whose id fits a pattern."""
    fits = re.compile("|".join(map(fnmatch.translate, patterns))).match
    return [one if fits(one.id) else thorough(*one.values, id=one.id) for one in cases]


def with_cache() -> dict[str, str]:
    """The environment of a process that shares the programs of these tests."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    return os.environ | {name.upper(): str(jax.config.values[name]) for name in names}

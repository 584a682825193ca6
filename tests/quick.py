"""What keeps the quick tier quick: programs compiled soon, not well, and cases left to the thorough tier."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import pytest

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def thorough_but(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """All cases, of which the quick tier has those kept alone."""
    given = {one: one if isinstance(one, tuple) else (one,) for one in cases}
    slow = pytest.mark.slow
    return [one if one in kept else pytest.param(*of, marks=slow) for one, of in given.items()]

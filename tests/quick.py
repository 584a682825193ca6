"""What keeps the quick tier quick: programs compiled soon, not well, and cases left to the thorough tier."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import jax
import pytest

quick_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
thorough = functools.partial(pytest.param, marks=pytest.mark.slow)


def thorough_but(cases: Iterable[Any], *kept: Any) -> list[Any]:
    """All cases, of which the quick tier has those kept alone."""
    return [one if one in kept else thorough(one) for one in cases]

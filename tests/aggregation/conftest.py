"""What several files of tests of aggregation share."""

from __future__ import annotations

import jax
import pytest

from privrank_jax.aggregation import bounded_program
from privrank_jax.aggregation.triangle_bounds import triangle_bounds

# Slots from which a proof runs its program so often that the optimized one, which takes four times as long to compile,
# is worth it: 30 ms a call rather than 150 with 28 slots, and 109 ms for 8 proofs of 12 items rather than 375.
MANY_SLOTS = 10

_optimized = jax.jit(
    triangle_bounds.__wrapped__,
    static_argnames="steps",
    compiler_options={"xla_backend_optimization_level": 2},
)


@pytest.fixture
def optimized_bounds(monkeypatch):
    """Let proofs for many items run optimized programs, as they do outside of tests."""

    def by_size(prices, *rest):
        return (_optimized if len(prices) >= MANY_SLOTS else triangle_bounds)(prices, *rest)

    monkeypatch.setattr(bounded_program, "triangle_bounds", by_size)

"""Numbers on the host: exact, scalar and never traced."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy.host import host_number
from privrank_jax.privacy.loss_distribution import load_dp_accounting


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (jnp.float32(0.1), Fraction(1, 10)),
        (np.array(2, np.uint8), Fraction(2)),
        (Decimal("1e-400"), Fraction(1, 10**400)),
        (Fraction(1, 3), Fraction(1, 3)),
        (0, Fraction(0)),
        (math.inf, math.inf),
        (np.float32(np.inf), math.inf),
    ],
)
def test_numbers_are_exact(given, exact):
    found = host_number("epsilon", given)
    assert found == exact
    assert isinstance(found, float if math.isinf(exact) else Fraction)


@pytest.mark.parametrize("given", [-1, math.nan, "1", True, [1.0], np.ones(1), None])
def test_what_is_not_one_number_is_refused(given):
    with pytest.raises(ValueError, match="epsilon must be one number, at least 0"):
        host_number("epsilon", given)


def test_traced_numbers_are_refused_with_the_reason():
    with pytest.raises(ValueError, match="epsilon is traced: accounting runs on the host"):
        jax.jit(lambda x: host_number("epsilon", x))(1.0)


def test_without_the_library_the_extra_is_named(monkeypatch):
    assert load_dp_accounting().__name__ == "dp_accounting"
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ImportError, match=r'pip install "privrank-jax\[accounting\]"'):
        load_dp_accounting()

"""The limits of ε: what stands in a file and what stands in an option is held to the same."""

from __future__ import annotations

import math

import pytest

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax.data import DataError
from tests.data.readers import read_epsilon


def cells(folder, epsilon):
    path = folder / "reports.csv"
    path.write_text(f"epsilon\n{epsilon!r}\n")
    return path


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 1.0, LARGEST_EPSILON])
def test_cells_within_the_limits_are_read(tmp_path, epsilon):
    assert read_epsilon(cells(tmp_path, epsilon), "epsilon").tolist() == [epsilon]


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON / 1.1, LARGEST_EPSILON * 1.1, math.inf])
def test_cells_beyond_the_limits_are_refused(tmp_path, epsilon):
    with pytest.raises(DataError, match="line 2, column 'epsilon'"):
        read_epsilon(cells(tmp_path, epsilon), "epsilon")

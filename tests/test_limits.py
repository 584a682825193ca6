"""The limits of ε: what stands in a file and what stands in an option is held to the same."""

from __future__ import annotations

import math

import pytest

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax.data import DataError
from tests.data.readers import read_epsilon


def test_cells_beyond_the_limits_are_refused(tmp_path):
    path = tmp_path / "reports.csv"
    for epsilon in (SMALLEST_EPSILON, 1.0, LARGEST_EPSILON):
        path.write_text(f"epsilon\n{epsilon!r}\n")
        assert read_epsilon(path, "epsilon").tolist() == [epsilon]
    for epsilon in (SMALLEST_EPSILON / 1.1, LARGEST_EPSILON * 1.1, math.inf):
        path.write_text(f"epsilon\n{epsilon!r}\n")
        with pytest.raises(DataError, match="line 2"):
            read_epsilon(path, "epsilon")

"""Studies and their grids."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.simulate import Study, grid
from tests.simulate.trials import normal_trial


@pytest.mark.parametrize(
    ("trial", "cells", "static", "error", "word"),
    [
        (normal_trial, (), (), ValueError, "no cells"),
        (normal_trial, ({"a": 1}, {"b": 1}), (), ValueError, r"\['a', 'b'\]"),
        (normal_trial, ({"a": 1},), ("b",), ValueError, r"\['b'\]"),
        (normal_trial, ({"mean": 1},), (), ValueError, r"\['mean'\]"),
        (normal_trial, ({"a": "x"},), (), ValueError, "`static`"),
        (normal_trial, ({"a": np.ones(2)},), (), ValueError, "scalar"),
        (normal_trial, ({"a": (1, 2)},), ("a",), ValueError, "scalar"),
        (normal_trial, {"scale": 1.0}, (), ValueError, "grid"),
        (lambda key: {}, ({},), (), TypeError, r"\(key, parameters\)"),
    ],
)
def test_studies_are_checked(trial, cells, static, error, word):
    with pytest.raises(error, match=word):
        Study("s", trial, cells, static)


def test_grid_is_the_product():
    cells = grid(a=(1, 2), b="text", c=[True, False])
    assert cells[1] == {"a": 1, "b": "text", "c": False}
    assert [cell["a"] for cell in cells] == [1, 1, 2, 2]

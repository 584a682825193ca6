"""Studies and their grids."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.simulate import Study, grid
from tests.simulate.trials import normal_trial


@pytest.mark.parametrize(
    ("cells", "static", "message"),
    [
        ((), (), "no cells"),
        (({"a": 1}, {"b": 1}), (), r"\['a', 'b'\] are in some cells only"),
        (({"a": 1},), ("b",), r"static \['b'\] are not parameters"),
        (({"mean": 1},), (), r"\['mean'\] are columns"),
        (({"a": "x"},), (), "name it in `static`"),
        (({"a": np.ones(2)},), (), "must be a scalar"),
        (({"a": (1, 2)},), ("a",), "must be a scalar"),
    ],
)
def test_studies_are_checked(cells, static, message):
    with pytest.raises(ValueError, match=message):
        Study("s", normal_trial, cells, static)


@pytest.mark.parametrize(
    ("trial", "cells", "kind", "message"),
    [
        (lambda key: {}, ({},), TypeError, "'s' must be a function of \\(key, parameters\\)"),
        (normal_trial, {"scale": 1.0}, ValueError, "write grid"),
    ],
)
def test_a_trial_and_its_cells_are_checked_before_anything_runs(trial, cells, kind, message):
    with pytest.raises(kind, match=message):
        Study("s", trial, cells)


def test_grid_is_the_product():
    cells = grid(a=(1, 2), b="text", c=[True, False])
    assert len(cells) == 4
    assert cells[1] == {"a": 1, "b": "text", "c": False}
    assert [cell["a"] for cell in cells] == [1, 1, 2, 2]

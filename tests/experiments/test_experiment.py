"""Experiments: settings, and studies of several sizes."""

from __future__ import annotations

from tests.experiments.rows import cells


def test_cells_of_one_padded_size_share_a_program():
    def padded(**changes):
        return [cell["max_items"] for cell in cells("cai-fig1", items=(8, 10, 12, 14), **changes)]

    assert padded(programs=1) == [14] * 4
    assert padded(programs=2) == [10, 10, 14, 14]
    assert padded(programs=9) == [8, 10, 12, 14]
    assert len({cell["max_items"] for cell in cells("cai-fig1")}) == 3

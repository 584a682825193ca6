"""Experiments: settings, and studies of several sizes."""

from __future__ import annotations

import dataclasses

import pytest

from privrank_jax import experiments
from tests.experiments.rows import cells


def test_settings_are_replaced_and_unknown_ones_refused():
    experiment = experiments.get("cai-fig1")
    changed = experiment.configured(items=(12, 16))
    assert changed.config == dataclasses.replace(experiment.config, items=(12, 16))
    assert experiment.config.items == tuple(range(100, 701, 75))  # the registered one stays
    message = r"cai-fig1 has no parameter 'item'; did you mean items\? .*: items=\(100, 175, "
    with pytest.raises(ValueError, match=message):
        experiment.configured(item=(12,))
    with pytest.raises(ValueError, match="no parameter"):
        experiment.studies(size=3)


def test_cells_of_one_padded_size_share_a_program():
    def padded(**changes):
        return [cell["max_items"] for cell in cells("cai-fig1", items=(8, 10, 12, 14), **changes)]

    assert padded(programs=1) == [14] * 4
    assert padded(programs=2) == [10, 10, 14, 14]
    assert padded(programs=9) == [8, 10, 12, 14]
    assert len({cell["max_items"] for cell in cells("cai-fig1")}) == 3

"""The recorder of numbers for refactorings: its table names functions that exist, and it sees what differs."""

from __future__ import annotations

import inspect

import numpy as np

from privrank_jax.jobs.mechanisms import MECHANISMS
from tests.same_numbers import doors
from tests.same_numbers.doors import DOORS, PATHS, function_at
from tests.same_numbers.numbers import compare, read, write


def test_all_doors_lead_somewhere():
    assert {name.partition("/")[0] for name in DOORS} == {"audit", "exact", "models", "scalars"}
    assert all(callable(function_at(path)) for path in PATHS)


def test_every_exact_release_of_a_job_is_recorded():
    source = inspect.getsource(doors)
    for mechanism in MECHANISMS.values():
        assert mechanism.exact.partition(":")[2] in source


def test_a_change_of_one_percent_is_told_and_one_of_a_bit_is_within_rounding(tmp_path):
    name = "scalars/laplace-scale"
    found = DOORS[name]()
    write(tmp_path / "before", {name: found})
    before = read(tmp_path / "before", lambda door: door == name)[name]
    assert list(compare(name, before, found)) == []
    for factor, beyond in ((1.01, True), (1 + 2**-52, False)):
        (told,) = compare(name, before, {key: factor * one for key, one in found.items()})
        assert told.beyond == beyond
        assert np.isclose(told.relative, factor - 1, rtol=0.02)
    assert [one.words for one in compare(name, before, {})] == ["is gone"]

"""The benchmark of an accelerator, on whatever device is here, in its smallest form."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from tests.benchmarks import bench_gpu, gpu_sections
from tests.benchmarks.bench_studies import COLUMNS
from tests.sources import ROOT


def rows_of(text):
    """Cells of the rows of tables in Markdown."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


@pytest.mark.parametrize("name", ["bare_floors", "loops", "overlap"])
def test_sections_measure_something(name):
    rows = list(gpu_sections.SECTIONS[name](gpu_sections.SMALL))
    assert rows
    for what, measured in rows:
        assert what
        assert any(character.isdigit() for character in measured)


def test_a_section_that_fails_does_not_stop_the_others(monkeypatch, capsys):
    def wrong(sizes):
        yield "first", "1"
        raise AssertionError("counts differ | here")

    sections = {"wrong": wrong, "right": lambda sizes: iter([("second", "2")])}
    monkeypatch.setattr(gpu_sections, "SECTIONS", sections)
    assert bench_gpu.measure_sections(quick=True, seconds=60) == 1
    assert rows_of(capsys.readouterr().out) == [
        ["first", "1"],
        ["section wrong FAILED", "AssertionError: counts differ \\| here"],
        ["second", "2"],
    ]
    assert bench_gpu.measure_sections(quick=True, seconds=-1) == 0
    assert [row[1] for row in rows_of(capsys.readouterr().out)] == ["not started: time is up"] * 2


def test_studies_share_the_memory_and_the_time(monkeypatch):
    asked = []

    def measure(name, *options, environment, limit):
        asked.append((name, options, environment))
        assert 0 < limit <= 60
        return (name, *["1"] * (len(COLUMNS) - 1))

    monkeypatch.setattr(bench_gpu, "measure", measure)
    names = ["a", "b", "c"]
    deadline = time.perf_counter() + 60
    found = sorted(bench_gpu.measure_studies(names, ["--replicates", "2"], 3, deadline))
    assert found == [(name, *["1"] * (len(COLUMNS) - 1)) for name in names]
    part = {"XLA_CLIENT_MEM_FRACTION": "0.300"}
    assert sorted(asked) == [(name, ("--replicates", "2"), part) for name in names]
    late = list(bench_gpu.measure_studies(names, [], 1, time.perf_counter() - 1))
    assert [row[1] for row in late] == ["not started: time is up"] * 3
    assert {len(row) for row in (*found, *late)} == {len(COLUMNS)}


@pytest.mark.slow
def test_the_command_prints_its_tables():
    command = [sys.executable, "-m", "tests.benchmarks", "gpu", "--quick", "--studies=xu-fig14"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    measured = {row[0]: row[1] for row in rows if len(row) == 2}
    assert "FAILED" not in done.stdout
    assert measured["the same as on a CPU: counts of comparisons"] == "to the last bit"
    assert any("fits/s" in value for value in measured.values())
    assert any(key.startswith("1 of 1 studies") for key in measured)

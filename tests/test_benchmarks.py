"""The benchmarks, on whatever device is here, in their smallest form."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks import sections
from tests.sources import ROOT


def rows_of(text):
    """Cells of the rows of a table in Markdown."""
    return [[cell.strip() for cell in line[2:-2].split(" | ")] for line in text.splitlines()]


@pytest.mark.parametrize("name", ["mallows", "kendall", "counts"])
def test_kernels_are_measured_beside_their_floor(name):
    rows = list(sections.SECTIONS[name](True))
    assert rows
    for row in rows:
        assert row.ours.split()[1] in ("µs", "ms", "s")
        assert "times the floor" in row.beside


@pytest.mark.slow
def test_the_command_prints_its_table():
    words = [sys.executable, "-m", "tests.benchmarks", "--quick"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    measured = {row[0]: row[1] for row in rows_of(done.stdout)}
    assert measured["the same as on a CPU: counts of comparisons"] == "to the last bit"
    for beginning in ("10 BTL fits", "8 items, an urn", "exact: KwikSort", "study `xu-fig5`"):
        assert any(name.startswith(beginning) for name in measured)

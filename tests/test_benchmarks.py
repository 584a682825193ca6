"""The benchmarks, on whatever device is here, in their smallest form."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.benchmarks import sections
from tests.sources import ROOT


@pytest.mark.slow
def test_kernels_are_measured_beside_their_floor():
    rows = list(sections.kendall(True))
    assert rows
    assert all("times the floor" in row.beside for row in rows)


@pytest.mark.slow
def test_the_command_prints_its_table():
    words = [sys.executable, "-m", "tests.benchmarks", "--quick"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("10 BTL fits", "8 items, an urn", "exact: KwikSort", "study `xu-fig5`"):
        assert f"| {name}" in done.stdout

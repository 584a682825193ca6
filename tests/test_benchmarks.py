"""The benchmarks, on whatever device is here, in their smallest form."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from privrank_jax import experiments
from tests.benchmarks import __main__ as command
from tests.benchmarks import harness, sections
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


def test_peers_are_told_as_multiples_of_ours(monkeypatch):
    times = {"ours": [0.25, 0.125, 0.5], "peer": [1.0, 1.0, 1.0], "part": [0.5, 0.5, 0.5]}
    monkeypatch.setattr(harness, "clocked", lambda *_: (times, times))
    row = harness.row("name", dict.fromkeys(times, int), longer={"part": 10})
    assert row == ("name", "250 ms", "peer 4; part 20")
    assert [harness.span(seconds) for seconds in (2e-6, 0.5, 12)] == ["2 µs", "500 ms", "12 s"]


def test_a_section_that_fails_does_not_stop_the_others(monkeypatch, capsys):
    asked = []

    def run(words):
        asked.append(words[3:])
        return SimpleNamespace(returncode="fits" in words)

    monkeypatch.setattr(command.subprocess, "run", run)
    assert command.main(["gpu", "tables", "--quick"]) == 1
    assert asked == [[name, "--quick"] for name in (*sections.GPU, "tables")]
    found = [row[0] for row in rows_of(capsys.readouterr().out)]
    assert found == ["what", "---", "section fits FAILED"]
    with pytest.raises(SystemExit, match="unknown: fit; there are gpu, device"):
        command.main(["fit"])


def test_the_last_words_of_a_command_that_fails_are_told(tmp_path):
    with pytest.raises(RuntimeError, match=r"no such option$"):
        harness.spent([sys.executable, "-c", "import sys; sys.exit('no such option')"], tmp_path)


def test_the_studies_are_there():
    assert {*sections.STUDIES} <= {*experiments.names()}


@pytest.mark.slow
def test_the_command_prints_its_table():
    words = [sys.executable, "-m", "tests.benchmarks", "--quick"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    measured = {row[0]: row[1] for row in rows_of(done.stdout)}
    assert measured["the same as on a CPU: counts of comparisons"] == "to the last bit"
    for beginning in ("10 BTL fits", "8 items, an urn", "exact: KwikSort", "study `xu-fig5`"):
        assert any(name.startswith(beginning) for name in measured)

"""The benchmark of an accelerator, on whatever device is here, in its smallest form."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.benchmarks import bench_gpu, gpu_sections
from tests.benchmarks.gpu_work import work_of
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


# As XLA prints a module for a GPU, shortened: a loop of three turns that puts 5 numbers into a row of 4 x 5, one of an
# unknown number of turns, a branch, a library, a copy in two steps.
PROGRAM = """HloModule jit_f, is_scheduled=true

%fused (p.0: f32[4,5], p.1: f32[5], p.2: s32[]) -> f32[4,5] {
  %p.0 = f32[4,5]{1,0} parameter(0)
  %p.1 = f32[5]{0} parameter(1)
  %row = f32[1,5]{1,0} bitcast(%p.1)
  %p.2 = s32[] parameter(2)
  %zero = s32[] constant(0)
  ROOT %put = f32[4,5]{1,0} dynamic-update-slice(%p.0, %row, %p.2, %zero), metadata={op_name="put"}
}

%taken (p.3: f32[100,5], p.4: s32[]) -> f32[1,5] {
  %p.3 = f32[100,5]{1,0} parameter(0)
  %p.4 = s32[] parameter(1)
  %zero.1 = s32[] constant(0)
  ROOT %take = f32[1,5]{1,0} dynamic-slice(%p.3, %p.4, %zero.1), dynamic_slice_sizes={1,5}
}

%body (s: (f32[4,5], f32[100,5], s32[])) -> (f32[4,5], f32[100,5], s32[]) {
  %s = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) parameter(0)
  %old = f32[4,5]{1,0} get-tuple-element(%s), index=0
  %all = f32[100,5]{1,0} get-tuple-element(%s), index=1
  %i = s32[] get-tuple-element(%s), index=2
  %part = f32[1,5]{1,0} fusion(%all, %i), kind=kLoop, calls=%taken
  %flat = f32[5]{0} bitcast(%part)
  %new = f32[4,5]{1,0} fusion(%old, %flat, %i), kind=kLoop, calls=%fused, metadata={op_name="put"}
  ROOT %next = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) tuple(%new, %all, %i)
}

%condition (s.1: (f32[4,5], f32[100,5], s32[])) -> pred[] {
  %s.1 = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=2
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT
}

%yes (x: f32[4,5]) -> f32[4,5] {
  %x = f32[4,5]{1,0} parameter(0)
  ROOT %negated = f32[4,5]{1,0} negate(%x)
}

%no (x.1: f32[4,5]) -> f32[4,5] {
  ROOT %x.1 = f32[4,5]{1,0} parameter(0)
}

ENTRY %main (a: f32[4,5], b: f32[100,5], c: s32[]) -> f32[4,5] {
  %a = f32[4,5]{1,0} parameter(0)
  %b = f32[100,5]{1,0} parameter(1)
  %c = s32[] parameter(2)
  %given = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) tuple(%a, %b, %c)
  %known = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) while(%given), condition=%condition, body=%body, \
backend_config={"known_trip_count":{"n":"3"}}
  %unknown = (f32[4,5]{1,0}, f32[100,5]{1,0}, s32[]) while(%known), condition=%condition, body=%body
  %d = f32[4,5]{1,0} get-tuple-element(%unknown), index=0
  %e = pred[] constant(true)
  %f = f32[4,5]{1,0} conditional(%e, %d, %d), branch_computations={%yes, %no}
  %g = (f32[4,5]{1,0}, s8[16]{0}) custom-call(%f), custom_call_target="library"
  %h = f32[4,5]{1,0} get-tuple-element(%g), index=0
  %begun = (f32[4,5]{1,0}, f32[4,5]{1,0}) copy-start(%h)
  ROOT %done = f32[4,5]{1,0} copy-done(%begun)
}
"""


def test_the_work_of_a_program_is_read_off_its_text():
    """Per turn a slice of 20 bytes is read and written, with the place, and then again into its place."""
    work = work_of(PROGRAM.replace("\\\n", ""))
    turn = (20 + 20 + 4) + (20 + 20 + 4)
    branch, library, copy, ends = 160, 80 + 80 + 16, 80 + 80 + 80, 1 + 4 + 4
    assert work.traffic == 4 * turn + ends + branch + library + copy
    assert work.launches == 4 * 2 + 1 + 1 + 1 + 1
    assert work.waits == 2


@pytest.mark.slow
def test_programs_compile_for_a_gpu_that_is_not_there():
    command = [sys.executable, "-m", "tests.benchmarks", "gpu_programs", "--studies=rdp-fig2"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    if "no compiler for an H100" in done.stderr:
        pytest.skip('the extra "cuda12" is not installed')
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    assert "FAILED" not in done.stdout
    assert any(row[0].startswith("`rdp-fig2`") for row in rows)
    assert all(int(row[1].replace(",", "")) > 0 for row in rows if row[-1].endswith(" s"))


@pytest.mark.slow
def test_the_command_prints_its_tables():
    command = [sys.executable, "-m", "tests.benchmarks", "gpu", "--quick"]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = rows_of(done.stdout)
    measured = {row[0]: row[1] for row in rows if len(row) == 2}
    assert "FAILED" not in done.stdout
    assert measured["the same as on a CPU: counts of comparisons"] == "to the last bit"
    assert any("fits/s" in value for value in measured.values())

"""The pages are right: commands print what is below them, and Python blocks run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import jax
import pytest

from tests import composition_table
from tests.invoked import invoke
from tests.notebook_outputs import texts_agree
from tests.quick import thorough, thorough_but
from tests.sources import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "notebooks").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    """Contents of the blocks of one language."""
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def transcripts() -> list[tuple[str, str, str]]:
    """Page, command and output of each command that a page shows with its output."""
    found = []
    for page in PAGES:
        for block in blocks(page, "console"):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((page.name, command, output))
    return found


@pytest.mark.parametrize(
    ("page", "command", "output"),
    [thorough(*x) if "reproduce cai-fig6" in x[1] else x for x in transcripts()],
)
def test_a_command_prints_what_its_page_says(page, command, output, monkeypatch, tmp_path):
    monkeypatch.delenv("PRIVRANK_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    program, *words = command.split()
    assert program == "privrank"
    result = invoke(words)
    assert result.exit_code == 0, result.stdout + result.stderr
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    checker = doctest.OutputChecker()
    if not checker.check_output(output, result.stdout, flags):
        example = doctest.Example(command, output)
        pytest.fail(checker.output_difference(example, result.stdout, flags))


LONG = "labels.md", "methods.md", "papers.md"  # they train models, and run all mechanisms
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def programs(page: Path) -> list[tuple[str, str]]:
    """Python blocks of a page, each with the text that stands right below it, or ""."""
    return PROGRAM.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "page",
    thorough_but(filter(programs, PAGES), *(page for page in PAGES if page.name not in LONG)),
    ids=lambda page: page.name,
)
def test_python_of_a_page_runs_and_prints_what_stands_below_it(page, monkeypatch, tmp_path, capsys):
    """In single precision, JAX's default, which draws other numbers than double."""
    monkeypatch.delenv("PRIVRANK_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    found = programs(page)
    assert len(found) == len(blocks(page, "python"))
    scope = {"__name__": "__page__"}
    with jax.enable_x64(False):
        for code, expected in found:
            capsys.readouterr()
            exec(compile(code, page.name, "exec"), scope)
            printed = capsys.readouterr().out
            assert not expected or texts_agree(expected, printed), printed


@pytest.mark.slow
def test_the_page_shows_what_releases_come_to():
    """After a change of the accounting: ``python -m tests.composition_table``."""
    page = composition_table.PAGE.read_text(encoding="utf-8")
    assert composition_table.written(page) == page


@pytest.mark.parametrize("number", [0, 1])
def test_loops_of_other_libraries_train(number, monkeypatch, tmp_path):
    """Blocks of ``py`` need packages that the tests do not install."""
    code = blocks(ROOT / "notebooks" / "labels.md", "py")[number]
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    scope = {"__name__": "__page__"}
    with jax.enable_x64(False):
        exec(compile(code, "labels.md", "exec"), scope)
    assert scope["right"] > 0.9

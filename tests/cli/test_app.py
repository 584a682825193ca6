"""The command as a whole: its version, errors that are no refusals, and options that pages name."""

from __future__ import annotations

import json
import re

import pytest
import typer.main

from privrank_jax import __version__
from privrank_jax.cli import app
from tests.sources import ROOT


def test_version(privrank):
    result = privrank("--version")
    assert (result.code, result.out) == (0, f"privrank {__version__}\n")


def test_an_error_inside_the_program_is_not_disguised_as_a_refusal(privrank, write, monkeypatch):
    def fail(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr("privrank_jax.jobs.rank.ranked", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        privrank("rank", write("u1,a,b"), "--epsilon", 1)


PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "notebooks").glob("*.ipynb")),
    *(one for one in sorted((ROOT / "notebooks").glob("*.md")) if one.stem != "changes"),
]  # changes name what is gone
KNOWN = {
    name: {"--help", *(word for one in command.params for word in one.opts)}
    for name, command in typer.main.get_command(app).commands.items()
}
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OF_OTHERS = {"--install-completion", "--ballots", "--pref_voting", "--version"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_options_that_a_page_uses_are_those_of_their_command(path):
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    text = text.replace("\\\n", " ")
    assert set(OPTION.findall(text)) <= OF_OTHERS.union(*KNOWN.values())
    for name, rest in re.findall(r"privrank ([a-z]+)\b([^\n`#|]*)", text):
        assert set(OPTION.findall(rest)) <= KNOWN.get(name, set(OPTION.findall(rest)))

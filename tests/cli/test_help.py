"""What README and the pages use, ``--help`` of that command shows."""

from __future__ import annotations

import json
import re

import pytest
import typer.main

from privrank_jax.cli import app
from tests.sources import ROOT

PAGES = [
    ROOT / "README.md",
    *(one for one in sorted((ROOT / "notebooks").glob("*.md")) if one.stem != "changes"),
]  # changes name what is gone
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
COMMANDS = typer.main.get_command(app).commands
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
OF_OTHERS = {
    "--install-completion", "--ballots", "--pref_voting",
}  # fmt: skip


def text_of(path):
    if path.suffix == ".md":
        text = path.read_text("utf-8")
    else:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return text.replace("\\\n", " ")


def used(path):
    """Pairs of a command and an option of it, and all options."""
    text = text_of(path)
    lines = re.findall(r"privrank ([a-z]+)\b([^\n`#|]*)", text)
    of_commands = {(name, one) for name, rest in lines for one in OPTION.findall(rest)}
    return {pair for pair in of_commands if pair[0] in COMMANDS}, set(OPTION.findall(text))


def shown(name, privrank):
    run = privrank(name, "--help")
    assert run.code == 0
    return set(OPTION.findall(run.out))


@pytest.fixture(scope="module")
def helped():
    return {}


@pytest.mark.parametrize("path", [*PAGES, *NOTEBOOKS], ids=lambda path: path.stem)
def test_options_that_a_page_uses_are_in_the_help_of_their_command(path, privrank, helped):
    of_commands, all_used = used(path)
    for name in COMMANDS:
        if name not in helped:
            helped[name] = shown(name, privrank)
    assert {(name, one) for name, one in of_commands if one not in helped[name]} == set()
    assert all_used - set().union(*helped.values()) - OF_OTHERS == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_hidden(name):
    assert [one.name for one in COMMANDS[name].params if getattr(one, "hidden", False)] == []


def test_a_leaderboard_has_few_options(privrank):
    assert len(shown("leaderboard", privrank) - {"--help"}) <= 30


def test_pages_use_many_options():
    found = set().union(*(used(path)[0] for path in PAGES))
    assert {("rank", "--plot"), ("rank", "--report"), ("leaderboard", "--state")} <= found
    assert len(found) > 70

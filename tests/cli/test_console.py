"""What every command shares: what is refused, and that nothing printed can rewrite a terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
import re
import sys

import pytest
import typer
from typer.testing import CliRunner

from privrank_jax._arguments import Argument, ArgumentError, value_of
from privrank_jax.cli import console
from privrank_jax.cli.options import Json, argument, command, said


def test_control_characters_are_shown_as_such():
    assert console.printable("a\x1b[2J\r\nb") == "a\ufffd[2J\ufffd\ufffdb"
    assert console.printable("Zürich ε") == "Zürich ε"
    assert "\u202e" not in console.printable("a\u202eb")  # turns the reading direction


def test_errors_that_users_can_mend_become_one_paragraph_and_others_pass(capsys):
    closed = []

    @console.refusing(lambda argument: f"--{argument.name}")
    def command(error):
        console.at_end(lambda: closed.append(error))
        raise error

    for error, words in (
        (ArgumentError("epsilon must be\npositive", "epsilon"), "--epsilon must be positive\n"),
        (OSError(28, "No space left on device", "out.csv"), "out.csv: No space left on device."),
        (MemoryError(), "there is not enough memory"),
    ):
        with pytest.raises(typer.Exit) as left:
            command(error)
        assert left.value.exit_code == console.REFUSED
        assert capsys.readouterr().err.startswith(f"privrank: {words}")
        assert closed[-1] is error
    with pytest.raises(TypeError, match="a bug"):
        command(TypeError("a bug"))
    with pytest.raises(RuntimeError, match="JSON"):
        console.print_json({"a": math.nan})


class Terminal(io.StringIO):
    """A terminal of 40 columns."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("plain", [False, True])
def test_warnings_are_wrapped_and_colored_on_a_terminal_unless_color_is_off(monkeypatch, plain):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1") if plain else monkeypatch.delenv("NO_COLOR", raising=False)
    console.warn("159 of 3,000 answers are missing, which nobody else may learn")
    shown = terminal.getvalue()
    assert ("\x1b[1;33m" in shown) is not plain
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert lines[0].startswith("Warning: 159 of 3,000")
    assert len(lines) == 2
    assert max(map(len, lines)) <= 40


def test_what_takes_long_is_said_on_a_terminal_and_erased(monkeypatch, capsys):
    with console.busy("loading"):
        pass
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    said = []
    with contextlib.suppress(ValueError), console.busy("loading"):
        said.append(terminal.getvalue())
        raise ValueError
    assert said == ["privrank: loading…"]
    assert terminal.getvalue() == "privrank: loading…\r\x1b[K"


# --- commands made from dataclasses


SEEN = []


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Json):
    """A few options."""

    file: str = argument("FILE", "To read.")
    top_k: int | None = said("How many.")
    user: str | None = said("Who.")
    derived: str = "no option"


@command
def serve(request: Request) -> None:
    """Note the request, or fail as the library would."""
    SEEN.append(request)
    if request.top_k == 0:
        raise ArgumentError("k must be positive, got 0; or user=None.", "k", value_of("user", None))


@pytest.fixture
def run():
    program = typer.Typer(add_completion=False)
    program.command()(serve)
    return lambda *words: CliRunner().invoke(program, words)


def test_the_instance_is_the_request_and_arguments_are_spelled_as_options(run):
    result = run("votes.csv", "--top-k", "3")
    assert result.exit_code == 0, result.output
    assert SEEN[-1] == Request(file="votes.csv", top_k=3, given=frozenset({"file", "top_k"}))
    result = run("votes.csv", "--top-k", "0")
    assert result.exit_code == 2
    assert "privrank: --top-k must be positive, got 0; or --user none." in result.stderr


@pytest.mark.parametrize(
    ("argument", "spelled"),
    [
        (Argument("user"), "--user"),
        (value_of("user", "a b"), "--user 'a b'"),
        (value_of("user", None), "--user none"),
        (value_of("user", ["a b", "c"]), "--user 'a b,c'"),
        (Argument("elsewhere"), None),
    ],
)
def test_spelling(argument, spelled):
    assert Request.spelled(argument) == spelled

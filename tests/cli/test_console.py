"""What every command shares: what is refused, and that nothing printed can rewrite a terminal."""

from __future__ import annotations

import contextlib
import io
import json
import math
import re
import sys

import pytest
import typer

from privrank_jax._arguments import ArgumentError
from privrank_jax.cli import console


def test_control_characters_are_shown_as_such():
    assert console.printable("a\x1b[2J\r\nb") == "a\ufffd[2J\ufffd\ufffdb"
    assert console.printable("Zürich ε") == "Zürich ε"
    assert "\u202e" not in console.printable("a\u202eb")  # turns the reading direction


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seeds_are_those_that_jax_has_keys_for(seed):
    console.check_seed(0)
    console.check_seed(2**63 - 1)
    with pytest.raises(console.Refusal, match="--seed must lie between"):
        console.check_seed(seed)


def test_folders_are_refused_before_the_work(tmp_path):
    console.check_folder(tmp_path / "new" / "below")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("x")
    with pytest.raises(console.Refusal, match="file is not a folder"):
        console.check_folder(tmp_path / "file" / "below")


def test_documents_have_no_number_that_json_lacks(capsys):
    console.print_json({"a": [1, 0.5, None]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, 0.5, None]}
    with pytest.raises(RuntimeError, match="can't be written as JSON"):
        console.print_json({"a": math.nan})


def test_tables_and_paragraphs_are_printed_whole_away_from_a_terminal(capsys):
    console.print_table("A title", ["item", "score"], [("x\x1b", "1.0")])
    console.print_paragraphs("long " * 60)
    shown = capsys.readouterr().out
    assert "A title" in shown
    assert "x\ufffd" in shown
    assert "\x1b" not in shown
    assert ("long " * 60).strip() in shown.replace("\n", " ").replace("  ", " ")


def test_errors_that_users_can_mend_become_one_paragraph_and_others_pass(capsys):
    @console.refusing(lambda argument: f"--{argument.name}")
    def command(kind):
        if kind == "argument":
            raise ArgumentError("epsilon must be\npositive", "epsilon")
        if kind == "disk":
            raise OSError(28, "No space left on device", "out.csv")
        if kind == "memory":
            raise MemoryError
        raise TypeError("a bug")

    for kind, words in (
        ("argument", "privrank: --epsilon must be positive\n"),
        ("disk", "privrank: out.csv: No space left on device. Check"),
        ("memory", "privrank: there is not enough memory"),
    ):
        with pytest.raises(typer.Exit) as left:
            command(kind)
        assert left.value.exit_code == console.REFUSED
        assert capsys.readouterr().err.startswith(words)
    with pytest.raises(TypeError, match="a bug"):
        command("bug")


def test_what_is_to_be_closed_is_closed_however_a_command_ends():
    closed = []

    @console.refusing(lambda argument: None)
    def command(fail):
        console.at_end(lambda: closed.append(fail))
        if fail:
            raise ValueError("no")

    command(False)
    with pytest.raises(typer.Exit):
        command(True)
    assert closed == [False, True]


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

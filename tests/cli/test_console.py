"""What every command shares: what is refused, and that nothing printed can rewrite a terminal."""

from __future__ import annotations

import math

import pytest
import typer

from privrank_jax._arguments import ArgumentError
from privrank_jax.cli import console


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

"""Commands that run in this process; typer's own runner builds all of them anew for each call, in 20 ms."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import typer.main
from typer.testing import CliRunner

from privrank_jax.cli import app

COMMAND = typer.main.get_command(app)


def invoke(
    words: Sequence[str], *, input: str | bytes | None = None, charset: str = "utf-8"
) -> Any:
    """What a command prints, and its exit code; what else it raises is raised."""
    code = 0
    with CliRunner(charset=charset).isolation(input) as streams:
        try:
            COMMAND.main([*words], prog_name="privrank")
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = (stream.getvalue().decode(charset, "replace") for stream in streams[:2])
    return SimpleNamespace(exit_code=code, stdout=out, stderr=err)

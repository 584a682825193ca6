from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from privrank_jax.cli import app


@pytest.fixture
def privrank():
    """Run the command in this process: exit code, stdout, stderr, and ``json()`` of stdout."""

    def run(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return SimpleNamespace(
            code=result.exit_code,
            out=result.stdout,
            err=result.stderr,
            json=lambda: json.loads(result.stdout, parse_constant=_no_constant),
        )

    return run


def _no_constant(name):
    raise AssertionError(f"{name} is not valid JSON")


@pytest.fixture
def write(tmp_path):
    """Write a CSV file of comparisons from lines, with a header."""

    def to_file(*lines, header="user,winner,loser", name="votes.csv"):
        path = tmp_path / name
        path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        return path

    return to_file


@pytest.fixture
def votes(write):
    """Nine users, two comparisons each: a mostly beats b, b mostly beats c."""
    lines = []
    for user in range(9):
        lines.append(f"u{user},{'a,b' if user % 4 else 'b,a'}")
        lines.append(f"u{user},{'b,c' if user % 3 else 'c,b'}")
    return write(*lines)

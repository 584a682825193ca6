"""Commands made from dataclasses: one option per field, in order, and errors in the words of the options."""

from __future__ import annotations

import dataclasses

import pytest
import typer
from typer.testing import CliRunner

from privrank_jax._arguments import Argument, ArgumentError, value_of
from privrank_jax.cli.options import Json, argument, command, said

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

"""Shared by all commands: refusals, warnings, and tables that are safe to print."""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, ParamSpec

import typer

from privrank_jax import _interrupt
from privrank_jax._arguments import Argument, ArgumentError

if TYPE_CHECKING:
    from rich.console import Console

P = ParamSpec("P")
Side = Literal["left", "right"]

NOT_PRIVATE = "NOT PRIVATE"  # how a paragraph begins that says so
_NO_TERMINAL_WIDTH = 110
REFUSED = 2


class Refusal(ValueError):
    """A request that a command refuses; the message says what is wrong and what to do."""


def refusing(
    spell: Callable[[Argument], str | None],
) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Turn errors that a user can fix into one paragraph on stderr and exit code 2.

    Args:
        spell: maps an argument named in a message of the library to the option of this command.
    """

    def decorate(command: Callable[P, None]) -> Callable[P, None]:
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            try:
                with contextlib.ExitStack() as stack:
                    stack.callback(_STACK.reset, _STACK.set(stack))
                    stack.callback(_interrupt.release)
                    command(*args, **kwargs)
            except (ValueError, ImportError, OSError, MemoryError) as error:
                _to_stderr("privrank:", "bold red", " ".join(_words(error, spell).split()))
                raise typer.Exit(REFUSED) from None

        return run

    return decorate


def at_end(close: Callable[[], None]) -> None:
    """Call ``close`` when the command ends, normally or not."""
    stack = _STACK.get()
    if stack is not None:
        stack.callback(close)


_STACK: contextvars.ContextVar[contextlib.ExitStack | None] = contextvars.ContextVar(
    "what a command closes at its end", default=None
)


def _words(error: Exception, spell: Callable[[Argument], str | None]) -> str:
    """Describe an error for the user."""
    if isinstance(error, ArgumentError):
        return error.spelled(spell)
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        return (
            f"{where}{error.strerror}. Check the path, its permissions and the space on the disk."
        )
    if isinstance(error, MemoryError):
        return "there is not enough memory for this: use fewer items, users or draws."
    return str(error)


def warn(message: str) -> None:
    """Print one paragraph on stderr."""
    _to_stderr("Warning:", "bold yellow", message)


def _to_stderr(head: str, style: str, message: str) -> None:
    """One paragraph: on a terminal wrapped and with a colored head (unless NO_COLOR is set), elsewhere one line."""
    if not sys.stderr.isatty():
        typer.echo(f"{head} {printable(message)}", err=True)
        return
    from rich.console import Console
    from rich.text import Text

    words = Text.assemble((head, style), " ", printable(message))
    Console(file=sys.stderr, highlight=False).print(words)


def check_choice(option: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is not one of ``choices``."""
    if value not in choices:
        from privrank_jax._cells.names import did_you_mean

        listed = " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))
        raise Refusal(
            f"{option} {value!r} is unknown{did_you_mean(value, choices)}; choose {listed}."
        )


def check_seed(seed: int) -> None:
    """Refuse what JAX has no key for."""
    if not 0 <= seed < 2**63:
        raise Refusal("--seed must lie between 0 and 2**63 - 1.")


def check_folder(folder: Path) -> None:
    """Refuse, before the work, a folder for results that cannot be created or written to."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        folder.lstat()  # raises for invalid file names
    there = (
        path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path)
    )
    nearest = next(there)
    if not nearest.is_dir():
        raise Refusal(f"--out {folder}: {nearest} is not a folder; choose another.")
    tempfile.TemporaryFile(dir=nearest).close()


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document on stdout; a NaN or infinity in it is a bug, and raises."""
    try:
        text = json.dumps(document, indent=2, allow_nan=False)
    except ValueError as error:
        raise RuntimeError(f"the result can't be written as JSON ({error})") from error
    typer.echo(text)


def console() -> Console:
    """Rich console on the current stdout; away from a terminal it has a fixed width."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _NO_TERMINAL_WIDTH
    return Console(file=sys.stdout, width=width, highlight=False, markup=False)


def print_table(
    title: str, columns: Sequence[tuple[str, Side]], rows: Iterable[Sequence[str]]
) -> None:
    """Print a table; columns are (heading, ``"left"`` or ``"right"``)."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for heading, side in columns:
        table.add_column(Text(heading), justify=side, overflow="fold", no_wrap=side == "right")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    out = console()
    out.print(printable(title), style="bold", soft_wrap=True)
    out.print(table)


def print_paragraphs(*paragraphs: str) -> None:
    """Print text, wrapped on a terminal, one line per paragraph elsewhere."""
    out = console()
    for text in paragraphs:
        style = "bold red" if text.startswith(NOT_PRIVATE) else None
        out.print(printable(text), soft_wrap=not sys.stdout.isatty(), style=style)


def printable(text: str) -> str:
    """Replace control characters, which could rewrite the terminal, and characters that stdout cannot show.

    >>> printable("a\\x1b[2Jb")
    'a\\ufffd[2Jb'
    """
    shown = "".join(c if c.isprintable() else "\ufffd" for c in text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return shown.encode(encoding, "backslashreplace").decode(encoding)

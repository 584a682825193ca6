"""Shared by all commands: refusals, warnings, and tables that are safe to print."""

from __future__ import annotations

import contextlib
import contextvars
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import typer

from privrank_jax import _interrupt
from privrank_jax._arguments import Argument, ArgumentError
from privrank_jax.cli.spelling import options_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

NOT_PRIVATE = "NOT PRIVATE"  # how a paragraph begins that says so
_NO_TERMINAL_WIDTH = 110
CUT = 1  # exit code when the reader of stdout closed it before the end
REFUSED = 2
# A cell that stands at the right: a number, with its rank, its error or another end; or a gap.
_NUMBER = re.compile(r"([-+]?[\d.,]+(e[-+]?\d+)?%?( \(\d+\)| (±|to) ([\d.,e+-]+|unknown))?)?|-")
_STACK: contextvars.ContextVar[contextlib.ExitStack | None] = contextvars.ContextVar(
    "what a command closes at its end", default=None
)


class Refusal(ValueError):
    """A request that a command refuses; the message says what is wrong and what to do."""


@contextlib.contextmanager
def refusing(spell: Callable[[Argument], str | None]) -> Iterator[None]:
    """Turn errors that a user can fix into one paragraph on stderr and exit code 2.

    ``spell`` maps an argument named in a message of the library to the option of this command.
    """
    out = sys.stdout
    try:
        with contextlib.ExitStack() as stack:
            stack.callback(_STACK.reset, _STACK.set(stack))
            stack.callback(_interrupt.release)
            if out is None:  # before it spends anything on a result
                raise Refusal("standard output is closed: send it to /dev/null.")
            yield
    except BrokenPipeError:  # who reads has seen enough, as `head` has
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # takes what stdout still holds
        raise typer.Exit(CUT) from None
    except (ValueError, ImportError, OSError, MemoryError) as error:
        _to_stderr("privrank:", "bold red", " ".join(_words(error, spell).split()))
        raise typer.Exit(REFUSED) from None


def at_end(close: Callable[[], None]) -> None:
    """Call ``close`` when the command ends, normally or not."""
    if (stack := _STACK.get()) is not None:
        stack.callback(close)


def _words(error: Exception, spell: Callable[[Argument], str | None]) -> str:
    """Describe an error for the user."""
    if isinstance(error, ArgumentError):
        return error.spelled(spell)
    if isinstance(error, OSError) and error.strerror:
        where = "" if error.filename is None else f"{error.filename}: "
        advice = "Check the path, its permissions and the space on the disk."
        return f"{where}{error.strerror}. {advice}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this: use fewer items, users or draws."
    return str(error)


def warn(*messages: str) -> None:
    """Print each message as one paragraph on stderr, as a warning."""
    _to_stderr("Warning:", "bold yellow", *messages)


def say(*messages: str) -> None:
    """Print each message as one paragraph on stderr, where it is no warning."""
    _to_stderr("privrank:", "bold", *messages)


def _to_stderr(head: str, style: str, *messages: str) -> None:
    """Paragraphs, lost where stderr is closed or full: a release that was paid for goes on without its remarks."""
    for message in messages:
        from rich.text import Text

        words = Text.assemble((head, style), " ", printable(options_of(message)))
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                console(sys.stderr).print(words, soft_wrap=not sys.stderr.isatty())


@contextlib.contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal, in few words, what the command does before it can print anything, and erase it in the end."""
    shown = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def tell(words: str) -> None:
        if shown:
            typer.echo(words, err=True, nl=False)

    tell(f"privrank: {what}…")
    try:
        yield
    finally:
        tell("\r\x1b[K")


def check_seed(seed: int) -> None:
    """Refuse what JAX has no key for."""
    if not 0 <= seed < 2**63:
        raise Refusal("--seed must lie between 0 and 2**63 - 1.")


def check_folder(folder: Path) -> None:
    """Refuse, before the work, a folder for results that cannot be created or written to."""
    whole = folder.absolute()
    nearest = next(one for one in (whole, *whole.parents) if os.path.lexists(one))
    if not nearest.is_dir():
        raise Refusal(f"--out {folder}: {nearest} is not a folder; choose another.")
    tempfile.TemporaryFile(dir=nearest).close()


def print_json(document: Mapping[str, object]) -> None:
    """Print one JSON document on stdout; a NaN or infinity in it is a bug, and raises."""
    try:
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
    except ValueError as error:
        raise RuntimeError(f"the result can't be written as JSON ({error})") from error


def console(file: TextIO) -> Console:
    """Rich console; away from a terminal it has a fixed width, unless COLUMNS says another."""
    from rich.console import Console

    class Plain(Console):
        def on_broken_pipe(self) -> None:
            """Raise the BrokenPipeError, where rich would end the process."""
            raise

    known = file.isatty() or os.environ.get("COLUMNS", "").isdigit()
    width = None if known else _NO_TERMINAL_WIDTH
    return Plain(file=file, width=width, highlight=False, markup=False)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table below its title; numbers, with what measures their error, stand at the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    cells = [[printable(cell) for cell in row] for row in rows]
    out, table = console(sys.stdout), Table(box=SIMPLE_HEAD)
    for place, head in enumerate(columns):
        column = [row[place] for row in cells]
        right = any(column) and all(map(_NUMBER.fullmatch, column))
        side = "right" if right else "left"
        table.add_column(Text(head), justify=side, overflow="fold", no_wrap=right)
    for row in cells:
        table.add_row(*map(Text, row))
    out.print(printable(title), style="bold", soft_wrap=True)
    out.print(table)


def saved(folder: Path, draw: Callable[[], Mapping[str, Figure]]) -> tuple[list[str], str]:
    """Draw pictures into files of a folder, by name: their paths, or none and what is missing to draw them."""
    from privrank_jax import plotting

    try:
        figures = draw()
    except ImportError as error:
        return [], str(error)
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        plotting.save(figure, folder / name)
    return [str(folder / name) for name in figures], ""


def print_paragraphs(*paragraphs: str) -> None:
    """Print text, wrapped on a terminal, one line per paragraph elsewhere."""
    out = console(sys.stdout)
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

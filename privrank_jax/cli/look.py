"""``privrank look``: what a file holds and how it is read; the options of all columns are explained here."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from privrank_jax.cli.console import print_paragraphs
from privrank_jax.cli.options import argument, command
from privrank_jax.cli.request import Columns
from privrank_jax.cli.spelling import options_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Columns):
    """The options of one run."""

    SHOWS_ALL: ClassVar[bool] = True

    source: str = argument("FILE", "A file as for privrank rank or aggregate; - is standard input.")


@command
def look(request: Request) -> None:
    """See what a file holds, how it is read, and which command comes next; it releases nothing, and is for you alone.

    The options below are those of all commands that read FILE, and show the data as these read them. Examples:
        privrank look survey.csv
        privrank look survey.csv --items Q1_1..Q1_9 --ratings 1:5
    """
    from privrank_jax.cli.reading import say_reading
    from privrank_jax.data.look import look as look_at
    from privrank_jax.data.reader import read_told

    if not request.told:
        found = look_at(request.file, **request.text)
        return print_paragraphs(*map(options_of, found.paragraphs()))
    data = read_told(request.file, request.told, **request.text)
    say_reading(data)
    notes = (f"- {note}" for note in getattr(data, "notes", ()))
    print_paragraphs(f"{data.name}: {data!r}", *notes)

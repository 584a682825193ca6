"""The argument FILE and the options of its columns, as arguments of :func:`privrank_jax.read`."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from privrank_jax.cli.console import Refusal, say, warn
from privrank_jax.cli.request import Release
from privrank_jax.data.errors import short
from privrank_jax.data.file import File
from privrank_jax.data.likeness import suspicions
from privrank_jax.data.reader import header_of, kind_of, named_sets, read, sheet_of
from privrank_jax.jobs.checks import private_remark

NO_EPSILON = (
    "--epsilon is missing: how much privacy to spend is your choice. 1 is common, smaller protects more; --method none "
    "ranks without privacy."
)
_FEW = 12  # items that are named when a file was read
_ARGUMENTS = tuple(inspect.signature(read).parameters)
_LISTS = ("ignore", "blank", "shown")
_OPTIONS = {"group": "covariate_group", "num_users": "users"}
_OTHERS = ("source", "kind", "separator", "encoding", "epsilon")  # of FILE, or of another meaning


def read_data(request: Release, kind: str | Sequence[str], **changed: Any) -> Any:
    """Read FILE, and say on stderr what was recognized, the items, and whose names may be two for one.

    Args:
        request: the options.
        kind: what FILE may hold, as for :func:`privrank_jax.read`.
        changed: arguments that the command decides.
    """
    given = arguments(request) | changed
    data = read(request.file, kind=kind, **given)
    if request.source not in named_sets():  # which are no news
        say_reading(data, listed="items" in given)
    return data


def header_read(request: Release) -> list[str]:
    """Names of the columns of FILE; none of a named data set, or of a file of which reading says what is wrong."""
    return (
        [] if request.source in named_sets() else header_of(request.file, sheet_of(request.sheet))
    )


def check_randomized(request: Release, kind: str) -> None:
    """Refuse a missing promise before the data are read, unless they are of a kind that is randomized already.

    Args:
        request: the options.
        kind: of data that need no promise.
    """
    header = header_read(request)
    if header and kind_of(request.source, header, {}) != kind:
        raise Refusal(NO_EPSILON)


def arguments(request: Release) -> dict[str, Any]:
    """The options that were given, as arguments of the reader."""
    columns = getattr(request, "columns", {})
    found: dict[str, Any] = {}
    for name in _ARGUMENTS:
        value = columns.get(name, getattr(request, _OPTIONS.get(name, name), None))
        if value is None or name in _OTHERS:
            continue
        if name in _LISTS:
            value = [word.strip() for one in value for word in _split(name, one)]
        elif name == "items":
            value = item_list(value)
        elif name == "sheet":
            value = sheet_of(value)
        found[name] = None if value == "none" and name in ("user", "tie", "prompt", "id") else value
    return found


def _split(name: str, words: str) -> list[str]:
    """Several words in one option, with commas between; the reader splits names of columns, which may have commas."""
    return words.split(",") if name == "blank" else [words]


def item_list(given: str) -> list[str]:
    """Read items from the lines of a text file, or from names separated by commas."""
    if "," in given or not Path(given).suffix:
        return [name.strip() for name in given.split(",")]
    try:
        lines = list(File(given).lines())
    except ValueError as error:
        raise Refusal(
            f"--items {given}: {error}. Give a text file with one item per line, or names separated by commas."
        ) from error
    return [line.strip() for line in lines if line.strip()]


def say_reading(data: Any, *, listed: bool) -> None:
    """Say on stderr what was recognized in the form of a file, its items, and whose names may be two for one.

    Args:
        data: the file as it was read.
        listed: whether the items were given rather than read.
    """
    for one in getattr(data, "reading", ()):
        say(f"{data.name}: {one}.")
    if names := getattr(data, "item_names", ()):
        few = ", ".join(map(short, names[:_FEW])) + ", …" * (len(names) > _FEW)
        say(f"{data.name}: items ({len(names)}): {few}")
        if hasattr(data, "meetings"):
            warn(*private_remark(*suspicions(data, listed=listed)))

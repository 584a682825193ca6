"""Named public data sets, of which known errors are corrected; ``notes`` of each says how.

``named.txt`` says of each what it holds, who published it, and which files it has.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privrank_jax._neighbors import OWN
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import Origin
from privrank_jax.data.names import did_you_mean

if TYPE_CHECKING:
    from privrank_jax.data.comparisons import Comparisons
    from privrank_jax.data.rankings import Rankings

Folder = str | os.PathLike[str] | None


class KnownFile(NamedTuple):
    """A file of a named set: its checksum, and its address, the R package that holds it, or ``"here"``."""

    sha256: str
    where: str


_HERE = Path(__file__).parent
_SETS: dict[str, list[str]] = {}
FILES: dict[str, KnownFile] = {}
for _row in (_HERE / "named.txt").read_text(encoding="utf-8").splitlines():
    if not _row.startswith("#"):
        _set, _file, *_known = _row.split()
        _SETS.setdefault(_set, []).append(_file)
        FILES[_file] = KnownFile(*_known)


# --- how the files are decoded ------------------------------------------------------------------------


def _rows(text: str) -> list[dict[str, str]]:
    """Rows of a CSV text; header names of some have leading blanks."""
    header, *rows = csv.reader(text.splitlines())
    return [dict(zip(map(str.strip, header), row, strict=True)) for row in rows]


def _pairs(number: int) -> list[tuple[int, int]]:
    return [(i, j) for j in range(number) for i in range(j)]


def _compared(
    answers: Any, items: Sequence[str], pairs: Any, *notes: str, users: Iterable[str] = ()
) -> Comparisons:
    """Answers, each of a user, the preferred item, the other one, and whether they tie, to all of ``pairs``."""
    from privrank_jax.data.comparisons import Comparisons

    people, winners, losers, tied = zip(*answers, strict=True)
    names = {name: k for k, name in enumerate(dict.fromkeys([*users, *people]))}
    found: Any = ([names[name] for name in people], winners, losers, tied, tuple(items))
    return Comparisons(*found, user_names=tuple(names), questionnaire=pairs, notes=notes)


def _cars(prefs: str, items: str) -> Comparisons:
    """Rows of a user and two items, numbered from 1, of which Item1 is the preferred one."""
    rows, names = [row for row in _rows(prefs) if row["Is Control"] == "0"], _car_names(items)
    first, second = ([int(row[one]) - 1 for row in rows] for one in ("Item1 ID", "Item2 ID"))
    answers = zip((row["User ID"] for row in rows), first, second, [False] * len(rows))
    said = "Item1 of each row is the preferred car"
    notes = said, "control rows, which repeat a pair to check the user, are left out"
    return _compared(answers, names, _pairs(10) if len(names) == 10 else None, *notes)


def _car_names(text: str) -> list[str]:
    codes = {
        "BodyType": ("sedan", "SUV", "hatchback"),
        "Transmission": ("manual", "automatic"),
        "Fuel Consumed": ("hybrid", "not hybrid"),
        "Engine/Transmission Layout": ("all-wheel drive", "front-wheel drive"),
    }
    names = []
    for row in _rows(text):
        number, *cells = row.items()
        words = (codes[one][int(cell) - 1] if one in codes else f"{cell} L" for one, cell in cells)
        names.append(f"car {number[1]}: {', '.join(words)}")
    return names


def _survey(
    text: str, *notes: str, items: Sequence[str], codes: Sequence[str], turned: Any = None
) -> Comparisons:
    """A row for each user, a column for each pair; codes of its first item, of a tie, of the second; NA is missing."""
    rows, answers = list(csv.reader(text.splitlines()[1:])), []
    for user, row in enumerate(rows, start=1):
        for pair, cell in zip(_pairs(len(items)), row):
            if cell != "NA":
                turn = codes.index(cell) == (0 if pair == turned else 2)
                shown = pair[::-1] if turn else pair
                answers.append((str(user), *shown, cell == codes[1]))
    told = "missing answers (NA) are left out, and answers without a decision kept as ties"
    users = map(str, range(1, len(rows) + 1))
    return _compared(answers, items, _pairs(len(items)), *notes, told, users=users)


def _coffee(text: str) -> Comparisons:
    rows = _rows(text)
    names = sorted({row["winner"] for row in rows} | {row["loser"] for row in rows})
    first, second = ([names.index(row[one]) for row in rows] for one in ("winner", "loser"))
    users, tied = [row["user"] for row in rows], [row["tie"] == "yes" for row in rows]
    pairs = list(combinations(range(len(names)), 2))
    return _compared(zip(users, first, second, tied), names, pairs, _MADE_UP)


def _ranked(text: str, *notes: str, items: Sequence[str] = (), missing: str = "last") -> Rankings:
    """A column of ranks for each item, perhaps after one of users; of ``items`` one of their numbers for each place."""
    from privrank_jax.data.rankings import Rankings, ranks_from_orders

    header, *rows = csv.reader(text.splitlines())
    start = int(header[0] in ("assessor", "user"))
    users = tuple(row[0] for row in rows) * start
    ranks = np.array([row[start:] for row in rows], np.int32)
    ranks = ranks_from_orders(ranks - 1, len(items)) if items else ranks
    names = tuple(items or header[start:])
    return Rankings(ranks, names, missing=missing, whole=True, user_names=users, notes=notes)


def _nascar(text: str, drivers: str) -> Rankings:
    note = "of drivers who did not start in a race nothing is known there"
    names = [row["driver"] for row in _rows(drivers)]
    return _ranked(text, note, items=names, missing="unknown")


def _preflib(text: str, suffix: str) -> Rankings:
    from privrank_jax.data.elections import parse_preflib

    found = parse_preflib(text.splitlines(), "PrefLib's file", suffix)
    return dataclasses.replace(found, notes=(_TOP_LIST,), whole=True)


_MADE_UP = "made-up data that come with the program: drawn from a model, by nobody's taste"
_TOP_LIST = "items that a ballot leaves out come after those that it ranks"
_UNFILLED = f"{_TOP_LIST}; 0 in the file marks a place that was not filled"
_TURNED = "V15 (Barcelona-Stockholm) is reversed in the file and was corrected"
_WEIGHT = "whether rank 1 is the heaviest or the lightest is not stated"
_SCHOOLS = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
_STATEMENTS = ("crimRate", "position", "socBurd", "culture")
_GOALS = ("maintain order", "more say in government", "fight rising prices", "protect freedom of speech")  # fmt: skip
_DECODERS: dict[str, Callable[..., Comparisons | Rankings]] = {  # PrefLib's files need none
    "cars": _cars,
    "cars2": _cars,
    "cemspc": lambda text: _survey(text, _TURNED, items=_SCHOOLS, codes="012", turned=(4, 5)),
    "coffee": _coffee,
    "immig": partial(_survey, items=_STATEMENTS, codes=("1", "0", "-1")),
    "apa": lambda text: _ranked(text, _UNFILLED, items=[f"Candidate {k}" for k in range(1, 6)]),
    "coffee-rankings": lambda text: _ranked(text, _MADE_UP),
    "german": partial(_ranked, items=_GOALS),
    "nascar": _nascar,
    "potato": lambda text: _ranked(text, _WEIGHT),
    "potato-weighing": lambda text: _ranked(text, _WEIGHT),
    "salad": lambda text: _ranked(text, "the best rank is the most tart"),
    "sushi": _ranked,
}


# --- where the files are ------------------------------------------------------------------------------


def named_sets() -> list[str]:
    """Names of the data sets that :func:`~privrank_jax.read` knows: of comparisons, then of rankings.

    Returns:
        The names.

    >>> named_sets()[:5]
    ['cars', 'cars2', 'cemspc', 'coffee', 'immig']
    """
    return list(_SETS)


def load(name: str, folder: Folder = None) -> Any:
    """A named data set.

    Args:
        name: one of :func:`named_sets`.
        folder: root of the data, laid out as ``cars/prefs1.csv``; default the environment variable ``PRIVRANK_DATA``,
            else what its authors publish in this very form is fetched once and cached by `pooch` (extra ``data``).

    Returns:
        Comparisons or Rankings.

    Raises:
        DataError: unknown name; a file absent, or with a different checksum.

    >>> len(load("coffee"))
    2841
    """
    if name not in _SETS:
        near = did_you_mean(str(name), _SETS)
        raise DataError(f"no data set named {name!r}{near}: choose one of {named_sets()}")
    files = _SETS[name]
    decode = _DECODERS.get(name) or partial(_preflib, suffix=Path(files[0]).suffix)
    found: Any = decode(*(read(file, folder) for file in files))
    sums = sorted(FILES[file].sha256 for file in files)
    whole = hashlib.sha256("\n".join(sums).encode()).hexdigest()
    origin = Origin(None, sums[0] if len(sums) == 1 else whole)
    return dataclasses.replace(found, name=name, users_are=OWN, origin=origin)


def read(file: str, folder: Folder = None) -> str:
    """Text of a file of ``FILES``, its checksum verified; arguments and errors are those of :func:`load`."""
    expected, where = FILES[file]
    folder = folder or os.environ.get("PRIVRANK_DATA")
    public = where.startswith("https:")
    source = f"download {where}" if public else f"take it from the R package {where}"
    by_hand = f"{source}, put it into a folder as {file} and set PRIVRANK_DATA to that folder"
    if where == "here":
        path, by_hand = _HERE / file, "install the package again"
    elif folder:
        path = Path(folder) / file
    elif public:
        path = _fetched(file, by_hand)
    else:
        raise DataError(f"{file} has no public copy in this form to fetch: {by_hand}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror or error}): {by_hand}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{path} is not the published file: sha256 expected {expected}, found {found}. Restore it"
        )
    return content.decode("utf-8")


def _fetched(file: str, by_hand: str) -> Path:
    sha256, url = FILES[file]
    try:
        import pooch  # pyright: ignore[reportMissingImports]

        name, cache = file.replace("/", "-"), pooch.os_cache("privrank_jax")
        return Path(pooch.retrieve(url, known_hash=f"sha256:{sha256}", fname=name, path=cache))
    except ImportError:
        need = 'fetching it needs pooch: pip install "privrank-jax[data]"'
        raise DataError(f"{file}: {need}, or {by_hand}") from None
    except (OSError, ValueError) as error:  # no network; another file at that address
        raise DataError(f"{file}: fetching it failed ({error}): {by_hand}") from error


def not_fetched(name: str) -> dict[str, str]:
    """The files of a named set that have no public copy to fetch, each with the R package that holds it."""
    places = {file: FILES[file].where for file in _SETS[name]}
    return {file: place for file, place in places.items() if place.isalnum() and place != "here"}

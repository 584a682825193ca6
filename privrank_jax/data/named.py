"""Named public data sets; known errors in their files are corrected, and ``notes`` says how.

``cemspc``: 303 students on 6 management schools (15 pairs, ties). ``immig``: 98 students on 4
statements (6 pairs, ties). ``cars`` and ``cars2``: 60 workers on 10 and 20 cars (no ties). ``coffee``: a made-up
tasting of 6 coffees by 200 tasters, which comes with the package.
"""

from __future__ import annotations

import csv
import dataclasses
import itertools
import os
from collections.abc import Callable, Mapping

import numpy as np

from privrank_jax.data.comparisons import Comparisons, read_comparisons
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.names import did_you_mean
from privrank_jax.data.source import packaged, read
from privrank_jax.data.table import open_file

Folder = str | os.PathLike[str] | None

_SCHOOLS = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
# V1 ... V15 and V12, V13, V23, V14, V24, V34 alike: by the second item, then by the first.
_SCHOOL_PAIRS = {
    f"V{k + 1}": pair for k, pair in enumerate((i, j) for j in range(6) for i in range(j))
}
_STATEMENTS = ("crimRate", "position", "socBurd", "culture")
_STATEMENT_PAIRS = {f"V{j}{k}": (j - 1, k - 1) for k in range(2, 5) for j in range(1, k)}
_CAR_CODES = (
    ("BodyType", {"1": "sedan", "2": "SUV", "3": "hatchback"}),
    ("Transmission", {"1": "manual", "2": "automatic"}),
    ("Engin Capacity", None),
    ("Fuel Consumed", {"1": "hybrid", "2": "not hybrid"}),
    ("Engine/Transmission Layout", {"1": "all-wheel drive", "2": "front-wheel drive"}),
)


def cemspc(folder: Folder = None, corrected: bool = True) -> Comparisons:
    """Preferences of 303 students among 6 management schools: 15 pairs, ties, 91 missing answers.

    The distributed file has Barcelona-Stockholm (V15) reversed by accident.

    Args:
        folder: holds ``cemspc/cemspc.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch.
        corrected: reverse V15 back; False keeps the file's coding, which the 1998 analysis used.

    Returns:
        4,454 comparisons; the winner of a tie is the first school of the pair. Users are the rows
        of the file, from 1.

    Source: Dittrich, Hatzinger, Katzenbeisser (1998), Applied Statistics 47(4), 511-525;
    corrigendum (2001), Applied Statistics 50, 247-249; as in the R package prefmod.
    """
    if corrected:
        note = "V15 (Barcelona-Stockholm) is reversed in the file and was corrected"
    else:
        note = "V15 (Barcelona-Stockholm) kept as in the file: reversed, as in the 1998 analysis"
    codes = {"0": 1, "1": 0, "2": -1, "NA": None}
    text = read("cemspc/cemspc.csv", folder)
    turned = ("V15",) if corrected else ()
    return _survey("cemspc", text, _SCHOOLS, _SCHOOL_PAIRS, codes, turned, (note,))


def immig(folder: Folder = None) -> Comparisons:
    """Agreement of 98 students with 4 statements on immigrants: 6 pairs, ties, 85 missing answers.

    Args:
        folder: holds ``immig/immig.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch.

    Returns:
        503 comparisons; the winner of a tie is the first statement of the pair. Users are the rows
        of the file, from 1.

    Source: Weber, Hatzinger (2011), Data Analysis Bulletin 12, 11-22; as in the R package prefmod.
    """
    codes = {"1": 1, "0": 0, "-1": -1, "NA": None}
    return _survey("immig", read("immig/immig.csv", folder), _STATEMENTS, _STATEMENT_PAIRS, codes)


def cars(folder: Folder = None, controls: bool = False) -> Comparisons:
    """Experiment 1: preferences of 60 workers among 10 cars, 45 pairs, no ties, 25 answers missing.

    Args:
        folder: holds ``cars/prefs1.csv`` and ``cars/items1.csv``; default ``PRIVRANK_DATA``, else
            they are fetched.
        controls: keep the 298 control rows, which ask some pairs again; then there is no common
            questionnaire.

    Returns:
        2,675 comparisons (2,973 with controls), in the order of the file.

    Source: Abbasnejad, Sanner, Bonilla, Poupart (2013), IJCAI. No license is stated.
    """
    asked = None if controls else np.array([(i, j) for j in range(10) for i in range(j)])
    return _cars("cars", "1", folder, controls, asked)


def cars2(folder: Folder = None, controls: bool = False) -> Comparisons:
    """Experiment 2: preferences of 60 workers among 20 cars, 33 to 38 pairs each, no ties.

    Each worker was asked different pairs; 8 rows that repeat a pair of the same worker are kept.

    Args:
        folder: holds ``cars/prefs2.csv`` and ``cars/items2.csv``; default ``PRIVRANK_DATA``, else
            they are fetched.
        controls: keep the 223 control rows.

    Returns:
        2,206 comparisons (2,429 with controls), in the order of the file.

    Source: as for :func:`cars`.
    """
    return _cars("cars2", "2", folder, controls, None)


MADE_UP = "made-up data that come with the program: drawn from a model, by nobody's taste"


def coffee(folder: Folder = None) -> Comparisons:
    """A made-up tasting: 200 tasters, 6 coffees, all 15 pairs, 223 ties, 159 answers missing.

    It comes with this package, free for any use, so that every example runs. The tasters do not exist: their answers
    were drawn from a model in which coffees differ in quality, tasters in taste, and the cup that is tasted first has
    an advantage (``tests/reference/coffee.py``). The file also says which coffee came first and on which of 21 days.

    Args:
        folder: not used.

    Returns:
        2,841 comparisons, in the order of the file, ``data/coffee/comparisons.csv`` in the package's folder; beside
        it lie rankings by the same tasters, :func:`~privrank_jax.data.load` of ``"coffee-rankings"``.

    >>> table = coffee()
    >>> len(table), table.num_users, table.item_names
    (2841, 200, ('Antigua', 'Harrar', 'Huila', 'Santos', 'Tarrazu', 'Yirga'))
    """
    table = read_comparisons(open_file(File(packaged("coffee/comparisons.csv"))))
    pairs = np.array(list(itertools.combinations(range(table.num_items), 2)))
    asked = table.num_users * len(pairs)
    return dataclasses.replace(
        table,
        name="coffee",
        questionnaire=pairs,
        notes=(MADE_UP,),
        public=(),
        remarks=(
            f"{asked - len(table)} of {asked} answers are missing",
            f"{table.ties} answers without a decision are kept as ties",
        ),
    )


_LOADERS: dict[str, Callable[[Folder], Comparisons]] = {
    "cars": cars,
    "cars2": cars2,
    "cemspc": cemspc,
    "coffee": coffee,
    "immig": immig,
}


def available() -> list[str]:
    """Names that :func:`load` knows.

    Returns:
        The names, sorted.

    >>> available()
    ['cars', 'cars2', 'cemspc', 'coffee', 'immig']
    """
    return sorted(_LOADERS)


def load(name: str, folder: Folder = None) -> Comparisons:
    """A named data set with its default options (corrected, without control rows).

    Args:
        name: one of :func:`available`.
        folder: root of the data, laid out as ``cemspc/cemspc.csv``, ``immig/immig.csv``,
            ``cars/prefs1.csv``; default the environment variable ``PRIVRANK_DATA``, otherwise public files are fetched.

    Returns:
        A table of comparisons.

    Raises:
        DataError: unknown name; a file absent, or with a different checksum.
    """
    if name not in _LOADERS:
        near = did_you_mean(str(name), available())
        raise DataError(f"no data set named {name!r}{near}: choose one of {available()}")
    return _LOADERS[name](folder)


def _survey(
    name: str,
    text: str,
    items: tuple[str, ...],
    pairs: Mapping[str, tuple[int, int]],
    codes: Mapping[str, int | None],
    turned: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Comparisons:
    """A wide survey: one row per user, one column per pair; code 1 first item, -1 second, 0 tie.

    Columns in ``turned`` hold the opposite of the answers.
    """
    rows = list(csv.DictReader(text.splitlines()))
    answers: list[tuple[int, int, int, bool]] = []
    missing = 0
    for user, row in enumerate(rows):
        for column, (first, second) in pairs.items():
            code = codes[row[column]]
            if code is None:
                missing += 1
            elif code == (1 if column in turned else -1):
                answers.append((user, second, first, False))
            else:
                answers.append((user, first, second, code == 0))
    users, winners, losers, tied = (np.array(column) for column in zip(*answers, strict=True))
    return Comparisons(
        users,
        winners,
        losers,
        tied,
        item_names=items,
        user_names=tuple(str(k + 1) for k in range(len(rows))),
        name=name,
        questionnaire=np.array(list(pairs.values())),
        notes=(
            *notes,
            "missing answers (NA) are left out, and answers without a decision kept as ties",
        ),
        remarks=(
            f"{missing} of {len(rows) * len(pairs)} answers are missing (NA) and left out",
            f"{int(tied.sum())} answers without a decision are kept as ties",
        ),
    )


def _cars(
    name: str, experiment: str, folder: Folder, controls: bool, asked: np.ndarray | None
) -> Comparisons:
    rows = _stripped(read(f"cars/prefs{experiment}.csv", folder))
    kept = [row for row in rows if controls or row["Is Control"] == "0"]
    control = sum(row["Is Control"] == "1" for row in rows)
    # Ids are 1-based, and Item1 is the preferred car.
    users, winners, losers = (
        np.array([int(row[column]) - 1 for row in kept])
        for column in ("User ID", "Item1 ID", "Item2 ID")
    )
    verb = "kept as comparisons" if controls else "left out"
    notes = (
        "Item1 of each row is the preferred car",
        f"control rows, which repeat a pair to check the user, are {verb}",
    )
    return Comparisons(
        users,
        winners,
        losers,
        np.zeros(len(kept), dtype=bool),
        item_names=_car_names(read(f"cars/items{experiment}.csv", folder)),
        user_names=tuple(str(k + 1) for k in range(users.max() + 1)),
        name=name,
        questionnaire=asked,
        notes=notes,
        remarks=(f"{control} of {len(rows)} rows are control rows",),
    )


def _car_names(text: str) -> tuple[str, ...]:
    names = []
    for number, row in enumerate(_stripped(text), start=1):
        if int(row["Item ID"]) != number:
            raise DataError(f"cars: item {row['Item ID']} stands where {number} should")
        words = [
            f"{row[column]} L" if codes is None else codes[row[column]]
            for column, codes in _CAR_CODES
            if column in row
        ]
        names.append(f"car {number}: {', '.join(words)}")
    return tuple(names)


def _stripped(text: str) -> list[dict[str, str]]:
    """Rows of a CSV text; header names there have leading blanks."""
    header, *rows = csv.reader(text.splitlines())
    names = [name.strip() for name in header]
    return [dict(zip(names, row, strict=True)) for row in rows]

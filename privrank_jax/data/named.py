"""Named public data sets, of which known errors are corrected; ``notes`` of each says how.

Of comparisons, with ties where said:

- ``cars``, ``cars2``: 60 workers, 10 cars and 45 pairs, or 20 cars and 33 to 38 pairs each. ``controls=True`` keeps the
  rows that ask a pair again. Abbasnejad, Sanner, Bonilla, Poupart (2013), IJCAI. No license is stated.
- ``cemspc``: 303 students, 6 management schools, 15 pairs, ties. ``corrected=False`` keeps a column that the file has
  reversed by accident. Dittrich, Hatzinger, Katzenbeisser (1998), Applied Statistics 47(4), 511-525; corrigendum 2001,
  50, 247-249; as in the R package prefmod.
- ``coffee``: 200 made-up tasters, 6 coffees, 15 pairs, ties. It comes with this package, free for any use: answers were
  drawn from a model in which coffees differ in quality, tasters in taste, and the cup that is tasted first has an
  advantage (``tests/reference/coffee.py``). The file also says which came first and on which of 21 days.
- ``immig``: 98 students, 4 statements on immigrants, 6 pairs, ties. Weber, Hatzinger (2011), Data Analysis Bulletin 12,
  11-22; as in prefmod.

Of rankings:

- ``apa``: 15,449 ballots of 1980 for 5 presidents of the American Psychological Association, top lists. Diaconis
  (1988), as in the R package PLMIX. ``apa1998`` to ``apa2009``: Popov, Popova, Regenwetter (2015), PrefLib 00028.
- ``aspen``, ``aspen-mayor``: ballots of 2009 for 11 and 5 candidates, a few ties. O'Neill (2013), PrefLib 00016.
- ``coffee-rankings``: full rankings by the tasters of ``coffee``.
- ``german``: 2262 Germans, 4 political goals. Croon (1989); Barnes et al. (1979); as in PLMIX.
- ``nascar``: finishing orders of 36 races, 43 of 87 drivers in each; a race is the user. Hunter (2004), Annals of
  Statistics 32(1), 384-406; as in the R package PlackettLuce.
- ``potato``, ``potato-weighing``: 12 assessors, 20 potatoes seen, or weighed in the hand. Liu, Crispino, Scheel,
  Vitelli, Frigessi (2019); as in the R package BayesMallows.
- ``salad``: 32 judges, 4 dressings. Critchlow, Fligner (1991), Psychometrika 56(3), 517-533; as in prefmod.
- ``sushi``: full rankings of 10 kinds (item set A) by 5000 people. Kamishima (2003), KDD, 583-588; as in BayesMallows.
  PrefLib's copy has shifted names.

Files are read from the folder that the caller gives, else from the folder ``PRIVRANK_DATA``, else, where their authors
publish them in this very form, fetched once and cached by `pooch` (extra ``data``).
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
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

MADE_UP = "made-up data that come with the program: drawn from a model, by nobody's taste"
_CARS = "https://raw.githubusercontent.com/Xokker/ceteris-paribus/fe8a3d37acc2de1a04682e1eb6960cc780eb5f58/src/main/"
_PREFLIB = "https://raw.githubusercontent.com/fleverest/PrefLib-Data/e70f12c3f1ee0dfa6f7974618522df0aa4ce9d91/datasets/"
_ADDRESSES = {
    "exp1": f"{_CARS}resources/exp1-prefs/",
    "exp2": f"{_CARS}resources/exp2-prefs/",
    "apa": f"{_PREFLIB}00028%20-%20apa/",
    "aspen": f"{_PREFLIB}00016%20-%20aspen/",
}
# A file, its address, or the R package that holds it where no address has it in this form, and its checksum.
_FILES = """
cars/items1.csv                exp1         36d82ef97ca8c52bf51c5fe8b3b5c0f3848ebc39f9bc162d0768c3a426db2a66
cars/items2.csv                exp2         94e980de9855493e1980cd4356fd77070d7fb3555e98cb26ef7d97a4fb39b87e
cars/prefs1.csv                exp1         084c79bed795f25456fd41d34f7ea0b74ad2e3c848460a655b50b863cead3fd1
cars/prefs2.csv                exp2         602ebb67591b1d53ab6f37e8bced39a71e5beb89a8d9259138ac13bb58573094
cemspc/cemspc.csv              prefmod      a61dce2f111f1a6383d5ae2ff5dc5481636d9d2ce737b7a7d0e0ca94b979b2c1
immig/immig.csv                prefmod      0ac9c848c237926dd1f50a520f188c1883112013e77fb68ba7d0880089028e42
apa/d_apa_1980.csv             PLMIX        2732dc402fcf7b02bdcf9ffa20da6a5e372f7703f8d61e335d5f7ac887415dc3
apa/preflib/00028-00000001.soi apa          968a8d934b90480b565b79a7f2533f449f04eff0d6b999108b7b68bcec75a3e7
apa/preflib/00028-00000002.soi apa          6df10534c5432a9050101b18e6b6fe64e53d697bca033d34f1de018fa009b69c
apa/preflib/00028-00000003.soi apa          85d7ddc613326e4fc82e32c25c1f0aaf06ccfb4f9e5d0a10b5ae9879e2cb2f3d
apa/preflib/00028-00000004.soi apa          feefe893ed0e21421fccc4505899fa0da57a2458cc1875d206ba4845263357d9
apa/preflib/00028-00000005.soi apa          180540578b1a655f9b8314a78027fec91d5547d41c295bad319d41f96f7d798d
apa/preflib/00028-00000006.soi apa          9111ae296ed1ba7a6ce9dcf5e00082e071cc4ef966db638edef0c5d070d75344
apa/preflib/00028-00000007.soi apa          daf4e4a74d03785aee4a95bdb4fa74a3d9de907a94e453857e335544028bf8a8
apa/preflib/00028-00000008.soi apa          711d5d8601a54d32dfe2a8c5f5893afc67e543c679ca158978866789f559f3de
apa/preflib/00028-00000009.soi apa          0ec5cf0bcc4ee53637c48e87d169bca675850ec1dad27481bcd28ade4ecec1f6
apa/preflib/00028-00000010.soi apa          135824f877d7475684b141f290c1fcaf5b2129b4731d3645cdc7bb719a533d5d
apa/preflib/00028-00000011.soi apa          abc2b728395d7ac2e3fcd9d9775b1b28e4ddc35b70df6b9e871afb64dd3e5c13
apa/preflib/00028-00000012.soi apa          891bfa7ce7dd8ffb0a36f9755f63b90eb71319c0545c6e92283e9b9f8ff84457
aspen/00016-00000001.toi       aspen        1cc59f19adf5b9a456bfd277eb5ce29e4a23a5f50df1a15e41ca5a93fa81faf6
aspen/00016-00000002.toi       aspen        99c259e173fd21be0b6e9ef92503e8a28b5825eee62a02183370890be97c82cd
german/d_german.csv            PLMIX        a89214f087df272581da512d994dbccfad9205fa28f73a04154f9d27d7f35ada
nascar/drivers.csv             PlackettLuce bb768a289b1aa622444edbf8eb534aca69d7a60f75e782e85588332289a2d637
nascar/nascar.csv              PlackettLuce 4b783a893ac5716f54c8fda08dbdd3a1340e85b365535d7302e4209ff48f92a4
potato/potato_true_ranking.csv BayesMallows 9af9361975b129a7ccc8aed46b6b10e6b0154458c95728390f5efb607a42f9f0
potato/potato_visual.csv       BayesMallows f5945ca58a13858eb8ab49c05c25a1f5fbf8de9dba7c45e0ee12238569c3738b
potato/potato_weighing.csv     BayesMallows d9b298e6c85bb22de1db30246a8041badd171a33863b5cbb656714a4dc49a732
salad/salad.csv                prefmod      3b0bcb2c0adb4043660d0d76d48eb13c34a858655f35195670d84d2cb44787f4
sushi/sushi_rankings.csv       BayesMallows fe1bd84f22480c409779b1c5d95986ccdf57b8a923bc1518e91d1ea6490f6d69
"""
_PACKAGED = {
    "coffee/comparisons.csv": "e63d47b5b8167b9420f351063397ce281c086fca07f86bdc05407bf9888571e4",
    "coffee/rankings.csv": "591e22cb983ed9a102baf2e6329b561c57a78316bb36d8d8db4ffb7b56653de2",
}


class KnownFile(NamedTuple):
    """A published file: its checksum, its address if it has one, else the R package that holds it."""

    sha256: str
    url: str = ""
    package: str = ""


def _known(file: str, where: str, sha256: str) -> KnownFile:
    if where in _ADDRESSES:
        return KnownFile(sha256, url=_ADDRESSES[where] + file.rpartition("/")[2])
    return KnownFile(sha256, package=where)


FILES = {row.split()[0]: _known(*row.split()) for row in _FILES.strip().splitlines()}


# --- how the files are decoded ------------------------------------------------------------------------


def _cars(prefs: str, items: str, controls: bool = False) -> Comparisons:
    """Rows of a user and two items, of which Item1 is the preferred one; ids from 1."""
    rows, names = _rows(prefs), _car_names(_rows(items))
    kept = [row for row in rows if controls or row["Is Control"] == "0"]
    users, winners, losers = (
        np.array([int(row[column]) - 1 for row in kept])
        for column in ("User ID", "Item1 ID", "Item2 ID")
    )
    control = sum(row["Is Control"] == "1" for row in rows)
    return _compared(
        *(users, winners, losers, np.zeros(len(kept), bool), names),
        user_names=tuple(str(k + 1) for k in range(users.max() + 1)),
        questionnaire=None if controls or len(names) > 10 else np.array(_pairs(10)),
        notes=(
            "Item1 of each row is the preferred car",
            "control rows, which repeat a pair to check the user, are "
            + ("kept as comparisons" if controls else "left out"),
        ),
        remarks=(f"{control} of {len(rows)} rows are control rows",),
    )


def _car_names(rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    codes = {
        "BodyType": {"1": "sedan", "2": "SUV", "3": "hatchback"},
        "Transmission": {"1": "manual", "2": "automatic"},
        "Engin Capacity": {},
        "Fuel Consumed": {"1": "hybrid", "2": "not hybrid"},
        "Engine/Transmission Layout": {"1": "all-wheel drive", "2": "front-wheel drive"},
    }
    words = (
        [known.get(row[name], f"{row[name]} L") for name, known in codes.items() if name in row]
        for row in rows
    )
    return tuple(f"car {number}: {', '.join(found)}" for number, found in enumerate(words, start=1))


def _cemspc(text: str, corrected: bool = True) -> Comparisons:
    """Columns V1 to V15 by the second school, then by the first; 0 is the first school, 1 a tie, 2 the second."""
    schools = ("London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm")
    columns = {f"V{k + 1}": pair for k, pair in enumerate(_pairs(6))}
    if corrected:
        columns["V15"] = (5, 4)
        note = "V15 (Barcelona-Stockholm) is reversed in the file and was corrected"
    else:
        note = "V15 (Barcelona-Stockholm) kept as in the file: reversed, as in the 1998 analysis"
    return _survey(text, schools, columns, {"0": 1, "1": 0, "2": -1}, note)


def _immig(text: str) -> Comparisons:
    """Columns V12, V13, V23, V14, V24, V34 of two statements; 1 is the first one, 0 a tie, -1 the second."""
    statements = ("crimRate", "position", "socBurd", "culture")
    columns = {f"V{i + 1}{j + 1}": (i, j) for i, j in _pairs(4)}
    return _survey(text, statements, columns, {"1": 1, "0": 0, "-1": -1})


def _survey(
    text: str,
    items: tuple[str, ...],
    columns: Mapping[str, tuple[int, int]],
    codes: Mapping[str, int],
    *notes: str,
) -> Comparisons:
    """One row per user, one column per pair; code 1 is the first item, -1 the second, 0 a tie, NA is missing."""
    rows, answers = _rows(text), []
    for user, row in enumerate(rows):
        for column, pair in columns.items():
            if row[column] != "NA":
                code = codes[row[column]]
                shown = sorted(pair) if code == 0 else pair[::code]
                answers.append((user, *shown, code == 0))
    users, winners, losers, tied = (np.array(column) for column in zip(*answers, strict=True))
    asked = len(rows) * len(columns)
    return _compared(
        *(users, winners, losers, tied, items),
        user_names=tuple(str(k + 1) for k in range(len(rows))),
        questionnaire=np.sort(list(columns.values())),
        notes=(
            *notes,
            "missing answers (NA) are left out, and answers without a decision kept as ties",
        ),
        remarks=(
            f"{asked - len(answers)} of {asked} answers are missing (NA) and left out",
            f"{tied.sum()} answers without a decision are kept as ties",
        ),
    )


def _coffee(text: str) -> Comparisons:
    rows = _rows(text)
    names = sorted({row["winner"] for row in rows} | {row["loser"] for row in rows})
    users = {user: k for k, user in enumerate(dict.fromkeys(row["user"] for row in rows))}
    tied = np.array([row["tie"] == "yes" for row in rows])
    asked = len(users) * len(_pairs(len(names)))
    return _compared(
        np.array([users[row["user"]] for row in rows]),
        *(np.array([names.index(row[side]) for row in rows]) for side in ("winner", "loser")),
        *(tied, tuple(names)),
        user_names=tuple(users),
        questionnaire=np.array(sorted(_pairs(len(names)))),
        notes=(MADE_UP,),
        remarks=(
            f"{asked - len(rows)} of {asked} answers are missing",
            f"{tied.sum()} answers without a decision are kept as ties",
        ),
    )


def _pairs(number: int) -> list[tuple[int, int]]:
    return [(i, j) for j in range(number) for i in range(j)]


def _compared(*columns: Any, **said: Any) -> Comparisons:
    from privrank_jax.data.comparisons import Comparisons

    return Comparisons(*columns, **said)


def _ranked(ranks: Any, names: Sequence[str], **said: Any) -> Rankings:
    from privrank_jax.data.rankings import Rankings

    return Rankings(ranks, tuple(names), **said)


def _ranks(text: str, *notes: str) -> Rankings:
    """A column of ranks for each item, perhaps after one of users."""
    header, *rows = csv.reader(text.splitlines())
    start = int(header[0] in ("assessor", "user"))
    return _ranked(
        np.array([row[start:] for row in rows], np.int32),
        header[start:],
        user_names=tuple(row[0] for row in rows) * start,
        notes=notes,
    )


def _orders(text: str, names: Sequence[str], *notes: str, **said: Any) -> Rankings:
    """A column of items, numbered from 1, for each place; 0 where it was not filled."""
    from privrank_jax.data.rankings import ranks_from_orders

    _, *rows = csv.reader(text.splitlines())
    ranks = ranks_from_orders(np.array(rows, np.int32) - 1, len(names))
    return _ranked(ranks, names, notes=notes, **said)


def _nascar(text: str, drivers: str) -> Rankings:
    last = "the last four drivers of the list only ever finish last; Hunter (2004) drops them"
    return _orders(
        text,
        [row["driver"] for row in _rows(drivers)],
        "of drivers who did not start in a race nothing is known there",
        missing="unknown",
        remarks=(last,),
    )


def _preflib(text: str, suffix: str) -> Rankings:
    from privrank_jax.data.elections import parse_preflib

    found = parse_preflib(text.splitlines(), "PrefLib's file", suffix)
    return _ranked(found.ranks, found.item_names, notes=(_TOP_LIST,))


_TOP_LIST = "items that a ballot leaves out come after those that it ranks"
_APA = (
    [f"Candidate {k}" for k in range(1, 6)],
    f"{_TOP_LIST}; 0 in the file marks a place that was not filled",
)
_GOALS = (
    "maintain order",
    "more say in government",
    "fight rising prices",
    "protect freedom of speech",
)
_POTATO = "whether rank 1 is the heaviest or the lightest is not stated"
_SETS: dict[str, tuple[tuple[str, ...], Callable[..., Comparisons | Rankings]]] = {
    "cars": (("cars/prefs1.csv", "cars/items1.csv"), _cars),
    "cars2": (("cars/prefs2.csv", "cars/items2.csv"), _cars),
    "cemspc": (("cemspc/cemspc.csv",), _cemspc),
    "coffee": (("coffee/comparisons.csv",), _coffee),
    "immig": (("immig/immig.csv",), _immig),
    "apa": (("apa/d_apa_1980.csv",), lambda text: _orders(text, *_APA)),
    **{
        f"apa{1997 + k}": ((f"apa/preflib/00028-{k:08d}.soi",), lambda text: _preflib(text, ".soi"))
        for k in range(1, 13)
    },
    "aspen": (("aspen/00016-00000001.toi",), lambda text: _preflib(text, ".toi")),
    "aspen-mayor": (("aspen/00016-00000002.toi",), lambda text: _preflib(text, ".toi")),
    "coffee-rankings": (("coffee/rankings.csv",), lambda text: _ranks(text, MADE_UP)),
    "german": (("german/d_german.csv",), lambda text: _orders(text, _GOALS)),
    "nascar": (("nascar/nascar.csv", "nascar/drivers.csv"), _nascar),
    "potato": (("potato/potato_visual.csv",), lambda text: _ranks(text, _POTATO)),
    "potato-weighing": (("potato/potato_weighing.csv",), lambda text: _ranks(text, _POTATO)),
    "salad": (("salad/salad.csv",), lambda text: _ranks(text, "the best rank is the most tart")),
    "sushi": (("sushi/sushi_rankings.csv",), _ranks),
}


def named_sets() -> list[str]:
    """Names of the data sets that :func:`~privrank_jax.read` knows: of comparisons, then of rankings.

    Returns:
        The names.

    >>> named_sets()[:5]
    ['cars', 'cars2', 'cemspc', 'coffee', 'immig']
    """
    return list(_SETS)


def load(name: str, folder: Folder = None, **options: bool) -> Any:
    """A named data set.

    Args:
        name: one of :func:`named_sets`.
        folder: root of the data, laid out as ``cars/prefs1.csv``; default the environment variable ``PRIVRANK_DATA``,
            else what is public is fetched.
        options: ``corrected=False`` for ``cemspc``: a column as it is in the file, reversed; ``controls=True`` for
            ``cars`` and ``cars2``: with the rows that ask a pair again.

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
    files, decode = _SETS[name]
    found = decode(*(read(file, folder) for file in files), **options)
    checksums = sorted(_PACKAGED.get(file) or FILES[file].sha256 for file in files)
    several = hashlib.sha256("\n".join(checksums).encode()).hexdigest()
    origin = Origin(None, checksums[0] if len(checksums) == 1 else several)
    whole = {} if hasattr(found, "winners") else {"whole": True}
    return dataclasses.replace(found, name=name, users_are=OWN, origin=origin, **whole)


def potato_truth(folder: Folder = None) -> np.ndarray:
    """True ranks of the potatoes P1 to P20 of ``potato``, ``(20,)`` int32, 0 where the assessors say 1."""
    rows = _rows(read("potato/potato_true_ranking.csv", folder))
    return np.array([row["rank"] for row in rows], np.int32) - 1


# --- where the files are ------------------------------------------------------------------------------


def read(file: str, folder: Folder = None) -> str:
    """Text of a public data file, its checksum verified.

    Args:
        file: a key of ``FILES``, such as ``"cars/prefs1.csv"``, or one that comes with this package.
        folder: where to look for ``file``; default the environment variable ``PRIVRANK_DATA``, and
            without that the file is fetched from its authors.

    Raises:
        DataError: the file is absent, cannot be fetched, or is not the one that the checksum names.
    """
    folder = folder or os.environ.get("PRIVRANK_DATA")
    expected, url, package = FILES.get(file) or KnownFile(_PACKAGED[file])
    if file in _PACKAGED:
        path, hint = Path(__file__).parent / file, "install the package again"
    elif folder:
        path, hint = Path(folder) / file, "set PRIVRANK_DATA to the folder that holds it"
        if url:
            hint += ", or unset it to fetch the public file"
    elif url:
        hint = f"download {url} into a folder as {file} and set PRIVRANK_DATA to that folder"
        path = _fetched(file, url, expected, hint)
    else:
        raise DataError(
            f"{file}: this file has no public copy in this form to fetch. Take it from the R package {package}, put "
            f"it into a folder as {file} (sha256 {expected}) and set PRIVRANK_DATA to that folder"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror or error}): {hint}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise DataError(
            f"{path} is not the published file: sha256 expected {expected}, found {found}. Restore the original, byte "
            "for byte (line endings count)"
        )
    return content.decode("utf-8")


def not_fetched(name: str) -> dict[str, str]:
    """The files of a named set that have no public copy to fetch, each with the R package that holds it."""
    files = {file: FILES[file] for file in _SETS[name][0] if file in FILES}
    return {file: known.package for file, known in files.items() if known.package}


def _fetched(file: str, url: str, sha256: str, by_hand: str) -> Path:
    try:
        import pooch  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise DataError(
            f'{file}: fetching it needs pooch: pip install "privrank-jax[data]", or {by_hand}'
        ) from error
    folder = pooch.os_cache("privrank_jax")
    try:
        path = pooch.retrieve(
            url, known_hash=f"sha256:{sha256}", fname=file.replace("/", "-"), path=folder
        )
    except (OSError, ValueError) as error:  # no network; another file at that address
        raise DataError(f"{file}: fetching it failed ({error}). You can {by_hand}") from error
    return Path(path)


def _rows(text: str) -> list[dict[str, str]]:
    """Rows of a CSV text; header names of some have leading blanks."""
    header, *rows = csv.reader(text.splitlines())
    names = [name.strip() for name in header]
    return [dict(zip(names, row, strict=True)) for row in rows]

"""Named public sets of rankings; known errors in their files are corrected, and ``notes`` says how.

``sushi``: 5000 people on 10 kinds. ``apa``: 15,449 ballots of 1980 for 5 candidates; ``apa1998`` to ``apa2009`` the
elections after. ``aspen``, ``aspen-mayor``: ballots of 2009 for 11 and 5 candidates. ``german``: 2262 people on 4
political goals. ``potato``, ``potato-weighing``: 12 assessors on 20 potatoes. ``salad``: 32 judges on 4 dressings.
``nascar``: 36 races of 87 drivers. ``coffee-rankings``: 6 coffees by 200 made-up tasters, which come with the package.
"""

from __future__ import annotations

import csv
import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File
from privrank_jax.data.kamishima import SET_A
from privrank_jax.data.named import MADE_UP, Folder
from privrank_jax.data.names import did_you_mean
from privrank_jax.data.preflib import parse_preflib
from privrank_jax.data.rankings import Rankings, ranks_from_orders, read_rankings
from privrank_jax.data.source import packaged, read
from privrank_jax.data.table import open_file

APA_YEARS = tuple(range(1998, 2010))
_GOALS = (
    "maintain order",
    "more say in government",
    "fight rising prices",
    "protect freedom of speech",
)
_DRESSINGS = ("A", "B", "C", "D")
_TOP_LIST = "items that a ballot leaves out come after those that it ranks"


def sushi(folder: Folder = None) -> Rankings:
    """Full rankings of 10 kinds of sushi (item set A) by 5000 people.

    Args:
        folder: holds ``sushi/sushi_rankings.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch; the author's
            own ``.order`` files are read by :func:`~privrank_jax.data.reader`.

    Source: Kamishima (2003), KDD, 583-588; as in the R package BayesMallows. PrefLib's copy has shifted names.
    """
    names, ranks = _table(read("sushi/sushi_rankings.csv", folder))
    if names != SET_A:
        raise DataError(f"sushi: the items must be {SET_A}, found {names}")
    return Rankings(ranks - 1, SET_A, name="sushi")


def apa(folder: Folder = None, year: int = 1980) -> Rankings:
    """Ballots of a presidential election of the American Psychological Association: 5 candidates, top lists.

    Args:
        folder: holds ``apa/d_apa_1980.csv`` (nothing to fetch) or ``apa/preflib/*.soi`` (else fetched); default
            ``PRIVRANK_DATA``.
        year: 1980, or 1998 to 2009.

    Source: 1980: Diaconis (1988), as in the R package PLMIX. Others: Popov, Popova, Regenwetter (2015), Decision;
    PrefLib 00028.
    """
    if year == 1980:
        _, orders = _table(read("apa/d_apa_1980.csv", folder))
        names = tuple(f"Candidate {k}" for k in range(1, 6))
        note = f"{_TOP_LIST}; 0 in the file marks a place that was not filled"
        return Rankings(ranks_from_orders(orders - 1, 5), names, name="apa", notes=(note,))
    if year not in APA_YEARS:
        raise DataError(f"apa: ballots are of 1980 and 1998 to 2009, not {year}")
    return _preflib(f"apa{year}", f"apa/preflib/00028-{year - 1997:08d}.soi", folder)


def aspen(folder: Folder = None, mayor: bool = False) -> Rankings:
    """Ballots of Aspen, Colorado, 2009: city council (2477, 11 candidates) or mayor (2527, 5); a few ties.

    Args:
        folder: holds ``aspen/00016-00000001.toi`` and ``...2.toi``; default ``PRIVRANK_DATA``, else fetched.
        mayor: the election of the mayor.

    Source: O'Neill (2013), OpenSTV; PrefLib 00016.
    """
    file = f"aspen/00016-{2 if mayor else 1:08d}.toi"
    return _preflib("aspen-mayor" if mayor else "aspen", file, folder)


def german(folder: Folder = None) -> Rankings:
    """Full rankings of 4 political goals by 2262 Germans, the most desirable first.

    Args:
        folder: holds ``german/d_german.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch.

    Source: Croon (1989); Barnes et al. (1979); as in the R package PLMIX.
    """
    _, orders = _table(read("german/d_german.csv", folder))
    return Rankings(ranks_from_orders(orders - 1, 4), _GOALS, name="german")


def potato(folder: Folder = None, weighing: bool = False) -> Rankings:
    """Rankings of 20 potatoes by weight, by 12 assessors who looked at them, or weighed them in the hand.

    Args:
        folder: holds ``potato/*.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch.
        weighing: the second experiment. :func:`potato_truth` has the true ranks.

    Source: Liu, Crispino, Scheel, Vitelli, Frigessi (2019); as in the R package BayesMallows.
    """
    file = "weighing" if weighing else "visual"
    text = read(f"potato/potato_{file}.csv", folder)
    header, *rows = csv.reader(text.splitlines())
    return Rankings(
        np.array([row[1:] for row in rows], np.int32) - 1,
        tuple(header[1:]),
        user_names=tuple(row[0] for row in rows),
        name="potato-weighing" if weighing else "potato",
        notes=("whether rank 1 is the heaviest or the lightest is not stated",),
    )


def potato_truth(folder: Folder = None) -> np.ndarray:
    """True ranks of the potatoes P1 to P20, ``(20,)`` int32, 0 where the assessors say 1."""
    _, *rows = csv.reader(read("potato/potato_true_ranking.csv", folder).splitlines())
    if [row[0] for row in rows] != [f"P{k}" for k in range(1, 21)]:
        raise DataError("potato: the true ranks must be those of P1 to P20, in this order")
    return np.array([row[1] for row in rows], np.int32) - 1


def salad(folder: Folder = None) -> Rankings:
    """Rankings of 4 salad dressings by 32 judges, the most tart first.

    Args:
        folder: holds ``salad/salad.csv``; default ``PRIVRANK_DATA``. There is nothing to fetch.

    Source: Critchlow, Fligner (1991), Psychometrika 56(3), 517-533; as in the R package prefmod.
    """
    names, ranks = _table(read("salad/salad.csv", folder))
    if names != _DRESSINGS:
        raise DataError(f"salad: the dressings must be {_DRESSINGS}, found {names}")
    return Rankings(ranks - 1, names, name="salad", notes=("the best rank is the most tart",))


def nascar(folder: Folder = None) -> Rankings:
    """Finishing orders of 36 races, 43 of 87 drivers in each; a race is the user.

    Args:
        folder: holds ``nascar/nascar.csv`` and ``nascar/drivers.csv``; default ``PRIVRANK_DATA``. There is nothing to
            fetch.

    Source: Hunter (2004), Annals of Statistics 32(1), 384-406; as in the R package PlackettLuce.
    """
    _, *drivers = csv.reader(read("nascar/drivers.csv", folder).splitlines())
    if [row[0] for row in drivers] != [str(k + 1) for k in range(len(drivers))]:
        raise DataError("nascar: drivers must be numbered from 1")
    _, orders = _table(read("nascar/nascar.csv", folder))
    return Rankings(
        ranks_from_orders(orders - 1, len(drivers)),
        tuple(row[1] for row in drivers),
        name="nascar",
        missing="unknown",
        notes=("of drivers who did not start in a race nothing is known there",),
        remarks=(
            "the last four drivers of the list only ever finish last; Hunter (2004) drops them",
        ),
    )


def coffee(folder: Folder = None) -> Rankings:
    """Full rankings of 6 coffees by the 200 made-up tasters of ``privrank_jax.data.load("coffee")``.

    Args:
        folder: not used; the file comes with this package.
    """
    table = read_rankings(open_file(File(packaged("coffee/rankings.csv"))))
    return dataclasses.replace(
        table, name="coffee-rankings", notes=(MADE_UP,), public=(), remarks=()
    )


_LOADERS: dict[str, Callable[[Folder], Rankings]] = {
    "apa": apa,
    **{f"apa{year}": functools.partial(apa, year=year) for year in APA_YEARS},
    "aspen": aspen,
    "aspen-mayor": functools.partial(aspen, mayor=True),
    "coffee-rankings": coffee,
    "german": german,
    "nascar": nascar,
    "potato": potato,
    "potato-weighing": functools.partial(potato, weighing=True),
    "salad": salad,
    "sushi": sushi,
}


def available_rankings() -> list[str]:
    """Names that :func:`load_rankings` knows.

    Returns:
        The names, sorted.

    >>> [name for name in available_rankings() if not name.startswith("apa")]
    ['aspen', 'aspen-mayor', 'coffee-rankings', 'german', 'nascar', 'potato', 'potato-weighing', 'salad', 'sushi']
    """
    return sorted(_LOADERS)


def load_rankings(name: str, folder: Folder = None) -> Rankings:
    """A named set of rankings with its default options.

    Args:
        name: one of :func:`available_rankings`.
        folder: root of the data, laid out as ``sushi/sushi_rankings.csv``; default ``PRIVRANK_DATA``, else what is
            public is fetched.

    Returns:
        A table of rankings.

    Raises:
        DataError: unknown name; a file absent, or with a different checksum.
    """
    if name not in _LOADERS:
        near = did_you_mean(str(name), available_rankings())
        raise DataError(
            f"no set of rankings named {name!r}{near}: choose one of {available_rankings()}"
        )
    return _LOADERS[name](folder)


def _table(text: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Header and whole numbers of a CSV text."""
    header, *rows = csv.reader(text.splitlines())
    return tuple(header), np.array(rows, np.int32)


def _preflib(name: str, file: str, folder: Folder) -> Rankings:
    table = parse_preflib(read(file, folder).splitlines(), file, "." + file.rsplit(".", 1)[1])
    return Rankings(table.ranks, table.item_names, name=name, notes=(_TOP_LIST,))

"""Columns of one question, as survey tools and election systems name them: of places, or of a grid of items.

*Places*: ``Q1[1]``, ``Colours [Rank 2]`` (LimeSurvey), ``For Mayor Choice 1 (45)``, ``Mayor Choice 2 of 5 Citywide
(26)``, ``Governor 1st Choice`` (sheets of elections), ``Snacks/_1st_choice`` (KoboToolbox); cells are items. *Grids*:
``Snacks [Apples]`` (Google Forms, LimeSurvey); cells are ranks or ratings of the option in brackets.

All of this is read off names of columns, which are the same whatever anyone answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from privrank_jax.data.errors import DataError, say
from privrank_jax.data.names import did_you_mean, form, place_of

_BRACKETS = re.compile(r"(.*\S)\s*\[([^\[\]]+)\]", re.DOTALL)
_WORD = r"(?:choice|rank|preference|pref)"
_ASKED = re.compile(
    rf"(.*?)(?<![a-z0-9])(?:{_WORD}[\W_]*(\d{{1,3}})(?:\s+of\s+\d+)?|(\d{{1,3}})(?:st|nd|rd|th)[\W_]*{_WORD})"
    r"(?![a-z0-9])(.*?)(\(\d+\))?\s*",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)


def asked_place(column: str) -> tuple[str, int] | None:
    """The question and the place that a column is named after; "" is the question of one named after a place alone.

    >>> asked_place("For Mayor Choice 2 (50)"), asked_place("Q1[3]"), asked_place("rank_1"), asked_place("Q1 [Tea]")
    (('For Mayor', 2), ('Q1', 3), ('', 1), None)
    """
    if (place := place_of(column)) is not None:
        return "", place
    if found := _BRACKETS.fullmatch(column.strip()):
        place = int(found[2][:9]) if found[2].strip().isdecimal() else place_of(found[2])
        return None if place is None else (found[1], place)
    found = _ASKED.fullmatch(column)
    if found is None:
        return None
    parts = (re.sub(r"^[\W_]+|[\W_]+$", "", part) for part in (found[1], found[4]))
    return " ".join(filter(None, parts)), int(found[2] or found[3])


def places_of_questions(header: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The columns of places 1, 2, ... or 0, 1, ... of each question, the best first, if each place has one column.

    Where columns are named after places alone, these are the only question.

    >>> places_of_questions(["id", "Mayor Choice 2 (5)", "Mayor Choice 1 (4)", "Council rank 1"])
    {'Mayor': ('Mayor Choice 1 (4)', 'Mayor Choice 2 (5)')}
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for k, column in enumerate(header):
        if asked := asked_place(column):
            found.setdefault(asked[0], []).append((asked[1], k))
    questions = {}
    for question, several in found.items():
        numbers = sorted(place for place, _ in several)
        whole = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        if whole and len(numbers) > 1 and numbers[0] < 2:
            questions[question] = tuple(header[k] for _, k in sorted(several))
    return {"": questions[""]} if "" in questions else questions


def grids(header: Sequence[str]) -> dict[str, dict[str, str]]:
    """The columns of each grid of at least two options, by question, with the option of each.

    >>> grids(["Age", "Snacks [Tea]", "Snacks [Milk]", "Why [Tea]"])
    {'Snacks': {'Snacks [Tea]': 'Tea', 'Snacks [Milk]': 'Milk'}}
    """
    found: dict[str, dict[str, str]] = {}
    for column in header:
        asked = _BRACKETS.fullmatch(column.strip())
        if asked and asked_place(column) is None:
            found.setdefault(asked[1], {})[column] = asked[2].strip()
    return {question: options for question, options in found.items() if len(options) > 1}


def grid_of(
    name: str, header: Sequence[str], order: str | None, public: Collection[str] | None
) -> dict[str, str]:
    """The options of the grid that is read, by their columns; none where columns are items themselves, or places.

    Args:
        name: of the file, for messages.
        header: its columns.
        order: the question that is wanted, or a column of orders.
        public: the list of items, of the options of one grid.

    Raises:
        DataError: there are several grids.
    """
    found, columns, places = grids(header), set(header), places_of_questions(header)
    if public is not None and set(public) <= columns:
        return {}
    if public is not None:
        found = {one: options for one, options in found.items() if {*public} <= {*options.values()}}
    if order in columns or (places if order is None else form(order) in map(form, places)):
        return {}
    return found.get(chosen(name, found, order) or "", {})


def chosen(name: str, questions: Mapping[str, Any], wanted: str | None) -> str | None:
    """The question that is read: the one that is wanted, else the only one; None where there is none.

    Raises:
        DataError: there are several, or none of this name.
    """
    if wanted is not None:
        exact = [one for one in questions if form(one) == form(wanted)]
        if len(exact) == 1:
            return exact[0]
    if len(questions) == 1 and wanted is None:
        return next(iter(questions))
    if not questions:
        return None
    listed = ", ".join(map(repr, questions))
    if wanted is not None:
        near = did_you_mean(wanted, questions)
        raise DataError(f"{name}: there is no question or contest {wanted!r}{near}, but {listed}")
    raise DataError(
        f"{name}: it is unclear which of its questions or contests is ranked: {listed}. Say which, such as "
        f"{say('order', next(iter(questions)))}"
    )

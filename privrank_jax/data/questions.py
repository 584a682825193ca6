"""Columns of one question, as survey tools and election systems name them: of places, or of a grid of items.

*Places*: ``Q1[1]``, ``Colours [Rank 2]`` (LimeSurvey), ``For Mayor Choice 1 (45)``, ``Mayor Choice 2 of 5 Citywide
(26)``, ``Governor 1st Choice`` (cast-vote records), ``Snacks/_1st_choice`` (KoboToolbox); cells are items. *Grids*:
``Snacks [Apples]`` (Google Forms, LimeSurvey); cells are ranks or ratings of the option in brackets. Below the names of
columns Qualtrics writes a row with the texts of the questions and one with ``{"ImportId": ...}``, SurveyMonkey one with
the options; what these say is put into the names of the columns, as in ``Q5 [Apples]``.

All of this is read off names of columns and rows of a header, which are the same whatever anyone answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from privrank_jax.data.errors import DataError, say
from privrank_jax.data.header import letters
from privrank_jax.data.names import did_you_mean, form, place_of

_BRACKETS = re.compile(r"(.*\S)\s*\[([^\[\]]+)\]", re.DOTALL)
_WORD = r"(?:choice|rank|preference|pref)"
_ASKED = re.compile(
    rf"(.*?)(?<![a-z0-9])(?:{_WORD}[\W_]*(\d{{1,3}})(?:\s+of\s+\d+)?|(\d{{1,3}})(?:st|nd|rd|th)[\W_]*{_WORD})"
    r"(?![a-z0-9])(.*?)(\(\d+\))?\s*",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_CAST = re.compile(r".*choice.*\(\d+\)\s*", re.IGNORECASE | re.DOTALL)
CAST = "of a ballot, all choices from an overvote on are blank, and a candidate counts where it stands first"
"""How marks of cast-vote records are read."""
_RECORDS = {"castvoterecord", "cvrnumber", "cvrid", "tabulatorid", "tabulatornum", "imprintedid"}
_IMPORT_ID = ('{"ImportId"', "{'ImportId'")
_ONE_ANSWER = ("", "Response", "Open-Ended Response")


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


def cast_votes(columns: Collection[str], header: Collection[str]) -> bool:
    """Whether columns of places are of cast-vote records: by ids behind the choices, or other columns of the header.

    >>> cast_votes(["Mayor Choice 1 (45)", "Mayor Choice 2 (50)"], ()), cast_votes(["Choice 1"], ["CVR Number"])
    (True, True)
    """
    return all(map(_CAST.fullmatch, columns)) or not _RECORDS.isdisjoint(map(letters, header))


# --- further rows of a header -------------------------------------------------------------------------


def full_header(header: Sequence[str], below: Sequence[Sequence[Any]]) -> tuple[list[str], int]:
    """The names of columns with what further rows of a header say, and how many such rows there are.

    Args:
        header: names of columns.
        below: the next rows, at most two.

    >>> full_header(["ResponseId", "Q5_1", "Q5_2"], [["Response ID", "Best? - Tea", "Best? - Milk"]])
    (['ResponseId', 'Q5 [Tea]', 'Q5 [Milk]'], 1)
    >>> full_header(["Respondent ID", "Best?", ""], [["", "Tea", "Milk"]])
    (['Respondent ID', 'Best? [Tea]', 'Best? [Milk]'], 1)
    """
    rows = [[str(cell or "").strip() for cell in row] for row in below]
    words = [letters(column) for column in header]
    ids = [k for k, row in enumerate(rows) if len(row) == len(header) and all(map(_is_id, row))]
    if ids or (rows and ("responseid", "Response ID") in zip(words, rows[0])):
        texts = rows[0] if ids[:1] != [0] else ()
        return _with_options(header, texts), ids[0] + 1 if ids else 1
    if words[:1] == ["respondentid"] and rows and not rows[0][0]:
        wide = [*header, *[""] * (len(rows[0]) - len(header))]
        if "" in wide and any(rows[0]):
            return _of_groups(wide, rows[0]), 1
    return list(header), 0


def _is_id(cell: str) -> bool:
    return cell.startswith(_IMPORT_ID)


def _with_options(header: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Names such as ``Q5_1`` with the part of the text by which it differs from that of ``Q5_2``."""
    names, several = list(header), dict[str, list[int]]()
    for k, (column, text) in enumerate(zip(header, texts)):
        question, _, number = column.rpartition("_")
        if question and number.isdecimal() and " - " in text:
            several.setdefault(question, []).append(k)
    for question, columns in several.items():
        parts = [texts[k].split(" - ") for k in columns]
        same = max(
            n for n in range(min(map(len, parts))) if len({(*one[:n],) for one in parts}) == 1
        )
        for k, part in zip(columns, parts):
            if len(columns) > 1 and same:
                names[k] = f"{question} [{_plain(' - '.join(part[same:]))}]"
    return names


def _of_groups(header: Sequence[str], options: Sequence[str]) -> list[str]:
    """Names of which only the first of a question stands there, with the option below each."""
    names, question = [], ""
    for column, option in zip(header, options):
        question = column or question
        names.append(question if option in _ONE_ANSWER else f"{question} [{_plain(option)}]")
    return names


def _plain(option: str) -> str:
    return option.translate({ord("["): "(", ord("]"): ")"}).strip()

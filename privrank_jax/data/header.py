"""Columns of a header: which one is meant, which say how often a row counts, which belong to one question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.names import did_you_mean, form, place_of

_COUNTS = re.compile(
    r"cnt|n|freqs?|frequenc(y|ies)|weights?|times|multiplicity|repetitions|occurrences|howoften|howmany|"
    r"(votes?|ballots?|row)?counts?|(n|num|numberof)?(votes|ballots)"
)
_QUESTION = re.compile(r"(.+?)(?:!!|\s*\[.+\]$)")
_LAST = re.compile(r"(?:.*[\W_])?(?:count|counts|freq|frequency|weight|weights)", re.IGNORECASE)


class Keys(list[str]):
    """The keys of the JSON objects of a file, of all rows, as a header; none is taken for another.

    One user can add a key, leave one out or spell it in another way.
    """


def letters(column: str) -> str:
    """The letters and digits of a column, without case."""
    return "".join(c for c in column.casefold() if c.isalnum())


def usual_column(header: Sequence[str], names: Sequence[str]) -> str | None:
    """The only column that has one of these names, else None; of keys of JSON the first name alone is looked for."""
    wanted = {letters(name) for name in names}
    found = [column for column in header if letters(column) in wanted]
    if isinstance(header, Keys):  # else a key of one user could take the role of another
        found = [column for column in header if column in names[:1]]
    return found[0] if len(found) == 1 else None


def spelled_in(header: Sequence[str], column: str) -> str:
    """The column that is meant: one of this name, else the only one that differs by case or outer blanks."""
    if column in header or isinstance(header, Keys):
        return column
    found = [other for other in header if form(other) == form(column)]
    return found[0] if len(found) == 1 else column


def column_of(name: str, header: Sequence[str], one: str, column: str) -> str:
    """The column that the role ``one`` names; :class:`DataError` if there is none, or several have this name."""
    meant = spelled_in(header, column)
    number = list(header).count(meant)
    if number > 1:
        raise DataError(f"{name}: {number} columns are named {column!r}: rename one")
    if not number:
        none = "; say user=None if there is none" if one == "user" else ""
        raise DataError(
            f"{name}: no column {column!r}{did_you_mean(column, header)}; the columns are {listed(header, 40)}. "
            f"Name the column by `{one}`{none}"
        )
    return meant


def without(name: str, header: Sequence[str], ignore: Iterable[str]) -> list[str]:
    """The columns of a header but those to ignore; several may stand in one text with commas between."""
    out = set[str]()
    for given in ignore:
        parts = [part.strip() for part in given.split(",")]
        if spelled_in(header, given) in header:  # a key of one user does not decide what is meant
            also = [part for part in parts if part in header] if isinstance(header, Keys) else []
            parts = [given, *also]
        out |= {column_of(name, header, "ignore", part) for part in parts}
    return type(header)(column for column in header if column not in out)  # type: ignore[call-arg]


def check_no_counts(name: str, unused: Iterable[str]) -> None:
    """Raise :class:`DataError` if a column says, by its name, how often a row counts, and nobody said what to do."""
    for column in unused:
        if _COUNTS.fullmatch(letters(column)) or _LAST.fullmatch(column):
            raise DataError(
                f"{name}: column {column!r} looks like how often a row counts: say count={column!r}, or "
                f"ignore={[column]!r} if it is something else"
            )


def remainder(column: str, question: str) -> str | None:
    """The rest of a column's name behind its question, without marks around; None if it is not of the question."""
    start, rest = column[: len(question)], column[len(question) :]
    if form(start) != form(question) or not rest.strip() or rest[0].isalnum():
        return None
    return re.sub(r"^[\W_]+", "", rest).rstrip(" ]")


def questions_of(columns: Iterable[str]) -> list[str]:
    """The questions, or contests, with which the names of two columns or more begin."""
    found = [match[1] for column in columns if (match := _QUESTION.match(column))]
    return [one for one in dict.fromkeys(found) if found.count(one) > 1]


def places_of(header: Sequence[str], question: str | None = None) -> tuple[str, ...]:
    """The columns named after places 1, 2, ... or 0, 1, ..., the best first, if each place has one column; else none.

    Names of columns may begin with a question, but not keys of JSON, which their users spell.
    """
    if question is not None and isinstance(header, Keys):
        return ()
    asked = []
    for column in header:
        said = column if question is None else remainder(column, question) or ""
        alone = said.isdecimal() and column.rstrip().endswith("]")  # as in Q1[2]
        if (place := place_of(f"rank {said}" if alone else said)) is not None:
            asked.append((place, column))
    places, number = sorted(place for place, _ in asked), len(asked)
    whole = number > 1 and places in ([*range(number)], [*range(1, number + 1)])
    return tuple(one for _, one in sorted(asked) if whole)


def span_of(name: str, header: Sequence[str], span: str) -> tuple[str, ...]:
    """The columns of a span such as ``"Q1_1..Q1_9"``, both ends included; keys of JSON have no order."""
    if isinstance(header, Keys):
        raise DataError(
            f"{name}: keys of JSON objects have no order: name the items by `items`, one by one"
        )
    ends = [column_of(name, header, "items", end.strip()) for end in span.split("..", 1)]
    first, last = (list(header).index(end) for end in (ends[0], ends[-1]))
    if last <= first:
        raise DataError(
            f"{name}: {span!r} is no span of columns: give the first and the last, such as 'Q1_1..Q1_9'"
        )
    return tuple(header[first : last + 1])

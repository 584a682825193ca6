"""Files of elections: ballots of OpaVote and OpenSTV (``.blt``), votes of participatory budgets of Pabulib (``.pb``).

**.blt** Candidates are numbered from 1. A line ``candidates seats``; lines ``-k`` for those that withdrew; a line for
each ballot or kind of ballot, ``weight 3 1=2 0``, the best first, ``=`` between equal ones, ``-`` for a place left
empty, perhaps after an id in parentheses; a line ``0``; the names in quotes, one a line; the title. What follows a
``#`` is a remark.

**.pb** Sections META, PROJECTS and VOTES, each with a header, cells between semicolons. ``vote_type`` is approval,
ordinal, cumulative or scoring; ``vote`` lists projects by their ids, ``points`` the points of each of them.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.names import form
from privrank_jax.data.rankings import MOST_CELLS, Approvals, Rankings, Ratings

_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
_ID = re.compile(r"\([^)]*\)")
_SECTIONS = ("META", "PROJECTS", "VOTES")
_POINTS = ("cumulative", "scoring")
_TYPES = ("approval", "ordinal", *_POINTS)


def read_blt(file: File) -> Rankings:
    """Read ballots of OpaVote or OpenSTV.

    Args:
        file: ends in .blt.

    Returns:
        One row per ballot, as often as its weight says. Candidates who withdrew are left out.

    Raises:
        DataError: what is wrong, and in which line.
    """
    file.checked((".blt",), "give a .blt file")
    lines = ((k, line.strip()) for k, line in enumerate(file.lines(), start=1))
    rest = ((k, line) for k, line in lines if line and not line.startswith("#"))
    first = next(rest, (0, ""))[1].partition("#")[0].split()
    if len(first) != 2 or not all(map(_WHOLE.fullmatch, first)):
        raise DataError(
            f"{file.name}: the first line must hold the numbers of candidates and seats, as in 4 2"
        )
    number, ballots, gone = int(first[0]), [], set[int]()
    for line, text in rest:
        words = _ID.sub(" ", text.partition("#")[0]).split()
        if words == ["0"]:
            break
        with in_line(file.name, line):
            if all(word.startswith("-") for word in words):
                gone |= {_numbered("candidate", word[1:], number) for word in words}
                continue
            if len(words) < 2 or words[-1] != "0" or not _WHOLE.fullmatch(words[0]):
                raise BadCell(
                    f"{quoted(text)} is no ballot: write a whole weight, candidates and a 0, as in 1 3 2 0"
                )
        groups = [word.split("=") for word in words[1:-1] if word != "-"]
        ballots.append((line, int(words[0]), groups))
    names = [text.strip('"').strip() for _, (_, text) in zip(range(number), rest)]
    if len(names) < number:
        raise DataError(
            f"{file.name} ends before the names of its {number} candidates, which follow a line with a 0"
        )
    kept = [k for k in range(number) if k not in gone]
    ranks, counts = counted(file.name, "candidate", number, ballots)
    check_size(file.name, sum(counts), len(kept))
    return Rankings(
        np.repeat(ranks, counts, axis=0)[:, kept],
        item_names=distinct(file.name, [names[k] for k in kept]),
        name=file.name,
    )


def read_pabulib(file: File) -> Rankings:
    """Read the votes of a participatory budget.

    Args:
        file: ends in .pb.

    Returns:
        Approvals, rankings, or ratings, by the type of the votes; what a voter does not name has no approval, no place
        or no points.

    Raises:
        DataError: what is wrong, and in which line.
    """
    file.checked((".pb",), "give a .pb file")
    sections = _sections(file)
    about = {row.get("key", ""): row.get("value", "") for _, row in sections["META"]}
    kind = about.get("vote_type", "").strip().lower()
    if kind not in _TYPES:
        raise DataError(f"{file.name}: vote_type {quoted(kind)} is none of {', '.join(_TYPES)}")
    projects = {row.get("project_id", "").strip(): row for _, row in sections["PROJECTS"]}
    labels = [row.get("name", "").strip() or one for one, row in projects.items()]
    if len(set(map(form, labels))) < len(labels):
        labels = [f"{label} ({one})" for label, one in zip(labels, projects)]
    places, voters = {one: k for k, one in enumerate(projects)}, dict[str, int]()
    check_size(file.name, len(sections["VOTES"]), len(places))
    table = np.full((len(sections["VOTES"]), len(places)), -1, np.int32)
    for number, (line, row) in enumerate(sections["VOTES"]):
        named, voter = _listed(row.get("vote", "")), row.get("voter_id", "").strip()
        points = _listed(row.get("points", "")) if kind in _POINTS else ["0"] * len(named)
        with in_line(file.name, line):
            if not voter or voters.setdefault(voter, number) != number:
                raise BadCell(f"voter {quoted(voter)} has no id, or two rows: keep one row of each")
            if unknown := [one for one in named if one not in places]:
                raise BadCell(f"there is no project {quoted(unknown[0])} in PROJECTS")
            if len(set(named)) < len(named):
                raise BadCell("a project stands there twice: keep it once")
            if len(points) != len(named) or not all(map(_WHOLE.fullmatch, points)):
                raise BadCell("write whole points, one for each project, with commas between")
        at = [places[one] for one in named]
        table[number, at] = range(len(at)) if kind == "ordinal" else list(map(int, points))
    names = distinct(file.name, labels)
    said = {"item_names": names, "user_names": tuple(voters), "name": file.name}
    if kind not in _POINTS:
        return Rankings(table, **said) if kind == "ordinal" else approved(table, **said)
    scale, levels = np.unique(-np.maximum(table, 0), return_inverse=True)
    levels = levels.reshape(table.shape).astype(np.int32)
    return Ratings.of_levels(levels, -scale.astype(float), **said)


def _sections(file: File) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """The rows of each section, by their columns, with their lines."""
    found: dict[str, list[tuple[int, dict[str, str]]]] = {}
    current, header = "", None
    try:
        for line, cells in enumerate(csv.reader(file.lines(), delimiter=";"), start=1):
            first = cells[0].strip() if cells else ""
            if len(cells) == 1 and first.upper() in _SECTIONS:
                current, header = first.upper(), None
                found[current] = []
            elif cells and header is None:
                header = [cell.strip() for cell in cells]
            elif header is not None and (first or len(cells) > 1):
                found.setdefault(current, []).append((line, dict(zip(header, cells))))
    except csv.Error as error:
        raise DataError(f"{file.name}: {error}: check its quotes") from error
    if missing := [name for name in _SECTIONS if not found.get(name)]:
        raise DataError(f"{file.name} has no rows in {missing[0]}: it needs {', '.join(_SECTIONS)}")
    return found


def _listed(cell: str) -> list[str]:
    return [word.strip() for word in cell.split(",") if word.strip()]


# --- what files of ballots have in common -------------------------------------------------------------


@contextlib.contextmanager
def in_line(name: str, line: int) -> Iterator[None]:
    """Say in which line of a file a :class:`BadCell` was found."""
    try:
        yield
    except BadCell as error:
        raise DataError(f"{name}, line {line}: {error}") from None


def counted(
    name: str, what: str, number: int, ballots: Sequence[tuple[int, int, list[list[str]]]]
) -> tuple[np.ndarray, list[int]]:
    """Ranks by the groups of each line, 0 for the first, -1 for what it leaves out; and how often it counts."""
    check_size(name, len(ballots), number)
    ranks = np.full((len(ballots), number), -1, np.int32)
    for row, (line, _, groups) in zip(ranks, ballots):
        with in_line(name, line):
            for place, group in enumerate(groups):
                for word in group:
                    k = _numbered(what, word, number)
                    if row[k] >= 0:
                        raise BadCell(f"{what} {k + 1} stands there twice: remove one")
                    row[k] = place
    return ranks, [count for _, count, _ in ballots]


def approved(ranks: np.ndarray, **said: Any) -> Approvals:
    """Approvals of the items of rank 0, and of no others."""
    levels = np.where(ranks == 0, 0, 1).astype(np.int32)
    return Approvals.of_levels(levels, np.array([1.0, 0.0]), **said)


def _numbered(what: str, word: str, number: int) -> int:
    """The place, from 0, of what is numbered from 1."""
    if not _WHOLE.fullmatch(word) or not 1 <= int(word) <= number:
        raise BadCell(f"there is no {what} {quoted(word)}, only 1 to {number}")
    return int(word) - 1


def whole(what: str, text: str, least: int) -> int:
    """A whole number of at most nine digits."""
    if not _WHOLE.fullmatch(text.strip()) or int(text) < least:
        raise BadCell(f"{what} is {quoted(text)}: write a whole number from {least} to 999999999")
    return int(text)


def check_size(name: str, rows: int, items: int) -> None:
    """Raise :class:`DataError` for too few or too many ballots or items."""
    if not rows or items < 2:
        raise DataError(f"{name} has {rows} ballots of {items} items: give a ballot, and two items")
    if rows * items > MOST_CELLS:
        size = f"{rows:,} ballots times {items:,} items"
        raise DataError(f"{name}: {size} is more than this reader accepts ({MOST_CELLS:,})")


def distinct(name: str, labels: Sequence[str]) -> tuple[str, ...]:
    """The names of items; :class:`DataError` where one is blank, or two are the same."""
    last = {form(label): k for k, label in enumerate(labels)}
    if wrong := [label for k, label in enumerate(labels) if not label or last[form(label)] != k]:
        raise DataError(f"{name}: items have no name, or the same name, {quoted(wrong[0])}: fix it")
    return tuple(labels)


READERS = {".blt": read_blt, ".pb": read_pabulib}

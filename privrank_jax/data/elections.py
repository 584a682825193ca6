"""Files of elections: ballots of OpaVote and OpenSTV (``.blt``), votes of participatory budgets of Pabulib (``.pb``).

**.blt** Candidates are numbered from 1. A line ``candidates seats``; lines ``-k`` for those that withdrew; a line for
each ballot or kind of ballot, ``weight 3 1=2 0``, the best first, ``=`` between equal ones, ``-`` for a place left
empty, perhaps after an id in parentheses; a line ``0``; the names in quotes, one a line; the title. What follows a
``#`` is a remark.

**.pb** Sections META, PROJECTS and VOTES, each with a header, cells between semicolons. ``vote_type`` is approval,
ordinal, cumulative or scoring; ``vote`` lists projects by their ids, ``points`` the points of each of them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from privrank_jax.data.errors import DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.names import form
from privrank_jax.data.rankings import MOST_CELLS, Approvals, Rankings, Ratings

_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
_ID = re.compile(r"\([^)]*\)")
_SECTIONS = ("META", "PROJECTS", "VOTES")
_POINTS = ("cumulative", "scoring")


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
    lines = [(k, line.strip()) for k, line in enumerate(file.lines(), start=1)]
    rest = iter([(k, line) for k, line in lines if line and not line.startswith("#")])
    first = next(rest, (0, ""))[1].partition("#")[0].split()
    if len(first) != 2 or not all(map(_WHOLE.fullmatch, first)):
        raise DataError(
            f"{file.name}: the first line must hold the numbers of candidates and seats, as in 4 2"
        )
    number, gone, rows, weights = int(first[0]), set(), [], []
    for line, text in rest:
        words = _ID.sub(" ", text.partition("#")[0]).split()
        if words == ["0"]:
            break
        where = f"{file.name}, line {line}"
        if all(word.startswith("-") and _WHOLE.fullmatch(word[1:]) for word in words):
            gone |= {_candidate(where, word[1:], number) for word in words}
            continue
        if len(words) < 2 or words[-1] != "0" or not _WHOLE.fullmatch(words[0]):
            raise DataError(
                f"{where}: {quoted(text)} is no ballot: write a whole weight, candidates and a 0, as in 1 3 2 0"
            )
        ranks, before = [-1] * number, 0
        for group in (word.split("=") for word in words[1:-1] if word != "-"):
            for candidate in (_candidate(where, one, number) for one in group):
                if ranks[candidate] >= 0:
                    raise DataError(
                        f"{where}: candidate {candidate + 1} stands twice on one ballot: remove one"
                    )
                ranks[candidate] = before
            before += len(group)
        rows.append(ranks)
        weights.append(int(words[0]))
    names = [text.strip('"').strip() for _, (_, text) in zip(range(number), rest)]
    if len(names) < number:
        raise DataError(
            f"{file.name} ends before the names of its {number} candidates, which follow a line with a 0"
        )
    kept = [k for k in range(number) if k not in gone]
    _check_size(file.name, sum(weights), len(kept))
    ranks = np.repeat(np.array(rows, np.int32).reshape(-1, number), weights, axis=0)[:, kept]
    return Rankings(
        ranks, item_names=_distinct(file.name, [names[k] for k in kept]), name=file.name
    )


def _candidate(where: str, word: str, number: int) -> int:
    """The place of a candidate, from 0."""
    if not _WHOLE.fullmatch(word) or not 1 <= int(word) <= number:
        raise DataError(f"{where}: there is no candidate {quoted(word)}, only 1 to {number}")
    return int(word) - 1


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
    readers: dict[str, Callable[..., Any]] = {"approval": _approvals, "ordinal": Rankings}
    readers |= dict.fromkeys(_POINTS, _points)
    if kind not in readers:
        raise DataError(
            f"{file.name}: vote_type {quoted(kind)} is none of {', '.join(readers)}: fix it in META"
        )
    projects = {row.get("project_id", "").strip(): row for _, row in sections["PROJECTS"]}
    labels = [row.get("name", "").strip() or one for one, row in projects.items()]
    if len({form(label) for label in labels}) < len(labels):
        labels = [f"{label} ({one})" for label, one in zip(labels, projects)]
    places = {one: k for k, one in enumerate(projects)}
    voters: dict[str, int] = {}
    table = np.full((len(sections["VOTES"]), len(places)), -1, np.int32)
    _check_size(file.name, *table.shape)
    for number, (line, row) in enumerate(sections["VOTES"]):
        where, voter = f"{file.name}, line {line}", row.get("voter_id", "").strip()
        if not voter or voters.setdefault(voter, number) != number:
            raise DataError(
                f"{where}: voter {quoted(voter)} has no id, or two rows: keep one row of each"
            )
        named = _listed(row.get("vote", ""))
        for one in named:
            if one not in places:
                raise DataError(
                    f"{where}: there is no project {quoted(one)} in PROJECTS: fix the vote, or add it"
                )
        if len(set(named)) < len(named):
            raise DataError(f"{where}: a project stands there twice: keep it once")
        points = _listed(row.get("points", "")) if kind in _POINTS else ["1"] * len(named)
        if len(points) != len(named) or not all(map(_WHOLE.fullmatch, points)):
            raise DataError(
                f"{where}: write whole points, one for each project of the vote, with commas between"
            )
        for place, (one, given) in enumerate(zip(named, points)):
            table[number, places[one]] = place if kind == "ordinal" else int(given)
    said = {
        "item_names": _distinct(file.name, labels),
        "user_names": tuple(voters),
        "name": file.name,
    }
    return readers[kind](table, **said)


def _approvals(table: np.ndarray, **said: Any) -> Rankings:
    levels = np.where(table > 0, 0, 1).astype(np.int32)
    return Approvals.of_levels(levels, np.array([1.0, 0.0]), **said)


def _points(table: np.ndarray, **said: Any) -> Rankings:
    scale, levels = np.unique(-np.maximum(table, 0), return_inverse=True)
    levels = levels.reshape(table.shape).astype(np.int32)
    return Ratings.of_levels(levels, -scale.astype(float), **said)


def _sections(file: File) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """The rows of each section, by their columns, with their lines."""
    found: dict[str, list[tuple[int, dict[str, str]]]] = {}
    current, header = "", None
    for line, cells in enumerate(_cells(file), start=1):
        first = cells[0].strip() if cells else ""
        if len(cells) == 1 and first.upper() in _SECTIONS:
            current, header = first.upper(), None
            found[current] = []
        elif header is None:
            header = [cell.strip() for cell in cells]
        elif first or len(cells) > 1:
            found[current].append((line, dict(zip(header, cells))))
    if missing := [name for name in _SECTIONS if not found.get(name)]:
        raise DataError(
            f"{file.name} has no rows in its section {missing[0]}: it needs {', '.join(_SECTIONS)}"
        )
    return found


def _cells(file: File) -> Iterator[Sequence[str]]:
    try:
        yield from csv.reader(file.lines(), delimiter=";")
    except csv.Error as error:
        raise DataError(f"{file.name}: {error}: check its quotes") from error


def _listed(cell: str) -> list[str]:
    return [word.strip() for word in cell.split(",") if word.strip()]


def _check_size(name: str, rows: int, items: int) -> None:
    if not rows or items < 2:
        raise DataError(
            f"{name} has {rows:,} ballots of {items} items: a ranking needs a ballot and two items"
        )
    if rows * items > MOST_CELLS:
        raise DataError(
            f"{name}: {rows:,} ballots times {items:,} items is more than this reader accepts ({MOST_CELLS:,})"
        )


def _distinct(name: str, labels: Sequence[str]) -> tuple[str, ...]:
    if not all(labels) or len({form(label) for label in labels}) < len(labels):
        raise DataError(f"{name} has an item without a name, or two with the same name: fix it")
    return tuple(labels)


READERS = {".blt": read_blt, ".pb": read_pabulib}

"""Files of elections: PrefLib's orders (``.soc``, ``.soi``, ``.toc``, ``.toi``), ballots (``.blt``), budgets (``.pb``).

**PrefLib**, since 2022: lines ``# KEY: value`` (with ``# ALTERNATIVE NAME k: name``), then ``count: 1,{2,3},4``, the
best first, those in braces tied. Suffixes: s strict orders, t ties, c complete ones, i those that may leave some out.

**.blt** of OpaVote and OpenSTV: a line ``candidates seats``; lines ``-k`` for those that withdrew; a line for each
ballot or kind of ballot, ``weight 3 1=2 0``, the best first, ``=`` between equal ones, ``-`` for a place left empty,
perhaps after an id in parentheses; a line ``0``; the names in quotes, one a line; the title. ``#`` begins a remark.

**.pb** of Pabulib: sections META, PROJECTS and VOTES, each with a header, cells between semicolons. ``vote_type`` is
approval, ordinal, cumulative or scoring; ``vote`` lists projects by their ids, ``points`` the points of each of them.

**.order** of the SUSHI data, from www.kamishima.net/sushi (for research, not to be passed on): a line ``10 1`` or
``100 1`` with the number of items; then each line ``0 10 i1 ... i10`` is one person's order, item ids from 0, best
first. The ten items of set A have other ids than the same items in set B.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.names import form
from privrank_jax.data.rankings import Approvals, Rankings, Ratings, check_size, ranks_from_orders

# Its line, how often it counts, and the numbers of what stands at each place.
Ballot: TypeAlias = tuple[int, int, list[list[str]]]
_DIGITS = re.compile(r"\d{1,9}", re.ASCII)
_ID = re.compile(r"\([^)]*\)")
_GROUP = r"\s*(?:\d+|\{[\d\s,]*\})\s*"
_ORDER = re.compile(rf"{_GROUP}(?:,{_GROUP})*", re.ASCII)
_NAME_KEY = re.compile(r"ALTERNATIVE NAME (\d+)", re.ASCII)
_SECTIONS = ("META", "PROJECTS", "VOTES")
_POINTS = ("cumulative", "scoring")
_TYPES = ("approval", "ordinal", *_POINTS)
SET_A = (
    "shrimp", "sea eel", "tuna", "squid", "sea urchin", "salmon roe", "egg", "fatty tuna", "tuna roll", "cucumber roll",
)  # fmt: skip


def parse_preflib(text: Iterable[str], name: str, suffix: str) -> Rankings:
    """PrefLib's orders, a row per voter; alternatives left out are rank -1, by its rule behind all others.

    The ``suffix`` says what its orders may be; ``name`` is the file's, for messages.
    """
    names: list[tuple[int, str]] = []
    stated: dict[str, tuple[int, int]] = {}  # what: line, number
    orders: list[Ballot] = []
    for line, row in enumerate(map(str.strip, text), start=1):
        first, colon, rest = map(str.strip, row.lstrip("#").partition(":"))
        key = first.upper()
        with _in_line(name, line):
            if row and not row.startswith("#"):
                groups = re.findall(r"\{.*?\}|\d+", rest)
                parts = [[one.strip("{} ") for one in group.split(",")] for group in groups]
                if not colon or not _ORDER.fullmatch(rest) or [""] in parts:
                    raise BadCell(f"{quoted(row)} is not an order: write count: 3,{{1,2}}")
                orders.append((line, _whole("the count of an order", first), parts))
            elif found := _NAME_KEY.fullmatch(key):
                names.append((_whole("the number of an alternative", found[1]), rest))
            elif key.startswith("NUMBER "):
                what = key.removeprefix("NUMBER ").replace("PREFERENCES", "ORDERS").lower()
                stated[what] = line, _whole(key, rest, least=0)
    if not names or sorted(k for k, _ in names) != list(range(1, len(names) + 1)):
        raise DataError(f"{name} must number its alternatives by lines # ALTERNATIVE NAME 1: name")
    ranks = _ranks(name, "alternative", len(names), orders)
    for line, _, groups in orders:
        tied, few = any(len(one) > 1 for one in groups), sum(map(len, groups)) < len(names)
        if (tied and suffix[1] == "s") or (few and suffix[3] == "c"):
            raise DataError(
                f"{name}, line {line}: {suffix} files have no such order: rename the file to .toi"
            )
    totals = {"alternatives": len(names), "voters": len(ranks), "unique orders": len(orders)}
    for what, number in totals.items():
        line, said = stated.get(what, (0, number))
        if number != said:
            raise DataError(f"{name}, line {line}: {said} {what} are stated, {number} are there")
    return Rankings(ranks, tuple(label for _, label in sorted(names)), name=name)


def read_blt(file: File) -> Rankings:
    """Read ballots of OpaVote or OpenSTV, one row each as often as its weight says, without candidates who withdrew."""
    lines = ((k, line.strip()) for k, line in enumerate(file.lines(), start=1))
    rest = ((k, line) for k, line in lines if line and not line.startswith("#"))
    first = next(rest, (0, ""))[1].partition("#")[0].split()
    if len(first) != 2 or not all(map(_DIGITS.fullmatch, first)):
        raise DataError(f"{file.name}: write candidates and seats into the first line, as in 4 2")
    number, ballots, gone = int(first[0]), list[Ballot](), set[int]()
    for line, text in rest:
        words = _ID.sub(" ", text.partition("#")[0]).split()
        if words == ["0"]:
            break
        with _in_line(file.name, line):
            if all(word.startswith("-") for word in words):
                gone |= {_whole("candidate", word[1:], most=number) - 1 for word in words}
            elif len(words) < 2 or words[-1] != "0" or not _DIGITS.fullmatch(words[0]):
                raise BadCell(f"{quoted(text)} is no ballot: write its weight first, as in 1 3 2 0")
            else:
                groups = [word.split("=") for word in words[1:-1] if word != "-"]
                ballots.append((line, int(words[0]), groups))
    names = [text.strip('"').strip() for _, (_, text) in zip(range(number), rest)]
    if len(names) < number:
        raise DataError(f"{file.name} ends before the names of its {number} candidates")
    kept = [k for k in range(number) if k not in gone]
    ranks = _ranks(file.name, "candidate", number, ballots)[:, kept]
    check_size(file.name, len(ranks), len(kept))
    return Rankings(ranks, tuple(names[k] for k in kept), name=file.name)


def read_pabulib(file: File) -> Rankings:
    """Read the votes of a participatory budget; what a voter does not name has no approval, no place or no points."""
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
    table = np.full((len(sections["VOTES"]), len(places)), -(kind == "ordinal"), np.int32)
    for number, (line, row) in enumerate(sections["VOTES"]):
        voter, *lists = (row.get(one, "") for one in ("voter_id", "vote", "points"))
        named, points = ([one.strip() for one in of.split(",") if one.strip()] for of in lists)
        points = points if kind in _POINTS else ["1"] * len(named)
        with _in_line(file.name, line):
            if not voter.strip() or voters.setdefault(voter.strip(), number) != number:
                raise BadCell(f"voter {quoted(voter)} has no id, or two rows: keep one row of each")
            if unknown := [one for one in named if one not in places]:
                raise BadCell(f"there is no project {quoted(unknown[0])} in PROJECTS")
            if len(set(named)) < len(named):
                raise BadCell("a project stands there twice: keep it once")
            if len(points) != len(named) or not all(map(_DIGITS.fullmatch, points)):
                raise BadCell("write whole points, one for each project, with commas between")
        at = [places[one] for one in named]
        table[number, at] = range(len(at)) if kind == "ordinal" else list(map(int, points))
    said = {"item_names": tuple(labels), "user_names": tuple(voters), "name": file.name}
    if kind == "ordinal":
        return Rankings(table, **said)
    if kind == "approval":
        return Approvals(1 - table, levels=1 - table, scale=np.array([1.0, 0.0]), **said)
    scale, levels = np.unique(-table, return_inverse=True)
    levels = levels.reshape(table.shape).astype(np.int32)
    return Ratings(levels, levels=levels, scale=-scale.astype(float), **said)


def _sections(file: File) -> dict[str, list[tuple[int, dict[str, str]]]]:
    """The rows of each section, by their columns, with their lines."""
    found: dict[str, list[tuple[int, dict[str, str]]]] = {}
    current, header = "", None
    try:
        for line, cells in enumerate(csv.reader(file.lines(), delimiter=";"), start=1):
            first = cells[0].strip() if cells else ""
            if len(cells) == 1 and first.upper() in _SECTIONS:
                current, header = first.upper(), None
            elif cells and header is None:
                header = [cell.strip() for cell in cells]
            elif header is not None and (first or len(cells) > 1):
                found.setdefault(current, []).append((line, dict(zip(header, cells))))
    except csv.Error as error:
        raise DataError(f"{file.name}: {error}: check its quotes") from error
    if missing := [name for name in _SECTIONS if not found.get(name)]:
        raise DataError(f"{file.name} has no rows in {missing[0]}: it needs {', '.join(_SECTIONS)}")
    return found


def read_kamishima(file: File) -> Rankings:
    """Read an order file of the SUSHI data; of set B each person ranks 10 of 100 items, the others are unknown."""
    lines = [(k, row.split()) for k, row in enumerate(file.lines(), 1) if row.strip()]
    (_, first), *rows = lines or [(1, ["0"])]
    with _in_line(file.name, 1):
        items = _whole("the number of items", first[0], least=0)
    check_size(file.name, len(rows), items)
    for line, row in rows:
        with _in_line(file.name, line):
            order = {_whole("an item", one, 0, items - 1) for one in row[2:]}
            lengths = {len(order), len(row) - 2, len(rows[0][1]) - 2}
            if not order or len(lengths) > 1 or row[1] != str(len(order)):
                raise BadCell("write 0, the length of the order, that of all, and distinct items")
    orders = np.array([row[2:] for _, row in rows], np.int64)
    known = SET_A if items == len(SET_A) else tuple(f"item {k}" for k in range(items))
    ranks = ranks_from_orders(orders, items)
    missing = "last" if orders.shape[1] == items else "unknown"
    return Rankings(ranks, item_names=known, name=file.name, missing=missing)


@contextlib.contextmanager
def _in_line(name: str, line: int) -> Iterator[None]:
    """Say in which line of a file a :class:`BadCell` was found."""
    try:
        yield
    except BadCell as error:
        raise DataError(f"{name}, line {line}: {error}") from None


def _ranks(name: str, what: str, number: int, ballots: Sequence[Ballot]) -> np.ndarray:
    """Ranks by the places of each ballot, 0 for the first, -1 for what it leaves out; a row as often as it counts."""
    counts = [count for _, count, _ in ballots]
    check_size(name, sum(counts), number)
    ranks = np.full((len(ballots), number), -1, np.int32)
    for row, (line, _, groups) in zip(ranks, ballots):
        with _in_line(name, line):
            for place, group in enumerate(groups):
                for k in (_whole(what, word, most=number) for word in group):
                    if row[k - 1] >= 0:
                        raise BadCell(f"{what} {k} stands there twice: remove one")
                    row[k - 1] = place
    return np.repeat(ranks, counts, axis=0)


def _whole(what: str, text: str, least: int = 1, most: int = 999999999) -> int:
    """A whole number within these ends."""
    if not _DIGITS.fullmatch(text) or not least <= int(text) <= most:
        raise BadCell(f"{what} is {quoted(text)}: write a whole number from {least} to {most}")
    return int(text)


READERS: dict[str, Callable[[File], Rankings]] = dict.fromkeys(
    (".soc", ".soi", ".toc", ".toi"),
    lambda file: parse_preflib(file.lines(), file.name, file.suffix),
) | {".blt": read_blt, ".pb": read_pabulib, ".order": read_kamishima}

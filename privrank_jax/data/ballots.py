"""Ballots in lines of text: ABIF (``.abif``) and the Condorcet Election Format (``.cvotes``), as tables of orders.

**.abif** (Aggregated Ballot Information Format) A line ``27: A > B = C`` is 27 ballots, the best first, ``=`` or ``,``
between equal ones; names of several words stand in brackets or double quotes. A score may follow a name, ``A/5``, and
gives the order where commas alone stand between scored names. Lines such as ``=A: [Ann Lee]`` name the candidates,
and are the list of items. Lines in braces are metadata, also behind a ballot; a ``#`` begins a remark.

**.cvotes** ``#/Candidates: A ; B`` lists the items, ``#/Implicit Ranking: false`` says that who is not ranked is
unknown, rather than last. A ballot is ``tags || A > B = C ^ weight * number``, or ``/EMPTY/``; names that are no
candidates are left out. Weights have a meaning where ``#/Weight Allowed: true``, and are refused there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from privrank_jax.data.columns import Column, Table, encode
from privrank_jax.data.errors import DataError, quoted
from privrank_jax.data.file import File

_NO_REMARK = re.compile(r'(\[[^\]]*\]|"[^"]*"|[^#])*')
_TOKEN = r'(\[[^\]]*\]|"[^"]*"|[^\s\[\]"/>=,:*{}]+)'
_NAMED = re.compile(rf"=\s*{_TOKEN}\s*:\s*(.+)|{_TOKEN}\s*:\s*(\[[^\]]*\])")
_COUNTED = re.compile(r"(\d{1,9})\s*[:*](.*?)(:\s*\{.*\}\s*)?", re.ASCII)
_SCORED = re.compile(rf"\s*{_TOKEN}\s*(?:/\s*(-?\d{{1,9}}(?:\.\d{{1,9}})?)\s*)?([>=,]|$)", re.ASCII)
_VOTE = re.compile(r"(?:.*\|\|)?([^^*]*)(?:\^\s*(\d{1,9})\s*)?(?:\*\s*(\d{1,9})\s*)?", re.ASCII)


class Ballots(NamedTuple):
    """A table with a column of orders, and the arguments by which it is read."""

    table: Table
    items: tuple[str, ...] | None = None
    missing: str = "last"
    said: Mapping[str, str] = {}


def read_abif(file: File) -> Ballots:
    """Read ballots of the Aggregated Ballot Information Format.

    Raises:
        DataError: a line that is none of it, and which.
    """
    names: dict[str, str] = {}
    votes: list[tuple[int, str]] = []
    numbers, counts = [], []
    for where, line, text in _lines(file, ".abif"):
        if text.startswith("{"):
            continue
        if (found := _COUNTED.fullmatch(text)) is not None:
            numbers.append(line)
            counts.append(int(found[1]))
            votes.append((line, found[2].strip()))
        elif (found := _NAMED.fullmatch(text)) is not None:
            names[_bare(found[1] or found[3])] = _bare(found[2] or found[4])
        else:
            raise DataError(
                f"{where}: {quoted(text)} is no line of ABIF: write ballots such as 27: A > B = C, and candidates such "
                "as =A: [Ann Lee]"
            )
    orders = [
        [
            [names.get(one, one) for one in group]
            for group in _ranked(f"{file.name}, line {line}", vote)
        ]
        for line, vote in votes
    ]
    return _ballots(file, orders, numbers, counts, tuple(names.values()) or None)


def _ranked(where: str, vote: str) -> list[list[str]]:
    """The groups of a ballot, the best first."""
    found, at = [], 0
    while at < len(vote):
        one = _SCORED.match(vote, at)
        if one is None or (one.end() == len(vote) and one[3]):
            raise DataError(
                f"{where}: {quoted(vote)} is no ballot: write names between > (behind), = (equal), with a score such "
                "as A/5 or without, and names that are no single word in brackets"
            )
        found.append((_bare(one[1]), one[2], one[3]))
        at = one.end()
    scores = [score for _, score, _ in found if score is not None]
    if {sign for *_, sign in found[:-1]} == {","} and scores:
        if len(scores) < len(found):
            raise DataError(f"{where}: {quoted(vote)} has names without a score: give each one")
        levels = sorted({float(score) for score in scores}, reverse=True)
        return [[n for n, score, _ in found if float(score) == one] for one in levels]
    groups: list[list[str]] = [[]] if found else []
    for name, _, sign in found:
        groups[-1].append(name)
        groups += [[]] * (sign == ">")
    return groups


def _bare(token: str) -> str:
    quotes = {"[": "]", '"': '"'}
    whole = len(token) > 1 and quotes.get(token[0]) == token[-1]
    return (token[1:-1] if whole else token).strip()


def read_cvotes(file: File) -> Ballots:
    """Read ballots of the Condorcet Election Format.

    Raises:
        DataError: a line that is none of it, and which; a weight other than 1.
    """
    about, orders, numbers, counts = {}, [], [], []
    for where, line, text in _lines(file, ".cvotes", "#/"):
        if text.startswith("#/"):
            key, _, value = text[2:].partition(":")
            about[" ".join(key.lower().split())] = value.strip()
            continue
        found = _VOTE.fullmatch(text)
        groups = [[]] if found is None else [part.split("=") for part in found[1].split(">")]
        groups = [[name.strip() for name in group] for group in groups]
        if found is not None and re.fullmatch(r"/EMPTY\w*/", found[1].strip(), re.IGNORECASE):
            groups = []
        if found is None or any(
            not one or set(one) & set("<;,/") for group in groups for one in group
        ):
            raise DataError(
                f"{where}: {quoted(text)} is no ballot: write tags || A > B = C ^ weight * number, or /EMPTY/"
            )
        if about.get("weight allowed", "").lower() == "true" and int(found[2] or 1) != 1:
            raise DataError(
                f"{where}: a ballot has the weight {found[2]}, and a user has one ranking that counts once: write "
                f"* {found[2]} if it stands for as many ballots, or remove the weight"
            )
        orders.append(groups)
        numbers.append(line)
        counts.append(int(found[3] or 1))
    listed = [name.strip() for name in about.get("candidates", "").split(";") if name.strip()]
    if listed:
        kept = ([[one for one in group if one in listed] for group in groups] for groups in orders)
        orders = [[group for group in groups if group] for groups in kept]
    implicit = about.get("implicit ranking", "true").lower() != "false"
    missing = "last" if implicit else "unknown"
    return _ballots(file, orders, numbers, counts, tuple(listed) or None, missing)


def _lines(file: File, suffix: str, kept: str = "\0") -> Iterator[tuple[str, int, str]]:
    """Where each line is, its number, and it without remarks, but those that begin with ``kept``."""
    file.checked((suffix,), f"give a {suffix} file")
    for line, text in enumerate(file.lines(), start=1):
        found = None if text.startswith(kept) else _NO_REMARK.match(text)
        if text := (text if found is None else found[0]).strip():
            yield f"{file.name}, line {line}", line, text


def _ballots(
    file: File,
    orders: list[list[list[str]]],
    lines: list[int],
    counts: list[int],
    items: tuple[str, ...] | None,
    missing: str = "last",
) -> Ballots:
    """Orders as a table, each as often as it counts."""
    for groups, line in zip(orders, lines):
        if wrong := [one for group in groups for one in group if set(one) & set(">=≻")]:
            raise DataError(
                f"{file.name}, line {line}: {quoted(wrong[0])} has a > or = in its name: rename it"
            )
    words = [">".join(map("=".join, groups)) for groups in orders]
    columns = {"order": words, "count": list(map(str, counts))}

    def read(names: Sequence[str]) -> list[Column]:
        return [encode(zip(columns[one]), {one: 0})[0] for one in names]

    table = Table(file.name, list(columns), read, lambda row: f"line {lines[row]}")
    return Ballots(table, items, missing, {"count": "count", "order_separator": ">"})


READERS = {".abif": read_abif, ".cvotes": read_cvotes}

"""Preferences for training: ``prompt``, ``chosen``, ``rejected``, perhaps ``id`` and ``user``, in a table of any kind.

The answers are texts, or lists of messages with ``role`` and ``content``, as TRL's data sets have them; ``prompt`` may
be absent. What is protected is the *order*: which of the two answers was chosen. Prompts, the texts of both answers,
and who answered which prompt are public. A randomized file has the same fields, ``chosen`` is the answer that the
report names, and ``label_epsilon`` the ε at which the order of the line was randomized.

**What must not tell the order.** The two answers are read as a set: the bit that is randomized says whether the chosen
one is the first when both are sorted as text, and each answer is written in one form, whatever the order of its keys.
Lines are sorted by a hash of what is public in them, since their order in the source may follow the answers. Other
fields are left out unless they are named, and refused if their names or contents tell of the order.
"""

from __future__ import annotations

import dataclasses
import functools
import gzip
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._neighbors import NO_COLUMN, of_column
from privrank_jax._whole_file import whole_file
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.file import File, Origin, checksum
from privrank_jax.data.names import Names, did_you_mean
from privrank_jax.data.randomized import check_writable, epsilon_of, largest_sum
from privrank_jax.data.roles import PreferenceRoles, reader_of
from privrank_jax.data.table import name_of, records_of
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

MARK = "label_epsilon"
"""Field of a randomized file: the ε at which the order of its line was randomized."""
SUFFIXES = (".jsonl", ".jsonl.gz")  # of files that are written
_ANSWERS = ("chosen", "rejected")
_BESIDE = ("id", "user", "prompt")  # may be absent in all lines; written in this order
_TELLING = re.compile(
    r"chosen|reject|winner|loser|prefer|margin|scor|rating|rank|vote|better|worse|label(?!er)", re.I
)
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
)


# --- one line -----------------------------------------------------------------------------------------


def written(value: Any) -> str:
    """A JSON value as text; equal values are written alike, whatever the order of their keys."""
    try:
        return _ENCODER.encode(value).encode().decode()
    except ValueError as error:  # half of a surrogate pair, or infinity
        raise BadCell(f"it can't be written as JSON in UTF-8 ({error}): correct it") from None


def field(record: Mapping[str, Any], name: str) -> Any:
    """The value of a field; :class:`BadCell` if there is none of this name."""
    if name in record:
        return record[name]
    known = ", ".join(map(repr, record))
    raise BadCell(f"no field {name!r}{did_you_mean(name, record)}; the fields are {known}")


def _answer(record: Mapping[str, Any], name: str) -> str:
    answer = field(record, name)
    for one in answer if isinstance(answer, list) else ():
        if not isinstance(one, dict) or not {"role", "content"} <= one.keys():
            raise BadCell(f"{name!r} is a list, but not of messages with 'role' and 'content'")
        if telling := next(filter(_TELLING.search, one), ""):
            raise BadCell(f"{telling!r} in a message may tell which answer was chosen: remove it")
    if answer == [] or not isinstance(answer, str | list):
        raise BadCell(f"{name!r} is {written(answer)[:40]}: write a text, or a list of messages")
    return written(answer)


def pair_of(
    record: Mapping[str, Any], names: Mapping[str, str], keep: Sequence[str]
) -> tuple[tuple[str, str], bool]:
    """The two answers of a line, written as text and sorted, and whether the first one was chosen."""
    if MARK in record:
        raise BadCell(f"a field {MARK!r}, so its order is randomized already: leave it as it is")
    for role in _BESIDE:
        if role in names and field(record, names[role]) is None:
            raise BadCell(f"the {role} is null: fill it in or remove the line")
    chosen, rejected = (_answer(record, names[role]) for role in _ANSWERS)
    if chosen[0] != rejected[0]:  # a quote, or a bracket
        raise BadCell("one answer is a text, the other a list of messages: write both in one form")
    for name in keep:
        text, inner = written(field(record, name)), list[str]()
        json.loads(text, object_pairs_hook=lambda pairs, into=inner: into.extend(dict(pairs)))
        if any(map(_TELLING.search, inner)) or chosen in text or rejected in text:
            raise BadCell(f"{name!r} can't be kept: what it holds may tell which answer was chosen")
    return (min(chosen, rejected), max(chosen, rejected)), chosen <= rejected


def _user(given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise BadCell(f"the user is {written(given)[:40]}: write a text or a whole number")
    return str(given)


# --- a table is read ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class _Lines:
    """N preferences as they were read.

    Attributes:
        names: role to field of ``chosen``, ``rejected``, and of ``prompt``, ``id`` and ``user`` where the table has it.
        keep: further fields that are carried over.
        lines: of each record the other fields by role or name, and the two answers, sorted; all written as JSON.
        bits: ``(N,)`` bool, whether the chosen answer is the first of the two; what is protected.
        users: ``(N,)`` int, a number for each user; the row number where the table names no users.
        epsilon: ``(N,)`` float64, of each; None without a field of these.
        ties, ignored: rows whose answers are equal; fields that are left out, of the first record.
    """

    name: str
    names: dict[str, str]
    keep: tuple[str, ...]
    lines: list[tuple[dict[str, str], tuple[str, str]]]
    bits: Bool[np.ndarray, "rows"]
    users: Integer[np.ndarray, "rows"]
    user_names: tuple[str, ...]
    epsilon: Float[np.ndarray, "rows"] | None
    ties: tuple[int, ...]
    ignored: tuple[str, ...]
    users_are: str
    origin: Origin

    def __len__(self) -> int:
        return self.bits.size

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; users and answers not shown>"

    @property
    def has_users(self) -> bool:
        """Whether the table names users."""
        return "user" in self.names

    @property
    def sha256(self) -> str:
        """Checksum of the file or the table; :class:`DataError` if the file has changed since it was read."""
        return self.origin.sha256


class PreferenceScan(_Lines):
    """N preferences whose order nobody has randomized yet."""

    def check(self, users: bool) -> None:
        """Raise :class:`DataError` if a pair is twice the same answer, or the table does not name ``users``."""
        if self.ties:
            raise DataError(f"{self.name}, row {self.ties[0] + 1}: its two answers are the same")
        if users and not self.has_users:
            raise DataError(f"{self.name} has no field 'user': name it, or protect each comparison")


class Preferences(_Lines):
    """N randomized preferences, with arrays for the losses of :mod:`privrank_jax.preferences`.

    Their attributes are ``chosen`` and ``rejected``, and ``bits``, the reports: whether the chosen answer is the first
    of the two when both are sorted as text; ``epsilon``, that of each report; ``users`` and ``user_names``.
    """

    read = reader_of(PreferenceRoles)

    @functools.cached_property
    def chosen(self) -> tuple[Any, ...]:
        """The N answers that the reports name, each a text or a list of messages."""
        return self._answers(True)

    @functools.cached_property
    def rejected(self) -> tuple[Any, ...]:
        """The other N answers."""
        return self._answers(False)

    def _answers(self, chosen: bool) -> tuple[Any, ...]:
        pairs = zip(self.lines, self.bits.tolist())
        return tuple(json.loads(answers[bit != chosen]) for (_, answers), bit in pairs)

    def column(self, name: str) -> tuple[Any, ...]:
        """The N values of a field beside them: ``"prompt"``, ``"id"``, or one that was kept."""
        return tuple(json.loads(cells[name]) for cells, _ in self.lines)


_Kind = TypeVar("_Kind", PreferenceScan, Preferences)


def scan_preferences(source: Any, **told: Any) -> PreferenceScan:
    """Read and check preferences, of whose fields is told what :meth:`Preferences.read` takes."""
    of, roles = name_of(source), PreferenceRoles(**told)
    if others := roles.told.keys() & {"items", "blank", "ignore", "count"}:
        raise DataError(f"the data are read as preferences: leave out `{others.pop()}`")
    for name in roles.keep:
        if _TELLING.search(name) or name in _BESIDE:
            raise DataError(
                f"{of}: the field {name!r} can't be kept: its name may tell which answer was chosen"
            )
    used = [*filter(None, (getattr(roles, role) for role in (*_ANSWERS, *_BESIDE))), *roles.keep]
    if twice := [name for name in used if used.count(name) > 1]:
        raise DataError(f"{of}: the field {twice[0]!r} is named twice: name one for each")
    found = _scanned(source, roles, PreferenceScan)
    loose = roles.prompt is not None and not {"prompt", "id"} & found.names.keys()
    if found.ignored and loose and not roles.keep:  # nothing would join the sorted lines to prompts
        raise DataError(
            f"{of} has no prompt and no id to join lines to the fields left out, {', '.join(found.ignored)}: name "
            "one by `prompt` or `id`, `keep` a field, or say prompt=None if answers need no prompt"
        )
    return found


def read_preferences(source: Any) -> Preferences:
    """Read randomized preferences, as ``privrank privatize`` writes them; others are refused."""
    return _scanned(source, PreferenceRoles(epsilon=MARK), Preferences)


def _scanned(source: Any, roles: PreferenceRoles, kind: type[_Kind]) -> _Kind:
    """Read all records; those that are randomized with all of their fields."""
    randomized = kind is Preferences
    names: dict[str, str] = {}
    first: dict[str, Any] = {}
    absent: set[str] = set()
    keep = tuple(roles.keep)
    lines, bits, budgets, users, people = [], [], [], [], Names("user")
    of, named = name_of(source), isinstance(source, str | os.PathLike)
    origin = Origin(File.of(source)) if named else None
    for place, record in records_of(source):
        try:
            if roles.epsilon is not None:
                given = field(record, roles.epsilon)
                budgets.append(epsilon_of(given if isinstance(given, str) else written(given)))
            if randomized:
                del record[MARK]
            if not names:
                names, first = _fields_of(record, roles), record
                absent = {one for one in _BESIDE if getattr(roles, one) and one not in names}
                if randomized:
                    keep = tuple(name for name in first if name not in names.values())
            if late := absent & record.keys():
                raise BadCell(f"a field {late.pop()!r}, which the first line does not have")
            if randomized and record.keys() != first.keys():
                raise BadCell("other fields than in the first line")
            answers, chosen_first = pair_of(record, names, roles.keep)
            if "user" in names:
                users.append(people[_user(record[names["user"]])])
        except BadCell as error:
            raise DataError(f"{of}, {place}: {error}") from None
        beside = {role: record[names[role]] for role in _BESIDE if role in names}
        beside |= {name: record[name] for name in keep}
        lines.append(({name: written(value) for name, value in beside.items()}, answers))
        bits.append(chosen_first)
    if not lines:
        raise DataError(f"{of} is empty: it needs one JSON object per line")
    used = {*names.values(), *keep, roles.epsilon}
    return kind(
        *(of, names, keep, lines, np.array(bits)),
        users=np.array(users if "user" in names else range(len(bits)), np.int32),
        user_names=tuple(people),
        epsilon=None if roles.epsilon is None else np.array(budgets),
        ties=tuple(row for row, (_, (one, other)) in enumerate(lines) if one == other),
        ignored=tuple(name for name in first if name not in used),
        users_are=of_column(names["user"]) if "user" in names else NO_COLUMN,
        origin=origin or Origin(None, lambda: checksum([lines, bits, users, budgets])),
    )


def _fields_of(record: Mapping[str, Any], roles: PreferenceRoles) -> dict[str, str]:
    """Role to field of a table, by its first record; those of ``_BESIDE`` under their own names may be absent."""
    told = {role: getattr(roles, role) for role in (*_ANSWERS, *_BESIDE)}
    optional = {role for role in _BESIDE if told[role] in (None, role) and role not in record}
    found = {role: name for role, name in told.items() if name and role not in optional}
    for name in found.values():
        field(record, name)
    return found


def labels_guarantee(
    scan: PreferenceScan, kept: np.ndarray, epsilon: np.ndarray, *, asked: Any, **about: Any
) -> Guarantee:
    """Guarantee of randomized labels of the rows that are ``kept``; ``asked`` is None for personal ε of comparisons."""
    found = [Privacy.proven(float(epsilon.max()), unit="comparison", adjacency="flip")]
    if asked is not None and asked.unit == "user":
        found.insert(0, Privacy.proven(float(asked.epsilon), unit="user", adjacency="flip"))
    elif scan.has_users:
        whole = largest_sum(scan.users[kept], epsilon)
        found.append(Privacy.proven(whole, unit="user", adjacency="flip"))
    return Guarantee(found[0], trust="local", **about, also=tuple(found[1:]))


# --- randomized preferences are written ---------------------------------------------------------------


def check_preferences_destination(path: str | os.PathLike[str]) -> None:
    """Raise :class:`DataError` unless preferences can be written to a file of this name."""
    path = Path(path)
    if not path.name.lower().endswith(SUFFIXES):
        raise DataError(f"{path.name} is no file of JSON Lines: name a .jsonl or .jsonl.gz file")
    check_writable(path)


def write_preferences(
    path: str | os.PathLike[str],
    scan: PreferenceScan,
    kept: Bool[np.ndarray, "rows"],
    reports: Bool[np.ndarray, "labels"],
    epsilon: Float[np.ndarray, "labels"],
    *,
    users: bool = True,
) -> tuple[str, ...]:
    """Write randomized preferences of the rows that are ``kept`` atomically, and return the fields written.

    Lines are sorted by a hash of what is public in them, so that their order depends on the *set* of lines alone. A
    report says whether the first answer of its pair is written as the chosen one.
    """
    path = Path(path)
    check_preferences_destination(path)
    beside = [role for role in _BESIDE if role in scan.names and (users or role != "user")]
    lines = []
    drawn = zip(compress(scan.lines, kept), reports, epsilon.tolist())
    for (cells, answers), report, label in drawn:
        before = {role: cells[role] for role in beside}
        after = {MARK: repr(label)} | {name: cells[name] for name in scan.keep}
        public = json.dumps([before, after, answers]).encode()  # which several lines may share
        chosen, rejected = answers if report else answers[::-1]
        ordered = {**before, "chosen": chosen, "rejected": rejected, **after}
        line = ", ".join(f"{written(name)}: {cell}" for name, cell in ordered.items())
        line = f"{{{line}}}\n".encode()
        lines.append((*(hashlib.sha256(text).digest() for text in (public, line)), line))
    packed = path.name.lower().endswith(".gz")
    with whole_file(path) as temporary, temporary.open("wb") as file:
        text = b"".join(line for *_, line in sorted(lines))
        file.write(gzip.compress(text, mtime=0) if packed else text)
    return (*beside, "chosen", "rejected", MARK, *scan.keep)

"""The two answers of a line of preferences, read as a set: nothing but one bit says which of them was chosen."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from privrank_jax.data.errors import BadCell, DataError, say
from privrank_jax.data.names import did_you_mean

MARK = "label_epsilon"
"""Field of a randomized file: the ε at which the order of its line was randomized."""
OPTIONAL = ("prompt", "id", "user")
_MESSAGE = ("role", "content")
_TELLING = re.compile(
    r"chosen|reject|winner|loser|prefer|margin|scor|rating|rank|vote|better|worse|label(?!er)", re.I
)


@dataclasses.dataclass(frozen=True)
class PreferenceFields:
    """Names of the fields of a file of preferences.

    Attributes:
        chosen: the answer that was chosen.
        rejected: the other one.
        prompt: the prompt; None if there is none. ``prompt``, ``id`` and ``user`` may be absent in all lines.
        id: of the line, carried over.
        user: who answered.
    """

    chosen: str = "chosen"
    rejected: str = "rejected"
    prompt: str | None = "prompt"
    id: str | None = "id"
    user: str | None = "user"


def written(value: Any) -> str:
    """A JSON value as text; equal values are written alike, whatever the order of their keys.

    >>> written({"b": 1, "a": "é"})
    '{"a":"é","b":1}'
    """
    try:
        text = json.dumps(
            value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
        )
        text.encode()
    except UnicodeEncodeError:
        raise BadCell(
            "a text has half of a surrogate pair (\\ud800 to \\udfff): remove it"
        ) from None
    except ValueError:
        raise BadCell("a number is too large for double precision: write it as a text") from None
    return text


@dataclasses.dataclass(frozen=True)
class Pair:
    """The two answers of a line, written as text and sorted, and whether the first one was chosen."""

    answers: tuple[str, str]
    chosen_first: bool

    @property
    def tied(self) -> bool:
        """Whether both are the same."""
        return self.answers[0] == self.answers[1]

    @classmethod
    def of(cls, record: dict[str, Any], names: dict[str, str], keep: Sequence[str]) -> Pair:
        """Read a line; :class:`BadCell` for what is missing, or tells of the order."""
        if MARK in record:
            raise BadCell(
                f"it has a field {MARK!r}, so its order is randomized already: doing so again would only add noise"
            )
        for role in OPTIONAL:
            if role in names and field(record, names[role]) is None:
                raise BadCell(f"the {role} is null: fill it in or remove the line")
        answers = [field(record, names[role]) for role in ("chosen", "rejected")]
        texts = [_answer(one, names[role]) for one, role in zip(answers, ("chosen", "rejected"))]
        if isinstance(answers[0], str) != isinstance(answers[1], str):
            raise BadCell(
                f"one of {names['chosen']!r} and {names['rejected']!r} is a text, the other a list of messages: "
                "write both in one form"
            )
        for name in keep:
            _check_kept(name, field(record, name), texts)
        first = texts[0] <= texts[1]
        return cls((texts[0], texts[1]) if first else (texts[1], texts[0]), first)


def _answer(answer: Any, name: str) -> str:
    if isinstance(answer, list) and answer:
        for message in answer:
            if not isinstance(message, dict) or not set(_MESSAGE) <= message.keys():
                raise BadCell(
                    f"{name!r} is a list, but not of messages: each needs 'role' and 'content'"
                )
            if telling := next(filter(_TELLING.search, message), None):
                raise BadCell(
                    f"a message of {name!r} has the field {telling!r}, which may tell which answer was chosen: remove "
                    "that field"
                )
    elif not isinstance(answer, str):
        raise BadCell(f"{name!r} is {written(answer)[:40]}: write a text, or a list of messages")
    return written(answer)


def field(record: dict[str, Any], name: str) -> Any:
    """The value of a field; :class:`BadCell` if there is none of this name."""
    if name not in record:
        raise BadCell(
            f"no field {name!r}{did_you_mean(name, record)}; the fields are {', '.join(map(repr, record))}"
        )
    return record[name]


def _check_kept(name: str, value: Any, answers: Sequence[str]) -> None:
    """Refuse contents that tell of the order: fields within, or one of the answers."""
    text = written(value)
    inner = next(filter(_TELLING.search, _keys(value)), None)
    if inner is not None:
        raise BadCell(
            f"{name!r} has a field {inner!r} in it, which may tell which answer was chosen: it can't be kept"
        )
    if any(answer in text for answer in answers):
        raise BadCell(
            f"{name!r} holds one of the two answers, and may so tell which was chosen: it can't be kept"
        )


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


def roles_of(record: dict[str, Any], fields: PreferenceFields) -> dict[str, str]:
    """Role to field of a file, by its first line; :class:`BadCell` for a named field that it lacks."""
    usual = PreferenceFields()
    found = {}
    for role in (*OPTIONAL, "chosen", "rejected"):
        name = getattr(fields, role)
        if name is None:
            continue
        if role in OPTIONAL and name == getattr(usual, role) and name not in record:
            continue
        field(record, name)
        found[role] = name
    return found


def check_answers(record: dict[str, Any], fields: PreferenceFields) -> None:
    """Raise :class:`BadCell` where the first line lacks an answer, with the argument that names another field."""
    roles = dataclasses.asdict(fields)
    for role in ("chosen", "rejected"):
        if roles[role] in record:
            continue
        free = [
            name
            for name, value in record.items()
            if isinstance(value, (str, list)) and name not in roles.values()
        ]
        if len(free) == 1:
            advice = f"if {free[0]!r} is the {role} answer, say {say(role, free[0])}"
        else:
            advice = f"name that of the {role} answer by {say(role)}"
        known = ", ".join(map(repr, record))
        raise BadCell(f"no field {roles[role]!r}; the fields are {known}: {advice}")


def check_fields(source: str, fields: PreferenceFields, keep: Sequence[str]) -> None:
    """Raise :class:`DataError` for a field with two roles, and for one that can't be kept."""
    names = [name for name in dataclasses.astuple(fields) if name is not None]
    for name in keep:
        if telling := _TELLING.search(name):
            raise DataError(
                f"{source}: the field {name!r} can't be kept: its name has {telling[0]!r} in it, so it may tell which "
                "answer was chosen, as scores of both do. If it does not, rename it in the file"
            )
        if name in (*(one.name for one in dataclasses.fields(fields)), MARK):
            raise DataError(
                f"{source}: the field {name!r} can't be kept under this name, which the written file gives to another: "
                "rename it"
            )
    for name in (all_names := [*names, *keep]):
        if all_names.count(name) > 1:
            raise DataError(f"{source}: field {name!r} is named twice: name one field for each")

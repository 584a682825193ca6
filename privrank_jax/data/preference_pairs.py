"""The two answers of a line of preferences, read as a set: nothing but one bit says which of them was chosen."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.names import did_you_mean

MARK = "label_epsilon"
"""Field of a randomized file: the ε at which the order of its line was randomized."""
OPTIONAL = ("prompt", "id", "user")
_MESSAGE = ("role", "content")
_TELLING = re.compile(
    r"chosen|reject|winner|loser|prefer|margin|scor|rating|rank|vote|better|worse|label(?!er)", re.I
)
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False
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
        text = _ENCODER.encode(value)
        text.encode()
    except UnicodeEncodeError:
        raise BadCell(
            r"a text has half of a surrogate pair (\ud800 to \udfff): remove it"
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
        answers = {names[role]: field(record, names[role]) for role in ("chosen", "rejected")}
        texts = [_answer(answer, name) for name, answer in answers.items()]
        if len({isinstance(answer, str) for answer in answers.values()}) > 1:
            raise BadCell(
                f"one of {' and '.join(map(repr, answers))} is a text, the other a list of messages: write both in "
                "one form"
            )
        for name in keep:
            _check_kept(name, field(record, name), texts)
        return cls((min(texts), max(texts)), texts[0] <= texts[1])


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


def field(record: dict[str, Any], name: str, role: str = "") -> Any:
    """The value of a field; :class:`BadCell` if there is none of this name."""
    if name in record:
        return record[name]
    known, mend = ", ".join(map(repr, record)), f": name the one of the {role}" if role else ""
    raise BadCell(f"no field {name!r}{did_you_mean(name, record)}; the fields are {known}{mend}")


def _check_kept(name: str, value: Any, answers: Sequence[str]) -> None:
    """Refuse contents that tell of the order: fields within, or one of the answers."""
    text, held, inner = written(value), "", list[str]()
    json.loads(text, object_pairs_hook=lambda pairs: inner.extend(one for one, _ in pairs))
    if telling := next(filter(_TELLING.search, inner), None):
        held = f"has a field {telling!r} in it"
    elif any(answer in text for answer in answers):
        held = "holds one of the two answers"
    if held:
        raise BadCell(f"{name!r} {held}, which may tell which answer was chosen: it can't be kept")


def roles_of(record: dict[str, Any], fields: PreferenceFields) -> dict[str, str]:
    """Role to field of a table, by its first record; :class:`BadCell` for a named field that it lacks."""
    found = {}
    for role, name in dataclasses.asdict(fields).items():
        usual = role in OPTIONAL and name == role  # may be absent
        if name is not None and (name in record or not usual):
            field(record, name, f"{role} answer" if role not in OPTIONAL else role)
            found[role] = name
    return found


def check_fields(source: str, fields: PreferenceFields, keep: Sequence[str]) -> None:
    """Raise :class:`DataError` for a field with two roles, and for one that can't be kept."""
    names = [*filter(None, dataclasses.astuple(fields)), *keep]
    for name in names:
        why = ""
        if names.count(name) > 1:
            why = "is named twice: name one field for each"
        elif name in keep and (telling := _TELLING.search(name)):
            why = (
                f"can't be kept: its name has {telling[0]!r} in it, so it may tell which answer was chosen, as scores "
                "of both do. If it does not, rename it in the file"
            )
        elif name in keep and name in (*dataclasses.asdict(fields), MARK):
            why = (
                "can't be kept under this name, which the written file gives to another: rename it"
            )
        if why:
            raise DataError(f"{source}: the field {name!r} {why}")

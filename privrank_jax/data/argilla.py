"""Records of Argilla with rankings, as comparisons: each ranking of a user is broken into its pairs.

A record has ``responses``, of which each question lists the answers: ``{"value": ..., "user_id": ...}``. The value of a
ranking lists ``{"value": "a", "rank": 1}``, equal ranks ties, or, in Argilla 2, names with the best first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from privrank_jax.data.columns import Column, Table, encode
from privrank_jax.data.errors import DataError

_HEADER = ["user", "winner", "loser", "tie"]
_NOTE = "its rankings are broken into pairs; answers that are drafts or discarded are left out"


def is_record(found: Any) -> bool:
    """Whether an object is a record of Argilla, by the keys that such a record has."""
    return isinstance(found, dict) and all(
        isinstance(found.get(key), dict) for key in ("fields", "responses")
    )


def table_of_rankings(
    name: str, records: Iterable[tuple[str, Any]], reading: tuple[str, ...]
) -> Table:
    """The pairs of all rankings, a row for each.

    Raises:
        DataError: no question, or several, have rankings; a value that is none.
    """
    places, rows, asked = [], [], set()
    for place, record in records:
        for question, answers in record["responses"].items():
            for answer in answers if isinstance(answers, list) else ():
                groups = _groups(answer, f"{name}, {place}, question {question!r}")
                if groups is None:
                    continue
                asked.add(question)
                user = answer.get("user_id")
                for one in _pairs(groups):
                    places.append(place)
                    rows.append((user and str(user), *one))
    if len(asked) != 1:
        found = (
            f"several questions with rankings, {sorted(asked)}: keep one" if asked else "no ranking"
        )
        raise DataError(f"{name}: records of Argilla with {found}")

    def columns(names: Sequence[str]) -> list[Column]:
        return encode(iter(rows), {column: _HEADER.index(column) for column in names})

    return Table(name, _HEADER, columns, places.__getitem__, (*reading, _NOTE), form=False)


def _groups(answer: Any, where: str) -> list[list[str]] | None:
    """The names of a ranking, the best first; None of an answer of another kind, or one that does not count."""
    value = answer.get("value") if isinstance(answer, dict) else None
    if not isinstance(value, list) or answer.get("status") in ("draft", "discarded"):
        return None
    if all(isinstance(one, str) for one in value):
        return [[one] for one in value]
    ranked: dict[int, list[str]] = {}
    for one in value:
        if not isinstance(one, dict) or not isinstance(one.get("value"), str) or "rank" not in one:
            return None
        if one["rank"] is not None:
            if not str(one["rank"]).isdecimal():
                raise DataError(
                    f"{where}: {one['rank']!r} is no rank: write a whole number, 1 = best"
                )
            ranked.setdefault(int(one["rank"]), []).append(one["value"])
    return [ranked[rank] for rank in sorted(ranked)]


def _pairs(groups: list[list[str]]) -> Iterator[tuple[str, str, str]]:
    """Winner, loser and a mark of a tie, of each pair of names."""
    flat = [(rank, one) for rank, group in enumerate(groups) for one in group]
    for (rank, one), (other_rank, other) in itertools.combinations(flat, 2):
        yield one, other, "1" if rank == other_rank else "0"

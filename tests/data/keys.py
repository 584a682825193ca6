"""Keys of JSON objects as one user may write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privrank_jax.data.reader import KINDS

_USUAL = {
    name for kind in KINDS.values() for names in kind.roles.columns().values() for name in names
}
EVERY = {
    **dict.fromkeys(sorted(_USUAL), "a"),
    **{"rank": 1, "tie": 1, "order": "a>b", "shown": ["a", "b"], "count": 2, "weight": 1, "time": "2024-01-01"},
    **{"model_a": "a", "model_b": "b", "left": "a", "right": "b", "outcome": "left", "winner_model_a": 1},
    **{"winner_model_b": 0, "rank_1": "a", "rank_2": "b", "option_1": "a", "option_2": "b", "a vs b": "a"},
    **{"item_1": "a", "item_2": "b", "report": 1, "epsilon": 1, "synthetic_epsilon": 1, "a": 1, "b": 2, "c": 3, "d": 4},
}  # fmt: skip
"""A cell under each name that a column of any kind may have."""
_WHOLE = (("item", "rank"), ("rank_1", "rank_2"), ("order",), tuple("abcd"), ("a vs b",), ("chosen", "shown"),
          ("winner", "loser"))  # fmt: skip


def variants(row: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The row of one user in other keys, by what was done."""
    yield "reversed", dict(reversed(row.items()))
    yield "only its user", {"user": row["user"]}
    yield "nested", {"user": row["user"], "answers": row}
    yield "in a list", {"battles": [row]}
    for key in row:
        rest = {name: cell for name, cell in row.items() if name != key}
        yield f"without {key}", rest
        yield f"null {key}", {**row, key: None}
        yield f"nested {key}", {**row, key: {key: row[key]}}
        others = {
            key.upper(),
            key.lower(),
            key.title(),
            f" {key}",
            key.replace("_", "-"),
            f"{key}\u200b",
        }
        for other in sorted(others - {key}):
            yield f"{other} for {key}", {**rest, other: row[key]}
            yield f"{other} beside {key}", {**row, other: row[key]}
    for key in sorted(EVERY.keys() - row.keys()):
        yield f"with {key}", {**row, key: EVERY[key]}
    yield "with all", {**EVERY, **row}
    for keys in _WHOLE:
        other = {key: EVERY[key] for key in keys}
        yield f"{keys} instead", {"user": row["user"], **other}
        yield f"{keys} as well", {**row, **other}

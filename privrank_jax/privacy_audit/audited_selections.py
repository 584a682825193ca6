"""Audited selections: the k best items by their win totals, in order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Array

from privrank_jax import pairwise
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.audited_comparisons import (
    COMPARISON,
    FEW_WINS,
    all_comparisons,
    on_wins,
    win_matrix,
)
from privrank_jax.privacy_audit.registry import Audited, Facts

# One comparison, item 0 over item 1, replaced by one of item 2 over item 0; item 2 is ahead of both.
_THREE_ITEMS = (
    win_matrix(3, (0, 1, 1), (2, 1, 2)),
    win_matrix(3, (2, 0, 1), (2, 1, 2)),
)
_ITEMS = ("0", "1")
_LISTS = tuple(f"{i}, {j}" for i in range(3) for j in range(3) if i != j)
# Item 1 ahead by so much that item 0 comes out with hardly more than its least odds, 600 wins: ε >= 0.3.
_APART = tuple(win_matrix(2, (1, 0, ahead)) for ahead in (0, 3, 2000))
_THREE = (
    np.zeros((3, 3)),
    win_matrix(3, (0, 1, 2), (2, 1, 1)),
    win_matrix(3, (2, 0, 50), (2, 1, 50)),
)
_FAR = win_matrix(3, (2, 0, 400), (1, 0, 400))


def _first(chosen: Array) -> Array:
    return chosen[0]


def _list_number(chosen: Array) -> Array:
    """The place in ``_LISTS`` of two of three items in order."""
    return 2 * chosen[0] + chosen[1] - (chosen[1] > chosen[0])


def _law(
    data: np.ndarray, _: Privacy, facts: Facts, *, of: Callable[..., np.ndarray], k: int
) -> np.ndarray:
    return of(data.sum(-1), facts["noise_scale"], k)


_ONE: dict[str, Any] = {
    "neighbors": FEW_WINS,
    "promise": COMPARISON,
    "reduce": _first,
    "sees": "the item",
    "outcomes": _ITEMS,
    "finite": True,
    "instances": all_comparisons(COMPARISON, *_APART),
}
_TWO: dict[str, Any] = {
    "neighbors": _THREE_ITEMS,
    "promise": COMPARISON,
    "reduce": _list_number,
    "sees": "the list",
    "outcomes": _LISTS,
    "finite": True,
    "instances": all_comparisons(COMPARISON, *_THREE),
}
_TWO_FAR: dict[str, Any] = _TWO | {"instances": all_comparisons(COMPARISON, _FAR)}

AUDITED = (
    Audited(
        name="one-shot-top-k",
        title="one-shot Laplace selection, k = 1",
        calibration="tight",
        function="one_shot_top_k",
        release=on_wins(pairwise.one_shot_top_k, 1),
        law=functools.partial(_law, of=laws.one_shot, k=1),
        released_by="exact_top_k",
        commands=(
            "rank --method one-shot --top-k 1 --max-per-user 2",
            "rank --method one-shot --top-k 1 --unit comparison",
        ),
        note="privacy/selection.py; the loss tends to ε far from a tie",
        **_ONE,
    ),
    Audited(
        name="one-shot-top-two",
        title="one-shot Laplace selection, the two best of three in order",
        calibration="tight",
        function="one_shot_top_k",
        release=on_wins(pairwise.one_shot_top_k, 2),
        law=functools.partial(_law, of=laws.one_shot, k=2),
        released_by="exact_top_k",
        commands=(
            "rank --method one-shot --top-k 2 --max-per-user 2",
            "rank --method one-shot --top-k 2 --max-per-user 2 --adjacency add-remove",
            "rank --method one-shot --top-k 2 --max-per-user 2 --adjacency flip",
        ),
        note="privacy/selection.py; the loss tends to ε far from a tie",
        **_TWO_FAR,
    ),
    Audited(
        name="peeling-top-k",
        title="peeling, the two best of three in order",
        calibration="tight",
        function="peeling_top_k",
        release=on_wins(pairwise.peeling_top_k, 2),
        law=functools.partial(_law, of=laws.peeling, k=2),
        note="privacy/selection.py; the loss tends to ε as item 2 moves ahead",
        **_TWO,
    ),
    Audited(
        name="permute-and-flip-top-k",
        title="permute-and-flip, k = 1",
        calibration="tight",
        function="permute_and_flip_top_k",
        release=on_wins(pairwise.permute_and_flip_top_k, 1),
        law=functools.partial(_law, of=laws.permute_and_flip, k=1),
        note="privacy/selection.py",
        **_ONE,
    ),
    Audited(
        name="permute-and-flip-top-two",
        title="permute-and-flip, the two best of three in order",
        calibration="tight",
        function="permute_and_flip_top_k",
        release=on_wins(pairwise.permute_and_flip_top_k, 2),
        law=functools.partial(_law, of=laws.permute_and_flip, k=2),
        note="privacy/selection.py",
        **_TWO,
    ),
)

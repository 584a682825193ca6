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
from privrank_jax.privacy_audit.audited_comparisons import COMPARISON, FEW_WINS, on_wins
from privrank_jax.privacy_audit.contents import protecting, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Facts
from privrank_jax.privacy_audit.rows import audited

# One comparison, item 0 over item 1, replaced by one of item 2 over item 0; item 2 is ahead of both.
_THREE_ITEMS = (
    win_matrix(3, (0, 1, 1), (2, 1, 2)),
    win_matrix(3, (2, 0, 1), (2, 1, 2)),
)
_ITEMS = ("0", "1")
_LISTS = tuple(f"{i}, {j}" for i in range(3) for j in range(3) if i != j)
_POINTS = "--higher-is-better --points 1-4"
# Item 1 ahead by so much that item 0 comes out with hardly more than its least odds, 600 wins: ε >= 0.3.
_APART = tuple(win_matrix(2, (1, 0, ahead)) for ahead in (0, 3, 2000))
_THREE = (
    np.zeros((3, 3)),
    win_matrix(3, (0, 1, 2), (2, 1, 1)),
    win_matrix(3, (2, 0, 50), (2, 1, 50)),
)
_FAR = win_matrix(3, (2, 0, 400), (1, 0, 400))
_STEPS = win_matrix(3, (2, 0, 800), (1, 0, 400))  # item 1 is the worst of the two best


def _list_number(chosen: Array) -> Array:
    """The place in ``_LISTS`` of two of three items in order."""
    return 2 * chosen[0] + chosen[1] - (chosen[1] > chosen[0])


_SHAPES: dict[int, dict[str, Any]] = {
    1: {
        "neighbors": FEW_WINS,
        "reduce": lambda chosen: chosen[0],
        "sees": "the item",
        "outcomes": _ITEMS,
        **protecting(COMPARISON, *_APART),
    },
    2: {
        "neighbors": _THREE_ITEMS,
        "reduce": _list_number,
        "sees": "the list",
        "outcomes": _LISTS,
        **protecting(COMPARISON, *_THREE),
    },
}


def _selection(
    name: str,
    title: str,
    function: Callable[..., Any],
    law: Callable[..., np.ndarray],
    k: int,
    remark: str = "",
    **fields: Any,
) -> Audited:
    def of_totals(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
        return law(data.sum(-1), facts["noise_scale"], k)

    note = f"mechanism/selection.py{remark and '; '}{remark}"
    told = {**_SHAPES[k], "finite": True, "law": of_totals, "note": note, **fields}
    return audited(name, title, on_wins(function, k), **told)


AUDITED = (
    _selection(
        "one-shot-top-k",
        "one-shot Laplace selection, k = 1",
        *(pairwise.one_shot_top_k, laws.one_shot, 1, "the loss tends to ε far from a tie"),
        commands=(
            "rank --method one-shot --top-k 1 --max-per-user 2",
            "rank --method one-shot --top-k 1 --unit comparison",
        ),
    ),
    _selection(
        "one-shot-top-two",
        "one-shot Laplace selection, the two best of three in order",
        *(pairwise.one_shot_top_k, laws.one_shot, 2, "the loss tends to ε far from a tie"),
        commands=(
            "rank --method one-shot --top-k 2 --max-per-user 2",
            "rank --method one-shot --top-k 2 --max-per-user 2 --adjacency add-remove",
            "rank --method one-shot --top-k 2 --max-per-user 2 --adjacency flip",
            f"aggregate --method one-shot --top-k 1 {_POINTS}",
            f"aggregate --method one-shot --top-k 2 {_POINTS} --limit 1 --adjacency add-remove",
        ),
        **protecting(COMPARISON, _FAR),
    ),
    _selection(
        "peeling-top-k",
        "peeling, the two best of three in order",
        *(pairwise.peeling_top_k, laws.peeling, 2, "the loss tends to ε as item 2 moves ahead"),
    ),
    _selection(
        "permute-and-flip-top-k",
        "permute-and-flip, k = 1",
        *(pairwise.permute_and_flip_top_k, laws.permute_and_flip, 1),
    ),
    _selection(
        "permute-and-flip-top-two",
        "permute-and-flip, the two best of three in order",
        *(pairwise.permute_and_flip_top_k, laws.permute_and_flip, 2),
    ),
    _selection(
        "canonical-top-k",
        "one draw among all sets, two of three items",
        pairwise.canonical_top_k,
        functools.partial(laws.canonical, lead=0.5),
        2,
        "the loss tends to ε as the worse one moves ahead",
        reduce=lambda chosen: chosen[0] + chosen[1] - 1,
        sees="the set",
        outcomes=("0, 1", "0, 2", "1, 2"),
        **protecting(COMPARISON, *_THREE, _STEPS),
        commands=(
            "rank --method canonical --top-k 2 --max-per-user 2",
            "rank --method canonical --top-k 2 --max-per-user 2 --max-per-item 1",
            "rank --method canonical --top-k 2 --max-per-user 2 --adjacency add-remove",
            "rank --method canonical --top-k 1 --unit comparison --adjacency flip",
            "rank --method top-k --top-k 2 --max-per-user 2",
            f"aggregate --method canonical --top-k 1 {_POINTS}",
            f"aggregate --method canonical --top-k 2 {_POINTS} --limit 1",
            f"aggregate --method top-k --top-k 2 {_POINTS} --adjacency add-remove",
        ),
    ),
)

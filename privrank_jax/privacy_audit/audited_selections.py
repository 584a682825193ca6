"""Audited selections: the k best items by their win totals; losses tend to ε as items move far apart."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.contents import protecting, win_matrix
from privrank_jax.privacy_audit.registry import Audited, Facts
from privrank_jax.privacy_audit.rows import ANSWER, audited, on

_NONE = np.zeros((3, 3))
_LED = win_matrix(3, (0, 1, 2), (2, 1, 1)), win_matrix(3, (2, 0, 50), (2, 1, 50))
_FAR = win_matrix(3, (2, 0, 400), (1, 0, 400))
_STEPS = win_matrix(3, (2, 0, 800), (1, 0, 400))  # item 1 is the worst of the two best
_LIST: dict[str, Any] = {
    "reduce": lambda chosen: 2 * chosen[0] + chosen[1] - (chosen[1] > chosen[0]),
    "outcomes": tuple(f"{i}, {j}" for i, j in itertools.permutations(range(3), 2)),
}
_SET: dict[str, Any] = {
    "reduce": lambda chosen: chosen[0] + chosen[1] - 1,
    "outcomes": ("{0, 1}", "{0, 2}", "{1, 2}"),
}


def _row(
    name: str,
    record: Callable[..., Any],
    law: Callable[..., np.ndarray],
    *bases: np.ndarray,
    **seen: Any,
) -> Audited:
    """A row on the two best of three items by win totals, whose law is one of scores."""

    def of_totals(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
        return law(data.sum(-1), facts["noise_scale"], 2)

    return audited(
        name,
        on(record, WinCounts, 2),
        # Item 0 over item 1 is replaced by item 2 over item 0; item 2 is ahead of both.
        neighbors=(win_matrix(3, (0, 1, 1), (2, 1, 2)), win_matrix(3, (2, 0, 1), (2, 1, 2))),
        **protecting(ANSWER, *bases),
        law=of_totals,
        finite=True,
        note="mechanism/selection.py",
        **seen,
    )


AUDITED = (
    _row("one-shot-top-k", pairwise.one_shot_top_k, laws.one_shot, _FAR, **_LIST),
    _row("peeling-top-k", pairwise.peeling_top_k, laws.peeling, _NONE, *_LED, **_LIST),
    _row(
        "permute-and-flip-top-k",
        pairwise.permute_and_flip_top_k,
        laws.permute_and_flip,
        _NONE,
        *_LED,
        **_LIST,
    ),
    _row(
        "canonical-top-k",
        pairwise.canonical_top_k,
        functools.partial(laws.canonical, lead=0.5),
        _NONE,
        *_LED,
        _STEPS,
        **_SET,
    ),
)

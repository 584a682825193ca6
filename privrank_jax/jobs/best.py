"""The K best items alone, of comparisons or ballots."""

from __future__ import annotations

from typing import Any

import numpy as np

from privrank_jax.jobs.checks import refuse
from privrank_jax.jobs.mechanisms import Drawn, Randomness, draw
from privrank_jax.jobs.methods import RANK
from privrank_jax.mechanism.selection import BoundedScores
from privrank_jax.privacy.privacy import Privacy

CHOSEN = "{} was chosen by k, the promise and what one user can change, not by the data"


def draw_best(
    name: str, source: Randomness, scores: BoundedScores, promise: Privacy, k: int
) -> tuple[Drawn, str, dict[str, Any]]:
    """Draw the k best of m items by ``"one-shot"`` or ``"canonical"``; ``ValueError`` for a set of all items.

    Returns:
        The release; what it is, for a title; fields of a :class:`~privrank_jax.jobs.result.Ranking` of it.
    """
    in_order, num_items = name != "canonical", np.size(scores.scores)
    refuse(
        not in_order and k == num_items,
        f"the set of the {k} best of {k} items is all of them, whatever the answers: take a smaller `top_k`, or a "
        "method that publishes their order.",
    )
    drawn = draw(RANK[name].mechanism("central"), source, scores, promise, k)
    what = "list" if in_order else "set"
    told = f"only the {what} is released: no scores, and nothing on the other items"
    fields = {"order": np.asarray(drawn.value.value), "in_order": in_order, "notes": (told,)}
    return drawn, f"the {k} best of {num_items} items{'' if in_order else ', in no order'}", fields

"""Standard errors without privacy: clustered by user, where the data name users and somebody compared several times."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from privrank_jax import datasets
from privrank_jax.cli.core.result import ANSWERS, OF_USERS
from privrank_jax.cli.rank.input import Input
from privrank_jax.pairwise import clustered_covariance

_MOST = 2**23  # comparisons, of some 200 bytes each while they are added up
_TOO_MANY = f"more than {_MOST:,} comparisons: intervals take all of them as independent"
_CLUSTERED = "answers of one user may hang together, so standard errors are clustered by user"
_WEIGHTED = "standard errors are those of weighted comparisons, each independent of the others"


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How answers vary.

    Attributes:
        told: what standard errors are told.
        words: what intervals cover.
        facts: diagnostics.
        notes: what a result says of it.
    """

    told: dict[str, Any]
    words: str = ANSWERS
    facts: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sampling_of(data: Input, scores: np.ndarray, link: str) -> Sampling:
    """How the answers vary to which scores were fitted under a link: those of one user may hang together."""
    table, weights = data.table, data.weights
    several = table.has_users and table.num_users > 1 and table.comparisons_per_user > 1
    if weights is None and (not several or len(table) > _MOST):
        told = {"ties": table.ties_of_pairs() if table.ties else None}
        return Sampling(told, notes=(_TOO_MANY,) if several else ())
    if isinstance(table, datasets.ComparisonTable):
        rows = {"winners": table.winners, "losers": table.losers, "tied": table.tied}
        rows["users"] = table.users if several else np.arange(len(table))
        rows["weights"] = np.ones(len(table)) if weights is None else weights
    else:
        names = ("users", "winners", "losers", "weights")
        rows = dict(zip(names, table.wins_by_user(), strict=True))
    outcomes = clustered_covariance(scores, **rows, link=link)
    told = {"outcomes": np.asarray(outcomes)}
    if not several:
        return Sampling(told, notes=(_WEIGHTED,))
    number = table.num_users
    note = f"{_CLUSTERED} ({number:,} users)"
    return Sampling(told, OF_USERS, {"clusters": number}, (note,))

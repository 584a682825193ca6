"""Guarantees of files with answers randomized by their users: reports and synthetic rankings."""

from __future__ import annotations

import numpy as np

from privrank_jax import datasets, mallows
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

TRUSTED = "the largest epsilon as stated in the file, not verified; this command adds no noise and spends nothing."


def reports_guarantee(table: datasets.ReportTable, numerics: str, note: str) -> Guarantee:
    """Guarantee of reports: for one comparison the largest ε, for one user the largest sum."""
    whole = table.largest_epsilon_of_a_user
    also = () if whole is None else (Privacy.proven(whole, unit="user", adjacency="flip"),)
    comparison = Privacy.proven(table.largest_epsilon, unit="comparison", adjacency="flip")
    return Guarantee(comparison, trust="local", numerics=numerics, note=note, also=also)


def rankings_guarantee(
    rankings: datasets.SyntheticRankings, numerics: str, note: str = ""
) -> Guarantee:
    """Guarantee of synthetic rankings: the largest ε for a rank, the largest εk/2 for a user who ranked k items."""

    found = mallows.synthetic_guarantee(np.maximum(rankings.lengths, 1), rankings.epsilon, numerics)
    public = ("ranked-items",) * (not rankings.table.complete)
    public += ("budgets",) * bool(rankings.epsilon.min() != rankings.epsilon.max())
    rank, user = (
        Privacy.proven(float(one.epsilon), unit=one.unit, adjacency=one.adjacency, public=public)
        for one in (found.attained, *found.also)
    )
    return Guarantee(rank, trust=found.trust, numerics=found.numerics, note=note, also=(user,))

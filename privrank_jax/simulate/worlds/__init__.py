"""Worlds to simulate in: true scores and comparisons, randomized reports, crowds of rankings, hard rankings."""

from privrank_jax.simulate.worlds.comparisons import (
    cai_scores,
    cai_top_k,
    exposed_comparisons,
    repeated_comparisons,
    tournament,
    user_comparison_records,
    user_comparisons,
)
from privrank_jax.simulate.worlds.hard_rankings import (
    hard_ranking,
    hidden_cost_bounds,
    hidden_signs,
)
from privrank_jax.simulate.worlds.rankings import (
    mallows_counts,
    mallows_rankings,
    mallows_weights,
)
from privrank_jax.simulate.worlds.reports import (
    MechanismSums,
    draw_report_sums,
    mechanism_sums,
    pair_chances,
    uniform_scores,
)

__all__ = [
    "MechanismSums",
    "cai_scores",
    "cai_top_k",
    "draw_report_sums",
    "exposed_comparisons",
    "hard_ranking",
    "hidden_cost_bounds",
    "hidden_signs",
    "mallows_counts",
    "mallows_rankings",
    "mallows_weights",
    "mechanism_sums",
    "pair_chances",
    "repeated_comparisons",
    "tournament",
    "uniform_scores",
    "user_comparison_records",
    "user_comparisons",
]

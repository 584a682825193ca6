"""Naive NumPy twins: slow, obviously right, one per vectorized function that is held against them.

Plain loops over plain numbers, no JAX. Each module is named for what it mirrors; those whose names are in use by one
package only (``accounting``, ``borda``, ``kwiksort``, ``local``, ...) are imported as modules.
"""

# ruff: noqa: F401

from __future__ import annotations

from tests.reference.calibration import gaussian_delta, gaussian_scale
from tests.reference.comparisons import win_counts
from tests.reference.intervals import gaussian_laplace_tail, rank_interval, sandwich
from tests.reference.likelihood import fisher_information, fit
from tests.reference.links import link
from tests.reference.metrics import kendall_distance, spearman_footrule, top_k_error
from tests.reference.perturbed_mle import (
    perturbed_mle,
    perturbed_mle_log_density,
    perturbed_objective,
)
from tests.reference.questionnaire import max_cut, questionnaire_sensitivity, questionnaire_totals
from tests.reference.rank_centrality import rank_centrality
from tests.reference.rankings import ranks_from_scores
from tests.reference.score_attack import score_attack
from tests.reference.simulate import count_comparisons, mean_and_error, tournament_from_uniforms
from tests.reference.top_k import (
    one_shot_probability,
    peeling_probability,
    permute_and_flip_probability,
)

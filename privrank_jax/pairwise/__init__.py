"""Scores and rankings from pairwise comparisons."""

from privrank_jax.pairwise import report_sums
from privrank_jax.pairwise.bootstrap import bootstrap_intervals, parametric_bootstrap
from privrank_jax.pairwise.choice_errors import choice_errors
from privrank_jax.pairwise.choices import Choices, break_rankings
from privrank_jax.pairwise.clustered_errors import clustered_covariance
from privrank_jax.pairwise.continual import (
    ContinualDiagnostics,
    continual_counts,
    continual_scores,
)
from privrank_jax.pairwise.covariate_errors import (
    CovariateDavidsonIntervals,
    CovariateIntervals,
    covariate_davidson_intervals,
    covariate_intervals,
)
from privrank_jax.pairwise.covariate_mle import covariate_mle, noisy_covariate_sums
from privrank_jax.pairwise.covariate_noise import least_covariate_noise
from privrank_jax.pairwise.covariate_tables import covariate_table
from privrank_jax.pairwise.covariate_ties import CovariateTies, noisy_covariate_ties
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.pairwise.davidson import HalfWinTest, half_win_test
from privrank_jax.pairwise.davidson_errors import (
    DavidsonErrors,
    DavidsonIntervals,
    davidson_errors,
    davidson_intervals,
)
from privrank_jax.pairwise.debiased_rr import (
    DebiasedFit,
    debiased_rr,
    report_counts,
    scores_from_sums,
    smallest_curvature,
)
from privrank_jax.pairwise.debiased_sums import DebiasedSums, debiased_sums
from privrank_jax.pairwise.designs import Counts, Design, ModelScores, Sets
from privrank_jax.pairwise.fit import FitDiagnostics, fit
from privrank_jax.pairwise.influence import Influence, influential_comparisons
from privrank_jax.pairwise.intervals import (
    Intervals,
    confidence_intervals,
    interval_estimates,
    rank_intervals,
)
from privrank_jax.pairwise.item_effects import ItemEffects, item_effects
from privrank_jax.pairwise.meetings import uniform_design
from privrank_jax.pairwise.minimize import minimize
from privrank_jax.pairwise.mixed_effects import MixedDiagnostics, MixedEffects, mixed_effects
from privrank_jax.pairwise.mle import mle
from privrank_jax.pairwise.noisy_choices import noisy_choices, perturbed_plackett_luce
from privrank_jax.pairwise.noisy_counts import noisy_counts, totals_sensitivity
from privrank_jax.pairwise.noisy_ties import TieCounts, noisy_tie_counts
from privrank_jax.pairwise.one_shot import one_shot_top_k
from privrank_jax.pairwise.perturbed_davidson import perturbed_davidson_mle
from privrank_jax.pairwise.perturbed_mle import PerturbedFit, perturbed_mle
from privrank_jax.pairwise.planner import (
    PlannedError,
    effective_users,
    epsilon_needed,
    local_rate,
    planned_error,
    uniform_budgets,
    users_needed,
)
from privrank_jax.pairwise.private_design import (
    DesignNoise,
    NoisyDesign,
    cautious_design,
    errors_under_private_design,
    noisy_design,
)
from privrank_jax.pairwise.quasi_variances import QuasiVariances, quasi_variances
from privrank_jax.pairwise.questionnaire import (
    max_cut,
    questionnaire_counts,
    questionnaire_sensitivity,
)
from privrank_jax.pairwise.rank_centrality import RankCentralityDiagnostics, rank_centrality
from privrank_jax.pairwise.rates import (
    average_win_probability,
    edge_lower_bound,
    edge_rate,
    top_k_gap,
    top_k_threshold,
    user_rate,
)
from privrank_jax.pairwise.release_planner import (
    ReleaseError,
    epsilon_for_release,
    planned_release,
    users_for_release,
)
from privrank_jax.pairwise.report_errors import report_standard_errors
from privrank_jax.pairwise.report_sums import ReportSums
from privrank_jax.pairwise.score_attack import score_attack, score_attack_bound
from privrank_jax.pairwise.score_stream import (
    continual_score_sums,
    fit_score_sums,
    score_sums,
)
from privrank_jax.pairwise.selection import LinkSelection, select_link
from privrank_jax.pairwise.standard_errors import (
    Uncertainty,
    standard_errors,
    totals_standard_errors,
)
from privrank_jax.pairwise.theorems import theorem_conditions
from privrank_jax.pairwise.top_k import peeling_top_k, permute_and_flip_top_k
from privrank_jax.pairwise.transitivity import (
    Intransitivity,
    IntransitivityShares,
    intransitivity,
    intransitivity_shares,
    wins_by_user,
)
from privrank_jax.pairwise.weighted_comparisons import bounded_weights

__all__ = [
    "Choices",
    "ContinualDiagnostics",
    "Counts",
    "CovariateDavidsonIntervals",
    "CovariateDesign",
    "CovariateIntervals",
    "CovariateTable",
    "CovariateTies",
    "DavidsonErrors",
    "DavidsonIntervals",
    "DebiasedFit",
    "DebiasedSums",
    "Design",
    "DesignNoise",
    "FitDiagnostics",
    "HalfWinTest",
    "Influence",
    "Intervals",
    "Intransitivity",
    "IntransitivityShares",
    "ItemEffects",
    "LinkSelection",
    "MixedDiagnostics",
    "MixedEffects",
    "ModelScores",
    "NoisyDesign",
    "PerturbedFit",
    "PlannedError",
    "QuasiVariances",
    "RankCentralityDiagnostics",
    "ReleaseError",
    "ReportSums",
    "Sets",
    "TieCounts",
    "Uncertainty",
    "average_win_probability",
    "bootstrap_intervals",
    "bounded_weights",
    "break_rankings",
    "cautious_design",
    "choice_errors",
    "clustered_covariance",
    "confidence_intervals",
    "continual_counts",
    "continual_score_sums",
    "continual_scores",
    "covariate_davidson_intervals",
    "covariate_intervals",
    "covariate_mle",
    "covariate_table",
    "davidson_errors",
    "davidson_intervals",
    "debiased_rr",
    "debiased_sums",
    "edge_lower_bound",
    "edge_rate",
    "effective_users",
    "epsilon_for_release",
    "epsilon_needed",
    "errors_under_private_design",
    "fit",
    "fit_score_sums",
    "half_win_test",
    "influential_comparisons",
    "interval_estimates",
    "intransitivity",
    "intransitivity_shares",
    "item_effects",
    "least_covariate_noise",
    "local_rate",
    "max_cut",
    "minimize",
    "mixed_effects",
    "mle",
    "noisy_choices",
    "noisy_counts",
    "noisy_covariate_sums",
    "noisy_covariate_ties",
    "noisy_design",
    "noisy_tie_counts",
    "one_shot_top_k",
    "parametric_bootstrap",
    "peeling_top_k",
    "permute_and_flip_top_k",
    "perturbed_davidson_mle",
    "perturbed_mle",
    "perturbed_plackett_luce",
    "planned_error",
    "planned_release",
    "quasi_variances",
    "questionnaire_counts",
    "questionnaire_sensitivity",
    "rank_centrality",
    "rank_intervals",
    "report_counts",
    "report_standard_errors",
    "report_sums",
    "score_attack",
    "score_attack_bound",
    "score_sums",
    "scores_from_sums",
    "select_link",
    "smallest_curvature",
    "standard_errors",
    "theorem_conditions",
    "top_k_gap",
    "top_k_threshold",
    "totals_sensitivity",
    "totals_standard_errors",
    "uniform_budgets",
    "uniform_design",
    "user_rate",
    "users_for_release",
    "users_needed",
    "wins_by_user",
]

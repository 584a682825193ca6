"""One consensus from many rankings."""

from privrank_jax.aggregation.assignment import assignment
from privrank_jax.aggregation.auto import choose_method, choose_report
from privrank_jax.aggregation.borda import (
    borda_scores,
    borda_sensitivity,
    dp_borda,
    dp_borda_scale,
    ldp_borda,
    ldp_borda_aggregate,
    ldp_borda_report,
    user_scores,
)
from privrank_jax.aggregation.borda_theorem import (
    borda_cost_bound,
    order_error,
)
from privrank_jax.aggregation.bounds import (
    Bound,
    borda_bound,
    exponential_bound,
    footrule_bound,
    hay_kwiksort_bound,
    kwiksort_bound,
    noise_all_bound,
    private_weights_bound,
)
from privrank_jax.aggregation.certificate import kemeny
from privrank_jax.aggregation.copeland import copeland, copeland_scores
from privrank_jax.aggregation.diagnostics import (
    ExponentialDiagnostics,
    FootruleDiagnostics,
    LocalSortDiagnostics,
    PairDiagnostics,
    ReportDiagnostics,
    ShuffledDiagnostics,
    SortDiagnostics,
)
from privrank_jax.aggregation.dp_kwiksort import dp_kwiksort
from privrank_jax.aggregation.dynamic_program import exact_kemeny
from privrank_jax.aggregation.exponential import (
    exponential_kemeny,
    exponential_log_probability,
)
from privrank_jax.aggregation.footrule import (
    FootruleRanking,
    PositionHistograms,
    footrule_costs,
    footrule_optimal,
)
from privrank_jax.aggregation.hay_kwiksort import hay_kwiksort
from privrank_jax.aggregation.integer_program import ProvenRanking, integer_program
from privrank_jax.aggregation.kwiksort import kwiksort
from privrank_jax.aggregation.ldp_footrule import (
    ldp_footrule,
    ldp_footrule_aggregate,
    ldp_footrule_excess,
    ldp_footrule_norm,
    ldp_footrule_report,
)
from privrank_jax.aggregation.ldp_kwiksort import ldp_kwiksort
from privrank_jax.aggregation.local_bounds import (
    ldp_borda_bound,
    ldp_footrule_bound,
    ldp_kwiksort_bound,
    local_noise_all_bound,
)
from privrank_jax.aggregation.local_search import local_search
from privrank_jax.aggregation.local_weights import (
    local_weight_variance,
    local_weights,
    local_weights_aggregate,
    local_weights_report,
)
from privrank_jax.aggregation.lower_bounds import approximate_lower_bound, pure_lower_bound
from privrank_jax.aggregation.noise_all import noise_all, noise_all_scale
from privrank_jax.aggregation.one_pair import (
    one_pair_report,
    one_pair_variance,
    one_pair_weights,
)
from privrank_jax.aggregation.planned_errors import Setting, planned_costs
from privrank_jax.aggregation.private_footrule import dp_footrule, dp_footrule_deviation
from privrank_jax.aggregation.private_weights import (
    WeightsDiagnostics,
    default_focus,
    private_weights,
    private_weights_scales,
)
from privrank_jax.aggregation.proven_errors import (
    ProvenError,
    least_proven_error,
    proven_errors,
)
from privrank_jax.aggregation.query_budget import query_budget
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_variance, shuffled_pair_weights
from privrank_jax.aggregation.subset_selection import subset_norm, subset_report
from privrank_jax.aggregation.weights import PairWeights, kemeny_score

__all__ = [
    "Bound",
    "ExponentialDiagnostics",
    "FootruleDiagnostics",
    "FootruleRanking",
    "LocalSortDiagnostics",
    "PairDiagnostics",
    "PairWeights",
    "PositionHistograms",
    "ProvenError",
    "ProvenRanking",
    "ReportDiagnostics",
    "Setting",
    "ShuffledDiagnostics",
    "SortDiagnostics",
    "WeightsDiagnostics",
    "approximate_lower_bound",
    "assignment",
    "borda_bound",
    "borda_cost_bound",
    "borda_scores",
    "borda_sensitivity",
    "choose_method",
    "choose_report",
    "copeland",
    "copeland_scores",
    "default_focus",
    "dp_borda",
    "dp_borda_scale",
    "dp_footrule",
    "dp_footrule_deviation",
    "dp_kwiksort",
    "exact_kemeny",
    "exponential_bound",
    "exponential_kemeny",
    "exponential_log_probability",
    "footrule_bound",
    "footrule_costs",
    "footrule_optimal",
    "hay_kwiksort",
    "hay_kwiksort_bound",
    "integer_program",
    "kemeny",
    "kemeny_score",
    "kwiksort",
    "kwiksort_bound",
    "ldp_borda",
    "ldp_borda_aggregate",
    "ldp_borda_bound",
    "ldp_borda_report",
    "ldp_footrule",
    "ldp_footrule_aggregate",
    "ldp_footrule_bound",
    "ldp_footrule_excess",
    "ldp_footrule_norm",
    "ldp_footrule_report",
    "ldp_kwiksort",
    "ldp_kwiksort_bound",
    "least_proven_error",
    "local_noise_all_bound",
    "local_search",
    "local_weight_variance",
    "local_weights",
    "local_weights_aggregate",
    "local_weights_report",
    "noise_all",
    "noise_all_bound",
    "noise_all_scale",
    "one_pair_report",
    "one_pair_variance",
    "one_pair_weights",
    "order_error",
    "planned_costs",
    "private_weights",
    "private_weights_bound",
    "private_weights_scales",
    "proven_errors",
    "pure_lower_bound",
    "query_budget",
    "shuffled_pair_variance",
    "shuffled_pair_weights",
    "subset_norm",
    "subset_report",
    "user_scores",
]

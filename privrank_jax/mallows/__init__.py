"""Synthetic rankings under ranking differential privacy."""

from privrank_jax.mallows.attack import (
    attack_error_bound,
    most_likely_center,
    most_likely_epsilon,
)
from privrank_jax.mallows.debias import (
    DebiasedDiagnostics,
    debiased_borda,
    debiased_pairs,
)
from privrank_jax.mallows.distribution import (
    expected_concordance,
    insertion_mean,
    insertion_variance,
    log_normalizer,
    log_prob,
    pair_order_probability,
    synthetic_guarantee,
    top_k_pairs,
)
from privrank_jax.mallows.kernel import debiasing_kernel, debiasing_variance
from privrank_jax.mallows.laplace import laplace_ranks
from privrank_jax.mallows.majorities import sure_majority, synthetic_margin_bounds
from privrank_jax.mallows.rank_debiasing import unbiased_ranks
from privrank_jax.mallows.sampling import sample

__all__ = [
    "DebiasedDiagnostics",
    "attack_error_bound",
    "debiased_borda",
    "debiased_pairs",
    "debiasing_kernel",
    "debiasing_variance",
    "expected_concordance",
    "insertion_mean",
    "insertion_variance",
    "laplace_ranks",
    "log_normalizer",
    "log_prob",
    "most_likely_center",
    "most_likely_epsilon",
    "pair_order_probability",
    "sample",
    "sure_majority",
    "synthetic_guarantee",
    "synthetic_margin_bounds",
    "top_k_pairs",
    "unbiased_ranks",
]

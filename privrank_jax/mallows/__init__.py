"""Synthetic rankings under ranking differential privacy."""

from privrank_jax.mallows.attack import most_likely_center, most_likely_epsilon
from privrank_jax.mallows.debias import debiased_borda, debiased_pairs
from privrank_jax.mallows.distribution import log_prob, synthetic_guarantee, top_k_pairs
from privrank_jax.mallows.kernel import debiasing_kernel
from privrank_jax.mallows.laplace import laplace_ranks
from privrank_jax.mallows.majorities import sure_majority, synthetic_margin_bounds
from privrank_jax.mallows.rank_debiasing import unbiased_ranks
from privrank_jax.mallows.sampling import sample

__all__ = [
    "debiased_borda",
    "debiased_pairs",
    "debiasing_kernel",
    "laplace_ranks",
    "log_prob",
    "most_likely_center",
    "most_likely_epsilon",
    "sample",
    "sure_majority",
    "synthetic_guarantee",
    "synthetic_margin_bounds",
    "top_k_pairs",
    "unbiased_ranks",
]

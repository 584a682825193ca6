"""One consensus from many rankings."""

from privrank_jax.aggregation.borda import borda_scores
from privrank_jax.aggregation.copeland import copeland, copeland_scores
from privrank_jax.aggregation.local_search import local_search
from privrank_jax.aggregation.noise_all import noise_all, noise_all_scale
from privrank_jax.aggregation.weights import kemeny_score, pairwise_weights

__all__ = [
    "borda_scores",
    "copeland",
    "copeland_scores",
    "kemeny_score",
    "local_search",
    "noise_all",
    "noise_all_scale",
    "pairwise_weights",
]

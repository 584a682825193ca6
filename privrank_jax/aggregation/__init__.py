"""One consensus from many rankings."""

from privrank_jax.aggregation.weights import kemeny_score, pairwise_weights

__all__ = ["kemeny_score", "pairwise_weights"]

"""Noise for real releases: exact samplers, entropy from the operating system (extra ``release``)."""

from __future__ import annotations

from privrank_jax.release.exact import (
    exact_noisy_totals,
    exact_samplers_available,
    exact_top_k,
)
from privrank_jax.release.exact_aggregation import exact_borda, exact_kwiksort, exact_noise_all
from privrank_jax.release.mallows import exact_mallows
from privrank_jax.release.randomized_response import exact_randomized_response

__all__ = [
    "exact_borda",
    "exact_kwiksort",
    "exact_mallows",
    "exact_noise_all",
    "exact_noisy_totals",
    "exact_randomized_response",
    "exact_samplers_available",
    "exact_top_k",
]

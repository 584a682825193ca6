"""Noise for real releases: exact integer samplers, entropy from the operating system (extra ``release``)."""

from __future__ import annotations

from privrank_jax.release.exact import (
    exact_noisy_totals,
    exact_samplers_available,
    exact_top_k,
)

__all__ = ["exact_noisy_totals", "exact_samplers_available", "exact_top_k"]

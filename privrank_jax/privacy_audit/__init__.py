"""Is it private? Exact privacy losses of the mechanisms, computed from their densities and probabilities."""

from __future__ import annotations

from privrank_jax.privacy_audit.exact import (
    largest_loss,
    noisy_totals_loss,
    perturbed_mle_log_density,
    perturbed_mle_privacy_loss,
    top_item_log_probability,
    top_item_loss,
)

__all__ = [
    "largest_loss",
    "noisy_totals_loss",
    "perturbed_mle_log_density",
    "perturbed_mle_privacy_loss",
    "top_item_log_probability",
    "top_item_loss",
]

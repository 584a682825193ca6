"""Is it private? Exact privacy losses from densities and probabilities, and audits by draws on two neighbours."""

from __future__ import annotations

from privrank_jax.privacy_audit.empirical import AuditResult, audit, clopper_pearson
from privrank_jax.privacy_audit.exact import (
    largest_loss,
    noisy_totals_loss,
    perturbed_mle_log_density,
    perturbed_mle_privacy_loss,
    top_item_log_probability,
    top_item_loss,
)
from privrank_jax.privacy_audit.registry import Audited, get, names

__all__ = [
    "AuditResult",
    "Audited",
    "audit",
    "clopper_pearson",
    "get",
    "largest_loss",
    "names",
    "noisy_totals_loss",
    "perturbed_mle_log_density",
    "perturbed_mle_privacy_loss",
    "top_item_log_probability",
    "top_item_loss",
]

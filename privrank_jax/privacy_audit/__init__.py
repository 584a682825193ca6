"""Privacy audits: exact losses over all neighbors of small data sets, and empirical audits of two neighbors."""

from __future__ import annotations

from privrank_jax.privacy_audit.drawn_noise import noise_draws
from privrank_jax.privacy_audit.empirical import AuditResult, audit, clopper_pearson
from privrank_jax.privacy_audit.enumeration import WorstCase, exact_loss, worst_case
from privrank_jax.privacy_audit.guesses import battles_between, guess_bound, right_guesses
from privrank_jax.privacy_audit.neighbors import Instances
from privrank_jax.privacy_audit.registry import (
    Audited,
    Facts,
    Law,
    Loss,
    Release,
    about,
    get,
    names,
)

__all__ = [
    "AuditResult",
    "Audited",
    "Facts",
    "Instances",
    "Law",
    "Loss",
    "Release",
    "WorstCase",
    "about",
    "audit",
    "battles_between",
    "clopper_pearson",
    "exact_loss",
    "get",
    "guess_bound",
    "names",
    "noise_draws",
    "right_guesses",
    "worst_case",
]

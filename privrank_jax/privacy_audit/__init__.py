"""Privacy audits: exact losses over all neighbors of small data sets, and empirical audits of two neighbors."""

from __future__ import annotations

from privrank_jax.privacy_audit.empirical import AuditResult, audit
from privrank_jax.privacy_audit.enumeration import WorstCase, worst_case
from privrank_jax.privacy_audit.guesses import battles_between, guess_bound
from privrank_jax.privacy_audit.registry import Audited, about, get, names

__all__ = [
    "AuditResult",
    "Audited",
    "WorstCase",
    "about",
    "audit",
    "battles_between",
    "get",
    "guess_bound",
    "names",
    "worst_case",
]

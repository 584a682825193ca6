"""Scores and rankings from pairwise comparisons.

What most people ask for is here; what is built of it, and what experts ask for, is in the module of its subject, which
``privrank_jax.pairwise.theory`` and the like load on first use.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from privrank_jax.pairwise.choices import Choices, break_rankings
from privrank_jax.pairwise.covariate_tables import covariate_table
from privrank_jax.pairwise.debiased_rr import debiased_rr
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fit import fit
from privrank_jax.pairwise.intervals import interval_estimates, rank_intervals
from privrank_jax.pairwise.joint_selection import canonical_top_k, joint_top_k
from privrank_jax.pairwise.mle import mle
from privrank_jax.pairwise.noisy_counts import noisy_counts
from privrank_jax.pairwise.perturbed_mle import perturbed_mle
from privrank_jax.pairwise.planner import epsilon_needed, planned_error, users_needed
from privrank_jax.pairwise.questionnaire import questionnaire_counts
from privrank_jax.pairwise.standard_errors import standard_errors
from privrank_jax.pairwise.top_k import one_shot_top_k, peeling_top_k, permute_and_flip_top_k
from privrank_jax.pairwise.weighted_comparisons import bounded_weights

__all__ = [
    "Choices",
    "Counts",
    "bounded_weights",
    "break_rankings",
    "canonical_top_k",
    "covariate_table",
    "debiased_rr",
    "epsilon_needed",
    "fit",
    "interval_estimates",
    "joint_top_k",
    "mle",
    "noisy_counts",
    "one_shot_top_k",
    "peeling_top_k",
    "permute_and_flip_top_k",
    "perturbed_mle",
    "planned_error",
    "questionnaire_counts",
    "rank_intervals",
    "standard_errors",
    "users_needed",
]


def __getattr__(name: str) -> ModuleType:
    """A module of this package that nothing has loaded yet."""
    if any(name == module.name for module in pkgutil.iter_modules(__path__)):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

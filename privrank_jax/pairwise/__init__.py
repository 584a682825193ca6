"""Scores and rankings from pairwise comparisons.

What most people ask for is here; what is built of it, and what experts ask for, is in the module of its subject, which
``privrank_jax.pairwise.theory`` and the like load on first use.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from privrank_jax.pairwise.choices import Choices, break_rankings, noisy_choices
from privrank_jax.pairwise.covariate_noise import noisy_sums, noisy_sums_and_ties
from privrank_jax.pairwise.covariates import covariate_table
from privrank_jax.pairwise.debiased_fit import debiased_rr
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.intervals import confidence_intervals, quasi_variances
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.mixed_models import mixed_effects
from privrank_jax.pairwise.noisy_totals import noisy_counts, noisy_ties
from privrank_jax.pairwise.perturbed_answers import (
    perturbed_choices,
    perturbed_covariates,
    perturbed_davidson,
)
from privrank_jax.pairwise.perturbed_fit import perturbed_mle
from privrank_jax.pairwise.questionnaire import questionnaire_counts
from privrank_jax.pairwise.spectral import rank_centrality
from privrank_jax.pairwise.top_k import (
    canonical_top_k,
    one_shot_top_k,
    peeling_top_k,
    permute_and_flip_top_k,
)
from privrank_jax.pairwise.uncertainty import standard_errors

__all__ = [
    "Choices",
    "break_rankings",
    "canonical_top_k",
    "confidence_intervals",
    "covariate_table",
    "debiased_rr",
    "fit",
    "mixed_effects",
    "mle",
    "noisy_choices",
    "noisy_counts",
    "noisy_sums",
    "noisy_sums_and_ties",
    "noisy_ties",
    "one_shot_top_k",
    "peeling_top_k",
    "permute_and_flip_top_k",
    "perturbed_choices",
    "perturbed_covariates",
    "perturbed_davidson",
    "perturbed_mle",
    "quasi_variances",
    "questionnaire_counts",
    "rank_centrality",
    "standard_errors",
]


def __getattr__(name: str) -> ModuleType:
    """A module of this package that nothing has loaded yet."""
    if any(name == module.name for module in pkgutil.iter_modules(__path__)):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

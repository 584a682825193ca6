"""Scores and rankings from pairwise comparisons."""

from privrank_jax.pairwise.minimise import minimise
from privrank_jax.pairwise.mle import FitDiagnostics, mle
from privrank_jax.pairwise.noisy_counts import noisy_counts, totals_sensitivity
from privrank_jax.pairwise.perturbed_mle import PerturbedFit, perturbed_mle
from privrank_jax.pairwise.questionnaire import max_cut, questionnaire_sensitivity

__all__ = [
    "FitDiagnostics",
    "PerturbedFit",
    "max_cut",
    "minimise",
    "mle",
    "noisy_counts",
    "perturbed_mle",
    "questionnaire_sensitivity",
    "totals_sensitivity",
]

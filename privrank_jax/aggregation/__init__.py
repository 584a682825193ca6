"""One consensus from many rankings.

What most people ask for is here; what is built of it, and what experts ask for, is in the module of its subject, which
``privrank_jax.aggregation.bounds`` and the like load on first use.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType

from privrank_jax.aggregation.auto import choose_method
from privrank_jax.aggregation.borda import borda_scores, dp_borda
from privrank_jax.aggregation.bounds import proven_errors
from privrank_jax.aggregation.dp_sorting import dp_kwiksort, hay_kwiksort
from privrank_jax.aggregation.exponential import exponential_kemeny
from privrank_jax.aggregation.footrule import PositionHistograms, dp_footrule, footrule_optimal
from privrank_jax.aggregation.kemeny_rule import kemeny, local_search
from privrank_jax.aggregation.ldp_sorting import ldp_kwiksort
from privrank_jax.aggregation.majority_rules import copeland
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.scores import PointTotals, dp_scores
from privrank_jax.aggregation.shuffled_pairs import shuffled_pair_weights
from privrank_jax.aggregation.sorting import kwiksort
from privrank_jax.aggregation.split_weights import private_weights
from privrank_jax.aggregation.sub_rankings import sub_ranking_weights
from privrank_jax.aggregation.subset_selection import ldp_borda_subsets
from privrank_jax.aggregation.vector_reports import ldp_borda, local_weights
from privrank_jax.aggregation.weights import PairWeights, kemeny_score

__all__ = [
    "PairWeights",
    "PointTotals",
    "PositionHistograms",
    "borda_scores",
    "choose_method",
    "copeland",
    "dp_borda",
    "dp_footrule",
    "dp_kwiksort",
    "dp_scores",
    "exponential_kemeny",
    "footrule_optimal",
    "hay_kwiksort",
    "kemeny",
    "kemeny_score",
    "kwiksort",
    "ldp_borda",
    "ldp_borda_subsets",
    "ldp_kwiksort",
    "local_search",
    "local_weights",
    "noise_all",
    "private_weights",
    "proven_errors",
    "shuffled_pair_weights",
    "sub_ranking_weights",
]


def __getattr__(name: str) -> ModuleType:
    """A module of this package that nothing has loaded yet."""
    if any(name == module.name for module in pkgutil.iter_modules(__path__)):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

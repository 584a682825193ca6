"""Data as people have them: files, frames and tables of any size, read by one reader (:func:`privrank_jax.read`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax.data.choices import Choices
    from privrank_jax.data.comparisons import Comparisons, broken
    from privrank_jax.data.covariates import Covariates
    from privrank_jax.data.engine_counts import ComparisonRows, RankingRows
    from privrank_jax.data.errors import DataError
    from privrank_jax.data.file import File
    from privrank_jax.data.likeness import suspicions
    from privrank_jax.data.preference_pairs import PreferenceFields
    from privrank_jax.data.preferences import (
        Preferences,
        read_preferences,
        scan_preferences,
        write_preferences,
    )
    from privrank_jax.data.rankings import Rankings, Ratings
    from privrank_jax.data.reader import load, named_sets, read
    from privrank_jax.data.reports import Reports, write_reports
    from privrank_jax.data.synthetic import SyntheticRankings, write_synthetic_rankings

_NAMES = {
    "ComparisonRows": "engine_counts",
    "PreferenceFields": "preference_pairs",
    "Preferences": "preferences",
    "read_preferences": "preferences",
    "scan_preferences": "preferences",
    "write_preferences": "preferences",
    "RankingRows": "engine_counts",
    "Choices": "choices",
    "Comparisons": "comparisons",
    "broken": "comparisons",
    "Covariates": "covariates",
    "DataError": "errors",
    "File": "file",
    "suspicions": "likeness",
    "Rankings": "rankings",
    "Ratings": "rankings",
    "load": "reader",
    "named_sets": "reader",
    "read": "reader",
    "Reports": "reports",
    "write_reports": "reports",
    "SyntheticRankings": "synthetic",
    "write_synthetic_rankings": "synthetic",
}

__all__ = [
    "Choices",
    "ComparisonRows",
    "Comparisons",
    "Covariates",
    "DataError",
    "File",
    "PreferenceFields",
    "Preferences",
    "RankingRows",
    "Rankings",
    "Ratings",
    "Reports",
    "SyntheticRankings",
    "broken",
    "load",
    "named_sets",
    "read",
    "read_preferences",
    "scan_preferences",
    "suspicions",
    "write_preferences",
    "write_reports",
    "write_synthetic_rankings",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

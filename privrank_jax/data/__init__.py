"""Data as people have them: files, frames and tables of any size, read by one reader (:func:`privrank_jax.read`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax.data.choices import BestWorst, Choices
    from privrank_jax.data.comparisons import Comparisons, Covariates
    from privrank_jax.data.engine import ComparisonRows, RankingRows
    from privrank_jax.data.errors import DataError
    from privrank_jax.data.file import File
    from privrank_jax.data.preference_pairs import PreferenceFields
    from privrank_jax.data.preferences import (
        Preferences,
        read_preferences,
        scan_preferences,
        write_preferences,
    )
    from privrank_jax.data.randomized import (
        Reports,
        SyntheticRankings,
        write_reports,
        write_synthetic_rankings,
    )
    from privrank_jax.data.rankings import Approvals, Rankings, Ratings
    from privrank_jax.data.reader import load, named_sets, read

_NAMES = {
    "Approvals": "rankings",
    "BestWorst": "choices",
    "Choices": "choices",
    "ComparisonRows": "engine",
    "Comparisons": "comparisons",
    "Covariates": "comparisons",
    "DataError": "errors",
    "File": "file",
    "PreferenceFields": "preference_pairs",
    "Preferences": "preferences",
    "RankingRows": "engine",
    "Rankings": "rankings",
    "Ratings": "rankings",
    "Reports": "randomized",
    "SyntheticRankings": "randomized",
    "load": "reader",
    "named_sets": "reader",
    "read": "reader",
    "read_preferences": "preferences",
    "scan_preferences": "preferences",
    "write_preferences": "preferences",
    "write_reports": "randomized",
    "write_synthetic_rankings": "randomized",
}

__all__ = [
    "Approvals",
    "BestWorst",
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
    "load",
    "named_sets",
    "read",
    "read_preferences",
    "scan_preferences",
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

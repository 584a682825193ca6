"""Data as people have them: files, frames and tables of any size, read by one reader (:func:`privrank_jax.read`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax.data.choices import BestWorst, Choices
    from privrank_jax.data.comparisons import Comparisons
    from privrank_jax.data.covariates import Covariates
    from privrank_jax.data.engine import ComparisonRows, RankingRows
    from privrank_jax.data.errors import DataError
    from privrank_jax.data.file import File
    from privrank_jax.data.preferences import Preferences
    from privrank_jax.data.rankings import Approvals, Rankings, Ratings
    from privrank_jax.data.reader import load, named_sets, read
    from privrank_jax.data.reports import Reports, write_reports
    from privrank_jax.data.synthetic import SyntheticRankings, write_synthetic_rankings

_NAMES = {
    "Approvals": "rankings",
    "BestWorst": "choices",
    "Choices": "choices",
    "ComparisonRows": "engine",
    "Comparisons": "comparisons",
    "Covariates": "covariates",
    "DataError": "errors",
    "File": "file",
    "Preferences": "preferences",
    "RankingRows": "engine",
    "Rankings": "rankings",
    "Ratings": "rankings",
    "Reports": "reports",
    "SyntheticRankings": "synthetic",
    "load": "reader",
    "named_sets": "reader",
    "read": "reader",
    "write_reports": "reports",
    "write_synthetic_rankings": "synthetic",
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
    "Preferences",
    "RankingRows",
    "Rankings",
    "Ratings",
    "Reports",
    "SyntheticRankings",
    "load",
    "named_sets",
    "read",
    "write_reports",
    "write_synthetic_rankings",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

"""Data as people have them: files, frames and tables of any size, read by one reader (:func:`privrank_jax.read`)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privrank_jax.data.choices import BestWorst, Choices
    from privrank_jax.data.comparisons import Comparisons
    from privrank_jax.data.errors import DataError
    from privrank_jax.data.named import load, named_sets
    from privrank_jax.data.preferences import Preferences
    from privrank_jax.data.randomized import (
        Reports,
        SyntheticRankings,
        write_reports,
        write_synthetic_rankings,
    )
    from privrank_jax.data.rankings import Approvals, Rankings, Ratings
    from privrank_jax.data.reader import read

__all__ = [
    "Approvals", "BestWorst", "Choices", "Comparisons", "DataError", "Preferences", "Rankings", "Ratings", "Reports",
    "SyntheticRankings", "load", "named_sets", "read", "write_reports", "write_synthetic_rankings",
]  # fmt: skip
_NAMES_OF = {
    "choices": "BestWorst Choices",
    "comparisons": "Comparisons",
    "errors": "DataError",
    "named": "load named_sets",
    "preferences": "Preferences",
    "rankings": "Approvals Rankings Ratings",
    "reader": "read",
    "randomized": "Reports SyntheticRankings write_reports write_synthetic_rankings",
}
_NAMES = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

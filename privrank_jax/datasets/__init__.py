"""Real comparisons from CSV and Parquet files and named data sets, checked before use."""

from __future__ import annotations

from privrank_jax.datasets.comparisons_file import read_comparisons
from privrank_jax.datasets.named import available, cars, cars2, cemspc, immig, load
from privrank_jax.datasets.table import ComparisonTable, DataError

__all__ = [
    "ComparisonTable",
    "DataError",
    "available",
    "cars",
    "cars2",
    "cemspc",
    "immig",
    "load",
    "read_comparisons",
]

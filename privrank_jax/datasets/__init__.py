"""Real comparisons from CSV and Parquet files and named data sets, checked before use."""

from __future__ import annotations

from privrank_jax.datasets.comparisons_file import read_comparisons
from privrank_jax.datasets.named import available, cars, cars2, cemspc, immig, load
from privrank_jax.datasets.reports_file import (
    ReportTable,
    is_report_file,
    read_epsilon,
    read_reports,
    write_reports,
)
from privrank_jax.datasets.table import ComparisonTable, DataError

__all__ = [
    "ComparisonTable",
    "DataError",
    "ReportTable",
    "available",
    "cars",
    "cars2",
    "cemspc",
    "immig",
    "is_report_file",
    "load",
    "read_comparisons",
    "read_epsilon",
    "read_reports",
    "write_reports",
]

"""Real comparisons and rankings from files and named data sets, checked before use."""

from __future__ import annotations

from privrank_jax._cells.errors import DataError
from privrank_jax.datasets.comparisons_file import read_comparisons
from privrank_jax.datasets.named import (
    available,
    cars,
    cars2,
    cemspc,
    coffee,
    immig,
    load,
)
from privrank_jax.datasets.named_rankings import available_rankings, load_rankings
from privrank_jax.datasets.preflib import read_preflib
from privrank_jax.datasets.ranking_table import RankingTable
from privrank_jax.datasets.rankings_file import read_rankings
from privrank_jax.datasets.reports_file import (
    ReportTable,
    is_report_file,
    read_epsilon,
    read_reports,
    write_reports,
)
from privrank_jax.datasets.synthetic_file import (
    SyntheticRankings,
    is_synthetic_rankings_file,
    read_synthetic_rankings,
    read_user_epsilon,
    write_synthetic_rankings,
)
from privrank_jax.datasets.table import ComparisonTable

__all__ = [
    "ComparisonTable",
    "DataError",
    "RankingTable",
    "ReportTable",
    "SyntheticRankings",
    "available",
    "available_rankings",
    "cars",
    "cars2",
    "cemspc",
    "coffee",
    "immig",
    "is_report_file",
    "is_synthetic_rankings_file",
    "load",
    "load_rankings",
    "read_comparisons",
    "read_epsilon",
    "read_preflib",
    "read_rankings",
    "read_reports",
    "read_synthetic_rankings",
    "read_user_epsilon",
    "write_reports",
    "write_synthetic_rankings",
]

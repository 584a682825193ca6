"""Real comparisons and rankings from files and named data sets, checked before use."""

from __future__ import annotations

from privrank_jax._cells.errors import DataError
from privrank_jax._cells.preference_pairs import PreferenceFields
from privrank_jax._cells.text_files import File
from privrank_jax.datasets.broken_rankings import broken_rankings
from privrank_jax.datasets.choices_file import ChoiceTable, read_choices
from privrank_jax.datasets.comparisons_file import comparisons_from, read_comparisons
from privrank_jax.datasets.covariate_rows import CovariateRows, add_covariates
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
from privrank_jax.datasets.preference_table import PreferenceTable, read_preferences
from privrank_jax.datasets.preferences_file import (
    is_randomized_preferences,
    scan_preferences,
    write_preferences,
)
from privrank_jax.datasets.preflib import read_preflib
from privrank_jax.datasets.ranking_table import RankingTable
from privrank_jax.datasets.rankings_file import rankings_from, read_rankings
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
    "ChoiceTable",
    "ComparisonTable",
    "CovariateRows",
    "DataError",
    "File",
    "PreferenceFields",
    "PreferenceTable",
    "RankingTable",
    "ReportTable",
    "SyntheticRankings",
    "add_covariates",
    "available",
    "available_rankings",
    "broken_rankings",
    "cars",
    "cars2",
    "cemspc",
    "coffee",
    "comparisons_from",
    "immig",
    "is_randomized_preferences",
    "is_report_file",
    "is_synthetic_rankings_file",
    "load",
    "load_rankings",
    "rankings_from",
    "read_choices",
    "read_comparisons",
    "read_epsilon",
    "read_preferences",
    "read_preflib",
    "read_rankings",
    "read_reports",
    "read_synthetic_rankings",
    "read_user_epsilon",
    "scan_preferences",
    "write_preferences",
    "write_reports",
    "write_synthetic_rankings",
]

"""Raw tables of any size in a database engine, by Ibis: bounded contributions, win counts, and pairwise votes.

:func:`scan_comparisons` and :func:`scan_rankings` take a Parquet, CSV or TSV file, which embedded DuckDB reads in
bounded memory, or a table of any Ibis backend (Spark, ...), where the same expressions run. Faulty tables are
refused as in :mod:`privrank_jax.datasets`. Needs the extra ``tables``.
"""

from __future__ import annotations

from privrank_jax.tables.bounding import bounded_rows
from privrank_jax.tables.comparison_rows import ComparisonRows, pair_counts, scan_comparisons
from privrank_jax.tables.ranking_rows import RankingRows, pair_votes, scan_rankings

__all__ = [
    "ComparisonRows",
    "RankingRows",
    "bounded_rows",
    "pair_counts",
    "pair_votes",
    "scan_comparisons",
    "scan_rankings",
]

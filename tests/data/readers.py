"""The reader for one kind of data each, as tests call it."""

from __future__ import annotations

import functools

from privrank_jax.data import comparisons, rankings, reports, synthetic
from privrank_jax.data.file import File
from privrank_jax.data.reader import read
from privrank_jax.data.table import PARQUET, open_file

read_comparisons = functools.partial(read, kind="comparisons")
read_rankings = functools.partial(read, kind=("rankings", "orders"))
read_choices = functools.partial(read, kind="choices")
read_reports = functools.partial(read, kind="reports")
read_synthetic_rankings = functools.partial(read, kind="synthetic")


def opened(path):
    if File.of(path).suffix in PARQUET:
        from privrank_jax.data.engine import open_parquet

        File.of(path).checked(PARQUET, "")
        return open_parquet(File.of(path).path).table()
    return open_file(File.of(path))


def load_comparisons(path, **given):
    """Like :func:`read_comparisons`, with all rows in memory, also those of Parquet."""
    return comparisons.read_comparisons(opened(path), **given)


def load_rankings(path, **given):
    return rankings.read_rankings(opened(path), **given)


def read_epsilon(path, column):
    return reports.read_epsilon(opened(path), column)


def read_user_epsilon(path, column, user):
    return synthetic.read_user_epsilon(opened(path), column, user)

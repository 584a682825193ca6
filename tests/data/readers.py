"""The reader for one kind of data each, as tests call it."""

from __future__ import annotations

import functools

from privrank_jax.data import reports, synthetic
from privrank_jax.data.file import File
from privrank_jax.data.read import read
from privrank_jax.data.table import PARQUET, open_file

comparisons = functools.partial(read, kind="comparisons")
rankings = functools.partial(read, kind=("rankings", "orders"))
choices = functools.partial(read, kind="choices")
read_reports = functools.partial(read, kind="reports")
synthetic_rankings = functools.partial(read, kind="synthetic")


def opened(path):
    if File.of(path).suffix in PARQUET:
        from privrank_jax.data.engine import open_parquet

        File.of(path).checked(PARQUET, "")
        return open_parquet(File.of(path).path).table()
    return open_file(File.of(path))


def epsilon(path, column):
    return reports.read_epsilon(opened(path), column)


def user_epsilon(path, column, user):
    return synthetic.read_user_epsilon(opened(path), column, user)

"""The reader for one kind of data each, as tests call it."""

from __future__ import annotations

import functools

from privrank_jax.data import Comparisons, Rankings, Reports, randomized
from privrank_jax.data.file import File
from privrank_jax.data.reader import read
from privrank_jax.data.table import open_file

read_comparisons = Comparisons.read
read_rankings = Rankings.read
read_reports = Reports.read
read_synthetic_rankings = functools.partial(read, kind="synthetic")


def opened(path):
    return open_file(File.of(path))


def read_epsilon(path, column):
    return randomized.read_epsilon(opened(path), column)


def read_user_epsilon(path, column, user):
    return randomized.read_epsilon(opened(path), column, user)

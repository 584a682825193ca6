"""The same expressions on Spark, in local mode: the same rows kept, the same counts; a cluster's table to a ranking."""

from __future__ import annotations

import ibis
import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data.reader import read
from tests.parquet import parquet

sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
pytestmark = pytest.mark.slow

VOTES = (
    "SELECT 'u' || (hash(i) % 40) AS \"user\", 'i' || (hash(i * 3) % 7) AS winner, "
    "'i' || (7 + hash(i * 5) % 7) AS loser, hash(i * 7) % 9 = 0 AS tie FROM range(2000) t(i)"
)


@pytest.fixture(scope="module")
def spark():
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


def in_duckdb(path):
    return ibis.duckdb.connect().read_parquet(str(path))


def test_comparisons(spark, tmp_path):
    path = parquet(tmp_path, VOTES)
    here, there = read(in_duckdb(path)), read(spark.read.parquet(str(path)))
    for name in ("item_names", "num_users", "comparisons_per_user", "ties", "reading"):
        assert getattr(there, name) == getattr(here, name)
    assert len(there) == len(here) == 2000
    np.testing.assert_array_equal(there.win_counts().matrix, here.win_counts().matrix)
    np.testing.assert_array_equal(
        there.win_counts(7, "salt").matrix, here.win_counts(7, "salt").matrix
    )
    assert there.rare_items == here.rare_items
    np.testing.assert_array_equal(there.ties_of_pairs(), here.ties_of_pairs())


def test_a_table_of_a_cluster_becomes_a_ranking(spark, tmp_path):
    path = parquet(tmp_path, VOTES)
    promise = pr.Privacy(1.0, unit="user", adjacency="replace", contributions=20)
    made = [
        pr.rank(read(source, items="seen"), promise, method="counts", key=jax.random.key(0))
        for source in (in_duckdb(path), spark.read.parquet(str(path)))
    ]
    np.testing.assert_array_equal(made[0].scores, made[1].scores)
    assert made[0].names == made[1].names

"""The same expressions on Spark, in local mode: the same rows kept, the same counts."""

from __future__ import annotations

import ibis
import numpy as np
import pytest

from privrank_jax.tables import scan_comparisons, scan_rankings
from tests.parquet import parquet

sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed")
pytestmark = pytest.mark.slow

VOTES = (
    "SELECT 'u' || (hash(i) % 40) AS \"user\", 'i' || (hash(i * 3) % 7) AS winner, "
    "'i' || (7 + hash(i * 5) % 7) AS loser, hash(i * 7) % 9 = 0 AS tie FROM range(2000) t(i)"
)
RANKS = (
    "SELECT 'u' || (i // 5) AS \"user\", 'i' || (i % 5) AS item, "
    "CASE WHEN hash(i * 3) % 6 = 0 THEN NULL ELSE least(4, 1 + (i % 5 + i // 5 * 2) % 5) END AS rank "
    "FROM range(500) t(i)"
)


@pytest.fixture(scope="module")
def spark():
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield ibis.pyspark.connect(session)
    session.stop()


def test_comparisons(spark, tmp_path):
    path = parquet(tmp_path, VOTES)
    here, there = scan_comparisons(path), scan_comparisons(spark.read_parquet(path))
    for name in ("item_names", "num_users", "comparisons_per_user", "num_rows", "ties"):
        assert getattr(there, name) == getattr(here, name)
    np.testing.assert_array_equal(there.win_counts().matrix, here.win_counts().matrix)
    np.testing.assert_array_equal(
        there.win_counts(7, "salt").matrix, here.win_counts(7, "salt").matrix
    )


def test_rankings(spark, tmp_path):
    path = parquet(tmp_path, RANKS)
    for missing in ("last", "unknown"):
        here = scan_rankings(path, missing=missing)
        there = scan_rankings(spark.read_parquet(path), missing=missing)
        assert there.partial_users == here.partial_users
        np.testing.assert_array_equal(there.weights().twice, here.weights().twice)

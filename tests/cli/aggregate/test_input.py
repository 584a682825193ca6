"""Rankings as ``privrank aggregate`` takes them: who the users are, what is public, what was not ranked."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.cli.aggregate.input import PrivateInput, read_input
from privrank_jax.cli.aggregate.request import Request
from tests.parquet import parquet

ROWS = ("ann,1,2,3", "bob,2,1,3", "cy,,1,")


@pytest.fixture
def rankings(write):
    return lambda *rows: write(*(rows or ROWS), header="user,Oslo,Rome,Bern", name="rankings.csv")


def read(path, **options):
    return read_input(Request(source=str(path), **{"epsilon": 1.0, "method": "borda", **options}))


def test_users_items_and_the_promise(rankings):
    data = read(rankings())
    assert data.table.num_users == 3
    assert data.privacy.users == "column 'user'"
    assert data.privacy.public == ()
    assert not data.complete
    assert not data.in_engine
    assert data.ranks.shape == (3, 3)
    assert not isinstance(read(rankings(), method="none"), PrivateInput)


def test_what_was_not_ranked_is_taken_as_said_and_the_other_rule_is_named(rankings):
    last, unknown = read(rankings()), read(rankings(), missing="unknown")
    assert "1 of 3 users did not rank all items" in last.remarks[0]
    assert "--missing unknown" in last.remarks[0]
    assert unknown.remarks == ()
    assert "--missing last" in last.rule
    assert "half a vote" in unknown.rule
    oslo, rome, bern = range(3)
    assert float(last.weights.matrix[rome, oslo]) > float(unknown.weights.matrix[rome, oslo])
    assert float(last.weights.matrix[oslo, bern]) == pytest.approx(2.5 / 3)


def test_a_parquet_file_stays_in_the_engine_unless_users_answer_for_themselves(rankings, tmp_path):
    path = parquet(tmp_path, f"SELECT * FROM '{rankings()}'", "rankings.parquet")
    data, local = read(path), read(path, trust="local")
    assert data.in_engine
    assert not local.in_engine
    np.testing.assert_allclose(data.weights.matrix, local.weights.matrix)
    assert float(data.weights.num_users) == 3

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


WIDE = ("user,Oslo,Rome,Bern", "ann,5,2,3", "bob,4,,1", "cy,1,2,2")
LONG = ("user,item,rank", "ann,Oslo,5", "ann,Rome,2", "ann,Bern,3", "bob,Oslo,4", "bob,Bern,1",
        "cy,Oslo,1", "cy,Rome,2", "cy,Bern,2")  # fmt: skip


@pytest.mark.parametrize("lines", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("kind", ["higher_is_better", "lower_is_better"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_blank_rating_says_nothing_unless_told(lines, kind, form, write, tmp_path):
    """A ranked list ends somewhere, and the rest is behind; who gave no stars may not know the item.

    Ann and Cy order Oslo and Rome in opposite ways; Bob has no rating of Rome.
    """
    path = write(*lines[1:], header=lines[0], name="ratings.csv")
    if form == "parquet":
        path = parquet(tmp_path, f"FROM '{path}'")
    for given, missing, share in (({}, "unknown", 1.5), ({"missing": "last"}, "last", 2.0)):
        data = read(path, **{kind: True}, **given)
        assert data.table.missing == missing
        items = data.table.item_names
        found = data.weights.matrix[items.index("Oslo"), items.index("Rome")]
        assert float(found) == pytest.approx(share / 3)


def test_a_parquet_file_stays_in_the_engine_unless_users_answer_for_themselves(rankings, tmp_path):
    path = parquet(tmp_path, f"SELECT * FROM '{rankings()}'", "rankings.parquet")
    data, local = read(path), read(path, trust="local")
    assert data.in_engine
    assert not local.in_engine
    np.testing.assert_allclose(data.weights.matrix, local.weights.matrix)
    assert float(data.weights.num_users) == 3

"""``privrank aggregate`` on files of synthetic rankings: debiased, at no further cost."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows
from tests.cli.results import assert_schema
from tests.mallows.crowd import CROWD

NAMES = "abcde"


@pytest.fixture(scope="module")
def drawn():
    """Synthetic rankings of 4,000 users, half of either kind, at two budgets."""
    epsilon = np.where(np.arange(4000) % 4 < 2, 4.0, 8.0)
    keys = jax.random.split(jax.random.key(0), 4000)
    ranks = jnp.asarray(CROWD[np.arange(4000) % 2])
    return np.asarray(jax.vmap(mallows.sample)(keys, ranks, epsilon)), epsilon


@pytest.fixture
def synthetic(write, drawn):
    lines = [
        ",".join([f"u{user}", f"{budget:g}", *(str(rank + 1) for rank in row)])
        for user, (row, budget) in enumerate(zip(*drawn))
    ]
    return write(*lines, header="user,synthetic_epsilon," + ",".join(NAMES), name="synthetic.csv")


def test_borda_is_debiased_and_says_what_the_file_promises(privrank, synthetic, drawn):
    result = privrank("aggregate", synthetic, "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    expected = mallows.debiased_borda(*drawn)
    np.testing.assert_allclose([scores[name] for name in NAMES], expected.value, atol=1e-9)
    truth = 4 - CROWD.mean(axis=0)
    inside = [
        row["low"] < truth[NAMES.index(row["item"])] < row["high"] for row in document["ranking"]
    ]
    assert sum(inside) >= 4
    guarantee = document["guarantee"]
    assert (guarantee["epsilon"], guarantee["unit"], guarantee["numerics"]) == (
        8,
        "rank",
        "unknown",
    )
    assert guarantee["also"][0]["epsilon"] == 20
    assert guarantee["public"] == guarantee["also"][0]["public"] == ["budgets"]
    assert "names no users" not in guarantee["note"]
    assert "synthetic rankings" in privrank("aggregate", synthetic).out


def test_none_finds_the_best_ranking_of_debiased_pairs(privrank, synthetic, drawn):
    result = privrank("aggregate", synthetic, "--method", "none", "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert document["guarantee"]["epsilon"] == 8
    facts = document["diagnostics"]
    assert facts["certificate"]["ratio"] == 1
    assert 0 < facts["pair_standard_error"] < 0.1
    order = "".join(row["item"] for row in document["ranking"])
    assert order.index("b") < order.index("d")


def test_items_that_nobody_ranked_together_and_budgets_too_small(privrank, write):
    header = "synthetic_epsilon," + ",".join("abcdefgh")
    lines = ["1,1,2,,,,,,", "1,1,2,,,,,,", "1,2,1,,,,,,", "1,,,1,2,3,4,5,6"]
    path = write(*lines, header=header)
    for method in ("borda", "none"):
        result = privrank("aggregate", path, "--user", "none", "--method", method, "--json")
        assert result.code == 0, result.err
        assert "spends their sum" in result.json()["guarantee"]["note"]
        assert len(result.json()["ranking"]) == 8
    tiny = write(
        "0.001," + ",".join(map(str, range(1, 31))),
        header="synthetic_epsilon," + ",".join(f"i{k}" for k in range(30)),
    )
    result = privrank("aggregate", tiny, "--user", "none", "--method", "none")
    assert (result.code, "--method borda" in result.err) == (2, True)
    assert privrank("aggregate", tiny, "--user", "none").code == 0

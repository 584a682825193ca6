"""``privrank rank`` on files of randomized reports."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise import debiased_rr
from tests.cli.results import assert_schema, items
from tests.parquet import as_parquet

NAMES, PAIRS = "abcd", list(zip(*np.triu_indices(4, 1)))


@pytest.fixture
def survey():
    """Reports of 60 users on pairs of 4 items, two in three of them observed, at three budgets."""
    rng = np.random.default_rng(0)
    reports = rng.random((60, 6)) < 0.65
    observed = rng.random((60, 6)) < 0.67
    return reports, observed, np.repeat([0.5, 1.0, 3.0], 20)


@pytest.fixture
def private(write, survey):
    reports, observed, epsilon = survey
    lines = []
    for user, pair in zip(*np.nonzero(observed)):
        i, j = PAIRS[pair]
        won = int(reports[user, pair])
        if (user + pair) % 3 == 0:  # a file may name the pair the other way round
            i, j, won = j, i, 1 - won
        lines.append(f"u{user},{NAMES[i]},{NAMES[j]},{won},{epsilon[user]}")
    return write(*lines, header="user,item_1,item_2,report,epsilon", name="private.csv")


@pytest.mark.parametrize(("link", "gamma"), [("logistic", None), ("laplace", 8.0)])
def test_scores_and_guarantee_are_those_of_debiased_rr(privrank, private, survey, link, gamma):
    given = () if gamma is None else ("--gamma", gamma)
    result = privrank("rank", private, "--link", link, *given, "--json")
    assert result.code == 0, result.err
    document = result.json()
    assert_schema(document)
    expected = debiased_rr(*survey, link=link, gamma=gamma)
    scores = {row["item"]: row["score"] for row in document["ranking"]}
    np.testing.assert_allclose([scores[name] for name in NAMES], expected.value, atol=1e-5)
    guarantee = document["guarantee"]
    assert guarantee["epsilon"] == 3
    assert guarantee["also"][0]["epsilon"] == float(expected.guarantee.also[0].epsilon)
    assert (guarantee["trust"], guarantee["numerics"]) == ("local", "unknown")
    facts = document["diagnostics"]
    assert (facts["reports"], facts["users"]) == (survey[1].sum(), 60)
    assert facts["gamma"] == (gamma or 2.0)
    for row in document["ranking"]:
        assert row["low"] < row["score"] < row["high"]


def test_items_users_and_parquet(privrank, private):
    found = privrank("rank", private, "--items", "d,c,b,a,e", "--json").json()
    assert set(items(found)) == set("abcde")
    assert found["diagnostics"]["components"] == 2
    assert "low" not in found["ranking"][0]  # nothing is known of e
    anonymous = privrank("rank", private, "--user", "none", "--json").json()
    assert "also" not in anonymous["guarantee"]
    assert any("names no users" in note for note in anonymous["diagnostics"]["notes"])
    same = privrank("rank", as_parquet(private), "--json").json()
    assert same["ranking"] == privrank("rank", private, "--json").json()["ranking"]

"""Intervals without privacy: users, not their answers, are independent."""

from __future__ import annotations

import numpy as np
import pytest
from privrank_jax.cli.rank.clusters import sampling_of
from privrank_jax.cli.rank.input import read_input
from privrank_jax.cli.rank.none import fit_without_privacy
from privrank_jax.cli.rank.request import Request

from privrank_jax.cli.rank import clusters
from privrank_jax.pairwise import clustered_covariance, standard_errors
from tests.parquet import as_parquet

ITEMS = "abc"


def lines(users=40, each=8, seed=0):
    """Users who nearly always agree with themselves, and ties."""
    draw = np.random.default_rng(seed)
    found = []
    for user in range(users):
        order = list(draw.permutation(list(ITEMS))) if user % 2 else list(ITEMS)
        for _ in range(each):
            one, other = sorted(draw.choice(3, 2, replace=False))
            found.append(f"u{user},{order[one]},{order[other]},{int(draw.random() < 0.2)}")
    return found


@pytest.fixture
def crowd(write):
    return write(*lines(), header="user,winner,loser,tie")


def read(path, **options):
    request = Request(source=str(path), method="none", **options)
    return read_input(request), request


def fit(path, **options):
    return fit_without_privacy(*read(path, **options))


def half_widths(result):
    ends = result.certainty.intervals
    return (ends["high"] - ends["low"]) / 2 / 1.959964


def test_errors_are_clustered_by_user_where_a_file_names_users(crowd):
    data, _ = read(crowd)
    found, table = fit(crowd), data.table
    outcomes = clustered_covariance(
        found.scores, table.users, table.winners, table.losers, tied=table.tied
    )
    wanted = standard_errors(found.scores, data.wins.comparisons, outcomes=outcomes)
    np.testing.assert_allclose(half_widths(found), wanted.standard_errors, rtol=1e-6)
    assert found.diagnostics["clusters"] == 40
    assert any("clustered by user (40 users)" in note for note in found.notes)
    assert "not the answers of one" in found.certainty.words
    assert np.all(half_widths(found) > 1.3 * half_widths(fit(crowd, user="none")))


def test_an_engine_finds_the_same(crowd):
    np.testing.assert_allclose(
        half_widths(fit(as_parquet(crowd))), half_widths(fit(crowd)), rtol=1e-9
    )


def test_a_column_of_users_may_have_another_name_or_be_left_out(write):
    path = write(*lines(), header="who,winner,loser,tie")
    independent = fit(path)
    assert "clusters" not in independent.diagnostics
    assert "taken as independent" in independent.certainty.words
    assert fit(path, user="who").diagnostics["clusters"] == 40
    named = write(*lines(), header="User,winner,loser,tie")
    assert fit(named).diagnostics["clusters"] == 40
    for options in ({"user": "none"}, {"ignore": ["User"]}):
        np.testing.assert_allclose(
            half_widths(fit(named, **options)), half_widths(independent), rtol=1e-9
        )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_single_answers_and_a_single_user_stay_as_they_were(write, kind):
    alone = [f"u{k},{line.partition(',')[2]}" for k, line in enumerate(lines())]
    one = [f"u,{line.partition(',')[2]}" for line in lines()]
    for rows in (alone, one):
        path = write(*rows, header="user,winner,loser,tie")
        path = path if kind == "csv" else as_parquet(path)
        found = fit(path)
        assert "clusters" not in found.diagnostics
        np.testing.assert_allclose(half_widths(found), half_widths(fit(path, user="none")))


def test_users_that_cannot_be_read_are_left_out_with_a_remark(write):
    path = write(*lines(), ",a,b,0", header="user,winner,loser,tie")
    data, request = read(path)
    assert "users are not read" in data.remarks[0]
    assert "clusters" not in fit_without_privacy(data, request).diagnostics


def test_rankings_are_clusters_of_their_pairs(write):
    path = write(*["a,b,c"] * 9, *["b,c,a"] * 5, *["c,b,a"] * 4, header="rank_1,rank_2,rank_3")
    assert fit(path).diagnostics["clusters"] == 18


def test_too_many_rows_count_as_independent(crowd, monkeypatch):
    monkeypatch.setattr(clusters, "_MOST", 10)
    data, _ = read(crowd)
    found = sampling_of(data, np.zeros(3), "logistic")
    assert list(found.told) == ["ties"]
    assert "independent" in found.notes[0]


def test_it_is_printed(crowd, privrank):
    said = privrank("rank", crowd, "--method", "none", "--json").json()
    assert said["diagnostics"]["clusters"] == 40

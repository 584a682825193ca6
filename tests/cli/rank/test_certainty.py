"""What is said of how sure an order is: scores in their intervals, and a word where it is noise."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.data import Reports, read, write_reports
from privrank_jax.pairwise.intervals import quasi_variances

ITEMS = "abcd"
# Votes on each pair, and the share of upsets; without any, the likelihood has no maximum.
SIZES = ((1, 0.0), (3, 0.0), (40, 0.0), (12, 0.15), (40, 0.15))
KINDS = {
    "counts": ("--method", "counts", "--epsilon", "0.5"),
    "counts flip": ("--method", "counts", "--epsilon", "0.5", "--adjacency", "flip"),
    "scores": ("--method", "scores", "--adjacency", "flip", "--epsilon", "20"),
    "mle ridge": ("--method scores --adjacency flip --epsilon 5 --gamma 0.01",),
    "mle laplace": ("--method scores --adjacency flip --epsilon 20 --link laplace",),
    "none": ("--method", "none"),
    "none ridge": ("--method", "none", "--gamma", "20"),
    "none laplace": ("--method", "none", "--link", "laplace"),
    "none normal": ("--method", "none", "--link", "normal"),
}


def comparisons(write, votes, upsets, seed):
    """Every pair equally often; the first item of the alphabet wins but for some upsets."""
    draw = np.random.default_rng(seed)
    rows = []
    for number, (best, other) in enumerate(itertools.combinations(ITEMS, 2)):
        for vote in range(votes):
            pair = (other, best) if draw.random() < upsets else (best, other)
            rows.append(f"u{number}-{vote},{','.join(pair)}")
    return write(*rows)


def check_rows(document):
    for row in document["ranking"]:
        assert math.isfinite(row["score"])
        if "low" in row:
            assert -math.inf < row["low"] <= row["score"] <= row["high"] < math.inf
            assert 1 <= row["rank_low"] <= row["rank"] <= row["rank_high"] <= len(ITEMS)
    return "low" in document["ranking"][0]


def test_quasi_standard_errors_are_those_of_the_library(privrank, write, tmp_path):
    path, out = comparisons(write, 40, 0.15, 4), tmp_path / "ranking.csv"
    rows = privrank("rank", path, "--method", "none", "--json", "--out", out).json()["ranking"]
    quasi = {row["item"]: row["quasi_standard_error"] for row in rows}
    wins = read(path).arrays().win_counts()
    with jax.enable_x64(True):
        errors = pairwise.standard_errors(pairwise.mle(wins).value, wins.comparisons)
        expected = np.asarray(quasi_variances(errors).standard_errors)
    np.testing.assert_allclose([quasi[item] for item in ITEMS], expected, rtol=1e-4)
    assert "quasi_standard_error" in out.read_text().splitlines()[0]


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_lies_in_its_interval(privrank, write, kind):
    rehearsal = () if "none" in kind else ("--simulate", "--seed", 3)
    shown = []
    for seed, (votes, upsets) in enumerate(SIZES):
        path = comparisons(write, votes, upsets, seed)
        result = privrank("rank", path, "--user", "user", *KINDS[kind], "--json", *rehearsal)
        assert result.code == 0, result.err
        shown.append(check_rows(result.json()))
    if "counts" in kind:
        assert all(shown)
    elif "none" in kind:
        assert not any(shown[:3])  # separated: the fit is that of the ridge alone
        assert "ridge" in kind or shown[-1]
    else:
        assert not shown[0]


@pytest.mark.parametrize("link", ["logistic", "laplace", "normal"])
def test_every_score_of_reports_lies_in_its_interval(privrank, tmp_path, link):
    shown = []
    for seed, (votes, upsets, epsilon) in enumerate(
        [(1, 0.0, 1.0), (40, 0.0, 20.0), (60, 0.2, 3.0)]
    ):
        draw = np.random.default_rng(seed)
        pairs = np.array(list(itertools.combinations(range(4), 2)) * votes)
        truth = draw.random(len(pairs)) >= upsets
        kept = draw.random(len(pairs)) < 1 / (1 + np.exp(-epsilon))
        table = Reports(
            users=np.arange(len(pairs)), first=pairs[:, 0], second=pairs[:, 1], reports=truth == kept,
            epsilon=np.full(len(pairs), epsilon), item_names=tuple(ITEMS), name="reports",
            user_names=tuple(f"u{k}" for k in range(len(pairs))),
        )  # fmt: skip
        path = tmp_path / f"{seed}.csv"
        write_reports(path, table)
        result = privrank("rank", path, "--link", link, "--json")
        assert result.code == 0, result.err
        shown.append(check_rows(result.json()))
    assert shown[-1]
    assert not shown[1]


# --- orders that are noise -------------------------------------------------------------------------

COUNTS = ("--method", "counts")
NOISY = {
    "counts": (*COUNTS, "--epsilon", 0.01),
    "add-remove": (*COUNTS, "--epsilon", 0.01, "--adjacency", "add-remove"),
    "flip": (*COUNTS, "--epsilon", 0.01, "--adjacency", "flip"),
    "gaussian": (*COUNTS, "--epsilon", 0.01, "--noise", "gaussian", "--delta", "1e-6"),
    "scores": ("--epsilon", 0.01, "--adjacency", "flip"),
}


def told_apart(privrank, *run):
    """What is said of how sure the order is, and the rows."""
    document = privrank(*run, "--json").json()
    return document["diagnostics"]["told_apart"], document["ranking"]


@pytest.mark.parametrize("kind", NOISY)
def test_noise_is_called_noise(privrank, write, kind):
    """Each says by chance that two items can be told apart in at most 5% of runs: more than 6 of 25 in 2e-4."""
    path = comparisons(write, 2, 0.0, 0)
    said = [
        told_apart(privrank, "rank", path, *NOISY[kind], "--simulate", "--seed", seed)[0]["any_two"]
        for seed in range(25)
    ]
    assert sum(said) <= 6


@pytest.mark.parametrize(
    "options",
    [
        (*COUNTS, "--epsilon", 1),
        (*COUNTS, "--epsilon", 1, "--adjacency", "flip"),
        (*COUNTS, "--epsilon", 1, "--adjacency", "add-remove"),
        ("--epsilon", 1, "--method", "scores", "--adjacency", "flip"),
        ("--method", "none"),
    ],
)
def test_a_clear_order_needs_no_word(privrank, write, options):
    """Gaps of totals are above 100, and noise of scale 2 moves one by 50 with probability below 1e-8."""
    path = comparisons(write, 150, 0.1, 5)
    told, rows = told_apart(privrank, "rank", path, *options)
    assert told == {"from_next": 3, "of": 3, "any_two": True, "words": ""}
    assert [(row["rank_low"], row["rank_high"]) for row in rows] == [(k, k) for k in range(1, 5)]


def test_ranks_hold_whenever_the_totals_do(privrank, write):
    """Rank intervals follow from those of the totals: where these hold the truth, so do those."""
    path, truth = comparisons(write, 6, 0.0, 0), {"a": 18, "b": 12, "c": 6, "d": 0}
    told = covered = half = 0
    for seed in range(40):
        run = ("rank", path, *COUNTS, "--epsilon", 1, "--simulate", "--seed", seed, "--json")
        rows = {row["item"]: row for row in privrank(*run).json()["ranking"]}
        half += all(
            abs(row["score"] - truth[item]) <= (row["high"] - row["score"]) / 2
            for item, row in rows.items()
        )
        if all(row["low"] <= truth[item] <= row["high"] for item, row in rows.items()):
            covered += 1
            for rank, item in enumerate(ITEMS, start=1):
                assert rows[item]["rank_low"] <= rank <= rows[item]["rank_high"]
        told += rows["a"]["rank_high"] < 4
    assert told > 15
    assert covered >= 34 > half  # all four totals, in 95 % of runs; fewer than 34 of 40 in 1e-3

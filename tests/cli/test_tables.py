"""Parquet on the command line: counted in an engine, with the results and the guarantees of the same CSV."""

from __future__ import annotations

import numpy as np

from privrank_jax import pairwise
from privrank_jax._quickly import quickly
from privrank_jax.cli.console import Refusal
from privrank_jax.data import ComparisonRows
from privrank_jax.jobs import comparisons, mechanisms
from tests.parquet import as_parquet

COUNTS = ("--method", "counts")


def test_a_release_is_that_of_the_same_csv(privrank, votes):
    found = []
    for path in (votes, as_parquet(votes)):
        document = privrank("rank", path, *COUNTS, "--epsilon 900 --max-per-user 2 --json").json()
        del document["diagnostics"]["data"]
        found.append(document)
    assert found[0]["guarantee"]["public"] == ["items"]
    assert found[1] == found[0]


def test_without_privacy(privrank, votes, monkeypatch):
    seen = []

    def watched(data, request):
        seen.append((len(data.table), data.table.ties, np.asarray(data.wins.matrix).tolist()))
        raise Refusal("enough seen")

    monkeypatch.setattr(comparisons, "_without_privacy", watched)
    for path in (votes, as_parquet(votes)):
        assert "enough seen" in privrank("rank", path, "--method", "none").err
    assert seen[0] == seen[1]
    assert seen[0][:2] == (18, 0)


def test_bounding_keeps_the_words_and_draws_from_the_operating_system(privrank, votes, monkeypatch):
    other, drawn, used = as_parquet(votes), [], []
    count, token = ComparisonRows.win_counts, mechanisms.secrets.token_hex

    def salted(size=None):
        if size is not None:  # not a salt
            return token(size)
        drawn.append(size)
        return f"{len(drawn):064d}"

    def recorded(self, limit=None, salt=None):
        used.append((limit, salt))
        return count(self, limit, salt)

    monkeypatch.setattr(mechanisms.secrets, "token_hex", salted)
    monkeypatch.setattr(ComparisonRows, "win_counts", recorded)
    run = ("rank", other, *COUNTS, "--epsilon", 900, "--max-per-user", 1, "--json")
    result = privrank(*run)
    assert sum(row["score"] for row in result.json()["ranking"]) == 9
    assert (
        "9 of 18 comparisons were left out, chosen at random, to keep at most 1 per user"
        in result.err
    )
    assert "left out" not in result.out
    assert (drawn, used) == ([None], [(1, f"{1:064d}")])
    privrank("rank", other, "--epsilon", 900, "--max-per-user", 2)
    assert used[1:] == [(None, None)]  # nothing to leave out, nothing drawn
    rehearsals = [privrank(*run, "--simulate", "--seed", seed).out for seed in (1, 1, 2)]
    assert rehearsals[0] == rehearsals[1] != rehearsals[2]
    assert len(drawn) == 1
    assert used[2] == used[3] != used[4]


def test_which_pairs_are_compared_stays_public_when_bounded(privrank, write, monkeypatch):
    """With adjacency flip the counts of pairs are printed from; other outcomes must not move them."""
    rng, seen = np.random.default_rng(0), []
    pairs = [
        (f"u{u}", *rng.choice(list("abcd"), 2, replace=False)) for u in range(6) for _ in range(5)
    ]
    flips = rng.integers(2, size=len(pairs))
    monkeypatch.setattr(mechanisms.secrets, "token_hex", lambda size=None: "one salt")

    def watched(function, *arguments):
        if function is not pairwise.fit:
            return quickly(function, *arguments)
        seen.append(np.asarray(arguments[0].comparisons))
        raise Refusal("enough seen")

    monkeypatch.setattr(comparisons, "quickly", watched)
    for turned in (0 * flips, flips, 1 + 0 * flips):
        rows = [
            f"{u},{b},{a}" if turn else f"{u},{a},{b}" for (u, a, b), turn in zip(pairs, turned)
        ]
        path = as_parquet(write(*rows))
        options = ("--method", "scores", "--adjacency", "flip", "--items", "a,b,c,d")
        assert (
            "enough seen"
            in privrank("rank", path, "--epsilon", 1, "--max-per-user", 3, *options).err
        )
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], seen[2])
    assert seen[0].sum() == 2 * 6 * 3


BALLOTS = [f"u{k},1,2,3" if k % 3 else f"u{k},2,1," for k in range(40)]


def test_users_who_left_items_out_are_counted_for_the_holder(privrank, write):
    other = as_parquet(write(*BALLOTS, header="user,a,b,c"))
    result = privrank("aggregate", other, "--epsilon", 1)
    assert "14 of 40 users did not rank all items" in result.err
    assert "14 of 40" not in result.out

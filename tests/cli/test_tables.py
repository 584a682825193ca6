"""Parquet on the command line: counted in an engine, with the results and the guarantees of the same CSV."""

from __future__ import annotations

from privrank_jax.data import ComparisonRows, engine
from privrank_jax.jobs import mechanisms
from tests.parquet import as_parquet

COUNTS = ("--method", "counts")


def test_bounding_keeps_the_words_and_draws_from_the_operating_system(privrank, votes, monkeypatch):
    monkeypatch.setattr(engine, "_LARGE", 1)
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

"""Documents that commands print as JSON, refusals, and ledgers."""

from __future__ import annotations

from privrank_jax.release.ledger import Ledger


def items(document):
    return [row["item"] for row in document["ranking"]]


def check_ranking(document):
    """Ranks from 1 without gaps, each of another item, shared where it is tied; higher scores before lower ones."""
    rows = document["ranking"]
    ranks = [row["rank"] for row in rows]
    assert ranks == [
        k if k == 1 or rank != ranks[k - 2] else rank for k, rank in enumerate(ranks, 1)
    ]
    assert len({row["item"] for row in rows}) == len(rows)
    scores = [row["score"] for row in rows if row["score"] is not None]
    assert scores == sorted(scores, reverse=True)
    for row in rows:
        assert "low" not in row or row["low"] <= row["score"] <= row["high"]
        assert "rank_low" not in row or 1 <= row["rank_low"] <= row["rank"] <= row["rank_high"]


def assert_schema(document, scores=True):
    assert list(document) == ["ranking", "guarantee", "diagnostics"]
    check_ranking(document)
    for row in document["ranking"]:
        assert isinstance(row["score"], float) if scores else row["score"] is None
        assert "low" not in row or row["low"] < row["high"]
    if document["guarantee"] is not None:
        assert {"epsilon", "delta", "unit", "adjacency", "trust", "numerics"} <= set(
            document["guarantee"]
        )


def refused(result, *words):
    """Hold a result to a refusal that names these."""
    assert (result.code, result.out) == (2, "")
    for one in words:
        assert one in result.err, result.err


def spends(path):
    """What a ledger holds."""
    with Ledger(path) as opened:
        return opened.spends()


def ledger_of(privrank, folder):
    """Makes ledgers in a folder."""

    def make(source, budget, *options, name="votes.ledger"):
        path = folder / name
        made = privrank("ledger", path, "--data", source, "--budget", budget, *options)
        assert made.code == 0, made.err
        return path

    return make

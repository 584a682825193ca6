"""Documents that commands print as JSON, refusals, and ledgers."""

from __future__ import annotations

from privrank_jax.release.ledger import Ledger


def items(document):
    return [row["item"] for row in document["ranking"]]


def assert_schema(document, scores=True):
    assert list(document) == ["ranking", "guarantee", "diagnostics"]
    for place, row in enumerate(document["ranking"], start=1):
        assert row["rank"] == place
        assert isinstance(row["item"], str)
        assert isinstance(row["score"], float) if scores else row["score"] is None
        if "low" in row:
            assert row["low"] < row["high"]
        if "rank_low" in row:
            assert 1 <= row["rank_low"] <= place <= row["rank_high"]
    found = [row["score"] for row in document["ranking"]]
    if scores:
        assert found == sorted(found, reverse=True)
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

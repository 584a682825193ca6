"""Documents that commands print as JSON."""

from __future__ import annotations


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

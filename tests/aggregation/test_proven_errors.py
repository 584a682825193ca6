"""The table of what is proven."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import bounds
from tests.promises import reported, user
from tests.reference import borda as reference_borda

LOCAL = {
    ("borda", "duchi"), ("borda", "privunit"), ("borda", "subset-selection"), ("borda", "one-pair"),
    ("noise-all", "duchi"), ("noise-all", "privunit"), ("noise-all", "randomized-response"),
    ("noise-all", "sub-ranking"), ("kwiksort", "randomized-response"),
}  # fmt: skip
SHUFFLED = {("borda", "shuffled-pair"), ("noise-all", "shuffled-pair")}


def names(rows):
    assert len({(row.method, row.noise) for row in rows}) == len(rows)
    return {(row.method, row.noise) for row in rows}


def test_every_method_has_a_row():
    """Of a curator's, tests/jobs/test_records.py tells which there must be."""
    pure, both = user(1.0), user(1.0, 1e-6)
    central = names(aggregation.proven_errors(6, 500, both))
    gaussian = {row for row in central if row[1] == "gaussian"}
    assert names(aggregation.proven_errors(6, 500, pure)) == central - gaussian
    assert names(aggregation.proven_errors(6, 500, pure, trust="local")) == LOCAL
    assert names(aggregation.proven_errors(6, 500, both, trust="shuffled")) == SHUFFLED
    few = names(aggregation.proven_errors(6, 5, pure, trust="local"))
    assert LOCAL - few == {
        ("borda", "one-pair"), ("kwiksort", "randomized-response"),
    }  # fmt: skip
    large = names(aggregation.proven_errors(21, 500, pure))
    assert large == central - gaussian - {("exponential", "none")}
    for row in aggregation.proven_errors(6, 500, both):
        assert hasattr(aggregation, row.function)
        assert row.trust == "central"
        assert row.pure == (row.noise != "gaussian")
        assert row.pairs == 15


def test_rows_are_the_bounds_of_their_methods():
    rows = {
        (row.method, row.noise): row
        for row in aggregation.proven_errors(6, 500, user(1.0, 1e-6), xi=0.1)
    }
    for name in ("borda", "footrule", "noise-all", "weights"):
        told = {"xi": 0.1} if name in ("noise-all", "weights") else {}
        promise = user(1.0, 1e-6)
        found = bounds.bound(name, 6, 500, promise, noise="gaussian", **told)
        row = rows[name, "gaussian"]
        assert (row.ratio, row.additive) == pytest.approx(
            (float(found.ratio), float(found.additive))
        )
    local = reported("borda", 6, 500, 1.0, mechanism="subset-selection")
    (row,) = (
        row
        for row in aggregation.proven_errors(6, 500, user(1.0), trust="local")
        if row.noise == "subset-selection"
    )
    assert row.additive == pytest.approx(float(local.additive), rel=1e-6)


def test_cost_above_the_optimum_holds_for_all_rankings(key):
    """Random weights of four items, each ranking held against the bounds that it meets with equality."""
    rng = np.random.default_rng(0)
    row = aggregation.proven_errors(4, 100, user(1.0))[0]
    orders = reference_borda.orders(4)
    for _ in range(200):
        upper = np.triu(rng.uniform(size=(4, 4)), 1)
        w = upper + np.triu(1 - upper, 1).T
        costs = reference_borda.kemeny_scores(w, orders)
        best = costs.min()
        for ratio, additive in ((1.0, 0.3), (2.0, 0.0), (5.0, 0.4), (1.5, 7.0)):
            proven = dataclasses.replace(row, ratio=ratio, additive=additive)
            worst = max(cost - best for cost in costs if cost <= ratio * best + additive)
            assert worst <= proven.cost() + 1e-9
            assert worst <= proven.cost(best) + 1e-9
            assert proven.cost(best) <= proven.cost(1.5 * best) <= proven.cost() <= 6

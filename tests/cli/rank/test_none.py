"""Fits without privacy: groups that were never compared, and items that never lost."""

from __future__ import annotations

import numpy as np

from privrank_jax.cli.rank.input import read_input
from privrank_jax.cli.rank.none import components_of, fit_without_privacy
from privrank_jax.cli.rank.request import Request


def fit(path, **options):
    request = Request(source=str(path), method="none", **options)
    return fit_without_privacy(read_input(request), request)


def test_groups_are_counted():
    assert components_of(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])) == 2
    assert components_of(np.ones((3, 3))) == 1
    assert components_of(np.zeros((4, 4))) == 4


def test_linked_votes_are_fitted_as_they_are(votes):
    found = fit(votes)
    assert found.guarantee is None
    assert found.warnings == ()
    assert found.diagnostics["gamma"] == 0
    assert found.diagnostics["components"] == 1
    assert found.order.tolist() == [0, 1, 2]


def test_items_that_never_lost_get_a_ridge_with_a_warning(write):
    found = fit(write("u,a,b", "v,b,c", "w,a,c"))
    assert found.diagnostics["separated"]
    assert found.diagnostics["gamma"] == 1.0
    assert "never lost" in found.warnings[0]
    assert found.order.tolist() == [0, 1, 2]


def test_groups_that_were_never_compared_are_said_to_be_unordered(write):
    found = fit(write("u,a,b", "v,b,a", "w,c,d", "x,d,c"))
    assert found.diagnostics["components"] == 2
    assert any("2 groups" in warning for warning in found.warnings)


def test_a_ridge_that_was_asked_for_stays(write):
    found = fit(write("u,a,b", "v,b,c"), gamma=0.25)
    assert found.diagnostics["gamma"] == 0.25
    assert found.warnings == ()

"""The contract of private functions on footrule costs in a tree, and the facets of the bodies."""

from __future__ import annotations

import numpy as np

from privrank_jax.privacy_audit import audited_footrule_tree, shapes
from tests.privacy_audit.contract import *  # noqa: F403


def test_facets_are_those_of_sums_of_largest_entries():
    level = audited_footrule_tree._LEVELS[1]
    assert level.nodes.tolist() == [0, 0, 1, 1]
    points = np.random.default_rng(0).normal(size=(50, 24))
    rows = np.abs(points).reshape(50, 6, 2, 2).max(-1).sum(-1).max(-1)
    np.testing.assert_allclose(
        shapes.body_norm(audited_footrule_tree.facets(level), points), rows, rtol=1e-12
    )

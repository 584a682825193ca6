"""The contract of private functions on the rows of private weights, and their scales."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.aggregation.split_weights import private_weights
from privrank_jax.mechanism import Facts
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import audited_weights
from tests.privacy_audit.contract import *  # noqa: F403


@pytest.mark.parametrize("focus", [0.5, 0.9])
def test_scales_of_both_releases_follow_from_what_is_reported(focus):
    """1/(nφε) on scores and 1/(n(1 - φ)ε) on pairs."""
    privacy = Privacy(0.7, unit="user", adjacency="replace")
    reported = private_weights.scale(privacy, Facts(3, 10), focus=focus)
    names = ("gradient_scale", "cycle_scale")
    found = audited_weights.scales(dict(zip(names, map(float, reported))))
    np.testing.assert_allclose(found, [1 / (7 * focus), 1 / (7 * (1 - focus))], rtol=1e-5)

"""Options for columns beside the answers: what their words mean."""

from __future__ import annotations

import pytest
from privrank_jax.cli.rank.request import Request

from privrank_jax.cli.console import Refusal


def asked(**options):
    return Request(source="votes.csv", epsilon=1.0, **options)


def test_covariates_may_have_bounds():
    found = asked(covariate=["length:-3:3", "cost"])
    assert found.covariate_bounds == {"length": (-3.0, 3.0), "cost": None}
    assert found.with_covariates
    assert not asked().with_covariates


def test_weights_may_have_a_bound():
    assert asked().weights == (None, None)
    assert asked(weight="reweighted:10").weights == ("reweighted", 10.0)
    assert asked(weight="reweighted").weights == ("reweighted", None)
    with pytest.raises(Refusal, match="MOST must be positive"):
        _ = asked(weight="reweighted:0").weights

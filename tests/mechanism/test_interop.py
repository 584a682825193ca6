"""Other libraries count what releases spend: OpenDP's odometers, dp-accounting's accountants."""

from __future__ import annotations

import dp_accounting
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting import pld, rdp
from opendp.combinators import make_fully_adaptive_composition

import privrank_jax as pr
from tests.promises import user

dp.enable_features("contrib", "honest-but-curious")
RANKINGS = np.array([[0, 1, 2], [0, 1, 2], [2, 1, 0]])
WEIGHTS = pr.aggregation.weights.counted_weights(RANKINGS)


def test_odometers_of_opendp_count_releases():
    measured = pr.aggregation.dp_borda.as_opendp(user(0.5), noise="laplace")
    odometer = make_fully_adaptive_composition(
        measured.input_domain, measured.input_metric, measured.output_measure
    )(WEIGHTS)
    found = [odometer(measured) for _ in range(3)]
    assert {one.guarantee.numerics for one in found} == {"exact"}
    assert odometer.privacy_loss(1) == pytest.approx(1.5)


def test_approximate_measurements_know_one_unit():
    told = user(0.5, 1e-6)
    measured = pr.aggregation.dp_borda.as_opendp(told, noise="gaussian")
    assert measured.map(1) == (0.5, 1e-6)
    with pytest.raises(dp.OpenDPException):
        measured.map(2)


@pytest.mark.parametrize(
    ("told", "noise"),
    [(user(0.1), "laplace"), (user(0.1), "k-norm"), (user(0.1, 1e-8), "gaussian")],
)
def test_accountants_of_dp_accounting_find_what_compose_finds(told, noise):
    guarantee = pr.aggregation.dp_borda.release(WEIGHTS, told, noise=noise).guarantee
    accountant = rdp.RdpAccountant() if noise == "gaussian" else pld.PLDAccountant()
    ours = pr.privacy.compose([guarantee] * 50, delta=1e-5).epsilon
    event = dp_accounting.SelfComposedDpEvent(guarantee.dp_event(), 50)
    assert accountant.compose(event).get_epsilon(1e-5) == pytest.approx(ours, rel=0.02)


def test_a_delta_without_a_law_is_no_event():
    with pytest.raises(ValueError, match="no event"):
        pr.privacy.Guarantee(user(0.1, 1e-8)).dp_event()

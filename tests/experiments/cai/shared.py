"""What the tests of these studies share."""

from __future__ import annotations

import math

import jax
import numpy as np

from privrank_jax import rankings
from privrank_jax.experiments.cai.common import CALIBRATIONS, Unit
from tests import reference
from tests.experiments.estimates import by_counts, by_mle

KEY = jax.random.key(20251105)
LEVELS = (1.0, 2.5, math.inf)
COMPARISON, USER = Unit(), Unit("user", 5)


def naive_errors(keys, wins, theta, top, unit):
    """The table of one replicate, one estimate and one number at a time."""
    noise_key, tie_key = keys
    real = np.flatnonzero(np.asarray(wins.item_mask))
    truth = np.asarray(theta)[real]
    found = {}

    def missed(values):
        ranks = np.asarray(rankings.ranks_from_scores(values, wins.mask, tie_key))[real]
        return reference.top_k_error(ranks, np.arange(len(real)), top)

    for calibration in CALIBRATIONS:
        for epsilon in LEVELS:
            scores = by_mle(noise_key, wins, unit, epsilon, calibration).value
            totals = by_counts(noise_key, wins, unit, epsilon, calibration)
            gap = np.asarray(scores)[real] - truth
            tail = (calibration.name, epsilon)
            found["log_linf_error", "mle", *tail] = math.log(max(abs(gap)) / max(abs(truth)))
            found["log_l2_error", "mle", *tail] = math.log(
                math.sqrt(sum(gap**2)) / math.sqrt(sum(truth**2))
            )
            found["top_k_error", "mle", *tail] = missed(scores)
            found["top_k_error", "counts", *tail] = missed(totals)
            found["top_k_error", "mle minus counts", *tail] = missed(scores) - missed(totals)
        for metric, name in (
            ("log_linf_error", "mle"),
            ("log_l2_error", "mle"),
            ("top_k_error", "mle"),
            ("top_k_error", "counts"),
        ):
            one, near, none = (found[metric, name, calibration.name, epsilon] for epsilon in LEVELS)
            bend = f"{name}: gain up to 2.5 minus gain beyond"
            found[metric, bend, calibration.name, 2.5] = (one - near) - (near - none)
    return {**found, ("failed_fits", None, None, None): 0}


def same_tables(ours, naive):
    assert set(ours) == set(naive)
    for name, value in naive.items():
        np.testing.assert_allclose(ours[name], value, rtol=0, atol=1e-4, err_msg=name)

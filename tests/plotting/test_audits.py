"""Audits: probabilities of events, and what they refute."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import plotting


def test_event_probabilities_show_events_and_what_the_claim_allows(tmp_path):
    frequencies = np.array([[0.5, 0.2], [0.01, 0.001], [0.0, 0.3]])
    figure = plotting.event_probabilities(
        frequencies, 1.0, delta=0.01, chosen=(0.5, 0.2), title="t"
    )
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    upper, lower, events, chosen = axis.lines
    np.testing.assert_allclose(events.get_xydata(), frequencies[:2])
    np.testing.assert_allclose(chosen.get_xydata(), [[0.5, 0.2]])
    x, y = (np.asarray(data) for data in upper.get_data())
    inside = y < 2
    np.testing.assert_allclose(y[inside], np.e * x[inside] + 0.01, rtol=1e-12)
    x, y = (np.asarray(data) for data in lower.get_data())
    np.testing.assert_allclose(y[x > 0.1], (x[x > 0.1] - 0.01) / np.e, rtol=1e-12)
    plotting.save(figure, tmp_path / "events.png")
    audit = {"name": "x", "epsilon": 1.0, "lower_bound": 1.2, "exact_epsilon": None}
    both = plotting.event_probabilities(frequencies, 1.0, bounds=audit, guarantee_text="draws")
    _, below = both.axes
    points = {line.get_label(): line.get_xydata().tolist() for line in below.get_lines()}
    assert points == {"claimed ε": [[1.0, 0.0]], "lower bound, claim refuted": [[1.2, 0.0]]}
    with pytest.raises(ValueError, match="more draws"):
        plotting.event_probabilities([[0.0, 0.1]], 1.0)


def test_audits_show_claims_bounds_and_what_is_refuted():
    figure = plotting.audit_bounds(
        [
            {"name": "good", "epsilon": 1.0, "lower_bound": 0.9, "exact_epsilon": 1.0},
            {"name": "bad", "epsilon": 1.0, "lower_bound": 1.8, "exact_epsilon": None},
        ],
        guarantee_text="confidence 0.999",
        title="Audits",
    )
    (axis,) = figure.axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["good", "bad"]
    points = {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}
    assert points == {
        "claimed ε": [[1.0, 1.0], [1.0, 0.0]],
        "exact, these neighbors": [[1.0, 1.0]],
        "lower bound, consistent": [[0.9, 1.0]],
        "lower bound, claim refuted": [[1.8, 0.0]],
    }
    assert axis.get_xlabel() == "ε"
    assert axis.get_xlim()[0] == 0
    with pytest.raises(ValueError, match="no audits"):
        plotting.audit_bounds([])
    with pytest.raises(ValueError, match="'lower_bound'"):
        plotting.audit_bounds([{"name": "x", "epsilon": 1.0}])

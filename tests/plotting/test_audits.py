"""Audits: probabilities of events, and what they refute."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from privrank_jax import plotting, privacy_audit
from privrank_jax.privacy import Privacy

PROMISE = Privacy(1.0, unit="comparison", adjacency="flip", delta=0.01)
SEEN = np.array([[0.5, 0.2], [0.01, 0.001], [0.0, 0.3]])


@pytest.fixture(scope="module")
def found():
    """An audit with figures made by hand."""
    drawn = privacy_audit.audit(jax.random.key(0), "randomized-response", draws=1000)
    return dataclasses.replace(
        drawn, promise=PROMISE, candidates=SEEN, frequencies=(0.5, 0.2), swapped=False, lower=1.2,
        exact=None,
    )  # fmt: skip


def points(axis):
    return {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}


def words(figure):
    texts = (text.get_text() for text in figure.findobj() if hasattr(text, "get_text"))
    return " ".join(" ".join(texts).split())


def test_event_probabilities_show_events_and_what_the_claim_allows(found):
    figure = plotting.event_probabilities(found)
    axis, below = figure.axes
    upper, lower, events, chosen = axis.lines
    np.testing.assert_allclose(events.get_xydata(), SEEN[:2])
    np.testing.assert_allclose(chosen.get_xydata(), [[0.5, 0.2]])
    x, y = (np.asarray(data) for data in upper.get_data())
    np.testing.assert_allclose(y[y < 2], np.e * x[y < 2] + 0.01, rtol=1e-12)
    x, y = (np.asarray(data) for data in lower.get_data())
    np.testing.assert_allclose(y[x > 0.1], (x[x > 0.1] - 0.01) / np.e, rtol=1e-12)
    assert points(below) == {"claimed ε": [[1.0, 0.0]], "lower bound, claim refuted": [[1.2, 0.0]]}
    assert "1,000 draws" in words(figure)
    swapped = dataclasses.replace(found, swapped=True)
    *_, chosen = plotting.event_probabilities(swapped).axes[0].lines
    np.testing.assert_allclose(chosen.get_xydata(), [[0.2, 0.5]])
    with pytest.raises(ValueError, match="more draws"):  # of events seen under one neighbor alone
        plotting.event_probabilities(dataclasses.replace(found, candidates=SEEN[2:]))


def test_audits_show_claims_bounds_and_what_is_refuted(found):
    named = {name: dataclasses.replace(found.mechanism, name=name) for name in ("good", "bad")}
    figure = plotting.audit_bounds(
        [
            dataclasses.replace(found, mechanism=named["good"], lower=0.9, exact=1.0),
            dataclasses.replace(found, mechanism=named["bad"], lower=1.8, exact=None),
        ]
    )
    (axis,) = figure.axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["good", "bad"]
    assert points(axis) == {
        "claimed ε": [[1.0, 1.0], [1.0, 0.0]],
        "exact, these neighbors": [[1.0, 1.0]],
        "lower bound, consistent": [[0.9, 1.0]],
        "lower bound, claim refuted": [[1.8, 0.0]],
    }
    with pytest.raises(ValueError, match="no audits"):
        plotting.audit_bounds([])

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


def test_event_probabilities_show_events_and_what_the_claim_allows(found, tmp_path):
    figure = plotting.event_probabilities(found)
    axis, below = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    upper, lower, events, chosen = axis.lines
    np.testing.assert_allclose(events.get_xydata(), SEEN[:2])
    np.testing.assert_allclose(chosen.get_xydata(), [[0.5, 0.2]])
    x, y = (np.asarray(data) for data in upper.get_data())
    inside = y < 2
    np.testing.assert_allclose(y[inside], np.e * x[inside] + 0.01, rtol=1e-12)
    x, y = (np.asarray(data) for data in lower.get_data())
    np.testing.assert_allclose(y[x > 0.1], (x[x > 0.1] - 0.01) / np.e, rtol=1e-12)
    points = {line.get_label(): line.get_xydata().tolist() for line in below.get_lines()}
    assert points == {"claimed ε": [[1.0, 0.0]], "lower bound, claim refuted": [[1.2, 0.0]]}
    plotting.save(figure, tmp_path / "events.png")


def test_event_probabilities_say_what_was_drawn_unless_told_otherwise(found):
    def words(figure):
        return " ".join(text.get_text() for text in figure.findobj() if hasattr(text, "get_text"))

    said = " ".join(words(plotting.event_probabilities(found)).split())
    assert "claimed ε = 1, at least 1.2, violated" in said
    assert "1,000 draws from each of two neighboring data sets (comparison, adjacency flip" in said
    other = words(plotting.event_probabilities(found, guarantee_text="my draws", title="mine"))
    assert "my draws" in other
    assert "mine" in other
    assert "1,000 draws" not in other


def test_the_event_tested_is_drawn_at_its_place_under_the_first_neighbor(found):
    swapped = dataclasses.replace(found, swapped=True)
    *_, chosen = plotting.event_probabilities(swapped).axes[0].lines
    np.testing.assert_allclose(chosen.get_xydata(), [[0.2, 0.5]])


def test_events_seen_under_one_neighbor_alone_have_no_place(found):
    with pytest.raises(ValueError, match="more draws"):
        plotting.event_probabilities(dataclasses.replace(found, candidates=SEEN[2:]))


def test_audits_show_claims_bounds_and_what_is_refuted(found):
    named = {name: dataclasses.replace(found.mechanism, name=name) for name in ("good", "bad")}
    figure = plotting.audit_bounds(
        [
            dataclasses.replace(found, mechanism=named["good"], lower=0.9, exact=1.0),
            dataclasses.replace(found, mechanism=named["bad"], lower=1.8, exact=None),
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

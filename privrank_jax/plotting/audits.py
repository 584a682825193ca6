"""Results of audits: events under neighboring data sets, and lower bounds compared with claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.plotting import frame
from privrank_jax.plotting.frame import PALETTE, Marks, finished, legend_below, new_figure, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privrank_jax.privacy_audit import AuditResult


def event_probabilities(
    found: AuditResult, *, guarantee_text: str | None = None, title: str | None = None
) -> Figure:
    """Draw the probabilities of events under two neighboring data sets, and the band that the claim allows.

    Below them stand the claim and the lower bound, as :func:`audit_bounds` draws them. The event that was tested is
    marked; those not seen under both neighbors are left out.

    Args:
        found: what :func:`privrank_jax.privacy_audit.audit` returned.
        guarantee_text, title: written below and above the figure; None says what was drawn and what it shows.

    Returns:
        A figure, both axes of the events logarithmic; see :func:`save`.

    Raises:
        ValueError: no event was seen under both.
    """
    seen = [(float(p), float(q)) for p, q in found.candidates if p > 0 and q > 0]
    if not seen:
        raise ValueError("no event was seen under both data sets: take more draws")
    figure = new_figure(5.8, 6.6)
    axis, below = figure.subplots(2, 1, height_ratios=(5, 1))
    _draw_bounds(below, [found])
    below.set_yticks([])
    legend_below(figure, *below.get_legend_handles_labels(), ncols=3, handletextpad=0.6)
    _draw_events(axis, found, seen)
    promise = found.promise
    if title is None:
        claim = f"claimed ε = {promise.epsilon:.3g}, at least {found.lower:.3g}, {found.verdict}"
        title = f"{found.mechanism.title}: {claim}"
    if guarantee_text is None:
        guarantee_text = (
            f"{found.draws:,} draws from each of two neighboring data sets ({promise.unit}, adjacency "
            f"{promise.adjacency}, trust {found.mechanism.trust}); the lower bound holds with confidence "
            f"{found.confidence:g}. A bound below the claim is no proof of it."
        )
    return finished(figure, title, guarantee_text)


def _draw_events(axis: Axes, found: AuditResult, seen: Sequence[tuple[float, float]]) -> None:
    epsilon, delta = found.promise.epsilon, found.promise.delta
    chosen = found.frequencies[::-1] if found.swapped else found.frequencies
    low = min(map(min, seen)) / 1.5
    ends = [low * (1.3 / low) ** (step / 200) for step in range(201)]
    factor = math.exp(epsilon)
    upper = [min(factor * p + delta, 2.0) for p in ends]
    lower = [max((p - delta) / factor, low / 10) for p in ends]
    slack = f" + {delta:g}" if delta else ""
    axis.fill_between(ends, lower, upper, color=PALETTE[0], alpha=0.12, linewidth=0)
    label = f"a factor of e^{epsilon:g}{slack}, either way"
    axis.plot(ends, upper, "--", color=PALETTE[0], linewidth=1.2, label=label)
    axis.plot(ends, lower, "--", color=PALETTE[0], linewidth=1.2)
    xs, ys = zip(*seen, strict=True)
    axis.plot(xs, ys, "o", color=PALETTE[6], markersize=3, alpha=0.6, label="events")
    if min(chosen) > 0:
        axis.plot(*chosen, "D", color=PALETTE[1], markersize=8, label="the event tested")
    axis.set_xlim(low, 1.3)
    axis.set_ylim(low, 1.3)
    style(axis, True, True)
    axis.set_xlabel("probability with the data")
    axis.set_ylabel("probability with the neighboring data")
    axis.legend(frameon=False, fontsize=9, loc="upper left")


def audit_bounds(
    found: Sequence[AuditResult], *, guarantee_text: str = "", title: str | None = None
) -> Figure:
    """Draw the claimed ε of each audit as a bar, and the lower bound of the true ε as a dot.

    A dot to the right of its bar refutes the claim; it is drawn as an orange cross. A dot far to the left does not
    prove more privacy, only that the draws do not show less. A ring is the exact loss, where it is known.

    Args:
        found: what :func:`privrank_jax.privacy_audit.audit` returned for each mechanism.
        guarantee_text, title: written below and above the figure.

    Returns:
        A figure, the first audit on top; see :func:`save`.

    Raises:
        ValueError: no audits.
    """
    if not found:
        raise ValueError("no audits to draw")
    figure = new_figure(6.4, 1.3 + 0.3 * max(len(found), 2))
    _draw_bounds(figure.subplots(), found)
    legend_below(figure, ncols=2, handletextpad=0.6)
    return finished(figure, title, guarantee_text)


def _draw_bounds(axis: Axes, found: Sequence[AuditResult]) -> None:
    """Claims, exact losses and lower bounds, a line per audit."""
    claims = [(audit.promise.epsilon, place) for place, audit in enumerate(found)]
    exact = [(math.inf if one.exact is None else one.exact, k) for k, one in enumerate(found)]
    exact = [(loss, place) for loss, place in exact if math.isfinite(loss)]
    breaks = [(one.lower, k) for k, one in enumerate(found) if one.verdict == "violated"]
    keeps = [(one.lower, k) for k, one in enumerate(found) if one.verdict != "violated"]
    ring = {"markersize": 9, "fillstyle": "none"}
    marks = (
        Marks("claimed ε", claims, "|", "black", {"markersize": 15, "markeredgewidth": 2}),
        Marks("exact, these neighbors", exact, "o", "black", ring),
        Marks("lower bound, consistent", keeps, "o", PALETTE[0], {"markersize": 5}),
        Marks("lower bound, claim refuted", breaks, "X", PALETTE[1], {"markersize": 8}),
    )
    lines = [(0.0, audit.lower) for audit in found]
    frame.draw_marks(axis, [audit.mechanism.name for audit in found], lines, marks)
    style(axis, False, False)
    axis.set_xlim(left=0)
    axis.set_xlabel("ε")

"""Results of audits: events under neighboring data sets, and lower bounds compared with claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.plotting.frame import PALETTE, Row, caption, heading, new_figure, style
from privrank_jax.plotting.marks import Marks, draw_marks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def event_probabilities(
    frequencies: Sequence[Sequence[float]],
    epsilon: float,
    *,
    delta: float = 0.0,
    chosen: Sequence[float] | None = None,
    bounds: Row | None = None,
    guarantee_text: str = "",
    title: str | None = None,
) -> Figure:
    """Draw the probabilities of events under two neighboring data sets, and the band that (ε, δ) allows.

    Args:
        frequencies: ``(events, 2)``, frequency of each event under one data set and under its neighbor; events never
            seen under either are left out.
        epsilon: claimed ε, > 0.
        delta: claimed δ.
        chosen: ``(2,)``, the event that was tested, marked.
        bounds: the audit, one of the rows of :func:`audit_bounds`, drawn as there below the events. Default: not drawn.
        guarantee_text: what was audited, written below the figure.
        title: title of the figure.

    Returns:
        A figure, both axes of the events logarithmic; see :func:`save`.

    Raises:
        ValueError: no event was seen under both, or a column of ``bounds`` is missing.
        ImportError: matplotlib is not installed.
    """
    seen = [(float(p), float(q)) for p, q in frequencies if p > 0 and q > 0]
    if not seen:
        raise ValueError("no event was seen under both data sets: take more draws")
    if bounds is None:
        figure = new_figure(5.2, 5.0)
        axis = figure.subplots()
    else:
        _check_audits([bounds], "name")
        figure = new_figure(5.8, 6.6)
        axis, below = figure.subplots(2, 1, height_ratios=(5, 1))
        _draw_bounds(below, [bounds], "name")
        below.set_yticks([])
        figure.legend(
            *below.get_legend_handles_labels(),
            loc="outside lower center",
            ncols=3,
            frameon=False,
            fontsize=9,
            handletextpad=0.6,
        )
    _draw_events(axis, seen, epsilon, delta, chosen)
    heading(figure, title)
    caption(figure, guarantee_text)
    return figure


def _draw_events(
    axis: Axes,
    seen: Sequence[tuple[float, float]],
    epsilon: float,
    delta: float,
    chosen: Sequence[float] | None,
) -> None:
    low = min(map(min, seen)) / 1.5
    ends = [low * (1.3 / low) ** (step / 200) for step in range(201)]
    factor = math.exp(epsilon)
    upper = [min(factor * p + delta, 2.0) for p in ends]
    lower = [max((p - delta) / factor, low / 10) for p in ends]
    slack = f" + {delta:g}" if delta else ""
    axis.fill_between(ends, lower, upper, color=PALETTE[0], alpha=0.12, linewidth=0)
    for edge, label in ((upper, f"a factor of e^{epsilon:g}{slack}, either way"), (lower, None)):
        axis.plot(ends, edge, color=PALETTE[0], linestyle="--", linewidth=1.2, label=label)
    xs, ys = zip(*seen, strict=True)
    axis.plot(xs, ys, "o", color=PALETTE[6], markersize=3, alpha=0.6, label="events")
    if chosen is not None and min(chosen) > 0:
        axis.plot(*chosen, "D", color=PALETTE[1], markersize=8, label="the event tested")
    axis.set_xlim(low, 1.3)
    axis.set_ylim(low, 1.3)
    style(axis, True, True)
    axis.set_xlabel("probability with the data")
    axis.set_ylabel("probability with the neighboring data")
    axis.legend(frameon=False, fontsize=9, loc="upper left")


def audit_bounds(
    rows: Sequence[Row], *, label: str = "name", guarantee_text: str = "", title: str | None = None
) -> Figure:
    """Draw the claimed ε of each audit as a bar, and the lower bound of the true ε as a dot.

    A dot to the right of its bar refutes the claim; it is drawn as an orange cross. A dot far to the left does not
    prove more privacy, only that the draws do not show less.

    Args:
        rows: ``AuditResult.as_dict()`` of each audit, or any rows with ``epsilon`` (claimed), ``lower_bound`` and,
            where it is known, ``exact_epsilon`` (None where not), which is drawn as a ring.
        label: column with the name of each.
        guarantee_text: what holds for all audits, written below the figure.
        title: title of the figure.

    Returns:
        A figure, the first row on top; see :func:`save`.

    Raises:
        ValueError: no rows, or a column is missing.
        ImportError: matplotlib is not installed.
    """
    _check_audits(rows, label)
    figure = new_figure(6.4, 1.3 + 0.3 * max(len(rows), 2))
    _draw_bounds(figure.subplots(), rows, label)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, handletextpad=0.6)
    heading(figure, title)
    caption(figure, guarantee_text)
    return figure


def _check_audits(rows: Sequence[Row], label: str) -> None:
    if not rows:
        raise ValueError("no audits to draw")
    for row in rows:
        for column in (label, "epsilon", "lower_bound"):
            if column not in row:
                raise ValueError(f"no column {column!r} in these rows; they have {list(row)}")


def _draw_bounds(axis: Axes, rows: Sequence[Row], label: str) -> None:
    """Claims, exact losses and lower bounds, a line per audit."""
    kept: dict[str, list[tuple[float, int]]] = {"claim": [], "exact": [], "keeps": [], "breaks": []}
    for place, row in enumerate(rows):
        claimed, lower, exact = (
            row["epsilon"], row["lower_bound"], row.get("exact_epsilon"),
        )  # fmt: skip
        kept["claim"].append((claimed, place))
        kept["breaks" if lower > claimed else "keeps"].append((lower, place))
        if exact is not None and math.isfinite(exact):
            kept["exact"].append((exact, place))
    marks = (
        Marks("claimed ε", kept["claim"], "|", "black", {"markersize": 15, "markeredgewidth": 2}),
        Marks(
            "exact, these neighbors",
            kept["exact"],
            "o",
            "black",
            {"markersize": 9, "fillstyle": "none"},
        ),
        Marks("lower bound, consistent", kept["keeps"], "o", PALETTE[0], {"markersize": 5}),
        Marks("lower bound, claim refuted", kept["breaks"], "X", PALETTE[1], {"markersize": 8}),
    )
    lines = [(0.0, row["lower_bound"]) for row in rows]
    draw_marks(axis, [str(row[label]) for row in rows], lines, marks)
    style(axis, False, False)
    axis.set_xlim(left=0)
    axis.set_xlabel("ε")

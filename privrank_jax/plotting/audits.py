"""Results of audits: events under neighboring data sets, and lower bounds compared with claims."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.plotting.frame import PALETTE, Row, caption, heading, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def event_probabilities(
    frequencies: Sequence[Sequence[float]],
    epsilon: float,
    *,
    delta: float = 0.0,
    chosen: Sequence[float] | None = None,
    title: str | None = None,
) -> Figure:
    """Draw the probabilities of events under two neighboring data sets, and the band that (ε, δ) allows.

    Args:
        frequencies: ``(events, 2)``, frequency of each event under one data set and under its neighbor; events never
            seen under either are left out.
        epsilon: claimed ε, > 0.
        delta: claimed δ.
        chosen: ``(2,)``, the event that was tested, marked.
        title: title of the figure.

    Returns:
        A figure, both axes logarithmic; see :func:`save`.

    Raises:
        ValueError: no event was seen under both.
        ImportError: matplotlib is not installed.
    """
    seen = [(float(p), float(q)) for p, q in frequencies if p > 0 and q > 0]
    if not seen:
        raise ValueError("no event was seen under both data sets: take more draws")
    low = min(map(min, seen)) / 1.5
    figure = new_figure(5.2, 5.0)
    axis = figure.subplots()
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
    style(axis, True, True)
    axis.set_xlim(low, 1.3)
    axis.set_ylim(low, 1.3)
    axis.set_xlabel("probability with the data")
    axis.set_ylabel("probability with the neighboring data")
    axis.legend(frameon=False, fontsize=9, loc="upper left")
    heading(figure, title)
    return figure


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
    if not rows:
        raise ValueError("no audits to draw")
    for row in rows:
        for column in (label, "epsilon", "lower_bound"):
            if column not in row:
                raise ValueError(f"no column {column!r} in these rows; they have {list(row)}")
    figure = new_figure(6.4, 1.3 + 0.3 * max(len(rows), 2))
    axis = figure.subplots()
    heights = range(len(rows) - 1, -1, -1)
    kept: dict[str, list[tuple[float, int]]] = {"claim": [], "exact": [], "keeps": [], "breaks": []}
    for height, row in zip(heights, rows, strict=True):
        claimed, lower, exact = (
            row["epsilon"], row["lower_bound"], row.get("exact_epsilon"),
        )  # fmt: skip
        axis.hlines(height, 0, lower, color="#BBBBBB", linewidth=1.2)
        kept["claim"].append((claimed, height))
        kept["breaks" if lower > claimed else "keeps"].append((lower, height))
        if exact is not None and math.isfinite(exact):
            kept["exact"].append((exact, height))
    looks = {
        "claim": ("claimed ε", "|", "black", {"markersize": 15, "markeredgewidth": 2}),
        "exact": ("exact, these neighbors", "o", "black", {"markersize": 9, "fillstyle": "none"}),
        "keeps": ("lower bound, consistent", "o", PALETTE[0], {"markersize": 5}),
        "breaks": ("lower bound, claim refuted", "X", PALETTE[1], {"markersize": 8}),
    }
    for kind, (text, marker, color, options) in looks.items():
        if kept[kind]:
            at, height = zip(*kept[kind], strict=True)
            axis.plot(
                at, height, marker, linestyle="", color=color, label=text, clip_on=False, **options
            )
    axis.set_yticks(list(heights), [str(row[label]) for row in rows])
    axis.set_ylim(-0.7, len(rows) - 0.3)
    style(axis, False, False)
    axis.set_xlim(left=0)
    axis.set_xlabel("ε")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, handletextpad=0.6)
    heading(figure, title)
    caption(figure, guarantee_text)
    return figure

"""Shared parts of all figures: colors, axes, captions, and saving."""

from __future__ import annotations

import io
import math
import os
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from privrank_jax._whole_file import whole_file
from privrank_jax.plotting.words import label, literal, one_warning

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

# Okabe-Ito without its yellow, too faint on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
LINES = ("-", (0, (4, 2)), (0, (1, 1.5)), "-.", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
BAND = 2.0  # standard errors
CHARACTERS = 15  # of a caption, per inch
_LINE = 0.15  # inches, of a caption

Row = Mapping[str, Any]


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, sized in inches, with automatic layout."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'privrank-jax[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure atomically, in the format of the suffix (png, pdf, svg).

    Args:
        figure: as the functions of :mod:`privrank_jax.plotting` return it.
        path: path of the file; an existing one is replaced.

    Raises:
        ValueError: a suffix that matplotlib does not write.
    """
    target = Path(path)
    kind = _format(figure, target)
    with whole_file(target) as temporary, one_warning():
        figure.savefig(temporary, format=kind, dpi=200)


def svg(figure: Figure) -> str:
    """A figure as an SVG element, to stand within a page; warns as :func:`save`."""
    text = io.StringIO()
    with one_warning():
        figure.savefig(text, format="svg", metadata={"Date": None})
    drawn = text.getvalue()
    return drawn[drawn.index("<svg") :]


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise before the work what :func:`save` would raise after it, with the same arguments as there."""
    _format(new_figure(1.0, 1.0), Path(path))


def _format(figure: Figure, target: Path) -> str:
    kind = target.suffix.lstrip(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"can't write a picture as {target.name!r}: use .png, .pdf or .svg")
    return kind


def style(axis: Axes, log_x: bool, log_y: bool) -> None:
    """Set scales, grid and ticks of an axis; call it when everything is drawn."""
    axis.grid(color="#DDDDDD", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=9)
    if log_x:
        axis.set_xscale("log")
        plain_ticks(axis.xaxis, axis.get_xlim())
    if log_y:
        axis.set_yscale("log")
        plain_ticks(axis.yaxis, axis.get_ylim())


def plain_ticks(axis: Any, limits: tuple[float, float]) -> None:
    """0.1 rather than 10⁻¹, and ticks between the powers of ten where these are few."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = sorted(limits)
    decades = math.log10(high / low) if low > 0 else math.inf
    if decades > 6:
        return
    steps = (1.0, 2.0, 5.0) if decades <= 2.2 else (1.0, 3.0) if decades <= 3.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=steps, numticks=30))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))
    axis.set_minor_formatter(NullFormatter())


def plain(value: float) -> str:
    """Write a number for a reader: 0.05, 2,000, 10⁵.

    >>> plain(0.05), plain(2000.0), plain(1e5), plain(1e-4)
    ('0.05', '2,000', '10⁵', '10⁻⁴')
    """
    power = math.log10(abs(value)) if value else 0.0
    if -4 < power < 5:
        return f"{value:,g}" if abs(value) < 1000 else f"{value:,.0f}"
    if round(power) == power and value > 0:
        return "10" + str(round(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:g}"


def legend_below(figure: Figure, *handles_and_labels: Any, **options: Any) -> Legend:
    """A legend below the axes: of all that is drawn with a label, or of these handles, with or without labels."""
    look = {"loc": "outside lower center", "frameon": False, "fontsize": 9, "title_fontsize": 9}
    return figure.legend(*handles_and_labels, **{**look, **options})


def finished(figure: Figure, title: str | None, text: str) -> Figure:
    """Write the title above a figure and the guarantee below it, both wrapped to its width; call it last."""
    if title:
        width = int(10 * figure.get_figwidth())
        figure.suptitle(literal("\n".join(textwrap.wrap(title, width))), fontsize=11)
    if text:
        _caption(figure, text)
    return figure


def _caption(figure: Figure, text: str) -> None:
    """Extend a figure by its caption."""
    lines = textwrap.wrap(text, int(CHARACTERS * figure.get_figwidth()))
    added = _LINE * len(lines) + 0.1
    height = figure.get_figheight() + added
    figure.set_figheight(height)
    taken = added
    for legend in figure.legends:  # below the axes it would overlap the caption
        legend.set_bbox_to_anchor((0.0, added / height, 1.0, 1.0), figure.transFigure)
        taken += legend.get_window_extent().height / figure.dpi + 0.1
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, taken / height, 1.0, 1 - taken / height))
    look: Any = {"ha": "center", "va": "bottom", "fontsize": 8, "color": "#333333"}
    figure.text(0.5, 0.04 / height, literal("\n".join(lines)), **look)


class Marks(NamedTuple):
    """Marks of one kind: its entry in the legend, (value, row from the top) of each, and how they look."""

    label: str
    points: Sequence[tuple[float, int]]
    marker: str
    color: str
    look: Mapping[str, Any]


def draw_marks(
    axis: Axes, names: Sequence[str], lines: Sequence[tuple[float, float]], marks: Sequence[Marks]
) -> None:
    """Draw a thin line for each name, the first on top, and the marks; a kind without points is not in the legend."""
    top = len(names) - 1
    for place, (low, high) in enumerate(lines):
        axis.hlines(top - place, low, high, color="#BBBBBB", linewidth=1.2)
    for kind in marks:
        if kind.points:
            at, places = zip(*((value, top - place) for value, place in kind.points))
            look = {"linestyle": "", "color": kind.color, "clip_on": False, **kind.look}
            axis.plot(at, places, kind.marker, label=kind.label, **look)
    axis.set_yticks(range(top, -1, -1), [label(name) for name in names])
    axis.set_ylim(-0.7, top + 0.7)


def panel_grid(figure: Figure, panels: int, columns: int) -> list[Axes]:
    """Axes of the panels, row by row; surplus places stay empty."""
    wide = min(columns, panels)
    axes = list(figure.subplots(math.ceil(panels / wide), wide, squeeze=False).flat)
    for axis in axes[panels:]:
        axis.set_axis_off()
    return axes[:panels]


def spelled(name: str) -> str:
    """The name of a column for a reader."""
    return name.replace("_", " ")


def written(value: object) -> str:
    """A value of a column for a reader."""
    if isinstance(value, Real) and not isinstance(value, Integral):
        return "∞" if value == math.inf else f"{value:g}"
    return literal(str(value))


def check_rows(
    rows: Sequence[Row],
    axes: Sequence[str],
    others: Iterable[str | None],
    *,
    value: str = "mean",
    infinite: bool = False,
) -> None:
    """``ValueError`` unless columns exist, those of ``axes`` are finite numbers (or ∞), and each point occurs once."""
    if not rows:
        raise ValueError("no rows to draw: the selection is empty")
    names = (*axes, *(name for name in others if name is not None))
    seen = set()
    for row in rows:
        for column in (*names, value):
            if column not in row:
                raise ValueError(f"no column {column!r} in these rows; they have {list(row)}")
        for column in axes:
            at = row[column]
            if not isinstance(at, Real) or not (math.isfinite(at) or (infinite and at == math.inf)):
                raise ValueError(f"{column} = {at!r} has no place on an axis; draw it as a group")
        point = tuple(row[name] for name in names)
        if point in seen:
            raise ValueError(
                f"two rows for {dict(zip(names, point))}: name the column that tells them apart, or select one value"
            )
        seen.add(point)

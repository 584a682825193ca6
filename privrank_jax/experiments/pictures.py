"""Pictures of studies: lines of panels, by which columns stand on the axis, in colors, in line styles and in panels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax.experiments.claims import groups, selected
from privrank_jax.plotting import PALETTE
from privrank_jax.plotting.frame import new_figure, spelled, written
from privrank_jax.plotting.panels import draw_curve, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIDDLE, LAST = "the middle value", "the last value"  # of a column, in a selection
_NAMES = {"num_items": "items", "num_users": "users", "epsilon": "ε", "num_rankings": "rankings N"}
_DASHED = (0, (4, 2))
Looks = Mapping[str, tuple[int, int]]


def draw(
    table: StudyResult,
    lines: Sequence[Mapping[str, Any]] = ({},),
    *,
    color: str = "estimator",
    style: str | None = None,
    looks: Looks | None = None,
    names: Mapping[Any, str] | None = None,
    wide: int = 5,
    note: str = "",
    **shared: Any,
) -> Figure:
    """Draw lines of panels; every metric of every line has one, with a panel for each value of the columns ``panel``.

    Args:
        table: of a study.
        lines: for each line what differs from ``shared``.
        color: column with a color per value; rows without one are left out.
        style: column with a line style per value.
        looks: value of ``color`` to its color and line style, in this order; rows with other values are left out.
        names: how columns and values are written; values named stand first.
        wide: panels side by side; further ones stand below.
        note: above the picture.
        shared: of each line ``x``, a column, whose words stand side by side, with ``x_label``; ``y``, metric to label;
            ``panel``, columns; ``where``, a selection, in which :data:`MIDDLE` and :data:`LAST` stand for values;
            ``change``, a function of a row to the row that is drawn; ``log_x``, with ∞ as "no privacy" at the right;
            ``log_y``; ``small``, below which it is linear; ``from_zero``; ``exact``, a column drawn as a dashed line
            beside each curve; ``crosses``, a column of black crosses; ``band``, columns of a gray band; ``level``, of a
            dashed horizontal line; ``kind``, ``"curves"``, ``"dots"`` of replicates with a line through them, or
            ``"boxes"`` of replicates.
    """
    names = {**_NAMES, **(names or {})}
    parts = []
    for line in lines:
        one = {"panel": (), "change": dict, **shared, **line}
        one["where"] = {**shared.get("where", {}), **line.get("where", {})}
        for metric, label in one["y"].items():
            wanted = {"metric": metric, **_plain(one["where"])}
            chosen = [one["change"](row) for row in selected(table.rows, wanted)]
            chosen = selected(chosen, {one["x"]: _there, color: tuple(looks) if looks else _there})
            found = groups(chosen, *one["panel"])
            order = [_values(chosen, column, names) for column in one["panel"]]
            panels = []
            for at in sorted(found, key=lambda at: [o.index(v) for o, v in zip(order, at)]):
                held, fixed = _fixed(found[at], one["where"])
                columns = (*one["panel"], *fixed)
                title = _title(columns, (*at, *fixed.values()), names)
                panels.append((title, held))
            for start in range(0, len(panels), wide):
                parts.append((one, label, panels[start : start + wide]))
    drawn = [row for _, _, panels in parts for _, rows in panels for row in rows]
    colors = _values(drawn, color, names) if looks is None else list(looks)
    styles = [] if style is None else _values(drawn, style, names)
    columns = max(len(panels) for *_, panels in parts)
    figure = new_figure(max(2.9 * columns + 0.4, 6.4), 2.6 * len(parts) + 0.6)
    axes = figure.subplots(len(parts), columns, sharey="row", squeeze=False)
    for (one, label, panels), across in zip(parts, axes, strict=True):
        for axis, (title, rows) in zip(across, panels, strict=False):
            by = groups(rows, color, *([style] if style else []))
            looked = [
                (held, looks[at[0]] if looks else (colors.index(at[0]), _index(styles, at)))
                for at, held in by.items()
            ]
            _panel(axis, rows, looked, **one)
            axis.set_title(title, fontsize=9.5)
            axis.set_xlabel(one.get("x_label", names.get(one["x"], spelled(one["x"]))))
        across[0].set_ylabel(label)
        if one.get("from_zero"):  # last: it ends the scaling of shared axes
            across[0].set_ylim(bottom=0)
        for axis in across[len(panels) :]:
            axis.set_axis_off()
    shown = [names.get(value, written(value)) for value in colors]
    line_names = [names.get(value, written(value)) for value in styles]
    named = "" if color == "estimator" else f"color: {names.get(color, spelled(color))}"
    own = [look for _, look in looks.values()] if looks else []
    legend(figure, named, shown, names.get(style, "line"), line_names, own)
    if note:
        figure.suptitle(note, fontsize=9)
    return figure


def _panel(
    axis: Axes,
    rows: Sequence[Row],
    looked: Sequence[tuple[list[Row], tuple[int, int]]],
    x: str,
    log_x: bool = False,
    log_y: bool = False,
    small: float = 0.0,
    exact: str = "",
    crosses: str = "",
    band: tuple[str, str] = ("", ""),
    level: float = math.nan,
    kind: str = "curves",
    **of_line: Any,
) -> None:
    """One panel of these rows, and of each curve with its color and line style; see :func:`draw`."""
    del of_line
    words = list(dict.fromkeys(row[x] for row in rows if isinstance(row[x], str)))
    places = {word: place for place, word in enumerate(words)}
    if words:
        rows = [{**row, x: places[row[x]]} for row in rows]
        axis.set_xticks(range(len(words)), [word.replace(" ", "\n") for word in words])
    for held, (color, style) in looked:
        paint = PALETTE[color % len(PALETTE)]
        held = sorted(held, key=lambda row: row[x])
        at, values = [row[x] for row in held], [row["mean"] for row in held]
        if words:
            at, errors = [places[row[x]] for row in held], [2 * r["standard_error"] for r in held]
            axis.errorbar(at, values, errors, fmt="o", color=paint, capsize=2)
        elif kind == "dots":
            _dots(axis, np.array(at), np.array(values), paint)
        elif kind == "boxes":
            several = groups(held, x)
            boxes = [[row["mean"] for row in one] for one in several.values()]
            width = 0.5 * min(np.diff([value for (value,) in several]), default=1.0)
            axis.boxplot(
                boxes, positions=[value for (value,) in several], widths=width, manage_ticks=False
            )
        else:
            draw_curve(axis, [r for r in held if r["mean"] > 0 or not log_y], x, color, style)
        if exact:
            axis.plot(at, [row[exact] for row in held], color=paint, dashes=(4, 2), linewidth=1)
        if band[0]:
            low, high = ([row[column] for row in held] for column in band)
            axis.fill_between(at, low, high, color="#BBBBBB", alpha=0.5, linewidth=0)
    known = [row for row in rows if crosses and math.isfinite(row[crosses])]
    if known:
        axis.plot([row[x] + 0.2 * bool(words) for row in known], [r[crosses] for r in known], "kx")
    if math.isfinite(level):
        axis.axhline(level, color="black", linewidth=0.8, linestyle=_DASHED)
    if not words:
        dress(axis, x, rows, log_x, log_y and not small)
    if small:
        axis.set_yscale("symlog", linthresh=small, linscale=0.4)


def _dots(axis: Axes, x: np.ndarray, y: np.ndarray, paint: str) -> None:
    """A dot per replicate, the least-squares line through them, and its 95 % prediction interval."""
    axis.plot(x, y, "o", markersize=2.5, color=paint, alpha=0.6)
    if len(x) > 2:
        slope, intercept = np.polyfit(x, y, 1)
        at = np.linspace(x.min(), x.max(), 50)
        middle = intercept + slope * at
        spread = np.std(y - intercept - slope * x) * math.sqrt(len(x) / (len(x) - 2))
        half = 1.96 * spread * np.sqrt(1 + 1 / len(x) + (at - x.mean()) ** 2 / (len(x) * x.var()))
        axis.plot(at, middle, color="black", linewidth=1.2)
        axis.fill_between(at, middle - half, middle + half, color="black", alpha=0.12)


def _there(value: Any) -> bool:
    return value is not None


def _plain(where: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a selection without words for values."""
    return {name: value for name, value in where.items() if value not in (MIDDLE, LAST)}


def _fixed(rows: list[Row], where: Mapping[str, Any]) -> tuple[list[Row], dict[str, Any]]:
    """The rows at the middle or last value of some columns, and these values."""
    fixed: dict[str, Any] = {}
    for name in where.keys() - _plain(where).keys():
        values = sorted({row[name] for row in rows})
        fixed[name] = values[len(values) // 2 if where[name] == MIDDLE else -1]
        rows = selected(rows, {name: fixed[name]})
    return rows, fixed


def _values(rows: Sequence[Row], column: str, names: Mapping[Any, str]) -> list[Any]:
    """Values of a column: first those named, in that order, then numbers by size and words in order of appearance."""
    found = list(dict.fromkeys(row[column] for row in rows if row[column] is not None))
    if not any(isinstance(value, str) for value in found):
        found.sort()
    return [v for v in names if v in found] + [v for v in found if v not in names]


def _index(styles: Sequence[Any], at: tuple[Any, ...]) -> int:
    return styles.index(at[1]) if styles else 0


def _title(columns: Sequence[str], at: tuple[Any, ...], names: Mapping[Any, str]) -> str:
    told = (
        names.get(value, value)
        if isinstance(value, str)
        else f"{names.get(column, spelled(column))} = {written(value)}"
        for column, value in zip(columns, at, strict=True)
    )
    return ", ".join(told)

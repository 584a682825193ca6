"""Figures of the aggregation studies: error curves of all methods, and maps of the best method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.experiments.alabi.common import EXCESS, MALLOWS, NEGLIGIBLE
from privrank_jax.experiments.old_claims import SLACK, minus
from privrank_jax.plotting import PALETTE
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curves, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMALLEST = 1e-3  # below it the vertical axis is linear
_LEAST = 1e-4  # the same in the small panels of fixed crowds
_LABELS = {"epsilon": "ε", "num_users": "users n", "num_items": "items m"}


def methods(
    table: StudyResult, looks: Mapping[str, tuple[int, int]], mapped: Sequence[str]
) -> Figure:
    """Excess cost of every method against ε, against n and on the other worlds, then a map of the best method.

    Args:
        table: tidy.
        looks: estimator to (color, line style).
        mapped: estimators of the map; the others are compared with the first.
    """
    rows = [row for row in table.rows if row["metric"] == EXCESS and row["estimator"] in looks]
    crowds = [row for row in rows if row["study"] == MALLOWS]
    items = sorted({row["num_items"] for row in crowds})
    users = sorted({row["num_users"] for row in crowds})
    levels = sorted({row["epsilon"] for row in crowds})
    middle, level = users[len(users) // 2], levels[len(levels) // 2]
    others = [s for s in dict.fromkeys(row["study"] for row in rows) if s != MALLOWS]
    columns = max(len(items), len(others), len(users))
    figure = new_figure(2.6 * columns + 0.6, 10.6)
    axes = figure.subplots(4, columns, sharey="row", squeeze=False)
    for column, number in enumerate(items):
        at = [row for row in crowds if row["num_items"] == number]
        chosen = [row for row in at if row["num_users"] == middle]
        _curves(axes[0, column], chosen, "epsilon", looks, f"Mallows, m = {number}, n = {middle}")
        chosen = [row for row in at if row["epsilon"] == level]
        _curves(
            axes[1, column], chosen, "num_users", looks, f"Mallows, m = {number}, ε = {level:g}"
        )
    for column, study in enumerate(others):
        at = [row for row in rows if row["study"] == study]
        most = max(row["num_users"] for row in at)
        chosen = [row for row in at if row["num_users"] == most]
        title = f"{study}, m = {chosen[0]['num_items']}, n = {most}"
        _curves(axes[2, column], chosen, "epsilon", looks, title)
    for column, number in enumerate(users):
        at = [row for row in table.rows if row["metric"] == EXCESS and row["study"] == MALLOWS]
        at = [row for row in at if row["num_users"] == number]
        title = f"least cost (K-norm), n = {number}"
        _map(axes[3, column], at, mapped, looks, title)
    for line, used in enumerate((len(items), len(items), len(others), len(users))):
        axes[line, 0].set_ylabel("items m" if line == 3 else "excess cost, share of pairs")
        for axis in axes[line, used:]:
            axis.set_axis_off()
    _from_nothing(axes[:3, 0])
    _legend(figure, looks, styles=("Laplace", "Gaussian", "K-norm"))
    return figure


def _curves(
    axis: Axes,
    rows: Sequence[Row],
    x: str,
    looks: Mapping[str, tuple[int, int]],
    title: str,
    smallest: float = _SMALLEST,
) -> None:
    draw_curves(axis, rows, x, looks)
    dress(axis, x, rows, True)
    small, values = smallest == _LEAST, sorted({row[x] for row in rows})
    if x == "num_users" and small:
        axis.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
    elif x == "num_users":
        low, high = math.log10(values[0]), math.log10(values[-1])
        powers = range(math.ceil(low), math.floor(high) + 1)
        axis.set_xticks(
            [10**power for power in powers], [f"10{_raised(power)}" for power in powers]
        )
    axis.set_yscale("symlog", linthresh=smallest, linscale=0.4)
    axis.set_xlabel(_LABELS[x], fontsize=8.5 if small else None)
    axis.set_title(title, fontsize=8.5 if small else 9.5)


def _from_nothing(axes: Iterable[Axes]) -> None:
    """Show 0 at the foot of axes and of those that share them; call it last, as it ends their scaling."""
    for axis in axes:
        axis.set_ylim(bottom=-_SMALLEST / 5)


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _map(
    axis: Axes,
    rows: Sequence[Row],
    pure: Sequence[str],
    looks: Mapping[str, tuple[int, int]],
    title: str,
) -> None:
    """A field per (ε, m) in the color of the method with the least mean cost; "=" where it ties with the first."""
    levels = sorted({row["epsilon"] for row in rows})
    items = sorted({row["num_items"] for row in rows})
    for left, level in enumerate(levels):
        for low, number in enumerate(items):
            at = {
                row["estimator"]: row
                for row in rows
                if (row["epsilon"], row["num_items"]) == (level, number)
            }
            winner = min((name for name in pure if name in at), key=lambda name: at[name]["mean"])
            sign = _sign(at, winner, pure)
            color = PALETTE[looks[winner][0] % len(PALETTE)]
            axis.add_patch(_field(left, low, "#DDDDDD" if sign == "=" else color))
            axis.text(left + 0.5, low + 0.5, sign, ha="center", va="center", fontsize=8)
    axis.set_xlim(0, len(levels))
    axis.set_ylim(0, len(items))
    axis.set_xticks([i + 0.5 for i in range(len(levels))], [f"{x:g}" for x in levels], fontsize=8.5)
    axis.set_yticks([i + 0.5 for i in range(len(items))], [str(x) for x in items], fontsize=8.5)
    axis.set_xlabel("ε")
    axis.set_title(title, fontsize=9.5)


def _sign(at: Mapping[str, Row], winner: str, pure: Sequence[str]) -> str:
    """The cost of the first (of the next best where it wins) over the winner's; "=" if the difference is not clear."""
    base = pure[0]
    rest = [name for name in pure if name in at and name != winner]
    second = min(rest, key=lambda name: at[name]["mean"]) if winner == base else base
    gap = at[minus(second if winner == base else winner, base)]
    if abs(gap["mean"]) <= max(NEGLIGIBLE, SLACK * gap["standard_error"]):
        return "="
    ratio = at[second]["mean"] / max(at[winner]["mean"], 1e-12)
    if ratio > 999:
        return "÷∞"
    return f"÷{ratio:.0f}" if ratio >= 10 else f"÷{ratio:.1f}"


def _field(left: float, low: float, color: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left, low), 1, 1, facecolor=color, edgecolor="white", alpha=0.75)


def _legend(
    figure: Figure,
    looks: Mapping[str, tuple[int, int]],
    label: str = "noise",
    styles: Sequence[str] = ("pure ε", "(ε, δ)"),
) -> None:
    first: dict[int, str] = {}
    for name, (color, _) in looks.items():
        first.setdefault(color, name)
    names = [first[color] for color in sorted(first)]
    several = any(style for _, style in looks.values())
    legend(figure, "", names, label, styles if several else styles[:1])


def by_crowd(
    table: StudyResult,
    looks: Mapping[str, tuple[int, int]],
    label: str,
    styles: Sequence[str],
) -> Figure:
    """Excess cost against ε, for every crowd, the worst case and the data sets; label and names of line styles."""
    rows = [row for row in table.rows if row["metric"] == EXCESS and row["estimator"] in looks]
    places = sorted(
        {
            (row["study"] != MALLOWS, row["study"], row["num_items"], row["num_users"])
            for row in rows
        }
    )
    columns = 4
    lines = -(-len(places) // columns)
    figure = new_figure(2.9 * columns + 0.4, 2.7 * lines + 0.6)
    axes = figure.subplots(lines, columns, sharey=True, squeeze=False)
    for axis, (_, study, items, users) in zip(axes.flat, places, strict=False):
        place = (study, items, users)
        chosen = [r for r in rows if (r["study"], r["num_items"], r["num_users"]) == place]
        _curves(axis, chosen, "epsilon", looks, f"{study}, m = {items}, n = {users}")
    for axis in list(axes.flat)[len(places) :]:
        axis.set_axis_off()
    for line in range(lines):
        axes[line, 0].set_ylabel("excess cost, share of pairs")
    _from_nothing(axes[0, :1])
    _legend(figure, looks, label, styles)
    return figure


def race(
    table: StudyResult, metric: str, target: float, looks: Mapping[str, tuple[int, int]]
) -> Figure:
    """Cost over m² against n for every m, with the target and the number of users that any algorithm needs."""
    rows = [row for row in table.rows if row["metric"] == metric and row["estimator"] in looks]
    items = sorted({row["num_items"] for row in rows})
    figure = new_figure(2.9 * len(items) + 0.4, 3.6)
    axes = figure.subplots(1, len(items), sharey=True, squeeze=False)[0]
    for axis, number in zip(axes, items, strict=True):
        at = [row for row in rows if row["num_items"] == number]
        _curves(axis, at, "num_users", looks, f"m = {number:g}, ε = {at[0]['epsilon']:g}")
        axis.axhline(target, color="black", linewidth=0.8, linestyle=(0, (4, 3)))
        axis.axvspan(
            min(r["num_users"] for r in at), at[0]["least_users"], color="#BBBBBB", alpha=0.5
        )
        axis.set_xlabel("users n (gray: too few for any)")
    _from_nothing(axes[:1])
    axes[0].set_ylabel(f"K/m² (dashed: {target:g})")
    _legend(figure, looks, styles=("Laplace", "K-norm"))
    return figure


def costs(
    table: StudyResult, looks: Mapping[str, tuple[int, int]], label: str, styles: Sequence[str]
) -> Figure:
    """For every number of items a line of panels against ε, and one against users if they vary; a column per crowd.

    Args:
        table: tidy.
        looks: estimator to (color, line style).
        label: what line styles stand for.
        styles: their names.
    """
    rows = [row for row in table.rows if row["metric"] == EXCESS and row["estimator"] in looks]
    studies = list(dict.fromkeys(row["study"] for row in rows))
    items = sorted({row["num_items"] for row in rows})
    lines = [line for number in items for line in _lines(rows, number)]
    figure = new_figure(2.3 * len(studies) + 0.6, 2.4 * len(lines) + 0.9)
    axes = figure.subplots(len(lines), len(studies), sharey="row", squeeze=False)
    for row, (number, x, fixed, value, note) in zip(axes, lines, strict=True):
        top = 0.0
        for axis, study in zip(row, studies, strict=True):
            place = (study, number, value)
            chosen = [r for r in rows if (r["study"], r["num_items"], r[fixed]) == place]
            if chosen:
                _curves(axis, chosen, x, looks, f"{study}\nm = {number}, {note}", _LEAST)
                top = max(top, *(r["mean"] + 2 * r["standard_error"] for r in chosen))
            else:
                axis.set_axis_off()
        row[0].set_ylim(-_LEAST / 5, max(1.5 * top, 1e-3))
        row[0].set_ylabel("excess cost, share of pairs", fontsize=8.5)
    _legend(figure, looks, label, styles)
    return figure


def _lines(rows: Sequence[Row], items: int) -> list[tuple[int, str, str, float, str]]:
    """Lines of panels for m items: m, what varies, what is fixed, its value, and words for it."""
    of = [row for row in rows if row["num_items"] == items]
    users, levels = (sorted({row[x] for row in of}) for x in ("num_users", "epsilon"))
    n, level = users[len(users) // 2], levels[len(levels) // 2]
    found = [(items, "epsilon", "num_users", n, f"n = {n:,}")]
    if len(users) > 1:
        found.append((items, "num_users", "epsilon", level, f"ε = {level:g}"))
    return found

"""What publications reveal of one person: how a leaderboard changed, and how often a guess is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Real

from privrank_jax.plotting import frame
from privrank_jax.plotting.frame import PALETTE, Marks, finished, legend_below, new_figure, style
from privrank_jax.plotting.words import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Guess(NamedTuple):
    """A question about one person, and how often it is answered rightly, from 0 to 1."""

    question: str
    blind: float  # without any publication
    best: float  # by the best guess from the private one
    bound: float  # what no guess from it exceeds
    exact: float  # from the exact one


def changed_leaderboards(
    names: Sequence[str],
    won: Real[ArrayLike, "items"],
    noisy: Real[ArrayLike, "items"],
    *,
    epsilon: float,
    guarantee_text: str = "",
    title: str | None = None,
) -> Figure:
    """Draw how the wins on a leaderboard changed by one person's votes: as they are, and as a private one shows it.

    Args:
        names: of the items.
        won: wins of each that the person added; what was lost is not drawn.
        noisy: the change of the private leaderboard.
        epsilon: of the private one.
        guarantee_text, title: written below and above the figure.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: other than one number for each item.

    >>> figure = changed_leaderboards(["tea", "milk"], [1, 0], [-3.5, 8.0], epsilon=1.0)
    >>> [axis.get_title() for axis in figure.axes]
    ["exact: one person's votes", 'private (ε = 1): mostly noise']
    """
    exact, private = np.asarray(won, float), np.asarray(noisy, float)
    if not len(names) == exact.size == private.size > 0:
        raise ValueError("give one change for each item")
    figure = new_figure(7.2, 0.9 + 0.36 * len(names))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    places = np.arange(len(names))[::-1]
    for axis, values, color in ((left, exact, PALETTE[1]), (right, private, PALETTE[0])):
        axis.barh(places, values, 0.62, color=color)
        axis.axvline(0, color="black", linewidth=0.8)
        style(axis, False, False)
        axis.set_xlabel("wins added since the board before")
    for place, value in zip(places, exact):
        left.annotate(f"{value:+g}" if value else "0", (value, place), (4, 0), fontsize=10,
                      textcoords="offset points", va="center", weight="bold" if value else None)  # fmt: skip
    left.set_title("exact: one person's votes", fontsize=10)
    right.set_title(f"private (ε = {epsilon:g}): mostly noise", fontsize=10)
    left.set_yticks(places, [label(name) for name in names])
    reach = 1.15 * max(float(np.abs(private).max()), float(np.abs(exact).max()), 1.0)
    left.set_xlim(-reach, reach)
    return finished(figure, title, guarantee_text)


def best_guesses(
    found: Sequence[Guess], *, epsilon: float, guarantee_text: str = "", title: str | None = None
) -> Figure:
    """Draw how often questions about one person are answered rightly: blindly, from private and from exact results.

    Args:
        found: the questions, the first on top.
        epsilon: of the private results.
        guarantee_text, title: written below and above the figure.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no questions.

    >>> figure = best_guesses([Guess("tea or milk", 0.5, 0.6, 0.73, 1.0)], epsilon=1.0)
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['tea or milk']
    """
    if not found:
        raise ValueError("no guesses to draw")
    figure = new_figure(7.2, 1.3 + 0.42 * len(found))
    axis = figure.subplots()

    def points(part: str) -> list[tuple[float, int]]:
        return [(100 * getattr(one, part), place) for place, one in enumerate(found)]

    marks = (
        Marks("blind guess", points("blind"), "o", "#777777", {"markersize": 8, "fillstyle": "none"}),
        Marks(f"best guess, private (ε = {epsilon:g})", points("best"), "o", PALETTE[0], {"markersize": 8}),
        Marks("the promise: never beyond", points("bound"), "|", "black", {"markersize": 17, "markeredgewidth": 2.5}),
        Marks("exact results", points("exact"), "X", PALETTE[1], {"markersize": 9}),
    )  # fmt: skip
    lines = [(100 * one.blind, 100 * one.exact) for one in found]
    frame.draw_marks(axis, [one.question for one in found], lines, marks)
    style(axis, False, False)
    axis.set_xlim(0, 104)
    axis.set_xticks(range(0, 101, 20), [f"{share} %" for share in range(0, 101, 20)])
    axis.set_xlabel("guesses that are right")
    legend_below(figure, ncols=4, handletextpad=0.3, columnspacing=1.2)
    return finished(figure, title, guarantee_text)

"""Command lines whose items are declared to be public."""

from __future__ import annotations

from collections.abc import Sequence

RELEASES = ("rank", "aggregate", "privatize", "leaderboard")


def declared(words: Sequence[str], items: str | None = "seen") -> list[str]:
    """A command line; a private release that says nothing of its items declares these.

    >>> declared(["rank", "votes.csv", "--epsilon", "1"])
    ['rank', 'votes.csv', '--epsilon', '1', '--items', 'seen']
    """
    words = list(words)
    line = " ".join(map(str, words))
    private = line.startswith(RELEASES) and "--help" not in line and "--method none" not in line
    return [*words, *(("--items", items) if private and items and "--items" not in words else ())]

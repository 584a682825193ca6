"""What remembers the published steps of a leaderboard outside of its state: a small file beside it, or a ledger.

A witness of a step is a keyed hash of what was published for it, of all counts behind it and of a note on the rows
that were counted; it reveals nothing without the key of the state. A state that was put back from an older copy
lacks steps that were published: their witnesses tell whether drawing them again gives what was published.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol, runtime_checkable

from privrank_jax._whole_file import leftovers, whole_file

_FIRST_WORDS = "published steps of the leaderboard"


@runtime_checkable
class Memory(Protocol):
    """What remembers published steps.

    Attributes:
        path: the file.
    """

    path: Path

    def witnesses(self, board: str) -> list[str]:
        """Witnesses of the published steps of a leaderboard, in order.

        Args:
            board: its identifier.
        """
        ...

    def remember(self, board: str, witnesses: list[str]) -> None:
        """Keep those of steps that are not remembered yet, on disk when this returns.

        Args:
            board: its identifier.
            witnesses: of all of its published steps.
        """
        ...


class FileBeside:
    """The file of that name and ``.published`` beside a state: a line of its leaderboard, and a witness per line.

    Args:
        state: the file of the state.
    """

    def __init__(self, state: str | os.PathLike[str]) -> None:
        self.path = Path(f"{os.fspath(state)}.published")

    def board(self) -> str | None:
        """Identifier of the leaderboard; None if there is no file."""
        return self._lines()[0].removeprefix(f"{_FIRST_WORDS} ") if self.path.exists() else None

    def any(self) -> bool:
        """Whether it remembers steps, of any leaderboard."""
        return self.path.exists() and len(self._lines()) > 1

    def witnesses(self, board: str) -> list[str]:
        """Witnesses of the published steps of a leaderboard, in order."""
        return self._lines()[1:] if self.board() == board else []

    def remember(self, board: str, witnesses: list[str]) -> None:
        """Keep these, and no other ones."""
        lines = [f"{_FIRST_WORDS} {board}", *witnesses]
        if self.path.exists() and lines == self._lines():
            return
        for unfinished in leftovers(self.path):  # the state is locked, so nobody is writing them
            unfinished.unlink()
        with whole_file(self.path) as temporary:
            temporary.touch(mode=0o600)
            temporary.write_text("".join(f"{line}\n" for line in lines), "ascii")

    def _lines(self) -> list[str]:
        return self.path.read_text("ascii", "replace").splitlines() or [""]

"""Some sixty faults that tests of the quick tier must notice, in each file that privacy depends on: ``faults.txt``.

``python -m tests.mutants`` makes each of them in a copy of the sources, runs the tests that it names, and prints which
were killed and which survived; words after it choose faults whose line contains one of them. It is for the thorough
tier. :mod:`tests.test_mutants` checks that none is stale.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from tests.sources import PACKAGE


@dataclasses.dataclass(frozen=True)
class Mutant:
    """``old`` stands once in ``file``, a path within the package; with ``new`` in its place, ``tests`` must fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {self.old} => {self.new}"

    @property
    def stale(self) -> bool:
        """Whether the file has changed so that the mutant can't be made."""
        path = PACKAGE / self.file
        return not path.exists() or path.read_text(encoding="utf-8").count(self.old) != 1


def _listed() -> Iterator[Mutant]:
    file, tests = "", ""
    for line in (Path(__file__).parent / "faults.txt").read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("  "):
            old, _, new = line.strip().partition(" =>")
            yield Mutant(file, old, new.strip(), tuple(tests.split()))
        else:
            file, tests = line.split(": ")


MUTANTS = tuple(_listed())

"""What a mutant is: one wrong line in a file that the privacy of results depends on, and the tests that must fail."""

from __future__ import annotations

import dataclasses

from tests.sources import PACKAGE


@dataclasses.dataclass(frozen=True)
class Mutant:
    """``old`` stands once in ``file``, a path within the package; with ``new`` in its place, ``tests`` must fail."""

    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.file}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    @property
    def stale(self) -> bool:
        """Whether the file has changed so that the mutant can't be made."""
        path = PACKAGE / self.file
        return not path.exists() or path.read_text(encoding="utf-8").count(self.old) != 1


def mutants_of(
    file: str, tests: str | tuple[str, ...], *changes: tuple[str, str]
) -> tuple[Mutant, ...]:
    """Mutants of one file that the same tests must kill, from pairs of old and new text."""
    tests = (tests,) if isinstance(tests, str) else tests
    return tuple(Mutant(file, old, new, tests) for old, new in changes)

"""``python -m tests.same_numbers record FILE`` before a refactoring, and ``check FILE`` after it.

``--only GLOB`` picks doors, as in ``--only 'models/*'``. Ends with 1 where numbers differ by more than rounding.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

# The settings of the tests: float64, plain code, in which refactorings show least, and a cache of compiled programs.
import tests.conftest  # noqa: F401
from tests.same_numbers import numbers
from tests.same_numbers.doors import DOORS, Door


def main() -> int:
    """Record, or compare with a recording."""
    parser = argparse.ArgumentParser(prog="tests.same_numbers", description=__doc__)
    parser.add_argument("task", choices=("record", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", default="*", help="doors whose name matches this pattern")
    asked = parser.parse_args()
    gc.enable()

    def wanted(door: str) -> bool:
        return fnmatch.fnmatchcase(door, asked.only)

    if asked.task == "record":
        return _record(asked.file, wanted)
    return _check(asked.file, wanted)


def _parts(wanted: Callable[[str], bool]) -> Iterator[tuple[dict[str, numbers.Numbers], str]]:
    """The numbers of each part, and a summary of it."""
    parts: dict[str, dict[str, Door]] = {}
    for name, door in DOORS.items():
        if wanted(name):
            parts.setdefault(name.partition("/")[0], {})[name] = door
    for part, doors in parts.items():
        start = time.perf_counter()
        found = {name: _run(door) for name, door in doors.items()}
        arrays = [array for one in found.values() for array in one.values()]
        failed = sum("failed" in one for one in found.values())
        summary = (
            f"{part}: {len(doors)} doors, {len(arrays):,} arrays, {sum(map(np.size, arrays)):,} numbers, "
            f"{time.perf_counter() - start:.0f} s{f', {failed} FAILED' * bool(failed)}"
        )
        yield found, summary


def _run(door: Door) -> numbers.Numbers:
    try:
        return door()
    except Exception as error:
        return {"failed": np.asarray(f"{type(error).__name__}: {error}")}


def _record(file: Path, wanted: Callable[[str], bool]) -> int:
    recorded: dict[str, numbers.Numbers] = {}
    for found, summary in _parts(wanted):
        print(summary, flush=True)
        for name, one in found.items():
            if "failed" in one:
                print(f"  {name}: {str(one['failed'])[:200]}")
        recorded |= found
    numbers.write(file, recorded)
    return any("failed" in one for one in recorded.values())


def _check(file: Path, wanted: Callable[[str], bool]) -> int:
    before, beyond = numbers.read(file, wanted), 0
    gone = {name for name in before if name not in DOORS}
    for name in sorted(gone):
        print(f"  ! {name}: the door is gone")
    for found, summary in _parts(wanted):
        differences = [
            one
            for door, after in found.items()
            for one in numbers.compare(door, before.get(door, {}), after)
        ]
        worst = max((one.relative for one in differences), default=0.0)
        within = f"within {worst:.1e}, {len(differences):,} arrays not bit for bit"
        print(f"{summary}: {within if differences else 'bit for bit'}", flush=True)
        for one in differences:
            print(f"  {'! ' * one.beyond}{one.name}: {one.relative:.1e} {one.words}".rstrip())
        beyond += sum(one.beyond for one in differences)
    print(f"{beyond + len(gone)} differences beyond rounding")
    return bool(beyond or gone)


if __name__ == "__main__":
    sys.exit(main())

"""Print what breaks each rule."""

from __future__ import annotations

import sys

from tests.house import RULES


def main() -> int:
    """Print what breaks each rule."""
    total = 0
    for rule in RULES:
        found = rule()
        total += len(found)
        print(f"{rule.__name__}: {len(found)}")
        for line in found:
            print(f"  {line}")
    return bool(total)


if __name__ == "__main__":
    sys.exit(main())

"""Numbers that every option and every column of a file is held to."""

from __future__ import annotations

# ε: below is noise alone, beyond protects nobody, and sums over users stay finite.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e9

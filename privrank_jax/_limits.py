"""Limits for the numbers in options and in columns of files."""

from __future__ import annotations

# ε: smaller values leave only noise, larger ones give no protection; sums over users stay finite.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e9

"""What the tests of tables share."""

from __future__ import annotations

import collections

VOTES = "SELECT * FROM (VALUES ('u', 'a', 'b', '0'), ('v', 'b', 'a', '1'), {}) t(\"user\", winner, loser, tie)"


def kept(expression) -> collections.Counter:
    """The rows of a bounded table, as a multiset."""
    return collections.Counter(tuple(row.values()) for row in expression.to_pyarrow().to_pylist())

"""Rankings that look like none are counted in an engine as the rule says, however many ranks a user gave."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_rankings
from tests.parquet import as_parquet
from tests.reference import cells as reference


@pytest.mark.parametrize("items", [31, 32, 70])
def test_rankings_of_any_length_are_counted(write, backend, items):
    """Whole ones, ones with ties, ones that begin with the last rank, and ones like nothing.

    Of more than 31 items one has 32 ranks, whose powers of 2 add up to those of 31 whole ones.
    """
    whole = [list(range(1, items + 1)), [1] * items, [*range(2, items + 1), 1]]
    bad = [[2] * items, [None, *range(2, items + 1)], [*range(2, items + 1), items]]
    if items > 31:
        bad[0] = [1, 1, 1, *range(3, 32), *[None] * (items - 32)]
    for rows in (
        whole + bad,
        whole + bad + bad[:1],
        bad,
        [[1] * items, [2] * items],
        [[2] * items],
    ):
        lines = [",".join("" if rank is None else str(rank) for rank in row) for row in rows]
        named = [f"u{k},{line}" for k, line in enumerate(lines)]
        path = write(*named, header=",".join(["user", *(f"i{k}" for k in range(items))]))
        unlike, users = reference.unlike(rows, left_out=False)
        for read in (read_rankings, lambda path: read_rankings(as_parquet(path))):
            if 2 * unlike <= users:
                assert read(path).num_users == len(rows)
                continue
            with pytest.raises(DataError, match=f"the cells of {unlike} of {users} users"):
                read(path)

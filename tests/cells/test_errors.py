"""What readers raise is one class, of whichever reader, and a bad cell never leaves a reader."""

from __future__ import annotations

import pytest

from privrank_jax import datasets
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax.tables import scan_comparisons


def test_both_readers_raise_the_error_that_datasets_exports(tmp_path):
    assert datasets.DataError is DataError
    assert issubclass(DataError, ValueError)
    assert not issubclass(BadCell, DataError)
    path = tmp_path / "votes.csv"
    path.write_text("user,winner,loser\nu,a,a\n")
    with pytest.raises(DataError, match="compared with itself") as read:
        datasets.read_comparisons(path)
    with pytest.raises(DataError, match="compared with itself") as scanned:
        scan_comparisons(path)
    assert type(read.value) is type(scanned.value) is DataError

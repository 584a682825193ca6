"""Read the times of comparisons from a column of their file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
from jaxtyping import Shaped

from privrank_jax._cells.errors import DataError
from privrank_jax.datasets.formats import open_source

_SECONDS = re.compile(r"-?\d{1,12}(\.\d{1,9})?", re.ASCII)


def read_times(path: str | os.PathLike[str], column: str) -> Shaped[np.ndarray, "rows"]:
    """Read the time of each row of a file of comparisons, in the order of the file.

    Args:
        path: as for :func:`~privrank_jax.datasets.read_comparisons`.
        column: column of times: ISO 8601, such as 2024-05-31 or 2024-05-31T18:30:00Z, or seconds since 1970. Times
            without a zone are taken as UTC.

    Returns:
        ``(N,)`` datetime64 in microseconds, UTC.

    Raises:
        DataError: no such file or column, or a cell that holds no time; the message says where.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = path.write_text("winner,loser,when\\na,b,2024-05-31\\n")
    >>> read_times(path, "when").astype(str).tolist()
    ['2024-05-31T00:00:00.000000']
    """
    source = open_source(path, {"time": column})
    place = source.positions["time"]

    def times() -> Iterator[np.datetime64]:
        for row in source.rows:
            found = parsed_time(row[place] or "")
            if found is None:
                raise DataError(
                    f"{source.name}, {source.where()}, column {column!r}: {row[place]!r} is no time: write it as "
                    "2024-05-31, 2024-05-31T18:30:00Z, or in seconds since 1970"
                )
            yield found

    return np.fromiter(times(), "datetime64[us]")


def parsed_time(text: str) -> np.datetime64 | None:
    """The time that a text denotes; None if it denotes none.

    Args:
        text: ISO 8601, or seconds since 1970.

    >>> str(parsed_time("2024-05-31 18:30+02:00")), parsed_time("noon") is None
    ('2024-05-31T16:30:00.000000', True)
    """
    text = text.strip()
    if _SECONDS.fullmatch(text) and not re.fullmatch(r"\d{8}", text):
        return np.datetime64(round(float(text) * 1e6), "us")
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    if found.tzinfo is not None:
        found = found.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(found, "us")

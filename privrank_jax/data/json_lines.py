"""JSON objects of a file, one by one: JSON Lines (.jsonl, .jsonl.gz), a list of them (.json), rows of Parquet."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privrank_jax.data.errors import DataError
from privrank_jax.data.file import File

SUFFIXES = (".jsonl", ".jsonl.gz")  # of files that are written
_TEXTS = (".jsonl", ".ndjson", ".json")
_ROWS = 4096  # that are held at once


def is_json_lines(path: str | Path) -> bool:
    """Whether a file is one of JSON Lines, by its name.

    >>> is_json_lines("prefs.jsonl"), is_json_lines("prefs.JSONL.gz"), is_json_lines("votes.csv.gz")
    (True, True, False)
    """
    return Path(path).name.lower().endswith(SUFFIXES)


class JsonLines:
    """The objects of a file, with where they stand; a blank line is skipped.

    Args:
        path: a .jsonl, .ndjson, .json or .parquet file; text may be compressed (.gz).

    Attributes:
        line: number of the line last read, or of the object or row.
        size: bytes of text read so far.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = File.of(path)
        self._suffix = self.path.checked((*_TEXTS, ".parquet"), "give a .jsonl or .jsonl.gz file")
        self.line, self.size = 0, 0
        self._what = "line"
        self._digest = hashlib.sha256()

    @property
    def checksum(self) -> str:
        """SHA-256 of the text read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for line in self._rows() if self._suffix == ".parquet" else self._lines():
            self.line += 1
            self.size += len(line)
            self._digest.update(line.encode("utf-8", "surrogatepass"))
            if line.strip():
                yield self._object(line)

    def _lines(self) -> Iterator[str]:
        """Lines of text; of a list of objects one for each."""
        lines = self.path.lines()
        if self._suffix != ".json":
            yield from lines
            return
        first = next((line for line in lines if line.strip()), "")
        listed = None
        if first.lstrip().startswith("["):
            listed = self._list(first + "".join(lines))
        elif first.strip() == "{" or only_list(_or_none(first)):
            whole = self._list(first + "".join(lines))
            listed = only_list(whole) or [whole]
        if listed is None:
            yield from itertools.chain([first], lines)
            return
        self._what = "object"
        yield from map(json.dumps, listed)

    def _list(self, text: str) -> Any:
        try:
            return json.loads(text, object_pairs_hook=unique, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.path.name}: not a JSON list of objects ({error})") from error

    def _rows(self) -> Iterator[str]:
        """Rows of Parquet, each as a line."""
        self._what = "row"
        try:
            from pyarrow import ArrowException, parquet
        except ImportError as error:
            raise DataError(
                f'{self.path.name}: reading Parquet needs an extra: pip install "privrank-jax[tables]"'
            ) from error
        try:
            with parquet.ParquetFile(self.path.path) as file:
                for batch in file.iter_batches(_ROWS):
                    yield from (json.dumps(row, default=self._text) for row in batch.to_pylist())
        except ArrowException as error:
            raise DataError(f"{self.path.name} cannot be read as Parquet: {error}") from error

    def _text(self, value: Any) -> str:
        """What JSON has no form for, as text: dates and decimals."""
        if isinstance(value, bytes):
            self.line += 1
            raise self.fault("a cell holds bytes: store it as text")
        return str(value)

    def _object(self, line: str) -> dict[str, Any]:
        constant = _nothing if self._suffix == ".parquet" else _no_number  # where blanks may be NaN
        try:
            found = json.loads(line, object_pairs_hook=unique, parse_constant=constant)
        except json.JSONDecodeError as error:
            raise self.fault(
                f"not JSON ({error.msg}, column {error.colno}): write one JSON object per line"
            ) from error
        except (ValueError, RecursionError) as error:
            raise self.fault(f"not JSON ({error}): write one JSON object per line") from error
        if not isinstance(found, dict):
            raise self.fault(
                f"{type(found).__name__} where an object is expected: write one JSON object per line, "
                'as in {"prompt": "...", "chosen": "...", "rejected": "..."}'
            )
        return found

    def fault(self, what: str) -> DataError:
        """An error that says where it is."""
        return DataError(f"{self.path.name}, {self._what} {self.line}: {what}")


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which each field stands there once; ``ValueError`` for any other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} stands there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _nothing(_: str) -> None:
    return None


def _or_none(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def only_list(found: Any) -> list[Any] | None:
    """The list of objects that is the only value of an object."""
    only = next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else None
    return only if isinstance(only, list) and only and isinstance(only[0], dict) else None

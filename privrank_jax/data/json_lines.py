"""JSON objects of a file, one by one: JSON Lines (.jsonl, .jsonl.gz), a list of them (.json), rows of Parquet."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

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

    def __init__(self, path: Path) -> None:
        self._suffix = File(path).checked((*_TEXTS, ".parquet"), "give a .jsonl or .jsonl.gz file")
        self.path, self.line, self.size = path, 0, 0
        self._what = "line"
        self._digest = hashlib.sha256()

    @property
    def checksum(self) -> str:
        """SHA-256 of the text read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            for line in self._rows() if self._suffix == ".parquet" else self._lines():
                self.line += 1
                self.size += len(line)
                self._digest.update(line)
                if line.strip():
                    yield self._object(line)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or f"{error}, after line {self.line}"
            raise DataError(f"{self.path} cannot be read: {why}") from error

    def _lines(self) -> Iterator[bytes]:
        """Lines of text; of a list of objects one for each."""
        with opened(self.path) as file:
            first = file.readline() if self._suffix == ".json" else b""
            listed = self._list(first + file.read()) if first.strip()[:1] == b"[" else None
            if listed is None:
                yield from (first, *file) if first else file
                return
        self._what = "object"
        yield from (json.dumps(one).encode() for one in listed)

    def _list(self, text: bytes) -> list[Any]:
        try:
            return json.loads(text, object_pairs_hook=unique, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{self.path.name}: not a JSON list of objects ({error})") from error

    def _rows(self) -> Iterator[bytes]:
        """Rows of Parquet, each as a line."""
        self._what = "row"
        try:
            from pyarrow import ArrowException, parquet
        except ImportError as error:
            raise DataError(
                f'{self.path.name}: reading Parquet needs an extra: pip install "privrank-jax[tables]"'
            ) from error
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(_ROWS):
                    yield from (json.dumps(row, default=str).encode() for row in batch.to_pylist())
        except ArrowException as error:
            raise DataError(f"{self.path.name} cannot be read as Parquet: {error}") from error

    def _object(self, line: bytes) -> dict[str, Any]:
        if self.line == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            found = json.loads(line, object_pairs_hook=unique, parse_constant=_no_number)
        except UnicodeDecodeError as error:
            raise self.fault("bytes that are not UTF-8: save the file in UTF-8") from error
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


def opened(path: Path) -> IO[bytes]:
    """The text of a file, whether it is compressed or not."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


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

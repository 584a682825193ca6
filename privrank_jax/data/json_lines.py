"""JSON Lines: one JSON object a line, as text or compressed (.jsonl, .jsonl.gz); read as a stream."""

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

SUFFIXES = (".jsonl", ".jsonl.gz")


def is_json_lines(path: str | Path) -> bool:
    """Whether a file is one of JSON Lines, by its name.

    >>> is_json_lines("prefs.jsonl"), is_json_lines("prefs.JSONL.gz"), is_json_lines("votes.csv.gz")
    (True, True, False)
    """
    return Path(path).name.lower().endswith(SUFFIXES)


class JsonLines:
    """The objects of a file, with where they stand; a blank line is skipped.

    Args:
        path: a .jsonl or .jsonl.gz file.

    Attributes:
        line: number of the line last read.
        size: bytes of text read so far.
    """

    def __init__(self, path: Path) -> None:
        File(path).checked((".jsonl", ".gz"), "give a .jsonl or .jsonl.gz file")
        self.path, self.line, self.size = path, 0, 0
        self._digest = hashlib.sha256()

    @property
    def checksum(self) -> str:
        """SHA-256 of the text read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with opened(self.path) as file:
                for line in file:
                    self.line += 1
                    self.size += len(line)
                    self._digest.update(line)
                    if line.strip():
                        yield self._object(line)
        except (OSError, EOFError, zlib.error) as error:
            why = getattr(error, "strerror", None) or f"{error}, after line {self.line}"
            raise DataError(f"{self.path} cannot be read: {why}") from error

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
        return DataError(f"{self.path.name}, line {self.line}: {what}")


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

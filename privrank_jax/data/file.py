"""A file and how its bytes become text: compressed or not, in a known encoding, or standard input.

Readers take what nobody told them from the first bytes and the header alone, which show the form of a file and no
answer. They guess no encoding: in Latin-1 every sequence of bytes is text, though often the wrong one.
"""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import functools
import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from privrank_jax.data.errors import DataError

SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", **dict.fromkeys(UTF_16, "utf-16")}
_GZIP = b"\x1f\x8b"
_FORMS = {  # of standard input, by its start; numbers of candidates and seats stand first in .blt
    ".parquet": re.compile(rb"PAR1"),
    ".json": re.compile(rb"[{\[]"),
    ".blt": re.compile(rb"\d{1,9} +\d{1,9} *(#.*)?\r?\n"),
}


class File(os.PathLike[str]):
    """A file with the form of its text, for every reader that takes a path.

    Args:
        path: of the file, whose suffix says what it is, if need be before ``.gz``; ``"-"``: standard input.
        separator: the character between two cells, or its name (``"tab"``, ``"semicolon"``, ...); None: that of the
            suffix, or, where the header has none, another one that it has.
        encoding: of the text, as Python names it, such as ``"latin-1"``; None: UTF-8, or UTF-16 with its mark.

    Attributes:
        opened: tables that were opened for their header, by sheet, with their origins; who reads one takes it out.

    Raises:
        DataError: a separator of more than one character, or an unknown encoding.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        separator: str | None = None,
        encoding: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.separator = None if separator is None else _separator(separator)
        self.encoding = None if encoding is None else _encoding(encoding)
        self.opened: dict[str | int | None, tuple[Origin, Any]] = {}

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> File:
        """The file itself, or one at this path of which nothing else is said."""
        return path if isinstance(path, cls) else cls(path)

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return self.name if self.piped else str(self.path)

    @property
    def piped(self) -> bool:
        """Whether it is standard input."""
        return str(self.path) == "-"

    @property
    def exists(self) -> bool:
        """Whether there is such a file, or folder."""
        try:
            return self.path.exists()
        except (OSError, ValueError):  # a name that no file can have
            return False

    @property
    def name(self) -> str:
        """Name of the file, for messages."""
        return "standard input" if self.piped else self.path.name

    def checked(self, suffixes: Collection[str], advice: str) -> str:
        """The suffix of a file that is there and has one of these; ``advice`` is what to give instead."""
        if not (self.piped or self.exists):
            raise DataError(f"{self}: no such file; check the path")
        if not (self.piped or self.path.is_file()):
            raise DataError(
                f"{self} is a folder or a stream: give a file, or pipe the data in and give -"
            )
        if self.suffix not in suffixes and self.separator is None:
            raise DataError(
                f"{self.name}: unknown kind of file ({self.suffix or 'no suffix'}); {advice}, or its `separator`"
            )
        return self.suffix

    @property
    def suffix(self) -> str:
        """The suffix that says what the file is, in lower case; of standard input by its first bytes."""
        if not self.piped:
            packed = self.path.suffix.lower() == ".gz"
            return (self.path.with_suffix("") if packed else self.path).suffix.lower()
        start = self.content[:4096].lstrip(codecs.BOM_UTF8 + b" \t\r\n")
        return next((suffix for suffix, form in _FORMS.items() if form.match(start)), ".csv")

    def raw(self) -> io.BufferedIOBase:
        """The bytes of the file as they are stored, from its start."""
        return io.BytesIO(self._piped) if self.piped else self.path.open("rb")

    @functools.cached_property
    def content(self) -> bytes:
        """All bytes, decompressed."""
        try:
            with self.raw() as raw:
                found = raw.read()
            return gzip.decompress(found) if found.startswith(_GZIP) else found
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{self.name} is damaged: compress it again") from error
        except OSError as error:
            raise DataError(f"{self} cannot be read: {error.strerror or error}") from error

    def lines(self) -> Iterator[str]:
        """Lines of the text, with their ends; :class:`DataError` if it cannot be read or decoded."""
        return io.TextIOWrapper(io.BytesIO(self.content), self._codec, newline="")

    @functools.cached_property
    def _codec(self) -> str:
        """The codec of the content, all of which it can decode."""
        marked = (name for mark, name in _MARKS.items() if self.content.startswith(mark))
        codec = next(marked, self.encoding or "utf-8")
        try:
            text, wrong = self.content.decode(codec), "\0"
        except UnicodeDecodeError as error:
            text, wrong = self.content[: error.start].decode(codec, "ignore") + "\0", ""
        if "\0" in text:
            line = text.count("\n", 0, text.index("\0")) + 1
            what = "a NUL character (is it a spreadsheet?)" if wrong else f"no {codec.upper()} text"
            raise DataError(
                f"{self.name}, line {line}: {what}: save the file as text in UTF-8, or name its encoding, such as "
                "encoding='latin-1' or encoding='utf-16'"
            )
        return codec

    @functools.cached_property
    def _piped(self) -> bytes:
        """What was piped in, read once."""
        if sys.stdin is None or sys.stdin.isatty():
            raise DataError("standard input is a keyboard: pipe data in, or give a file")
        stream: Any = getattr(sys.stdin, "buffer", None)
        return sys.stdin.read().encode() if stream is None else stream.read()


def checksum(content: Any) -> str:
    """The SHA-256 of data in memory: arrays, numbers and texts, also in tuples, lists, mappings and dataclasses."""
    import numpy as np  # not before data are read

    digest = hashlib.sha256()

    def add(one: Any) -> None:
        if dataclasses.is_dataclass(one):
            one = {field.name: getattr(one, field.name) for field in dataclasses.fields(one)}
        if isinstance(one, Mapping):
            one = [part for key in sorted(one) for part in (key, one[key])]
        if isinstance(one, np.ndarray) and one.dtype != object:
            digest.update(f"{one.dtype.str} {one.shape} ".encode())
            digest.update(np.ascontiguousarray(one).tobytes())
        elif isinstance(one, (tuple, list, np.ndarray)):
            digest.update(f"{len(one)} ".encode())
            for part in one:
                add(part)
        else:
            digest.update(f"{one!r} ".encode("utf-8", "surrogatepass"))

    add(content)
    return digest.hexdigest()


class Origin:
    """Where data come from, for a ledger, which knows them by the checksum of their content.

    Args:
        file: that was read; None for other data.
        sha256: of these, or what computes it when it is asked for; "" for an engine's table.
    """

    def __init__(self, file: File | None, sha256: str | Callable[[], str] = "") -> None:
        self._file, self._sha256, self._stamp = file, sha256, _stamp(file)

    @functools.cached_property
    def sha256(self) -> str:
        """The checksum of the file that was read; :class:`DataError` if it has changed since."""
        if self._file is None:
            return self._sha256 if isinstance(self._sha256, str) else self._sha256()
        with self._file.raw() as raw:
            digest = hashlib.file_digest(raw, "sha256")
        self.check_unchanged()
        return digest.hexdigest()

    def check_unchanged(self) -> None:
        """Raise :class:`DataError` if the file has changed since it was read."""
        if self._file is not None and _stamp(self._file) != self._stamp:
            raise DataError(f"{self._file.name} changed while it was read: start again")


def _stamp(file: File | None) -> tuple[int, ...]:
    """What tells one version of a file from another."""
    if file is None or file.piped or not file.exists:
        return ()
    found = file.path.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _separator(given: str) -> str:
    found = SEPARATORS.get(given.strip().casefold() or given, given)
    if len(found) != 1 or found in '"\r\n\0' or found.isalnum():
        names = ", ".join(name for name in SEPARATORS if name.isalpha())
        raise DataError(
            f"separator={given!r} is none: give one character, no letter, digit or double quote, or one of {names}"
        )
    return found


def _encoding(given: str) -> str:
    """The name by which Python knows an encoding of text."""
    with contextlib.suppress(LookupError, ValueError):
        name = codecs.lookup(given.strip()).name
        if "a,\n".encode(name).decode(name) == "a,\n":
            return name
    raise DataError(
        f"encoding={given!r} is unknown: name one that Python knows, such as utf-8, utf-16, latin-1 or cp1252"
    )

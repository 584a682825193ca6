"""A file and how its bytes become text: compressed or not, in a known encoding, or standard input.

What is not said is read off the first bytes and the header alone, which show the form of a file and no answer. An
encoding without a mark is never guessed: in Latin-1 every sequence of bytes is text, though often the wrong one.
"""

from __future__ import annotations

import codecs
import functools
import gzip
import hashlib
import importlib
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from privrank_jax.data.errors import DataError

STANDARD_INPUT = "-"
_ADVICE = {
    **dict.fromkeys((".xls", ".ods"), "save the sheet as CSV or .xlsx"),
    **dict.fromkeys((".zip", ".bz2", ".xz"), "unpack it first, or compress the file by gzip"),
    **dict.fromkeys((".feather", ".arrow"), "write it as Parquet"),
    ".txt": "name the character between its cells by `separator`",
}
_STREAM = re.compile(r"/dev/(stdin|fd/\d+)|/proc/(self|\d+)/fd/\d+")
COMPRESSED = {".gz": "gzip", ".zst": "Zstandard"}
SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_SHOWN = {"utf-8-sig": "UTF-8", "utf-16": "UTF-16"}
_GZIP, _ZSTANDARD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_BLT = re.compile(
    rb"\d{1,9} +\d{1,9} *(#.*)?\r?\n"
)  # numbers of candidates and seats, first in .blt
_LATIN_1, _UTF_16 = "encoding='latin-1'", "encoding='utf-16'"


@dataclass(frozen=True, eq=False)
class File(os.PathLike[str]):
    """A file with the form of its text, for every reader that takes a path.

    Attributes:
        path: of the file, whose suffix says what it is, if need be before ``.gz`` or ``.zst``; ``"-"``: standard input,
            which is read once and kept in memory.
        separator: the character between two cells, or its name (``"tab"``, ``"semicolon"``, ...); None: that of the
            suffix, or, where the header has none, another one that it has.
        encoding: of the text, as Python names it, such as ``"latin-1"``; None: UTF-8, or UTF-16 with its mark.

    Raises:
        DataError: a separator of more than one character, or an unknown encoding.

    >>> File("votes.txt", separator="semicolon", encoding="cp1252").suffix
    '.txt'
    """

    path: Path
    separator: str | None = None
    encoding: str | None = None
    _codec: str = "utf-8"  # of the text last read

    def __init__(
        self,
        path: str | os.PathLike[str],
        separator: str | None = None,
        encoding: str | None = None,
    ) -> None:
        object.__setattr__(self, "path", Path(path))
        object.__setattr__(self, "separator", _separator(separator))
        object.__setattr__(self, "encoding", None if encoding is None else _encoding(encoding))

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
        return str(self.path) == STANDARD_INPUT

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

    @functools.cached_property
    def opened(self) -> dict[str | int | None, tuple[Origin, Any]]:
        """Tables that were opened for their header, by sheet, each with its origin; who reads one takes it out."""
        return {}

    @functools.cached_property
    def content(self) -> bytes:
        """All bytes, decompressed; of standard input as they were piped in, read once."""
        if not self.piped:
            try:
                with self.binary() as binary:
                    return binary.read()
            except damages() as error:
                raise self._damaged() from error
            except OSError as error:
                raise DataError(f"{self} cannot be read: {error.strerror or error}") from error
        if sys.stdin is None or sys.stdin.isatty():
            raise DataError(
                "standard input is a keyboard: pipe data into the command, or give a file"
            )
        stream: Any = getattr(sys.stdin, "buffer", None)
        return sys.stdin.read().encode() if stream is None else stream.read()

    def checked(self, suffixes: Collection[str], advice: str) -> str:
        """The suffix, in lower case, of a file that is there and has one of these.

        Args:
            suffixes: those that are read.
            advice: what to give instead of others.

        Raises:
            DataError: there is no such file, or it is of another kind.
        """
        if not self.piped:
            _check_path(self.path)
        suffix = self.suffix
        if suffix not in suffixes and self.separator is None:
            raise DataError(
                f"{self.name}: unknown kind of file ({suffix or 'no suffix'}); {_ADVICE.get(suffix, advice)}"
            )
        return suffix

    @property
    def stamp(self) -> tuple[int, ...]:
        """What tells one version of the file from another."""
        try:
            found = self.path.stat()
        except (OSError, ValueError):
            return ()
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    @functools.cached_property
    def compression(self) -> str | None:
        """``".gz"``, ``".zst"`` or None; of standard input by its first bytes."""
        if not self.piped:
            suffix = self.path.suffix.lower()
            return suffix if suffix in COMPRESSED else None
        marks = {".gz": _GZIP, ".zst": _ZSTANDARD}
        return next((end for end, mark in marks.items() if self.content.startswith(mark)), None)

    @functools.cached_property
    def suffix(self) -> str:
        """The suffix that says what the file is, in lower case; of standard input by its first bytes."""
        if self.piped:
            start = self._start().lstrip(codecs.BOM_UTF8 + b" \t\r\n")
            if self.separator is None and _BLT.match(start):
                return ".blt"
            kind = ".json" if start[:1] in (b"{", b"[") else ".csv"
            return ".parquet" if start[:4] == _PARQUET else kind
        inner = self.path.with_suffix("") if self.compression else self.path
        return inner.suffix.lower()

    def _codec_of(self, start: bytes) -> str:
        """Name of the encoding of a text that starts so; it skips a mark at the start.

        Raises:
            DataError: another encoding is marked than was said.
        """
        marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
        if self.encoding is None:
            return marked or "utf-8"
        if marked is None:
            return self.encoding
        if self.encoding.split("-")[:2] != marked.split("-")[:2]:
            raise DataError(
                f"{self.name} starts with the mark of {_SHOWN[marked]}: leave out encoding={self.encoding!r}"
            )
        return marked

    @property
    def reading(self) -> tuple[str, ...]:
        """What was detected rather than said, one sentence each; nothing of it depends on answers."""
        found = []
        if self.piped and self.compression:
            found.append(f"standard input is compressed by {COMPRESSED[self.compression]}")
        if self.encoding is None and self._codec == "utf-16":
            found.append("the text is UTF-16, by the mark at its start")
        return tuple(found)

    def binary(self) -> IO[bytes]:
        """The bytes of the file, decompressed, from its start.

        Raises:
            DataError: nothing here can decompress it.
        """
        held: Any = io.BytesIO(self.content) if self.piped else self.path
        if self.compression == ".gz":
            return gzip.open(held)  # pyright: ignore[reportReturnType]
        if self.compression == ".zst":
            return _zstandard(self.name, held)
        return held if self.piped else self.path.open("rb")

    def lines(self) -> Iterator[str]:
        """Lines of the text, with their ends.

        Raises:
            DataError: it cannot be read, decompressed or decoded.
        """
        try:
            with self.binary() as opened:
                raw: Any = opened
                binary = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
                object.__setattr__(self, "_codec", self._codec_of(binary.peek(4)[:4]))
                text = io.TextIOWrapper(binary, self._codec, newline="")
                try:
                    for line in text:
                        if "\0" in line:
                            raise self._with_nul()
                        yield line
                finally:
                    text.detach()  # which opened it closes it
        except UnicodeError as error:
            raise self._undecodable() from error
        except damages() as error:
            raise self._damaged() from error
        except OSError as error:
            raise DataError(f"{self} cannot be read: {error.strerror or error}") from error

    @property
    def _kind(self) -> str:
        return "CSV" if self.suffix in (".csv", ".tsv") else "text"

    @property
    def _shown(self) -> str:
        return _SHOWN.get(self._codec, self._codec.upper())

    def _start(self) -> bytes:
        """The first bytes, none where there is no such file."""
        try:
            with self.binary() as binary:
                return binary.read(_LONGEST_START)
        except (OSError, *damages()):
            return b""

    def _damaged(self) -> DataError:
        how = COMPRESSED.get(self.compression or "", "nothing")
        return DataError(f"{self.name} is damaged, or not compressed by {how}: compress it again")

    def _with_nul(self) -> DataError:
        return DataError(
            f"{self.name}: NUL bytes, so it is not {self._shown} text (a spreadsheet? or {_UTF_16}): save it as "
            f"{self._kind} in UTF-8",
        )

    def _undecodable(self) -> DataError:
        """The message on bytes that are no text, with the number of their line where lines end in a single byte."""
        where = ""
        if b"\0" in self._start() and self._codec != "utf-16":
            return self._with_nul()
        if self._codec in ("utf-8", "utf-8-sig"):
            try:
                with self.binary() as binary:
                    lines = enumerate(binary, start=1)
                    where = next((f", line {k}" for k, line in lines if not _is_text(line)), "")
            except (OSError, *damages()):
                return self._damaged()
        return DataError(
            f"{self.name}{where}: bytes that are not {self._shown}: save the file as {self._kind} in UTF-8, or name "
            f"its encoding, such as {_LATIN_1}",
        )


_LONGEST_START = 4096  # bytes in which the first character that is no blank must stand


def _check_path(path: Path) -> None:
    """Raise :class:`DataError` unless there is a file that can be read more than once."""
    try:
        folder, there = path.is_dir(), path.exists()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have this name"
        raise DataError(f"{path}: no such file ({why}); check the path") from error
    if folder:
        raise DataError(f"{path} is a folder: give one file in it")
    if not there:
        raise DataError(f"{path}: no such file; check the path")
    if not path.is_file() or _STREAM.fullmatch(str(path)):
        raise DataError(
            f"{path} is a stream (standard input, a pipe or a device), and data may be read more than once: write them "
            "to a file first, or pipe them in and give - for the file"
        )


class Origin:
    """Where data come from, for a ledger, which knows them by the checksum of their content.

    Args:
        file: that was read; None: ``sha256`` is given.
        sha256: of data that are no single file, or what computes it when it is asked for; "" for an engine's table.
    """

    def __init__(self, file: File | None, sha256: str | Callable[[], str] = "") -> None:
        self._file, self._sha256 = file, sha256
        self._stamp = () if file is None else file.stamp

    @functools.cached_property
    def sha256(self) -> str:
        """The checksum of the file that was read.

        Raises:
            DataError: it has changed since.
        """
        if self._file is None:
            return self._sha256 if isinstance(self._sha256, str) else self._sha256()
        if self._file.piped:
            return hashlib.sha256(self._file.content).hexdigest()
        digest = hashlib.sha256()
        with self._file.path.open("rb") as raw:
            while part := raw.read(1 << 20):
                digest.update(part)
        self.check_unchanged()
        return digest.hexdigest()

    def check_unchanged(self) -> None:
        """Raise :class:`DataError` if the file has changed since it was read."""
        if self._file is not None and not self._file.piped and self._file.stamp != self._stamp:
            raise DataError(f"{self._file.name} changed while it was read: start again")


def _is_text(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _separator(given: str | None) -> str | None:
    if given is None:
        return None
    found = SEPARATORS.get(given.strip().casefold() or given, given)
    if len(found) != 1 or found in '"\r\n\0' or found.isalnum():
        said = f"separator={given!r}"
        names = ", ".join(name for name in SEPARATORS if name.isalpha())
        raise DataError(
            f"{said} is none: give one character that is no letter, digit or double quote, or one of {names}",
        )
    return found


def _encoding(given: str) -> str:
    """The name by which Python knows an encoding of text.

    >>> _encoding("Latin1"), _encoding("UTF8")
    ('iso8859-1', 'utf-8')
    """
    try:
        name = codecs.lookup(given.strip()).name
        if "a,\n".encode(name).decode(name) == "a,\n":
            return name
    except (LookupError, ValueError):
        pass
    said = f"encoding={given!r}"
    raise DataError(
        f"{said} is unknown: name one that Python knows, such as utf-8, utf-16, latin-1 or cp1252",
    )


def damages() -> tuple[type[Exception], ...]:
    """What decompression raises on damaged bytes, besides ``OSError`` by PyArrow."""
    zstandard = sys.modules.get("compression.zstd")
    also = () if zstandard is None else (zstandard.ZstdError,)
    return (EOFError, zlib.error, gzip.BadGzipFile, *also)


def _zstandard(name: str, held: IO[bytes] | Path) -> IO[bytes]:
    """Decompressed bytes, closed with their file, by the standard library from Python 3.14 on, before by PyArrow."""
    try:
        return importlib.import_module("compression.zstd").ZstdFile(held)
    except ImportError:
        pass
    try:
        pyarrow = importlib.import_module("pyarrow")
    except ImportError as error:
        raise DataError(
            f'{name}: .zst needs Python 3.14 or PyArrow: decompress it first, or pip install "privrank-jax[tables]"'
        ) from error
    return io.BufferedReader(pyarrow.CompressedInputStream(held, "zstd"))

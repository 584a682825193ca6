"""Files that are written completely or not at all."""

from __future__ import annotations

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from privrank_jax import _interrupt

_LONGEST = 200  # bytes of a name, of the 255 that systems allow, beside which there is room for what marks it


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file next to ``path`` that replaces it on success, flushed to the disk, and else is removed."""
    target = Path(path)
    temporary = beside(target)
    try:
        yield temporary
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(target.parent)
    finally:
        temporary.unlink(missing_ok=True)


def beside(path: Path) -> Path:
    """A new name on the same disk for what is temporary; an interrupt removes what has it."""
    found = path.with_name(f".{_short(path)}.{secrets.token_hex(6)}.tmp")
    _interrupt.remove_on_interrupt(found)
    return found


def leftovers(path: Path) -> Iterator[Path]:
    """What runs that were killed while they wrote ``path`` left beside it."""
    return path.parent.glob(f".{glob.escape(_short(path))}.*.tmp")


def _short(path: Path) -> str:
    return path.name if len(os.fsencode(path.name)) <= _LONGEST else path.name[:40]


def _sync_folder(folder: Path) -> None:
    """Flush the names in a folder to the disk, where the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

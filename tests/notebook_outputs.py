"""What the cells of a notebook print and draw, compared with what is stored in it."""

from __future__ import annotations

import base64
import math
import re
from itertools import zip_longest
from pathlib import Path
from typing import Any

import nbformat

# Draws are the same in every release of JAX, but sums are not added in the same order on every machine: printed digits
# beyond the fourth may differ, and a number near the middle of two roundings may be printed as either.
_RELATIVE = 5e-4
# Of a cell with this tag only words are compared: its noise comes from the entropy of the operating system.
_FRESH = "fresh-noise"
# Of a picture's width and height: letters differ by a pixel or two between releases of matplotlib.
_PIXELS = 0.02
_NUMBER = re.compile(r"(?<!\w)[-+]?\d+(?:,\d{3})*(?:\.\d*)?(?:e[-+]?\d+)?")


def read(path: Path) -> nbformat.NotebookNode:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)


def visible(cell: nbformat.NotebookNode) -> list[Any]:
    """Outputs of a cell without warnings, which depend on the machine."""
    outputs = cell.get("outputs", ())
    return [output for output in outputs if output.get("name") != "stderr"]


def differences(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> list[str]:
    """In which cells, and how, the outputs of an executed notebook differ from the stored ones."""
    found = []
    for old, new in zip(stored.cells, executed.cells, strict=True):
        if old.cell_type != "code":
            continue
        relative = math.inf if _FRESH in old.metadata.get("tags", ()) else _RELATIVE
        for before, after in zip_longest(_shown(old), _shown(new), fillvalue=("nothing", "")):
            if not _agree(before, after, relative):
                found.append(f"{old.id}: stored {before}, executed {after}")
    return found


def pictures(notebook: nbformat.NotebookNode) -> list[bytes]:
    """Contents of the PNG pictures of a notebook."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    data = [output.get("data", {}) for cell in cells for output in visible(cell)]
    return [base64.b64decode(kinds["image/png"]) for kinds in data if "image/png" in kinds]


def texts_agree(stored: str, executed: str, relative: float = _RELATIVE) -> bool:
    """Whether words are the same and numbers nearly: whole ones exactly, others to a unit of their last digit.

    >>> texts_agree("mean  0.123 of 40 users", "mean 0.124 of 40 users")
    True
    >>> texts_agree("mean 0.123 of 40 users", "mean 0.123 of 41 users")
    False
    """
    if _NUMBER.sub("#", stored).split() != _NUMBER.sub("#", executed).split():
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(executed), strict=True)
    return all(_numbers_agree(old, new, relative) for old, new in pairs)


def _numbers_agree(old: str, new: str, relative: float) -> bool:
    if old == new or relative == math.inf:
        return True
    if {".", "e"}.isdisjoint(old + new):
        return False
    a, b = (float(word.replace(",", "")) for word in (old, new))
    allowed = max(relative * max(abs(a), abs(b)), _last_digit(old), _last_digit(new))
    return abs(a - b) <= allowed * (1 + 1e-9)


def _last_digit(word: str) -> float:
    """Worth of one unit of the last digit of a printed number."""
    digits, _, power = word.partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def _shown(cell: nbformat.NotebookNode) -> list[tuple[str, Any]]:
    """Kind and content of everything that a cell shows: a text, or the width and height of a picture."""
    found: list[tuple[str, Any]] = []
    for output in visible(cell):
        data = output.get("data", {})
        if "image/png" in data:
            found.append(("picture", _size(base64.b64decode(data["image/png"]))))
        else:
            found.append(("text", output.get("text") or data["text/plain"]))
    return found


def _size(png: bytes) -> tuple[int, int]:
    """Width and height in pixels, from the header of a PNG."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def _agree(before: tuple[str, Any], after: tuple[str, Any], relative: float) -> bool:
    if before[0] != after[0]:
        return False
    if before[0] == "picture":
        sides = zip(before[1], after[1], strict=True)
        return all(abs(old - new) <= _PIXELS * max(old, new) for old, new in sides)
    return texts_agree(before[1], after[1], relative)

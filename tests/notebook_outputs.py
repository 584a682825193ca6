"""What the cells of a notebook print and draw, compared with what is stored in it."""

from __future__ import annotations

import base64
import math
import re
from itertools import zip_longest
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


def visible(cell: nbformat.NotebookNode) -> list[Any]:
    """Outputs of a cell without warnings, which depend on the machine."""
    return [output for output in cell.get("outputs", ()) if output.get("name") != "stderr"]


def differences(stored: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> list[str]:
    """In which cells, and how, the outputs of an executed notebook differ from the stored ones."""
    found = []
    for old, new in zip(stored.cells, executed.cells, strict=True):
        relative = math.inf if _FRESH in old.metadata.get("tags", ()) else _RELATIVE
        for before, after in zip_longest(_shown(old), _shown(new), fillvalue="nothing"):
            if not _agree(before, after, relative):
                found.append(f"{old.id}: stored {before}, executed {after}")
    return found


def pictures(notebook: nbformat.NotebookNode) -> list[bytes]:
    """Contents of the PNG pictures of a notebook."""
    data = [output.get("data", {}) for cell in notebook.cells for output in visible(cell)]
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


def _shown(cell: nbformat.NotebookNode) -> list[str | tuple[int, int]]:
    """What a cell shows: texts, and of pictures the width and height, from the header of a PNG."""
    found: list[str | tuple[int, int]] = []
    for output in visible(cell):
        data = output.get("data", {})
        if "image/png" in data:
            png = base64.b64decode(data["image/png"])
            found.append((int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")))
        else:
            found.append(output.get("text") or data["text/plain"])
    return found


def _agree(before: Any, after: Any, relative: float) -> bool:
    if isinstance(before, str) and isinstance(after, str):
        return texts_agree(before, after, relative)
    if isinstance(before, str) or isinstance(after, str):
        return False
    sides = zip(before, after, strict=True)
    return all(abs(old - new) <= _PIXELS * max(old, new) for old, new in sides)

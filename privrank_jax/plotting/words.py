"""Words in pictures: names and titles as they are, never read as mathematics, and characters that the font lacks."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST = 32  # characters of a name beside an axis, of which longer ones would leave no room for the picture
_LACKS = re.compile(r"Glyph (\d+) .*missing from")


class MissingCharacters(UserWarning):
    """The font of a picture lacks characters of its words."""


def literal(text: str) -> str:
    """Text that matplotlib shows as it is: what stands between two dollar signs would be set as mathematics.

    >>> literal("from $5 to $6")
    'from \\\\$5 to \\\\$6'
    """
    return text.replace("$", r"\$")


def label(name: str, before: str = "") -> str:
    """A name to stand beside an axis: on one line, as it is, cut by an ellipsis after 32 characters.

    The text ``before`` it, such as its rank, stays there with matplotlib 3.11 or later also if the name is read from
    right to left.

    >>> label("x" * 40, "1. ")[-4:], len(label("x" * 40))
    ('xxx…', 32)
    """
    line = " ".join(name.split())
    if len(line) > LONGEST:
        line = line[: LONGEST - 1].rstrip() + "…"
    leftward = any(unicodedata.bidirectional(one) in ("R", "AL") for one in line)
    if before and leftward:
        from matplotlib import __version_info__

        if __version_info__ >= (3, 11):  # earlier ones draw the characters that isolate a text
            line = f"\u2068{line}\u2069"
    return literal(before + line)


@contextmanager
def one_warning() -> Iterator[None]:
    """Replace matplotlib's warnings on characters that its font lacks, one for each, by one that says what to do."""
    with _aside(lambda one: _LACKS.match(str(one.message)) is not None) as found:
        yield
    if not found:
        return
    lacking = list(dict.fromkeys(found))
    first = chr(int(_LACKS.match(lacking[0])[1]))  # type: ignore[index]
    warnings.warn(
        f"the font of the picture lacks {len(lacking)} of the characters in its words, such as {first!r}: boxes stand "
        "for them. Install a font that has them, and let matplotlib use it beside its own: write a file matplotlibrc "
        "in the current folder with a line such as `font.family: DejaVu Sans, Noto Sans CJK JP`.",
        MissingCharacters,
        stacklevel=4,
    )


@contextmanager
def told_by(tell: Callable[[str], None]) -> Iterator[None]:
    """Call ``tell`` at the end with each sentence on what the pictures lack, once, in place of Python's warnings."""
    with _aside(lambda one: issubclass(one.category, MissingCharacters)) as found:
        yield
    for words in dict.fromkeys(found):
        tell(words)


@contextmanager
def _aside(taken: Callable[[warnings.WarningMessage], bool]) -> Iterator[list[str]]:
    """Collect the words of some warnings, and pass on the others at the end."""
    words: list[str] = []
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield words
    for one in found:
        if taken(one):
            words.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)

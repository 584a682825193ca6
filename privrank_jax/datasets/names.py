"""When two spellings are one name, and the nearest known name to a misspelt one."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable

MISSING = frozenset({"nan", "na", "n/a", "<na>", "#n/a", "null", "none"})


def form(name: str, fold_case: bool = True) -> str:
    """What all spellings of one name share: apart from blanks, Unicode composition and case.

    >>> form(" Paris ") == form("paris"), form("Paris", fold_case=False) == form("paris")
    (True, False)
    """
    shared = " ".join(unicodedata.normalize("NFC", name).split())
    return shared.casefold() if fold_case else shared


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to a message, or nothing.

    >>> did_you_mean("winer", ["winner", "loser"])
    " (did you mean 'winner'?)"
    """
    forms = {form(other): other for other in known}
    near = difflib.get_close_matches(form(name), list(forms), n=1)
    return f" (did you mean {forms[near[0]]!r}?)" if near else ""

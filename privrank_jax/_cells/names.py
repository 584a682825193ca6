"""When two spellings are the same name, and which known name is nearest to a misspelled one."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

MISSING = frozenset({"nan", "na", "n/a", "<na>", "#n/a", "null", "none"})
_WORDS = r"(?:rank|ranking|ranked|position|pos|place|choice|preference|pref|top)"
_PLACE = re.compile(
    rf"{_WORDS}[\W_]*(\d+)(?:st|nd|rd|th)?\W*|(\d+)(?:st|nd|rd|th)(?:[\W_]*{_WORDS})?|(\d+)[\W_]+{_WORDS}|"
    rf"(first|second|third|fourth|fifth)[\W_]*{_WORDS}"
)
_SPELLED = ("first", "second", "third", "fourth", "fifth")


def form(name: str, fold_case: bool = True) -> str:
    """The form that all spellings of one name share, whatever their blanks, Unicode composition and case.

    >>> form(" Paris ") == form("paris"), form("Paris", fold_case=False) == form("paris")
    (True, False)
    """
    shared = " ".join(unicodedata.normalize("NFC", name).split())
    return shared.casefold() if fold_case else shared


def difference(first: str, second: str) -> str:
    """How two spellings of one name differ, and what to do about it.

    >>> difference("a b", "a  B")
    'differ only by blanks or case. Spell it one way throughout'
    >>> print(difference("r\u00e9", "re\u0301"))
    look the same but are encoded differently ('r\\xe9' and 're\\u0301'). Save the file in one Unicode form, such as NFC
    """
    by = (
        "blanks"
        if form(first, fold_case=False) == form(second, fold_case=False)
        else "blanks or case"
    )
    if first.casefold().split() == second.casefold().split():
        return f"differ only by {by}. Spell it one way throughout"
    same = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)
    differ = "look the same but" if same else f"differ only by {by}, and"
    encoded = f"encoded differently ({first!a} and {second!a})"
    return f"{differ} are {encoded}. Save the file in one Unicode form, such as NFC"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to a message, or nothing.

    >>> did_you_mean("winer", ["winner", "loser"])
    " (did you mean 'winner'?)"
    """
    forms = {form(other): other for other in known}
    near = difflib.get_close_matches(form(name), list(forms), n=1)
    return f" (did you mean {forms[near[0]]!r}?)" if near else ""


def place_of(column: str) -> int | None:
    """The place that a column is named after, such as "Rank_1" or "2nd choice"; None if there is none.

    >>> [place_of(name) for name in ("rank1", "Rank 2", "choice-3", "1st", "second choice", "Rome 1", "rank")]
    [1, 2, 3, 1, 2, None, None]
    """
    found = _PLACE.fullmatch(column.strip().casefold())
    if found is None:
        return None
    place = next(group for group in found.groups() if group)
    return int(place[:9]) if place.isdigit() else _SPELLED.index(place) + 1

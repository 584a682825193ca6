"""When two spellings are the same name, and which known name is nearest to a misspelled one."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable

# Cells without a value, in lower case, as programs, survey tools and election systems write them.
MISSING = frozenset(
    {
        *(
            "nan",
            "na",
            "n/a",
            "n.a.",
            "<na>",
            "#n/a",
            "null",
            "none",
            "-",
            "--",
            "\u2013",
            "\u2014",
            ".",
        ),
        *(
            "blank",
            "(blank)",
            "skipped",
            "unranked",
            "not ranked",
            "no rank",
            "not answered",
            "no answer",
        ),
        *(
            "undervote",
            "undervotes",
            "undervoted",
            "under vote",
            "under-vote",
            "exhausted",
            "no vote",
        ),
    }
)
_UNCLEAR = re.compile(
    r"over[\W_]*vote[sd]?|((un(declared|certified|qualified)|invalid)\s+)?write[\W_]*ins?\W*|"
    r"spoil(ed|t)( (ballot|vote))?"
)
# Soft hyphens, zero-width spaces and joiners, marks of direction and of the byte order, selectors of variants.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
)
_WORDS = r"(?:rank|ranking|ranked|position|pos|place|choice|preference|pref|top)"
_PLACE = re.compile(
    rf"{_WORDS}[\W_]*(\d+)(?:st|nd|rd|th)?\W*|(\d+)(?:st|nd|rd|th)(?:[\W_]*{_WORDS})?|(\d+)[\W_]+{_WORDS}|"
    rf"(first|second|third|fourth|fifth)[\W_]*{_WORDS}"
)
_SPELLED = ("first", "second", "third", "fourth", "fifth")


def form(name: str, fold_case: bool = True) -> str:
    """The form that all spellings of one name share, whatever their blanks, Unicode composition and case.

    Characters that nobody sees, such as a zero-width space, are left out.

    >>> form(" Paris ") == form("paris"), form("Paris", fold_case=False) == form("paris")
    (True, False)
    """
    shared = " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", name)).split())
    return shared.casefold() if fold_case else shared


def person(name: str) -> str:
    """The form that all spellings of one user's name share: as of items, but case counts, except in e-mail addresses.

    Full-width and other compatible characters are those they stand for.

    >>> person("A@x.org") == person("a@X.org "), person("u1") == person("U1")
    (True, False)
    """
    return form(unicodedata.normalize("NFKC", name), fold_case="@" in name)


def unclear(name: str) -> bool:
    """Whether a cell of a ballot may be a mark rather than an item: too many votes for one place, or a write-in.

    >>> unclear("Overvote"), unclear("Write-in:"), unclear("Ann")
    (True, True, False)
    """
    return _UNCLEAR.fullmatch(form(name)) is not None


def difference(first: str, second: str) -> str:
    """How two spellings of one name differ, and what to do about it.

    >>> difference("a b", "a  B")
    'differ only by blanks or case. Spell it one way throughout'
    >>> print(difference("r\u00e9", "re\u0301"))
    look the same but are encoded differently ('r\\xe9' and 're\\u0301'). Save the file in one Unicode form, such as NFC
    """
    seen = [_INVISIBLE.sub("", unicodedata.normalize("NFKC", name)) for name in (first, second)]
    blanks = form(seen[0], fold_case=False) == form(seen[1], fold_case=False)
    by = "blanks" if blanks else "blanks or case"
    if first.casefold().split() == second.casefold().split():
        return f"differ only by {by}. Spell it one way throughout"
    differ = "look the same but" if seen[0] == seen[1] else f"differ only by {by}, and"
    encoded = f"encoded differently ({first!a} and {second!a})"
    composed = {form(unicodedata.normalize("NFC", name)) for name in (first, second)}
    visible = not any(map(_INVISIBLE.search, (first, second)))
    if visible and len(composed) == 1:
        return f"{differ} are {encoded}. Save the file in one Unicode form, such as NFC"
    return f"{differ} are {encoded}. Spell it one way throughout"


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

"""When two spellings are the same name, and which known name is nearest to a misspelled one."""

from __future__ import annotations

import difflib
import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

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


_SERIES = 4  # names that differ in one place, beyond which they are labels
_SHORT = 5  # letters of a word below which one letter makes another name, such as Iran and Iraq


def nearly_alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of names of which one may be a slip: one letter is missing, another one, or in another place.

    Names that differ by a digit, by the last letter of a word, or in a short word are taken for labels, as are many
    names that differ in one place. Two such names share what is left without one letter, which finds them in about the
    time that it takes to read all letters of all names.

    >>> nearly_alike(["Sakura", "Sakrua", "Model A", "Model B", "model-7b", "model-8b", "Iran", "Iraq"])
    [('Sakrua', 'Sakura')]
    """
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        spelled = form(name)
        without = (spelled[:k] + spelled[k + 1 :] for k, c in enumerate(spelled) if not c.isdigit())
        for left in {spelled, *without}:
            sharing[left].add(name)
    groups = (sorted(group) for group in sharing.values() if 1 < len(group) <= _SERIES)
    pairs = {pair for group in groups for pair in itertools.combinations(group, 2)}
    return sorted(pair for pair in pairs if _a_slip(form(pair[0]), form(pair[1])))


def _a_slip(first: str, second: str) -> bool:
    """Whether a letter, a blank or a mark that differs can be a slip rather than a label."""
    begin = _shared(first, second)
    end = _shared(first[begin:][::-1], second[begin:][::-1])
    words = [_word(one, begin, len(one) - end) for one in (first, second)]
    if any(c.isdigit() for word in words for c in word) or min(map(len, words)) < _SHORT:
        return False
    replaced = len(first) == len(second) == begin + end + 1
    return not (replaced and words[0][:-1] == words[1][:-1])


def _shared(first: str, second: str) -> int:
    """Number of letters that two words share from their beginnings."""
    differs = (k for k, (one, other) in enumerate(zip(first, second)) if one != other)
    return next(differs, min(len(first), len(second)))


def _word(name: str, begin: int, end: int) -> str:
    """The letters from ``begin`` to ``end`` with what belongs to them on both sides."""
    while begin > 0 and name[begin - 1].isalnum():
        begin -= 1
    while end < len(name) and name[end].isalnum():
        end += 1
    return name[begin:end]


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

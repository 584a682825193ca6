"""Names of items and users: which spellings are the same name, which cells name nothing, and lists of names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from privrank_jax.data.errors import BadCell, DataError, quoted

# Words for no value, in lower case, as programs, survey tools and election systems write them.
MISSING = frozenset({
    "nan", "na", "n/a", "n.a.", "<na>", "#n/a", "null", "none", "-", "--", "\u2013", "\u2014", ".", "blank", "(blank)",
    "skipped", "unranked", "not ranked", "no rank", "not answered", "no answer", "undervote", "undervotes",
    "undervoted", "under vote", "under-vote", "exhausted", "no vote",
})  # fmt: skip
_BROKEN = re.compile("[\0\ud800-\udfff]")  # NUL, and halves of surrogate pairs
_UNCLEAR = re.compile(
    r"over[\W_]*vote[sd]?|((un(declared|certified|qualified)|invalid)\s+)?write[\W_]*ins?\W*|"
    r"spoil(ed|t)( (ballot|vote))?|\$.*|\[.*\]|\(.*\)|<.*>|\{.*\}"
)
_ACCENT = re.compile("[\u0300-\u036f]")
_NOT_PLAIN = re.compile("[^!-~\n]|[][{}]|[A-Z].*@|@.*[A-Z]")
_JOINT = re.compile(r"\s*(?:[\r\n;,/|&+=]|\band\b)\s*")
# Soft hyphens, zero-width spaces and joiners, marks of direction and of the byte order, selectors of variants.
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]"
)
_WORDS = r"(?:rank|ranking|ranked|position|pos|place|choice|preference|pref|top)"
_SPELLED = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"
)  # fmt: skip
_PLACE = re.compile(
    rf"{_WORDS}[\W_]*(\d+)(?:st|nd|rd|th)?(?:\s+of\s+\d+)?\W*(?:\(\d+\))?|"
    rf"(\d+)(?:st|nd|rd|th)(?:[\W_]*{_WORDS})?|(\d+)[\W_]+{_WORDS}|({'|'.join(_SPELLED)})[\W_]*{_WORDS}"
)


def form(name: str, fold_case: bool = True) -> str:
    """The form that all spellings of one name share: without blanks and characters that nobody sees, case aside."""
    shared = " ".join(unicodedata.normalize("NFC", _INVISIBLE.sub("", name)).split())
    return shared.casefold() if fold_case else shared


def person(name: str) -> str:
    """The form of a user's name: compatible characters are one, and case counts, except in e-mail addresses."""
    return form(unicodedata.normalize("NFKC", name), fold_case="@" in name)


def unclear(name: str) -> bool:
    """Whether a cell may be a mark instead of an item: of no value, of too many votes, $X, [X], of several lines."""
    shared = form(name)
    several = len(name.strip().splitlines()) > 1
    return several or shared in MISSING or _UNCLEAR.fullmatch(shared) is not None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question to append to a message, or nothing."""
    forms = {form(other): other for other in known}
    near = difflib.get_close_matches(form(name), list(forms), n=1)
    return f" (did you mean {forms[near[0]]!r}?)" if near else ""


def place_of(column: str) -> int | None:
    """The place that a column is named after; None if there is none."""
    found = _PLACE.fullmatch(column.strip().casefold())
    if found is None:
        return None
    place = next(group for group in found.groups() if group)
    return int(place[:9]) if place.isdigit() else _SPELLED.index(place) + 1


class Structure(str):
    """The JSON of a structure in a cell, which names nothing and nobody."""


class Names(dict[Any, int]):
    """Names to codes by first appearance; a name is checked once, when it first appears.

    Args:
        what: what is named, for messages: ``"item"`` or ``"user"``.
        public: all allowed names of items; None: any.
        blank: words that name none, whose code is -1, unless ``public`` has them.

    ``columns`` may be set: forms of the names of columns, which no item has unless ``public`` has it.
    """

    def __init__(
        self, what: str, public: tuple[str, ...] | None = None, blank: Iterable[str] = ()
    ) -> None:
        super().__init__({name: code for code, name in enumerate(public or ())})
        self.what, self.closed = what, public is not None
        self._form = person if what == "user" else form
        self._spellings = {form(name): name for name in self}
        self.blank = {form(word) for word in blank}
        self.columns: set[str] = set()

    def __missing__(self, name: Any) -> int:
        if isinstance(name, tuple | Structure):
            raise BadCell(f"a list or an object, where the name of the {self.what} is expected")
        if self.blank and form(name or "") in self.blank:
            return -1
        if not form(name or "") or (self.what == "user" and form(name) in MISSING):
            raise BadCell(f"the {self.what} is missing ({quoted(name)}): fill it in, or remove it")
        if _BROKEN.search(name):
            raise BadCell(f"{quoted(name)} has a NUL character or half a surrogate pair: remove it")
        twin = self._spellings.get(self._form(name), name)
        if twin != name:
            raise named_twice(self.what, twin, name)
        blank = f"say blank=[{quoted(' '.join(name.split()))}] if it names no item"
        if self.closed:
            near = did_you_mean(name, self)
            raise BadCell(
                f"{quoted(name)} is not in the list of items{near}: add it to `items`, or {blank}"
            )
        if self.what == "item" and unclear(name):
            raise BadCell(f"{quoted(name)} may be a mark: {blank}, or list the `items`, with it")
        if form(name) in self.columns:
            raise BadCell(
                f"{quoted(name)} is the name of a column: list the `items` if it is one, or name the columns `left`, "
                "`right` and `outcome`"
            )
        self._spellings[self._form(name)] = name
        self[name] = code = len(self)
        return code

    def takes(self, words: Sequence[Any]) -> bool:
        """Take all words of a column, in their order, if they are plain names of users that need no look."""
        try:
            joined = "\n".join(words) if self.what == "user" and not self else ""
        except TypeError:  # a blank, or a list
            return False
        plain = joined.isascii() and not _NOT_PLAIN.search(joined)
        names = joined.lower().split("\n") if plain else []
        if len(names) != len(words) or not (MISSING | {""}).isdisjoint(names):
            return False
        self.update(zip(words, range(len(words))))
        return True

    def in_order(self) -> tuple[tuple[str, ...], list[int]]:
        """The names, in the order of a public list, else sorted; and the place of each code among them."""
        for name in self if self.what == "item" and not self.closed else ():
            parts = {form(part) for part in _JOINT.split(name)}
            if len(parts) > 1 and parts <= self._spellings.keys():
                raise DataError(
                    f"{quoted(name)} joins names of items: say blank=[{quoted(name)}], or list the `items`, with it"
                )
        # Sorted, for their order in a file may be that of its first row, and so tell an answer.
        names = tuple(self) if self.closed else tuple(sorted(self))
        place = {name: k for k, name in enumerate(names)}
        return names, [place[name] for name in self]


def named_twice(what: str, first: str, second: str) -> BadCell:
    """The message on two spellings of one name, which may differ by characters that nobody sees."""
    show = quoted if (first + second).isascii() else ascii
    return BadCell(f"{what} named twice: {show(first)} and {show(second)}: spell it one way")


def users_alike(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names of users that differ by case or accents alone; both are read as users of their own."""
    joined = "\n".join(names := sorted(names))
    if joined.isascii() and joined == joined.lower():
        return []
    plain = (unicodedata.normalize("NFKD", person(name).casefold()) for name in names)
    forms, first = [_ACCENT.sub("", one) for one in plain], dict[str, str]()
    pairs = ((first.setdefault(one, name), name) for one, name in zip(forms, names))
    return sorted(pair for pair in pairs if len({*pair}) > 1)


def public_items(items: Iterable[str], of: str = "`items`") -> tuple[str, ...]:
    """Check the given list of items: at least two names, none blank, each listed once."""
    names = tuple(map(str, items))
    forms = Counter(map(form, names))
    wrong = [name for name in names if not form(name) or "\0" in name or forms[form(name)] > 1]
    if wrong or len(names) < 2:
        raise DataError(
            f"{of or 'the data'} must name at least two items, none blank or named twice: {wrong or list(names)}"
        )
    return names

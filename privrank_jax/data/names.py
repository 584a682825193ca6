"""Names of items and users: which spellings are the same name, which cells name nothing, and lists of names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from privrank_jax.data.errors import BadCell, DataError, quoted

# Words for no value, in lower case, as programs, survey tools and election systems write them.
MISSING = frozenset({
    "nan", "na", "n/a", "n.a.", "<na>", "#n/a", "null", "none", "-", "--", "\u2013", "\u2014", ".", "blank", "(blank)",
    "skipped", "unranked", "not ranked", "no rank", "not answered", "no answer", "undervote", "undervotes",
    "undervoted", "under vote", "under-vote", "exhausted", "no vote",
})  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")
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
_SPELLED = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
]
_PLACE = re.compile(
    rf"{_WORDS}[\W_]*(\d+)(?:st|nd|rd|th)?\W*|(\d+)(?:st|nd|rd|th)(?:[\W_]*{_WORDS})?|(\d+)[\W_]+{_WORDS}|"
    rf"({'|'.join(_SPELLED)})[\W_]*{_WORDS}"
)


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
    """Whether a cell that names an item may be a mark instead: of no value, of too many votes, of a write-in.

    So may what starts with $, stands in brackets as a whole, or has several lines.

    >>> [unclear(name) for name in ("NA", "Overvote", "Write-in:", "$UNDERVOTE", "[-]", "Ann\\nBo", "Tea (black)")]
    [True, True, True, True, True, True, False]
    """
    shared = form(name)
    several = len(name.strip().splitlines()) > 1
    return several or shared in MISSING or _UNCLEAR.fullmatch(shared) is not None


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


class Structure(str):
    """The JSON of a structure in a cell, which names nothing and nobody."""


class Names(dict[Any, int]):
    """Names to codes by first appearance; a name is checked once, when it first appears.

    Args:
        what: what is named, for messages: ``"item"`` or ``"user"``.
        public: all allowed names of items; None: any.
        columns: columns of the file; without ``public`` no item may have the name of one.
        blank: words that name none, whose code is -1, unless ``public`` has them.
    """

    def __init__(
        self,
        what: str,
        public: tuple[str, ...] | None = None,
        columns: Iterable[str] = (),
        blank: Iterable[str] = (),
    ) -> None:
        super().__init__({name: code for code, name in enumerate(public or ())})
        self.what, self.closed = what, public is not None
        self.spellings: dict[str, str] = {}
        self.columns = {form(column) for column in columns}
        self.blank = {form(word) for word in blank}

    def __missing__(self, name: Any) -> int:
        if isinstance(name, tuple | Structure):
            raise BadCell(f"a list or an object, where the name of the {self.what} is expected")
        if self.blank and form(name or "") in self.blank:
            return -1
        if name is None or not form(name):
            raise BadCell(f"the {self.what} is missing: fill it in or remove the row")
        if "\0" in name or (not name.isprintable() and _SURROGATE.search(name)):
            raise BadCell(
                f"the {self.what} is {quoted(name)}, with a NUL character or half a surrogate pair: remove that"
            )
        if self.what == "item":
            self._check_item(name)
        elif form(name) in MISSING:
            raise BadCell(
                f"the user is {quoted(name)}, which marks a missing value: fill it in or remove the row"
            )
        twin = self.spellings.setdefault(person(name) if self.what == "user" else form(name), name)
        if twin != name:
            raise named_twice(self.what, twin, name)
        self[name] = code = len(self)
        return code

    def _check_item(self, name: str) -> None:
        blank = f"say blank=[{quoted(name)}] if it names no item"
        if self.closed:
            twin = next((one for one in self if form(one) == form(name)), None)
            if twin is not None:
                raise named_twice("item", twin, name)
            raise BadCell(
                f"{quoted(name)} is not in the list of items{did_you_mean(name, self)}: correct the file, add it to "
                f"`items`, or {blank}"
            )
        if unclear(name):
            raise BadCell(
                f"{quoted(name)} may be a mark rather than an item: {blank}, or list the `items`, with it"
            )
        if form(name) in self.columns:
            raise BadCell(
                f"{quoted(name)} is the name of a column: if cells say in which column the preferred item stands, name "
                "the columns of the two items by `left` and `right`, and that of the outcome by `outcome`. If it is an "
                "item, list the `items`"
            )

    def takes(self, words: Sequence[Any]) -> bool:
        """Take all words of a column, in their order, if they are plain names of users that need no look."""
        try:
            joined = "\n".join(words) if self.what == "user" and not self else ""
        except TypeError:  # a blank, or a list
            return False
        odd = (
            not joined.isascii()
            or joined.count("\n") != len(words) - 1
            or _NOT_PLAIN.search(joined)
        )
        if odd or not (MISSING | {""}).isdisjoint(joined.lower().split("\n")):
            return False
        self.update(zip(words, range(len(words))))
        return True

    def in_order(self) -> tuple[tuple[str, ...], list[int]]:
        """The names, in the order of a public list, else sorted; and the place of each code among them.

        >>> codes = Names("item")
        >>> codes["tea"], codes["milk"], codes.in_order()
        (0, 1, (('milk', 'tea'), [1, 0]))
        """
        if self.what == "item" and not self.closed:
            self._check_joint()
        names = item_list(self, tuple(self) if self.closed else None)
        place = {name: k for k, name in enumerate(names)}
        return names, [place[name] for name in self]

    def _check_joint(self) -> None:
        """Refuse a name that is made of other names, such as two marks for one place."""
        for name in self:
            parts = {form(part) for part in _JOINT.split(name)}
            if len(parts) > 1 and parts <= self.spellings.keys():
                raise DataError(
                    f"{quoted(name)} joins names of other items, such as two marks for one place: say "
                    f"blank=[{quoted(name)}] if it names no item, or list the `items`, with it"
                )


def named_twice(what: str, first: str, second: str) -> BadCell:
    """The message on two spellings of one name."""
    return BadCell(
        f"{what} named twice: {quoted(first)} and {quoted(second)} {difference(first, second)}"
    )


def users_alike(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names of users that differ by case or accents alone; both are read as users of their own.

    >>> users_alike(["Ann", "ann", "u1", "u2"])
    [('Ann', 'ann')]
    """
    names = list(names)
    joined = "\n".join(names)
    if joined.isascii() and joined == joined.lower():
        return []
    groups: dict[str, list[str]] = {}
    for name in names:
        plain = unicodedata.normalize("NFKD", person(name).casefold())
        groups.setdefault(_ACCENT.sub("", plain), []).append(name)
    several = (sorted(group) for group in groups.values() if len(group) > 1)
    return sorted((group[0], other) for group in several for other in group[1:])


def item_list(names: Iterable[str], public: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """The list of items that a release shows, made here for every form of data.

    It is the public list, in the order of its author, or else the names that were found, sorted: their order in a file
    may be that of its first row, as with the keys of JSON objects, and so show what one user answered.

    >>> item_list(["tea", "milk"]), item_list(["tea", "milk"], ("tea", "water", "milk"))
    (('milk', 'tea'), ('tea', 'water', 'milk'))
    """
    return tuple(sorted(names)) if public is None else public


def check_names(names: Sequence[str]) -> None:
    """Raise :class:`DataError` unless there are at least two names, each once."""
    if len(names) < 2:
        raise DataError(f"a ranking needs at least two items, got {list(names)}")
    if len(set(names)) != len(names):
        raise DataError("an item is named twice in item_names: give each item its own name")


def public_items(items: Iterable[str]) -> tuple[str, ...]:
    """Check the given list of items: at least two names, none blank, each listed once."""
    names = tuple(map(str, items))
    if len(names) < 2:
        raise DataError(f"`items` must name at least two items to rank, got {list(names)}")
    spellings: dict[str, str] = {}
    for name in names:
        if not form(name) or "\0" in name:
            raise DataError(
                f"`items` has {name!r}, which is blank or has a NUL character: remove that"
            )
        if (twin := spellings.get(form(name))) is not None:
            raise DataError(f"`items` names an item twice, {twin!r} and {name!r}: keep one of them")
        spellings[form(name)] = name
    return names

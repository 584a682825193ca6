"""Names of items and users: which spellings are the same name, which cells name nothing, and lists of names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from privrank_jax.data.errors import BadCell, DataError, quoted, say

# Cells without a value, in lower case, as programs, survey tools and election systems write them.
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
    """Whether a cell of a ballot may be a mark rather than an item: too many votes for one place, or a write-in.

    So may what starts with $, stands in brackets as a whole, or has several lines.

    >>> [unclear(name) for name in ("Overvote", "Write-in:", "$UNDERVOTE", "[-]", "Ann\\nBo", "Ann", "Tea (black)")]
    [True, True, True, True, True, False, False]
    """
    lines = len(name.strip().splitlines())
    return lines > 1 or _UNCLEAR.fullmatch(form(name)) is not None


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


def is_blank(cell: Any) -> bool:
    """Whether a cell names nothing."""
    text = cell.strip() if isinstance(cell, str) else cell
    return not text or (isinstance(text, str) and text.casefold() in MISSING)


_FILL = "fill it in or remove the row"
_BOTH = (
    "name both items of a comparison. A tie has both of them and a 1 in a column `tie`; only a row without an answer "
    "may be left out"
)


class Names(dict[Any, int]):
    """Names to codes by first appearance; a name is checked once, when it first appears.

    Args:
        what: what is named, for messages.
        fold_case: whether spellings that differ by case are one name; of users they are in e-mail addresses only.
        public: all allowed names.
        columns: columns of a file of comparisons; without ``public`` no item may have the name of a column.
        blank: of items on ballots: words that name none, whose code is -1, unless ``public`` has them; marks of which
            that is unclear are refused. None: all words are names.
    """

    def __init__(
        self,
        what: str,
        fold_case: bool,
        public: tuple[str, ...] | None = None,
        columns: Iterable[str] | None = None,
        blank: Iterable[str] | None = None,
    ) -> None:
        super().__init__({name: code for code, name in enumerate(public or ())})
        self.what, self.fold_case, self.closed = what, fold_case, public is not None
        self.spellings: dict[str, str] = {}
        self.compared = columns is not None
        self.columns = {form(column) for column in columns or ()}
        self.ballots, self.blank = blank is not None, {form(word) for word in blank or ()}

    def __missing__(self, name: Any) -> int:
        if self.blank and not isinstance(name, tuple) and form(name or "") in self.blank:
            return -1
        present = check_present(name, self.what, _BOTH if self.compared else _FILL)
        mark = say("blank", [present]) if self.ballots and unclear(present) else None
        if self.closed:
            blank = "" if mark is None else f", or say {mark} if it names no item"
            raise BadCell(
                f"{quoted(name)} is not in the list of items{did_you_mean(present, self)}: correct the file or add it "
                f"to {say('items')}{blank}"
            )
        if mark is not None:
            raise BadCell(
                f"{quoted(name)} may be a mark rather than an item: say {mark} if it names no item, or list the "
                f"{say('items')}, with it if it is one"
            )
        if form(present) in self.columns:
            raise BadCell(
                f"{quoted(present)} is the name of a column: if cells say in which column the preferred item stands, "
                f"name the columns of the two items by {say('left')} and {say('right')}, and that of the outcome by "
                f"{say('outcome')}. If it is an item, put it into {say('items')}"
            )
        shared = form(present) if self.fold_case else person(present)
        twin = self.spellings.setdefault(shared, present)
        if twin != name:
            raise named_twice(self.what, twin, present)
        self[name] = code = len(self)
        return code

    def in_order(self) -> tuple[tuple[str, ...], list[int]]:
        """The names, in the order of a public list, else sorted; and the place of each code among them.

        >>> codes = Names("item", True)
        >>> codes["tea"], codes["milk"], codes.in_order()
        (0, 1, (('milk', 'tea'), [1, 0]))
        """
        if self.ballots and not self.closed:
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
                    f"{say('blank', [name])} if it names no item, or list the {say('items')}, with it if it is one"
                )


def check_present(name: Any, what: str, mend: str = _FILL) -> str:
    """Return the name; raise :class:`BadCell`, with advice, if it is blank, marks a missing value or is no text."""
    if isinstance(name, tuple):
        raise BadCell(f"a list, where the name of the {what} is expected")
    if name is None or not form(name):
        raise BadCell(f"the {what} is missing: {mend}")
    if "\0" in name or (not name.isprintable() and _SURROGATE.search(name)):
        raise BadCell(
            f"the {what} is {quoted(name)}, with a NUL character or half a surrogate pair: remove that"
        )
    if name.strip().casefold() in MISSING:
        more = f"; if it is a name, put it into {say('items')}" if what == "item" else ""
        raise BadCell(f"the {what} is {quoted(name)}, which marks a missing value: {mend}{more}")
    return name


def named_twice(what: str, first: str, second: str) -> BadCell:
    """The message on two spellings of one name."""
    return BadCell(
        f"{what} named twice: {quoted(first)} and {quoted(second)} {difference(first, second)}"
    )


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
    if isinstance(items, str):
        raise DataError(f"items must be a list of names, got the single text {items!r}")
    names = tuple(str(item) for item in items)
    if len(names) < 2:
        raise DataError(f"items must name at least two items to rank, got {list(names)}")
    spellings: dict[str, str] = {}
    for name in names:
        if not form(name):
            raise DataError("items holds a blank name: remove it")
        if "\0" in name:
            raise DataError(f"items: {name!r} has a NUL character: remove that")
        if form(name) in spellings:
            twin = spellings[form(name)]
            raise DataError(f"items: item named twice, {twin!r} and {name!r}: keep one of them")
        spellings[form(name)] = name
    return names

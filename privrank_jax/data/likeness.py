"""Names that may be meant for one item, or one user, though nothing makes them one: what a holder is asked to look at.

What is said here is for the holder of the data alone. Some of it is decided by the names, some by who ranked what.
"""

from __future__ import annotations

import difflib
import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from privrank_jax.data.errors import quoted
from privrank_jax.data.names import form, person

_ACCENT = re.compile("([a-z])[\u0300-\u036f]+")
_LETTERS = str.maketrans(
    {"\u00f8": "o", "\u0142": "l", "\u0111": "d", "\u00e6": "ae", "\u0153": "oe", "\u0131": "i"}
)
_MARKS = r"[\s\-\u2010-\u2015_.,:;/'\u2018\u2019\u02bc\u0060\u00b4\u00b7\"\u201c\u201d\u00ab\u00bb()\[\]]+"
_BETWEEN_DIGITS = re.compile(rf"(?<=\d){_MARKS}(?=\d)")
_BETWEEN = re.compile(
    rf"(?<=[^\W\d_]){_MARKS}(?=\w)|(?<=\d){_MARKS}(?=[^\W\d_])|(?<=\w)[.,:;'\u2019\"]+$"
)
_WORD = re.compile(r"\w+")
_EXPECTED, _MOST = 6, 0.9  # meetings that are expected of a pair; share of the pairs that did meet
_ALIKE = 0.6  # similarity of two words, as difflib measures it
_PARTICLES = {"of", "the", "and", "de", "du", "der", "und"}
MOST_NAMED = 3  # pairs that a remark names
_ONE_ITEM = (
    "If they are one item, correct the file; if not, or if the file can't be changed, list the items: items "
    "(--items)"
)
_BLOCK = 300  # names of the same first letter and digits, beyond which they are labels
_SERIES = 4  # names that differ in one place, beyond which they are labels
_SHORT = 5  # letters of a word below which one letter makes another name, such as Iran and Iraq


@runtime_checkable
class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def item_names(self) -> tuple[str, ...]: ...
    @property
    def users_alike(self) -> Sequence[tuple[str, str]]: ...
    def meetings(self, items: Sequence[int]) -> tuple[np.ndarray, np.ndarray]: ...


def suspicions(data: _Named, *, listed: bool = False) -> tuple[str, ...]:
    """Names in data that may be meant for one user or one item, in sentences for the holder of the data alone.

    Args:
        data: of named items and users.
        listed: whether the items were given rather than read, so that none of them is a slip of an answer.

    Returns:
        The sentences.

    >>> from privrank_jax import read
    >>> votes = read({"winner": ["Sakura", "Sakrua"], "loser": ["Momo", "Momo"], "user": ["u", "v"]})
    >>> [remark.split(" are ")[0] for remark in suspicions(votes)]
    ["the table: 'Sakrua' and 'Sakura'"]
    """
    said, names = [], data.item_names
    if found := data.users_alike:
        said.append(
            _of_pairs(
                found,
                "differ by case or accents alone, and count as users of their own. If they are one, the guarantee "
                "covers each of their answers, but epsilon counts twice: spell a user one way throughout",
            )
        )
    if not listed:
        if found := nearly_alike(names):
            said.append(_of_pairs(found, f"are spelled almost alike. {_ONE_ITEM}"))
        pairs = perhaps_one(names)
        items = sorted({item for pair in pairs for item in pair})
        if items and (apart := never_met(pairs, items, *data.meetings(items))):
            found = [(names[one], names[other]) for one, other in apart]
            what = "are similar names, and nobody has both of them, though other items as frequent occur together"
            said.append(_of_pairs(found, f"{what}. {_ONE_ITEM}"))
    return tuple(f"{data.name}: {one}." for one in said)


def _of_pairs(found: Sequence[tuple[str, str]], what: str) -> str:
    pairs = "; ".join(f"{quoted(one)} and {quoted(other)}" for one, other in found[:MOST_NAMED])
    more = f" ({len(found) - MOST_NAMED} more such pairs)" if len(found) > MOST_NAMED else ""
    return f"{pairs}{more} {what}"


def nearly_alike(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of names that are one without accents, blanks and marks between letters, or of which one may be a slip.

    In a slip one letter is missing, another one, or in another place. Names that differ by a digit, by the last letter
    of a word, or in a short word are taken for labels, as are many names that differ in one place. Two such names share
    what is left without one letter, which finds them in about the time that it takes to read all letters of all names.

    >>> nearly_alike(["Sakura", "Sakrua", "Model A", "Model B", "model-7b", "model-8b", "Iran", "Iraq"])
    [('Sakrua', 'Sakura')]
    >>> nearly_alike(["Wi-Fi", "WiFi", "Caf\u00e9", "Cafe", "C", "C++", "1.1", "11"])
    [('Cafe', 'Caf\xe9'), ('Wi-Fi', 'WiFi')]
    """
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for name in names:
        spelled = form(name)
        without = (spelled[:k] + spelled[k + 1 :] for k, c in enumerate(spelled) if not c.isdigit())
        for left in {spelled, *without}:
            sharing[left].add(name)
    groups = (sorted(group) for group in sharing.values() if 1 < len(group) <= _SERIES)
    pairs = {pair for group in groups for pair in itertools.combinations(group, 2)}
    slips = {pair for pair in pairs if _a_slip(form(pair[0]), form(pair[1]))}
    return sorted(slips | set(_alike_by(plain, names)))


def _alike_by(key: Callable[[str], str], names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs of names with the same key, each of them with the next one, sorted."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        groups[key(name)].append(name)
    for group in groups.values():
        yield from itertools.pairwise(sorted(group))


def plain(name: str) -> str:
    """A name without accents of Latin letters, case, and blanks and marks between letters; digits stay apart.

    >>> plain("Wi-Fi") == plain("WIFI"), plain("St. John's") == plain("St Johns"), plain("v1.1") == plain("v11")
    (True, True, False)
    """
    letters = _ACCENT.sub(r"\1", unicodedata.normalize("NFKD", form(name).translate(_LETTERS)))
    return _BETWEEN.sub("", _BETWEEN_DIGITS.sub(" ", letters))


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


def users_alike(names: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of names of users that differ by case or accents alone; both are read as users of their own.

    >>> users_alike(["Ann", "ann", "u1", "u2"])
    [('Ann', 'ann')]
    """
    return sorted(_alike_by(lambda name: _ACCENT.sub(r"\1", _decomposed(name)), names))


def _decomposed(name: str) -> str:
    if name.isascii():
        return name.casefold()
    return unicodedata.normalize("NFKD", person(name).casefold())


def perhaps_one(names: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs, by their places, of names that two people could give to one item: an abbreviation, or a similar word.

    One of their words may differ, of the same first letter. There are many such pairs that are two items, so nothing is
    said of them unless nobody ranks both: :func:`never_met`.

    >>> names = ["Nord", "North", "St Gallen", "Saint Gallen", "US", "United States", "GPT-4", "GPT-3"]
    >>> [(names[one], names[other]) for one, other in perhaps_one(names)]
    [('Nord', 'North'), ('St Gallen', 'Saint Gallen'), ('US', 'United States')]
    """
    blocks: defaultdict[tuple[str, ...], list[tuple[int, list[str]]]] = defaultdict(list)
    for place, name in enumerate(names):
        words = _WORD.findall(_ACCENT.sub(r"\1", _decomposed(name)))
        digits = re.findall(r"\d+", name)
        if words:
            blocks[words[0][0], *digits].append((place, words))
    pairs = (
        pair
        for block in blocks.values()
        if len(block) <= _BLOCK
        for pair in itertools.combinations(block, 2)
    )
    return sorted((one, other) for (one, a), (other, b) in pairs if _one_meaning(a, b))


def _one_meaning(first: list[str], second: list[str]) -> bool:
    """Whether two lists of words differ in one word that may be short for the other, or by their initials."""
    for some, many in ((first, second), (second, first)):
        if len(many) > 1 and len(some) == 1:
            initials = "".join(word[0] for word in many if word not in _PARTICLES)
            if some[0] in (initials, "".join(word[0] for word in many)):
                return True
    if len(first) != len(second):
        return False
    differ = [(a, b) for a, b in zip(first, second) if a != b]
    if len(differ) != 1:
        return False
    short, long = sorted(differ[0], key=len)
    if short[0] != long[0] or any(c.isdigit() for c in short + long):
        return False
    rest = iter(long)
    if (
        len(short) < len(long)
        and (len(first) > 1 or len(short) > 1)
        and all(c in rest for c in short)
    ):
        return True
    alike = difflib.SequenceMatcher(None, short, long).ratio()
    return short[:2] == long[:2] and min(len(short), len(long)) > 3 and alike >= _ALIKE


def never_met(
    pairs: Sequence[tuple[int, int]], items: Sequence[int], met: np.ndarray, expected: np.ndarray
) -> list[tuple[int, int]]:
    """Those pairs that nobody ranks together, though items as frequent are.

    A pair is one of them if it would be met at least six times, were users to choose independently, and both of its
    items met nine tenths of the other items of which as much is expected, two or more.

    Args:
        pairs: places of items.
        items: places that occur in pairs.
        met: ``(len(items), m)``, how often each of these was ranked, or compared, together with each item.
        expected: likewise, were it independent.
    """
    row = {item: k for k, item in enumerate(items)}
    often = expected >= _EXPECTED

    def meets_others(item: int, other: int) -> bool:
        others = often[row[item]].copy()
        others[[item, other]] = False
        together = met[row[item]][others] > 0
        return together.size > 1 and bool(np.mean(together) >= _MOST)

    return [
        (one, other)
        for one, other in pairs
        if often[row[one], other] and not met[row[one], other]
        if meets_others(one, other) and meets_others(other, one)
    ]

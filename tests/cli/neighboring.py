"""Files of comparisons and of rankings, and their neighbors: what one user, one comparison or one rank may turn into.

Each edit is a pair of tables. The user who differs is ``u4``, in the middle of the file. Its answers and their
replacements are as far apart as they can be for two comparisons of a user, so that the bounds are met with equality.
"""

from __future__ import annotations

import dataclasses
import gzip
import itertools
import json
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

from tests.parquet import parquet

ITEMS = "abcd"
PAIRS = list(itertools.combinations(ITEMS, 2))
WHO = "u4"
BUDGETS = (0.5, 2.0, 1.0)  # personal ones, by the user's number; u4 has the largest

Comparison = tuple[str, str, str, int]
"""User, winner, loser, whether it is a tie."""
Ranking = tuple[str, tuple[int | None, ...]]
"""User, and the rank of each item from 1, None where there is none."""


@dataclasses.dataclass(frozen=True)
class Edit:
    """Two neighboring tables, and which facts on them differ, by the names of a guarantee's public facts."""

    name: str
    first: list[Any]
    second: list[Any]
    changed: frozenset[str] = frozenset()


# --- comparisons -----------------------------------------------------------------------------------


def _of(user: str, *wins: str, tie: int = 0) -> list[Comparison]:
    """``"ab"``: a is preferred to b."""
    return [(user, win[0], win[1], tie) for win in wins]


def _others(ties: bool) -> list[list[Comparison]]:
    """One to three comparisons of each other user; all items and pairs occur."""
    found = []
    for k in range(8):
        pairs = [PAIRS[(2 * k + s) % 6][:: -1 if (k + s) % 3 == 0 else 1] for s in range(1 + k % 3)]
        found.append(
            [(f"u{k}", *pair, int(ties and (k + s) % 4 == 0)) for s, pair in enumerate(pairs)]
        )
    return found


def _with(own: list[Comparison], ties: bool, last: bool) -> list[Comparison]:
    """The table where WHO said this. Rows of users alternate; those of WHO come last if wanted."""
    users = _others(ties)
    users[int(WHO[1:])] = [] if last else own
    rounds = itertools.zip_longest(*users)
    return [row for rows in rounds for row in rows if row is not None] + (own if last else [])


def comparison_edits(unit: str, adjacency: str, *, ties: bool, last: bool = False) -> list[Edit]:
    """Neighboring tables of comparisons, for each way to differ.

    Args:
        unit, adjacency: of the guarantee.
        ties: whether there may be any.
        last: whether the rows that differ stand at the end, so that no other row changes its place.
    """
    own = _of(WHO, "ab", "ab", "ac")
    tied = _of(WHO, "ab", "ab", "ac", tie=1)
    table = {
        ("user", "flip"): {
            "reversed": (own, _of(WHO, "ba", "ba", "ca")),
            "one": (own, _of(WHO, "ab", "ba", "ac")),
            "tied": (own, tied),
        },
        ("user", "replace"): {
            "others": (own, _of(WHO, "dc", "db", "dc")),
            "fewer": (own, _of(WHO, "cd")),
            "more": (_of(WHO, "ca"), _of(WHO, *["db"] * 5)),
            "none": (own, []),
            "renamed": (own, _of("zz", "ab", "ab", "ac")),
            "an item more": (own, _of(WHO, "ea", "ed")),
            "tied": (own, tied),
        },
        ("user", "add-remove"): {
            "gone": (own, []),
            "here": ([], _of(WHO, *["ab"] * 4)),
            "an item less": (_of(WHO, "ea", "ed"), []),
        },
        ("comparison", "flip"): {
            "reversed": (own, _of(WHO, "ba", "ab", "ac")),
            "tied": (own, [*tied[:1], *own[1:]]),
        },
        ("comparison", "replace"): {
            "another pair": (own, [*_of(WHO, "dc"), *own[1:]]),
            "another user": (own, [*_of("u1", "cb"), *own[1:]]),
            "an item more": (own, [*_of(WHO, "ea"), *own[1:]]),
            "tied": (own, [*_of(WHO, "dc", tie=1), *own[1:]]),
        },
        ("comparison", "add-remove"): {
            "gone": (own, own[1:]),
            "here": (own, [*_of(WHO, "dc"), *own]),
        },
    }
    found = []
    for name, pair in table[unit, adjacency].items():
        if ties or not any(row[3] for rows in pair for row in rows):
            tables = [_with(rows, ties, last) for rows in pair]
            facts = [("items", {item for row in rows for item in row[1:3]}) for rows in tables]
            facts += [("ties", [row[3] for row in rows]) for rows in tables]
            found.append(Edit(name, *tables, _changed(facts)))
    return found


def _changed(facts: list[tuple[str, Any]]) -> frozenset[str]:
    """Names of facts that stand there with several values."""
    return frozenset(name for name, fact in facts if any(fact != x for n, x in facts if n == name))


def write_comparisons(
    folder: Path,
    rows: list[Comparison],
    kind: str,
    budgets: bool,
    sides: bool = False,
    weights: bool = False,
) -> Path:
    """A file of that ending; no column of ties where there are none.

    With ``sides`` it says which item was on the left, how much longer it was, and who judged: for each user and pair
    the same, whoever won. WHO has the largest lengths, all on one side. With ``weights`` each row has one, by what it
    says.
    """
    if kind == "battles.jsonl":
        cells = [
            [user, *sorted((one, other)), "tie" if tie else ("model_a", "model_b")[one > other]]
            for user, one, other, tie in rows
        ]
        return _table(folder, ["user", "model_a", "model_b", "winner"], cells, "jsonl")
    header = ["user", "winner", "loser"] + ["tie"] * any(row[3] for row in rows)
    cells = [[str(cell) for cell in row[: len(header)]] for row in rows]
    if budgets:
        header.append("budget")
        cells = [[*row, str(_budget(row[0]))] for row in cells]
    if weights:
        header.append("weight_of_row")
        cells = [[*row, ("0.3", "5", "9")[sum(map(ord, "".join(row))) % 3]] for row in cells]
    if sides:
        header += ["left", "length", "judge"]
        cells = [[*row, *_side(row[0], sorted(row[1:3]))] for row in cells]
    return _table(folder, header, cells, kind)


def _side(user: str, pair: list[str]) -> tuple[str, str, str]:
    """Left item, length and judge."""
    if user == WHO:
        return pair[0], "3", "x"
    number = sum(map(ord, "".join((user, *pair))))
    return pair[number % 2], str(number % 3 - 1), "xyyyy"[number % 5]


def write_choices(folder: Path, rows: list[Comparison], kind: str) -> Path:
    """Choices from sets: each winner was chosen from the pair and, for pairs with d, one item more."""
    cells = [
        [row[0], row[1], "|".join(sorted({*row[1:3], *("c" if "d" in row[1:3] else "")}))]
        for row in rows
    ]
    return _table(folder, ["user", "chosen", "shown"], cells, kind)


# --- preferences -----------------------------------------------------------------------------------

Preference = tuple[str, str, Any, Any]
"""User, prompt, chosen, rejected."""


def preference_edits(unit: str, *, ties: bool) -> list[Edit]:
    """Neighboring files of preferences: other answers of ``u4`` were chosen."""
    talk = [[{"role": "assistant", "content": "yes"}], [{"content": "no", "role": "assistant"}]]
    others = [(f"u{k % 6}", f"p{k}", *("ab", "ba")[k % 2]) for k in range(9) if k % 6 != 4]
    others += [("u1", "p9", *talk)] + [("u2", "p10", "a", "a")] * ties
    own = [(WHO, "p4", "a", "b"), (WHO, "p5", "\u00e9", "e"), (WHO, "p6", *talk)]
    rows = [*others[:4], *own, *others[4:]]
    # The first line, the only one of u3, then those of u4.
    if unit == "comparison":
        edits = {f"line {k}": {k} for k in (0, 3, 4, 5, 6)}
    else:
        edits = {"first": {0}, "reversed": {4, 5, 6}, "one": {5}, "another": {3}}
    return [
        Edit(
            name,
            rows,
            [(u, p, *(x[::-1] if k in turned else x)) for k, (u, p, *x) in enumerate(rows)],
        )
        for name, turned in edits.items()
    ]


def write_preferences(folder: Path, rows: list[Preference], kind: str) -> Path:
    """A .jsonl or .jsonl.gz file, with fields that tell the order, by their names too, and are to be left out."""
    lines = [
        json.dumps(
            {"score_chosen": k, "chosen": yes, "rejected": no, "user": user, "prompt": prompt}
            | {"id": k, "topic": prompt[-1], "budget": _budget(user), f"as {yes} said": True}
        )
        for k, (user, prompt, yes, no) in enumerate(rows)
    ]
    path = folder / f"data.{kind}"
    content = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(content, mtime=0) if kind.endswith("gz") else content)
    return path


# --- rankings --------------------------------------------------------------------------------------

STRICT = [(1, 2, 3, 4), (2, 1, 3, 4), (4, 3, 2, 1), (1, 3, 2, 4), (1, 2, 3, 4), (3, 1, 4, 2)]
TIED = [(1, 1, 3, 3), (2, 1, 2, 2), (1, 1, 1, 1)]
PARTIAL = [(None, 1, 2, None), (1, None, 1, None), (None, None, None, None)]
NOTHING = PARTIAL[-1]


def ranking_edits(
    unit: str, adjacency: str = "replace", *, ties: bool, gaps: bool, nothing: bool = True
) -> list[Edit]:
    """Neighboring tables of rankings: that of ``u4`` replaced, there or not, or changed in the rank of one item.

    Args:
        unit: ``"user"`` or ``"rank"``.
        adjacency: ``"replace"`` or ``"add-remove"``.
        ties: whether there may be any.
        gaps: whether users may leave items out.
        nothing: with gaps, whether they may leave all out.
    """
    others = [*STRICT, *STRICT[:3], *TIED * ties, *PARTIAL[: 2 + nothing] * gaps]
    if adjacency == "add-remove":
        pairs = {"gone": ((1, 2, 3, 4), None), "here": (None, (3, 1, 2, 4))}
        return [_joined(name, others, *pair) for name, pair in pairs.items()]
    table = {
        "reversed": ("user", (1, 2, 3, 4), (4, 3, 2, 1)),
        "one of the others'": ("user", (2, 4, 3, 1), (1, 3, 2, 4)),
        "all tied": ("user", (1, 2, 3, 4), (1, 1, 1, 1)),
        "untied": ("user", (1, 1, 1, 4), (4, 1, 3, 2)),
        "one left": ("user", (4, 3, 2, 1), (1, None, None, None)),
        "others": ("user", (1, 2, None, None), (None, None, 1, 2)),
        "the same two": ("user", (1, 2, None, None), (2, 1, None, None)),
        "nothing": ("user", (1, 2, 3, 4), NOTHING),
        "something": ("user", NOTHING, (2, 2, 1, 4)),
        "last": ("rank", (1, 2, 3, 4), (4, 1, 2, 3)),
        "first": ("rank", (3, 4, 2, 1), (4, 1, 3, 2)),
        "into a tie": ("rank", (1, 2, 3, 4), (1, 2, 3, 3)),
        "out of a tie": ("rank", (1, 1, 1, 4), (4, 1, 1, 3)),
    }
    found = []
    for name, (of, *pair) in table.items():
        blank = [rank is None for ranks in pair for rank in ranks]
        equal = any(len({*ranks} - {None}) < sum(map(bool, ranks)) for ranks in pair)
        if of != unit or (equal and not ties) or (any(blank) and not gaps):
            continue
        if nothing or NOTHING not in pair:
            facts = [("ranked-items", [rank is None for rank in ranks]) for ranks in pair]
            facts += [("participation", ranks == NOTHING) for ranks in pair]
            both = ([*others[:4], ranks, *others[5:]] for ranks in pair)
            tables = ([(f"u{k}", row) for k, row in enumerate(rows)] for rows in both)
            found.append(Edit(name, *tables, _changed(facts)))
    return found


def rating_edits(adjacency: str) -> list[Edit]:
    """Neighboring tables of ratings from 1 to 4: those of ``u4`` replaced, or there or not."""
    rows = [(f"u{k}", ranks) for k, ranks in enumerate([*STRICT, *STRICT[:3], *TIED, *PARTIAL])]
    low, high = (1, 1, 1, 1), (4, 4, 4, 4)
    table = {
        "replace": {
            "all": (low, high),
            "another": ((4, 1, 1, 1), (1, 4, 1, 1)),
            "nothing": ((4, 3, 2, 1), NOTHING),
        },
        "add-remove": {"gone": (high, None), "here": (None, low), "one": (None, (4, 1, 1, 1))},
    }
    return [
        _joined(name, [row for _, row in rows], *pair) for name, pair in table[adjacency].items()
    ]


def _joined(name: str, others: list[Any], *pair: Any) -> Edit:
    """Tables with these rows, but for that of ``u4``, which is one of the pair, or not there where that is None."""
    rows = [(f"u{k}", row) for k, row in enumerate(others)]
    return Edit(name, *([*rows[:4], *([(WHO, own)] if own else []), *rows[5:]] for own in pair))


def write_rankings(folder: Path, rows: list[Ranking], kind: str, budgets: bool = False) -> Path:
    """``wide.csv``, ``long.parquet`` and the like, or ``preflib``; blank where an item was not ranked.

    A user who ranked nothing has a row without a rank in a long file, and none in a ``sparse`` one.
    """
    if kind == "preflib":
        return _preflib(folder, [ranks for _, ranks in rows])
    shape, _, ending = kind.partition(".")
    more = ["budget"] if budgets else []
    if shape == "wide":
        cells = [[user, *map(_cell, ranks), *_budgets(user, more)] for user, ranks in rows]
        return _table(folder, ["user", *ITEMS, *more], cells, ending, unused=False)
    if shape in ("places", "orders"):
        groups = {
            user: ["=".join(i for i, r in zip(ITEMS, ranks) if r == rank) for rank in sorted({*ranks} - {None})]
            for user, ranks in rows
        }  # fmt: skip
        if shape == "orders":
            cells = [[user, ">".join(found)] for user, found in groups.items()]
            return _table(folder, ["user", "order"], cells, ending, unused=False)
        cells = [
            [user, *found, *[""] * (len(ITEMS) - len(found))] for user, found in groups.items()
        ]
        return _table(
            folder, ["user", *(f"rank_{k}" for k in range(1, 5))], cells, ending, unused=False
        )
    cells = [
        [user, item, _cell(rank), *_budgets(user, more)]
        for user, ranks in rows
        for item, rank in zip(ITEMS, ranks)
        if rank is not None or (shape == "long" and item == ITEMS[0] and ranks == NOTHING)
    ]
    return _table(folder, ["user", "item", "rank", *more], cells, ending, unused=False)


def _cell(rank: int | None) -> str:
    return "" if rank is None else str(rank)


def _budget(user: str) -> float:
    return BUDGETS[int(user[1:]) % len(BUDGETS)]


def _budgets(user: str, columns: list[str]) -> list[str]:
    return [str(_budget(user)) for _ in columns]


def _table(
    folder: Path, header: list[str], rows: list[list[str]], ending: str, *, unused: bool = True
) -> Path:
    """A file of that ending; of JSON, with a key that is not used if the shape of the data leaves room for one."""
    if ending in ("json", "jsonl"):
        return _objects(folder / f"data.{ending}", header, rows, unused=unused)
    separator = "\t" if ending == "tsv" else ","
    text = "\n".join(separator.join(cells) for cells in [header, *rows]) + "\n"
    path = folder / f"data.{'csv' if ending == 'parquet' else ending}"
    path.write_text(text, encoding="utf-8")
    if ending != "parquet":
        return path
    found = parquet(folder, f"SELECT * FROM read_csv('{path}', header = true)", "data.parquet")
    path.unlink()
    return found


def _objects(path: Path, header: list[str], rows: list[list[str]], *, unused: bool) -> Path:
    """Objects of JSON of which the keys tell as much as they can of a user, whose row comes first.

    Their order is that of a hash of the row, and the first object has a key that is not used and repeats its cells.
    """
    rows = sorted(rows, key=lambda row: row[0] != WHO)
    filled = [any(row[k] for row in rows) for k in range(len(header))]
    found = []
    for number, row in enumerate(rows):
        cells = {name: cell or None for name, cell, some in zip(header, row, filled) if some}
        if unused and number == 0:
            cells["said " + " ".join(row)] = "yes"
        order = sorted(cells, key=lambda name: zlib.crc32(f"{row} {name}".encode()))
        found.append(json.dumps({name: cells[name] for name in order}))
    lines = "\n".join(found)
    path.write_text(f"[{lines.replace(chr(10), ', ')}]" if path.suffix == ".json" else lines)
    return path


def _preflib(folder: Path, rankings: list[tuple[int | None, ...]]) -> Path:
    """The most frequent orders first, as PrefLib has them; nobody has a place."""
    orders = Counter(map(_written, rankings))
    tied = any("{" in order for order in orders)
    whole = all(None not in ranks for ranks in rankings)
    kind = ("to" if tied else "so") + ("c" if whole else "i")
    lines = [
        f"# DATA TYPE: {kind}",
        f"# NUMBER ALTERNATIVES: {len(ITEMS)}",
        f"# NUMBER VOTERS: {len(rankings)}",
        f"# NUMBER UNIQUE ORDERS: {len(orders)}",
        *(f"# ALTERNATIVE NAME {k}: {item}" for k, item in enumerate(ITEMS, start=1)),
        *(f"{n}: {order}" for order, n in sorted(orders.items(), key=lambda x: (-x[1], x[0]))),
    ]
    path = folder / f"data.{kind}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _written(ranks: tuple[int | None, ...]) -> str:
    groups: dict[int, list[str]] = {}
    for k, rank in enumerate(ranks, start=1):
        if rank is not None:
            groups.setdefault(rank, []).append(str(k))
    words = [",".join(groups[rank]) for rank in sorted(groups)]
    return ",".join(f"{{{word}}}" if "," in word else word for word in words)


# --- a survey: everybody is asked all pairs of six items -------------------------------------------

LOW, HIGH, TIED_ANSWER, NO_ANSWER = "0", "2", "1", "NA"  # of cemspc; the last pair is reversed
_PLACES = [(i, j) for j in range(6) for i in range(j)]


def survey_edits(adjacency: str) -> list[Edit]:
    """Answers of nine students in the form of ``cemspc``, each row one student's; the fifth differs.

    Under ``flip`` two students give all of ⌊m²/2⌋ = 18, under ``replace`` all of 24, under ``add-remove`` all of 15.
    """
    others = [
        [(LOW, HIGH, TIED_ANSWER, HIGH, LOW)[(k + p) % 5] for p in range(15)] for k in range(8)
    ]
    others[2][3] = others[5][7] = NO_ANSWER
    low, high = [LOW] * 15, [HIGH] * 15

    def gap(inside: range, answer: str) -> list[str]:
        return [NO_ANSWER if {i, j} <= set(inside) else answer for i, j in _PLACES]

    table = {
        "flip": {"reversed": (low, high), "tied": (low, [TIED_ANSWER] * 15)},
        "replace": {
            "others": (gap(range(3, 6), LOW), gap(range(3), HIGH)),
            "reversed": (low, high),
            "tied": (low, [TIED_ANSWER] * 15),
            "silent": (low, [NO_ANSWER] * 15),
        },
        "add-remove": {"gone": (low, []), "here": ([], high)},
    }
    return [
        Edit(name, *([*others[:4], own, *others[4:]] for own in pair))
        for name, pair in table[adjacency].items()
    ]


def write_survey(folder: Path, rows: list[list[str]]) -> None:
    turned = {LOW: HIGH, HIGH: LOW}
    lines = [",".join([*row[:-1], turned.get(row[-1], row[-1])]) for row in rows if row]
    (folder / "cemspc").mkdir(parents=True, exist_ok=True)
    header = ",".join(f"V{k}" for k in range(1, 16))
    (folder / "cemspc" / "cemspc.csv").write_text("\n".join([header, *lines]) + "\n")

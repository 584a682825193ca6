"""Files of comparisons and of rankings, and their neighbors: what one user, one comparison or one rank may turn into.

The user who differs is ``u4``, in the middle of the file. Its answers and their replacements are as far apart as they
can be for two comparisons of a user, so that the bounds are met with equality.
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

import pandas

ITEMS = "abcd"
PAIRS = list(itertools.combinations(ITEMS, 2))
WHO = "u4"
BUDGETS = (0.5, 2.0, 1.0)  # personal ones, by the user's number; u4 has the largest


@dataclasses.dataclass(frozen=True)
class Edit:
    """Two neighboring tables, and which facts on them differ, by the names of a guarantee's public facts.

    A comparison is (user, winner, loser, whether it is a tie), a ranking (user, the rank of each item from 1 or None),
    a preference (user, prompt, chosen, rejected).
    """

    name: str
    first: list[tuple]
    second: list[tuple]
    changed: frozenset[str] = frozenset()


def _edits(table: str, of: str) -> list[list[str]]:
    """Names, and what u4 says before and after, of the lines of this unit and adjacency."""
    lines = [[part.strip() for part in line.split(";")] for line in table.strip().split("\n")]
    return [found for kind, *found in lines if kind == of]


def _changed(**facts: list[Any]) -> frozenset[str]:
    """Names of facts that differ in two tables."""
    return frozenset(name for name, (first, second) in facts.items() if first != second)


# --- comparisons -----------------------------------------------------------------------------------

# "ab": a is preferred to b; "ab=": they are tied; "ab@u1": somebody else says so.
_COMPARISONS = """
user flip; reversed; ab ab ac; ba ba ca
user flip; one; ab ab ac; ab ba ac
user flip; tied; ab ab ac; ab= ab= ac=
user replace; others; ab ab ac; dc db dc
user replace; all others; ab ab ac; dc dc dc
user replace; more; ca; db db db db db
user replace; none; ab ab ac;
user replace; renamed; ab ab ac; ab@zz ab@zz ac@zz
user replace; an item more; ab ab ac; ea ed
user replace; tied; ab ab ac; ab= ab= ac=
user add-remove; gone; ab ab ac;
user add-remove; here; ; ab ab ab ab
user add-remove; an item less; ea ed;
comparison flip; reversed; ab ab ac; ba ab ac
comparison flip; tied; ab ab ac; ab= ab ac
comparison replace; another pair; ab ab ac; dc ab ac
comparison replace; another user; ab ab ac; cb@u1 ab ac
comparison replace; an item more; ab ab ac; ea ab ac
comparison replace; tied; ab ab ac; dc= ab ac
comparison add-remove; gone; ab ab ac; ab ac
comparison add-remove; here; ab ab ac; dc ab ab ac
"""


def _said(words: str) -> list[tuple]:
    parts = (word.partition("@") for word in words.split())
    return [(user or WHO, pair[0], pair[1], int("=" in pair)) for pair, _, user in parts]


def _with(own: list[tuple], ties: bool, last: bool) -> list[tuple]:
    """The table where u4 said this, and each other user one to three things; all items and pairs occur.

    Rows of users alternate; those of u4 come last if wanted.
    """
    users = []
    for k in range(8):
        pairs = [PAIRS[(2 * k + s) % 6][:: -1 if (k + s) % 3 == 0 else 1] for s in range(1 + k % 3)]
        users.append(
            [(f"u{k}", *pair, int(ties and (k + s) % 4 == 0)) for s, pair in enumerate(pairs)]
        )
    users[int(WHO[1:])] = [] if last else own
    rounds = itertools.zip_longest(*users)
    return [row for rows in rounds for row in rows if row is not None] + (own if last else [])


def comparison_edits(unit: str, adjacency: str, *, ties: bool, last: bool = False) -> list[Edit]:
    """For each way to differ. Where rows that differ stand last, no other row changes its place."""
    found = []
    for name, *pair in _edits(_COMPARISONS, f"{unit} {adjacency}"):
        if ties or "=" not in pair[1]:
            tables = [_with(_said(words), ties, last) for words in pair]
            items = [{item for row in rows for item in row[1:3]} for rows in tables]
            tied = [[row[3] for row in rows] for rows in tables]
            found.append(Edit(name, *tables, _changed(items=items, ties=tied)))
    return found


def write_comparisons(folder: Path, rows: list[tuple], kind: str, words: str) -> Path:
    """A file of that ending, with the columns that the words of a command name; of ties where there are any.

    The side says which item was on the left, how much longer it was, and who judged: for each user and pair the same,
    whoever won; u4 has the largest lengths, all on one side. Each row has a weight by what it says.
    """
    found, some_tied = [], any(row[3] for row in rows)
    for user, winner, loser, tie in rows:
        pair = sorted((winner, loser))
        if kind == "battles.jsonl":
            said = "tie" if tie else ("model_a", "model_b")[winner > loser]
            found.append({"user": user, "model_a": pair[0], "model_b": pair[1], "winner": said})
            continue
        row = {"user": user, "winner": winner, "loser": loser}
        if some_tied:
            row["tie"] = tie
        if "budget" in words:
            row["budget"] = _budget(user)
        if "--weight" in words:
            row["weight_of_row"] = (0.3, 5, 9)[sum(map(ord, f"{user}{winner}{loser}{tie}")) % 3]
        if "--side" in words:
            number = sum(map(ord, "".join((user, *pair))))
            own = (pair[0], 3, "x"), (pair[number % 2], number % 3 - 1, "xyyyy"[number % 5])
            row |= dict(zip(("left", "length", "judge"), own[user != WHO]))
        found.append(row)
    return _table(folder, found, kind)


def write_choices(folder: Path, rows: list[tuple], kind: str) -> Path:
    """Choices from sets: each winner was chosen from the pair and, for pairs with d, one item more."""
    found = []
    for user, chosen, other, _ in rows:
        shown = {chosen, other} | ({"c"} if "d" in (chosen, other) else set())
        found.append({"user": user, "chosen": chosen, "shown": "|".join(sorted(shown))})
    return _table(folder, found, kind)


# --- preferences -----------------------------------------------------------------------------------


def preference_edits(unit: str, *, ties: bool) -> list[Edit]:
    """Neighboring files of preferences: other answers of ``u4`` were chosen."""
    talk = [[{"role": "assistant", "content": "yes"}], [{"content": "no", "role": "assistant"}]]
    others = [(f"u{k % 6}", f"p{k}", *("ab", "ba")[k % 2]) for k in range(9) if k % 6 != 4]
    others += [("u1", "p9", *talk)] + [("u2", "p10", "a", "a")] * ties
    own = [(WHO, "p4", "a", "b"), (WHO, "p5", "\u00e9", "e"), (WHO, "p6", *talk)]
    rows = [*others[:4], *own, *others[4:]]
    # The first line, the only one of u3, then those of u4.
    lines, users = [{k} for k in (0, 3, 4, 5, 6)], [{0}, {4, 5, 6}, {5}, {3}]
    return [
        Edit(
            f"turned {sorted(turned)}",
            rows,
            [(u, p, *(x[::-1] if k in turned else x)) for k, (u, p, *x) in enumerate(rows)],
        )
        for turned in (lines if unit == "comparison" else users)
    ]


def write_preferences(folder: Path, rows: list[tuple], kind: str) -> Path:
    """A .jsonl or .jsonl.gz file, with fields that tell the order, by their names too, and are to be left out."""
    text = ""
    for k, (user, prompt, yes, no) in enumerate(rows):
        row = {"score_chosen": k, "chosen": yes, "rejected": no, "user": user, "prompt": prompt}
        row |= {"id": k, "topic": prompt[-1], "budget": _budget(user), f"as {yes} said": True}
        text += json.dumps(row) + "\n"
    path = folder / f"data.{kind}"
    packed = gzip.compress(text.encode(), mtime=0)
    path.write_bytes(packed if kind.endswith("gz") else text.encode())
    return path


# --- rankings --------------------------------------------------------------------------------------

# The ranks of a, b, c and d, a dot where one is not ranked, and nothing of a user who is not there.
_RANKINGS = """
user replace; reversed; 1234; 4321
user replace; one of the others'; 2431; 1324
user replace; all tied; 1234; 1111
user replace; untied; 1114; 4132
user replace; one left; 4321; 1...
user replace; others; 12..; ..12
user replace; the same two; 12..; 21..
user replace; nothing; 1234; ....
user replace; something; ....; 2214
user add-remove; gone; 1234;
user add-remove; here; ; 3124
rank replace; last; 1234; 4123
rank replace; first; 3421; 4132
rank replace; into a tie; 1234; 1233
rank replace; out of a tie; 1114; 4113
rating replace; all; 1111; 4444
rating replace; another; 4111; 1411
rating replace; nothing; 4321; ....
rating add-remove; gone; 4444;
rating add-remove; here; ; 1111
rating add-remove; one; ; 4111
"""


def ranks(word: str) -> tuple[int | None, ...]:
    return tuple(None if one == "." else int(one) for one in word)


STRICT = list(map(ranks, ("1234", "2134", "4321", "1324", "1234", "3142")))
TIED = list(map(ranks, ("1133", "2122", "1111")))
PARTIAL = list(map(ranks, (".12.", "1.1.", "....")))
NOTHING = PARTIAL[-1]


def ranking_edits(
    unit: str, adjacency: str, *, ties: bool, gaps: bool, nothing: bool = True
) -> list[Edit]:
    """That of ``u4`` replaced, there or not, or changed in the rank of one item; users leave items out with ``gaps``.

    The unit may be ``"rating"``, for users who rate items from 1 to 4. With ``nothing`` some leave out all items.
    """
    others = [*STRICT, *STRICT[:3], *TIED * ties, *PARTIAL[: 2 + nothing] * gaps]
    rows, found = [(f"u{k}", row) for k, row in enumerate(others)], []
    for name, *pair in _edits(_RANKINGS, f"{unit} {adjacency}"):
        said = [word.replace(".", "") for word in pair]
        fits = (ties or all(len({*word}) == len(word) for word in said)) and (
            gaps or "." not in "".join(pair)
        )
        if fits and (nothing or "...." not in pair):
            tables = [[*rows[:4], *([(WHO, ranks(w))] if w else []), *rows[5:]] for w in pair]
            blank = [[one == "." for one in word] for word in pair]
            facts = {"ranked-items": blank, "participation": [word == "...." for word in pair]}
            found.append(Edit(name, *tables, _changed(**facts) if all(pair) else frozenset()))
    return found


def write_rankings(folder: Path, rows: list[tuple], kind: str, words: str) -> Path:
    """``wide.csv``, ``long.parquet`` and the like, or ``preflib``; blank where an item was not ranked.

    A user who ranked nothing has a row without a rank in a long file, and none in a ``sparse`` one.
    """
    if kind == "preflib":
        return _preflib(folder, [of for _, of in rows])
    shape, _, ending = kind.partition(".")
    found: list[dict[str, Any]] = []
    for user, of in rows:
        more = {"budget": _budget(user)} if "budget" in words else {}
        groups = ["=".join(group) for group in _groups(of, ITEMS)]
        if shape == "wide":
            found.append({"user": user} | dict(zip(ITEMS, of)) | more)
        elif shape == "orders":
            found.append({"user": user, "order": ">".join(groups)})
        elif shape == "places":
            places = itertools.zip_longest(range(1, 5), groups)
            found.append({"user": user} | {f"rank_{k}": group for k, group in places})
        else:
            found += [
                {"user": user, "item": item, "rank": rank} | more
                for item, rank in zip(ITEMS, of)
                if rank is not None or (shape == "long" and item == ITEMS[0] and of == NOTHING)
            ]
    return _table(folder, found, ending, unused=False)


def _groups(of: tuple[int | None, ...], names: str) -> list[list[str]]:
    """Names of the items of each rank, the best first."""
    return [[n for n, r in zip(names, of) if r == rank] for rank in sorted({*of} - {None})]


def _budget(user: str) -> float:
    return BUDGETS[int(user[1:]) % len(BUDGETS)]


def _table(folder: Path, rows: list[dict[str, Any]], ending: str, *, unused: bool = True) -> Path:
    """A file of that ending; of JSON, with a key that is not used if the shape of the data leaves room for one."""
    path = folder / f"data.{ending.removeprefix('battles.')}"
    if path.suffix in (".json", ".jsonl"):
        path.write_text(_objects(rows, path.suffix, unused=unused))
        return path
    frame = pandas.DataFrame(rows, dtype=object)
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="\t" if ending == "tsv" else ",", index=False)
    return path


def _objects(rows: list[dict[str, Any]], suffix: str, *, unused: bool) -> str:
    """Objects of JSON of which the keys tell as much as they can of a user, whose row comes first.

    Their order is that of a hash of the row, and the first object has a key that is not used and repeats its cells.
    """
    rows = sorted(rows, key=lambda row: row["user"] != WHO)
    filled = {name for row in rows for name, cell in row.items() if cell not in ("", None)}
    found = []
    for number, row in enumerate(rows):
        cells = {name: None if cell == "" else cell for name, cell in row.items() if name in filled}
        if unused and number == 0:
            cells["said " + " ".join(map(str, row.values()))] = "yes"
        order = sorted(cells, key=lambda name: zlib.crc32(f"{row} {name}".encode()))
        found.append(json.dumps({name: cells[name] for name in order}))
    return f"[{', '.join(found)}]" if suffix == ".json" else "\n".join(found)


def _preflib(folder: Path, rankings: list[tuple[int | None, ...]]) -> Path:
    """The most frequent orders first, as PrefLib has them; nobody has a place."""
    written = [[",".join(group) for group in _groups(of, "1234")] for of in rankings]
    orders = Counter(",".join(f"{{{g}}}" if "," in g else g for g in groups) for groups in written)
    lines = [
        "# DATA TYPE: toi",
        f"# NUMBER ALTERNATIVES: {len(ITEMS)}",
        f"# NUMBER VOTERS: {len(rankings)}",
        f"# NUMBER UNIQUE ORDERS: {len(orders)}",
        *(f"# ALTERNATIVE NAME {k}: {item}" for k, item in enumerate(ITEMS, start=1)),
        *(f"{n}: {order}" for order, n in sorted(orders.items(), key=lambda x: (-x[1], x[0]))),
    ]
    path = folder / "data.toi"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# --- a survey: everybody is asked all pairs of six items -------------------------------------------

LOW, HIGH, TIE, NONE = "0", "2", "1", "NA"  # of cemspc; the last pair is reversed
_PLACES = [(i, j) for j in range(6) for i in range(j)]


def survey_edits(adjacency: str) -> list[Edit]:
    """Answers of nine students in the form of ``cemspc``, each row one student's; the fifth differs.

    Under ``flip`` two students give all of ⌊m²/2⌋ = 18, under ``replace`` all of 24, under ``add-remove`` all of 15.
    """
    others = [[(LOW, HIGH, TIE, HIGH, LOW)[(k + p) % 5] for p in range(15)] for k in range(8)]
    others[2][3] = others[5][7] = NONE
    low, high, tied = ([answer] * 15 for answer in (LOW, HIGH, TIE))

    def gap(inside: range, answer: str) -> list[str]:
        return [NONE if {i, j} <= set(inside) else answer for i, j in _PLACES]

    table = {
        "flip": {"reversed": (low, high), "tied": (low, tied)},
        "replace": {
            "others": (gap(range(3, 6), LOW), gap(range(3), HIGH)),
            "reversed": (low, high),
            "tied": (low, tied),
            "silent": (low, [NONE] * 15),
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

"""Read a file of comparisons, one per row, into a table; a faulty file is refused as a whole.

No row is dropped and no name is changed; anything that looks wrong raises an error that says where it is.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from privrank_jax._arguments import value_of
from privrank_jax._cells.codes import NameCodes, TieCodes, public_items
from privrank_jax._cells.columns import Roles, without
from privrank_jax._cells.counts import (
    CountCodes,
    WeightCodes,
    check_no_counts,
    counted_note,
    repeated,
    weighted_note,
)
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.order_shapes import is_blank
from privrank_jax._cells.outcomes import (
    LEFT,
    RIGHT,
    SHAPE,
    TIE,
    Battle,
    OutcomeReader,
    Sides,
    check_outcomes,
)
from privrank_jax._cells.pair_shapes import Pairs, Shape, Tally, shape_named, shape_of
from privrank_jax._cells.public import notes_on_comparisons, public_facts
from privrank_jax._cells.text_files import File
from privrank_jax.datasets.formats import Data, Source, open_source, read_header
from privrank_jax.datasets.frames import Frame
from privrank_jax.datasets.outcome_rows import columns_of, one_comparison_each, read_code
from privrank_jax.datasets.table import ComparisonTable


def read_comparisons(
    path: str | os.PathLike[str],
    *,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    left_wins: str | None = None,
    right_wins: str | None = None,
    left_score: str | None = None,
    right_score: str | None = None,
    count: str | None = None,
    weight: str | None = None,
    items: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
) -> ComparisonTable:
    """Read comparisons from a file with a header row (CSV, TSV), JSON Lines, or a Parquet file.

    A row names the preferred item and the other one; or, as chatbot arenas and games are written, two items and, in a
    third column, the outcome: see :mod:`privrank_jax._cells.outcomes` for its words. The columns of such a file are
    recognized by usual names (``model_a``, ``model_b``, ``winner``; ``left``, ``right``, ``outcome``, ...) where it has
    no columns ``winner`` and ``loser``, and ``notes`` say so. So are files with a column for each pair, such as ``Oslo
    vs Rome``, or for each outcome (``winner_model_a``, ...): see :mod:`privrank_jax._cells.pair_shapes`. Columns are
    found whatever the case of their names.

    Args:
        path: ends in .csv, .tsv, .jsonl, .ndjson, .json, .parquet or .pq (Parquet needs the extra ``tables``), all but
            the last two also in .gz or .zst; or a :class:`~privrank_jax.datasets.File` with its separator and encoding.
        user: column of the user's id. None: the file names no users, each row is a separate user, and only a guarantee
            per comparison is possible.
        winner: column of the preferred item; for a tie, of either item.
        loser: column of the other item.
        tie: column that marks ties: 1, true, yes; or 0, false, no, blank. The default is used
            where the file has it; None reads every row as a decision.
        left: column of one item, where an outcome says which is preferred; default: a usual name.
        right: column of the other item.
        outcome: column of the outcome.
        left_wins, right_wins: columns of how often each of the two items won, instead of an outcome; each win is a
            comparison of the row's user.
        left_score, right_score: columns of what each of the two items scored: the higher one wins, equal ones tie.
        count: column of how often a row counts, a whole number: a row that counts c times is c comparisons, of one
            user where the file names users.
        weight: column of weights of rows, numbers of at least 0, such as the inverse of the probability with which a
            pair is shown; :attr:`ComparisonTable.weights` has them.
        items: the public list of items, in the order to use, with those never compared. Default:
            the items seen in the file, sorted; that list is then public, as ``notes`` says: a
            release tells which items occur.
        ignore: columns that are not used, whatever they are called, as for
            :func:`~privrank_jax.datasets.read_rankings`.

    Returns:
        A table of N comparisons in the order of the file. ``notes`` names the columns not used.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it. No such file, an
            empty one, a column or value missing, a row of the wrong length, bytes that are not
            text in the encoding; an item compared with itself, outside ``items``, named twice (apart from case
            and blanks), or named like a column of the file unless ``items`` has it; a column that
            seems to say which of two items is preferred, where the columns of items go by other
            names than the defaults; columns of wins or counts, by their names, that would not be
            used; an outcome that is none, or that may mean two things; a user named twice (apart
            from blanks); a tie neither yes nor no; a weight that is no number of at least 0.
    """
    sides = (left, right, outcome, left_wins, right_wins, left_score, right_score)
    named = Sides(*(column or "" for column in sides))
    return _read(path, (user, winner, loser, tie, count, weight), named, items, ignore)


def comparisons_from(
    frame: Any,
    *,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    left_wins: str | None = None,
    right_wins: str | None = None,
    left_score: str | None = None,
    right_score: str | None = None,
    count: str | None = None,
    weight: str | None = None,
    items: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    name: str = "the table",
) -> ComparisonTable:
    """Read comparisons from columns in memory, by the rules of :func:`read_comparisons`.

    Args:
        frame: a dict of columns; a frame of pandas or polars; a table of Arrow, Ibis or DuckDB. None of these packages
            is needed or imported.
        user, winner, loser, tie, left, right, outcome: as for :func:`read_comparisons`.
        left_wins, right_wins, left_score, right_score, count, weight, items, ignore: likewise.
        name: of the data.

    Returns:
        A table of N comparisons in the order of the rows.

    Raises:
        DataError: as there; an object that is no table; a cell that is a list or a structure.

    >>> battles = {"judge": ["ann", "bob"], "left": ["gpt", "phi"], "right": ["phi", "yi"], "winner": ["left", "tie"]}
    >>> table = comparisons_from(battles, user="judge")
    >>> table.item_names, table.winners.tolist(), table.losers.tolist(), table.tied.tolist()
    (('gpt', 'phi', 'yi'), [0, 1], [1, 2], [False, True])
    """
    sides = (left, right, outcome, left_wins, right_wins, left_score, right_score)
    named = Sides(*(column or "" for column in sides))
    return _read(
        Frame(frame, name), (user, winner, loser, tie, count, weight), named, items, ignore
    )


def shape_in(
    name: str, header: Sequence[str], winner: str, loser: str, named: Sides
) -> Shape | None:
    """The columns of a file without winners and losers, by the names that were given, else by the header."""
    if any(named):
        if (winner, loser) != ("winner", "loser"):
            raise DataError(
                f"{name}: {winner!r} and {loser!r} were said to be the preferred item and the other one, so there is "
                f"no outcome: leave out these, or {', '.join(map(str, SHAPE))}",
                *SHAPE,
            )
        return shape_named(name, header, named)
    usual = (winner, loser) == ("winner", "loser")
    return shape_of(name, header) if usual else None


def _read(
    data: Data,
    columns: tuple[str | None, str, str, str | None, str | None, str | None],
    named: Sides,
    items: Iterable[str] | None,
    ignore: Iterable[str],
) -> ComparisonTable:
    user, winner, loser, tie, count, weight = columns
    public = None if items is None else public_items(items)
    file = data if isinstance(data, Frame) else File.of(data)
    header = without(file.name, read_header(file), ignore)
    shape = shape_in(file.name, header, winner, loser, named)
    if shape is None:
        roles: Roles = {
            "user": user, "winner": winner, "loser": loser, "tie": tie, "count": count, "weight": weight,
        }  # fmt: skip
    else:
        roles = columns_of(shape, user, tie, count, weight)
    if isinstance(shape, Tally) and count is not None:
        said = value_of("count", count)
        raise DataError(
            f"{file.name}: wins are counts already, and {said} counts rows: leave out one of them",
            said,
        )
    source = open_source(file, roles)
    check_no_counts(source.name, (one for one in source.ignored if one in header))
    if shape is None:
        return _encode(source, roles, public, header)
    if "tie" in source.positions and not isinstance(shape, Battle):
        none = value_of("tie", None)
        raise DataError(
            f"{source.name}: column {tie!r} marks ties, and so may other columns: say {none} if outcomes say it, or "
            "remove it",
            none,
        )
    read_outcome = read_code
    if isinstance(shape, Battle | Pairs):
        read_outcome = OutcomeReader(source.name, shape if isinstance(shape, Battle) else None)
    if not isinstance(shape, Battle):
        source, roles = one_comparison_each(source, shape, user, count, weight)
    return _encode(source, roles, public, header, read_outcome, shape)


def _encode(
    source: Source,
    roles: Roles,
    public: tuple[str, ...] | None,
    header: Sequence[str],
    read_outcome: Callable[[str | None, str | None, str | None], int] | None = None,
    shape: Shape | None = None,
) -> ComparisonTable:
    """Rows to codes; the left item of an outcome counts as the winner until the outcome is read."""
    at = source.positions
    one, other = ("winner", "loser") if read_outcome is None else ("left", "right")
    at_winner, at_loser = at[one], at[other]
    at_user, at_tie, at_outcome, at_count, at_weight = (
        at.get(role) for role in ("user", "tie", "outcome", "count", "weight")
    )
    used = [column for role in at if (column := roles[role])]
    columns = [*used, *(column for column in source.ignored if column in header)]
    if read_outcome is None:
        check_outcomes(source.name, columns, roles["winner"] or "", roles["loser"] or "")
    listed = shape.items if isinstance(shape, Pairs) else None
    items, people, ties, counts = (
        NameCodes("item", True, public or listed, columns),
        NameCodes("user", False),
        TieCodes(),
        CountCodes(),
    )
    weighted, weights = WeightCodes(), array("d")
    users, winners, losers, outcomes = array("i"), array("i"), array("i"), array("b")
    number, role = array("i"), one
    try:
        for row in source.rows:
            if at_count is not None:
                role = "count"
                if not counts[row[at_count]]:
                    continue
                number.append(counts[row[at_count]])
            if at_weight is not None:
                role = "weight"
                weights.append(weighted[row[at_weight]])
            role = one
            winners.append(first := items[row[at_winner]])
            role = other
            losers.append(second := items[row[at_loser]])
            if first == second:
                raise BadCell(
                    f"item {row[at_loser]!r} is compared with itself: correct or remove the row"
                )
            if at_user is not None:
                role = "user"
                users.append(people[row[at_user]])
            tied = False
            if at_tie is not None:
                role = "tie"
                tied = bool(ties[row[at_tie]])
            if read_outcome is not None and at_outcome is not None:
                role = "outcome"
                cells = row[at_outcome], row[at_winner], row[at_loser]
                outcomes.append(TIE if tied and is_blank(cells[0]) else read_outcome(*cells))
                if tied and outcomes[-1] != TIE:
                    raise BadCell(
                        f"{cells[0]!r} is no tie, and column {roles['tie']!r} marks one: correct one of them"
                    )
            elif at_tie is not None:
                outcomes.append(TIE * tied)
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {roles[role]!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    rows = len(winners)
    if not rows:
        what = "rows" if listed is None else "answers"
        raise DataError(f"{source.name} has no {what} below its header: there is nothing to rank")
    if isinstance(read_outcome, OutcomeReader):
        read_outcome.check_items(items)
    names, place = items.in_order()
    each = np.arange(rows) if at_count is None else repeated(source.name, number)
    outcome = np.frombuffer(outcomes, np.int8) if outcomes else np.full(rows, LEFT)
    pair = np.array(place)[
        np.stack([np.frombuffer(column, np.int32) for column in (winners, losers)])
    ]
    preferred, behind = np.where(outcome == RIGHT, pair[::-1], pair)
    detected = () if shape is None else (shape.reading,)
    notes = notes_on_comparisons(source.positions, seen_items=public is None)
    if at_count is not None and not isinstance(shape, Tally):
        notes = (counted_note(roles["count"] or ""), *notes)
    if at_weight is not None:
        notes = (weighted_note(roles["weight"] or ""), *notes)
    return ComparisonTable(
        users=np.arange(each.size) if at_user is None else np.frombuffer(users, np.int32)[each],
        winners=preferred[each],
        losers=behind[each],
        tied=(outcome == TIE)[each],
        weights=None if at_weight is None else np.frombuffer(weights)[each],
        item_names=names,
        user_names=tuple(people),
        name=source.name,
        public=public_facts(seen_items=public is None),
        **source.said(*detected, notes=notes),
    )

"""``pr.read``: a file, a frame, a table of an engine or a named data set as data of a known kind."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax._neighbors import OWN
from privrank_jax.data.columns import Table, checksum
from privrank_jax.data.errors import DataError, say
from privrank_jax.data.file import File, Origin
from privrank_jax.data.header import spelled_in, without
from privrank_jax.data.named import load, named_sets
from privrank_jax.data.names import did_you_mean, form
from privrank_jax.data.questions import places_of_questions
from privrank_jax.data.shapes import SYNTHETIC, choice_columns, order_columns, shape_of
from privrank_jax.data.table import OBJECTS, PARQUET, open_file, open_frame

if TYPE_CHECKING:
    from privrank_jax.data.engine import Source

KINDS = ("comparisons", "choices", "orders", "rankings", "reports", "synthetic", "preferences")
_COMPARING = ("winner", "loser", "tie", "weight", "side", "group", "time", "covariates")
_SIDES = ("left", "right", "outcome", "left_wins", "right_wins", "left_score", "right_score")
_CHOOSING = ("chosen", "shown")
_ORDERING = ("order", "order_separator", "blank")
_RANKING = ("item", "rank", *_ORDERING, "missing", "num_users", "cells")
_SHARED = ("user", "items", "ignore", "count")
_TAKEN = {  # by kind, the arguments beside those that say how a file becomes a table
    "comparisons": (*_SHARED, *_COMPARING, *_SIDES),
    "choices": (*_SHARED, *_CHOOSING),
    "orders": (*_SHARED, *_RANKING),
    "rankings": (*_SHARED, *_RANKING),
    "reports": ("user", "items"),
    "synthetic": ("user", "items", "missing"),
    "preferences": ("user", "chosen", "rejected", "prompt", "id", "keep", "epsilon"),
}


def read(
    source: Any,
    *,
    kind: str | Sequence[str] | None = None,
    name: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    user: str | None = "user",
    items: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    count: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    tie: str | None = "tie",
    left: str | None = None,
    right: str | None = None,
    outcome: str | None = None,
    left_wins: str | None = None,
    right_wins: str | None = None,
    left_score: str | None = None,
    right_score: str | None = None,
    weight: str | None = None,
    covariates: Sequence[str] = (),
    side: str | None = None,
    group: str | None = None,
    time: str | None = None,
    chosen: str | None = None,
    shown: Sequence[str] = (),
    item: str | None = None,
    rank: str | None = None,
    order: str | None = None,
    order_separator: str | None = None,
    blank: Iterable[str] = (),
    missing: str | None = None,
    num_users: int | None = None,
    cells: str | None = None,
    rejected: str | None = None,
    prompt: str | None = "prompt",
    id: str | None = "id",
    keep: Sequence[str] = (),
    epsilon: str | None = None,
) -> Any:
    """Read data of people: comparisons, choices, rankings, ratings, randomized reports, preferences.

    Which of these a table holds, and which column is which, is recognized from the names of its columns alone, whatever
    their case, so that it never depends on anyone's answers; ``reading`` of the data says what was. Of JSON a column is
    a key as it is spelled. A faulty table is refused as a whole, with the row, the column and the remedy; no row is
    dropped and no name is changed.

    Args:
        source: a file (.csv, .tsv, .jsonl, .ndjson, .json, .xlsx, .parquet; PrefLib's .soc, .soi, .toc, .toi, .cat;
            .blt, .pb, .order; all but Excel's and Parquet's also in .gz or .zst), ``"-"`` for standard
            input, a named data set such as ``"coffee"``, a dict of columns, a frame of pandas or polars, a table of
            Arrow, DuckDB or Ibis, or a data frame of Spark. Parquet files, and tables of Ibis and Spark, stay
            in their engine if they hold comparisons, or rankings with a row for each user and item.
        kind: what the table holds, one of ``KINDS`` or several to choose from, the first where the header says
            nothing; None: any.
        name: of the data, for messages; default: the name of the file.
        separator: what separates the cells of a text: a character, or ``"tab"``, ``"semicolon"``, ``"pipe"``.
        encoding: of a text, such as ``"latin-1"``; default UTF-8, or UTF-16 by its mark.
        sheet: of an Excel file, by name or number from 1; default: the first.
        user: column of users. None: there is none, so that each row is a user of its own where rankings are read, and
            comparisons can only be protected one by one.
        items: the public list of items, in the order to use. Default: the items seen, sorted; that list is then public.
        ignore: columns that are not used, whatever they are called.
        count: column of how often a row counts, a whole number.
        winner, loser: columns of the preferred item and of the other one; default ``winner``, ``loser``.
        tie: column that marks ties: 1, true, yes; or 0, false, no, blank. None reads every row as a decision.
        left, right, outcome: columns of two items, and of what says which is preferred: the item, its column, left,
            right, A, B, W, L, 1, 0, tie, draw, 0.5, both bad. Default: usual names such as ``model_a``, ``model_b``,
            ``winner``.
        left_wins, right_wins: columns of how often each of the two items won, instead of an outcome.
        left_score, right_score: columns of what each of the two items scored: the higher one wins, equal ones tie.
        weight: column of weights of comparisons, numbers of at least 0.
        covariates: names of columns of numbers, how much more the item of ``side`` has, or the ends of the names of two
            columns such as ``winner_length`` and ``loser_length``.
        side: column that names the item shown first (left, at home), blank where none was: the advantage of being first
            is a covariate of its own.
        group: column of groups of judges: that advantage is then one for each group.
        time: column of times of comparisons: ISO 8601, as UTC where no zone is said, or seconds since 1970.
        chosen, shown: of choices from sets, the column of the item that was chosen, and the column of the items shown
            (``A|B|C``) or the columns of one item each.
        item, rank: of rankings with a row for each user and item, their columns; default ``item``, ``rank``.
        order: column of texts such as ``A>B=C``, best first; or, where a file has several questions or contests, the
            one that is ranked. Columns ``rank_1``, ``rank_2``, ... are read as places.
        order_separator: what stands between the items of such a text; default: by its form.
        blank: words that name no item where cells name items, such as ``"overvote"``.
        missing: what an item means that a user did not rank: ``"last"`` or ``"unknown"``; default ``"last"``, of
            ratings ``"unknown"``.
        num_users: the public number of users of rankings with a row for each item, with those who ranked nothing.
        cells: ``"ratings"`` (the larger the better), ``"costs"`` (the smaller the better), ``"approvals"`` (1 or 0, yes
            or no, x or nothing) or ``"ranks"`` (1 = best, whatever they look like); default: ranks, refused where they
            don't look like any.
        rejected, prompt, id, keep: of preferences for training, the fields beside ``chosen`` and ``user``, and further
            ones to carry over.
        epsilon: of preferences, the field of personal ε.

    Returns:
        :class:`~privrank_jax.data.Comparisons` (with covariates, ties, times and weights where columns are named),
        :class:`~privrank_jax.data.Rankings`, :class:`~privrank_jax.data.Ratings`,
        :class:`~privrank_jax.data.Choices`, :class:`~privrank_jax.data.Reports`,
        :class:`~privrank_jax.data.SyntheticRankings` or :class:`~privrank_jax.data.Preferences`; in an
        engine :class:`~privrank_jax.data.ComparisonRows` or :class:`~privrank_jax.data.RankingRows`.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it.

    >>> votes = read({"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]})
    >>> votes.item_names, votes.winners.tolist()
    (('milk', 'tea'), [1, 0])
    """
    items, ignore, blank = (
        _texts(*one) for one in (("items", items), ("ignore", ignore), ("blank", blank))
    )
    covariates, shown, keep = (
        _texts(*one) for one in (("covariates", covariates), ("shown", shown), ("keep", keep))
    )
    asked: dict[str, Any] = {
        "user": user, "items": items, "ignore": ignore, "count": count, "winner": winner, "loser": loser, "tie": tie,
        "left": left, "right": right, "outcome": outcome, "left_wins": left_wins, "right_wins": right_wins,
        "left_score": left_score, "right_score": right_score, "weight": weight, "covariates": covariates,
        "side": side, "group": group, "time": time, "chosen": chosen, "shown": shown, "item": item, "rank": rank,
        "order": order, "order_separator": order_separator, "blank": blank, "missing": missing,
        "num_users": num_users, "cells": cells, "rejected": rejected, "prompt": prompt, "id": id, "keep": keep,
        "epsilon": epsilon,
    }  # fmt: skip
    given = {key: value for key, value in asked.items() if not _omitted(key, value)}
    for key, value in given.items():
        if (
            key not in _LISTS
            and key != "num_users"
            and not (value is None or isinstance(value, str))
        ):
            raise DataError(f"{say(key)} must be a text, got {value!r}")
    if num_users is not None and (not isinstance(num_users, int | np.integer) or num_users < 1):
        raise DataError(
            f"{say('num_users')} must be a whole number of at least 1, got {num_users!r}"
        )
    if kind is not None and not kind:
        raise DataError(f"kind is empty: it is one of {', '.join(KINDS)}")
    text = {"separator": separator, "encoding": encoding, "sheet": sheet}
    if not isinstance(source, str | os.PathLike):
        if any(value is not None for value in text.values()):
            raise DataError(f"a table in memory has no {', '.join(text)}: leave these out")
        table = _opened(source, name or "the table")
        found = _of_table(table, kind, given)
        return _with_origin(found, _origin_of(table)) if isinstance(table, Table) else found
    if str(source) in named_sets():
        both = given | text
        said = _named(both, (key for key, value in both.items() if value is not None))
        refused = DataError(
            f"{source} is a named data set with its own columns and items: leave out {said}"
        )
        if given.keys() - {"missing"} or any(value is not None for value in text.values()):
            raise refused  # before anything is fetched
        found, changed = load(str(source)), {}
        if "missing" in given:
            if not hasattr(found, "ranks"):
                raise refused
            changed["missing"] = given["missing"]
        return dataclasses.replace(found, **changed)
    file = source if isinstance(source, File) else File(source, separator, encoding)
    if not (file.piped or file.path.suffix or file.exists):
        raise DataError(
            f"'{source}' is neither a file nor a named data set{did_you_mean(str(source), named_sets())}; the "
            f"named ones are {', '.join(named_sets())}."
        )
    return _of_file(file, sheet, kind, given)


_LISTS = ("items", "ignore", "blank", "covariates", "shown", "keep")


def _texts(key: str, value: Any) -> Any:
    """An argument that is a list of texts; one text is a list of one, but of items."""
    if value is None:
        return None
    try:
        found = (value,) if isinstance(value, str) and key != "items" else tuple(value)
    except TypeError:
        raise DataError(f"{say(key)} must be a list of texts, got {value!r}") from None
    if isinstance(value, str) and key == "items":
        raise DataError(f"items must be a list of names, got the single text {value!r}")
    if wrong := [one for one in found if key != "items" and not isinstance(one, str)]:
        raise DataError(f"{say(key)} must be a list of texts, and {wrong[0]!r} is none")
    return found


_DEFAULTS = {"user": "user", "tie": "tie", "prompt": "prompt", "id": "id"}


def _omitted(key: str, value: Any) -> bool:
    """Whether an argument has its default."""
    return value == _DEFAULTS.get(key) or (
        isinstance(value, (list, tuple)) and not value and key != "items"
    )


def _named(given: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Arguments that were given, as messages name them."""
    return ", ".join(say(key, given[key]) if key == "cells" else say(key) for key in keys)


def _of_file(
    file: File, sheet: str | int | None, kind: str | Sequence[str] | None, given: dict[str, Any]
) -> Any:
    readers = _own_readers()
    if file.suffix in readers:
        origin = Origin(file)
        if given.keys() - {"user", "missing"}:
            said = _named(given, sorted(given.keys() - {"user", "missing"}))
            raise DataError(
                f"{file.name} lists its items and a row for every user itself: leave out {said}"
            )
        found = readers[file.suffix](file)
        changed = {"missing": given["missing"]} if "missing" in given else {}
        whole = file.suffix in (".soc", ".toc")
        return dataclasses.replace(found, users_are=OWN, whole=whole, origin=origin, **changed)
    origin, table = file.opened.pop(sheet, None) or _open(file, sheet)
    if isinstance(table, Table):
        return _with_origin(_of_table(table, kind, given, file), origin)
    return _of_table(table, kind, given)


def _open(file: File, sheet: str | int | None) -> tuple[Origin, Table | Source]:
    """A file as a table, and what it was when it was opened."""
    origin = Origin(file)
    if file.suffix not in PARQUET or file.piped or file.compression:
        return origin, open_file(file, sheet)
    from privrank_jax.data.engine import open_parquet

    file.checked(PARQUET, "")
    if sheet is not None or file.separator is not None or file.encoding is not None:
        raise DataError(f"{file.name} has no separator, no encoding and no sheets: leave these out")
    return origin, open_parquet(file.path)


def _with_origin(data: Any, origin: Origin) -> Any:
    """The same data with where they come from, for kinds that keep it."""
    kept: Any = data if hasattr(data, "origin") else None
    return data if kept is None else dataclasses.replace(kept, origin=origin)


def _origin_of(table: Table) -> Origin:
    """Where a frame comes from: its cells, whatever the order of its columns, as they are when they are asked for."""

    def content() -> str:
        columns = table.columns(sorted(table.header))
        return checksum([(one.name, one.codes, one.words) for one in columns])

    return Origin(None, content)


def _opened(source: Any, name: str) -> Table | Source:
    """A frame in memory, or a table of an engine."""
    module = type(source).__module__.split(".")[0]
    if module == "pyspark":
        from privrank_jax.data.engine import of_spark

        source = of_spark(source)
    elif module != "ibis":
        return open_frame(source, name)
    from privrank_jax.data.engine import Source

    return Source(source, name)


def header_of(source: str | os.PathLike[str], sheet: str | int | None = None) -> list[str]:
    """Names of the columns of a file; none of one that has no header or can't be read, of which reading says why.

    A :class:`File` keeps what was opened, and is not opened again when it is read.
    """
    file = File.of(source)
    try:
        if sheet not in file.opened:
            file.opened[sheet] = _open(file, sheet)
    except DataError:
        return []
    return file.opened[sheet][1].header


def sha256_of(source: str | os.PathLike[str] | File) -> str | None:
    """Checksum of the content of a file or a named data set, by which a ledger knows it; None if there is neither."""
    file = source if isinstance(source, File) else File(source)
    if not file.piped and str(file.path) in named_sets():
        return load(str(file.path)).sha256
    return Origin(file).sha256 if file.piped or file.exists else None


def sheet_of(given: str | None) -> str | int | None:
    """A sheet as an option names it: by its number, or by its name."""
    return int(given) if given is not None and given.isdecimal() else given


def budgets_of(file: File, data: Any, column: str, given: Mapping[str, Any]) -> Any:
    """Personal ε of the rows of comparisons, or of the users of rankings, from a column of their file.

    Args:
        file: of the data.
        data: as they were read.
        column: of ε.
        given: the arguments that they were read with.
    """
    from privrank_jax.data.reports import read_epsilon
    from privrank_jax.data.synthetic import read_user_epsilon

    _, opened = _open(file, given.get("sheet"))
    table = opened if isinstance(opened, Table) else opened.table()
    long = bool({"item", "rank"} & given.keys()) or {"item", "rank"} <= set(map(form, table.header))
    if long and (hasattr(data, "ranks") or hasattr(data, "partial_users")):
        return read_user_epsilon(table, column, given.get("user") or "user")
    return read_epsilon(table, column)


def defines_users(source: str | os.PathLike[str]) -> bool:
    """Whether data say themselves what one user is: named data sets, and files of a format for rankings."""
    return str(source) in named_sets() or File.of(source).suffix in _own_readers()


def _own_readers() -> dict[str, Callable[[File], Any]]:
    """Readers of files that list their items and have a row for every user, by suffix."""
    from privrank_jax.data.elections import READERS
    from privrank_jax.data.kamishima import SUFFIX, read_kamishima
    from privrank_jax.data.preflib import SUFFIXES, read_preflib

    return {SUFFIX: read_kamishima, **dict.fromkeys(SUFFIXES, read_preflib), **READERS}


def kind_of(name: str, header: Sequence[str], given: Mapping[str, Any]) -> str:
    """What a table holds, by its header and by the arguments that were given; "" if neither says.

    >>> kind_of("f", ["user", "model_a", "model_b", "winner"], {}), kind_of("f", ["user", "tea", "milk"], {})
    ('comparisons', '')
    """
    raw = set(map(form, header))
    # Whatever is asked: what is randomized already must not be taken for answers.
    if SYNTHETIC in raw:
        return "synthetic"
    answers = {"winner", "loser"}
    if "report" in raw and raw & {"epsilon", "item_1"} and not answers & (raw | given.keys()):
        return "reports"
    kept = without(name, header, given.get("ignore", ()))
    forms = set(map(form, kept))
    if "chosen" in given and "shown" not in given and "rejected" in forms:
        return "preferences"
    if any(key in given for key in ("rejected", "prompt", "id", "keep", "epsilon")):
        return "preferences"
    if any(key in given for key in _CHOOSING):
        return "choices"
    if any(key in given for key in (*_COMPARING, *_SIDES) if key not in ("time", "tie")):
        return "comparisons"
    if any(key in given for key in ("item", "rank", "cells", "num_users")):
        return "rankings"
    if "order" in given:
        return "orders"
    if {"chosen", "rejected"} <= forms:
        return "preferences"
    if choice_columns(kept) is not None:
        return "choices"
    if {"winner", "loser"} <= forms or shape_of(name, kept, "winner", "loser") is not None:
        return "comparisons"
    user = spelled_in(kept, given.get("user", "user"))
    if places_of_questions(kept) or order_columns(name, kept, user, None, None):
        return "orders"
    return "rankings" if {"item", "rank"} <= forms else ""


def _of_table(
    table: Table | Source,
    kind: str | Sequence[str] | None,
    given: dict[str, Any],
    file: File | None = None,
) -> Any:
    """Read a table as the kind of data that it holds."""
    kinds = KINDS if kind is None else (kind,) if isinstance(kind, str) else tuple(kind)
    if unknown := set(kinds) - set(KINDS):
        raise DataError(f"kind {sorted(unknown)[0]!r} is unknown: it is one of {', '.join(KINDS)}")
    found = kind_of(table.name, table.header, given)
    if found not in kinds:
        found = (found or "rankings") if kind is None else kinds[0]
    taken = _TAKEN[found]
    if others := [key for key in given if key not in taken]:
        said = _named(given, others)
        raise DataError(f"{table.name} is read as {found}: leave out {said}")
    data = _READERS[found](table, given, file)
    return data if isinstance(table, Table) else _with_origin(data, table.origin)


def _comparisons(table: Table | Source, given: dict[str, Any], _: File | None) -> Any:
    from privrank_jax.data.comparisons import plan_of, read_planned

    plan = plan_of(table.name, table.header, **given)
    if isinstance(table, Table) or not plan.by_cells:
        return read_planned(_in_memory(table), plan)
    from privrank_jax.data.engine_counts import scan_comparisons

    return scan_comparisons(table, plan)


def _rankings(table: Table | Source, given: dict[str, Any], _: File | None) -> Any:
    from privrank_jax.data.rankings import read_rankings

    if isinstance(table, Table) or given.get("cells") == "approvals":
        return read_rankings(_in_memory(table), **given)
    from privrank_jax.data.engine_counts import scan_long

    return read_rankings(table.table(), long=functools.partial(scan_long, table), **given)


def _in_memory(table: Table | Source) -> Table:
    return table if isinstance(table, Table) else table.table()


def _preferences(table: Table | Source, given: dict[str, Any], file: File | None) -> Any:
    from privrank_jax.data.preference_pairs import MARK, PreferenceFields
    from privrank_jax.data.preferences import read_preferences, scan_preferences

    where = file or getattr(table, "path", None)
    if where is None or (file is not None and file.suffix not in OBJECTS):
        raise DataError(
            f"{table.name} holds preferences, which are read from .jsonl, .json and .parquet files: write it as one"
        )
    if MARK in table.header:
        return read_preferences(where)
    fields = {
        role: given[role]
        for role in ("chosen", "rejected", "prompt", "id", "user")
        if role in given
    }
    beside = {"keep": given.get("keep", ()), "epsilon": given.get("epsilon")}
    return scan_preferences(where, PreferenceFields(**fields), **beside)


def _choices(table: Table | Source, given: dict[str, Any], _: File | None) -> Any:
    from privrank_jax.data.choices import read_choices

    return read_choices(_in_memory(table), **given)


def _reports(table: Table | Source, given: dict[str, Any], _: File | None) -> Any:
    from privrank_jax.data.reports import read_reports

    return read_reports(_in_memory(table), **given)


def _synthetic(table: Table | Source, given: dict[str, Any], _: File | None) -> Any:
    from privrank_jax.data.synthetic import read_synthetic_rankings

    return read_synthetic_rankings(_in_memory(table), **given)


_READERS: dict[str, Callable[..., Any]] = {
    "comparisons": _comparisons,
    "choices": _choices,
    "orders": _rankings,
    "rankings": _rankings,
    "reports": _reports,
    "synthetic": _synthetic,
    "preferences": _preferences,
}

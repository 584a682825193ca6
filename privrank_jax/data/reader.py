"""``pr.read``: a file, a frame, a table of an engine or a named data set as data of a known kind."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax._neighbors import OWN
from privrank_jax.data.ballots import SYNTHETIC
from privrank_jax.data.choices import chooses
from privrank_jax.data.columns import Table, checksum
from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.file import File, Origin
from privrank_jax.data.header import places_of_questions, usual_column, without
from privrank_jax.data.kinds import Data
from privrank_jax.data.named import load, named_sets
from privrank_jax.data.names import did_you_mean
from privrank_jax.data.outcomes import form_of
from privrank_jax.data.roles import (
    ROLES,
    TEXT,
    ApprovalRoles,
    BestWorstRoles,
    ChoiceRoles,
    ComparisonRoles,
    PreferenceRoles,
    RankingRoles,
    RatingRoles,
    ReportRoles,
    Roles,
    SyntheticRoles,
    later,
    roles_for,
)
from privrank_jax.data.synthetic import SyntheticRankings
from privrank_jax.data.table import OBJECTS, PARQUET, open_file, open_frame

if TYPE_CHECKING:
    from privrank_jax.data.engine import Source


class Kind:
    """A kind of data: its roles, its reader, and whether a table holds it by the usual names of its columns."""

    def __init__(
        self, roles: type[Roles], read: str, usual: Callable[[Sequence[str]], bool]
    ) -> None:
        self.roles, self.usual = roles, usual
        self._reader = read

    def read(self, table: Table, roles: Roles) -> Any:
        """Data of this kind."""
        return later(self._reader)(table, roles)


def _has(*names: str) -> Callable[[Sequence[str]], bool]:
    return lambda header: all(usual_column(header, [name]) is not None for name in names)


def _compares(header: Sequence[str]) -> bool:
    try:
        return bool(form_of("", header, ComparisonRoles()))
    except DataError as error:
        return "unclear" in str(error)


def _ranks(header: Sequence[str]) -> bool:
    usual = RankingRoles.columns()
    long = all(usual_column(header, usual[one]) for one in ("item", "rank"))
    return (
        long
        or bool(places_of_questions(header))
        or usual_column(header, usual["order"]) is not None
    )


KINDS = {
    "synthetic": Kind(SyntheticRoles, "synthetic:read_synthetic_rankings", _has(SYNTHETIC)),
    "reports": Kind(
        ReportRoles, "reports:read_reports", _has("item_1", "item_2", "report", "epsilon")
    ),
    "preferences": Kind(PreferenceRoles, "", _has("chosen", "rejected")),
    "best-worst": Kind(BestWorstRoles, "choices:read_best_worst", _has("best", "worst")),
    "choices": Kind(ChoiceRoles, "choices:read_choices", chooses),
    "comparisons": Kind(ComparisonRoles, "comparisons:read_comparisons", _compares),
    "rankings": Kind(RankingRoles, "ballots:read_ballots", _ranks),
    "ratings": Kind(RatingRoles, "ballots:read_ballots", lambda _: False),
    "approvals": Kind(ApprovalRoles, "ballots:read_ballots", lambda _: False),
}
"""By name, in the order in which usual names are looked for; randomized data must not be taken for answers."""
RANDOMIZED = ("synthetic", "reports")


def read(
    source: Any,
    *,
    kind: str | None = None,
    user: str | None = "user",
    items: str | Sequence[str] | None = None,
    blank: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    name: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Any:
    """Read data of people, whose columns have usual names: comparisons, choices, rankings, reports, preferences.

    Which of these a table holds is recognized from the names of its columns alone, so that it never depends on anyone's
    answers. Where names are others, or more is to be told (counts, scales of ratings), the class of the kind reads:
    ``Comparisons.read(source, left="home", right="away", outcome="result")``, and likewise ``Rankings``, ``Ratings``,
    ``Approvals``, ``Choices``, ``BestWorst`` and ``Preferences`` of :mod:`privrank_jax.data`.

    Args:
        source: a file (.csv, .tsv, .jsonl, .ndjson, .json, .xlsx, .parquet; PrefLib's .soc, .soi, .toc, .toi, .cat;
            .blt, .pb, .order; all but Excel's and Parquet's also in .gz or .zst), ``"-"`` for standard
            input, a named data set such as ``"coffee"``, a dict of columns, a frame of pandas or polars, a table of
            Arrow, DuckDB or Ibis, or a data frame of Spark. Tables of Ibis and Spark stay in their engine if they hold
            comparisons, or rankings with a row for each user and item.
        kind: what the table holds, a name of ``KINDS``; default: by the usual names.
        user: column of users. None: there is none, so that each row is a user of its own where rankings are read, and
            comparisons can only be protected one by one.
        items: the items, which are public: their names in the order to use, or ``"seen"`` for all that the data name.
            A private release needs it, and so does a table with a column for each item, where it may be a span such as
            ``"Q1_1..Q1_9"``.
        blank: words that name no item, or give no answer, such as ``"overvote"``.
        ignore: columns that are not used, whatever they are called.
        name: of the data, for messages; default: the name of the file.
        separator: what separates the cells of a text: a character, or ``"tab"``, ``"semicolon"``, ``"pipe"``.
        encoding: of a text, such as ``"latin-1"``; default UTF-8, or UTF-16 by its mark.
        sheet: of an Excel file, by name or number from 1; default: the first.

    Returns:
        :class:`~privrank_jax.data.Comparisons`, :class:`~privrank_jax.data.Rankings`,
        :class:`~privrank_jax.data.Choices`, :class:`~privrank_jax.data.BestWorst`,
        :class:`~privrank_jax.data.Reports`, :class:`~privrank_jax.data.SyntheticRankings` or
        :class:`~privrank_jax.data.Preferences`; in an engine :class:`~privrank_jax.data.ComparisonRows` or
        :class:`~privrank_jax.data.RankingRows`.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it.

    >>> votes = read({"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]})
    >>> votes.item_names, votes.winners.tolist()
    (('milk', 'tea'), [1, 0])
    """
    text = {"name": name, "separator": separator, "encoding": encoding, "sheet": sheet}
    items = items if items is None or isinstance(items, str) else tuple(items)
    told = {"user": user, "items": items, "blank": blank, "ignore": ignore}
    usual = {one.name: one.default for one in dataclasses.fields(Roles)}
    given = {one: value for one, value in told.items() if value != usual[one]}
    return read_told(source, given, kinds=None if kind is None else (kind,), **text)


def read_as(source: Any, roles: Roles, text: Mapping[str, Any]) -> Any:
    """Data of the kind of these roles."""
    return read_told(source, roles.told, kinds=(roles.KIND,), **text)


RANKED = ("comparisons", "choices", "best-worst", "rankings", "reports")
AGREED = ("rankings", "synthetic")
RANDOM = ("rankings", "comparisons", "preferences", "reports", "synthetic")
"""Kinds of data that are ranked, have a consensus, or are randomized."""


def data_of(source: Any, told: Mapping[str, Any], kinds: Sequence[str]) -> Any:
    """Data as they are, or what a source holds.

    Args:
        source: data, or as for :func:`read`.
        told: arguments of :func:`read`, or of the reader of a kind.
        kinds: those that may be.
    """
    from privrank_jax.data.preferences import Preferences, PreferenceScan

    if not isinstance(source, Data | SyntheticRankings | Preferences | PreferenceScan):
        text = {one: told[one] for one in TEXT if one in told}
        given = {one: value for one, value in told.items() if one not in TEXT}
        known = {field.name for kind in ROLES for field in dataclasses.fields(kind)} | {"approvals"}
        if unknown := sorted(given.keys() - known):
            raise TypeError(f"there is no argument {unknown[0]!r}{did_you_mean(unknown[0], known)}")
        return read_told(source, given, kinds=kinds, **text)
    if told:
        raise TypeError(
            f"{type(source).__name__} are read already: leave out {_ticked(sorted(told))}"
        )
    return source


def read_told(
    source: Any,
    given: Mapping[str, Any],
    *,
    kinds: Sequence[str] | None = None,
    name: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> Any:
    """Data of one of some kinds.

    Args:
        source: as for :func:`read`.
        given: what was told, by roles.
        kinds: those that may be, of which the first is read where neither roles nor usual names say; None: all.
        name, separator, encoding, sheet: as for :func:`read`.
    """
    Roles(
        **{one: given[one] for one in ("user", "items", "blank", "ignore", "count") if one in given}
    )
    if kinds is None or len(kinds) > 1:  # what is told may name the kind
        kinds = next(((one,) for one in ("approvals", "ratings") if given.get(one)), kinds)
        given = {one: value for one, value in given.items() if one != "approvals"}
    if unknown := set(map(str, kinds or ())) - KINDS.keys():
        raise DataError(f"kind {sorted(unknown)[0]!r} is unknown: it is one of {', '.join(KINDS)}")
    text = {"separator": separator, "encoding": encoding, "sheet": sheet}
    said = {
        one: value for one, value in {**given, **text}.items() if value is not None or one == "user"
    }
    if not isinstance(source, str | os.PathLike):
        if any(value is not None for value in text.values()):
            raise DataError(f"a table in memory has no {', '.join(text)}: leave these out")
        if records := _records_of(source, given, kinds):
            return records
        table = _opened(source, name or "the table")
        found = _of_table(table, kinds, given)
        return _with_origin(found, _origin_of(table)) if isinstance(table, Table) else found
    if str(source) in named_sets():
        others = said.keys() - {"missing", "items"} | (
            {"items"} if given.get("items") not in (None, "seen") else set()
        )
        found = None if others else load(str(source))
        if others or ("missing" in given and not hasattr(found, "ranks")):
            others = sorted(others or {"missing"})
            raise DataError(
                f"{source} is a named data set with its own columns and items: leave out {_ticked(others)}"
            )
        loaded: Any = found
        return dataclasses.replace(
            loaded, **{one: given[one] for one in ("missing",) if one in given}
        )
    file = source if isinstance(source, File) else File(source, separator, encoding)
    if not (file.piped or file.path.suffix or file.exists):
        raise DataError(
            f"'{source}' is neither a file nor a named data set{did_you_mean(str(source), named_sets())}; the "
            f"named ones are {', '.join(named_sets())}."
        )
    return _of_file(file, sheet, kinds, given, name)


_NO_PREFERENCES = (
    "preferences are read from .jsonl, .json and .parquet files, and from tables in memory"
)
_COMMANDS = {"preferences": "privatize", **dict.fromkeys(("rankings", "synthetic"), "aggregate")}


def _ticked(names: Sequence[str]) -> str:
    return ", ".join(f"`{one}`" for one in names)


def _of_file(
    file: File,
    sheet: str | int | None,
    kinds: Sequence[str] | None,
    given: Mapping[str, Any],
    name: str | None,
) -> Any:
    readers = _own_readers()
    if file.suffix in readers:
        origin = Origin(file)
        own = {"user", "missing"} | ({"items"} if given.get("items") == "seen" else set())
        if others := sorted(given.keys() - own):
            raise DataError(
                f"{file.name} lists its items and a row for every user itself: leave out {_ticked(others)}"
            )
        found = readers[file.suffix](file)
        changed = {"missing": given["missing"]} if "missing" in given else {}
        whole = file.suffix in (".soc", ".toc")
        return dataclasses.replace(found, users_are=OWN, whole=whole, origin=origin, **changed)
    if records := _records_of(file, given, kinds, sheet=sheet):
        return records
    origin, table = file.opened.pop(sheet, None) or (Origin(file), open_file(file, sheet))
    table = table if name is None else dataclasses.replace(table, name=name)
    if file.suffix in PARQUET:
        from privrank_jax.data.engine import of_parquet

        table = of_parquet(file, origin) or table
    data = _with_origin(_of_table(table, kinds, given), origin)
    origin.check_unchanged()
    return data


def _records_of(
    source: Any,
    given: Mapping[str, Any],
    kinds: Sequence[str] | None,
    sheet: str | int | None = None,
) -> Any:
    """Preferences, whose records are read one by one; None for all other data."""
    told = [one for one in ("rejected", "prompt", "id", "keep", "epsilon") if one in given]
    wanted = kinds is not None and tuple(kinds) == ("preferences",)
    if kinds is not None and "preferences" not in kinds:
        return None
    if isinstance(source, File) and source.suffix not in (*OBJECTS, ".parquet", ".pq"):
        if wanted or told:
            raise DataError(f"{source.name}: {_NO_PREFERENCES}")
        return None
    header = header_of(source, sheet) if isinstance(source, File) else _header_in_memory(source)
    name = source.name if isinstance(source, File) else "the table"
    if not (told or wanted) and kind_of(name, header, given, kinds) != "preferences":
        return None
    from privrank_jax.data.preferences import MARK, read_preferences, scan_preferences

    if MARK in header:
        return read_preferences(source)
    fields = {field.name for field in dataclasses.fields(PreferenceRoles)} - {"items"}
    if others := sorted(given.keys() - fields - {"items"}):
        raise DataError(f"the data are read as preferences: leave out {_ticked(others)}")
    return scan_preferences(source, **{one: given[one] for one in fields & given.keys()})


def _header_in_memory(source: Any) -> list[str]:
    try:
        return list(_opened(source, "the table").header)
    except DataError:
        return []


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
    if module not in ("pyspark", "ibis"):
        return open_frame(source, name)
    from privrank_jax.data.engine import Source, of_spark

    return Source(of_spark(source) if module == "pyspark" else source, name)


def open_table(source: Any, name: str | None = None, sheet: str | int | None = None) -> Table:
    """Any source of rows as an opened table; one of an engine in memory."""
    if isinstance(source, str | os.PathLike):
        file = File.of(source)
        table = open_file(file, sheet)
        return table if name is None else dataclasses.replace(table, name=name)
    found = _opened(source, name or "the table")
    return found if isinstance(found, Table) else found.table()


def header_of(source: str | os.PathLike[str], sheet: str | int | None = None) -> list[str]:
    """Names of the columns of a file; none of one that has no header or can't be read, of which reading says why.

    A :class:`File` keeps what was opened, and is not opened again when it is read.
    """
    file = File.of(source)
    try:
        if sheet not in file.opened:
            file.opened[sheet] = Origin(file), open_file(file, sheet)
    except DataError:
        return []
    return file.opened[sheet][1].header


def sha256_of(source: str | os.PathLike[str] | File) -> str | None:
    """Checksum of the content of a file or a named data set, by which a ledger knows it; None if there is neither."""
    file = source if isinstance(source, File) else File(source)
    if not file.piped and str(file.path) in named_sets():
        return load(str(file.path)).sha256
    return Origin(file).sha256 if file.piped or file.exists else None


def budgets_of(
    file: File, data: Any, column: str, given: Mapping[str, Any], sheet: str | int | None = None
) -> Any:
    """Personal ε of the rows of comparisons, or of the users of rankings, from a column of their file.

    Args:
        file: of the data.
        data: as they were read.
        column: of ε.
        given: what was told.
        sheet: of an Excel file.
    """
    from privrank_jax.data.reports import read_epsilon
    from privrank_jax.data.synthetic import read_user_epsilon

    table = open_file(file, sheet)
    usual = RankingRoles.columns()
    long = {"item", "rank"} & given.keys() or all(
        usual_column(table.header, usual[one]) for one in ("item", "rank")
    )
    if long and hasattr(data, "ranks"):
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


def kind_of(
    name: str, header: Sequence[str], given: Mapping[str, Any], kinds: Sequence[str] | None = None
) -> str:
    """What a table holds: the first kind whose roles were told, or, if none was, of whose columns it has usual names.

    >>> kind_of("f", ["user", "model_a", "model_b", "winner"], {}), kind_of("f", ["user", "tea", "milk"], {})
    ('comparisons', '')
    """
    for one in RANDOMIZED:  # whatever is asked
        if KINDS[one].usual(header) and not {"winner", "loser"} & given.keys():
            return one
    ignored = given.get("ignore", ())
    kept = without(name, header, (ignored,) if isinstance(ignored, str) else ignored)
    fields = {one: {field.name for field in dataclasses.fields(KINDS[one].roles)} for one in KINDS}
    own = given.keys() - {field.name for field in dataclasses.fields(Roles)}
    allowed = [one for one in kinds or KINDS if one not in RANDOMIZED and own <= fields[one]]
    usual = [one for one in KINDS if one in allowed and KINDS[one].usual(kept)]
    return (usual or (allowed if own else []) or [""])[0]


def _of_table(table: Table | Source, kinds: Sequence[str] | None, given: Mapping[str, Any]) -> Any:
    """Read a table as the kind of data that it holds."""
    found = kind_of(table.name, table.header, given, kinds)
    if not found and kinds is None and given.get("items") is None:
        raise DataError(
            f"{table.name}: its columns have no usual names, so what it holds is not known: "
            f"{listed(table.header, 40)}. Read it by the class of its kind, which takes the names of columns, such as "
            "Comparisons.read(source, winner=..., loser=...), Rankings, Ratings, Approvals, Choices or BestWorst of "
            "privrank_jax.data; of a table with a column for each item, list the `items`"
        )
    found = found or ("rankings" if kinds is None else kinds[0])
    if found == "preferences":
        raise DataError(f"{table.name}: {_NO_PREFERENCES}")
    if kinds is not None and found not in kinds:
        raise DataError(f"{table.name} holds {found}, and {' or '.join(kinds)} are wanted")
    try:
        return _read_as(table, found, roles_for(KINDS[found].roles, given))
    except DataError as error:
        held = kind_of(
            table.name, table.header, {one: given[one] for one in ("ignore",) if one in given}
        )
        if held in (found, "") or kinds is None:
            raise
        command = _COMMANDS.get(held, "rank")
        raise DataError(
            f"{error}. By the usual names of its columns it holds {held}, which `privrank {command}` reads"
        ) from None


def _read_as(table: Table | Source, kind: str, roles: Roles) -> Any:
    if isinstance(table, Table):
        return KINDS[kind].read(table, roles)
    from privrank_jax.data.engine import scan

    data = scan(table, roles)
    data = KINDS[kind].read(table.table(), roles) if data is None else data
    return _with_origin(data, table.origin)

"""``pr.read``: a file, a frame, a table of an engine or a named data set as data of a known kind."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from privrank_jax._neighbors import OWN
from privrank_jax.data import roles as of
from privrank_jax.data.ballots import SYNTHETIC
from privrank_jax.data.choices import chooses
from privrank_jax.data.columns import Table
from privrank_jax.data.comparisons import plan_of
from privrank_jax.data.errors import DataError, listed
from privrank_jax.data.file import File, Origin, checksum
from privrank_jax.data.header import places_of, usual_column, without
from privrank_jax.data.kinds import Data
from privrank_jax.data.named import load, named_sets
from privrank_jax.data.names import did_you_mean
from privrank_jax.data.randomized import REPORT, SyntheticRankings, read_epsilon
from privrank_jax.data.roles import TEXT, RankingRoles, Roles, later
from privrank_jax.data.table import PARQUET, open_file, open_frame


class Kind(NamedTuple):
    """A kind of data: its roles, its reader, and whether a table holds it by the usual names of its columns."""

    roles: type[Roles]
    reader: str
    usual: Callable[[Sequence[str]], bool]


def _has(*names: str) -> Callable[[Sequence[str]], bool]:
    return lambda header: all(usual_column(header, [name]) is not None for name in names)


def _compares(header: Sequence[str]) -> bool:
    try:
        return bool(plan_of("", header, of.ComparisonRoles()))
    except DataError as error:
        return "unclear" in str(error)


def _ranks(header: Sequence[str]) -> bool:
    found = RankingRoles().find(header, "item", "rank", "order")
    return "order" in found or len(found) == 2 or bool(places_of(header))


KINDS = {
    "synthetic": Kind(of.SyntheticRoles, "randomized:read_synthetic_rankings", _has(SYNTHETIC)),
    "reports": Kind(of.ReportRoles, "randomized:read_reports", _has(*REPORT)),
    "preferences": Kind(of.PreferenceRoles, "", _has("chosen", "rejected")),
    "best-worst": Kind(of.BestWorstRoles, "choices:read_sets", _has("best", "worst")),
    "choices": Kind(of.ChoiceRoles, "choices:read_sets", chooses),
    "comparisons": Kind(of.ComparisonRoles, "comparisons:read_comparisons", _compares),
    "rankings": Kind(of.RankingRoles, "ballots:read_ballots", _ranks),
    "ratings": Kind(of.RatingRoles, "ballots:read_ballots", lambda _: False),
    "approvals": Kind(of.ApprovalRoles, "ballots:read_ballots", lambda _: False),
}
"""By name, in the order in which usual names are looked for; randomized data must not be taken for answers."""
RANDOMIZED = ("synthetic", "reports")
RANKED = ("comparisons", "choices", "best-worst", "rankings", "reports")
AGREED = ("rankings", "synthetic")
"""Kinds of data that are randomized, that are ranked, or that have a consensus."""


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
        source: a file, ``"-"`` for standard input, a named data set such as ``"coffee"``, or a table in memory.
        kind: what the table holds, a name of ``KINDS``; default: by the usual names.
        user: column of users. None: each ranking is of another user, and comparisons are protected one by one.
        items: names of the items, which are public, in the order to use; ``"seen"`` for all that the data name; or a
            span of columns such as ``"Q1_1..Q1_9"``. A private release needs it.
        blank: words that name no item, or give no answer, such as ``"overvote"``.
        ignore: columns that are not used, whatever they are called.
        name: of the data, for messages; default: the name of the file.
        separator: what separates the cells of a text: a character, or ``"tab"``, ``"semicolon"``, ``"pipe"``.
        encoding: of a text, such as ``"latin-1"``; default UTF-8, or UTF-16 by its mark.
        sheet: of an Excel file, by name or number from 1; default: the first.

    Files end in .csv, .tsv, .jsonl, .ndjson, .json, .xlsx, .parquet, .soc, .soi, .toc, .toi, .blt, .pb or .order; all
    but those of Excel may be compressed (.gz). Tables are a dict of columns, a frame of pandas or polars, a table of
    Arrow or DuckDB, or one of Ibis or Spark, which stays there if it holds comparisons.

    Returns:
        Data of these classes, of :class:`~privrank_jax.data.Reports`, :class:`~privrank_jax.data.SyntheticRankings` or,
        of comparisons in an engine, :class:`~privrank_jax.data.engine.ComparisonRows`.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it.

    >>> votes = read({"user": ["ann", "bob"], "winner": ["tea", "milk"], "loser": ["milk", "tea"]})
    >>> votes.item_names, votes.winners.tolist()
    (('milk', 'tea'), [1, 0])
    """
    text = {"name": name, "separator": separator, "encoding": encoding, "sheet": sheet}
    told = Roles(user=user, items=items, blank=blank, ignore=ignore).told
    return read_told(source, told, kinds=None if kind is None else (kind,), **text)


def data_of(source: Any, told: Mapping[str, Any], kinds: Sequence[str]) -> Any:
    """Data as they are, or what a source holds, by the arguments of :func:`read` or of the reader of a kind."""
    from privrank_jax.data.preferences import Preferences, PreferenceScan

    if isinstance(source, Data | SyntheticRankings | Preferences | PreferenceScan):
        if told:
            raise TypeError(f"{type(source).__name__} are read already: leave out {_ticked(told)}")
        return source
    known = {*TEXT, "approvals"}.union(*(kind.fields() for kind in of.ROLES))
    for one in sorted(told.keys() - known):
        raise TypeError(f"there is no argument {one!r}{did_you_mean(one, known)}")
    text = {one: told[one] for one in TEXT if one in told}
    given = {one: value for one, value in told.items() if one not in TEXT}
    return read_told(source, given, kinds=kinds, **text)


def read_told(
    source: Any, given: Mapping[str, Any], *, kinds: Sequence[str] | None = None, **text: Any
) -> Any:
    """Data of one of some kinds, by what was told: ``given`` by roles, and arguments of :func:`read` on the ``text``.

    Of ``kinds`` (None: all) the first is read where neither roles nor usual names say.
    """
    Roles(**{one: given[one] for one in Roles.fields() if one in given})  # of the right types
    if kinds is None or len(kinds) > 1:  # what is told may name the kind
        kinds = next(((one,) for one in ("approvals", "ratings") if given.get(one)), kinds)
        given = {one: value for one, value in given.items() if one != "approvals"}
    if unknown := set(map(str, kinds or ())) - KINDS.keys():
        raise DataError(f"kind {sorted(unknown)[0]!r} is unknown: it is one of {', '.join(KINDS)}")
    name = text.pop("name", None)
    text = {one: value for one, value in text.items() if value is not None}
    if not isinstance(source, str | os.PathLike):
        if text:
            raise DataError(f"a table in memory is no text: leave out {_ticked(text)}")
        return _read(source, given, kinds, name or "the table", None)
    if str(source) in named_sets():
        return _listed(load(str(source)), str(source), {**given, **text})
    if not isinstance(file := source, File):
        file = File(source, text.get("separator"), text.get("encoding"))
    if not (file.piped or file.path.suffix or file.exists):
        raise DataError(
            f"'{source}' is neither a file nor a named data set{did_you_mean(str(source), named_sets())}; these are "
            f"{', '.join(named_sets())}."
        )
    if (read_own := later("elections:READERS").get(file.suffix)) is None:
        return _read(file, given, kinds, name, text.get("sheet"))
    file.checked([file.suffix], "")
    whole, origin = file.suffix in (".soc", ".toc"), Origin(file)
    found = dataclasses.replace(read_own(file), users_are=OWN, whole=whole, origin=origin)
    return _listed(found, file.name, {one: given[one] for one in given if one != "user"})


def _listed(found: Any, name: str, given: Mapping[str, Any]) -> Any:
    """Data that list their items and users themselves, and take nothing else that is told but ``missing``."""
    taken = {"missing"} if hasattr(found, "ranks") else set()
    taken |= {"items"} if given.get("items") == of.SEEN else set()
    if others := given.keys() - taken:
        raise DataError(f"{name} says itself what it holds: leave out {_ticked(others)}")
    return dataclasses.replace(found, **{one: given[one] for one in given if one == "missing"})


def _read(
    source: Any, given: Mapping[str, Any], kinds: Sequence[str] | None, name: str | None, sheet: Any
) -> Any:
    """A file with a table, or a table in memory or of an engine, as data of the kind that it holds."""
    try:
        table, origin = open_source(source, name, sheet)
    except DataError:
        if tuple(kinds or ()) != ("preferences",):
            raise
        return _preferences(source, given, [])
    kind = kind_of(table.name, table.header, given, kinds) or _wanted(table, given, kinds)
    if kinds is not None and kind not in kinds:
        raise DataError(f"{table.name} holds {kind}, and {' or '.join(kinds)} are wanted")
    of_kind = KINDS[kind].roles
    if others := given.keys() - of_kind.fields():
        raise DataError(f"the data are read as {kind}: leave out {_ticked(others)}")
    if kind == "preferences":
        return _preferences(source, given, table.header)
    roles, data = of_kind(**given), None
    if isinstance(source, File) and source.suffix in PARQUET:
        table = dataclasses.replace(table, relation=later("engine:of_parquet")(source))
    if table.relation is not None:
        data = later("engine:scan")(table, roles)
    data = later(KINDS[kind].reader)(table, roles) if data is None else data
    origin.check_unchanged()
    return dataclasses.replace(data, origin=origin) if hasattr(data, "origin") else data


def _wanted(table: Table, given: Mapping[str, Any], kinds: Sequence[str] | None) -> str:
    """The kind of a table whose columns have no usual names of those that are wanted."""
    items, ignored = given.get("items"), {one: given[one] for one in given if one == "ignore"}
    held = kind_of(table.name, table.header, ignored)
    unknown = kinds is None and not items
    other = held not in ("", "rankings") and items in (None, of.SEEN)
    if (unknown or other) and given.keys() <= Roles.fields().keys():
        commands = {"preferences": "privatize", "rankings": "aggregate", "synthetic": "aggregate"}
        command = f"{held}, which `privrank {commands.get(held, 'rank')}` reads"
        raise DataError(
            f"{table.name}: usual names of columns say {command if held else 'no kind of data'}: "
            f"{listed(table.header, 40)}. Name others by the class of the kind, such as Comparisons.read(source, "
            "winner=..., loser=...), or Rankings, Ratings, Approvals, Choices, BestWorst; of a table with a column for "
            "each item list the `items`, and name the `question` with which columns of items or places begin"
        )
    return (kinds or ("rankings",))[0]


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{one}`" for one in sorted(names))


def _preferences(source: Any, given: Mapping[str, Any], header: Sequence[str]) -> Any:
    """Preferences, whose records are read one by one."""
    from privrank_jax.data.preferences import MARK, read_preferences, scan_preferences

    if MARK in header:
        return read_preferences(source)
    return scan_preferences(source, **{one: given[one] for one in given if one != "items"})


def open_source(
    source: Any, name: str | None = None, sheet: str | int | None = None
) -> tuple[Table, Origin]:
    """A table, opened in memory or left in its engine, and where it comes from."""
    if isinstance(source, str | os.PathLike):
        file = File.of(source)
        origin, table = file.opened.pop(sheet, None) or (Origin(file), open_file(file, sheet))
        return (table if name is None else dataclasses.replace(table, name=name)), origin
    module, name = type(source).__module__.split(".")[0], name or "the table"
    if module in ("pyspark", "ibis"):
        relation = later("engine:of_spark")(source) if module == "pyspark" else source
        return later("engine:of_relation")(relation, name), Origin(None)
    table = open_frame(source, name)

    def content() -> str:  # whatever the order of its columns, as they are when they are asked for
        columns = table.columns(sorted(table.header))
        return checksum([(one.name, one.codes, one.words) for one in columns])

    return table, Origin(None, content)


def header_of(source: str | os.PathLike[str], sheet: str | int | None = None) -> list[str]:
    """Names of the columns of a file, which keeps what was opened; none of one that can't be read."""
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
    """Personal ε of the rows of comparisons, or the users of rankings, from a column of the file that they are of."""
    table = open_file(file, sheet)
    long = len({*RankingRoles().find(table.header, "item", "rank"), *given} & {"item", "rank"}) == 2
    of_users = long and hasattr(data, "ranks")
    return read_epsilon(table, column, (given.get("user") or "user") if of_users else None)


def defines_users(source: str | os.PathLike[str]) -> bool:
    """Whether data say themselves what one user is: named data sets, and files of a format for rankings."""
    return str(source) in named_sets() or File.of(source).suffix in later("elections:READERS")


def kind_of(
    name: str, header: Sequence[str], given: Mapping[str, Any], kinds: Sequence[str] | None = None
) -> str:
    """What a table holds: the first kind whose roles were told, else of whose columns it has usual names."""
    for one in RANDOMIZED:  # whatever is asked
        if KINDS[one].usual(header) and not {"winner", "loser"} & given.keys():
            return one
    kept = without(name, header, Roles(ignore=given.get("ignore", ())).ignore)
    own = given.keys() - Roles.fields()
    known = [one for one in kinds or KINDS if one not in RANDOMIZED]
    allowed = [one for one in known if own <= KINDS[one].roles.fields().keys()]
    usual = [one for one in KINDS if one in allowed and KINDS[one].usual(kept)]
    return (usual or (allowed if own else []) or [""])[0]

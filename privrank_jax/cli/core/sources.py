"""The argument FILE: a file or a named data set, of comparisons or of rankings."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypedDict

from privrank_jax import datasets
from privrank_jax._cells.columns import PARQUET, spelled_in, without
from privrank_jax._cells.likeness import MOST_NAMED, nearly_alike, never_met, perhaps_one
from privrank_jax._cells.names import did_you_mean
from privrank_jax._cells.order_shapes import order_columns
from privrank_jax._cells.outcomes import Sides
from privrank_jax._cells.text_files import File
from privrank_jax._neighbors import NO_COLUMN, OWN, of_column, of_count
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, say, warn
from privrank_jax.cli.core.checks import about_delta
from privrank_jax.cli.core.request import KINDS_OF_CELLS, ComparisonColumns, RankingColumns
from privrank_jax.cli.options import option
from privrank_jax.datasets.comparisons_file import shape_in
from privrank_jax.datasets.formats import read_header, read_lines
from privrank_jax.datasets.kamishima import SUFFIX as KAMISHIMA
from privrank_jax.datasets.preflib import SUFFIXES as PREFLIB
from privrank_jax.datasets.source import recorded
from privrank_jax.release.ledger import content_sha256

if TYPE_CHECKING:
    from privrank_jax.tables import ComparisonRows, RankingRows

COUNTING = ("count", "left_wins", "right_wins")  # of which a row is several
_SHAPE = ("left", "right", "outcome", "left_wins", "right_wins", "left_score", "right_score")
COMPARING = ("winner", "loser", "tie", *_SHAPE)
RANKING = ("item", "rank", "order", "order_separator", "blank")
_TEXT = ("separator", "encoding", "ignore")
_FEW = 12  # items that are named when a file was read
_LONG = 40  # letters of a name beyond which it is cut there
_ONE_ITEM = "If they are one item, correct the file; if not, or if the file can't be changed, list the items by --items"


class _Table(Protocol):
    """Rows with a list of items, in memory or in an engine."""

    @property
    def name(self) -> str: ...
    @property
    def public(self) -> tuple[str, ...]: ...
    @property
    def rare_items(self) -> tuple[str, ...]: ...


class ComparisonRoles(TypedDict):
    """Columns and items of comparisons, as the loaders take them."""

    user: str | None
    winner: str
    loser: str
    tie: str | None
    items: list[str] | None
    ignore: list[str]


class ShapeRoles(TypedDict):
    """Columns of two items and of what says which is preferred, as the loaders take them."""

    left: str | None
    right: str | None
    outcome: str | None
    left_wins: str | None
    right_wins: str | None
    left_score: str | None
    right_score: str | None


class RankingRoles(TypedDict):
    """Columns and items of rankings, as the loaders take them."""

    user: str | None
    item: str | None
    rank: str | None
    items: list[str] | None
    ignore: list[str]
    blank: list[str]


def private_remark(*remarks: str) -> tuple[str, ...]:
    """Print what was counted in the data, for their holder alone."""
    return tuple(f"{one} (For you alone: the guarantee does not cover this.)" for one in remarks)


def large_delta(promise: Privacy | None, **units: int) -> tuple[str, ...]:
    """What a promise with a large delta is worth, where the data say how many users or comparisons there are.

    Args:
        promise: None without privacy.
        units: ``user=`` and ``comparison=``, how many there are of each. Private, where units may be added or removed.
    """
    if promise is None:
        return ()
    return private_remark(*about_delta(promise.delta, units[promise.unit], promise.unit))


def found_columns(file: File, *columns: str | None) -> list[str]:
    """Those of these columns that FILE has; that it lacks one is said where that is read."""
    header = read_header(file)
    found = (spelled_in(header, column) for column in columns)
    return [column for column in found if column in header]


def comparisons_in_engine(file: File, columns: ComparisonColumns, roles: ComparisonRoles) -> bool:
    """Whether FILE is a Parquet file that an engine counts at any size: one of winners and losers."""
    if file.suffix not in PARQUET or columns.count is not None:
        return False
    header = without(file.name, read_header(file), roles["ignore"])
    return shape_in(file.name, header, roles["winner"], roles["loser"], sides_of(columns)) is None


def rankings_in_engine(file: File, columns: RankingColumns, roles: RankingRoles) -> bool:
    """Whether FILE is a Parquet file that an engine counts at any size: of ranks, not of orders."""
    if file.suffix not in PARQUET or columns.order_separator or columns.count:
        return False
    header, user = without(file.name, read_header(file), roles["ignore"]), roles["user"]
    return not order_columns(file.name, header, user, columns.order, roles["items"])


def say_reading(
    table: datasets.ComparisonTable
    | datasets.RankingTable
    | datasets.ChoiceTable
    | ComparisonRows
    | RankingRows,
    *,
    listed: bool,
) -> None:
    """Say on stderr what was detected in the form of a file, the items, and whose names may be two for one.

    Args:
        table: the file as it was read.
        listed: whether the items were given rather than read, so that none of them is a slip of an answer.
    """
    for one in table.reading:
        say(f"{table.name}: {one}.")
    say_items(table.name, table.item_names)
    if found := table.users_alike:
        _warn_of_pairs(
            table.name,
            found,
            "differ by case or accents alone, and count as users of their own. If they are one, the guarantee covers "
            "each of their answers, but epsilon counts twice: spell a user one way throughout",
        )
    if listed:
        return
    names = table.item_names
    if found := nearly_alike(names):
        _warn_of_pairs(table.name, found, f"are spelled almost alike. {_ONE_ITEM}")
    pairs = perhaps_one(names)
    items = sorted({item for pair in pairs for item in pair})
    if items and (apart := never_met(pairs, items, *table.meetings(items))):
        found = [(names[one], names[other]) for one, other in apart]
        said = "are similar names, and nobody has both of them, though other items as frequent occur together"
        _warn_of_pairs(table.name, found, f"{said}. {_ONE_ITEM}")


def say_items(name: str, items: Sequence[str]) -> None:
    """Say on stderr which items a file has."""
    few = [_short(one) for one in items[:_FEW]]
    names = ", ".join([*few, "…"] if len(items) > _FEW else few)
    say(f"{name}: items ({len(items)}): {names}")


def _warn_of_pairs(name: str, found: Sequence[tuple[str, str]], what: str) -> None:
    """Warn the holder of names that may be meant for one."""
    pairs = "; ".join(f"{one!r} and {other!r}" for one, other in found[:MOST_NAMED])
    more = f" ({len(found) - MOST_NAMED} more such pairs)" if len(found) > MOST_NAMED else ""
    warn(*private_remark(f"{name}: {pairs}{more} {what}."))


def check_rare_items(table: _Table, *, written: bool) -> None:
    """Before anything is spent, look at a list of items that was read off the rows, and that a release publishes.

    Args:
        table: the rows.
        written: whether items are what users wrote, as in rankings: one that a single user named says something of
            that user, and is refused unless ``--items`` lists it. In comparisons and choices items are what users
            were shown, and a warning does. Either is for the holder of the data alone.
    """
    rare = table.rare_items if "items" in table.public else ()
    if not rare:
        return
    few = ", ".join(map(repr, map(_short, rare[:_FEW]))) + ", …" * (len(rare) > _FEW)
    if written:
        raise Refusal(
            f"{table.name}: one user alone ranked {few}, and the list of items, read off the answers, would be "
            "published. List the items that are public anyway by --items, and correct or remove what else users wrote."
        )
    warn(
        *private_remark(
            f"{table.name}: {few}: in the rows of one user only, and the list of items, read off the rows, is "
            "published. If users named items themselves, list those that are public by --items."
        )
    )


def _short(name: str) -> str:
    return name if len(name) <= _LONG else f"{name[:_LONG]}…"


def read_comparisons(
    source: str | File, columns: ComparisonColumns, items: str | None, *, by_user: bool
) -> datasets.ComparisonTable:
    """A file or a named data set.

    Args:
        source: FILE.
        columns: the options.
        items: ``--items``.
        by_user: whether a file must name its users, unless ``--user none`` is given.
    """
    file = File.of(source)
    if (source := str(source)) in datasets.available():
        given = given_columns(columns, ("user", *COMPARING, "count", *_TEXT))
        given += ["--items"] if items is not None else []
        _check_own(source, "columns and items", given)
        return datasets.load(source)
    if _is_name(file):
        if source in datasets.available_rankings():
            raise Refusal(
                f"{source} holds rankings, not comparisons: privrank aggregate {source} makes a consensus."
            )
        raise _unknown(source, datasets.available())
    table = datasets.read_comparisons(
        file,
        count=columns.count,
        **shape_roles(columns),
        **comparison_roles(columns, items, by_user=by_user),
    )
    say_reading(table, listed=items is not None)
    return table


def _is_name(file: File) -> bool:
    """Whether FILE can only be meant as the name of a data set."""
    return not (file.piped or file.path.suffix or file.path.exists())


def comparison_roles(
    columns: ComparisonColumns, items: str | None, *, by_user: bool
) -> ComparisonRoles:
    """The options of columns and items as arguments of a loader."""
    return {
        "user": named_column(columns.user, "user" if by_user else None),
        "winner": columns.winner or "winner",
        "loser": columns.loser or "loser",
        "tie": named_column(columns.tie, "tie"),
        "items": None if items is None else item_list(items),
        "ignore": columns.ignore or [],
    }


def sides_of(columns: ComparisonColumns) -> Sides:
    """The same as :func:`shape_roles` finds, "" where none is named."""
    return Sides(*(getattr(columns, name) or "" for name in _SHAPE))


def shape_roles(columns: ComparisonColumns) -> ShapeRoles:
    """The columns of two items and of what says which is preferred, as the loader takes them."""
    return ShapeRoles(**{name: getattr(columns, name) for name in _SHAPE})


def read_rankings(
    source: str | File,
    columns: RankingColumns,
    items: str | None,
    ignore: Collection[str] = (),
    num_users: int | None = None,
) -> datasets.RankingTable:
    """A file or a named data set.

    Args:
        source: FILE.
        columns: the options.
        items: ``--items``.
        ignore: more columns that are not ranks of an item.
        num_users: ``--users``.
    """
    file = File.of(source)
    if (source := str(source)) in datasets.available_rankings():
        given = given_columns(columns, ("user", *RANKING, "count", *_TEXT))
        given += ["--items"] if items is not None else []
        given += ["--users"] if num_users is not None else []
        given += given_columns(columns, KINDS_OF_CELLS)
        _check_own(source, "columns, items and users", given)
        return datasets.load_rankings(source)
    if _is_name(file):
        if source in datasets.available():
            raise Refusal(
                f"{source} holds comparisons, not rankings: privrank rank {source} ranks its items."
            )
        raise _unknown(source, datasets.available_rankings())
    roles = ranking_roles(columns, items, ignore)
    table = datasets.read_rankings(
        file,
        order=columns.order,
        order_separator=columns.order_separator,
        num_users=num_users,
        cells=columns.cells,
        count=columns.count,
        **roles,
    )
    say_reading(table, listed=items is not None)
    return table


def ranking_roles(
    columns: RankingColumns, items: str | None, ignore: Collection[str] = ()
) -> RankingRoles:
    """The options of columns and items as arguments of a loader, with more columns to ignore."""
    return {
        "user": named_column(columns.user or None, "user"),
        "item": columns.item,
        "rank": columns.rank,
        "items": None if items is None else item_list(items),
        "ignore": [*(columns.ignore or ()), *ignore],
        "blank": words(columns.blank),
    }


def words(given: Sequence[str] | None) -> list[str]:
    """The words of an option that takes several, with commas between or one each time."""
    return [word.strip() for one in given or () for word in one.split(",")]


def given_columns(columns: ComparisonColumns | RankingColumns, names: Collection[str]) -> list[str]:
    """The given ones among these options."""
    return [option(name) for name in names if getattr(columns, name) not in (None, False)]


def _check_own(source: str, own: str, given: list[str]) -> None:
    """Refuse options that a named data set has answered itself."""
    if given:
        raise Refusal(
            f"{source} is a named data set with its own {own}: leave out {', '.join(given)}."
        )


def _unknown(source: str, known: list[str]) -> Refusal:
    return Refusal(
        f"{source!r} is neither a file nor a named data set{did_you_mean(source, known)}; the named ones are "
        f"{', '.join(known)}."
    )


def named_column(given: str | None, default: str | None) -> str | None:
    """The column that an option names: ``none`` means no column, an omitted option the default."""
    if given is None:
        return default
    return None if given == "none" else given


def item_list(given: str) -> list[str]:
    """Read items from the lines of a text file, or from names separated by commas."""
    if "," in given or not Path(given).suffix:
        return [name.strip() for name in given.split(",")]
    path = Path(given)
    try:
        lines = list(read_lines(path))
    except ValueError as error:
        raise Refusal(
            f"--items {given}: {error}. Give a text file with one item per line, or names separated by commas."
        ) from error
    return [line.strip() for line in lines if line.strip()]


def users_of(source: str | File, column: str | None, count: str | None = None) -> str:
    """Say what one user is, by the kind of FILE, ``--user`` and ``--count``.

    >>> users_of("votes.csv", None), users_of("votes.csv", "none"), users_of("votes.soc", None)
    ("column 'user'", 'each row', 'as the data define them')
    """
    named = str(source) in (*datasets.available(), *datasets.available_rankings())
    if named or File.of(source).suffix in (*PREFLIB, KAMISHIMA):
        return OWN
    if column == "none":
        return NO_COLUMN if count is None else of_count(count)
    return of_column(column or "user")


class Named(NamedTuple):
    """A named data set, and the checksum of its file, or of the list of its files' checksums."""

    table: datasets.ComparisonTable | datasets.RankingTable
    sha256: str


def load_named(source: str) -> Named | None:
    """Load the data set of that name; None if there is none."""
    if source in datasets.available():
        load = datasets.load
    elif source in datasets.available_rankings():
        load = datasets.load_rankings
    else:
        return None
    with recorded() as checksums:
        table = load(source)
    if len(checksums) == 1:
        return Named(table, checksums.pop())
    return Named(table, hashlib.sha256("\n".join(sorted(checksums)).encode()).hexdigest())


def data_sha256(source: str | File) -> str | None:
    """Checksum of the content of a file or a named data set; None if there is neither."""
    file = File.of(source)
    if file.piped:
        return hashlib.sha256(file.content).hexdigest()
    named = load_named(str(source))
    if named is not None:
        return named.sha256
    return content_sha256(file) if file.path.is_file() else None

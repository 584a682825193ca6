"""What is told of a table: which column has which role, which items are public, which words name nothing.

One frozen dataclass for each kind of data. Arguments of ``Comparisons.read`` and the like, and options of the commands,
follow from its fields. A column has a role because it was named, or by its usual name: in tables with a header whatever
its case, blanks, ``_`` and ``-``; in JSON exactly as it is spelled, so that no row's keys change how another is read.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from privrank_jax.data.errors import DataError
from privrank_jax.data.header import usual_column
from privrank_jax.data.names import did_you_mean, public_items

SEEN = "seen"
TIES = ("tie", "ties", "tied", "is tie", "is tied", "draw", "draws", "drawn")
ORDERS = ("order", "orders", "ranking", "rankings", "ballot", "preferences", "preference order")
CHOSEN, ALTERNATIVES = ("chosen", "choice", "selected"), ("item", "alternative")
BLOCKS = ("block", "set", "choice set")


def column(words: str, *usual: str, default: str | None = None) -> Any:
    """A role of one column: what it is, for help, and names by which a column has it."""
    return dataclasses.field(
        default=default, metadata={"words": words, "usual": usual, "kind": "column"}
    )


def columns(words: str) -> Any:
    """A role of several columns."""
    return dataclasses.field(default=(), metadata={"words": words, "usual": (), "kind": "columns"})


def told(words: str, default: Any = None) -> Any:
    """What is told beside columns."""
    return dataclasses.field(
        default=default, metadata={"words": words, "usual": (), "kind": "other"}
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """What every kind of data may be told.

    Raises:
        DataError: a value of the wrong type, or a list of items with a name twice.
    """

    user: str | None = column("column of users; none: there is none", default="user")
    items: str | Sequence[str] | None = told(
        "the items, which are public: their names, or 'seen' for all that the data name; of a table with a column for "
        "each item also a span of columns, such as 'Q1_1..Q1_9'"
    )
    blank: str | Sequence[str] = told("words that name no item, or give no answer", ())
    ignore: str | Sequence[str] = columns("columns that are not used")
    count: str | None = column("column of how often a row counts, a whole number")

    KIND: ClassVar[str] = "data"

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "items":
                value = _items(value)
            elif isinstance(field.default, tuple):
                value = (value,) if isinstance(value, str) else _texts(field.name, value)
            elif field.metadata["kind"] == "column" and not (
                value is None or isinstance(value, str)
            ):
                raise DataError(f"`{field.name}` must be a text, got {value!r}")
            object.__setattr__(self, field.name, value)

    @property
    def public(self) -> tuple[str, ...] | None:
        """The list of items, if their names were given."""
        return self.items if isinstance(self.items, tuple) else None

    @property
    def told(self) -> dict[str, Any]:
        """What differs from the defaults."""
        fields = dataclasses.fields(self)
        values = {field.name: getattr(self, field.name) for field in fields}
        return {
            field.name: values[field.name]
            for field in fields
            if values[field.name] != field.default
        }

    @classmethod
    def columns(cls) -> dict[str, tuple[str, ...]]:
        """The roles of single columns, with their usual names."""
        fields = dataclasses.fields(cls)
        return {
            one.name: one.metadata["usual"] for one in fields if one.metadata["kind"] == "column"
        }

    def find(self, header: Sequence[str], *roles: str) -> dict[str, str]:
        """The columns of these roles, by what was told, else by usual names; those without one are left out."""
        usual, found = self.columns(), {}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for one in roles:
            named = getattr(self, one)
            if (
                named == defaults[one]
            ):  # where that is a name, None says that there is no such column
                named = usual_column(header, usual[one])
            if named is not None:
                found[one] = named
        return found


def _items(value: Any) -> Any:
    if value is None or (isinstance(value, str) and (value == SEEN or ".." in value)):
        return value
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise DataError(
            f"`items` must be a list of names, 'seen', or a span of columns such as 'Q1_1..Q1_9', got {value!r}"
        )
    return public_items(value)


def _texts(name: str, value: Any) -> tuple[str, ...]:
    found = tuple(value) if isinstance(value, Iterable) else (value,)
    if wrong := [one for one in found if not isinstance(one, str)]:
        raise DataError(f"`{name}` must be a list of texts, and {wrong[0]!r} is none")
    return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparisonRoles(Roles):
    """Comparisons of two items."""

    KIND = "comparisons"

    winner: str | None = column("column of preferred items", "winner")
    loser: str | None = column("column of the other items", "loser")
    tie: str | None = column(
        "column that marks ties (1 or 0); none: there are none", *TIES, default="tie"
    )
    left: str | None = column("column of one of two items, with `outcome`, wins or scores")
    right: str | None = column("column of the other one")
    outcome: str | None = column("column of what is preferred: the item, its column, or a word")
    words: str | Sequence[str] = told(
        "words for left, right and perhaps a tie, such as H, A, D", ()
    )
    left_wins: str | None = column("column of how often the left item won")
    right_wins: str | None = column("column of how often the right item won")
    tie_count: str | None = column("column of how often the two were tied, beside wins")
    left_score: str | None = column("column of what the left item scored; the higher score wins")
    right_score: str | None = column("column of what the right item scored")
    weight: str | None = column("column of weights, at least 0; in commands also COLUMN:MOST")
    side: str | None = column("column of the item shown first, whose advantage is fitted")
    covariate_group: str | None = column("column of groups of judges, each with its advantage")
    covariates: str | Sequence[str] = columns(
        "columns of how much more the item of `side` has, or what winner_length and loser_length end in; in commands "
        "also NAME:LOW:HIGH, with ends known without looking at the data"
    )
    time: str | None = column(
        "column of times: ISO 8601, UTC without a zone, or seconds since 1970"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankingRoles(Roles):
    """Rankings: a column for each item, a row for each user and item, a column for each place, or a text."""

    KIND = "rankings"

    item: str | None = column("column of items, where each user has a row for each item", "item")
    rank: str | None = column("column of their ranks, 1 = best", "rank")
    order: str | None = column("column of texts such as A>B=C, best first", *ORDERS)
    order_separator: str | None = told("what stands between the items of such a text")
    question: str | None = told("question or contest with which names of columns begin")
    ranks: bool = told("cells are ranks, even where they look like ratings", False)
    missing: str | None = told("what an item means that a user did not rank: last or unknown")
    num_users: int | None = told("public number of all users, also of those without a row")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RatingRoles(RankingRoles):
    """Ratings of items, on a scale that is public."""

    KIND = "ratings"

    ratings: str | Sequence[Any] | None = told(
        "scale from worst to best: 1:5, 5:1, or bad,fair,good"
    )
    rank: str | None = column("column of ratings", "rating", "score", "points", "stars", "rank")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApprovalRoles(RankingRoles):
    """Approvals: 1 or 0, yes or no, x or nothing for each item, or a text of the items approved of."""

    KIND = "approvals"

    rank: str | None = column("column of whether the user approves", "approved", "approval")
    order: str | None = column(
        "column of texts of items approved of", "approved", "approvals", "order"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChoiceRoles(Roles):
    """Choices of one of several items: a row for each choice, or for each item that was shown."""

    KIND = "choices"

    chosen: str | None = column("column of the item chosen; beside `item`, whether it was", *CHOSEN)
    shown: str | Sequence[str] = columns(
        "column of the items shown (A|B|C), or one for each of them"
    )
    item: str | None = column("column of items, where each item shown has a row", *ALTERNATIVES)
    block: str | None = column("column of the set that such a row belongs to", *BLOCKS)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BestWorstRoles(Roles):
    """The best and the worst of several items (MaxDiff)."""

    KIND = "best-worst"

    best: str | None = column("column of the best item", "best")
    worst: str | None = column("column of the worst item", "worst")
    shown: str | Sequence[str] = columns(
        "column of the items shown (A|B|C), or one for each of them"
    )
    item: str | None = column("column of items, where each item shown has a row", *ALTERNATIVES)
    block: str | None = column("column of the set that such a row belongs to", *BLOCKS)
    answer: str | None = column("column of 1 (best), 0 and -1 (worst) beside `item`")
    blocks: str | Sequence[str] = told(
        "spans such as Q1_1..Q1_5, one for each set of marked items", ()
    )
    words: str | Sequence[str] = told("words that mark the best and the worst in such spans", ())


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreferenceRoles(Roles):
    """Preferences for training: of two answers to a prompt the one that was chosen."""

    KIND = "preferences"

    chosen: str | None = column("field of the chosen answer", "chosen")
    rejected: str | None = column("field of the other answer", "rejected")
    prompt: str | None = column(
        "field of the prompt; none: there is none", "prompt", default="prompt"
    )
    id: str | None = column("field of an id; none: there is none", "id", default="id")
    keep: str | Sequence[str] = columns("fields that are carried over, and public then")
    epsilon: str | None = column("field of personal epsilons")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportRoles(Roles):
    """Randomized reports, as privrank writes them."""

    KIND = "reports"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SyntheticRoles(Roles):
    """Synthetic rankings, as privrank writes them."""

    KIND = "synthetic"

    missing: str | None = told("what an item means that a user did not rank: last or unknown")


ROLES = (
    ComparisonRoles,
    RankingRoles,
    RatingRoles,
    ApprovalRoles,
    ChoiceRoles,
    BestWorstRoles,
    PreferenceRoles,
)
"""Of all kinds but those that privrank writes itself."""


# --- arguments of readers -------------------------------------------------------------------------------

TEXT = {
    "name": "of the data, for messages; default: the name of the file",
    "separator": "what separates the cells of a text: a character, or 'tab', 'semicolon', 'pipe'",
    "encoding": "of a text, such as 'latin-1'; default: UTF-8, or UTF-16 by its mark",
    "sheet": "of an Excel file, by name or number from 1; default: the first",
}


def later(where: str) -> Any:
    """What a module of this package holds, ``module:name``, imported when it is used: its reader imports all kinds."""
    module, name = where.split(":")
    return getattr(importlib.import_module(f"privrank_jax.data.{module}"), name)


def reader_of(roles: type[Roles]) -> Any:
    """The class method ``read`` of a kind of data: its arguments, and what they mean, are the fields of its roles."""

    def read(cls: type, source: Any, **given: Any) -> Any:
        text = {name: given.pop(name) for name in TEXT if name in given}
        known = [field.name for field in dataclasses.fields(roles)]
        for name in given:
            if name not in known:
                near = did_you_mean(name, known)
                raise TypeError(f"{cls.__name__}.read has no argument {name!r}{near}")
        return later("reader:read_as")(source, roles(**given), text)

    fields = dataclasses.fields(roles)
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("cls", kinds[0]), inspect.Parameter("source", kinds[0])]
    parameters += [inspect.Parameter(one.name, kinds[1], default=one.default) for one in fields]
    parameters += [inspect.Parameter(name, kinds[1], default=None) for name in TEXT]
    read.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    words = {one.name: one.metadata["words"] for one in fields} | TEXT
    arguments = "\n".join(f"    {name}: {text}." for name, text in words.items())
    read.__doc__ = (
        f"Read {roles.KIND}; a faulty table is refused as a whole.\n\nArgs:\n"
        f"    source: as for :func:`privrank_jax.read`.\n{arguments}\n\n"
        "Raises:\n    DataError: what is wrong, where (file, line, column), and how to fix it.\n"
    )
    return classmethod(read)


def roles_for(roles: type[Roles], given: Mapping[str, Any]) -> Roles:
    """Roles of a kind, of what was told.

    Raises:
        DataError: something that this kind has no use for.
    """
    known = {field.name for field in dataclasses.fields(roles)}
    if others := [name for name in given if name not in known]:
        raise DataError(
            f"the data are read as {roles.KIND}: leave out {', '.join(f'`{one}`' for one in others)}"
        )
    return roles(**given)

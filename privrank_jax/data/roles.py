"""What is told of a table: which column has which role, which items are public, which words name nothing.

One frozen dataclass for each kind of data. Arguments of ``Comparisons.read`` and the like, and options of the commands,
follow from its fields. A column has a role because it was named, or by its usual name: in tables with a header whatever
its case, blanks, ``_`` and ``-``; in JSON exactly as it is spelled, so that no row's keys change how another is read.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, dataclass_transform

from privrank_jax.data.errors import DataError
from privrank_jax.data.header import usual_column
from privrank_jax.data.names import did_you_mean, public_items

SEEN = "seen"
Several = str | Sequence[str]


def _field(kind: str, words: str, *usual: str, default: Any = None) -> Any:
    about = {"words": words, "usual": usual, "kind": kind}
    return dataclasses.field(default=default, metadata=about)


# A role of one column has words for help, and usual names; then what names several columns, or none.
column = functools.partial(_field, "column")
columns = functools.partial(_field, "columns", default=())
told = functools.partial(_field, "other")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(_field,))
@dataclasses.dataclass(frozen=True, kw_only=True)
class Roles:
    """What every kind of data may be told; :class:`DataError` on a value of the wrong type, or an item named twice."""

    user: str | None = column("column of users; none: there is none", default="user")
    items: str | Sequence[str] | None = told(
        "the items, which are public: their names, or 'seen' for all that the data name; of a table with a column for "
        "each item also a span of columns, such as 'Q1_1..Q1_9'"
    )
    blank: str | Sequence[str] = told("words that name no item, or give no answer", default=())
    ignore: str | Sequence[str] = columns("columns that are not used")
    count: str | None = column("column of how often a row counts, a whole number")

    KIND: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str = "") -> None:
        cls.KIND = kind
        dataclasses.dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for one, field in self.fields().items():
            value: Any = getattr(self, one)
            told = value is None or (isinstance(value, str) and (value == SEEN or ".." in value))
            if one == "items" and not told:
                if isinstance(value, str) or not isinstance(value, Iterable):
                    raise DataError(
                        f"`items` must be a list of names, 'seen', or a span such as 'Q1_1..Q1_9', got {value!r}"
                    )
                value = public_items(value)
            elif isinstance(field.default, tuple):
                alone = isinstance(value, str) or not isinstance(value, Iterable)
                value = (value,) if alone else tuple(getattr(self, one))
                if wrong := [part for part in value if not isinstance(part, str)]:
                    raise DataError(f"`{one}` must be a list of texts, and {wrong[0]!r} is none")
            elif field.metadata["kind"] == "column" and not isinstance(value, str | None):
                raise DataError(f"`{one}` must be a text, got {value!r}")
            object.__setattr__(self, one, value)

    @classmethod
    def fields(cls) -> dict[str, dataclasses.Field[Any]]:
        """What may be told, by name."""
        return {field.name: field for field in dataclasses.fields(cls)}

    @classmethod
    def columns(cls) -> dict[str, tuple[str, ...]]:
        """The roles of single columns, with their usual names."""
        found = ((one, field.metadata) for one, field in cls.fields().items())
        return {one: about["usual"] for one, about in found if about["kind"] == "column"}

    @property
    def public(self) -> tuple[str, ...] | None:
        """The list of items, if their names were given."""
        return self.items if isinstance(self.items, tuple) else None

    @property
    def span(self) -> str:
        """The span of columns that are the items, if one was told."""
        return self.items if isinstance(self.items, str) and self.items != SEEN else ""

    @property
    def told(self) -> dict[str, Any]:
        """What differs from the defaults."""
        found = {one: getattr(self, one) for one in self.fields()}
        return {one: value for one, value in found.items() if value != self.fields()[one].default}

    def find(self, header: Sequence[str], *roles: str) -> dict[str, str]:
        """The columns of these roles, by what was told, else by usual names; those without one are left out."""
        usual, said = self.columns(), self.told
        found = {one: said.get(one, usual_column(header, usual[one])) for one in roles}
        return {one: name for one, name in found.items() if name is not None}


class ComparisonRoles(Roles, kind="comparisons"):
    """Comparisons of two items."""

    winner: str | None = column("column of preferred items", "winner")
    loser: str | None = column("column of the other items", "loser")
    tie: str | None = column(
        "column that marks ties (1 or 0); none: there are none",
        *("tie", "ties", "tied", "is tie", "is tied", "draw", "draws", "drawn"),
        default="tie",
    )
    left: str | None = column("column of one of two items, with `outcome`, wins or scores")
    right: str | None = column("column of the other one")
    outcome: str | None = column("column of what is preferred: the item, its column, or a word")
    words: Several = told("words for left, right and perhaps a tie, such as H, A, D", default=())
    left_wins: str | None = column("column of how often the left item won")
    right_wins: str | None = column("column of how often the right item won")
    tie_count: str | None = column("column of how often the two were tied, beside wins")
    left_score: str | None = column("column of what the left item scored; the higher score wins")
    right_score: str | None = column("column of what the right item scored")
    weight: str | None = column("column of weights, at least 0; in commands also COLUMN:MOST")
    side: str | None = column("column of the item shown first, whose advantage is fitted")
    covariate_group: str | None = column("column of groups of judges, each with its advantage")
    covariates: Several = columns(
        "columns of how much more the item of `side` has, or what winner_length and loser_length end in; in commands "
        "also NAME:LOW:HIGH, with ends known without looking at the data"
    )
    time: str | None = column(
        "column of times: ISO 8601 (UTC without a zone), or seconds since 1970"
    )


class RankingRoles(Roles, kind="rankings"):
    """Rankings: a column for each item, a row for each user and item, a column for each place, or a text."""

    item: str | None = column("column of items, where each user has a row for each item", "item")
    rank: str | None = column("column of their ranks, 1 = best", "rank")
    order: str | None = column(
        "column of texts such as A>B=C, best first",
        *("order", "orders", "ranking", "rankings", "ballot", "preferences", "preference order"),
    )
    order_separator: str | None = told("what stands between the items of such a text")
    question: str | None = told("question or contest with which names of columns begin")
    ranks: bool = told("cells are ranks, even where they look like ratings", default=False)
    missing: str | None = told("what an item means that a user did not rank: last or unknown")
    num_users: int | None = told("public number of all users, also of those without a row")


class RatingRoles(RankingRoles, kind="ratings"):
    """Ratings of items, on a scale that is public."""

    ratings: str | Sequence[Any] | None = told("scale, worst to best: 1:5, 5:1, or bad,fair,good")
    rank: str | None = column("column of ratings", "rating", "score", "points", "stars", "rank")


class ApprovalRoles(RankingRoles, kind="approvals"):
    """Approvals: 1 or 0, yes or no, x or nothing for each item, or a text of the items approved of."""

    rank: str | None = column("column of whether the user approves", "approved", "approval")
    order: str | None = column("column of lists of items", "approved", "approvals", "order")


class ShownRoles(Roles):
    """Sets of items that were shown: a row for each set, or for each item."""

    shown: Several = columns("column of the items shown (A|B|C), or one for each of them")
    item: str | None = column("column of items, each in a row of its own", "item", "alternative")
    block: str | None = column("column of the set of such a row", "block", "set", "choice set")


class ChoiceRoles(ShownRoles, kind="choices"):
    """Choices of one of several items: a row for each choice, or for each item that was shown."""

    chosen: str | None = column(
        "column of the item chosen; beside `item`, whether it was", "chosen", "choice", "selected"
    )


class BestWorstRoles(ShownRoles, kind="best-worst"):
    """The best and the worst of several items (MaxDiff)."""

    best: str | None = column("column of the best item", "best")
    worst: str | None = column("column of the worst item", "worst")
    answer: str | None = column("column of 1 (best), 0 and -1 (worst) beside `item`")
    blocks: Several = told("spans such as Q1_1..Q1_5, one for each set of items", default=())
    words: Several = told("words that mark the best and the worst in such spans", default=())


class PreferenceRoles(Roles, kind="preferences"):
    """Preferences for training: of two answers to a prompt the one that was chosen."""

    chosen: str | None = column("field of the chosen answer", "chosen", default="chosen")
    rejected: str | None = column("field of the other answer", "rejected", default="rejected")
    prompt: str | None = column("field of the prompt; none: no prompt", "prompt", default="prompt")
    id: str | None = column("field of an id; none: there is none", "id", default="id")
    keep: Several = columns("fields that are carried over, and public then")
    epsilon: str | None = column("field of personal epsilons")


class ReportRoles(Roles, kind="reports"):
    """Randomized reports, as privrank writes them."""


class SyntheticRoles(Roles, kind="synthetic"):
    """Synthetic rankings, as privrank writes them."""

    missing: str | None = told("what an item means that a user did not rank: last or unknown")


ROLES = (
    ComparisonRoles, RankingRoles, RatingRoles, ApprovalRoles, ChoiceRoles, BestWorstRoles, PreferenceRoles,
)  # fmt: skip
"""Of all kinds but those that privrank writes itself."""
TEXT = {
    "name": "of the data, for messages; default: the name of the file",
    "separator": "what separates the cells of a text: a character, or 'tab', 'semicolon', 'pipe'",
    "encoding": "of a text, such as 'latin-1'; default: UTF-8, or UTF-16 by its mark",
    "sheet": "of an Excel file, by name or number from 1; default: the first",
}
"""Arguments of readers that say how a file becomes a table."""


def later(where: str) -> Any:
    """Import a name of this package, ``module:name``, when it is used: the reader of all kinds imports these roles."""
    module, name = where.split(":")
    return getattr(importlib.import_module(f"privrank_jax.data.{module}"), name)


def reader_of(roles: type[Roles]) -> Any:
    """The class method ``read`` of a kind of data: its arguments, and what they mean, are the fields of its roles."""
    fields = roles.fields()

    def read(cls: type, source: Any, **given: Any) -> Any:
        for name in given.keys() - {*fields, *TEXT}:
            near = did_you_mean(name, fields)
            raise TypeError(f"{cls.__name__}.read has no argument {name!r}{near}")
        text = {name: given.pop(name) for name in TEXT if name in given}
        return later("reader:read_told")(source, roles(**given).told, kinds=(roles.KIND,), **text)

    words = {one: field.metadata["words"] for one, field in fields.items()} | TEXT
    defaults = {one: field.default for one, field in fields.items()} | dict.fromkeys(TEXT)
    named, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, named) for name in ("cls", "source")]
    parameters += [inspect.Parameter(one, keyword, default=it) for one, it in defaults.items()]
    arguments = "\n".join(f"    {name}: {text}." for name, text in words.items())
    read.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    read.__doc__ = (
        f"Read {roles.KIND}; a faulty table is refused as a whole.\n\nArgs:\n"
        f"    source: as for :func:`privrank_jax.read`.\n{arguments}\n\n"
        "Raises:\n    DataError: what is wrong, where (file, line, column), and how to fix it.\n"
    )
    return classmethod(read)

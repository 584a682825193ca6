"""The neighboring relation of data sets as one value, and which relations cover others; without JAX and NumPy.

A guarantee is at least as strong as another one if its neighbors include the other's. Replacing a unit includes
changing its answers, and all of a user includes one rank, or one comparison whose user stays the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from privrank_jax._arguments import ArgumentError

UNITS = ("comparison", "user", "rank")
ADJACENCIES = ("flip", "replace", "add-remove")
# Where a public questionnaire gives noise on win totals a shape.
SHAPED_ADJACENCIES = ("flip", "replace")
COMPARISON_UNITS = ("comparison", "user")  # of mechanisms on comparisons
COMPARISON_KINDS = tuple((one, other) for one in COMPARISON_UNITS for other in ADJACENCIES)

# Promised (unit, adjacency) -> the kinds of releases that are at least as strong.
COVERS = {
    ("comparison", "flip"): {(u, a) for u in COMPARISON_UNITS for a in SHAPED_ADJACENCIES},
    ("comparison", "replace"): {("comparison", "replace")},
    ("comparison", "add-remove"): {("comparison", "add-remove")},
    ("user", "flip"): {("user", "flip"), ("user", "replace")},
    ("user", "replace"): {("user", "replace")},
    ("user", "add-remove"): {("user", "add-remove")},
    ("rank", "replace"): {("rank", "replace"), ("user", "replace")},
}

# Facts about the data that neighbors may share beyond those implied by the adjacency, in words.
PUBLIC = {
    "items": "the list of items",
    "participation": "which users gave an answer at all",
    "questionnaire": "which pairs each user was asked",
    "ranked-items": "which items each user ranked",
    "budgets": "the epsilon of each user or answer",
    "ties": "which answers are ties",
    "covariates": "the covariates of each comparison, and which item was shown first",
}
# Neighbors that differ only in answers share all of these.
_ANSWERS_KEEP = frozenset({"items", "participation", "questionnaire", "budgets"})

# What a user is: without a column of users, by the kind of file, by a column of users, of numbers of users.
NO_COLUMN = "each row"
OWN = "as the data define them"
of_column = "column {!r}".format
of_count = "each of those that column {!r} counts in a row".format


@dataclasses.dataclass(frozen=True)
class Neighbors:
    """The pairs of data sets for which a guarantee holds.

    Attributes:
        unit, adjacency: one of :data:`UNITS`, and of :data:`ADJACENCIES`, how neighbors differ in one.
        public: names in :data:`PUBLIC` of what neighbors share beyond that, without what the adjacency implies.
        users: what one user is, such as ``"column 'user'"`` or ``"each row"``; "" if undefined.
    """

    unit: str
    adjacency: str
    public: tuple[str, ...] = ()
    users: str = ""

    def __post_init__(self) -> None:
        implied = _ANSWERS_KEEP if self.adjacency == "flip" else frozenset()
        public = tuple(fact for fact in check_public(self.public) if fact not in implied)
        object.__setattr__(self, "public", public)

    @property
    def kind(self) -> tuple[str, str]:
        """Unit and adjacency."""
        return self.unit, self.adjacency

    @property
    def shared(self) -> frozenset[str]:
        """All facts that neighbors share, including those that the adjacency implies."""
        return frozenset(self.public) | (_ANSWERS_KEEP if self.adjacency == "flip" else frozenset())

    def covers(self, promised: Neighbors) -> bool:
        """Whether a guarantee for these neighbors is at least as strong as one for those of ``promised``."""
        return not self.lacks(promised)

    def lacks(self, promised: Neighbors) -> str:
        """Why a guarantee for these neighbors is not as strong as ``promised``, in words; "" if it is."""
        if self.kind not in COVERS[promised.kind]:
            return f"it protects unit {self.unit}, adjacency {self.adjacency}"
        revealed = [fact for fact in self.public if fact not in promised.shared]
        if revealed:
            return f"it takes as public {listed(PUBLIC[fact] for fact in revealed)}"
        if promised.unit != "comparison" and self.users != promised.users:
            return f"its users are {self.users or 'not defined'}, not {promised.users or 'those'}"
        return ""

    def in_words(self) -> str:
        """Unit, adjacency, what a user is, and what is public.

        >>> print(Neighbors("user", "replace", ("items",), "column 'voter'").in_words())
        unit user (column 'voter'), adjacency replace; public: the list of items
        """
        users = f" ({self.users})" if self.users and self.unit != "comparison" else ""
        public = "; public: " + listed(PUBLIC[fact] for fact in self.public) if self.public else ""
        return f"unit {self.unit}{users}, adjacency {self.adjacency}{public}"


def check_kind(unit: str, adjacency: str) -> None:
    """Raise ``ValueError`` unless some guarantee has this unit and adjacency."""
    for name, value, choices in (("unit", unit, UNITS), ("adjacency", adjacency, ADJACENCIES)):
        if value not in choices:
            raise ArgumentError(
                f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.", name
            )
    if (unit, adjacency) not in COVERS:
        refused = f"unit {unit!r} with adjacency {adjacency!r} is not a valid combination"
        known = f"choose one of {in_words(COVERS)}."
        raise ArgumentError(f"{refused}; {known}", "unit", "adjacency")


def in_words(kinds: Iterable[tuple[str, str]]) -> str:
    """Units and adjacencies in words.

    >>> in_words([("user", "replace"), ("user", "flip")])
    "unit 'user', adjacency 'replace'; unit 'user', adjacency 'flip'"
    """
    return "; ".join(f"unit {unit!r}, adjacency {adjacency!r}" for unit, adjacency in kinds)


def check_public(facts: Iterable[str]) -> tuple[str, ...]:
    """Names of public facts, each once, sorted; ``ValueError`` for a name that is none.

    >>> check_public(["ranked-items", "items", "items"])
    ('items', 'ranked-items')
    """
    if isinstance(facts, str):
        raise ArgumentError(
            f"public must be a tuple of names, got the single text {facts!r}.", "public"
        )
    found = tuple(sorted(set(facts)))
    for fact in found:
        if fact not in PUBLIC:
            raise ArgumentError(
                f"public has {fact!r}: the facts that may be public are {', '.join(map(repr, PUBLIC))}.",
                "public",
            )
    return found


def listed(words: Iterable[str]) -> str:
    """Join several things by commas and "and".

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last

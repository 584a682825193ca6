"""The guarantee that every private result carries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from privrank_jax._neighbors import NO_COLUMN, OWN, PUBLIC, Neighbors, check_public, listed

COMPARISON_UNITS = ("comparison", "user")  # of mechanisms on comparisons
UNITS = (*COMPARISON_UNITS, "rank")
ADJACENCIES = ("flip", "replace", "add-remove")

_UNIT_WORDS = {
    "comparison": "one comparison",
    "user": "one user (all that the user answered)",
    "rank": "the rank of one item",
}
_ADJACENCY_WORDS = {
    "flip": "{unit} answers differently",
    "replace": "{unit} is replaced by any other",
    "add-remove": "{unit} is added or removed",
}
_GRAPH = "who compared which items"  # what a flip keeps
_TRUST_WORDS = {
    "central": "a trusted curator holds the raw data and publishes only this result",
    "local": "each user randomizes the answers before they leave the user's hands",
}
_NUMERICS_WORDS = {
    "exact": "the noise is drawn exactly, with integers from a cryptographic source",
    "simulation": "the noise comes from fast floating-point generators, made for simulation",
    "idealized": (
        "the proof is for real numbers, and an exact minimizer where something is minimized; the "
        "floating-point computation only approximates them"
    ),
    "unknown": "how the noise was drawn is not known here",
}


_IF_ANY = ("note", "also", "public", "users")  # of JSON


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Guarantee:
    """(ε, δ) differential privacy, with everything needed to read the two numbers.

    Attributes:
        epsilon: ε > 0.
        delta: δ, 0 for pure differential privacy.
        unit: what is protected: ``"comparison"`` (edge DP), ``"user"`` (individual DP), ``"rank"`` (ranking DP: the
            rank of one item in the ranking of one user).
        adjacency: how neighboring data sets differ in one unit: ``"flip"`` (the answers change, the
            comparison graph is public), ``"replace"``, ``"add-remove"``.
        trust: ``"central"`` or ``"local"``.
        numerics: ``"exact"``, ``"simulation"``, ``"idealized"``, or ``"unknown"`` for noise that others drew.
        note: anything that the reader must know beside.
        also: guarantees of the same result for other units, such as a whole user beside one comparison.
        public: what neighbors share beyond that: ``"items"`` (the list of items, taken from the data),
            ``"participation"`` (which users gave an answer at all), ``"questionnaire"`` (which pairs each user was
            asked), ``"ranked items"`` (which items each user ranked), ``"budgets"`` (each user's or answer's own ε),
            ``"ties"`` (which answers are ties). Sorted, each once.
        users: what one user is in the data, such as ``"column 'voter'"`` or ``"each row"``; "" where the guarantee is
            for users as the caller defines them.

    Raises:
        ValueError: a name in ``public`` that is none of these.
    """

    epsilon: Any
    delta: Any = 0.0
    unit: str = dataclasses.field(default="comparison", metadata={"static": True})
    adjacency: str = dataclasses.field(default="replace", metadata={"static": True})
    trust: str = dataclasses.field(default="central", metadata={"static": True})
    numerics: str = dataclasses.field(default="simulation", metadata={"static": True})
    note: str = dataclasses.field(default="", metadata={"static": True})
    also: tuple[Guarantee, ...] = ()
    public: tuple[str, ...] = dataclasses.field(default=(), metadata={"static": True})
    users: str = dataclasses.field(default="", metadata={"static": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", check_public(self.public))

    @property
    def neighbors(self) -> Neighbors:
        """Which pairs of data sets this is for."""
        return Neighbors(self.unit, self.adjacency, self.public, self.users)

    def covers(self, promised: Neighbors) -> bool:
        """Whether ε and δ hold for all neighbors of a promise; one of ``also`` may where this doesn't."""
        return self.neighbors.covers(promised)

    def given(self, *, public: Iterable[str] = (), users: str = "") -> Guarantee:
        """The same where these facts are public as well, and a user is this; ``also`` likewise."""
        return dataclasses.replace(
            self,
            public=(*self.public, *public),
            users=users or self.users,
            also=tuple(other.given(public=public, users=users) for other in self.also),
        )

    def as_dict(self) -> dict[str, Any]:
        """The guarantee as plain Python values (for JSON); needs concrete ε and δ."""
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in _IF_ANY or getattr(self, field.name)
        }
        for name in ("epsilon", "delta"):
            array = np.asarray(values[name])
            values[name] = array.item() if array.ndim == 0 else array.tolist()
        if self.public:
            values["public"] = list(self.public)
        if self.also:
            values["also"] = [other.as_dict() for other in self.also]
        return values

    def in_words(self) -> str:
        """The guarantee as two sentences, and one more for each of ``also``.

        >>> print(Guarantee(1.0, unit="user", adjacency="flip").in_words())
        Differentially private with epsilon = 1: the probability of any published result changes by a
        factor of at most 2.72 when one user (all that the user answered) answers differently; who
        compared which items is taken as public. Trust: a trusted curator holds the raw data and
        publishes only this result; the noise comes from fast floating-point generators, made for
        simulation.
        """
        if math.isinf(float(self.epsilon)):
            return "Not private: epsilon is infinite, no noise was added."
        note = f" Note: {self.note}" if self.note else ""
        # A delta bounds sets of results; added to each result of a set on its own it would promise less.
        approximate = any(float(one.delta) > 0 for one in (self, *self.also))
        result = "set of published results" if approximate else "published result"
        return (
            f"Differentially private with {self._level()}: the probability of any {result} "
            f"{self._change()}. "
            f"Trust: {_TRUST_WORDS[self.trust]}; {_NUMERICS_WORDS[self.numerics]}.{note}"
            + "".join(
                f" As well, with {other._level()}, it {other._change()}." for other in self.also
            )
        )

    def _level(self) -> str:
        delta = float(self.delta)
        return f"epsilon = {float(self.epsilon):g}" + (f", delta = {delta:g}" if delta > 0 else "")

    def _change(self) -> str:
        epsilon, delta = float(self.epsilon), float(self.delta)
        factor = f"{math.exp(epsilon):.3g}" if epsilon < 100 else f"e^{epsilon:g}"
        change = _ADJACENCY_WORDS[self.adjacency].format(unit=_UNIT_WORDS[self.unit])
        change += self._known()
        if delta > 0:
            return f"is at most {factor} times what it was, plus {delta:g}, when {change}"
        return f"changes by a factor of at most {factor} when {change}"

    def _known(self) -> str:
        """What a user is, and what neighbors share, in words."""
        words = ""
        if self.users not in ("", OWN) and self.unit != "comparison":
            named = "is one user" if self.users == NO_COLUMN else "names the users"
            words = f"; {self.users} {named}"
        shared = [_GRAPH] if self.adjacency == "flip" else []
        shared += [PUBLIC[fact] for fact in self.public]
        if shared:
            words += f"; {listed(shared)} {'is' if len(shared) == 1 else 'are'} taken as public"
        return words

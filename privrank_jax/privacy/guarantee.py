"""The guarantee that every private result carries."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from privrank_jax._neighbors import OWN, PUBLIC, listed
from privrank_jax._promise import Amount, check_changes, check_rho
from privrank_jax._pytrees import pytree, static
from privrank_jax.privacy.privacy import Privacy

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
_ALONE = "each user's answers are randomized on their own, which can be done before they leave the user's hands"
_TRUST_WORDS = {
    "central": "a trusted curator holds the raw data and publishes only this result",
    "shuffled": f"{_ALONE}, and a trusted shuffler removes names, times and order before anyone else sees them",
    "local": _ALONE,
}
TRUSTS = tuple(_TRUST_WORDS)
"""Trust models, that with most trust first."""
_NUMERICS_WORDS = {
    "exact": "the noise is drawn exactly, from a cryptographic source",
    "simulation": "the noise comes from fast floating-point generators, made for simulation",
    "idealized": "the proof assumes real numbers, and an exact minimizer where something is minimized; the "
    "floating-point computation only approximates them",
    "unknown": "how the noise was drawn is not known here",
}


@pytree
class Guarantee:
    """What holds for a private result: the promise that was asked for, and what was attained.

    Attributes:
        promise: what the function was asked to keep.
        attained: what is proven of the result: the promise, or more, or less for some published calibrations.
        trust: ``"central"``, ``"shuffled"`` or ``"local"``.
        numerics: ``"exact"``, ``"simulation"``, ``"idealized"``, or ``"unknown"`` for noise drawn elsewhere.
        note: anything else that the reader must know.
        also: what the same result attains for other units, such as a whole user beside one comparison.
        changes: of Laplace noise on integers: the c of :class:`~privrank_jax.privacy.LaplaceRelease` for the neighbors
            of ``attained``; the noise has the scale Σc/ε, or more. () if not known.
        rho: of Gaussian noise, where it is proven: the release is ρ-zCDP for the neighbors of ``attained``.

    Facts in ``public``: ``"items"`` is the list of items, taken from the data; ``"participation"`` is which users gave
    an answer at all; ``"questionnaire"`` is which pairs each user was asked; ``"ranked-items"`` is which items each
    user ranked; ``"budgets"`` is each user's or answer's own ε; ``"ties"`` is which answers are ties; ``"covariates"``
    is the covariates of each comparison, and which item was shown first.
    """

    promise: Privacy
    attained: Privacy = None  # type: ignore[assignment]
    _: dataclasses.KW_ONLY
    trust: str = static(default="central")
    numerics: str = static(default="simulation")
    note: str = static(default="")
    also: tuple[Privacy, ...] = ()
    changes: tuple[int, ...] = static(default=())
    rho: float | None = static(default=None)

    def __post_init__(self) -> None:
        check_changes(self.changes)
        check_rho(self.rho)
        if self.attained is None:
            object.__setattr__(self, "attained", self.promise)

    @property
    def epsilon(self) -> Amount:
        """ε attained."""
        return self.attained.epsilon

    @property
    def delta(self) -> Amount:
        """δ attained, 0 for pure differential privacy."""
        return self.attained.delta

    @property
    def unit(self) -> str:
        """What is protected."""
        return self.attained.unit

    @property
    def adjacency(self) -> str:
        """How neighbors differ in one unit."""
        return self.attained.adjacency

    def given(self, *, public: Iterable[str] = (), users: str = "") -> Guarantee:
        """The guarantee, and those in ``also``, with these facts public as well and this meaning of a user."""
        public = tuple(public)
        return self._each(lambda one: one.given(public=public, users=users))

    def for_any_user(self) -> Guarantee:
        """The guarantee for users with any number of comparisons, where the release itself keeps L of each."""
        return self._each(Privacy.for_any_user)

    def _each(self, change: Callable[[Privacy], Privacy]) -> Guarantee:
        promise, attained = change(self.promise), change(self.attained)
        also = tuple(change(other) for other in self.also)
        return dataclasses.replace(self, promise=promise, attained=attained, also=also)

    def as_dict(self) -> dict[str, Any]:
        """The guarantee as plain Python values (for JSON); needs concrete ε and δ."""
        values = self._of(self.attained) | ({"note": self.note} if self.note else {})
        return values | ({"also": [self._of(other) for other in self.also]} if self.also else {})

    def _of(self, attained: Privacy) -> dict[str, Any]:
        numbers = {"epsilon": attained.epsilon, "delta": attained.delta}
        values: dict[str, Any] = {k: np.asarray(x, float).tolist() for k, x in numbers.items()}
        values |= {"unit": attained.unit, "adjacency": attained.adjacency}
        values |= {"trust": self.trust, "numerics": self.numerics}
        if attained.contributions is not None:
            values["contributions"] = np.asarray(attained.contributions).tolist()
        if attained.public:
            values["public"] = list(attained.public)
        if attained.users:
            values["users"] = attained.users
        return values

    def dp_event(self) -> Any:
        """The release as an event of dp-accounting (extra ``accounting``), for its accountants.

        Returns:
            ``ZCDpEvent`` where ``rho`` is known; else ``DiscreteLaplaceDpEvent`` of each of ``changes``, or of a change
            by one step at ε, which is randomized response and dominates every ε-private release.

        Raises:
            ImportError: dp-accounting is not installed.
            ValueError: ε is infinite, or δ > 0 and no ``rho`` is known: dp-accounting has no event for that.

        >>> Guarantee(Privacy(1.0, unit="user", adjacency="flip", delta=1e-6), rho=0.02).dp_event()
        ZCDpEvent(rho=0.02, xi=0.0)
        """
        from privrank_jax.privacy.loss_distribution import load_dp_accounting

        events = load_dp_accounting().dp_event
        epsilon = float(self.epsilon)
        if self.rho is not None:
            return events.ZCDpEvent(self.rho)
        if math.isinf(epsilon) or float(self.delta) > 0:
            raise ValueError(
                "dp-accounting has no event of (epsilon, delta) alone: compose counts it."
            )
        changes = self.changes or (1,)
        each = epsilon / sum(changes)
        return events.ComposedDpEvent([events.DiscreteLaplaceDpEvent(each, c) for c in changes])

    def in_words(self) -> str:
        """The guarantee as three sentences, and one more for each of ``also``.

        >>> print(Guarantee(Privacy(1.0, unit="user", adjacency="flip")).in_words())
        Differentially private with epsilon = 1: the probability of any published result changes by a
        factor of at most 2.72 when one user (all that the user answered) answers differently; who
        compared which items is taken as public. Whatever else is known, a guess between two equally
        likely cases is right at most 73.1 % of the time. Trust: a trusted curator holds the raw data
        and publishes only this result; the noise comes from fast floating-point generators, made for
        simulation.
        """
        if math.isinf(float(self.epsilon)):
            return "Not private: epsilon is infinite, no noise was added."
        note = f" Note: {self.note}" if self.note else ""
        # δ is added once to the probability of a set of results; added to each single result it would promise less.
        approximate = any(float(one.delta) > 0 for one in (self.attained, *self.also))
        result = "set of published results" if approximate else "published result"
        also = [f" As well, with {_level(other)}, it {_change(other)}." for other in self.also]
        return (
            f"Differentially private with {_level(self.attained)}: the probability of any {result} "
            f"{_change(self.attained)}. {_best_guess(self.attained)} "
            f"Trust: {_TRUST_WORDS[self.trust]}; {_NUMERICS_WORDS[self.numerics]}.{note}{''.join(also)}"
        )


def _best_guess(attained: Privacy) -> str:
    """The largest probability of a right guess, (e^ε + δ)/(e^ε + 1): neighbors are told apart with no more."""
    bound = 1 - (1 - float(attained.delta)) / (1 + math.exp(min(float(attained.epsilon), 100.0)))
    share = f"{100 * bound:.3g} %" if bound < 0.9995 else "nearly 100 %"
    return f"Whatever else is known, a guess between two equally likely cases is right at most {share} of the time."


def _level(attained: Privacy) -> str:
    delta = float(attained.delta)
    return f"epsilon = {float(attained.epsilon):g}" + (f", delta = {delta:g}" if delta > 0 else "")


def _change(attained: Privacy) -> str:
    """By how much a probability changes when what changes, and what neighbors share."""
    epsilon, delta = float(attained.epsilon), float(attained.delta)
    factor = f"{math.exp(epsilon):.3g}" if epsilon < 100 else f"e^{epsilon:g}"
    unit = _UNIT_WORDS[attained.unit]
    if attained.contributions is not None:
        unit = (
            f"one user (all that the user answered, at most {attained.contributions} comparisons)"
        )
    change = _ADJACENCY_WORDS[attained.adjacency].format(unit=unit)
    if attained.users not in ("", OWN) and attained.unit != "comparison":
        named = "is one user" if attained.users.startswith("each") else "names the users"
        change += f"; {attained.users} {named}"
    shared = [_GRAPH] if attained.adjacency == "flip" else []
    shared += [PUBLIC[fact] for fact in attained.public]
    if shared:
        change += f"; {listed(shared)} {'is' if len(shared) == 1 else 'are'} taken as public"
    if delta > 0:
        return f"is at most {factor} times what it was, plus {delta:g}, when {change}"
    return f"changes by a factor of at most {factor} when {change}"

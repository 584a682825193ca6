"""The promise that a private function is asked to keep, as one value; without JAX, so that a ledger opens quickly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from privrank_jax._neighbors import Neighbors, check_kind

Kind = tuple[str, str]  # unit and adjacency
# Additive: Laplace noise gives pure ε-DP, Gaussian noise (ε, δ)-DP.
NOISES = ("laplace", "gaussian")
# K-norm noise, pure too, needs the set of changes that one unit causes.
SHAPED_NOISES = ("k-norm", *NOISES)


def check_changes(changes: object) -> None:
    """Raise ``ValueError`` unless these are a tuple of whole numbers, at least 1."""
    if not isinstance(changes, tuple) or not all(type(one) is int and one >= 1 for one in changes):
        raise ValueError(f"changes must be a tuple of whole numbers, at least 1, got {changes!r}.")


def check_rho(rho: object) -> None:
    """Raise ``ValueError`` unless this is None or one number above 0, not traced."""
    one = isinstance(rho, (int, float, Decimal, Fraction)) and not isinstance(rho, bool)
    if rho is not None and not (one and 0 < float(rho) < math.inf):  # type: ignore[arg-type]
        raise ValueError(f"rho must be None or one finite number above 0, got {rho!r}.")


LEAVES = ("epsilon", "delta", "contributions")
STATIC = ("unit", "adjacency", "public", "users")
Amount: TypeAlias = Any
"""One number, on the host (also Decimal or Fraction) or traced, or an array of numbers for a sweep."""


@dataclasses.dataclass(frozen=True)
class Privacy:
    """(ε, δ)-differential privacy for one kind of neighbors: the third argument of every private function.

    A pytree with leaves ε, δ and ``contributions``, so a sweep over them is one :func:`jax.vmap` (see :meth:`axes`);
    everything else is static. Arguments are checked once, on construction; a traced ε or δ out of range becomes NaN.

    Attributes:
        epsilon: ε > 0, one number, or an array for a sweep; may be traced. ∞ means no noise at all.
        unit: what is protected: ``"comparison"`` (edge DP), ``"user"`` (all of a user: individual DP) or ``"rank"``
            (ranking DP: the rank of one item in the ranking of one user).
        adjacency: how neighbors differ in one unit: ``"flip"`` (the answers change, who compared what is public),
            ``"replace"`` or ``"add-remove"``.
        delta: δ in [0, 1), may be traced; used by mechanisms that need one, such as Gaussian noise.
        contributions: L >= 1, the most comparisons of one user, for ``unit="user"`` on comparisons; may be traced. It
            must hold in the data: see :func:`~privrank_jax.comparisons.bound_contributions`.
        public: what neighbors share beyond the adjacency: names such as ``"items"`` or ``"questionnaire"``, which
            :class:`~privrank_jax.privacy.Guarantee` explains, without those that the adjacency implies.
        users: what one user is in the data, such as ``"column 'voter'"``; "" leaves that to the caller.

    Raises:
        ValueError: ε <= 0 or NaN, δ out of range, an unknown unit, adjacency or public fact, a meaningless pair of unit
            and adjacency, L < 1, or L for a unit other than users.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> promise.covers(Privacy(5.0, unit="user", adjacency="flip", contributions=3))
    True
    """

    epsilon: Amount
    _: dataclasses.KW_ONLY
    unit: str
    adjacency: str
    delta: Amount = 0.0
    contributions: Amount = None
    public: tuple[str, ...] = ()
    users: str = ""

    def __post_init__(self) -> None:
        for name, value in zip(LEAVES, _checked_numbers(self.epsilon, self.delta)):
            object.__setattr__(self, name, value)
        self._check_kind()

    def _check_kind(self) -> None:
        """Check everything but ε and δ, and drop facts that the adjacency implies."""
        check_kind(self.unit, self.adjacency)
        if self.contributions is not None:
            if self.unit != "user":
                raise ValueError(
                    f"`contributions` is what one user gives at most: it needs unit='user', not {self.unit!r}."
                )
            if type(self.contributions) is not int or self.contributions < 1:
                from privrank_jax._validate import check_positive  # loads JAX

                check_positive("contributions", self.contributions, infinite=False)
        object.__setattr__(self, "public", self.neighbors.public)

    @classmethod
    def proven(cls, epsilon: Amount, **fields: Any) -> Privacy:
        """A proven guarantee of existing results; it may have ε = 0 (nothing was released), δ = 1 or arrays of both."""
        usual = {"delta": 0.0, "contributions": None, "public": (), "users": ""}
        made = unflattened({**usual, **fields, "epsilon": epsilon})
        made._check_kind()
        return made

    @property
    def neighbors(self) -> Neighbors:
        """The pairs of data sets that this is about, whatever the number of contributions."""
        return Neighbors(self.unit, self.adjacency, self.public, self.users)

    @property
    def kind(self) -> Kind:
        """Unit and adjacency."""
        return self.unit, self.adjacency

    def for_any_user(self) -> Privacy:
        """The promise for users with any number of comparisons, where the release itself keeps L of each."""
        return self._with(contributions=None)

    @property
    def comparisons_per_unit(self) -> Amount:
        """The largest number of comparisons in one unit: 1, or L for users; ``ValueError`` where there is none."""
        if self.unit == "comparison":
            return 1
        if self.unit == "rank":
            raise ValueError("unit='rank' is for rankings, not for comparisons.")
        if self.contributions is None:
            raise ValueError(
                "unit='user' needs contributions=L, the most comparisons that one user gave; "
                "comparisons.bound_contributions keeps that many of each."
            )
        return self.contributions

    def covers(self, promised: Privacy | Neighbors) -> bool:
        """Whether this holds for all the neighbors of ``promised`` (whatever ε and δ are)."""
        return not self.lacks(promised)

    def lacks(self, promised: Privacy | Neighbors) -> str:
        """Why this doesn't hold for all the neighbors of ``promised``, in words; "" if it does."""
        if isinstance(promised, Neighbors):
            return self.neighbors.lacks(promised)
        most = self.contributions
        if self.unit == "user" and most is not None and promised.unit == "user":
            asked = promised.contributions
            if asked is None or asked > most:
                other = f", not {asked}" if asked else ""
                return f"it is for users of at most {most} comparisons{other}"
        return self.neighbors.lacks(promised.neighbors)

    def given(self, *, public: Iterable[str] = (), users: str = "") -> Privacy:
        """The promise with these facts public as well and this definition of a user."""
        return self._with(public=(*self.public, *public), users=users or self.users)

    def _with(self, **changed: Any) -> Privacy:
        """The promise with other facts and the same numbers, which may be proven ones."""
        return Privacy.proven(**{**vars(self), **changed})

    def axes(self, **swept: int | None) -> Privacy:
        """``in_axes`` of :func:`jax.vmap` for a sweep: along which axis ``epsilon``, ``delta``, ``contributions`` vary.

        >>> import jax
        >>> from privrank_jax.privacy import Privacy  # registers the pytree
        >>> sweep = Privacy(jax.numpy.array([0.5, 1.0]), unit="user", adjacency="replace")
        >>> jax.vmap(lambda privacy: 2 * privacy.epsilon, in_axes=(sweep.axes(epsilon=0),))(sweep).tolist()
        [1.0, 2.0]
        """
        if unknown := set(swept) - set(LEAVES):
            raise ValueError(f"{sorted(unknown)} can't be swept: {', '.join(LEAVES)} can.")
        fields = {name: getattr(self, name) for name in STATIC}
        return unflattened({**fields, **dict.fromkeys(LEAVES), **swept})


def unflattened(fields: dict[str, Any]) -> Privacy:
    """A promise with these fields, unchecked."""
    made = object.__new__(Privacy)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


_PLAIN = (int, float, Decimal, Fraction)


def _checked_numbers(epsilon: Amount, delta: Amount) -> tuple[Amount, Amount]:
    """ε and δ: ``ValueError`` where concrete ones are out of range, NaN where traced ones are."""
    plain = type(epsilon) in _PLAIN and type(delta) in _PLAIN
    if plain and float(epsilon) > 0 and 0 <= float(delta) < 1:
        return epsilon, delta
    from privrank_jax._validate import check_delta, check_epsilon  # loads JAX

    def checked(check: Callable[[Amount], Amount], number: Amount) -> Amount:
        exact = isinstance(number, Decimal | Fraction)
        found = check(float(number) if exact else number)
        return number if exact else found

    return checked(check_epsilon, epsilon), checked(check_delta, delta)

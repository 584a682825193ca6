"""The promise that a private function is asked to keep, as one value."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jax

from privrank_jax._neighbors import COVERS, Neighbors, check_public
from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive

COMPARISON_UNITS = ("comparison", "user")  # of mechanisms on comparisons
UNITS = (*COMPARISON_UNITS, "rank")
ADJACENCIES = ("flip", "replace", "add-remove")

Kind = tuple[str, str]
"""Unit and adjacency."""

_LEAVES = ("epsilon", "delta", "contributions")
_STATIC = ("unit", "adjacency", "public", "users")


@dataclasses.dataclass(frozen=True)
class Privacy:
    """(ε, δ) differential privacy for one kind of neighbors: what every private function takes third.

    A pytree. ε, δ and ``contributions`` are its leaves, so a sweep over them is one :func:`jax.vmap` (see
    :meth:`axes`); everything else is static. Arguments are checked once, where it is made; traced values are not.

    Attributes:
        epsilon: ε > 0, one number, or an array for a sweep; may be traced. ∞ stands for no noise at all.
        unit: what is protected: ``"comparison"`` (edge DP), ``"user"`` (all of a user: individual DP) or ``"rank"``
            (ranking DP: the rank of one item in the ranking of one user).
        adjacency: how neighbors differ in one unit: ``"flip"`` (the answers change, who compared what is public),
            ``"replace"`` or ``"add-remove"``.
        delta: δ in [0, 1), may be traced; used by mechanisms that need one, such as Gaussian noise.
        contributions: L >= 1, the most comparisons of one user, for ``unit="user"`` on comparisons; may be traced. It
            must hold in the data: see :func:`~privrank_jax.comparisons.bound_contributions`.
        public: what neighbors share beyond the adjacency: names such as ``"items"`` or ``"questionnaire"``, explained
            at :class:`~privrank_jax.privacy.Guarantee`. Sorted, each once, without what the adjacency implies.
        users: what one user is in the data, such as ``"column 'voter'"``; "" where that is the caller's to say.

    Raises:
        ValueError: ε <= 0 or NaN, δ out of range, an unknown unit, adjacency or public fact, a pair of unit and
            adjacency that means nothing, L < 1, or L for another unit than users.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> promise.covers(Privacy(5.0, unit="user", adjacency="flip", contributions=3))
    True
    """

    epsilon: Any
    _: dataclasses.KW_ONLY
    unit: str
    adjacency: str
    delta: Any = 0.0
    contributions: Any = None
    public: tuple[str, ...] = ()
    users: str = ""

    def __post_init__(self) -> None:
        check_epsilon(_number(self.epsilon))
        check_delta(_number(self.delta))
        self._check_kind()

    def _check_kind(self) -> None:
        """Everything but ε and δ; facts that the adjacency implies are left out."""
        check_choice("unit", self.unit, UNITS)
        check_choice("adjacency", self.adjacency, ADJACENCIES)
        if (self.unit, self.adjacency) not in COVERS:
            raise ValueError(
                f"unit {self.unit!r} with adjacency {self.adjacency!r} means nothing; choose one of "
                f"{in_words(COVERS)}."
            )
        if self.contributions is not None:
            if self.unit != "user":
                raise ValueError(
                    f"contributions bound what one user gives; unit={self.unit!r} has none: leave them out."
                )
            check_positive("contributions", self.contributions, infinite=False)
        object.__setattr__(self, "public", check_public(self.public))
        object.__setattr__(self, "public", self.neighbors.public)

    @classmethod
    def proven(cls, epsilon: Any, **fields: Any) -> Privacy:
        """What is proven of results that exist: also ε = 0 (nothing was released), δ = 1 or arrays of both."""
        made = unflattened(
            {"delta": 0.0, "contributions": None, "public": (), "users": "", **fields}, epsilon
        )
        made._check_kind()
        return made

    @property
    def neighbors(self) -> Neighbors:
        """Which pairs of data sets this is for, whatever the number of contributions."""
        return Neighbors(self.unit, self.adjacency, self.public, self.users)

    @property
    def kind(self) -> Kind:
        """Unit and adjacency."""
        return self.unit, self.adjacency

    @property
    def comparisons_per_unit(self) -> Any:
        """How many comparisons one unit holds at most: 1, or L of a user.

        Raises:
            ValueError: users without ``contributions``; unit ``"rank"``.
        """
        if self.unit == "comparison":
            return 1
        if self.unit == "rank":
            raise ValueError(
                "unit='rank' is for rankings; comparisons have unit='comparison' or unit='user'."
            )
        if self.contributions is None:
            raise ValueError(
                "unit='user' needs contributions=L, the most comparisons that one user gave; "
                "comparisons.bound_contributions keeps that many of each."
            )
        return self.contributions

    def covers(self, promised: Privacy | Neighbors) -> bool:
        """Whether this is for all the neighbors of ``promised`` (whatever ε and δ are)."""
        return not self.lacks(promised)

    def lacks(self, promised: Privacy | Neighbors) -> str:
        """Why this is not for all the neighbors of ``promised``, in words; "" if it is."""
        if isinstance(promised, Neighbors):
            return self.neighbors.lacks(promised)
        most = self.contributions
        if self.unit == "user" and most is not None and promised.unit == "user":
            if promised.contributions is None:
                return f"it is for users of at most {most} comparisons"
            if promised.contributions > most:
                return (
                    f"it is for users of at most {most} comparisons, not {promised.contributions}"
                )
        return self.neighbors.lacks(promised.neighbors)

    def given(self, *, public: Iterable[str] = (), users: str = "") -> Privacy:
        """The same where these facts are public as well, and a user is this."""
        facts = check_public((*self.public, *public))
        return dataclasses.replace(self, public=facts, users=users or self.users)

    def axes(self, **swept: int | None) -> Privacy:
        """``in_axes`` of :func:`jax.vmap` for a sweep: along which axis ``epsilon``, ``delta``, ``contributions`` vary.

        >>> sweep = Privacy(jax.numpy.array([0.5, 1.0]), unit="user", adjacency="replace")
        >>> jax.vmap(lambda privacy: 2 * privacy.epsilon, in_axes=(sweep.axes(epsilon=0),))(sweep).tolist()
        [1.0, 2.0]
        """
        if unknown := set(swept) - set(_LEAVES):
            raise ValueError(f"{sorted(unknown)} can't be swept: {', '.join(_LEAVES)} can.")
        fields = {name: getattr(self, name) for name in _STATIC}
        return unflattened(
            {**fields, "delta": None, "contributions": None, **swept}, swept.get("epsilon")
        )


def unflattened(fields: dict[str, Any], epsilon: Any) -> Privacy:
    """A promise of these fields, none of them checked."""
    made = object.__new__(Privacy)
    for name, value in {**fields, "epsilon": epsilon}.items():
        object.__setattr__(made, name, value)
    return made


def _flatten(privacy: Privacy) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return tuple(getattr(privacy, name) for name in _LEAVES), tuple(
        getattr(privacy, name) for name in _STATIC
    )


def _flatten_with_keys(privacy: Privacy) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    leaves, static = _flatten(privacy)
    return tuple(zip(map(jax.tree_util.GetAttrKey, _LEAVES), leaves)), static


def _unflatten(static: tuple[Any, ...], leaves: Iterable[Any]) -> Privacy:
    epsilon, delta, contributions = leaves
    fields = dict(zip(_STATIC, static))
    return unflattened({**fields, "delta": delta, "contributions": contributions}, epsilon)


# Not register_dataclass: that checks again whatever a transformation puts in the place of ε and δ.
jax.tree_util.register_pytree_with_keys(Privacy, _flatten_with_keys, _unflatten, _flatten)


def kept(privacy: Privacy, by: str, *kinds: Kind) -> Privacy:
    """What a mechanism that protects ``kinds`` attains where ``privacy`` is asked for.

    Args:
        privacy: what is asked for.
        by: name of the mechanism.
        kinds: units and adjacencies that it can protect, the weakest first.

    Returns:
        The promise itself if its kind is among them, else the same ε and δ for the first kind that covers it.

    Raises:
        TypeError: ``privacy`` is no :class:`Privacy`.
        ValueError: none of them covers it; the message says which promises can be kept.

    >>> kept(Privacy(1.0, unit="user", adjacency="flip"), "dp_borda", ("user", "replace")).adjacency
    'replace'
    """
    check_privacy(privacy)
    if privacy.kind in kinds:
        return privacy
    for unit, adjacency in kinds:
        if (unit, adjacency) in COVERS[privacy.kind]:
            contributions = privacy.contributions if unit == "user" else None
            return dataclasses.replace(
                privacy, unit=unit, adjacency=adjacency, contributions=contributions
            )
    raise ValueError(
        f"{by} can't promise unit {privacy.unit!r}, adjacency {privacy.adjacency!r}: it protects {in_words(kinds)}."
    )


def check_privacy(privacy: Any) -> None:
    """Raise ``TypeError`` unless ``privacy`` is a :class:`Privacy`."""
    if not isinstance(privacy, Privacy):
        raise TypeError(
            f"privacy must be a Privacy, got {privacy!r}: say what is protected, as in "
            "Privacy(1.0, unit='user', adjacency='replace')."
        )


def in_words(kinds: Iterable[Kind]) -> str:
    """Units and adjacencies in words.

    >>> in_words([("user", "replace"), ("user", "flip")])
    "unit 'user', adjacency 'replace'; unit 'user', adjacency 'flip'"
    """
    return "; ".join(f"unit {unit!r}, adjacency {adjacency!r}" for unit, adjacency in kinds)


def _number(value: Any) -> Any:
    """Exact numbers of the host as floats, for checks."""
    return float(value) if isinstance(value, (Decimal, Fraction)) else value


COMPARISON_KINDS: Sequence[Kind] = tuple(
    (unit, adjacency) for unit in COMPARISON_UNITS for adjacency in ADJACENCIES
)
"""What mechanisms on comparisons protect whose sensitivity is known for each adjacency."""

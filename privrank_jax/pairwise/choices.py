r"""Choices from sets and rankings of some items: the Plackett-Luce model, and which private route to it is sound.

A user who is offered the items S chooses i with probability e^{θ_i}/Σ_{j ∈ S} e^{θ_j}; for pairs this is the
Bradley-Terry-Luce model. A ranking is a series of choices: its first item among all of them, its second among the rest,
and so on. :func:`~privrank_jax.pairwise.mle` fits it.

**Sufficient statistic.** The likelihood sees choices through N alone, N_i how often i was chosen
(:mod:`privrank_jax.pairwise.designs`), next to the sets.

**Sensitivity.** A choice adds one unit vector e_i to N, as a comparison without ties adds e_i to the win totals, so the
sensitivities are those of win totals (:mod:`privrank_jax.pairwise.questionnaire`).

**What is public.** Noisy totals alone protect choices under any adjacency. The fit also needs the sets, which are
public under ``flip`` alone. Then it is post-processing of the totals, whatever its ridge, solver and rounding: it takes
the sets from ``Choices.design``, in an order that does not depend on the choices. Elsewhere noise goes into the
objective (:mod:`privrank_jax.pairwise.perturbed_answers`).

**Rankings have no such statistic.** The sets of the second and later choices of a ranking are what the first choices
left over: they depend on the answers, and the fit needs them. Noise on N alone would publish a function of private
sets, so it is refused. The sound route *breaks* rankings into pairs (:func:`break_rankings`): a ranking of k items is
k(k - 1)/2 comparisons of one user. The pairs follow the Bradley-Terry-Luce model with the same scores, so the fit to
all of them is consistent, if less efficient.

Source: Plackett (1975); Luce (1959); the private fit and its constants are ours.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._batches import of_each_problem
from privrank_jax._pytrees import pytree, static
from privrank_jax._validate import in_floats, is_real
from privrank_jax.comparisons import Comparisons, WinCounts, default_float
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.pairwise.designs import Sets
from privrank_jax.pairwise.fits import STAGES
from privrank_jax.pairwise.noisy_totals import doubled_totals, totals_change
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import COMPARISON_KINDS


@pytree
class Choices:
    """K choices of one item from a set of items.

    Attributes:
        sets, offered: ``(K, s)`` int32, the items offered, the chosen one among them; and bool, False for padding.
        chosen: ``(K,)`` int32, the item that was chosen.
        weights: ``(K,)`` float, how many choices each row stands for; 0 drops it.
        num_items: m, static.
        public_sets: whether the sets may be public: False for the stages of rankings; static.
    """

    sets: Int[Array, "*batch choices size"]
    offered: Bool[Array, "*batch choices size"]
    chosen: Int[Array, "*batch choices"]
    weights: Float[Array, "*batch choices"]
    num_items: int = static()
    public_sets: bool = static(default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", in_floats("weights", self.weights))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} among {self.num_items} items; sets and answers not shown>"

    @classmethod
    def from_top1(cls, choices: Sequence[tuple[int, Sequence[int]]], *, num_items: int) -> Choices:
        """Choices given as (chosen item, the other items that were offered).

        Raises:
            ValueError: no choices, nothing else offered, an item offered twice, anything that is no item's number.

        >>> Choices.from_top1([(0, [1, 2]), (2, [0])], num_items=3).totals.tolist()
        [1.0, 0.0, 1.0]
        """
        rows = []
        for number, choice in enumerate(_entries(choices, "choices")):
            where = f"choice {number}"
            pair = _entries(choice, where)
            if len(pair) != 2:
                raise ValueError(f"{where} must be (chosen item, other items offered), got {pair}.")
            others = _entries(pair[1], f"{where}: what else was offered")
            rows.append(_items((pair[0], *others), where, num_items))
        return cls._of(rows, num_items, True)

    @classmethod
    def from_rankings(cls, orders: Sequence[Sequence[int]], *, num_items: int) -> Choices:
        """The stages of rankings of some of the items, each given as an order, best first.

        Raises:
            ValueError: as :meth:`from_top1`: no rankings, fewer than two items in one, tied items.

        >>> Choices.from_rankings([[2, 0, 1]], num_items=3).chosen.tolist()
        [2, 0]
        """
        ranked = _ranked(orders, num_items)
        stages = [order[place:] for order in ranked for place in range(len(order) - 1)]
        return cls._of(stages, num_items, False)

    @classmethod
    def _of(cls, rows: Sequence[tuple[int, ...]], num_items: int, public: bool) -> Choices:
        if not rows:
            raise ValueError("there are no choices: give at least one.")
        size = max(map(len, rows))
        sets = np.array([row + row[:1] * (size - len(row)) for row in rows], np.int32)
        offered = np.array([[place < len(row) for place in range(size)] for row in rows])
        weights = jnp.asarray(np.ones(len(rows)), default_float())
        chosen = jnp.asarray(sets[:, 0])
        return cls(jnp.asarray(sets), jnp.asarray(offered), chosen, weights, num_items, public)

    @property
    @of_each_problem
    @functools.partial(jax.jit, inline=True)
    def totals(self) -> Float[Array, "items"]:
        """``(m,)``, how often each item was chosen, N_i."""
        return jnp.zeros(self.num_items, self.weights.dtype).at[self.chosen].add(self.weights)

    @property
    @functools.partial(jax.jit, inline=True)
    def design(self) -> Sets:
        """The sets and weights alone, each set in the order of its items: a fit to it can't tell who was chosen."""
        ranked = jnp.sort(jnp.where(self.offered, self.sets, self.num_items), axis=-1)
        offered = ranked < self.num_items
        sets = jnp.where(offered, ranked, ranked[..., :1])
        return Sets(sets, offered, self.weights, self.num_items, self.public_sets)

    @property
    @of_each_problem
    @functools.partial(jax.jit, inline=True)
    def wins(self) -> WinCounts:
        """Counts of items that were chosen where another one was offered: they decide whether a maximum exists."""
        beaten = self.weights[:, None] * (self.offered & (self.sets != self.chosen[:, None]))
        matrix = jnp.zeros((self.num_items, self.num_items), self.weights.dtype)
        return WinCounts(matrix.at[self.chosen[:, None], self.sets].add(beaten))


def _ranked(orders: Sequence[Sequence[int]], num_items: int) -> list[tuple[int, ...]]:
    """Checked rankings of two items or more."""
    rows = enumerate(_entries(orders, "rankings"))
    return [_items(order, f"ranking {number}", num_items) for number, order in rows]


def _entries(row: Any, where: str) -> tuple[Any, ...]:
    """The entries of a row, which must be a sequence or an array with an axis."""
    if isinstance(row, str | bytes | Mapping) or not np.iterable(row):
        raise ValueError(f"{where} must be a sequence, got {row!r}.")
    return tuple(row)


def _items(row: Any, where: str, num_items: int) -> tuple[int, ...]:
    """The items of a row: two different ones or more, one at each place."""
    entries = _entries(row, where)
    for place, entry in enumerate(entries):
        several = bool(np.iterable(entry))
        number = not several and is_real(entry) and type(entry) not in (bool, np.bool_)
        if not number or not 0 <= entry < num_items or entry != int(entry):  # NaN too
            raise ValueError(
                f"{where}: place {place} holds {entry!r}, and one of the items 0..{num_items - 1} must stand at each. "
                "The model knows no ties: leave such rows out, or break their ties at random."
            )
    items = tuple(map(int, entries))
    if len(items) < 2 or len(set(items)) < len(items):
        raise ValueError(
            f"{where} needs two different items or more, each once, got {items}; drop such rows."
        )
    return items


def break_rankings(orders: Sequence[Sequence[int]], *, num_items: int) -> Comparisons:
    """All pairs of each ranking as comparisons of its user, k(k - 1)/2 of k items: the route to private scores.

    Args:
        orders: rankings of some of the items, each an order, best first; user u is the u-th.
        num_items: m.

    Returns:
        A comparison for each pair of each ranking.

    Raises:
        ValueError: as :meth:`Choices.from_rankings`.

    >>> broken = break_rankings([[2, 0, 1], [1, 2]], num_items=3)
    >>> broken.users.tolist(), broken.winners.tolist(), broken.losers.tolist()
    ([0, 0, 0, 1], [2, 2, 0, 1], [0, 1, 1, 2])
    """
    ranked = _ranked(orders, num_items)
    if not ranked:
        raise ValueError("there are no rankings: give at least one.")
    rows = [
        (user, ahead, behind)
        for user, order in enumerate(ranked)
        for place, ahead in enumerate(order)
        for behind in order[place + 1 :]
    ]
    users, winners, losers = (jnp.asarray(column, jnp.int32) for column in zip(*rows))
    none, every = jnp.zeros(len(rows), bool), jnp.ones(len(rows), bool)
    return Comparisons(users, winners, losers, none, every, num_items)


def check_no_stages(choices: Choices) -> None:
    """Raise ``ValueError`` for stages of rankings, whose sets depend on answers."""
    if not choices.public_sets:
        raise ValueError(STAGES)


def _floats(choices: Choices) -> tuple[Choices, Facts]:
    check_no_stages(choices)
    return choices, Facts(choices.num_items)


def whole_weights(choices: Choices) -> np.ndarray:
    """The weights, if they are whole."""
    weights = np.asarray(choices.weights, np.float64)
    if not np.all((weights >= 0) & (weights == np.round(weights))):
        raise ValueError("exact noise needs weights that are whole numbers of choices, at least 0.")
    return weights


def _whole(choices: Choices) -> tuple[Any, Facts]:
    check_no_stages(choices)
    weights = whole_weights(choices)
    totals = np.bincount(np.asarray(choices.chosen), weights, choices.num_items)
    return doubled_totals(totals), Facts(choices.num_items)


CHOICES = Data(
    Choices, "make them by Choices.from_top1 or Choices.", floats=_floats, whole=_whole, times=2
)
"""Choices as mechanisms read them."""

noisy_choices = Additive(
    "noisy_choices",
    """How often each item was chosen, with noise, of :class:`~privrank_jax.pairwise.Choices` from public sets.

    Stages of rankings are refused: their sets depend on answers. :func:`~privrank_jax.pairwise.fit` fits a model to the
    value: post-processing where the sets are public, that is under ``flip``.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one choice or a user, under any
    adjacency; proof at the head of :mod:`privrank_jax.pairwise.choices`. Users need ``contributions``.

    ``value``: noisy totals, ``(m,)``, in choices, high = preferred.

    >>> from privrank_jax.privacy import Privacy
    >>> choices = Choices.from_top1([(0, [1, 2])] * 6 + [(1, [0, 2]), (2, [0])], num_items=3)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip")
    >>> noisy_choices(jax.random.key(0), choices, free).value.tolist()
    [6.0, 1.0, 1.0]
    """,
    data=CHOICES,
    kinds=COMPARISON_KINDS,
    statistic=lambda choices, facts: choices.totals if isinstance(choices, Choices) else choices,
    change=totals_change,
    noises=NOISES,
)

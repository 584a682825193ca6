"""Naive twins of data: all that one unit can hold, what is released of it, and how contents become data.

Nothing here comes from the mechanisms that are judged by it: contents are enumerated, numbers worked out item by item,
bodies given by facets that are found by all cuts (:mod:`privrank_jax.privacy_audit.laws`). A content is an array, and
the data of several units are the sum of theirs, so that numbers, which are linear, follow for both. A content that
counts users has a 1 for each of them.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from privrank_jax.aggregation import PairWeights, PointTotals, PositionHistograms
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.neighbors import Instances, near, over_bases

Numbers = Callable[[np.ndarray], np.ndarray]
"""Maps stacked data ``(D, ...)`` to numbers ``(D, d)``."""
Scales = Callable[[Any, str], Any]
"""(what a release says of its noise, kind of noise) -> the scale, of all numbers or of each."""


def _reported(facts: Any, noise: str) -> Any:
    return facts["noise_scale"]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Units:
    """What one unit of one type of data can hold, and the numbers with noise that are released of all.

    Attributes:
        contents: ``(K, ...)``, all that one unit can hold.
        made: sum of contents, which JAX may trace -> the data.
        numbers: stacked sums of contents -> the numbers, linear.
        group: content -> what neighbors under ``flip`` share.
        read: value of a release -> its noisy numbers.
        facets: of the body that K-norm noise has.
        center: what each user's numbers count less where the number of users is private.
        count: stacked sums of contents -> the number of users, if it matters.
        mean: whether the numbers are divided by the number of users where that is public.
        scales: of the noise on each number; they depend on the data by nothing but facts.
        nominal: facts at which scales have their usual ratios.
        other: what another unit holds beside two neighbors; by default the last of the contents.
    """

    contents: Shaped[np.ndarray, "contents *data"]
    made: Callable[[Any], Any]
    numbers: Numbers
    group: Callable[[np.ndarray], Any] = lambda content: 0
    read: Callable[[Any], Any] = lambda value: value
    facets: Float[np.ndarray, "facets d"] | None = None
    center: float = 0.0
    count: Numbers | None = None
    mean: bool = False
    scales: Scales = _reported
    nominal: dict[str, float] = dataclasses.field(default_factory=lambda: {"noise_scale": 1.0})
    other: np.ndarray | None = None

    def _of(self, adjacency: str) -> tuple[np.ndarray, np.ndarray]:
        """Contents, with nothing in front where a unit may be missing, and pairs of neighbors among them."""
        if adjacency != "add-remove":
            return self.contents, near([*map(self.group, self.contents)], adjacency)
        data = np.concatenate([np.zeros_like(self.contents[:1]), self.contents])
        return data, near(range(len(data)), adjacency)

    def instances(self, adjacency: str, *bases: np.ndarray) -> Instances:
        """Each base with each content of one unit, and which of these are neighbors.

        Args:
            adjacency: of the promise.
            bases: what the other units hold; none, if left out.
        """
        contents, pairs = self._of(adjacency)
        return over_bases(contents, pairs, bases or (0 * contents[0],))

    def protecting(self, promise: Privacy, *bases: np.ndarray) -> dict[str, Any]:
        """The promise, and the instances, as fields of a row.

        Args:
            promise: of the row.
            bases: as of :meth:`instances`.
        """
        return {
            "promise": promise,
            "instances": functools.partial(self.instances, promise.adjacency, *bases),
        }

    def moved(self, adjacency: str, center: float = 0.0) -> np.ndarray:
        """What neighbors differ by in their numbers, per user and as if none were divided, ``(P, d)``.

        Args:
            adjacency: of the promise.
            center: that of each user.
        """
        contents, pairs = self._of(adjacency)
        numbers = self.numbers(contents) - center * self._users(contents)
        return numbers[pairs[:, 0]] - numbers[pairs[:, 1]]

    def norm(self, noise: str, moves: np.ndarray) -> np.ndarray:
        """Of changes, in the norm of the noise.

        Args:
            noise: its kind.
            moves: ``(..., d)``.
        """
        if noise == "k-norm":
            assert self.facets is not None
            return laws.body_norm(self.facets, moves)
        scaled = moves / self.scales(self.nominal, noise)
        return np.linalg.norm(scaled, 1 if noise == "laplace" else 2, axis=-1)

    def center_of(self, adjacency: str, noise: str) -> float:
        """What is subtracted: the center, unless less moves without it.

        Args:
            adjacency: of the promise.
            noise: its kind.
        """
        if adjacency != "add-remove" or not self.center:
            return 0.0
        plain, less = (self.norm(noise, self.moved(adjacency, c)).max() for c in (0.0, self.center))
        return self.center if less <= plain else 0.0

    def released(self, adjacency: str, noise: str) -> Numbers:
        """Stacked sums of contents -> the numbers that noise is added to.

        Args:
            adjacency: of the promise.
            noise: its kind.
        """
        center, mean = self.center_of(adjacency, noise), self.mean and adjacency != "add-remove"

        def found(data: np.ndarray) -> np.ndarray:
            numbers = self.numbers(data) - center * self._users(data)
            return numbers / self._users(data) if mean else numbers

        return found

    def _users(self, data: np.ndarray) -> Any:
        return 1.0 if self.count is None else np.asarray(self.count(data), float)[:, None]

    def hardest(self, adjacency: str, noise: str) -> tuple[np.ndarray, np.ndarray]:
        """Two neighbors, of two units, which the noise tells apart most easily of all.

        Of several, K-norm noise shows a change that lies on many facets best, other noise one of few numbers.

        Args:
            adjacency: of the promise.
            noise: its kind.
        """
        contents, pairs = self._of(adjacency)
        moves = self.moved(adjacency, self.center_of(adjacency, noise))
        size, spread = self.norm(noise, moves), np.count_nonzero(np.round(moves, 9), axis=1)
        order = (spread if noise == "k-norm" else -spread, np.round(size, 9))
        first, second = contents[pairs[np.lexsort(order)[-1]]]
        other = self.contents[-1] if self.other is None else self.other
        return first + other, second + other


# --- comparisons -----------------------------------------------------------------------------------


def win_matrix(num_items: int, *rows: tuple[int, int, float]) -> np.ndarray:
    """``(m, m)`` win counts from (winner, loser, times)."""
    matrix = np.zeros((num_items, num_items))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return matrix


def with_ties_of(num_items: int, *rows: tuple[int, int, float], ties: int = 0) -> np.ndarray:
    """``(2, m, m)`` wins and the half wins of ties alone, with ``ties`` between items 0 and 1."""
    half = win_matrix(num_items, (0, 1, 0.5 * ties), (1, 0, 0.5 * ties))
    return np.stack([win_matrix(num_items, *rows) + half, half])


def outcomes(num_items: int, pair: tuple[int, int]) -> list[np.ndarray]:
    """The three outcomes of one comparison, ``(2, m, m)``."""
    i, j = pair
    won, lost = with_ties_of(num_items, (i, j, 1)), with_ties_of(num_items, (j, i, 1))
    half = win_matrix(num_items, (i, j, 0.5), (j, i, 0.5))
    return [lost, np.stack([half, half]), won]


def answers(
    num_items: int, limit: int, asked: Sequence[tuple[int, int]] | None = None
) -> np.ndarray:
    """All that a user of at most ``limit`` comparisons can say, or of each question that is asked one answer or none.

    Returns:
        ``(K, 2, m, m)``: wins with half wins for ties, and the half wins alone; nothing said comes first.
    """
    nothing = np.zeros((2, num_items, num_items))
    pairs = itertools.combinations(range(num_items), 2)
    kinds = [one for pair in pairs for one in outcomes(num_items, pair)]
    said: Any
    if asked is None:
        said = itertools.chain.from_iterable(
            itertools.combinations_with_replacement(kinds, size) for size in range(limit + 1)
        )
    else:
        said = itertools.product(*([nothing, *outcomes(num_items, pair)] for pair in asked))
    found = {one.tobytes(): one for one in (sum(each, nothing) for each in said)}
    return np.array(list(found.values()))


def _met(matrix: np.ndarray) -> bytes:
    """Who meets whom, and how often."""
    return (matrix + matrix.T).tobytes()


def comparisons(
    num_items: int,
    limit: int = 1,
    *,
    asked: Sequence[tuple[int, int]] | None = None,
    facets: np.ndarray | None = None,
) -> Units:
    """Users of at most so many comparisons, of which win totals are released; ``asked``: the questions to each."""
    return Units(
        contents=np.unique(answers(num_items, limit, asked)[:, 0], axis=0),
        made=WinCounts,
        numbers=lambda data: data.sum(-1),
        group=_met,
        facets=facets,
    )


def _less_on_ties(others: int) -> Scales:
    """Gaussian noise on the number of ties, which comes after others, is 9/11 of that on each of these."""

    def scales(facts: Any, noise: str) -> Any:
        return facts["noise_scale"] * np.array(
            [1.0] * others + [9 / 11 if noise == "gaussian" else 1.0]
        )

    return scales


def with_ties(
    num_items: int, limit: int = 1, *, asked: Sequence[tuple[int, int]] | None = None
) -> Units:
    """The same, of which the number of ties is released too."""
    return Units(
        contents=answers(num_items, limit, asked),
        made=lambda data: WinCounts(data[0], None, data[1].sum()),
        numbers=lambda data: np.column_stack([data[:, 0].sum(-1), data[:, 1].sum((-2, -1))]),
        group=lambda content: _met(content[0]),
        scales=_less_on_ties(num_items),
    )


def protecting(promise: Privacy, *bases: np.ndarray) -> dict[str, Any]:
    """The promise; each base with all that one unit can say, and the neighbors: fields of a row.

    Args:
        promise: of the row.
        bases: win counts of the other units, ``(m, m)``, or ``(2, m, m)`` with the half wins of ties apart.
    """
    units = comparisons if bases[0].ndim == 2 else with_ties
    made = units(bases[0].shape[-1], promise.comparisons_per_unit)
    return made.protecting(promise, *bases)


def questionnaire_facets(
    num_items: int, asked: Sequence[tuple[int, int]], adjacency: str
) -> np.ndarray:
    """Facets of what a user's answers can change in the totals.

    Under replacement it is half of a zonotope with an item "no answer", whose coordinate is minus the sum of the
    others, and which stands last: no facet has an entry for it.
    """
    counts = win_matrix(num_items, *((i, j, 1) for i, j in asked))
    counts += counts.T
    if adjacency == "flip":
        return laws.zonotope_facets(counts)
    none = counts.sum(axis=1, keepdims=True)
    with_none = np.block([[counts, none], [none.T, np.zeros((1, 1))]])
    return laws.zonotope_facets(with_none / 2)[:, :-1]


# --- choices ---------------------------------------------------------------------------------------

_SETS = ((0, 1, 2), (0, 1))
_CHOICES = [(place, offered) for offered in _SETS for place in range(len(offered))]


def _choices(weights: Any) -> Choices:
    """So many choices of each kind."""
    sets = [offered + offered[:1] * (3 - len(offered)) for _, offered in _CHOICES]
    known = [[place < len(offered) for place in range(3)] for _, offered in _CHOICES]
    chosen = [offered[place] for place, offered in _CHOICES]
    return Choices(jnp.array(sets), jnp.array(known), jnp.array(chosen), weights, 3)


def choices(limit: int = 1) -> Units:
    """Users of at most so many choices from two sets, of three items; data are how often each choice is made."""
    each = np.eye(len(_CHOICES))
    many = [
        sum(some, 0 * each[0])
        for size in range(limit + 1)
        for some in itertools.combinations_with_replacement(each, size)
    ]
    of_set = np.array([[offered == other for other in _SETS] for _, offered in _CHOICES], float)
    chosen = np.eye(3)[[offered[place] for place, offered in _CHOICES]]
    return Units(
        contents=np.array(many),
        made=_choices,
        numbers=lambda data: data @ chosen,
        group=lambda content: (content @ of_set).tobytes(),
    )


# --- covariates ------------------------------------------------------------------------------------


def covariates(
    rows: Sequence[tuple[int, int, Sequence[float]]], users: Sequence[int], *, ties: bool = False
) -> Units:
    """Comparisons with public features, each of one user, of whom sums are released, and the number of ties.

    Data are ``(rows, 3)``, a 1 for the outcome of each row; a unit is one user.

    Args:
        rows: (first item, second item, features of the first).
        users: whose row it is.
        ties: whether their number is released too.
    """
    items = 1 + max(max(i, j) for i, j, _ in rows)
    matrix = np.array([[*(np.eye(items)[i] - np.eye(items)[j]), *x] for i, j, x in rows])
    each = np.eye(3)
    contents = []
    for user in sorted(set(users)):
        own = np.flatnonzero(np.array(users) == user)
        for said in itertools.product(range(3), repeat=len(own)):
            content = np.zeros((len(rows), 3))
            content[own] = each[list(said)]
            contents.append(content)

    def made(data: Any) -> CovariateTable:
        dtype = jnp.result_type(data)
        one, other, features = zip(*rows)
        parts: tuple[Any, ...] = (
            *(np.array(one, np.int32), np.array(other, np.int32), np.array(features, dtype)),
            *(np.array(users, np.int32), np.ones(len(features[0]), dtype)),
        )
        design = CovariateDesign(*parts, num_items=items)
        return CovariateTable(design, data[:, 2] + 0.5 * data[:, 1])

    def numbers(data: np.ndarray) -> np.ndarray:
        sums = (data[..., 2] + 0.5 * data[..., 1]) @ matrix
        return np.column_stack([sums, data[..., 1].sum(-1)]) if ties else sums

    return Units(
        contents=np.array(contents),
        made=made,
        numbers=numbers,
        group=lambda content: content.sum(1).tobytes(),
        scales=_less_on_ties(matrix.shape[1]) if ties else _reported,
        other=np.zeros((len(rows), 3)),
    )


# --- rankings --------------------------------------------------------------------------------------


def weak_orders(num_items: int, gaps: bool = False) -> np.ndarray:
    """All rankings with ties, ``(K, m)`` ranks, and -1 for items that are not ranked if wanted: 13 for 3 items."""
    ranks = itertools.product(range(-1 if gaps else 0, num_items), repeat=num_items)
    return np.array([r for r in ranks if set(r) - {-1} == set(range(len(set(r) - {-1})))])


def pair_shares(ranks: Sequence[int], missing: str = "last") -> np.ndarray:
    """What one user gives to "i before j", by the rule for items that are not ranked, and 1 on the diagonal."""
    shares = np.eye(len(ranks))
    for i, j in itertools.permutations(range(len(ranks)), 2):
        known = ranks[i] >= 0, ranks[j] >= 0
        if all(known):
            shares[i, j] = float(ranks[i] < ranks[j]) + 0.5 * (ranks[i] == ranks[j])
        elif missing == "unknown" or not any(known):
            shares[i, j] = 0.5
        else:
            shares[i, j] = float(known[0])
    return shares


def halves(ranks: Sequence[int], missing: str = "last") -> list[list[float]]:
    """Positions of a user's two halves: items that are not ranked are tied in last place, or half of them in first."""
    found = []
    for unknown in (10**6, -1 if missing == "unknown" else 10**6):
        full = [rank if rank >= 0 else unknown for rank in ranks]
        found.append([sum(b < a for b in full) + (full.count(a) - 1) / 2 for a in full])
    return found


def position_counts(ranks: Sequence[int], missing: str = "last") -> np.ndarray:
    """Four times the share of a user who has item j at position q: halves of two halves."""
    counts = np.zeros((len(ranks), len(ranks)), int)
    for half in halves(ranks, missing):
        for item, position in enumerate(half):
            counts[item, int(np.floor(position))] += 1
            counts[item, int(np.ceil(position))] += 1
    return counts


def _of_rankings(content: Callable[..., np.ndarray], num_items: int) -> np.ndarray:
    """All contents of a user who ranks some of the items, under both rules."""
    rankings = weak_orders(num_items, gaps=True).tolist()
    each = [content(one, rule) for one in rankings for rule in ("last", "unknown")]
    return np.array(list({one.tobytes(): one for one in each}.values()))


def pair_weights(data: Any) -> PairWeights:
    """Of counts whose diagonal holds the number of users."""
    counts = np if isinstance(data, np.ndarray) else jnp
    off = counts.where(counts.eye(data.shape[-1], dtype=bool), 0, data)
    return PairWeights(off / data[0, 0], data[0, 0])


def scores_of_rankings(num_items: int = 3) -> Units:
    """Users of one ranking each, whose Borda scores are released."""
    return Units(
        contents=_of_rankings(pair_shares, num_items),
        made=pair_weights,
        numbers=lambda data: data.sum(-1) - data[:, :1, 0],
        facets=laws.zonotope_facets(1 - np.eye(num_items)),
        center=(num_items - 1) / 2,
        count=lambda data: data[:, 0, 0],
        mean=True,
    )


def weights_of_rankings(num_items: int = 3) -> Units:
    """Users of one ranking each, of whom the weights above the diagonal are released."""
    above = np.triu_indices(num_items, 1)
    return dataclasses.replace(
        scores_of_rankings(num_items),
        numbers=lambda data: data[:, *above],
        read=lambda value: value[..., *above],
        facets=np.eye(len(above[0])),
        center=0.5,
    )


def positions_of_rankings(num_items: int = 3) -> Units:
    """Users of one ranking each, whose counts of positions up to each place are released, as costs."""
    cuts = num_items * (num_items - 1)

    def made(data: Any) -> PositionHistograms:
        return PositionHistograms(data, data[0].sum() // 4)

    def read(value: Any) -> Any:
        steps = value[..., 1:] - value[..., :-1]
        return (1 + steps).reshape(*value.shape[:-2], cuts) / 2

    return Units(
        contents=_of_rankings(position_counts, num_items),
        made=made,
        numbers=lambda data: np.cumsum(data, axis=-1)[..., :-1].reshape(len(data), cuts) / 4,
        read=read,
        facets=np.eye(cuts),
        count=lambda data: data[:, 0].sum(-1) / 4,
        mean=True,
    )


def ballots(most: int = 1, limit: int | None = None, num_items: int = 3) -> Units:
    """Users who give up to ``most`` points to each of at most ``limit`` items; data end with the number of users."""
    every = itertools.product(range(most + 1), repeat=num_items)
    fit = [one for one in every if limit is None or sum(map(bool, one)) <= limit]

    def made(data: Any) -> PointTotals:
        return PointTotals(data[:-1], data[-1], most, limit)

    return Units(
        contents=np.array([[*one, 1.0] for one in fit]),
        made=made,
        numbers=lambda data: data[:, :-1],
        facets=np.eye(num_items),
        center=most / 2,
        count=lambda data: data[:, -1],
    )

"""Naive twins of data: all that one unit can hold, what is released of it, and how contents become data.

Nothing here comes from the mechanisms that are judged by it: contents are enumerated, numbers worked out item by item,
bodies given by facets that are found by all cuts (:mod:`privrank_jax.privacy_audit.laws`). A content is an array, and
the data of several units are the sum of theirs, so that numbers, which are linear, follow for both.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Shaped

from privrank_jax._backend import product
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
Pairs = Sequence[tuple[int, int]]


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Units:
    """All contents of one unit of one type of data, and the numbers with noise that are released of all units.

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
    scales: Scales = lambda facts, noise: facts["noise_scale"]
    nominal: dict[str, float] = dataclasses.field(default_factory=lambda: {"noise_scale": 1.0})

    def _of(self, adjacency: str) -> tuple[np.ndarray, np.ndarray]:
        """Contents, with nothing in front where a unit may be missing, and pairs of neighbors among them."""
        if adjacency != "add-remove":
            return self.contents, near([*map(self.group, self.contents)], adjacency)
        data = np.concatenate([np.zeros_like(self.contents[:1]), self.contents])
        return data, near(range(len(data)), adjacency)

    def instances(self, adjacency: str, *bases: np.ndarray) -> Instances:
        """Each base, what other units hold, with each content of one unit, and which of these are neighbors."""
        contents, pairs = self._of(adjacency)
        return over_bases(contents, pairs, bases or (0 * contents[0],))

    def protecting(self, promise: Privacy, *bases: np.ndarray) -> dict[str, Any]:
        """The promise and the instances beside these bases, as fields of a row."""
        instances = functools.partial(self.instances, promise.adjacency, *bases)
        return {"promise": promise, "instances": instances}

    def moved(self, adjacency: str, center: float = 0.0) -> np.ndarray:
        """Differences of neighbors in their numbers less each user's center, as if none were divided, ``(P, d)``."""
        contents, pairs = self._of(adjacency)
        numbers = self.numbers(contents) - center * self._users(contents)
        return numbers[pairs[:, 0]] - numbers[pairs[:, 1]]

    def norm(self, noise: str, moves: np.ndarray) -> np.ndarray:
        """Of changes ``(..., d)``, in the norm of the noise."""
        if noise == "k-norm":
            assert self.facets is not None
            return laws.body_norm(self.facets, moves)
        scaled = moves / self.scales(self.nominal, noise)
        return np.linalg.norm(scaled, 1 if noise == "laplace" else 2, axis=-1)

    def center_of(self, adjacency: str, noise: str) -> float:
        """What is subtracted for each user: the center, unless less moves without it."""
        if adjacency != "add-remove" or not self.center:
            return 0.0
        plain, less = (self.norm(noise, self.moved(adjacency, c)).max() for c in (0.0, self.center))
        return self.center if less <= plain else 0.0

    def released(self, adjacency: str, noise: str) -> Numbers:
        """Stacked sums of contents -> the numbers that noise is added to."""
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
        """
        contents, pairs = self._of(adjacency)
        moves = self.moved(adjacency, self.center_of(adjacency, noise))
        size, spread = self.norm(noise, moves), np.count_nonzero(np.round(moves, 9), axis=1)
        order = (spread if noise == "k-norm" else -spread, np.round(size, 9))
        first, second = contents[pairs[np.lexsort(order)[-1]]]
        other = 0 if self.count is None else 20 * self.contents[0]  # noisy means are rarely clipped
        return first + other, second + other


def sums(answers: Iterable[Iterable[np.ndarray]]) -> np.ndarray:
    """All sums of one array of each list, each once; nothing, if it can be said, comes first."""
    every = (np.sum(each, axis=0) for each in itertools.product(*answers))
    return np.array([*{one.tobytes(): one for one in every}.values()])


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


def answers(num_items: int, limit: int, asked: Pairs | None = None) -> np.ndarray:
    """Every answer of a user in at most ``limit`` comparisons, or of each question that is asked; nothing comes first.

    ``(K, 2, m, m)``: wins with half wins for ties, and the half wins alone.
    """

    def of(i: int, j: int) -> list[np.ndarray]:
        half = win_matrix(num_items, (i, j, 0.5), (j, i, 0.5))
        won, lost = (with_ties_of(num_items, (*pair, 1)) for pair in ((i, j), (j, i)))
        return [lost, np.stack([half, half]), won]

    nothing = np.zeros((2, num_items, num_items))
    if asked is not None:
        return sums([nothing, *of(*pair)] for pair in asked)
    kinds = [one for pair in itertools.combinations(range(num_items), 2) for one in of(*pair)]
    return sums([[nothing, *kinds]] * limit)


def _met(matrix: np.ndarray) -> bytes:
    """Who meets whom, and how often."""
    return (matrix + matrix.swapaxes(-1, -2)).tobytes()


def comparisons(
    num_items: int,
    limit: int = 1,
    *,
    asked: Pairs | None = None,
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
        last = 9 / 11 if noise == "gaussian" else 1.0
        return facts["noise_scale"] * np.array([1.0] * others + [last])

    return scales


def with_ties(num_items: int, limit: int = 1, *, asked: Pairs | None = None) -> Units:
    """The same, of which the number of ties is released too."""
    return Units(
        contents=answers(num_items, limit, asked),
        made=lambda data: WinCounts(data[0], None, data[1].sum()),
        numbers=lambda data: np.column_stack([data[:, 0].sum(-1), data[:, 1].sum((-2, -1))]),
        group=lambda content: _met(content[0]),
        scales=_less_on_ties(num_items),
    )


def protecting(promise: Privacy, *bases: np.ndarray) -> dict[str, Any]:
    """The promise; each base, ``(m, m)`` or ``(2, m, m)``, with all that one unit can say: fields of a row."""
    units = comparisons if bases[0].ndim == 2 else with_ties
    made = units(bases[0].shape[-1], promise.comparisons_per_unit)
    return made.protecting(promise, *bases)


def questionnaire_facets(num_items: int, asked: Pairs, adjacency: str) -> np.ndarray:
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


def streams(
    limit: int, num_items: int, steps: int, *, of_scores: bool, encode: np.ndarray
) -> Units:
    """Users of at most so many comparisons in a few steps, of whose numbers ``encode`` times those of steps get noise.

    The numbers are wins of items, or with ``of_scores`` wins, losses and pair counts.
    """
    above = np.triu_indices(num_items, 1)

    def numbers(data: np.ndarray) -> np.ndarray:
        each = data.sum(-1)
        if of_scores:
            met = (data + data.swapaxes(-1, -2))[..., *above]
            each = np.concatenate([each, data.sum(-2), met], axis=-1)
        return np.einsum("st,dti->dsi", encode, each).reshape(len(data), -1)

    def read(value: Any) -> Any:
        each = jnp.diff(value, axis=0, prepend=jnp.zeros_like(value[:1]))
        return product(encode, each).ravel()

    def scales(facts: Any, noise: str) -> Any:
        if not of_scores:
            return facts["noise_scale"]
        of_items, of_pairs = [facts["noise_scale"]] * 2 * num_items, [facts["pair_scale"]]
        return np.tile(of_items + of_pairs * len(above[0]), len(encode))

    each = answers(num_items, 1)[:, 0]
    at = np.eye(steps)[:, None, :, None, None] * each[:, None]  # a step, and what is said there
    return Units(
        contents=np.unique(sums([at.reshape(-1, *at.shape[2:])] * limit), axis=0),
        made=WinCounts if of_scores else lambda data: jnp.sum(data, axis=-1),
        numbers=numbers,
        group=_met,
        read=read,
        scales=scales,
        nominal={"noise_scale": (8 / 3) ** 0.5, "pair_scale": 2.0},  # of 3/4 and 1/4 of ε
    )


# --- choices ---------------------------------------------------------------------------------------

_SETS = ((0, 1, 2), (0, 1))
_CHOICES = [(item, offered) for offered in _SETS for item in offered]


def _choices(weights: Any) -> Choices:
    """So many choices of each kind."""
    sets = jnp.array([(*offered, 0)[:3] for _, offered in _CHOICES])
    known = jnp.array([[place < len(offered) for place in range(3)] for _, offered in _CHOICES])
    return Choices(sets, known, jnp.array([item for item, _ in _CHOICES]), weights, 3)


def choices(limit: int = 1) -> Units:
    """Users of at most so many choices from two sets, of three items; data are how often each choice is made."""
    of_set = np.array([[offered == other for other in _SETS] for _, offered in _CHOICES], float)
    return Units(
        contents=sums([[np.zeros(len(_CHOICES)), *np.eye(len(_CHOICES))]] * limit),
        made=_choices,
        numbers=lambda data: data @ np.eye(3)[[item for item, _ in _CHOICES]],
        group=lambda content: (content @ of_set).tobytes(),
    )


def best_and_worst(limit: int = 2) -> Units:
    """Users who say so often which item of one of these sets is best and which is worst: ``(sets, best, worst)``."""
    told = np.zeros((8, 2, 3, 3))
    kinds = [(k, *two) for k, shown in enumerate(_SETS) for two in itertools.permutations(shown, 2)]
    for one, kind in zip(told, kinds):
        one[kind] = 1
    return Units(
        contents=sums([[0 * told[0], *told]] * limit),
        made=lambda data: WinCounts(data.sum(0)),
        numbers=lambda data: data.sum((1, 3)) - data.sum((1, 2)),
        group=lambda content: content.sum((1, 2)).tobytes(),
    )


# --- covariates ------------------------------------------------------------------------------------


def covariates(
    rows: Sequence[tuple[int, int, Sequence[float]]], users: Sequence[int], *, ties: bool = False
) -> Units:
    """Comparisons with public features, of whose users sums are released, and with ``ties`` their number.

    Rows are (first item, second item, features of the first); data are ``(rows, 3)``, a 1 for the outcome of each.
    """
    items = 1 + max(max(i, j) for i, j, _ in rows)
    matrix = np.array([[*(np.eye(items)[i] - np.eye(items)[j]), *x] for i, j, x in rows])
    outcome = np.eye(len(rows))[:, None, :, None] * np.eye(3)[:, None]  # of a row: one of three
    owned = [[row for row, of in enumerate(users) if of == user] for user in sorted(set(users))]

    def made(data: Any) -> CovariateTable:
        one, other, features = map(np.array, zip(*rows))
        scales = np.ones(features.shape[1], data.dtype)
        parts: Any = one, other, features.astype(data.dtype), np.array(users), scales
        design = CovariateDesign(*parts, num_items=items)
        return CovariateTable(design, data[:, 2] + 0.5 * data[:, 1])

    def numbers(data: np.ndarray) -> np.ndarray:
        totals = (data[..., 2] + 0.5 * data[..., 1]) @ matrix
        return np.column_stack([totals, data[..., 1].sum(-1)]) if ties else totals

    return Units(
        contents=np.concatenate([sums(outcome[own]) for own in owned]),
        made=made,
        numbers=numbers,
        group=lambda content: content.sum(1).tobytes(),
        scales=_less_on_ties(matrix.shape[1]) if ties else Units.scales,
    )


# --- rankings --------------------------------------------------------------------------------------


def weak_orders(num_items: int, gaps: bool = False) -> np.ndarray:
    """All rankings with ties, ``(K, m)`` ranks, and -1 for items that are not ranked if wanted: 13 for 3 items."""
    ranks = itertools.product(range(-1 if gaps else 0, num_items), repeat=num_items)
    return np.array([r for r in ranks if {*r} | {-1} == {*range(-1, max(r) + 1)}])


def _halves(ranks: Sequence[int], missing: str) -> list[np.ndarray]:
    """Two halves of a user: items that are not ranked are tied in last place, or in one half in first."""
    places = 10**6, -1 if missing == "unknown" else 10**6
    return [np.where(np.array(ranks) >= 0, ranks, place) for place in places]


def pair_shares(ranks: Sequence[int], missing: str = "last") -> np.ndarray:
    """The share of one user in "i before j", by the rule for items that are not ranked, and 1 on the diagonal."""
    before = [(np.sign(half - half[:, None]) + 1) / 4 for half in _halves(ranks, missing)]
    return sum(before, np.eye(len(ranks)) / 2)


def position_counts(ranks: Sequence[int], missing: str = "last") -> np.ndarray:
    """Four times the share of a user who has item j at position q: halves of two halves."""
    counts = np.zeros((len(ranks), len(ranks)), int)
    for half in _halves(ranks, missing):
        for item, own in enumerate(half):
            position = np.sum(half < own) + (np.sum(half == own) - 1) / 2
            counts[item, int(np.floor(position))] += 1
            counts[item, int(np.ceil(position))] += 1
    return counts


def _of_rankings(content: Callable[..., np.ndarray], num_items: int) -> np.ndarray:
    """All contents of a user who ranks some of the items, under both rules."""
    rankings = weak_orders(num_items, gaps=True).tolist()
    return sums([[content(one, rule) for one in rankings for rule in ("last", "unknown")]])


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

    def read(value: Any) -> Any:
        steps = value[..., 1:] - value[..., :-1]
        return (1 + steps).reshape(*value.shape[:-2], cuts) / 2

    return Units(
        contents=_of_rankings(position_counts, num_items),
        made=lambda data: PositionHistograms(data, data[0].sum() // 4),
        numbers=lambda data: np.cumsum(data, axis=-1)[..., :-1].reshape(len(data), cuts) / 4,
        read=read,
        facets=np.eye(cuts),
        count=lambda data: data[:, 0].sum(-1) / 4,
        mean=True,
    )


def first_places() -> Units:
    """Users of one ranking of three items each, whose first places are released."""
    of_positions = positions_of_rankings()
    return Units(
        contents=of_positions.contents,
        made=of_positions.made,
        numbers=lambda data: data[:, :, 0] / 4,
        count=of_positions.count,
    )


def ballots(most: int = 1, limit: int | None = None, num_items: int = 3) -> Units:
    """Users who give up to ``most`` points to each of at most ``limit`` items; data end with the number of users."""
    every = itertools.product(range(most + 1), repeat=num_items)
    fit = [one for one in every if limit is None or sum(map(bool, one)) <= limit]
    return Units(
        contents=np.array([[*one, 1.0] for one in fit]),
        made=lambda data: PointTotals(data[:-1], data[-1], most, limit),
        numbers=lambda data: data[:, :-1],
        facets=np.eye(num_items),
        center=most / 2,
        count=lambda data: data[:, -1],
    )

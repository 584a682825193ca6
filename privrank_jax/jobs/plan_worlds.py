r"""Crowds, mechanisms and errors of plans: what happens once, from a key, a number of users n and ε, to errors.

Nothing is derived a second time: a world draws a crowd and calls the function that simulates the release. n and ε are
traced, and standard normal numbers of the crowd and keys of the noise are the same at all n and ε, so that errors at
different ones differ little by chance.

**Comparisons.** Items have scores evenly from S to -S. n users are counted, not drawn one by one: how often a pair is
compared and who wins are quantiles of binomial laws, exact up to a mean of 8 and by Cornish and Fisher's expansion
beyond; the total number of comparisons thus varies a little. An item of rank r by exposure is shown in proportion to
1/r^power, in an order that has nothing to do with the scores; where opponents are near, in proportion to
exp(-(θ_i - θ_j)²/2s²), s = 1/2, too. A share of ties between equal items makes Davidson's model.

**Rankings** are those of the Plackett-Luce model with these scores. Means over n users are those of a fixed pool of
rankings plus 1/√n times a weighted sum with normal weights: the normal limit of n draws from the pool. Reports of users
who randomize rankings are drawn for a part of the pool, and their deviation is scaled to n users; reports of pairs to a
shuffler are counted.

**Points.** An item gets a point, of those that there are, with probability 1/(1 + e^-θ).

**Errors**: of scores against true ones, of mean points and of the cost in pairs per user against the same users without
noise, all others against the true order.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax import aggregation, pairwise
from privrank_jax._backend import product
from privrank_jax._promise import Privacy
from privrank_jax._types import Key, PairMatrix, Ranks, Scores
from privrank_jax._workarounds.xla import compiled
from privrank_jax.aggregation.auto import choose_report
from privrank_jax.aggregation.bounds import SPLIT
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.scores import PointTotals, dp_scores, least_noise
from privrank_jax.aggregation.sub_rankings import best_size, told_chance, weights_of_leads
from privrank_jax.comparisons import WinCounts
from privrank_jax.jobs.plan_design import Design
from privrank_jax.jobs.points import scale_of
from privrank_jax.links import get_link
from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.debiased_fit import scores_from_sums
from privrank_jax.pairwise.debiasing import DebiasedSums, coefficients
from privrank_jax.pairwise.perturbed_fit import least_risk_gamma
from privrank_jax.pairwise.score_stream import continual_score_sums, fit_score_sums
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.rankings import ranks_from_scores

Errors = dict[str, Array]

_EXACT = (
    8.0  # mean up to which quantiles of binomial laws are exact, and numbers that they then reach
)
_REACHED = 32
_BUDGETS = 8  # that stand for those of users between --epsilon and --epsilon-max
_NEAR = 0.5  # spread of the strengths of opponents, where they are near
_POOL = 4096  # rankings
_MANY = 1 << 22  # places in rankings of a mean
_REPORTS = 128  # users whose reports are drawn at once


@dataclasses.dataclass(frozen=True)
class World:
    """What happens once.

    Attributes:
        crowd: (generator, draws) -> arrays with an axis of draws.
        errors: (key, crowd of one draw, n, ε, setting) -> errors by name.
        of_answer: (n, ε) -> ε of an answer, on the host, which is larger where a shuffler hides its sender.
        setting: (n, ε) -> what the program depends on, on the host.
        share: of the usual number of draws, where one takes long.
    """

    crowd: Callable[[np.random.Generator, int], Any]
    errors: Callable[..., Errors]
    of_answer: Callable[[float, float], float] = lambda users, epsilon: epsilon
    setting: Callable[[float, float], Hashable] = lambda users, epsilon: None
    share: float = 1.0


class Simulation:
    """A world, simulated at any numbers of users and ε with the same random numbers.

    Args:
        world: what is simulated.
        draws: how many times.
        seed: of all random numbers.
        advance: is called after each point.
    """

    def __init__(
        self, world: World, draws: int, seed: int = 0, advance: Callable[[], None] = lambda: None
    ) -> None:
        self.draws = draws = max(round(draws * world.share), 2)
        self._world, self._advance = world, advance
        self._crowd = world.crowd(np.random.default_rng(seed), draws)
        self._keys = jax.random.split(jax.random.key(seed), draws)
        self._programs: dict[Hashable, Any] = {}

    def __call__(self, users: float, epsilon: float) -> dict[str, np.ndarray]:
        """Errors of all draws, ``(draws,)`` each, by name."""
        setting = self._world.setting(users, epsilon)
        hidden = math.inf if math.isinf(epsilon) else self._world.of_answer(users, epsilon)
        arguments = self._keys, self._crowd, np.float64(users), np.float64(hidden)
        if setting not in self._programs:
            one = functools.partial(self._world.errors, setting=setting)
            lowered = jax.jit(jax.vmap(one, in_axes=(0, 0, None, None))).lower(*arguments)
            self._programs[setting] = compiled(lowered, optimized="some")
        found = self._programs[setting](*arguments)
        self._advance()
        return {name: np.asarray(errors) for name, errors in found.items()}


def world_of(design: Design, method: str = "") -> World:
    """The world of a design; of a consensus by a method of :data:`SIMULATED`."""
    if design.kind == "consensus":
        return _consensus(design, method)
    return {"survey": _survey, "scores": _scores, "points": _points}[design.kind](design)


def _promised(design: Design, epsilon: Any, **more: Any) -> Privacy:
    return Privacy(epsilon, unit="user", adjacency=design.adjacency, delta=design.delta, **more)


def _of_order(design: Design, ranks: Ranks) -> Errors:
    """Errors of an order of items of which the first is the best."""
    apart = jnp.triu(ranks[:, None] > ranks, 1)
    true, first = jnp.arange(len(ranks)), min(design.top_k or 3, len(ranks))
    return {
        "pairs": jnp.sum(apart) / design.pairs,
        "first": jnp.any(ranks[:first] != true[:first]).astype(float),
        "place": jnp.mean(jnp.abs(ranks - true).astype(float)),
    }


def _of_scores(design: Design, scores: Scores, true: Any) -> Errors:
    largest = jnp.max(jnp.abs(scores - true))
    return {"largest": largest, **_of_order(design, ranks_from_scores(scores))}


def binomial(deviate: Array, trials: Any, chance: Any) -> Array:
    """The quantile of a binomial law at the same level as ``deviate`` of the normal law.

    Args:
        deviate: standard normal numbers.
        trials: n >= 0.
        chance: p.

    >>> binomial(jnp.array([-1.0, 0.0, 1.0]), 100.0, 0.3).tolist(), binomial(jnp.array(1.5), 2.0, 0.5).tolist()
    ([25.0, 30.0, 35.0], 2.0)
    """
    swapped = chance > 0.5
    rare, deviate = jnp.minimum(chance, 1 - chance), jnp.where(swapped, -deviate, deviate)
    mean = trials * rare
    near = mean + jnp.sqrt(mean * (1 - rare)) * deviate + (1 - 2 * rare) * (deviate**2 - 1) / 6
    level = jax.scipy.special.ndtr(deviate)
    small = jnp.where(mean > _EXACT, 0, rare)

    def below(number: Any, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        mass, total, found = state
        total += mass
        mass *= jnp.maximum(trials - number, 0) / (number + 1) * small / (1 - small)
        return mass, total, found + (level > total)

    start = jnp.exp(trials * jnp.log1p(-small)), jnp.zeros_like(mean + level)
    few = jax.lax.fori_loop(0, _REACHED, below, (start[0] + 0 * start[1], start[1], start[1]))[2]
    found = jnp.where(mean > _EXACT, jnp.clip(jnp.round(near), 0, trials), few)
    return jnp.where(swapped, trials - found, found)


def _normal(*shape: int) -> Callable[[np.random.Generator, int], Any]:
    return lambda source, draws: source.standard_normal((draws, *shape))


def _pairs_of(items: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(items, 1)


def _matrix(items: int, upper: Array, lower: Array) -> PairMatrix:
    first, second = _pairs_of(items)
    empty = jnp.zeros((items, items), upper.dtype)
    return empty.at[first, second].set(upper).at[second, first].set(lower)


def _true(design: Design) -> np.ndarray:
    return np.linspace(design.spread, -design.spread, design.items)


# --- comparisons ------------------------------------------------------------------------------------


def _survey(design: Design) -> World:
    """Users randomize their answers, which a fit debiases; a shuffler may hide who sent which."""
    link, true, shuffled = get_link(design.link), _true(design), design.trusted == "shuffled"
    first, second = _pairs_of(design.items)
    ahead, parts = np.asarray(link.cdf(true[first] - true[second])), 1
    if design.epsilon_max is not None:
        parts = _BUDGETS
    dealt = design.share_answered if shuffled and design.question == "public" else None

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        high = epsilon if design.epsilon_max is None else design.epsilon_max
        budgets = epsilon + (jnp.arange(parts) + 0.5) / parts * (high - epsilon)
        budgets = jnp.where(jnp.isinf(epsilon), jnp.inf, budgets)
        told = 0.5 + jnp.tanh(budgets / 2)[:, None] * (ahead - 0.5)
        asked = binomial(crowd[0], users / parts, design.share_answered)
        if dealt is not None:
            asked = jnp.floor(users * dealt) + 0 * asked
        won = binomial(crowd[1], asked, told)
        lean, weight = coefficients(budgets, True, True, "randomized-response")
        sums = DebiasedSums.from_pairs(product(lean, won - asked / 2), product(weight, asked))
        return _of_scores(design, scores_from_sums(sums, link).value, true)

    def local(users: float, epsilon: float) -> float:
        among = int(users) if dealt is None else int(users) // design.pairs
        told = {"question": design.question}
        return shuffled_local_epsilon(max(among, 1), epsilon, design.delta, **told)

    crowd = _normal(2, parts, design.pairs)
    return World(crowd, errors, local) if shuffled else World(crowd, errors)


def _shares(design: Design, true: np.ndarray) -> np.ndarray:
    """Share of all comparisons that each pair has."""
    items = design.items
    order = np.random.default_rng(0).permutation(items)[::-1]  # has nothing to do with the scores
    shown = (1.0 + order) ** -float(design.exposure)
    met = shown * (1 - np.eye(items))
    if design.near:
        apart = np.square(true[:, None] - true) + np.where(np.eye(items), np.inf, 0.0)
        closest = apart.min(1, keepdims=True)  # of each item, so that not all of its weights vanish
        met *= np.exp((closest - apart) / (2 * _NEAR**2))
    met *= (shown / met.sum(1) if design.near else shown)[:, None]
    return (met + met.T)[_pairs_of(items)] / met.sum()


def _scores(design: Design) -> World:
    """A curator publishes scores, once or after each of some steps."""
    items, most, true = design.items, design.max_per_user, _true(design)
    shares, noise = _shares(design, true), "gaussian" if design.delta else "laplace"
    first, second = _pairs_of(items)
    ahead = np.asarray(get_link("logistic").cdf(true[first] - true[second]))
    even = 2 * design.ties / (1 - design.ties) * np.sqrt(ahead * (1 - ahead))
    ties, steps = "davidson" if design.ties else "half", design.steps

    def fitted(key: Key, wins: WinCounts, promise: Privacy) -> Scores:
        if steps is None:
            found = pairwise.perturbed_mle(key, wins, promise, ties=ties, noise=noise).value
            return getattr(found, "scores", found)
        # Noise does not depend on when comparisons arrive: all do in the last step.
        if design.adjacency == "flip":
            totals = jnp.zeros((steps, items)).at[-1].set(wins.totals)
            found = continual_totals(key, totals, promise, noise=noise)
            met, variance = wins.comparisons, found.diagnostics.deviations[-1] ** 2
            ridge = least_risk_gamma(jnp.sum(met) / items, variance)
            return pairwise.fit(pairwise.Counts(met), found.value[-1], ridge).value
        arrived = jnp.zeros((steps, items, items)).at[-1].set(wins.matrix)
        found = continual_score_sums(key, WinCounts(arrived), promise, noise=noise)
        told = found.diagnostics
        pairs = 0.0 if told.pair_deviations is None else told.pair_deviations[-1]
        return fit_score_sums(found.value[-1], items, told.deviations[-1], pairs)

    kept = design.share_of_scores

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        met = binomial(crowd[0], users * most, shares)
        tied = binomial(crowd[1], met, even / (1 + even)) if design.ties else 0 * met
        won = binomial(crowd[2], met - tied, ahead)
        wins = _matrix(items, won + tied / 2, met - won - tied / 2)
        counted = WinCounts(wins, ties=jnp.sum(tied) if design.ties else None)
        scores = fitted(key, counted, _promised(design, kept * epsilon, contributions=most))
        return _of_scores(design, scores, true)

    return World(_normal(3, design.pairs), errors, share=1.0 if steps is None else 0.2)


# --- rankings ---------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=2)
def _pool(items: int, spread: float) -> np.ndarray:
    """Ranks of users, ``(pool, items)``."""
    users = max(_POOL * 40 // max(items, 40), 16)
    drawn = np.random.default_rng(1).gumbel(size=(users, items))
    return np.argsort(np.argsort(-(drawn + np.linspace(spread, -spread, items)), axis=1), axis=1)


def _mean_places(items: int, spread: float) -> Float[np.ndarray, "items items"]:
    """Share of users who have each item at each place, of more rankings."""
    users = max(_MANY // items, 1000)
    drawn = np.random.default_rng(2).gumbel(size=(users, items))
    order = np.argsort(-(drawn + np.linspace(spread, -spread, items)), axis=1)
    return np.stack([np.bincount(one, minlength=items) for one in order.T], axis=1) / users


def _solved(design: Design, weights: PairMatrix) -> Ranks:
    if design.rule in (None, "kemeny"):
        return local_search(weights)
    return ranks_from_scores(RULES[design.rule](weights))


def _by_borda(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    found = aggregation.dp_borda(key, counted, promise, noise=noise)
    return ranks_from_scores(found.value)


def _by_weights(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    found = aggregation.private_weights(key, counted, promise, noise=noise).value
    summed = design.adjacency == "add-remove"
    return _solved(design, found if summed else jnp.clip(found, 0, 1))


def _by_noise_all(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    found = aggregation.noise_all(key, counted, promise, noise=noise).value
    return _solved(design, jnp.clip(found, 0, 1))


def _by_footrule(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    found = aggregation.dp_footrule(key, counted, promise, noise=noise)
    return aggregation.assignment(found.value)


def _by_kwiksort(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    return aggregation.dp_kwiksort(key, counted, promise, noise=noise, split=SPLIT).value


def _by_exponential(design: Design, key: Key, counted: Any, promise: Privacy, noise: str) -> Ranks:
    return aggregation.exponential_kemeny(key, counted, promise).value


SIMULATED: dict[str, Callable[..., Ranks]] = {
    "borda": _by_borda,
    "weights": _by_weights,
    "noise-all": _by_noise_all,
    "footrule": _by_footrule,
    "kwiksort": _by_kwiksort,
    "exponential": _by_exponential,
}
"""Methods of a curator; those of users' reports are borda and noise-all."""

_LEAST = {"kwiksort": "laplace", "exponential": "none"}  # their noise, if it is not K-norm noise
_TWO_SETS, _TOO_FEW = "subset-selection", "too few users for all pairs"


def _consensus(design: Design, method: str) -> World:
    """A consensus of rankings, with the noise that the method takes where none is named."""
    items, trust, true = design.items, design.trusted, _true(design)
    first, second = _pairs_of(items)
    pool, lead = _pool(items, design.spread), 1 / (1 + np.exp(true[second] - true[first]))
    ahead_of = (pool[:, first] < pool[:, second]).astype(np.float32)
    at_places = at_mean = None
    if method == "footrule" and trust == "central":
        at_places = np.eye(items, dtype=np.float32)[pool].reshape(len(pool), -1)
        at_mean = _mean_places(items, design.spread)

    def crowd(source: np.random.Generator, draws: int) -> dict[str, np.ndarray]:
        normal = source.standard_normal((draws, len(pool))).astype(np.float32)
        normal = (normal - normal.mean(axis=1, keepdims=True)) / math.sqrt(len(pool))
        found = {"lead": normal @ ahead_of}
        if at_places is not None:
            found["places"] = (normal @ at_places).reshape(draws, items, items)
        if trust == "shuffled":
            found["answers"] = source.standard_normal((draws, 2, len(lead)))
        return found

    def ranked(
        key: Key, drawn: Any, weights: Array, users: Array, epsilon: Array, asked: Any
    ) -> Ranks:
        if trust == "local":
            return _by_reports(design, method, key, pool, asked, weights, users, epsilon)
        if trust == "shuffled":
            upper = weights[_pairs_of(items)]
            answers = binomial(drawn["answers"][0], users, 1 / len(lead))
            chance = told_chance(2, epsilon)
            told = binomial(drawn["answers"][1], answers, 0.5 + chance * (upper - 0.5))
            found = weights_of_leads(told, answers, chance, num_items=items)
            return _of_weights(design, method, found)
        counted: Any = aggregation.PairWeights(weights, users)
        if at_mean is not None:
            counts = 4 * users * (at_mean + drawn["places"] / jnp.sqrt(users))
            counted = aggregation.PositionHistograms(jnp.round(counts).astype(int), users)
        noise = "gaussian" if design.delta else _LEAST.get(method, "k-norm")
        return SIMULATED[method](design, key, counted, _promised(design, epsilon), noise)

    def errors(key: Key, drawn: Any, users: Array, epsilon: Array, setting: Any) -> Errors:
        ahead = jnp.clip(lead + drawn["lead"].astype(float) / jnp.sqrt(users), 0, 1)
        weights = _matrix(items, ahead, 1 - ahead)
        ranks = ranked(key, drawn, weights, users, epsilon, setting)
        best = jnp.minimum(
            *(_cost(weights, one) for one in (local_search(weights), np.arange(items)))
        )
        found = {"cost": jnp.maximum(_cost(weights, ranks) - best, 0), **_of_order(design, ranks)}
        lost = jnp.nan if setting == _TOO_FEW else 0.0
        return {name: error + lost for name, error in found.items()}

    def local(users: float, epsilon: float) -> float:
        return shuffled_local_epsilon(max(int(users), 1), epsilon, design.delta)

    if trust == "shuffled":
        return World(crowd, errors, local, lambda users, _: _TOO_FEW if users < len(lead) else None)
    if trust == "local":
        return World(crowd, errors, setting=functools.partial(_asked, design, method), share=0.2)
    return World(crowd, errors)


def _cost(weights: PairMatrix, ranks: Any) -> Array:
    """Pairs per user in another order."""
    return jnp.sum(jnp.where(ranks[:, None] > ranks, weights, 0))


def _of_weights(design: Design, method: str, weights: PairMatrix) -> Ranks:
    if method == "borda":
        return ranks_from_scores(jnp.sum(weights, axis=1))
    return _solved(design, jnp.clip(weights, 0, 1))


def _asked(design: Design, method: str, users: float, epsilon: float) -> Hashable:
    """Of how many items each user tells the order, or that it is two sets of items; None where nothing is hidden."""
    items, users = design.items, int(min(users, 1e9))
    if math.isinf(epsilon):
        return None
    if method == "borda":
        promise = Privacy(epsilon, unit="user", adjacency="replace")
        if choose_report(items, users, promise) == _TWO_SETS:
            return _TWO_SETS
        return _TOO_FEW if users < design.pairs else 2
    return items if users < design.pairs else int(best_size(items, users, epsilon))


def _by_reports(
    design: Design, method: str, key: Key, pool: np.ndarray, asked: Any, weights: Array, users: Array, epsilon: Array
) -> Ranks:  # fmt: skip
    """Reports of a part of the pool; their deviation from what these users say is scaled to n users."""
    if asked in (None, _TOO_FEW):
        return _of_weights(design, method, weights)
    each = asked not in (_TWO_SETS, design.items)  # is asked about a pair of its own, at least
    number = -(-_REPORTS // design.pairs) * design.pairs if each else _REPORTS
    given, scale = pool[np.arange(number) % len(pool)], jnp.sqrt(number / users)
    promise = Privacy(epsilon, unit="user", adjacency="replace")
    if asked == _TWO_SETS:
        found = aggregation.ldp_borda(key, given, promise, mechanism=_TWO_SETS).value
        moved = found - (design.items - 1 - given.mean(axis=0))
        return ranks_from_scores(jnp.sum(weights, axis=1) + scale * moved)
    found = aggregation.sub_ranking_weights(key, given, promise, size=asked).value
    exact = np.stack([(given[:, [item]] < given).mean(axis=0) for item in range(design.items)])
    return _of_weights(design, method, weights + scale * (found - exact))


# --- points -----------------------------------------------------------------------------------------


def _points(design: Design) -> World:
    """A curator publishes totals of points."""
    low, high = scale_of(design.points)
    rules = {"most": high - low, "limit": design.limit}
    chance = 1 / (1 + np.exp(-_true(design)))
    chance *= min(1.0, (design.limit or design.items) / chance.sum())
    noise = points_noise(design)

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        totals = binomial(crowd, users * (high - low), chance)
        data = PointTotals(totals, users, **rules)
        found = dp_scores(key, data, _promised(design, epsilon), noise=noise)
        moved = found.value + users * found.diagnostics.middle - totals
        return {
            "largest": jnp.max(jnp.abs(moved)) / users,
            **_of_order(design, ranks_from_scores(found.value)),
        }

    return World(_normal(design.items), errors)


def points_noise(design: Design) -> str:
    """The noise on totals: of least variance."""
    if design.delta:
        return "gaussian"
    low, high = scale_of(design.points)
    return least_noise(design.items, _promised(design, 1.0), most=high - low, limit=design.limit)

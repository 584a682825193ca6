r"""Crowds, mechanisms and errors of plans: what happens once, from a key, a number of users n and ε, to errors.

A world draws a crowd and calls the function that simulates the release. n and ε are traced, and normal numbers of the
crowd and keys of the noise are the same at all n and ε, so that errors at different ones differ little by chance.

**Comparisons.** Items have scores evenly from S to -S. The number of comparisons of a pair and the number of wins are
quantiles of binomial laws, exact up to a mean of 8 and by Cornish and Fisher's expansion beyond.

**Rankings** are those of the Plackett-Luce model with these scores. Means over n users are those of the model plus 1/√n
times a sum over a fixed pool of rankings with normal weights: the normal limit of n draws from the pool.

**Points.** An item gets a point, of those that there are, with probability 1/(1 + e^-θ).

**Errors**: of scores against true ones, of mean points and of the cost in pairs per user against the same users without
noise, all others against the true order.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation, pairwise
from privrank_jax._search import furthest
from privrank_jax._types import Key, PairMatrix, Ranks, Scores
from privrank_jax._workarounds.xla import compiled
from privrank_jax.aggregation.bounds import SPLIT
from privrank_jax.aggregation.kemeny_rule import local_search
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.scores import PointTotals, dp_scores, least_noise
from privrank_jax.comparisons import WinCounts
from privrank_jax.jobs.mechanisms import MECHANISMS, function_of
from privrank_jax.jobs.methods import CONSENSUS, KEMENY
from privrank_jax.jobs.points import scale_of
from privrank_jax.links import get_link
from privrank_jax.pairwise.debiased_fit import DebiasedSums, coefficients, scores_from_sums
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.rankings import ranks_from_scores

Design = types.SimpleNamespace  # the arguments of :func:`privrank_jax.plan`, and what follows
Errors = dict[str, Array]
# What happens once: a crowd by a generator and a number of draws, arrays with an axis of these; and errors by name, of
# a key, the crowd of one draw, n, and ε of an answer or of a user.
World = tuple[Callable[[np.random.Generator, int], Any], Callable[..., Errors]]

LEVEL = 0.95  # of upper errors, unless another one is asked for
_EXACT, _REACHED = 8.0, 32  # up to which mean quantiles of binomial laws are exact; what they reach
_POOL = 4096  # rankings
_EPSILONS, _OF_REPORTS = (1e-6, 1e4), (1e-4, 15.0)  # among which ε is sought; of users' own reports
_SHARP = 1e-3  # tolerance of the logarithm of an answer
_AROUND = 0.15  # how far around it its slope is taken
_PAIRS, _FEWEST = 1 << 22, 16  # of items in all draws of a crowd; draws


def asked(design: Design, users: float, epsilon: float) -> float:
    """ε of an answer, which is larger where a shuffler hides its sender; on the host."""
    if design.trusted != "shuffled" or math.isinf(epsilon):
        return epsilon
    return shuffled_local_epsilon(max(int(users), 1), epsilon, design.delta)


class Solver:
    """Errors of a design at any number of users and ε, and the least of either that reaches its target."""

    def __init__(self, design: Design) -> None:
        self._design, (crowd, self._once) = design, WORLDS[design.kind](design)
        self.draws = min(design.draws, max(_PAIRS // design.pairs, _FEWEST))
        drawn = crowd(np.random.default_rng(design.seed), self.draws)
        self._given = jax.random.key(design.seed), drawn
        one = np.float64(1.0)
        self._program = compiled(
            jax.jit(self._errors).lower(*self._given, one, one), optimized="some"
        )
        self.at = functools.cache(self._at)

    def _errors(self, key: Key, *others: Any) -> Errors:
        keys = jax.random.split(key, self.draws)  # here, not by a program of its own
        return jax.vmap(self._once, in_axes=(0, 0, None, None))(keys, *others)

    @np.errstate(over="ignore", invalid="ignore")  # what is no number is refused in the end
    def _at(self, users: float, epsilon: float) -> dict[str, dict[str, float]]:
        """Means, quantiles and their standard errors, by name of the error."""
        found, level, number = {}, self._design.certainty or LEVEL, self.draws
        around = np.array([0, -1, 1]) * math.sqrt(level * (1 - level) / number) + level
        given = np.float64(users), np.float64(asked(self._design, users, epsilon))
        errors = self._program(*self._given, *given)
        for name, drawn in jax.tree.map(np.asarray, errors).items():
            if name in ("largest", "cost") or self._design.spread:  # else no order is right
                upper, low, high = np.quantile(drawn, np.clip(around, 0, 1))
                found[name] = {
                    "mean": float(np.mean(drawn)),
                    "standard_error": float(np.std(drawn, ddof=1) / math.sqrt(number)),
                    "upper": float(upper),
                    "upper_standard_error": float(high - low) / 2,
                }
        return found

    def least(self, *, users: int | None, epsilon: float | None) -> tuple[float, float | None]:
        """The least number of users at ``epsilon``, or ε of ``users``, that reaches the target; ``ValueError`` if none.

        And its standard error, None where the slope of the error is unknown.
        """
        design, ends = self._design, (1.0, float(self._design.most_users))
        if users is not None:
            ends = _EPSILONS if design.trusted == "central" else _OF_REPORTS
        error_of = "standard_error" if design.part == "mean" else "upper_standard_error"

        def error_at(log: float) -> tuple[float, float]:
            given = (users or math.exp(log), math.exp(log) if epsilon is None else epsilon)
            error = self.at(*given)[design.goal]
            return error[design.part], error[error_of]

        low, high = map(math.log, ends)
        if error_at(high)[0] > design.target:
            clear = self.at(users or ends[1], math.inf)[design.goal][design.part]
            least = f"takes more than {ends[1]:,.0f} users"
            if users is not None:
                least = f"can't be reached by {users:,} users with any epsilon up to {ends[1]:g}"
            raise ValueError(
                f"target={design.target:g} {least}; without privacy the error would be {clear:.3g}: take a larger "
                "`target`, `users` or `epsilon`, or another `error`."
            )
        if error_at(low)[0] <= design.target:
            return ends[0], 0.0
        log = furthest(lambda x: error_at(x)[0] <= design.target, high, low, absolute=_SHARP)
        fall = (error_at(log - _AROUND)[0] - error_at(log + _AROUND)[0]) / (2 * _AROUND)
        value = math.exp(log)
        return value, value * error_at(log)[1] / fall if fall > 0 else None


def _of_order(design: Design, ranks: Ranks) -> Errors:
    """Errors of an order of items of which the first is the best."""
    apart = jnp.triu(ranks[:, None] > ranks, 1)
    true, first = jnp.arange(len(ranks)), design.shown_first
    return {
        "pairs": jnp.sum(apart) / design.pairs,
        "first": jnp.any(ranks[:first] != true[:first]).astype(float),
        "place": jnp.mean(jnp.abs(ranks - true).astype(float)),
    }


def _of_scores(design: Design, scores: Scores) -> Errors:
    largest = jnp.max(jnp.abs(scores - _true(design)))
    return {"largest": largest, **_of_order(design, ranks_from_scores(scores))}


def binomial(deviate: Array, trials: Any, chance: Any) -> Array:
    """The quantile of a binomial law, n = ``trials`` and p = ``chance``, at the level of ``deviate`` of the normal law.

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

    none = jnp.zeros_like(mean + level)
    start = none + jnp.exp(trials * jnp.log1p(-small)), none, none
    few = jax.lax.fori_loop(0, _REACHED, below, start)[2]
    found = jnp.where(mean > _EXACT, jnp.clip(jnp.round(near), 0, trials), few)
    return jnp.where(swapped, trials - found, found)


def _normal(*shape: int) -> Callable[[np.random.Generator, int], Any]:
    return lambda source, draws: source.standard_normal((draws, *shape))


def _matrix(items: int, upper: Array, lower: Array) -> PairMatrix:
    first, second = np.triu_indices(items, 1)
    empty = jnp.zeros((items, items), upper.dtype)
    return empty.at[first, second].set(upper).at[second, first].set(lower)


def _true(design: Design) -> np.ndarray:
    return np.linspace(design.spread, -design.spread, design.items)


def _ahead(design: Design, link: str = "logistic") -> np.ndarray:
    """The chance that the first item of each pair wins."""
    first, second = _true(design)[np.stack(np.triu_indices(design.items, 1))]
    return np.asarray(get_link(link).cdf(first - second))


# --- comparisons ------------------------------------------------------------------------------------


def _survey(design: Design) -> World:
    """Users randomize their answers, which a fit debiases; a shuffler may hide who sent which."""
    share, ahead = design.share_observed, _ahead(design, design.link)

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array) -> Errors:
        met = binomial(crowd[0], users, share)
        won = binomial(crowd[1], met, 0.5 + jnp.tanh(epsilon / 2) * (ahead - 0.5))
        lean, weight = coefficients(epsilon, True, True, "randomized-response")
        sums = DebiasedSums.from_pairs(lean * (won - met / 2), weight * met)
        return _of_scores(design, scores_from_sums(sums, get_link(design.link)).value)

    return _normal(2, design.pairs), errors


def _scores(design: Design) -> World:
    """A curator publishes scores."""
    most, ahead = design.max_per_user, _ahead(design)
    noise = "gaussian" if design.delta else "laplace"

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array) -> Errors:
        met = binomial(crowd[0], users * most, 1 / design.pairs)
        won = binomial(crowd[1], met, ahead)
        promise = design.promise(design.share_of_scores * epsilon, contributions=most)
        wins = WinCounts(_matrix(design.items, won, met - won))
        return _of_scores(design, pairwise.perturbed_mle(key, wins, promise, noise=noise).value)

    return _normal(2, design.pairs), errors


# --- rankings ---------------------------------------------------------------------------------------


def _consensus(design: Design) -> World:
    """A consensus of rankings, by the mechanism of the method, with the noise that it takes where none is named."""
    items, method, lead = design.items, CONSENSUS[design.named], _ahead(design)
    first, second = np.triu_indices(items, 1)
    mechanism = MECHANISMS[method.mechanism("central")]
    options: dict[str, Any] = {"split": SPLIT} if design.named == "kwiksort" else {}
    if design.named != "exponential":
        options["noise"] = "gaussian" if design.delta else mechanism.noises[0]
    pool = np.random.default_rng(1).gumbel(size=(max(_POOL * 40 // max(items, 40), 16), items))
    pool = np.argsort(np.argsort(-(pool + _true(design)), axis=1), axis=1)
    ahead_of = (pool[:, first] < pool[:, second]).astype(np.float32)

    def crowd(source: np.random.Generator, draws: int) -> np.ndarray:
        normal = source.standard_normal((draws, len(pool))).astype(np.float32)
        normal = (normal - normal.mean(axis=1, keepdims=True)) / math.sqrt(len(pool))
        return normal @ ahead_of

    def ranked(released: Any) -> Ranks:
        if design.named == "borda":
            return ranks_from_scores(released)
        if not method.solves:  # it releases ranks
            return released
        if design.adjacency == "replace":  # shares of users, not sums
            released = jnp.clip(released, 0, 1)
        if design.rule in (None, KEMENY):
            return local_search(released)
        return ranks_from_scores(RULES[design.rule](released))

    def errors(key: Key, drawn: Any, users: Array, epsilon: Array) -> Errors:
        ahead = jnp.clip(lead + drawn.astype(float) / jnp.sqrt(users), 0, 1)
        weights = _matrix(items, ahead, 1 - ahead)
        votes, promise = aggregation.PairWeights(weights, users), design.promise(epsilon)
        ranks = ranked(function_of(mechanism.simulated)(key, votes, promise, **options).value)
        best = jnp.minimum(_cost(weights, local_search(weights)), _cost(weights, np.arange(items)))
        cost = jnp.maximum(_cost(weights, ranks) - best, 0)
        return {"cost": cost, **_of_order(design, ranks)}

    return crowd, errors


def _cost(weights: PairMatrix, ranks: Any) -> Array:
    """Pairs per user in another order."""
    return jnp.sum(jnp.where(ranks[:, None] > ranks, weights, 0))


def _points(design: Design) -> World:
    """A curator publishes totals of points."""
    low, high = scale_of(design.points)
    rules = {"most": high - low, "limit": design.limit}
    chance = 1 / (1 + np.exp(-_true(design)))
    chance *= min(1.0, (design.limit or design.items) / chance.sum())
    noise = "gaussian" if design.delta else least_noise(design.items, design.promise(1.0), **rules)

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array) -> Errors:
        totals = binomial(crowd, users * (high - low), chance)
        data = PointTotals(totals, users, **rules)
        found = dp_scores(key, data, design.promise(epsilon), noise=noise)
        moved = found.value + users * found.diagnostics.center - totals
        largest = jnp.max(jnp.abs(moved)) / users
        return {"largest": largest, **_of_order(design, ranks_from_scores(found.value))}

    return _normal(design.items), errors


WORLDS = {"survey": _survey, "scores": _scores, "consensus": _consensus, "points": _points}

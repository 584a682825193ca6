r"""Crowds, mechanisms and errors of plans: what happens once, from a key, a number of users n and ε, to errors.

A world draws a crowd and calls the function that simulates the release. n and ε are traced, and normal numbers of the
crowd and keys of the noise are the same at all n and ε, so that errors at different ones differ little by chance.

**Comparisons.** Items have scores evenly from S to -S. How often a pair is compared and who wins are quantiles of
binomial laws, exact up to a mean of 8 and by Cornish and Fisher's expansion beyond; the total number of comparisons
thus varies a little. An item of rank r by exposure is shown in proportion to 1/r^power, in an order that has nothing
to do with the scores; where opponents are near, in proportion to exp(-(θ_i - θ_j)²/2s²), s = 1/2, too. A share of ties
between equal items makes Davidson's model.

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
from jaxtyping import Array, Int

from privrank_jax import aggregation, pairwise
from privrank_jax._backend import product
from privrank_jax._promise import Privacy
from privrank_jax._search import furthest
from privrank_jax._types import Key, PairMatrix, Ranks, Scores
from privrank_jax._workarounds.xla import compiled
from privrank_jax.aggregation.auto import choose_report
from privrank_jax.aggregation.bounds import SPLIT
from privrank_jax.aggregation.kemeny_rule import local_search
from privrank_jax.aggregation.majority_rules import RULES
from privrank_jax.aggregation.scores import PointTotals, dp_scores, least_noise
from privrank_jax.aggregation.sub_rankings import best_size, told_chance, weights_of_leads
from privrank_jax.comparisons import WinCounts
from privrank_jax.jobs.mechanisms import MECHANISMS, function_of
from privrank_jax.jobs.methods import CONSENSUS
from privrank_jax.jobs.plan_design import OF_ORDER, Design
from privrank_jax.jobs.points import scale_of
from privrank_jax.jobs.rules import KEMENY
from privrank_jax.links import get_link
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise.continual import continual_score_sums, continual_totals, fit_score_sums
from privrank_jax.pairwise.debiased_fit import DebiasedSums, coefficients, scores_from_sums
from privrank_jax.pairwise.ridges import default_ridges, least_risk_gamma
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.rankings import ranks_from_scores

Errors = dict[str, Array]
Measured = tuple[float, float | None]
"""A number, and its standard error, None where the slope of the error is unknown."""

LEVEL = 0.95  # of upper errors, unless another one is asked for
_EXACT, _REACHED = 8.0, 32  # up to which mean quantiles of binomial laws are exact; what they reach
_BUDGETS = 8  # that stand for those of users between two ends
_NEAR = 0.5  # spread of the strengths of opponents, where they are near
_POOL, _MANY = 4096, 1 << 22  # rankings; places in rankings of a mean
_EPSILONS, _OF_REPORTS = (1e-6, 1e4), (1e-4, 15.0)  # among which ε is sought; of users' own reports
_SHARP = 1e-3  # tolerance of the logarithm of an answer
_AROUND = 0.15  # how far around it its slope is taken
_SEARCHED = 20  # simulated points of a search
_PAIRS, _FEWEST = 1 << 22, 16  # of items in all draws of a crowd; draws
_REPORTS = 128  # users whose reports are drawn at once
_TWO_SETS, _TOO_FEW = "subset-selection", "too few users for all pairs"


def _as_told(users: float, epsilon: float) -> tuple[float, Hashable]:
    return epsilon, None


@dataclasses.dataclass(frozen=True)
class World:
    """What happens once.

    Attributes:
        crowd: (generator, draws) -> arrays with an axis of draws.
        errors: (key, crowd of one draw, n, ε, setting) -> errors by name.
        asked: (n, ε) -> ε of an answer, which is larger where a shuffler hides its sender, and what else the program
            depends on; on the host, for finite ε.
        share: of the usual number of draws, where one takes long.
    """

    crowd: Callable[[np.random.Generator, int], Any]
    errors: Callable[..., Errors]
    asked: Callable[[float, float], tuple[float, Hashable]] = _as_told
    share: float = 1.0


class Solver:
    """Errors of a design at any number of users and ε, and the least of either that reaches its target.

    Args:
        design: what is planned.
    """

    def __init__(self, design: Design) -> None:
        searches = 0 if design.target is None else 1 if design.epsilon is None else 2
        self._design, self._done, self._all = design, 0, 10 + searches * _SEARCHED
        self.world, self._programs = WORLDS[design.kind](design), {}
        most = max(_PAIRS // design.pairs, _FEWEST)
        self.draws = max(round(min(design.draws, most) * self.world.share), 2)
        self._crowd = self.world.crowd(np.random.default_rng(design.seed), self.draws)
        self._key = jax.random.key(design.seed)
        self.at = functools.cache(self._at)

    @np.errstate(over="ignore", invalid="ignore")  # what is no number is refused in the end
    def _at(self, users: float, epsilon: float) -> dict[str, dict[str, float]]:
        """Means, quantiles and their standard errors, by name of the error."""
        found, level, number = {}, self._design.certainty or LEVEL, self.draws
        around = np.array([0, -1, 1]) * math.sqrt(level * (1 - level) / number) + level
        for name, drawn in self._drawn(users, epsilon).items():
            if name not in OF_ORDER or self._design.spread:
                upper, low, high = np.quantile(drawn, np.clip(around, 0, 1))
                found[name] = {
                    "mean": float(np.mean(drawn)),
                    "standard_error": float(np.std(drawn, ddof=1) / math.sqrt(number)),
                    "upper": float(upper),
                    "upper_standard_error": float(high - low) / 2,
                }
        self._done += 1
        if self._design.progress is not None:
            self._design.progress(min(self._done / self._all, 1.0))
        return found

    def _drawn(self, users: float, epsilon: float) -> dict[str, np.ndarray]:
        private = not math.isinf(epsilon)
        of_answer, setting = self.world.asked(users, epsilon) if private else (epsilon, None)
        arguments = self._key, self._crowd, np.float64(users), np.float64(of_answer)
        if setting not in self._programs:
            one = functools.partial(self.world.errors, setting=setting)

            def errors(key: Key, *others: Any) -> Errors:
                keys = jax.random.split(key, self.draws)  # here, not by a program of its own
                return jax.vmap(one, in_axes=(0, 0, None, None))(keys, *others)

            self._programs[setting] = compiled(jax.jit(errors).lower(*arguments), optimized="some")
        return jax.tree.map(np.asarray, self._programs[setting](*arguments))

    def least(self, *, users: int | None, epsilon: float | None) -> Measured:
        """The least number of users at ``epsilon``, or ε of ``users``, that reaches the target; and its standard error.

        Raises:
            ValueError: none does.
        """
        target, ends = self._design.target, (1.0, float(self._design.most_users))
        if users is not None:
            ends = _EPSILONS if self._design.trusted == "central" else _OF_REPORTS

        def error_at(log: float) -> Measured:
            given = (users or math.exp(log), math.exp(log) if epsilon is None else epsilon)
            error, part = self.at(*given)[self._design.goal], self._design.part
            return error[part], error[
                "standard_error" if part == "mean" else "upper_standard_error"
            ]

        low, high = map(math.log, ends)
        if error_at(high)[0] > target:
            clear = self.at(users or ends[1], math.inf)[self._design.goal][self._design.part]
            least = f"takes more than {ends[1]:,.0f} users"
            if users is not None:
                least = f"can't be reached by {users:,} users with any epsilon up to {ends[1]:g}"
            raise ValueError(
                f"target={target:g} {least}; without privacy the error would be {clear:.3g}. Take more `users`, or a "
                "larger `target` or `epsilon`, or another `error`."
            )
        if error_at(low)[0] <= target:
            return ends[0], 0.0
        log = furthest(lambda x: error_at(x)[0] <= target, high, low, absolute=_SHARP)
        fall = (error_at(log - _AROUND)[0] - error_at(log + _AROUND)[0]) / (2 * _AROUND)
        value = math.exp(log)
        return value, value * (error_at(log)[1] or 0.0) / fall if fall > 0 else None


def _of_order(design: Design, ranks: Ranks) -> Errors:
    """Errors of an order of items of which the first is the best."""
    apart = jnp.triu(ranks[:, None] > ranks, 1)
    true, first = jnp.arange(len(ranks)), design.shown_first
    return {
        "pairs": jnp.sum(apart) / design.pairs,
        "first": jnp.any(ranks[:first] != true[:first]).astype(float),
        "place": jnp.mean(jnp.abs(ranks - true).astype(float)),
    }


def _of_scores(design: Design, scores: Scores, true: Any) -> Errors:
    largest = jnp.max(jnp.abs(scores - true))
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
    link, true, share = get_link(design.link), _true(design), design.share_observed
    first, second = _pairs_of(design.items)
    ahead = np.asarray(link.cdf(true[first] - true[second]))
    shuffled, parts = design.trusted == "shuffled", 1 if design.epsilon_max is None else _BUDGETS

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        high = epsilon if design.epsilon_max is None else design.epsilon_max
        budgets = epsilon + (jnp.arange(parts) + 0.5) / parts * (high - epsilon)
        budgets = jnp.where(jnp.isinf(epsilon), jnp.inf, budgets)
        told = 0.5 + jnp.tanh(budgets / 2)[:, None] * (ahead - 0.5)
        asked = binomial(crowd[0], users / parts, share)
        if shuffled and design.question == "public":  # dealt evenly
            asked = jnp.floor(users * share) + 0 * asked
        won = binomial(crowd[1], asked, told)
        lean, weight = coefficients(budgets, True, True, "randomized-response")
        sums = DebiasedSums.from_pairs(product(lean, won - asked / 2), product(weight, asked))
        return _of_scores(design, scores_from_sums(sums, link).value, true)

    asked = functools.partial(_shuffled, design) if shuffled else _as_told
    return World(_normal(2, parts, design.pairs), errors, asked)


def _shuffled(design: Design, users: float, epsilon: float) -> tuple[float, Hashable]:
    """The largest ε of an answer whose shuffling leaves ``epsilon``, among those to the same public question or all."""
    public = design.question == "public"
    among, told = int(users) // (design.pairs if public else 1), {"question": design.question}
    few = _TOO_FEW if design.rankings and users < design.pairs else None
    return shuffled_local_epsilon(max(among, 1), epsilon, design.delta, **told), few


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
    steps = design.steps

    def fitted(key: Key, wins: WinCounts, promise: Privacy) -> Scores:
        if steps is None and not design.ties:
            return pairwise.perturbed_mle(key, wins, promise, noise=noise).value
        if steps is None and design.adjacency != "flip":
            return pairwise.perturbed_davidson(key, wins, promise, noise=noise).value.scores
        if steps is None:
            counted = pairwise.noisy_ties(key, wins, promise, noise=noise).value
            met = pairwise.Counts(wins.comparisons, ties=True)
            added = pairwise.noisy_ties.noise(promise, Facts(items), noise)
            return pairwise.fit(met, counted, *default_ridges(met, added)).value.scores
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

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        met = binomial(crowd[0], users * most, shares)
        tied = binomial(crowd[1], met, even / (1 + even)) if design.ties else 0 * met
        won = binomial(crowd[2], met - tied, ahead)
        wins = _matrix(items, won + tied / 2, met - won - tied / 2)
        counted = WinCounts(wins, ties=jnp.sum(tied) if design.ties else None)
        epsilon = design.share_of_scores * epsilon
        scores = fitted(key, counted, design.promise(epsilon, contributions=most))
        return _of_scores(design, scores, true)

    return World(_normal(3, design.pairs), errors, share=1.0 if steps is None else 0.2)


# --- rankings ---------------------------------------------------------------------------------------


def _ranked(design: Design, released: Any, *, of_weights: bool = False) -> Ranks:
    """The order that a method makes of what its mechanism released, or of private weights."""
    if design.named == "borda":
        return ranks_from_scores(jnp.sum(released, axis=1) if of_weights else released)
    if design.named == "footrule" and not of_weights:
        return aggregation.assignment(released)
    if not CONSENSUS[design.named].solves:  # it releases ranks
        return released
    if design.adjacency == "replace":  # shares of users, not sums
        released = jnp.clip(released, 0, 1)
    if design.rule in (None, KEMENY):
        return local_search(released)
    return ranks_from_scores(RULES[design.rule](released))


def _released(design: Design, key: Key, votes: Any, epsilon: Array) -> Ranks:
    """By the mechanism of a curator's method, with the noise that it takes where none is named."""
    mechanism = MECHANISMS[CONSENSUS[design.named].mechanism("central")]
    options: dict[str, Any] = {"split": SPLIT} if design.named == "kwiksort" else {}
    if design.named != "exponential":
        options["noise"] = "gaussian" if design.delta else mechanism.noises[0]
    found = function_of(mechanism.simulated)(key, votes, design.promise(epsilon), **options)
    return _ranked(design, found.value)


def _consensus(design: Design) -> World:
    """A consensus of rankings."""
    items, trust, true = design.items, design.trusted, _true(design)
    first, second = _pairs_of(items)
    pool = np.argsort(_orders(1, max(_POOL * 40 // max(items, 40), 16), design), axis=1)
    lead = 1 / (1 + np.exp(true[second] - true[first]))
    ahead_of = (pool[:, first] < pool[:, second]).astype(np.float32)
    placed = design.named == "footrule" and trust == "central"
    at_places = at_mean = np.empty(0)
    if placed:
        at_places = np.eye(items, dtype=np.float32)[pool].reshape(len(pool), -1)
        order = _orders(2, max(_MANY // items, 1000), design)
        at_mean = np.stack([np.bincount(one, minlength=items) for one in order.T], axis=1) / len(
            order
        )

    def crowd(source: np.random.Generator, draws: int) -> dict[str, np.ndarray]:
        normal = source.standard_normal((draws, len(pool))).astype(np.float32)
        normal = (normal - normal.mean(axis=1, keepdims=True)) / math.sqrt(len(pool))
        found = {"lead": normal @ ahead_of}
        if placed:
            found["places"] = (normal @ at_places).reshape(draws, items, items)
        if trust == "shuffled":
            found["answers"] = source.standard_normal((draws, 2, len(lead)))
        return found

    def ranked(key: Key, drawn: Any, weights: Any, users: Any, epsilon: Any, asked: Any) -> Ranks:
        if trust == "local":
            return _by_reports(design, key, pool, asked, weights, users, epsilon)
        if trust == "shuffled":
            answers = binomial(drawn["answers"][0], users, 1 / len(lead))
            chance, upper = told_chance(2, epsilon), weights[first, second]
            told = binomial(drawn["answers"][1], answers, 0.5 + chance * (upper - 0.5))
            found = weights_of_leads(told, answers, chance, num_items=items)
            return _ranked(design, found, of_weights=True)
        if not placed:
            return _released(design, key, aggregation.PairWeights(weights, users), epsilon)
        counts = jnp.round(4 * users * (at_mean + drawn["places"] / jnp.sqrt(users))).astype(int)
        return _released(design, key, aggregation.PositionHistograms(counts, users), epsilon)

    def errors(key: Key, drawn: Any, users: Array, epsilon: Array, setting: Any) -> Errors:
        ahead = jnp.clip(lead + drawn["lead"].astype(float) / jnp.sqrt(users), 0, 1)
        weights = _matrix(items, ahead, 1 - ahead)
        ranks = ranked(key, drawn, weights, users, epsilon, setting)
        best = jnp.minimum(_cost(weights, local_search(weights)), _cost(weights, np.arange(items)))
        found = {"cost": jnp.maximum(_cost(weights, ranks) - best, 0), **_of_order(design, ranks)}
        lost = jnp.nan if setting == _TOO_FEW else 0.0
        return {name: error + lost for name, error in found.items()}

    if trust == "central":
        return World(crowd, errors)
    asked = functools.partial(_shuffled if trust == "shuffled" else _asked, design)
    return World(crowd, errors, asked, share=0.2 if trust == "local" else 1.0)


def _orders(seed: int, users: int, design: Design) -> Int[np.ndarray, "users items"]:
    """Orders of items by users of the Plackett-Luce model."""
    drawn = np.random.default_rng(seed).gumbel(size=(users, design.items))
    return np.argsort(-(drawn + _true(design)), axis=1)


def _cost(weights: PairMatrix, ranks: Any) -> Array:
    """Pairs per user in another order."""
    return jnp.sum(jnp.where(ranks[:, None] > ranks, weights, 0))


def _asked(design: Design, users: float, epsilon: float) -> tuple[float, Hashable]:
    """Of how many items each user tells the order, or that it is two sets of items."""
    items, users, few = design.items, int(min(users, 1e9)), users < design.pairs
    if design.named != "borda":
        return epsilon, items if few else int(best_size(items, users, epsilon))
    promise = Privacy(epsilon, unit="user", adjacency="replace")
    if choose_report(items, users, promise) == _TWO_SETS:
        return epsilon, _TWO_SETS
    return epsilon, _TOO_FEW if few else 2


def _by_reports(
    design: Design, key: Key, pool: np.ndarray, asked: Any, weights: Any, users: Any, epsilon: Any
) -> Ranks:
    """Reports of a part of the pool; their deviation from what these users say is scaled to n users."""
    if asked in (None, _TOO_FEW):
        return _ranked(design, weights, of_weights=True)
    each = asked not in (_TWO_SETS, design.items)  # is asked about a pair of its own, at least
    number = -(-_REPORTS // design.pairs) * design.pairs if each else _REPORTS
    given, scale = pool[np.arange(number) % len(pool)], jnp.sqrt(number / users)
    promise = Privacy(epsilon, unit="user", adjacency="replace")
    if asked == _TWO_SETS:
        found = aggregation.ldp_borda_subsets(key, given, promise).value
        moved = found - (design.items - 1 - given.mean(axis=0))
        return ranks_from_scores(jnp.sum(weights, axis=1) + scale * moved)
    found = aggregation.sub_ranking_weights(key, given, promise, size=asked).value
    exact = np.stack([(given[:, [item]] < given).mean(axis=0) for item in range(design.items)])
    return _ranked(design, weights + scale * (found - exact), of_weights=True)


def _points(design: Design) -> World:
    """A curator publishes totals of points."""
    low, high = scale_of(design.points)
    rules = {"most": high - low, "limit": design.limit}
    chance = 1 / (1 + np.exp(-_true(design)))
    chance *= min(1.0, (design.limit or design.items) / chance.sum())
    noise = "gaussian"
    if not design.delta:
        noise = least_noise(design.items, design.promise(1.0), **rules)

    def errors(key: Key, crowd: Array, users: Array, epsilon: Array, setting: None) -> Errors:
        totals = binomial(crowd, users * (high - low), chance)
        data = PointTotals(totals, users, **rules)
        found = dp_scores(key, data, design.promise(epsilon), noise=noise)
        moved = found.value + users * found.diagnostics.center - totals
        return {
            "largest": jnp.max(jnp.abs(moved)) / users,
            **_of_order(design, ranks_from_scores(found.value)),
        }

    return World(_normal(design.items), errors)


WORLDS = {"survey": _survey, "scores": _scores, "consensus": _consensus, "points": _points}

"""Shared parts of the aggregation studies: private methods, the error measure, errors, paired differences.

The paper of Alabi and others has no experiments; these studies are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax import aggregation
from privrank_jax._backend import map_parts
from privrank_jax._types import Key, Mask, Numbers, PairMatrix
from privrank_jax._workarounds.xla import Optimized
from privrank_jax.aggregation.footrule import assignment
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.experiments.claims import Claim, Wanted, beats, falls, minus, with_differences
from privrank_jax.experiments.study import number, whole, word
from privrank_jax.metrics import kendall_distance
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.axes import Labeled, labeled
from privrank_jax.simulate.study import Parameters

PAPER = "Alabi, Ghazi, Kumar and Manurangsi, Private rank aggregation in central and local models"
EXCESS, KENDALL = "excess_cost", "kendall_error"
METRICS = (EXCESS, KENDALL)
AXES = ("estimator", "metric", "epsilon")
BORDA, PLAIN = "Borda", "Borda, no privacy"
MALLOWS, WORST = "Mallows", "worst case"
DATA = ("sushi", "apa")
NEGLIGIBLE = 0.001  # of all pairs
_EXACT = 10  # most items for which the least cost is computed exactly
_TOGETHER = 20  # most items of searches that run side by side

OURS = "the paper has no experiments: worlds, grid and claims are ours"
YARDSTICK = (
    f"excess cost: (K(σ, w) - OPT) over the number of pairs; OPT exact for at most {_EXACT} items, else the least of "
    "two local searches (from Borda, from the center), which certificates confirm where they were tried"
)
CROWDS = "Mallows crowds: θ = 5/m; a pair is judged alike at every m"
WORLDS: dict[str, Any] = {
    "strength": number(5.0, "θm of the Mallows crowds", least=0),
    "flips": whole(
        5, "d of the worst case (0: no worst case), pairs of items that change places", least=0
    ),
    "buffer": whole(10, "t of the worst case, the number of items between them"),
    "lean": number(
        0.4,
        "mean of a user's ±1 for each pair in the worst case, up to sign",
        least=0,
        most=1,
    ),
}
NAMED = word(DATA, "named data sets", among=DATA, empty=True)
"""Parameters of the worlds: Mallows crowds, the worst case, and data sets."""
PICTURE: dict[str, Any] = {
    "y": {EXCESS: "excess cost, share of pairs"},
    "log_x": True,
    "small": 1e-3,
    "from_zero": True,
    "names": {MALLOWS: MALLOWS},
}


def replaced_user(epsilon: Numbers, delta: float = 0.0) -> Privacy:
    """The promise of every method here: a user's whole ranking may be replaced."""
    return Privacy(epsilon, unit="user", adjacency="replace", delta=delta)


class Search(NamedTuple):
    """Weights ``(m, m)`` from which a local search finds the ranking, from the order of these scores ``(m,)`` on.

    Weights that are zeros, for which every ranking is the best, keep that order.
    """

    weights: Array
    start: Array


class Placed(NamedTuple):
    """Costs of items at places ``(m, m)``, of which an assignment finds the ranking."""

    costs: Array


Answer = Array | Search | Placed
"""Ranks (integers), scores to rank by (high = preferred), a search, or costs of places."""
Method = Callable[[Key, World, Array], Answer]
# A method, or several that are one program: keys, world and ε to one answer each.
Methods = Mapping[Any, Callable[[Key, World, Array], Any]]  # by name, or by names


# --- methods -------------------------------------------------------------------------------------


def borda(key: Key, world: World, privacy: Privacy, noise: str) -> Answer:
    """Private Borda scores."""
    return aggregation.dp_borda(key, world.weights, privacy, noise=noise).value


def noise_all(key: Key, world: World, privacy: Privacy, noise: str) -> Answer:
    """Private weights of all pairs."""
    return searched(aggregation.noise_all(key, world.weights, privacy, noise=noise).value, world)


def footrule(key: Key, world: World, privacy: Privacy, noise: str) -> Answer:
    """Private costs of places."""
    return Placed(aggregation.dp_footrule(key, world.histograms, privacy, noise=noise).value)


def exponential(key: Key, world: World, privacy: Privacy, noise: str) -> Answer:
    """The ranking of the exponential mechanism, for at most ``crowds.EXPONENTIAL_ITEMS`` items."""
    del noise
    return aggregation.exponential_kemeny(key, world.weights, privacy).value


def private(release: Callable[..., Answer], noise: str = "", delta: float = 0.0) -> Method:
    """A method of a release with this noise, and δ for Gaussian noise only."""
    delta = delta if noise == "gaussian" else 0.0
    return lambda key, world, epsilon: release(key, world, replaced_user(epsilon, delta), noise)


def optimized(most: int) -> Callable[[Parameters], Optimized]:
    """``Study.optimized``: less up to so many ``max_items``, as such programs run for less time than they compile."""
    return lambda static: "some" if static["max_items"] <= most else True


# --- rankings from answers -----------------------------------------------------------------------


def best_searches(world: World) -> Search | None:
    """Searches of which the better one finds the best known ranking; None for so few items that it is computed."""
    weights = world.weights
    if weights.num_items <= _EXACT:
        return None
    starts = aggregation.borda_scores(weights)[None]
    if world.truth is not None:
        center = jnp.where(world.centered, -world.truth.astype(starts.dtype), starts[0])
        starts = jnp.append(starts, center[None], axis=0)
    return Search(jnp.broadcast_to(weights.matrix, (len(starts), *weights.matrix.shape)), starts)


def cost(ranks: Array, world: World) -> Array:
    """K(σ, w) over the number of pairs of real items."""
    items = jnp.sum(world.mask)
    return aggregation.kemeny_score(ranks, world.weights.matrix) / (items * (items - 1) / 2)


def searched(weights: PairMatrix, world: World) -> Search:
    """The search that starts from the Borda ranking of these weights."""
    return Search(weights, aggregation.borda_scores(weights, world.mask))


def solved(
    found: Mapping[str, Answer], mask: Mask, best: Search | None = None
) -> tuple[dict[str, Array], Array | None]:
    """Ranks of all answers, which have a leading axis (of ε or n), and those of the searches ``best``.

    One copy of the local search, of the assignment and of a sort is in the program.
    """
    ranks = {name: x for name, x in found.items() if isinstance(x, Array)}
    scores = {name: x for name, x in ranks.items() if jnp.issubdtype(x.dtype, jnp.floating)}
    if scores:
        rank = jax.vmap(jax.vmap(lambda values: ranks_from_scores(values, mask)))
        ranks |= dict(zip(scores, rank(jnp.stack([*scores.values()])), strict=True))
    placed = {name: x.costs for name, x in found.items() if isinstance(x, Placed)}
    if placed:
        assign = jax.vmap(jax.vmap(assignment))
        ranks |= dict(zip(placed, assign(jnp.stack([*placed.values()])), strict=True))
    searches = {name: x for name, x in found.items() if isinstance(x, Search)}
    bests = None
    if searches or best is not None:
        parts = [*searches.values(), *([] if best is None else [best])]
        whole = jax.tree.map(lambda *x: jnp.concatenate(x), *parts)
        ends = np.cumsum([len(part.start) for part in parts])[:-1]
        each = jnp.split(_search(whole, mask), ends)
        ranks |= dict(zip(searches, each, strict=False))
        bests = None if best is None else each[-1]
    return {name: ranks[name] for name in found}, bests


def _search(searches: Search, mask: Mask) -> Array:
    """The rankings that local searches find."""

    def one(search: Search) -> Array:
        return aggregation.local_search(search.weights, -search.start, mask=mask)

    items = mask.shape[0]
    if items <= _TOGETHER:
        return jax.vmap(one)(searches)
    # One by one on a CPU: none waits for the longest, and steps of that size fill its vectors by themselves.
    return map_parts(one, searches, 16 * items * items)


def errors(
    key: Key,
    world: World,
    methods: Methods,
    epsilon: Array | Sequence[float],
    pairs: Sequence[tuple[str, str]],
) -> Labeled:
    """Both errors of every method, and differences, first minus second, of those pairs that ran, along :data:`AXES`.

    ε may be traced; several known ones are a further axis, and share the draws of a method.
    """
    names = [n for names in methods for n in ([names] if isinstance(names, str) else names)]
    plain_key, *keys = jax.random.split(key, len(names) + 1)
    own = dict(zip(names, keys, strict=True))

    def at(level: Array) -> dict[str, Answer]:
        found: dict[str, Answer] = {}
        for one, method in methods.items():
            if isinstance(one, str):
                found[one] = method(own[one], world, level)
            else:
                several = method(jnp.stack([own[name] for name in one]), world, level)
                found |= dict(zip(one, several, strict=True))
        return found

    levels = jnp.asarray(epsilon, world.weights.matrix.dtype)
    if levels.ndim:
        found = jax.vmap(at)(levels)
    else:  # no axis of one ε in the program, which would take longer to trace and to compile
        found = jax.tree.map(lambda x: x[None], at(levels))
    plain = ranks_from_scores(aggregation.borda_scores(world.weights), world.mask, plain_key)
    found[PLAIN] = jnp.broadcast_to(plain, (levels.size, *plain.shape))
    ranks, bests = solved(found, world.mask, best_searches(world))
    if bests is None:
        best = exact_kemeny(world.weights)
    else:
        best = bests[jnp.argmin(jax.vmap(lambda ranks: cost(ranks, world))(bests))]
    target = best if world.truth is None else jnp.where(world.centered, world.truth, best)
    least = cost(best, world)

    def judge(ranks: Array) -> Array:
        far = kendall_distance(ranks, target, normalized=True, mask=world.mask)
        return jnp.stack([cost(ranks, world) - least, far])

    # One copy of the evaluation in the program, and one array of all errors.
    judged = jax.vmap(jax.vmap(judge, out_axes=-1))(jnp.stack([*ranks.values()]))
    named = with_differences(dict(zip(ranks, judged, strict=True)), pairs)
    table = jnp.stack([*named.values()])
    if not levels.ndim:
        return labeled(table[..., 0], tuple(named), METRICS)
    return labeled(table, tuple(named), METRICS, tuple(epsilon))


# --- claims --------------------------------------------------------------------------------------


def cheaper(text: str, better: str, worse: str, **where: Wanted) -> Claim:
    """Claim: ``better`` never costs more than ``worse``, and somewhere less, by more than ``NEGLIGIBLE``."""
    where = {"metric": EXCESS, **where}
    return beats(text, minus(worse, better), "some", NEGLIGIBLE, **where)


def costs_fall(text: str, x: str, estimators: Sequence[str], **where: Wanted) -> Claim:
    """Claim: the excess cost of every one of these estimators falls with x."""
    where = {"metric": EXCESS, "estimator": tuple(estimators), **where}
    return falls(text, x, **where)

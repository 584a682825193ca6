"""Local reports of one ranking's pairs, by enumeration: orders of few items, and the least error of any randomizer."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import linprog


def pairs_of(items):
    return list(itertools.combinations(range(items), 2))


def sub_ranking_square(items, size, epsilon):
    """E‖z‖² of the order of ``size`` items, debiased."""
    return math.comb(items, 2) ** 2 / (math.comb(size, 2) * told_share(size, epsilon) ** 2)


def variance_bound(items, users, size, epsilon):
    """v of a weight from orders of ``size`` items."""
    dealt = users // math.comb(items, 2)
    answers = users if size == items else dealt if size == 2 else math.comb(size, 2) * dealt - 1
    return 1 / (4 * told_share(size, epsilon) ** 2 * answers)


def strict_orders_of(ranks, missing):
    """All strict orders, best first, that a user's ranks may be broken into, with probabilities."""
    items, found = range(len(ranks)), {}
    gaps = [-1, len(ranks)] if missing == "unknown" and min(ranks) < 0 else [len(ranks)]
    for place in gaps:
        filled = [place if rank < 0 else rank for rank in ranks]
        fits = [
            order
            for order in itertools.permutations(items)
            if all(filled[one] <= filled[other] for one, other in itertools.pairwise(order))
        ]
        for order in fits:
            found[order] = found.get(order, 0) + 1 / (len(fits) * len(gaps))
    return found


def told_law(ranks, group, epsilon, missing="last"):
    """Probability of each order, best first, that a user tells of a group of items."""
    law = {}
    odds = math.exp(epsilon) + math.factorial(len(group)) - 1
    for order, chance in strict_orders_of(ranks, missing).items():
        true = tuple(item for item in order if item in group)
        for told in itertools.permutations(group):
            agrees = math.exp(epsilon) if told == true else 1
            law[told] = law.get(told, 0) + chance * agrees / odds
    return law


def sub_ranking_law(ranks, size, epsilon, missing="last"):
    """The same of a group of ``size`` items, any as likely."""
    groups = list(itertools.combinations(range(len(ranks)), size))
    return {
        told: chance / len(groups)
        for group in groups
        for told, chance in told_law(ranks, group, epsilon, missing).items()
    }


def told_share(size, epsilon):
    """The chance to tell the own order, rather than a uniform one."""
    return math.expm1(epsilon) / (math.exp(epsilon) + math.factorial(size) - 1)


def weights_of_orders(told, items, size, epsilon):
    """Weights from the orders, best first, that users told: one user, one pair after another."""
    ahead, asked = np.zeros((items, items)), np.zeros((items, items))
    for order in told:
        for one, other in itertools.combinations(order, 2):
            ahead[one, other] += 1
            asked[one, other] += 1
            asked[other, one] += 1
    share = np.divide(ahead, asked, out=np.full_like(ahead, 0.5), where=asked > 0)
    return (0.5 + (share - 0.5) / told_share(size, epsilon)) * (1 - np.eye(items))


def law_of_weights(users, size, epsilon, missing="last"):
    """Mean and variance of each weight over all deals, groups and orders, ``(N,)``, for as many users as pairs."""
    items, pairs = len(users[0]), pairs_of(len(users[0]))
    told = told_share(size, epsilon)
    leads = np.array(  # of a user, for each pair
        [
            [
                sum(c for o, c in strict_orders_of(u, missing).items() if o.index(i) < o.index(j))
                for i, j in pairs
            ]
            for u in users
        ]
    )
    extended = [
        [{*pair, *more} for more in itertools.combinations(set(range(items)) - {*pair}, size - 2)]
        for pair in pairs
    ]
    held = np.array(  # of each choice of groups, whether a place is asked about a pair
        [
            [[{*pair} <= group for pair in pairs] for group in groups]
            for groups in itertools.product(*extended)
        ]
    )
    asked = held.sum(axis=1)
    deals = leads[np.array(list(itertools.permutations(range(len(users)))))]
    bits = 0.5 + told * (deals - 0.5)
    means = np.einsum("grp,drp->gdp", held, bits) / asked[:, None]
    inner = np.einsum("grp,drp->gdp", held, bits * (1 - bits)) / asked[:, None] ** 2
    weights = 0.5 + (means - 0.5) / told
    return weights.mean((0, 1)), inner.mean((0, 1)) / told**2 + weights.var((0, 1))


def sub_ranking_vector(told, items, epsilon):
    """The report of a told order: C, -C or 0 for each pair."""
    scale = math.sqrt(sub_ranking_square(items, len(told), epsilon) / math.comb(len(told), 2))
    lead = [
        0 if i not in told or j not in told else 1 if told.index(i) < told.index(j) else -1
        for i, j in pairs_of(items)
    ]
    return scale * np.array(lead)


# --- what any randomizer needs


def features(items):
    """For each ranking and pair, +-1 at the class of its two ranks, ``(m!, N, classes)``; the number of each class.

    Ranks a < b and their mirror image are one class: reports on a ranking and on its reverse, mixed, do no worse.
    """
    everyone, pairs = list(itertools.permutations(range(items))), pairs_of(items)
    mirror = {(a, b): min((a, b), (items - 1 - b, items - 1 - a)) for a, b in pairs}
    classes = sorted(set(mirror.values()))
    found = np.zeros((len(everyone), len(pairs), len(classes)))
    for number, ranks in enumerate(everyone):
        for pair, (i, j) in enumerate(pairs):
            a, b = sorted((ranks[i], ranks[j]))
            found[number, pair, classes.index(mirror[a, b])] = 1 if ranks[i] < ranks[j] else -1
    return found, np.abs(found[0]).sum(axis=0)


def _best_cut(values, growth):
    """How many of the largest values to weigh by e^ε, so that the weighted mean is largest; it; their order."""
    order = np.argsort(-values, kind="stable")
    number = np.arange(1, len(values))
    means = growth * np.cumsum(values[order])[:-1] / (len(values) + growth * number)
    best = int(np.argmax(means))
    return float(means[best]), order[: best + 1]


def climb(vectors, growth, direction):
    """A unit vector u of large mean ⟨λ, u⟩, and that mean, from ``direction`` on until it no longer grows."""
    largest = -1.0
    while True:
        _, above = _best_cut(vectors @ direction, growth)
        mean = growth * vectors[above].sum(0) / (len(vectors) + growth * len(above))
        size = float(np.linalg.norm(mean))
        if size <= largest + 1e-13:
            return size, direction
        largest, direction = size, mean / size


def largest_mean(vectors, growth):
    """The largest mean over all sets of up to 24 vectors to weigh by e^ε: every set is the sum of two half-sets."""
    sides = []
    for part in np.array_split(vectors, 2):
        held = np.array(list(itertools.product((0, 1), repeat=len(part))))
        sides.append((held @ part, held.sum(axis=1)))
    (left, in_left), (right, in_right) = sides
    best, squares = 0.0, np.sum(right**2, axis=1)
    for sums, number in zip(left, in_left):
        square = np.maximum(sums @ sums + squares + 2 * right @ sums, 0)
        means = growth * np.sqrt(square) / (len(vectors) + growth * (number + in_right))
        best = max(best, float(means.max()))
    return best


def directions(items, rng, number):
    """Directions to climb from: chains of the first few items, sets before sets, cycles, and some by chance."""
    pairs = pairs_of(items)
    found = [[float(j < size) for _, j in pairs] for size in range(2, items + 1)]
    for ahead in range(1, items):
        for behind in range(1, items - ahead + 1):
            found.append([float(i < ahead and j >= items - behind) for i, j in pairs])
    found += list(rng.integers(-1, 2, (number, len(pairs))) + 1e-3)
    found += list(rng.standard_normal((number, len(pairs))))
    return [np.array(one) / np.linalg.norm(one) for one in found]


def least_square(items, epsilon, number=40, tolerance=1e-5):
    """Bounds of the least E‖z‖² of any unbiased ε-local z: (from the best λ found, attained by a mixture of cuts).

    The first is a bound for sure up to 4 items, else as far as climbing finds the largest mean; the second is attained
    for sure. Of each cut
    the mean of its report, by class of ranks, must add up to v: a linear program in the weights of the cuts, whose
    prices are h, and so λ; the cuts of the largest mean at these prices are added until none is worth it.
    """
    shapes, at = features(items)
    growth = math.expm1(epsilon)
    starts = directions(items, np.random.default_rng(0), number)
    columns, used, checked = [], [], False

    def add(direction, prices):
        by_class = np.einsum("rpc,p->rc", shapes, direction)
        _, above = _best_cut(by_class @ prices, growth)
        columns.append(growth * by_class[above].sum(0) / (len(shapes) + growth * len(above)))
        used.append(direction)

    rng = np.random.default_rng(1)
    for direction in starts:
        add(direction, rng.random(len(at)) + 0.1)
    while True:
        means = np.array(columns).T
        solved = linprog(
            np.ones(2 * len(columns)), A_eq=np.hstack([means, -means]), b_eq=at, method="highs"
        )
        prices = solved.eqlin.marginals
        vectors = shapes @ prices
        often = number * (10 if checked else 1)
        chance = list(rng.standard_normal((often, shapes.shape[1])))
        found = [climb(vectors, growth, one) for one in starts + chance]
        found.sort(key=lambda one: -one[0])
        if found[0][0] <= 1 + tolerance:
            if checked:
                most = largest_mean(vectors, growth) if items <= 4 else found[0][0]
                return float(at @ prices / most) ** 2, float(solved.fun) ** 2
            checked = True
            continue
        checked = False
        fresh = []
        for size, direction in found:
            if size > 1 + 1e-9 and all(abs(direction @ one) < 1 - 1e-9 for one in fresh):
                fresh.append(direction)
        for direction in fresh[:8]:
            add(direction, prices)
        starts = starts[:80] + used[-60:]

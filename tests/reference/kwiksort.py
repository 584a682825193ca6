"""Slow, obviously right twins of the KwikSort family: recursion, and exact laws by enumeration."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import numpy as np


def recursive_sort(items, choose_pivot, ahead):
    """KwikSort as published, one item after the other: (order, queries)."""
    if len(items) < 2:
        return list(items), 0
    pivot = choose_pivot(items)
    left, right, queries = [], [], 0
    for item in items:
        if item != pivot:
            queries += 1
            (left if ahead(item, pivot) else right).append(item)
    first, more = recursive_sort(left, choose_pivot, ahead)
    last, yet_more = recursive_sort(right, choose_pivot, ahead)
    return [*first, pivot, *last], queries + more + yet_more


def sort_law(ahead):
    """Exact law {(order, queries): probability} of a sort with independent answers, P[j before pivot i] = ahead[j, i].

    Enumerates pivots and answers; a pair is asked once, so that independence is all that is needed. A third axis of
    ``ahead`` are several laws, as arrays of probabilities.
    """

    @functools.cache
    def law(items):
        if len(items) < 2:
            return {(items, 0): 1.0}
        out = {}
        for pivot in items:
            others = [item for item in items if item != pivot]
            for answers in itertools.product((True, False), repeat=len(others)):
                chance = 1 / len(items)
                for item, yes in zip(others, answers):
                    chance = chance * (ahead[item, pivot] if yes else 1 - ahead[item, pivot])
                if np.all(chance == 0):
                    continue
                left = tuple(item for item, yes in zip(others, answers) if yes)
                right = tuple(item for item, yes in zip(others, answers) if not yes)
                for (first, a), p in law(left).items():
                    for (last, b), q in law(right).items():
                        end = ((*first, pivot, *last), len(others) + a + b)
                        out[end] = out.get(end, 0.0) + chance * p * q
        return out

    return law(tuple(range(len(ahead))))


def with_fallback(law, max_queries, fallback):
    """{(order, queries): probability} with a budget: sorts that need more become the fallback, (order, None)."""
    out = {end: chance for end, chance in law.items() if end[1] <= max_queries}
    exceeded = sum(chance for (_, queries), chance in law.items() if queries > max_queries)
    return out | {(order, None): exceeded * chance for order, chance in fallback.items()}


def comparison_law(num_items):
    """Law of the comparisons of quicksort, {count: Fraction}, by the plain recursion over pivots.

    Exact: the number of pivot sequences with each count, as the digits of one big integer in base 2^bits.
    """
    bits = math.factorial(max(num_items, 1)).bit_length() + 1
    ways = [1, 1]  # polynomials in 2^bits
    for k in range(2, num_items + 1):
        sides = sum(math.comb(k - 1, i) * ways[i] * ways[k - 1 - i] for i in range(k))
        ways.append(sides << bits * (k - 1))
    total, digits = math.factorial(num_items), ways[num_items]
    law, count = {}, 0
    while digits:
        digits, way = divmod(digits, 1 << bits)
        if way:
            law[count] = Fraction(way, total)
        count += 1
    return law


def laplace_exceeds(threshold, scale):
    """P[Laplace(scale) > threshold]."""
    threshold = np.asarray(threshold, float)
    half = 0.5 * np.exp(-np.abs(threshold) / scale)
    return np.where(threshold > 0, half, 1 - half)


def weights(rankings):
    """w of a list of rankings (ranks, 0 = best), pair by pair."""
    items = len(rankings[0])
    w = np.zeros((items, items))
    for ranks in rankings:
        for i, j in itertools.permutations(range(items), 2):
            w[i, j] += (ranks[i] < ranks[j]) / len(rankings)
    return w


def clipped_cells(mean, scale, cells):
    """Laplace noise around ``mean``, clipped to [0, 1], on a grid: (values, probabilities); the ends are atoms."""
    edges = np.linspace(0, 1, cells + 1)
    inside = np.diff(1 - laplace_exceeds(edges - mean, scale))
    below = 1 - laplace_exceeds(-mean, scale)
    above = laplace_exceeds(1 - mean, scale)
    values = np.concatenate([[0.0], (edges[1:] + edges[:-1]) / 2, [1.0]])
    return values, np.concatenate([[below], inside, [above]])

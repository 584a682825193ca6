"""Naive twins of amplification by shuffling: laws of all multisets of reports, user by user."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

from scipy.stats import binom


def multiset_law(reports):
    """Law of the multiset of independent reports, each a dict of probabilities by report."""
    law = {(): 1.0}
    for report in reports:
        longer = defaultdict(float)
        for seen, likely in law.items():
            for sent, chance in report.items():
                longer[tuple(sorted((*seen, sent)))] += likely * chance
        law = longer
    return law


def divergence(one, other, epsilon):
    """Hockey-stick divergence Σ(P - e^ε Q)₊ of two laws, dicts of probabilities."""
    return math.fsum(
        max(likely - math.exp(epsilon) * other.get(seen, 0.0), 0.0) for seen, likely in one.items()
    )


def bit_report(answer, local_epsilon):
    """Randomized response to one question; answer 0, 1, or None for a fair coin."""
    right = 1 / (1 + math.exp(-local_epsilon))
    ones = 0.5 if answer is None else right if answer else 1 - right
    return {1: ones, 0: 1 - ones}


def pair_report(ranks, local_epsilon):
    """One pair drawn uniformly, with the randomized answer whether its first item is ahead; ties by a fair coin."""
    pairs = list(itertools.combinations(range(len(ranks)), 2))
    law = {}
    for i, j in pairs:
        answer = None if ranks[i] == ranks[j] else ranks[i] < ranks[j]
        for bit, chance in bit_report(answer, local_epsilon).items():
            law[i, j, bit] = chance / len(pairs)
    return law


def largest_delta(laws, users, epsilon):
    """Largest divergence of neighbors among ``users`` users, each of whom has one of the ``laws``."""
    worst = 0.0
    for others in itertools.combinations_with_replacement(range(len(laws)), users - 1):
        seen = [multiset_law([*(laws[k] for k in others), law]) for law in laws]
        worst = max(worst, *(divergence(one, other, epsilon) for one in seen for other in seen))
    return worst


def one_question_delta(users, local_epsilon, epsilon):
    """The same for one question and answers 0 and 1, by sums of binomials."""
    right = 1 / (1 + math.exp(-local_epsilon))
    worst = 0.0
    for ones in range(users):
        law = [0.0] * users
        for kept in range(ones + 1):
            for flipped in range(users - ones):
                law[kept + flipped] += binom.pmf(kept, ones, right) * binom.pmf(
                    flipped, users - 1 - ones, 1 - right
                )
        one = [right * a + (1 - right) * b for a, b in zip([0.0, *law], [*law, 0.0])]
        other = [(1 - right) * a + right * b for a, b in zip([0.0, *law], [*law, 0.0])]
        worst = max(
            worst, math.fsum(max(a - math.exp(epsilon) * b, 0.0) for a, b in zip(one, other))
        )
    return worst


def clones_delta(users, local_epsilon, epsilon):
    """The bound by clones, summed over all outcomes (A + Δ, B + 1 - Δ)."""
    right = 1 / (1 + math.exp(-local_epsilon))
    total = 0.0
    for clones in range(users):
        for seen in range(clones + 2):
            with_one = binom.pmf(seen - 1, clones, 0.5)
            with_none = binom.pmf(seen, clones, 0.5)
            one = right * with_one + (1 - right) * with_none
            other = (1 - right) * with_one + right * with_none
            total += binom.pmf(clones, users - 1, 2 * (1 - right)) * max(
                one - math.exp(epsilon) * other, 0.0
            )
    return total

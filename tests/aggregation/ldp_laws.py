"""Exact laws of LDPKwikSort in small cases."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.reference import kwiksort as slow

THREE = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])


def plus_chance(epsilon, truth):
    """P[r = 1] as :mod:`privrank_jax.aggregation.ldp_sorting` states it."""
    t = math.tanh(epsilon / 2)
    return (1 + t * truth) / 2


def exact_law(ranks, per_query):
    """Law of (order, queries) with one user per group, so that a query asks a user drawn at random."""
    items = ranks.shape[1]
    ahead = np.zeros((items, items))
    for j, i in itertools.permutations(range(items), 2):
        leads = np.sign(ranks[:, i] - ranks[:, j])
        # One response of 1 gives w̃ > 1/2, as 1/t > 1/2.
        ahead[j, i] = np.mean([plus_chance(per_query, lead) for lead in leads])
    return slow.sort_law(ahead)


def law_in_turn(ranks, per_query):
    """Law of (order, queries) of three users, each a group, who answer one query each, in a random turn."""
    law = {}

    def before(user, item, pivot):
        """P[the user says that the item comes before the pivot]."""
        return plus_chance(per_query, np.sign(ranks[user, pivot] - ranks[user, item]))

    def add(order, queries, chance):
        law[order, queries] = law.get((order, queries), 0) + chance

    for turn in itertools.permutations(range(3)):
        for pivot in range(3):
            a, b = (item for item in range(3) if item != pivot)
            left_a, left_b = before(turn[0], a, pivot), before(turn[1], b, pivot)
            add((a, pivot, b), 2, left_a * (1 - left_b) / 18)
            add((b, pivot, a), 2, (1 - left_a) * left_b / 18)
            for both, head, tail in (
                (left_a * left_b, (), (pivot,)),
                ((1 - left_a) * (1 - left_b), (pivot,), ()),
            ):
                for second, other in ((a, b), (b, a)):  # the pivot of the two that are left
                    ahead = before(turn[2], other, second)
                    add((*head, other, second, *tail), 3, both * ahead / 36)
                    add((*head, second, other, *tail), 3, both * (1 - ahead) / 36)
    return law

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

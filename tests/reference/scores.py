"""Naive twins of totals of points: ballots in loops, changes by trying all neighbors."""

from __future__ import annotations

import itertools
import math


def totals(ballots, most, limit=None):
    """Points of each item: cut, and none of a ballot that names too many items."""
    found = [0] * len(ballots[0])
    for ballot in ballots:
        counted = [min(max(points, 0), most) for points in ballot]
        if limit is not None and sum(points > 0 for points in counted) > limit:
            continue
        found = [total + points for total, points in zip(found, counted)]
    return found


def ballots(items, most, limit=None):
    """All ballots by the rules."""
    every = itertools.product(range(most + 1), repeat=items)
    return [b for b in every if limit is None or sum(points > 0 for points in b) <= limit]


def largest_change(items, most, limit, adjacency, noise, middle):
    """How far one user moves the totals, less the middle for each user, in the norm of the noise."""
    norm = {
        "k-norm": lambda move: max(
            map(abs, move)
        ),  # in the cube, cut or not: a vertex is on the edge of both
        "laplace": lambda move: sum(map(abs, move)),
        "gaussian": lambda move: math.sqrt(sum(x * x for x in move)),
    }[noise]
    valid = ballots(items, most, limit)
    if adjacency == "replace":
        return max(norm([x - y for x, y in zip(one, other)]) for one in valid for other in valid)
    return max(norm([x - middle for x in one]) for one in valid)


def moves(items, most, limit, adjacency):
    """All changes of the totals by one user."""
    valid = ballots(items, most, limit)
    others = valid if adjacency == "replace" else [(0,) * items]
    found = {tuple(x - y for x, y in zip(one, other)) for one in valid for other in others}
    return found | {tuple(-x for x in move) for move in found}


def largest_moves(items, most, limit, adjacency):
    """The most that a user moves one total, and what rises add up to."""
    found = moves(items, most, limit, adjacency)
    return max(max(map(abs, move)) for move in found), max(
        sum(max(x, 0) for x in move) for move in found
    )

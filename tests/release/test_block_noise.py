"""Exact noise in rows of blocks: all draws of a row by enumeration through the sampler's code, and the law of draws.

Comparisons of draws fail by chance once in 10⁹ runs each.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.aggregation.footrule_levels import footrule_levels
from privrank_jax.release import block_noise as blocks
from privrank_jax.release.block_noise import (
    block_noise,
    count_points,
    discrete_blocks,
    draw_row,
)
from tests.release.laws import assert_mean, assert_shares

SHAPES = [(1,), (3,), (1, 1), (2, 1), (1, 2), (1, 1, 1), (2, 2)]


def size_of(row, sizes):
    """Σ over blocks of the largest absolute coordinate."""
    ends = np.cumsum(sizes)
    return sum(max(abs(x) for x in row[end - size : end]) for size, end in zip(sizes, ends))


def points_within(sizes, radius):
    cube = itertools.product(range(-radius, radius + 1), repeat=sum(sizes))
    return [point for point in cube if size_of(point, sizes) <= radius]


class Branching:
    """Runs a sampler on all outcomes of its random choices, each with its probability."""

    def __init__(self, sample):
        self.law: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        waiting = [()]
        while waiting:
            self._script, self._place, self._chance, self._new = waiting.pop(), 0, Fraction(1), []
            found = sample(self)
            self.law[tuple(found)] += self._chance
            waiting += self._new

    def choose(self, odds):
        """An index with these odds."""
        if self._place < len(self._script):
            index = self._script[self._place]
        else:
            possible = [i for i, odd in enumerate(odds) if odd]
            taken = self._script
            index = possible[0]
            self._new += [(*taken, other) for other in possible[1:]]
            self._script = (*taken, index)
        self._place += 1
        self._chance *= Fraction(odds[index], sum(odds))
        return index


def law_of_rows(monkeypatch, sizes, radius):
    def sample(branching):
        def integers(count, below):
            return np.array([branching.choose([1] * below) for _ in range(count)], np.int64)

        def subset(total, size):
            sets = list(itertools.combinations(range(total), size))
            return set(sets[branching.choose([1] * len(sets))])

        monkeypatch.setattr(
            blocks, "_pick", lambda ends: branching.choose(np.diff([0, *ends]).tolist())
        )
        monkeypatch.setattr(blocks, "_subset", subset)
        monkeypatch.setattr(blocks, "uniform_integers", integers)
        monkeypatch.setattr(blocks.secrets, "randbelow", lambda n: branching.choose([1] * n))
        return draw_row(sizes, radius)

    with monkeypatch.context() as monkeypatch:
        return Branching(sample).law


@pytest.mark.parametrize("sizes", SHAPES)
@pytest.mark.parametrize("radius", [0, 1, 2])
def test_a_row_is_a_uniform_point(monkeypatch, sizes, radius):
    law = law_of_rows(monkeypatch, sizes, radius)
    points = points_within(sizes, radius)
    assert len(points) == count_points(sizes, radius)
    assert law == dict.fromkeys(points, Fraction(1, len(points)))


def test_picks_and_subsets_have_their_odds(monkeypatch):
    def law(draw):
        def sample(branching):
            monkeypatch.setattr(blocks.secrets, "randbelow", lambda n: branching.choose([1] * n))
            return draw()

        return Branching(sample).law

    assert law(lambda: [blocks._pick([2, 2, 5, 6])]) == {
        (0,): Fraction(2, 6),
        (2,): Fraction(3, 6),
        (3,): Fraction(1, 6),
    }
    for total, size in ((4, 2), (5, 5), (4, 0), (5, 3)):
        sets = itertools.combinations(range(total), size)
        found = law(lambda total=total, size=size: sorted(blocks._subset(total, size)))
        assert found == dict.fromkeys(sets, Fraction(1, math.comb(total, size)))


@pytest.mark.parametrize("sizes", [(1,), (4,), (2, 1), (3, 3), (1, 2, 3)])
def test_points_are_counted(sizes):
    """Against sums over the sizes of blocks; in one cube there are (2r+1)^s."""
    counts = np.array([1, *[0] * 12], object)
    for size in sizes:
        shell = [(2 * r + 1) ** size - ((2 * r - 1) ** size if r else 0) for r in range(13)]
        counts = np.array([sum(counts[i] * shell[r - i] for i in range(r + 1)) for r in range(13)])
    within = np.cumsum(counts).tolist()
    assert [count_points(sizes, radius) for radius in range(13)] == within
    if len(sizes) == 1:
        assert within == [(2 * radius + 1) ** sizes[0] for radius in range(13)]


@pytest.mark.parametrize("items", [7, 10, 30, 100])
def test_counts_of_trees_are_log_concave(items):
    """As proved; the draw of a radius relies on it."""
    for level in footrule_levels(items):
        sizes = tuple(np.bincount(level.nodes).tolist())
        for start in (0, 1000):
            counts = [count_points(sizes, start + r) for r in range(60)]
            assert all(b * b > a * c for a, b, c in zip(counts, counts[1:], counts[2:]))


@pytest.mark.parametrize(("rows", "sizes"), [(1, (2, 1)), (2, (1, 1)), (3, (1,))])
def test_noise_has_its_law(rows, sizes):
    """P(x) ∝ e^{-rate·M(x)} at each point of size up to 2, and beyond that by size."""
    rate, draws, reach = Fraction(6, 5), 2500, 60
    counts = [count_points(sizes, r) ** rows for r in range(reach)]
    shells = np.diff([0, *counts]).astype(float)
    near = [
        tuple(itertools.chain(*point))
        for point in itertools.product(points_within(sizes, 2), repeat=rows)
    ]
    k = sum(sizes)
    gauge = {
        point: max(size_of(point[i : i + k], sizes) for i in range(0, rows * k, k))
        for point in near
    }

    odds = np.exp(-float(rate) * np.arange(reach))
    law = shells * odds / (shells @ odds)
    chances = [law[gauge[p]] / shells[gauge[p]] for p in near] + list(law[3:])
    cells = {point: place for place, point in enumerate(near)}
    seen = np.zeros(len(near) + reach - 3)
    for _ in range(draws):
        noise = block_noise(rows, sizes, rate)
        size = max(size_of(row, sizes) for row in noise.tolist())
        point = tuple(noise.ravel().tolist())
        seen[cells[point] if size <= 2 else len(near) + size - 3] += 1
    assert_shares(seen, chances)
    sizes_seen = np.repeat(np.arange(reach), _by_size(seen, near, gauge, reach).astype(int))

    mean = law @ np.arange(reach)
    assert_mean(sizes_seen, mean, math.sqrt(law @ (np.arange(reach) - mean) ** 2))


def _by_size(seen, near, gauge, reach):
    found = np.bincount([gauge[p] for p in near], seen[: len(near)], minlength=reach)
    found[3:] += seen[len(near) :]
    return found


def test_neighbors_lose_epsilon_and_no_more(monkeypatch):
    """From the law of the code at r = 0 to 3, of one row in blocks of 2 and 1; beyond, each point comes out once."""
    sizes, change, epsilon, reach = (2, 1), 2, 0.8, 3
    rate = epsilon / change
    weights: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for radius in range(reach + 1):
        found = law_of_rows(monkeypatch, sizes, radius)
        for point, chance in found.items():
            weights[point] += float(chance) * count_points(sizes, radius) * math.exp(-rate * radius)
    beyond = math.exp(-rate * (reach + 1)) / -math.expm1(-rate)
    logs = {point: math.log(weight + beyond) for point, weight in weights.items()}
    worst = 0.0
    for move in points_within(sizes, change):
        for point, log in logs.items():
            there = logs.get(tuple(np.add(point, move).tolist()))
            if there is not None:
                worst = max(worst, abs(log - there))
    assert worst == pytest.approx(epsilon, abs=1e-12)


def test_entries_have_the_variance_of_the_simulated_twin():
    """At small rates the lattice is fine; 100 draws."""
    items = 20
    level = footrule_levels(items)[1]
    sizes = tuple(np.bincount(level.nodes).tolist())
    rate = Fraction(1, 50)
    drawn = np.array([block_noise(items, sizes, rate) for _ in range(100)], float) * float(rate)
    cuts = len(level.nodes)
    d = items * cuts
    size = np.bincount(level.nodes)[level.nodes]
    variance = (d + 1) * (d + 2) * (size + 1) * (size + 2) / (3 * (cuts + 1) * (cuts + 2))
    ratios = (drawn**2 / variance).mean((1, 2))
    assert_mean(ratios, 1, np.std(ratios))


def test_mechanism_adds_noise_to_integers_at_its_rate(monkeypatch):
    asked = []

    def noise(rows, sizes, rate):
        asked.append((rows, sizes, rate))
        return np.arange(rows * sum(sizes)).reshape(rows, -1)

    monkeypatch.setattr(blocks, "block_noise", noise)
    add_noise, scale = discrete_blocks(2, (1, 2), 4, Fraction(1, 3))
    assert add_noise(np.full(6, 5)).tolist() == [5, 6, 7, 8, 9, 10]
    assert asked == [(2, (1, 2), Fraction(1, 12))]
    assert scale == 12
    with pytest.raises(ValueError, match="exceeds 64 bits"):
        discrete_blocks(30, (5, 5), 8, 1e-15)

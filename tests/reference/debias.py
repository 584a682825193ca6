"""Slow, obvious twins of the debiasing kernel: by definition, exactly, with no recurrence over items."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def exact_kernel(num_items: int, q: Fraction) -> list[list[Fraction]]:
    """The recurrence of ``mallows/kernel.py``, entry by entry, in rational numbers."""

    def less(power: int) -> Fraction:
        return 1 - q**power

    before: list[list[Fraction]] = [[Fraction(0)]]
    for n in range(2, num_items + 1):
        now = [[Fraction(0)] * n for _ in range(n)]
        power = (-1) ** n * q ** (n * (n - 1) // 2)
        now[0][n - 1] = (1 + power) / (1 - power)
        for a in range(n):
            if a:
                now[a][n - 1] = now[0][n - 1 - a] if a < n - 1 else Fraction(0)
            for b in range(n - 2, a, -1):
                s, t = a + 1, b + 1
                top = less(n) * less(n - s) * before[a][b]
                top -= q ** (n - t) * less(t) * less(t - s) * now[a][b + 1]
                now[a][b] = top / (less(n - t) * less(n + t - s))
        for a, b in itertools.combinations(range(n), 2):
            now[b][a] = -now[a][b]
        before = now
    return before


def inserted_pairs(num_items: int, q: float) -> np.ndarray:
    """P(a, b | c, d) ``(m, m, m, m)`` for c < d by repeated insertion of the items one after the other."""
    law = np.zeros((num_items,) * 4)
    for c, d in itertools.combinations(range(num_items), 2):
        now = np.zeros((num_items, num_items))
        for t in range(c, num_items):
            places = q ** (t - np.arange(t + 1.0))
            places /= places.sum()
            after = np.zeros_like(now)
            for place, chance in enumerate(places):
                for a, b in itertools.product(range(num_items), repeat=2):
                    if t == c:  # alone so far, b not used
                        after[place, 0] += chance if (a, b) == (0, 0) else 0
                    elif t < d:
                        if b == 0 and now[a, 0]:
                            after[a + (a >= place), 0] += chance * now[a, 0]
                    elif t == d:
                        if b == 0 and now[a, 0]:
                            after[a + (a >= place), place] += chance * now[a, 0]
                    elif now[a, b]:
                        after[a + (a >= place), b + (b >= place)] += chance * now[a, b]
            now = after
        law[:, :, c, d] = now
    return law


def debiased_wins(
    synthetic: np.ndarray, kernels: list[np.ndarray], weights: np.ndarray
) -> np.ndarray:
    """w_ij, user by user and pair by pair."""
    users, items = synthetic.shape
    w = np.zeros((items, items))
    for i, j in itertools.permutations(range(items), 2):
        total = lean = 0.0
        for user in range(users):
            a, b = synthetic[user, i], synthetic[user, j]
            if a >= 0 and b >= 0:
                total += weights[user]
                lean += weights[user] * (1 + kernels[user][a, b]) / 2
        w[i, j] = lean / total if total else 0.5
    return w

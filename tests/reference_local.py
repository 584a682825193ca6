"""Naive twins of the local model: randomised response, its debiasing, ADRR, by loops over plain numbers."""

from __future__ import annotations

import itertools
import math


def flip_probability(epsilon):
    """1/(1 + e^ε), written so that Python floats don't overflow."""
    return math.exp(-epsilon) / (1 + math.exp(-epsilon))


def debias(report, epsilon):
    """Equation (3) of Xu, Sun and Cheng as printed; ε up to 700."""
    return ((math.exp(epsilon) + 1) * report - 1) / math.expm1(epsilon)


def largest_loss(flip, reports=1):
    """Largest log-probability ratio of any reports between any two sets of answers, by enumeration."""
    worst = 0.0
    for answers, others, seen in itertools.product(
        itertools.product((0, 1), repeat=reports), repeat=3
    ):
        loss = 0.0
        for answer, other, report in zip(answers, others, seen):
            loss += math.log(1 - flip if report == answer else flip)
            loss -= math.log(1 - flip if report == other else flip)
        worst = max(worst, loss)
    return worst
